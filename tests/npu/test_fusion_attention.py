"""Attention that is trained, under torch_npu's names: values and gradients against PyTorch's, and captured graphs."""

from __future__ import annotations

import numpy as np
import pytest
import torch as pytorch

import mindtorch_v2 as torch
from mindtorch_v2 import npu
from mindtorch_v2.npu.graphs import _NPU_GRAPH_OP_HANDLERS

RNG = np.random.default_rng(23)
TOLERANCE = {"float32": 5e-6, "float16": 4e-3, "bfloat16": 4e-2}
forward, backward = torch.ops.npu.npu_fusion_attention_v3, torch.ops.npu.npu_fusion_attention_grad_v3
DEVICES = pytest.mark.parametrize("device", ["npu", "cpu"])


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def ours(array, device="npu", dtype="float32"):
    return torch.from_numpy(np.ascontiguousarray(array)).to(getattr(torch, dtype)).to(device)


def theirs(q, k, v, dy, scale, *, seen=None, dtype="float32"):
    """PyTorch's attention of (batch, heads, tokens, width) arrays, and its gradients of query, key and value."""
    leaves = [pytorch.from_numpy(x).to(getattr(pytorch, dtype)).double().requires_grad_() for x in (q, k, v)]
    group = q.shape[1] // k.shape[1]
    wide = [leaves[0], *(x.repeat_interleave(group, 1) for x in leaves[1:])]
    mask = None if seen is None else pytorch.from_numpy(seen)
    out = pytorch.nn.functional.scaled_dot_product_attention(*wide, attn_mask=mask, scale=scale)
    out.backward(pytorch.from_numpy(dy).to(getattr(pytorch, dtype)).double())
    return [each.detach().numpy() for each in (out, *(leaf.grad for leaf in leaves))]


def laid(array, layout):
    """A (batch, heads, tokens, width) array in a layout."""
    if layout == "BNSD":
        return array
    turned = array.transpose(0, 2, 1, 3)
    return turned if layout == "BSND" else turned.reshape(*turned.shape[:2], -1)


