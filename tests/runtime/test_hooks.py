"""The table of functions by which the core reaches Python."""

from __future__ import annotations

import subprocess
import sys

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _core

NAMES = [name for name in dir(_core.Hooks) if not name.startswith("_") and name != "fill"]


def empty_after(statement: str) -> set[str]:
    """The names of the table that are empty in a process that ran the statement."""
    found = f"n for n in {NAMES} if getattr(hooks, n) is None"
    code = f"{statement}; from mindtorch_v2._core import hooks; print(*({found}))"
    return set(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split())


def test_the_package_fills_what_it_needs_and_the_rest_comes_with_its_module() -> None:
    traced = {"apply_traced", "iterated", "number_taken"} | {
        f"{what}_read" for what in ("shape", "size", "count", "length", "value")
    }
    of_modules = {"call_with_hooks", "hooks_of_all_modules"}
    assert empty_after("import mindtorch_v2") == traced | of_modules | {"apply_functionalized"}
    assert empty_after("import mindtorch_v2.jit, mindtorch_v2.func, mindtorch_v2.nn") == set()


def test_a_key_of_a_module_that_is_not_imported_changes_nothing() -> None:
    code = (
        "import mindtorch_v2 as torch, sys\n"
        "class F(torch.autograd.Function):\n"
        "    forward = staticmethod(lambda ctx, x: x * 2)\n"
        "for key in ('Tracing', 'Functionalize'):\n"
        "    with torch._C._IncludeDispatchKeyGuard(torch._C.DispatchKey[key]):\n"
        "        assert torch.empty(2, 3).shape == (2, 3) and int(torch.Tensor.size(torch.empty(2), 0)) == 2\n"
        "assert 'mindtorch_v2.jit' not in sys.modules\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_a_name_that_is_not_in_the_table() -> None:
    with pytest.raises(AttributeError, match="getitm"):
        _core.hooks.fill(getitm=len)


def test_a_hook_is_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core.hooks, "tensor_repr", lambda tensor: f"<{tensor.numel()}>")
    assert repr(torch.ones(3)) == "<3>"
