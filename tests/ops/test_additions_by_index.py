"""`index_add` and `index_reduce`: what they refuse, and how half precision is rounded, as in PyTorch."""

from __future__ import annotations

import pytest
import torch as pytorch

import mindtorch_v2 as ours

REFUSED = [((), (1,)), ((), (1, 1, 1)), ((3,), ()), ((3, 4), (1, 5)), ((3, 4), (1, 4, 1))]
CALLS = [
    lambda t, x, index, source: x.index_add(0, index, source),
    lambda t, x, index, source: x.index_add(0, index, source, alpha=3),
    lambda t, x, index, source: x.index_reduce(0, index, source, "mean"),
    lambda t, x, index, source: x.index_reduce(0, index, source, "mean", include_self=False),
]


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("t", [ours, pytorch], ids=["ours", "pytorch"])
@pytest.mark.parametrize(("shape", "source"), REFUSED)
def test_a_source_of_another_shape(t, shape, source):
    refused = pytest.raises(RuntimeError, match="source tensor shape must match self tensor shape, excluding")
    for add in (
        lambda x, y: x.index_add(0, t.tensor([0]), y),
        lambda x, y: x.index_reduce(0, t.tensor([0]), y, "mean"),
    ):
        with refused:
            add(t.ones(shape), t.ones(source))


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("shape", [(3,), (3, 2)])
@pytest.mark.parametrize("index_dtype", ["int64", "int32"])
@pytest.mark.parametrize(("dtype", "large"), [("bfloat16", 256.0), ("float16", 2048.0)])
def test_half_precision_is_rounded_where_pytorch_rounds(dtype, large, index_dtype, shape, call):
    def computed(t):
        x = t.zeros(shape, dtype=getattr(t, dtype))
        x[0] = large
        index = t.tensor([0, 2, 0, 0, 2, 0, 0, 0], dtype=getattr(t, index_dtype))
        source = (1 + t.arange(8.0) / 8).reshape([8, *[1] * (len(shape) - 1)]).expand(8, *shape[1:])
        return call(t, x, index, source.to(x.dtype)).tolist()

    assert computed(ours) == computed(pytorch)


@pytest.mark.parametrize("reduce", ["sum", "mean", "prod"])
def test_scattered_halves(reduce):
    def computed(t):
        x, index = t.tensor([2048.0, 1.0], dtype=t.float16), t.tensor([0, 0, 0, 1])
        return x.scatter_reduce(0, index, t.tensor([1.0, 1.0, 1.0, 3.0], dtype=t.float16), reduce).tolist()

    assert computed(ours) == computed(pytorch)


@pytest.mark.parametrize("t", [ours, pytorch], ids=["ours", "pytorch"])
def test_slices_at_indices_out_of_range(t):
    for shape, dim in (((2, 3), 1), ((0, 3), 1)):
        with pytest.raises(RuntimeError, match="INDICES element is out of DATA bounds, id=5 axis_dim=3"):
            t.ones(shape).index_select(dim, t.tensor([0, 5]))
    with pytest.raises(IndexError, match="index out of range in self"):
        t.ones(3).index_select(0, t.tensor([5]))


@pytest.mark.parametrize("alpha", [2, 2.5, -1, 300])
@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float32", "float64", "bfloat16", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(6,), (6, 4), (6, 4, 3)])
def test_a_factor_is_taken_in_the_dtype(shape, dtype, alpha):
    def computed(t):
        kind = getattr(t, dtype)
        x, source = t.ones(shape, dtype=kind), t.full((3, *shape[1:]), 3, dtype=kind)
        try:
            return x.index_add(0, t.tensor([0, 2, 2]), source, alpha=alpha).tolist()
        except RuntimeError:
            return "refused"

    assert computed(ours) == computed(pytorch)