def close(actual, wanted, dtype="float32"):
    assert actual.dtype is getattr(torch, dtype)
    np.testing.assert_allclose(actual.cpu().float().numpy(), wanted, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@DEVICES
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("layout", ["BSH", "BSND", "BNSD"])
def test_values_and_gradients_are_pytorch_s(layout, dtype, device):
    b, n, groups, s, t, d = 2, 4, 2, 3, 7, 24
    q, k, v, dy = normal(b, n, s, d), normal(b, groups, t, d), normal(b, groups, t, d), normal(b, n, s, d)
    given = [ours(laid(x, layout), device, dtype).requires_grad_() for x in (q, k, v)]
    out, peaks, sums, _, seed, offset = forward(*given, n, layout, scale=d**-0.5)
    out.backward(ours(laid(dy, layout), device, dtype))
    wanted = theirs(q, k, v, dy, d**-0.5, dtype=dtype)
    for actual, expected in zip((out.detach(), *(x.grad for x in given)), wanted, strict=True):
        close(actual, laid(expected, layout), dtype)
    assert [tuple(x.shape) for x in (peaks, sums, seed, offset)] == [(b, n, s, 8), (b, n, s, 8), (1,), (1,)]
    assert not any(x.requires_grad for x in (peaks, sums, seed, offset))
    if dtype == "float32":
        scores = np.einsum("bnsd,bntd->bnst", q, k.repeat(n // groups, 1)) * d**-0.5
        highest = scores.max(-1, keepdims=True)
        np.testing.assert_allclose(peaks.cpu().numpy(), highest.repeat(8, -1), rtol=1e-5, atol=1e-6)
        total = np.exp(scores - highest).sum(-1, keepdims=True)
        np.testing.assert_allclose(sums.cpu().numpy(), total.repeat(8, -1), rtol=1e-5)


@DEVICES
@pytest.mark.parametrize("sparse_mode", [0, 2, 3])
def test_masks(sparse_mode, device):
    b, n, s, t, d = 2, 2, 5, 7, 16
    q, k, v, dy = normal(b, n, s, d), normal(b, n, t, d), normal(b, n, t, d), normal(b, n, s, d)
    mask = RNG.random((b, 1, s, t)) < 0.4
    mask[..., 0] = False
    seen = {0: ~mask, 2: np.tri(s, t, dtype=bool), 3: np.tri(s, t, t - s, dtype=bool)}[sparse_mode]
    given = [ours(x, device).requires_grad_() for x in (q, k, v)]
    hidden = torch.from_numpy(mask).to(device)
    out = forward(*given, n, "BNSD", atten_mask=hidden, scale=0.3, sparse_mode=sparse_mode)[0]
    out.backward(ours(dy, device))
    for actual, expected in zip(
        (out.detach(), *(x.grad for x in given)), theirs(q, k, v, dy, 0.3, seen=seen), strict=True
    ):
        close(actual, expected)


def sequences(q, k, v, dy, scale, ends, key_ends):
    """The same of sequences that lie one after another; what belongs to none is 0."""
    made = [np.zeros_like(x, dtype=np.float64) for x in (dy, q, k, v)]
    start, key_start = 0, 0
    for end, key_end in zip(ends, key_ends, strict=True):
        at, key_at = slice(start, end), slice(key_start, key_end)
        part = [x.transpose(1, 0, 2)[None] for x in (q[at], k[key_at], v[key_at], dy[at])]
        for target, where, found in zip(made, (at, at, key_at, key_at), theirs(*part, scale), strict=True):
            target[where] = found[0].transpose(1, 0, 2)
        start, key_start = end, key_end
    return made


@DEVICES
def test_sequences_one_after_another(device):
    n, groups, d, ends, key_ends = 4, 2, 8, [2, 3, 6], [4, 10, 13]
    q, k, v, dy = normal(7, n, d), normal(15, groups, d), normal(15, groups, d), normal(7, n, d)
    dy[6:] = 0
    given = [ours(x, device).requires_grad_() for x in (q, k, v)]
    out, peaks, *_ = forward(*given, n, "TND", scale=0.5, actual_seq_qlen=ends, actual_seq_kvlen=key_ends)
    out.backward(ours(dy, device))
    for actual, expected in zip(
        (out.detach(), *(x.grad for x in given)), sequences(q, k, v, dy, 0.5, ends, key_ends), strict=True
    ):
        close(actual, expected)
    assert tuple(peaks.shape) == (7, n, 8)


# ---------------------------------------------------------------- in captured graphs
TABLE = {  # torch_npu's: operator -> positions; in each of its forms
    "npu_fusion_attention_v3": (14, 15),
    "npu_fusion_attention_grad_v3": (21, 22),
}


@pytest.mark.parametrize("form", ["", ".default", ".out"])
@pytest.mark.parametrize("name", TABLE)
def test_handlers_are_those_of_torch_npu(name, form):
    specs = _NPU_GRAPH_OP_HANDLERS[name + form].get_update_specs(name + form)
    keys = ("actual_seq_qlen", "actual_seq_kvlen")
    assert list(specs) == [("arg", at, key) for at, key in zip(TABLE[name], keys, strict=True)]


LENGTHS = [([2, 6], [3, 8]), ([1, 6], [7, 8]), ([4, 6], [1, 5])]


@pytest.mark.parametrize(("overload", "dtype"), [("default", "float32"), ("default", "bfloat16"), ("out", "float16")])
def test_lengths_that_change_from_replay_to_replay(overload, dtype):
    n, d = 2, 16
    arrays = normal(6, n, d), normal(8, n, d), normal(8, n, d), normal(6, n, d)
    q, k, v, dy = (ours(x, dtype=dtype) for x in arrays)

    def there(count):
        return [torch.zeros(0).npu() for _ in range(count)]

    def both(queries, keys, out=None, gradients=None):
        """Forward, and the gradients from what it left, new or into lists of tensors."""
        lengths = {"actual_seq_qlen": queries, "actual_seq_kvlen": keys}
        if out is None:
            out = forward(q, k, v, n, "TND", scale=0.25, **lengths)
        else:
            forward.out(q, k, v, n, "TND", scale=0.25, **lengths, out=out)
        left = {"softmax_max": out[1], "softmax_sum": out[2], "attention_in": out[0]}
        if gradients is None:
            gradients = backward(q, k, v, dy, n, "TND", scale_value=0.25, **left, **lengths)
        else:
            backward.out(q, k, v, dy, n, "TND", scale_value=0.25, **left, **lengths, out=gradients)
        return [out[0], *gradients[:3]]

    given = ()
    if overload == "out":
        eager = forward(q, k, v, n, "TND", scale=0.25, actual_seq_qlen=[2, 6], actual_seq_kvlen=[3, 8])
        given = [torch.empty_like(x) for x in eager], [*(torch.empty_like(x) for x in (q, k, v)), *there(2)]
    both(*LENGTHS[0])
    graph = npu.NPUGraph()
    with npu.graph(graph, auto_dispatch_capture=True):
        results = both([1, 2], [1, 2], *given)
    names = [record.op_cache_entry.__name__ for record in graph._captured.updates.records]
    assert names == ["npu_fusion_attention_v3.out", "npu_fusion_attention_grad_v3.out"]
    for queries, keys in LENGTHS:
        graph.update([{"actual_seq_qlen": queries, "actual_seq_kvlen": keys}])
        graph.replay()
        for replayed, eager in zip(results, both(queries, keys), strict=True):
            assert torch.equal(replayed.cpu(), eager.cpu())


# ---------------------------------------------------------------- refusals
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"keep_prob": 0.9}, "keep_prob 0.9: dropout is not there"),
        ({"pse": torch.ones(1)}, "pse is not there"),
        ({"prefix": [1]}, "prefix is not there"),
        ({"sink": torch.ones(1)}, "sink is not there"),
        ({"softmax_layout": "SBH"}, "softmax_layout 'SBH' is not there"),
        ({"input_layout": "SBH"}, "input_layout 'SBH' is not there; there are BSH, BSND, BNSD, TND"),
        ({"head_num": 3}, "3 heads divide"),
        ({"sparse_mode": 7}, "sparse_mode 7"),
    ],
)
def test_what_is_refused(change, message):
    q, k = torch.ones(1, 1, 8), torch.ones(1, 12, 8)
    with pytest.raises(RuntimeError, match=message):
        forward(q, k, k, **{"head_num": 1, "input_layout": "BSH", **change})


