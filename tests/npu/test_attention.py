"""Attention of torch_npu's names, eagerly and in captured graphs, against PyTorch's and NumPy's."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch as pytorch

import mindtorch_v2 as torch
from mindtorch_v2 import npu
from mindtorch_v2.npu.graphs import _NPU_GRAPH_OP_HANDLERS, NpuGraphOpHandler

RNG = np.random.default_rng(11)
TOLERANCE = {"float32": 2e-6, "float16": 2e-3, "bfloat16": 2e-2}
v1, v2 = torch.ops.npu.npu_fused_infer_attention_score, torch.ops.npu.npu_fused_infer_attention_score_v2
paged, latent = torch.ops.atb._npu_paged_attention, torch.ops.atb.npu_multi_head_latent_attention


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def ours(array, device="npu", dtype="float32"):
    return torch.from_numpy(np.ascontiguousarray(array)).to(getattr(torch, dtype)).to(device)


def expected(q, k, v, scale, lengths, *, causal=False, mask=None, dtype="float32"):
    """PyTorch's attention of (batch, heads, tokens, width) arrays; keys beyond a length are left out."""
    q, k, v = (pytorch.from_numpy(each).to(getattr(pytorch, dtype)).double() for each in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    results = []
    for b, length in enumerate(lengths):
        seen = pytorch.ones(q.shape[2], length, dtype=pytorch.bool)
        if causal:
            seen = seen.tril(length - q.shape[2])
        if mask is not None:
            seen = seen & ~pytorch.from_numpy(mask[b, :, :length])
        results.append(
            pytorch.nn.functional.scaled_dot_product_attention(
                q[b], k[b, :, :length], v[b, :, :length], attn_mask=seen, scale=scale
            )
        )
    return pytorch.stack(results).numpy()


def close(actual, wanted, dtype="float32"):
    np.testing.assert_allclose(actual.cpu().float().numpy(), wanted, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("device", ["npu", "cpu"])
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("layout", ["BSH", "BSND", "BNSD"])
def test_layouts_with_groups_of_heads(layout, dtype, device):
    b, n, groups, s, t, d = 2, 4, 2, 3, 70, 24
    q, k, v = normal(b, n, s, d), normal(b, groups, t, d), normal(b, groups, t, d)
    lengths, scale = [70, 33], d**-0.5

    def laid(array):
        if layout == "BNSD":
            return array
        turned = array.transpose(0, 2, 1, 3)
        return turned if layout == "BSND" else turned.reshape(*turned.shape[:2], -1)

    given = [ours(laid(each), device, dtype) for each in (q, k, v)]
    out, lse = v1(
        *given,
        actual_seq_lengths_kv=lengths,
        num_heads=n,
        num_key_value_heads=groups,
        scale=scale,
        input_layout=layout,
        softmax_lse_flag=True,
    )
    close(out, laid(expected(q, k, v, scale, lengths, dtype=dtype)), dtype)
    again, _ = v2(
        *given,
        actual_seq_kvlen=lengths,
        num_query_heads=n,
        num_key_value_heads=groups,
        softmax_scale=scale,
        input_layout=layout,
    )
    assert torch.equal(again.cpu(), out.cpu())
    if dtype == "float32":
        scores = np.einsum("bnsd,bntd->bnst", q, k.repeat(n // groups, 1)) * scale
        for number, length in enumerate(lengths):
            sums = np.log(np.exp(scores[number, :, :, :length].astype(np.float64)).sum(-1))
            np.testing.assert_allclose(lse.cpu().numpy()[number, :, :, 0], sums, rtol=1e-5)


@pytest.mark.parametrize("device", ["npu", "cpu"])
def test_masks(device):
    b, n, s, t, d = 2, 2, 5, 9, 16
    q, k, v = normal(b, n, s, d), normal(b, n, t, d), normal(b, n, t, d)
    mask = RNG.random((b, s, t)) < 0.4
    mask[:, :, 0] = False
    given = [ours(each, device) for each in (q, k, v)]
    options = {"num_heads": n, "scale": 0.3, "input_layout": "BNSD"}
    out, _ = v1(*given, atten_mask=torch.from_numpy(mask).to(device), **options)
    close(out, expected(q, k, v, 0.3, [t, t], mask=mask))
    out, _ = v1(*given, sparse_mode=3, actual_seq_lengths_kv=[9, 7], **options)
    close(out, expected(q, k, v, 0.3, [9, 7], causal=True))


@pytest.mark.parametrize("device", ["npu", "cpu"])
def test_sequences_one_after_another(device):
    n, d, lengths, keys = 2, 8, [2, 1, 3], [4, 6, 3]
    q, k, v = normal(7, n, d), normal(13, n, d), normal(13, n, d)
    out, _ = v1(
        *(ours(each, device) for each in (q, k, v)),
        actual_seq_lengths=list(np.cumsum(lengths)),
        actual_seq_lengths_kv=list(np.cumsum(keys)),
        num_heads=n,
        scale=0.5,
        input_layout="TND",
        sparse_mode=3,
    )
    start, key_start = 0, 0
    for own, known in zip(lengths, keys, strict=True):
        part = [
            each.transpose(1, 0, 2)[None]
            for each in (q[start : start + own], *(x[key_start : key_start + known] for x in (k, v)))
        ]
        wanted = expected(*part, 0.5, [known], causal=True)[0].transpose(1, 0, 2)
        close(out[start : start + own], wanted)
        start, key_start = start + own, key_start + known
    assert not out[start:].cpu().numpy().any()  # what belongs to no sequence


def in_blocks(array, table, size):
    """(batch, tokens, heads, width) as a cache of blocks, where a table says."""
    cache = normal(int(table.max()) + 1, size, *array.shape[2:])
    for b, row in enumerate(table):
        for number, block in enumerate(row):
            part = array[b, number * size : (number + 1) * size]
            cache[block, : len(part)] = part
    return cache


@pytest.mark.parametrize("device", ["npu", "cpu"])
def test_caches_in_blocks(device):
    b, n, groups, t, d, size = 3, 4, 2, 20, 16, 8
    q, k, v = normal(b, n, d), normal(b, t, groups, d), normal(b, t, groups, d)
    table = RNG.permutation(9).reshape(3, 3).astype(np.int32)
    lengths = [20, 5, 16]
    caches = [ours(in_blocks(each, table, size), device) for each in (k, v)]
    out = ours(np.zeros((b, n, d), np.float32), device)
    blocks = torch.from_numpy(table).to(device)
    assert (
        paged(ours(q, device), *caches, groups, n, 0.25, blocks, torch.tensor(lengths, dtype=torch.int32), out) is None
    )
    wanted = expected(q[:, :, None], k.transpose(0, 2, 1, 3), v.transpose(0, 2, 1, 3), 0.25, lengths)[:, :, 0]
    close(out, wanted)
    flat = [cache.reshape(9, size, groups * d) for cache in caches]
    by_v1, _ = v1(
        ours(q.reshape(b, 1, n * d), device),
        *flat,
        actual_seq_lengths_kv=lengths,
        block_table=blocks,
        block_size=size,
        num_heads=n,
        num_key_value_heads=groups,
        scale=0.25,
    )
    close(by_v1.reshape(b, n, d), wanted)


@pytest.mark.parametrize("device", ["npu", "cpu"])
def test_latent_attention(device):
    b, n, d, r, size, lengths = 2, 3, 32, 8, 4, [7, 2]
    q, q_rope, k, k_rope = normal(b, n, d), normal(b, n, r), normal(b, 8, 1, d), normal(b, 8, 1, r)
    table = np.array([[2, 0], [1, 3]], np.int32)
    given = [ours(q, device), ours(q_rope, device), *(ours(in_blocks(x, table, size), device) for x in (k, k_rope))]
    out = latent(*given, torch.from_numpy(table).to(device), lengths, n, 0.2, 1)
    whole = [np.concatenate(pair, -1) for pair in ((q, q_rope), (k, k_rope))]
    scores = np.einsum("bnd,btd->bnt", whole[0], whole[1][:, :, 0]) * 0.2
    for number, length in enumerate(lengths):
        shares = np.exp(scores[number, :, :length])
        close(out[number], shares / shares.sum(-1, keepdims=True) @ k[number, :length, 0])


# ---------------------------------------------------------------- in captured graphs
def test_a_decode_loop_with_growing_lengths():
    b, n, t, d = 2, 2, 40, 16
    q, k, v = ours(normal(b, n, 1, d)), ours(normal(b, n, t, d)), ours(normal(b, n, t, d))
    options = {"num_heads": n, "scale": 0.25, "input_layout": "BNSD"}
    graph = npu.NPUGraph()
    with npu.graph(graph, auto_dispatch_capture=True):
        out, _ = v1(q, k, v, actual_seq_lengths_kv=[1, 1], **options)
    for length in (1, 2, 17, 39):
        lengths = [length, length + 1]
        graph.update([{"actual_seq_lengths_kv": lengths}])
        graph.replay()
        eager, _ = v1(q, k, v, actual_seq_lengths_kv=lengths, **options)
        assert torch.equal(out.cpu(), eager.cpu())


@pytest.mark.parametrize("overload", ["default", "out"])
def test_every_form_is_updated(overload):
    q, k, v = ours(normal(1, 1, 8)), ours(normal(1, 12, 8)), ours(normal(1, 12, 8))
    graph, outputs = npu.NPUGraph(), [torch.zeros(1, 1, 8).npu(), torch.zeros(1).npu()]
    with npu.graph(graph, auto_dispatch_capture=True):
        if overload == "out":
            v2.out(q, k, v, actual_seq_kvlen=[1], out=outputs)
            result = outputs
        else:
            result = v2(q, k, v, actual_seq_kvlen=[1])
    assert isinstance(result, list)
    for length in (5, 12, 3):
        graph.update([{"actual_seq_kvlen": [length]}])
        graph.replay()
        assert torch.equal(result[0].cpu(), v2(q, k, v, actual_seq_kvlen=[length])[0].cpu())


def test_paged_attention_in_a_graph():
    q, cache = ours(normal(2, 1, 8)), ours(normal(4, 4, 1, 8))
    table, out = torch.tensor([[0, 1], [3, 2]], dtype=torch.int32).npu(), torch.zeros(2, 1, 8).npu()
    graph = npu.NPUGraph()
    with npu.graph(graph, auto_dispatch_capture=True):
        paged(q, cache, cache, 1, 1, 1.0, table, torch.tensor([1, 1], dtype=torch.int32), out)
    eager = torch.zeros(2, 1, 8).npu()
    for lengths in ([3, 8], [5, 1]):
        lens = torch.tensor(lengths, dtype=torch.int32)
        graph.update([{"context_lens": lens}])
        graph.replay()
        paged(q, cache, cache, 1, 1, 1.0, table, lens, eager)
        assert torch.equal(out.cpu(), eager.cpu())


def test_lengths_on_the_npu_are_refused_in_a_capture():
    q, cache = ours(normal(2, 1, 8)), ours(normal(4, 4, 1, 8))
    table, out = torch.tensor([[0, 1], [3, 2]], dtype=torch.int32).npu(), torch.zeros(2, 1, 8).npu()
    lens = torch.tensor([1, 1], dtype=torch.int32).npu()
    graph = npu.NPUGraph()
    with pytest.raises(RuntimeError, match="context_lens: expected a tensor on the CPU in a capture"), npu.graph(graph):
        paged(q, cache, cache, 1, 1, 1.0, table, lens, out)


TABLE = {  # torch_npu's: operator -> (positions, keys)
    "npu_fused_infer_attention_score": [("arg", 5, "actual_seq_lengths"), ("arg", 6, "actual_seq_lengths_kv")],
    "npu_fused_infer_attention_score.default": [("arg", 5, "actual_seq_lengths"), ("arg", 6, "actual_seq_lengths_kv")],
    "npu_fused_infer_attention_score.out": [("arg", 5, "actual_seq_lengths"), ("arg", 6, "actual_seq_lengths_kv")],
    "npu_fused_infer_attention_score_v2": [("arg", 7, "actual_seq_qlen"), ("arg", 8, "actual_seq_kvlen")],
    "npu_fused_infer_attention_score_v2.default": [("arg", 7, "actual_seq_qlen"), ("arg", 8, "actual_seq_kvlen")],
    "npu_fused_infer_attention_score_v2.out": [("arg", 7, "actual_seq_qlen"), ("arg", 8, "actual_seq_kvlen")],
    "_npu_paged_attention.default": [("arg", 7, "context_lens")],
    "npu_multi_head_latent_attention.out": [("arg", 5, "context_lens")],
}


@pytest.mark.parametrize("name", TABLE)
def test_handlers_are_those_of_torch_npu(name):
    handler = _NPU_GRAPH_OP_HANDLERS[name]
    assert isinstance(handler, type)
    assert issubclass(handler, NpuGraphOpHandler)
    assert list(handler.get_update_specs(name)) == TABLE[name]


# ---------------------------------------------------------------- refusals
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"input_layout": "NSD"}, "input_layout 'NSD' is not there; there are BSH, BSND, BNSD, TND"),
        ({"num_heads": 3}, "3 heads divide"),
        ({"actual_seq_lengths_kv": [1, 2]}, "the lengths of keys: expected 1 lengths, got 2"),
        ({"actual_seq_lengths_kv": [13]}, "lengths from 0 to 12"),
        ({"quant_scale1": torch.ones(1)}, "quant_scale1: quantised"),
        ({"sparse_mode": 7}, "sparse_mode 7"),
    ],
)
def test_what_is_refused(change, message):
    q, k = torch.ones(1, 1, 8), torch.ones(1, 12, 8)
    with pytest.raises(RuntimeError, match=message):
        v1(q, k, k, **change)


