"""Operators whose module is imported when one of their names is first used."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

BEFORE = (
    "import sys, mindtorch_v2 as torch; pending = lambda: 'mindtorch_ops.special' not in sys.modules; assert pending()"
)


@pytest.mark.parametrize(
    "use",
    [
        "torch.special.i1(torch.ones(1))",
        "torch.ops.aten.special_i1",
        "torch._C._dispatch_has_kernel('aten::special_i1')",
        "torch._core.find_operator('aten::special_i1')",
        "torch._core.operator_names()",
        "torch.special_i1",
    ],
)
def test_a_use_imports_the_module(use: str) -> None:
    code = f"{BEFORE}; {use}; assert not pending()"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_method_is_there_before_and_after() -> None:
    code = textwrap.dedent("""
        import sys, mindtorch_v2 as torch
        assert "mindtorch_ops.cumulative" not in sys.modules
        assert "cumsum" in dir(torch.Tensor) and "cumsum" in dir(torch)
        assert torch.arange(3).cumsum(0).tolist() == [0, 1, 3]
        assert "mindtorch_ops.cumulative" in sys.modules
        assert torch.Tensor.cumsum(torch.arange(3), 0).tolist() == torch.cumsum(torch.arange(3), 0).tolist()
        assert torch._pending.load("aten::cumsum") is False
    """)
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_name_that_is_missing_says_where_the_names_are() -> None:
    import mindtorch_v2 as torch

    with pytest.raises(AttributeError, match=r"no attribute 'no_such_name': docs/coverage\.md"):
        torch.no_such_name  # noqa: B018