def test_gradients_need_what_the_forward_left():
    q, k = torch.ones(1, 1, 8), torch.ones(1, 12, 8)
    out, peaks, sums, *_ = forward(q, k, k, 1, "BSH")
    with pytest.raises(RuntimeError, match="softmax_max, softmax_sum: expected what npu_fusion_attention_v3 returned"):
        backward(q, k, k, q, 1, "BSH", attention_in=out)
    with pytest.raises(RuntimeError, match=r"softmax_sum: expected torch\.float32 \(1, 1, 1, 8\), contiguous"):
        backward(q, k, k, q, 1, "BSH", attention_in=out, softmax_max=peaks, softmax_sum=sums[..., :1])
    with pytest.raises(RuntimeError, match=r"dy: expected torch\.float32 \(1, 1, 8\), contiguous, got .* \(1, 2, 8\)"):
        backward(q, k, k, torch.ones(1, 2, 8), 1, "BSH", attention_in=out, softmax_max=peaks, softmax_sum=sums)
    with pytest.raises(RuntimeError, match="out: expected 6 tensors, got 1"):
        forward.out(q, k, k, 1, "BSH", out=[out])


@DEVICES
def test_keys_that_nobody_sees_have_no_gradient(device):
    q, k, v = (ours(normal(1, 1, 4, 8), device).requires_grad_() for _ in range(3))
    mask = torch.ones(4, 4, dtype=torch.bool).to(device)
    forward(q, k, v, 1, "BNSD", atten_mask=mask)[0].sum().backward()
    for each in (q, k, v):
        assert not each.grad.cpu().numpy().any()