def test_out_is_checked():
    q, k = ours(normal(1, 1, 8)), ours(normal(1, 12, 8))
    lse = torch.zeros(1).npu()
    for wrong in (
        torch.zeros(1, 2, 8).npu(),
        torch.zeros(1, 1, 8, dtype=torch.float16).npu(),
        torch.zeros(1, 1, 4).npu(),
    ):
        with pytest.raises(RuntimeError, match=r"out: expected torch.float32 \(1, 1, 8\), contiguous"):
            v1.out(q, k, k, out=[wrong, lse])
    with pytest.raises(RuntimeError, match=r"softmax_lse: expected torch.float32 \(1, 1, 1, 1\)"):
        v1.out(q, k, k, softmax_lse_flag=True, out=[torch.zeros(1, 1, 8).npu(), torch.zeros(2).npu()])


@pytest.mark.parametrize("device", ["npu", "cpu"])
def test_inputs_that_begin_within_their_memory(device):
    q, k, v = normal(3, 1, 8), normal(3, 12, 8), normal(3, 12, 8)
    given = [ours(each, device)[1:] for each in (q, k, v)]
    out, _ = v1(*given)
    wanted = expected(q[1:, None], k[1:, None], v[1:, None], 1.0, [12, 12])[:, 0]
    close(out, wanted)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((2, 1, 8), (2, 12, 8), (2, 11, 8)), "value: expected as many tokens as of key"),
        (((2, 1, 8), (1, 12, 8), (1, 12, 8)), "key: expected 2 sequences, got 1"),
        (((2, 1, 8), (2, 12, 4), (2, 12, 8)), "key: expected heads of 8 elements, got 4"),
        (((1, 8), (2, 12, 8), (2, 12, 8)), "query: expected 3 dimensions for BSH, got 2"),
    ],
)
@pytest.mark.parametrize("device", ["npu", "cpu"])
def test_shapes_that_do_not_fit(device, shapes, message):
    with pytest.raises(RuntimeError, match=message):
        v1(*(ours(normal(*shape), device) for shape in shapes))


def test_masks_and_tables_that_do_not_fit():
    q, k = torch.ones(2, 3, 8), torch.ones(2, 12, 8)
    for shape in ((3, 11), (2, 12), (3, 3, 12)):
        with pytest.raises(RuntimeError, match="atten_mask: expected one mask, or one for each of 2 sequences"):
            v1(q, k, k, atten_mask=torch.zeros(shape, dtype=torch.bool))
    cache = torch.ones(4, 4, 8)
    with pytest.raises(RuntimeError, match="the table of blocks: expected a row for each of 2 sequences, got 1"):
        v1(q, cache, cache, block_table=torch.zeros(1, 2, dtype=torch.int32), block_size=4)
    with pytest.raises(RuntimeError, match="as many blocks and tokens as of key"):
        v1(q, cache, cache[1:], block_table=torch.zeros(2, 2, dtype=torch.int32), block_size=4)


def test_no_key_at_all():
    q, k = ours(normal(1, 1, 8)), ours(normal(1, 12, 8))
    out, lse = v1(q, k, k, actual_seq_lengths_kv=[0], softmax_lse_flag=True)
    assert not out.cpu().numpy().any()
    assert lse.cpu().tolist() == [[[[math.inf]]]]
