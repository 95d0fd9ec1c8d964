"""``torch.nn.attention.bias``, and the switches of attention, beside PyTorch."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from typing import Any

import pytest

import mindtorch_v2 as ours
from tests.runtime.both import agree, agree_or_raise


def bias(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.nn.attention.bias")


@pytest.mark.parametrize("sizes", [(4, 4), (3, 5), (5, 3), (1, 6)])
@pytest.mark.parametrize("corner", ["causal_upper_left", "causal_lower_right"])
def test_attention_with_a_causal_bias(corner: str, sizes: tuple[int, int]) -> None:
    def case(torch: Any) -> Any:
        queries, keys = sizes
        given = [
            torch.sin(torch.arange(2.0 * n * 4)).reshape(1, 2, n, 4).requires_grad_() for n in (queries, keys, keys)
        ]
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            mask = getattr(bias(torch), corner)(queries, keys)
        found = torch.nn.functional.scaled_dot_product_attention(*given, attn_mask=mask, scale=0.5)
        found.sum().backward()
        said = [str(one.message) for one in told]
        return found.detach(), [part.grad for part in given], mask._materialize(), repr(mask), said, mask.variant.name

    agree(case)


def test_what_a_causal_bias_refuses() -> None:
    def attention(torch: Any, **options: Any) -> Any:
        mask = bias(torch).causal_lower_right(2, 4)
        given = (torch.ones(1, 1, n, 4) for n in (2, 4, 4))
        return torch.nn.functional.scaled_dot_product_attention(*given, attn_mask=mask, **options)

    agree_or_raise(lambda torch: attention(torch, is_causal=True))
    agree_or_raise(lambda torch: bias(torch).causal_upper_left(2))
    agree_or_raise(lambda torch: bias(torch).causal_lower_right(2, 3, 4))
    for library in ("mindtorch_v2", "torch"):
        with pytest.raises((AssertionError, AttributeError)):
            bias(importlib.import_module(library)).CausalBias(3, 2, 2)


@pytest.mark.parametrize("name", ["flash", "math", "mem_efficient", "cudnn"])
def test_ways_within_a_block(name: str) -> None:
    """They are as they were before it, however it ends."""

    def case(torch: Any) -> Any:
        cuda = torch.backends.cuda
        asked = [cuda.flash_sdp_enabled, cuda.math_sdp_enabled, cuda.mem_efficient_sdp_enabled, cuda.cudnn_sdp_enabled]
        before = [ask() for ask in asked]
        inside = []
        with warnings.catch_warnings(record=True) as told, contextlib.suppress(KeyError):
            warnings.simplefilter("always")
            with cuda.sdp_kernel(**{f"enable_{name}": False}):
                inside += [ask() for ask in asked]
                raise KeyError
        assert [one.category for one in told] == [FutureWarning]
        return before, inside, [ask() for ask in asked], cuda.is_flash_attention_available()

    agree(case)


def test_a_causal_bias_as_a_matrix() -> None:
    mask = bias(ours).causal_lower_right(2, 3)
    assert mask.shape == (2, 3)
    assert mask.dtype is ours.bool
    assert mask.logical_not().tolist() == [[False, False, True], [False, False, False]]
    assert ours.where(mask, 1, 0).sum().item() == 5
    assert (~mask).any(1).tolist() == [True, False]
