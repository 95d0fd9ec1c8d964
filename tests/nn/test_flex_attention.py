"""Attention by functions of the user's, and masks of blocks, beside PyTorch's where nothing is compiled."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
import torch as pytorch

import mindtorch_v2 as ours

PEER = import_module("torch.nn.attention.flex_attention")
PEER._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True  # or each call is traced first


def tools(torch: Any) -> Any:
    return import_module(f"{torch.__name__}.nn.attention.flex_attention")


pytestmark = pytest.mark.filterwarnings("ignore:return_lse is deprecated:FutureWarning")


def values(torch: Any, *sizes: int, dtype: str = "float32", seed: int = 0) -> Any:
    drawn = np.random.default_rng(seed).standard_normal(sizes).astype("float32")
    return torch.tensor(drawn).to(getattr(torch, dtype))


def causal(b: Any, h: Any, q: Any, k: Any) -> Any:
    return q >= k


def window(b: Any, h: Any, q: Any, k: Any) -> Any:
    return (q - k < 3 + h) & (k - q < 2 + b)


def none_of_the_first(b: Any, h: Any, q: Any, k: Any) -> Any:
    return (q > 0) & (k < 2)


def further_costs_more(score: Any, b: Any, h: Any, q: Any, k: Any) -> Any:
    return score - (q - k).abs() * (h + 1) * 0.5


CALLS: dict[str, dict[str, Any]] = {
    "plain": {},
    "scale": {"scale": 0.25},
    "a change": {"score": further_costs_more},
    "a mask": {"mask": causal},
    "a mask by head": {"mask": window},
    "rows without a score": {"mask": none_of_the_first},
    "both": {"score": further_costs_more, "mask": causal},
    "shared heads": {"heads": 2, "mask": window, "enable_gqa": True},
    "one sample of keys": {"samples": 1, "mask": window},
    "other lengths": {"keys": 11, "mask": causal},
}


def given(torch: Any, name: str, dtype: str) -> tuple[list[Any], dict[str, Any], Any, Any]:
    """Query, key and value; options; the function of scores; that of the mask."""
    options = dict(CALLS[name])
    heads, samples, keys = options.pop("heads", 4), options.pop("samples", 2), options.pop("keys", 7)
    sizes = ((2, 4, 7, 8), (samples, heads, keys, 8), (samples, heads, keys, 5))
    tensors = [values(torch, *size, dtype=dtype, seed=seed) for seed, size in enumerate(sizes)]
    return tensors, options, options.pop("score", None), options.pop("mask", None)


def attended(torch: Any, name: str, dtype: str, learn: bool) -> list[Any]:
    """Results, and gradients if it is to ``learn``."""
    tensors, options, score, mask = given(torch, name, dtype)
    if mask is not None:
        sizes = (2, 4, 7, tensors[1].shape[2])
        options["block_mask"] = tools(torch).create_block_mask(mask, *sizes, device="cpu", BLOCK_SIZE=(2, 3))
    for tensor in tensors:
        tensor.requires_grad_(learn)
    return results(tensors, *tools(torch).flex_attention(*tensors, score, return_lse=True, **options))


def written_out(name: str, dtype: str) -> list[Any]:
    """The same by PyTorch's operators, with gradients, which its function has none of on the CPU."""
    tensors, options, score, mask = given(pytorch, name, dtype)
    query, key, value = (tensor.requires_grad_() for tensor in tensors)
    scores = query @ key.expand(2, -1, -1, -1).repeat_interleave(4 // key.shape[1], 1).mT
    scores = scores * options.get("scale", 8**-0.5)
    axes = [pytorch.arange(size).reshape(-1, *[1] * (3 - axis)) for axis, size in enumerate(scores.shape)]
    if score is not None:
        scores = score(scores, *axes)
    if mask is not None:
        scores = scores.masked_fill(~mask(*axes), -pytorch.inf)
    weights = pytorch.softmax(scores, -1).nan_to_num(0.0)
    value_of_all = value.expand(2, -1, -1, -1).repeat_interleave(4 // value.shape[1], 1)
    return results(tensors, weights @ value_of_all, scores.logsumexp(-1))


def results(tensors: list[Any], out: Any, lse: Any) -> list[Any]:
    found = [out, lse]
    if tensors[0].requires_grad:
        (out.double().square().sum() + lse.double().masked_fill(lse.isinf(), 0).sum()).backward()
        found += [tensor.grad for tensor in tensors]
    return [one.detach().double().numpy() for one in found]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("name", CALLS)
def test_values(name: str, dtype: str) -> None:
    for mine, theirs in zip(attended(ours, name, dtype, False), attended(pytorch, name, dtype, False), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=3e-2 if dtype == "bfloat16" else 2e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CALLS)
def test_gradients(name: str, dtype: str) -> None:
    for mine, theirs in zip(attended(ours, name, dtype, True), written_out(name, dtype), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-5)


def test_a_captured_tensor_gets_a_gradient() -> None:
    bias, x = values(ours, 3, 5).requires_grad_(), values(ours, 1, 3, 5, 4)
    tools(ours).flex_attention(x, x, x, lambda s, b, h, q, k: s + bias[h, k]).square().sum().backward()
    expected, x = values(pytorch, 3, 5).requires_grad_(), values(pytorch, 1, 3, 5, 4)
    weights = pytorch.softmax(x @ x.mT / 2 + expected[:, None], -1)
    (weights @ x).square().sum().backward()
    np.testing.assert_allclose(bias.grad.numpy(), expected.grad.numpy(), atol=1e-6)


MASKS = {
    "causal": (causal, 2, None, 300, 300, {}),
    "other blocks": (causal, None, 1, 100, 130, {"BLOCK_SIZE": (16, 32)}),
    "by head": (window, 2, 3, 40, 33, {"BLOCK_SIZE": 8}),
    "no full blocks": (causal, None, None, 256, 256, {"separate_full_blocks": False}),
    "large": (lambda b, h, q, k: (q >= k) & (q - k < 300), 1, 6, 1000, 1017, {"BLOCK_SIZE": 20}),
}
TENSORS = [
    f"{full}{side}_{what}" for side in ("kv", "q") for full in ("", "full_") for what in ("num_blocks", "indices")
]


@pytest.mark.parametrize("name", MASKS)
def test_masks_of_blocks(name: str) -> None:
    function, *sizes, options = MASKS[name]
    mine, theirs = (tools(t).create_block_mask(function, *sizes, device="cpu", **options) for t in (ours, pytorch))
    for ours_, peers in ((mine, theirs), (mine[-1, 0], theirs[-1, 0]), (mine._adjust(50, 90), theirs._adjust(50, 90))):
        for held in TENSORS:
            one, other = getattr(ours_, held), getattr(peers, held)
            assert (one is None) == (other is None)
            if one is not None:
                assert (one.tolist(), one.dtype.itemsize) == (other.tolist(), other.dtype.itemsize), held
        for told in ("shape", "seq_lengths", "BLOCK_SIZE"):
            assert getattr(ours_, told) == getattr(peers, told)
        for asked in ("numel", "sparsity", "__repr__", "__str__"):
            assert getattr(ours_, asked)() == getattr(peers, asked)()
        for grid in ((5, 7), 3, -1):
            assert ours_.to_string(grid, limit=2) == peers.to_string(grid, limit=2)
        assert ours_.to_dense().tolist() == peers.to_dense().tolist()
    assert mine.to("meta").kv_indices.device.type == "meta"
    assert mine.as_tuple()[:3][2] is mine.kv_num_blocks
    assert mine.as_tuple(flatten=False)[0] == mine.seq_lengths


def test_functions_of_masks() -> None:
    def run(torch: Any) -> list[Any]:
        flex = tools(torch)
        both, either = (join(causal, window) for join in (flex.and_masks, flex.or_masks))
        masks = [flex.create_mask(f, 2, 2, 6, 5, device="cpu") for f in (both, either, flex.noop_mask)]
        masks.append(flex.create_mask(lambda s, b, h, q, k: s - torch.where(q >= k, 0, torch.inf), 1, 1, 3, 4, "cpu"))
        masks.append(flex.create_mask(lambda b, h, q, k: q - k, None, None, 3, 4, device="cpu"))
        return [(mask.tolist(), str(mask.dtype)) for mask in masks]

    assert run(ours) == [(mask, kind) for mask, kind in run(pytorch)]


def test_blocks_by_hand_count() -> None:
    """PyTorch, where nothing is compiled, goes by the function alone: here blocks that are not listed do not count."""
    flex, x = tools(ours), values(ours, 1, 1, 4, 4)
    count, indices = ours.tensor([[[1, 1]]], dtype=ours.int32), ours.zeros(1, 1, 2, 2, dtype=ours.int32)
    mask = flex.BlockMask.from_kv_blocks(count, indices, BLOCK_SIZE=2)
    expected = ours.nn.functional.scaled_dot_product_attention(x, x[..., :2, :], x[..., :2, :])
    assert ours.allclose(flex.flex_attention(x, x, x, block_mask=mask), expected)
    _, aux = flex.flex_attention(x, x, x, return_aux=flex.AuxRequest(max_scores=True))
    assert aux.lse is None
    assert ours.equal(aux.max_scores, (x @ x.mT / 2).amax(-1))


def _flex(torch: Any, *sizes: tuple[int, ...], mask: Any = None, **options: Any) -> Any:
    flex = tools(torch)
    block_mask = None if mask is None else flex.create_block_mask(causal, *mask, device="cpu")
    return flex.flex_attention(*(torch.ones(size) for size in sizes), block_mask=block_mask, **options)


FAULTS = {
    "three dimensions": lambda t: _flex(t, *[(2, 3, 4)] * 3),
    "heads": lambda t: _flex(t, (1, 4, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4)),
    "shared heads": lambda t: _flex(t, (1, 3, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4), enable_gqa=True),
    "samples": lambda t: _flex(t, (2, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4)),
    "samples of the mask": lambda t: _flex(t, (2, 1, 3, 4), (3, 1, 3, 4), (3, 1, 3, 4), mask=(1, 1, 3, 3)),
    "samples of keys": lambda t: _flex(t, (1, 1, 3, 4), (2, 1, 3, 4), (2, 1, 3, 4), mask=(1, 1, 3, 3)),
    "embedding": lambda t: _flex(t, (1, 2, 3, 4), (1, 2, 3, 5), (1, 2, 3, 5)),
    "lengths": lambda t: _flex(t, (1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 6, 5)),
    "a shorter mask": lambda t: _flex(t, *[(1, 1, 9, 4)] * 3, mask=(1, 1, 8, 8)),
    "a longer mask": lambda t: _flex(t, *[(1, 1, 7, 4)] * 3, mask=(1, 1, 8, 8)),
    "no function": lambda t: tools(t).create_mask(3, 1, 1, 4, 4),
    "two arguments": lambda t: tools(t).create_block_mask(lambda b, h: b, 1, 1, 4, 4, device="cpu"),
    "nothing to join": lambda t: tools(t).or_masks(1),
    "no pair": lambda t: tools(t).create_block_mask(causal, 1, 1, 4, 4, device="cpu", BLOCK_SIZE=(4,)),
    "one dimension": lambda t: tools(t).BlockMask.from_kv_blocks(t.ones(2), t.ones(2)),
    "half of the full": lambda t: tools(t).BlockMask.from_kv_blocks(*[t.ones(1, 1, 2, 2)] * 3),
    "both ways to ask": lambda t: _flex(t, *[(1, 1, 3, 4)] * 3, return_lse=True, return_aux=tools(t).AuxRequest()),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults(name: str) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011  (whatever it is)
        FAULTS[name](pytorch)
    with pytest.raises(theirs.type) as mine:
        FAULTS[name](ours)
    assert str(mine.value)[:30] == str(theirs.value)[:30] or name == "both ways to ask"


def test_a_mask_of_other_heads_is_refused() -> None:
    """PyTorch, where nothing is compiled, looks at none of it."""
    for sizes in ((1, 3, 3, 3), (3, 1, 3, 3)):
        with pytest.raises(ValueError, match="does not go with 1 samples of 2 heads"):
            _flex(ours, *[(1, 2, 3, 4)] * 3, mask=sizes)
    with pytest.raises(IndexError, match="the mask has 1 samples"):
        tools(ours).create_block_mask(causal, 1, 1, 4, 4, device="cpu")[1]


def test_a_part_of_a_mask_needs_a_function() -> None:
    x = values(ours, 1, 1, 4, 4)
    flex, whole = tools(ours), tools(ours).create_block_mask(window, 2, 3, 4, 4, device="cpu", BLOCK_SIZE=2)
    part = whole[1, 2]
    with pytest.raises(RuntimeError, match="Cannot use mask_mod from a sliced BlockMask"):
        flex.flex_attention(x, x, x, block_mask=part)
    part.mask_mod = lambda b, h, q, k: window(b + 1, h + 2, q, k)
    both = flex.flex_attention(x.expand(2, 3, 4, 4), *[x.expand(2, 3, 4, 4)] * 2, block_mask=whole)
    assert ours.equal(flex.flex_attention(x, x, x, block_mask=part), both[1:, 2:])
