"""Which ways of computing attention programs allow, beside PyTorch's on the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
import torch as pytorch

import mindtorch_v2 as ours

SWITCHES = ("flash", "mem_efficient", "math", "cudnn")


@pytest.fixture(params=[ours, pytorch], ids=["ours", "pytorch"])
def torch(request: pytest.FixtureRequest) -> Iterator[Any]:
    yield request.param
    for name in SWITCHES:
        getattr(request.param.backends.cuda, f"enable_{name}_sdp")(True)


def attention(torch: Any) -> Any:
    return import_module(f"{torch.__name__}.nn.attention")


def computed(torch: Any) -> Any:
    x = torch.arange(64.0).reshape(1, 2, 4, 8) / 64
    return torch.nn.functional.scaled_dot_product_attention(x, x, x)


def choice(torch: Any) -> int:
    x = torch.ones(1, 2, 4, 8)
    return int(torch._fused_sdp_choice(x, x, x))


def test_inside_only_these_are_taken(torch: Any) -> None:
    tools, expected = attention(torch), computed(torch)
    way = tools.SDPBackend
    for one in (way.MATH, way.FLASH_ATTENTION):
        with tools.sdpa_kernel(one):
            assert choice(torch) == {"MATH": 0, "FLASH_ATTENTION": 1}[one.name]
            assert torch.allclose(computed(torch), expected)
            assert torch.backends.cuda.math_sdp_enabled() is (one.name == "MATH")
    for none in (way.EFFICIENT_ATTENTION, [way.CUDNN_ATTENTION], []):
        with tools.sdpa_kernel(none), pytest.raises(RuntimeError, match="No viable backend for scaled_dot_product"):
            computed(torch)
    assert choice(torch) == 1
    assert torch.backends.cuda.math_sdp_enabled()


def test_the_order_is_kept() -> None:
    """PyTorch keeps it on devices that have several kernels; on its CPU blocks come first."""
    tools = attention(ours)
    both = [tools.SDPBackend.MATH, tools.SDPBackend.FLASH_ATTENTION]
    with tools.sdpa_kernel(both):
        assert choice(ours) == 1
    with tools.sdpa_kernel(both, set_priority=True):
        assert choice(ours) == 0
    assert choice(ours) == 1


def test_it_is_as_before_after_an_error(torch: Any) -> None:
    tools = attention(torch)
    inside = tools.sdpa_kernel(tools.SDPBackend.MATH)
    inside.__enter__()
    with pytest.raises(ZeroDivisionError):
        inside.gen.throw(ZeroDivisionError())
    assert choice(torch) == 1


def test_what_blocks_cannot_compute_is_refused_where_they_are_the_only_way(torch: Any) -> None:
    tools, x = attention(torch), torch.ones(2, 4, 8)
    with tools.sdpa_kernel(tools.SDPBackend.FLASH_ATTENTION), pytest.raises(RuntimeError, match=r"No (viable|avail)"):
        torch.nn.functional.scaled_dot_product_attention(x, x, x)


def test_switches(torch: Any) -> None:
    for name in SWITCHES:
        enable, enabled = (getattr(torch.backends.cuda, n) for n in (f"enable_{name}_sdp", f"{name}_sdp_enabled"))
        assert enabled()
        enable(False)
        assert not enabled()
    with pytest.raises(RuntimeError, match="No viable backend"):
        computed(torch)
    with (
        pytest.raises(AssertionError, match="must be an instance of SDPBackend or a list"),
        attention(torch).sdpa_kernel("x"),
    ):
        pass
