"""Calls with ``out=``, and what functions say of types of numbers, beside PyTorch's."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch as pytorch

import mindtorch_v2 as ours
from tests.runtime.both import agree, agree_or_raise

CALLS: dict[str, Callable[[Any], Any]] = {
    "one of a shape": lambda t: t.add(t.ones(2), 1, out=t.zeros(2)),
    "an empty one": lambda t: t.exp(t.zeros(2, 3), out=t.empty(0)),
    "none": lambda t: t.exp(t.zeros(2, 3), out=None),
    "a wider dtype": lambda t: t.add(t.ones(2), 1, out=t.zeros(2, dtype=t.float64)),
    "a narrower dtype": lambda t: t.add(t.ones(2, dtype=t.float64), 1, out=t.zeros(2)),
    "integers for a fraction": lambda t: t.exp(t.zeros(2), out=t.zeros(2, dtype=t.int64)),
    "strides": lambda t: t.mul(t.ones(2, 3), 2, out=t.zeros(3, 2).t()),
    "several in a tuple": lambda t: t.sort(t.tensor([3.0, 1.0]), out=(t.empty(0), t.empty(0, dtype=t.int64))),
    "several in a list": lambda t: t.topk(t.tensor([3.0, 1.0]), 1, out=[t.empty(0), t.empty(0, dtype=t.int64)]),
    "one where there are several": lambda t: t.sort(t.tensor([3.0, 1.0]), out=t.empty(0)),
    "several where there is one": lambda t: t.exp(t.ones(2), out=(t.empty(0), t.empty(0))),
    "no tensor": lambda t: t.exp(t.ones(2), out=3),
    "a factory's": lambda t: t.zeros(2, 3, out=t.ones(1, 6)[:, :0]),
    "a factory's of another dtype": lambda t: t.ones(2, dtype=t.int64, out=t.empty(0)),
    "another name's": lambda t: t.multiply(t.ones(2), 3.0, out=t.zeros(2)),
    "a function without one": lambda t: t.allclose(t.ones(2), t.ones(2), out=t.zeros(1)),
    "a matrix product": lambda t: t.mm(t.ones(2, 3), t.ones(3, 2), out=t.zeros(2, 2)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_call_that_writes_to_what_it_is_given(call: Callable[[Any], Any]) -> None:
    agree_or_raise(call)


def test_what_is_written_to_is_returned() -> None:
    def case(t: Any) -> Any:
        out = t.empty(0)
        values, places = t.empty(0), t.empty(0, dtype=t.int64)
        sorted_, order = t.sort(t.tensor([3.0, 1.0]), out=(values, places))
        return t.exp(t.ones(2), out=out) is out, sorted_ is values, order is places

    agree(case)


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_what_is_resized_is_told() -> None:
    def case(t: Any) -> Any:
        out = t.ones(3)
        with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
            return t.exp(t.ones(2, 2), out=out), out.shape

    agree(case)


WRITERS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda t, out: t.add(t.ones(2), 1, out=out),
    "neg": lambda t, out: t.neg(t.ones(2), out=out),
    "floor of integers": lambda t, out: t.floor(t.tensor([1, 2]), out=out),
    "abs": lambda t, out: t.abs(t.ones(2), out=out),
    "sin": lambda t, out: t.sin(t.ones(2), out=out),
    "clamp by numbers": lambda t, out: t.clamp(t.ones(2), 0, 1, out=out),
    "clamp by tensors": lambda t, out: t.clamp(t.ones(2), t.zeros(2), t.ones(2), out=out),
    "eq": lambda t, out: t.eq(t.ones(2), 1, out=out),
    "mm": lambda t, out: t.mm(t.ones(2, 2), t.ones(2, 2), out=out),
    "triu": lambda t, out: t.triu(t.ones(2, 2), out=out),
    "softmax": lambda t, out: t.softmax(t.ones(2), 0, out=out),
    "logcumsumexp": lambda t, out: t.logcumsumexp(t.zeros(2), 0, out=out),
    "argmax": lambda t, out: t.argmax(t.ones(2), 0, out=out),
    "sum": lambda t, out: t.sum(t.tensor([1.5, 1.5]), 0, out=out),
    "prod of integers": lambda t, out: t.prod(t.tensor([3, 2]), 0, out=out),
    "cumsum": lambda t, out: t.cumsum(t.tensor([1.5, 1.5]), 0, out=out),
    "sort": lambda t, out: t.sort(t.ones(2), out=(out, t.empty(0, dtype=t.int64)))[0],
    "places of sort": lambda t, out: t.sort(t.ones(2), out=(t.empty(0), out))[1],
    "cummax": lambda t, out: t.cummax(t.ones(2), 0, out=(out, t.empty(0, dtype=t.int64)))[0],
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex64"])
@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_dtypes_that_a_result_is_written_to(write: Callable[[Any, Any], Any], dtype: str) -> None:
    agree_or_raise(lambda t: write(t, t.empty(0, dtype=getattr(t, dtype))))


IN_PLACE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "clamp_": lambda t, x, other: x.clamp_(other, other * 2),
    "lerp_": lambda t, x, other: x.lerp_(other, 0.5),
    "addcmul_": lambda t, x, other: x.addcmul_(other, other),
    "atan2_": lambda t, x, other: x.atan2_(other),
    "addmv_": lambda t, x, other: x.addmv_(other.view(2, 1), other[:1]),
    "copysign_": lambda t, x, other: x.copysign_(other),
}


@pytest.mark.parametrize("given", ["float32", "float64", "int64"])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("change", IN_PLACE.values(), ids=IN_PLACE)
def test_dtypes_that_are_changed_in_place(change: Callable[[Any, Any, Any], Any], dtype: str, given: str) -> None:
    def case(t: Any) -> Any:
        return change(t, t.tensor([1, 4], dtype=getattr(t, dtype)), t.tensor([2, 2], dtype=getattr(t, given)))

    agree_or_raise(case)


FLOATS = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64")


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS, "bool"])
@pytest.mark.parametrize("kind", ["finfo", "iinfo"])
def test_limits_of_dtypes(kind: str, name: str) -> None:
    def case(t: Any) -> Any:
        found = getattr(t, kind)(getattr(t, name))
        fields = ("bits", "max", "min", *(("eps", "tiny", "smallest_normal", "resolution") if kind == "finfo" else ()))
        return repr(found), [getattr(found, field) for field in fields], str(found.dtype)

    agree_or_raise(case)


@pytest.mark.parametrize("given", ["float32", 3, None])
@pytest.mark.parametrize("kind", ["finfo", "iinfo"])
def test_limits_of_what_is_no_dtype(kind: str, given: Any) -> None:
    agree_or_raise(lambda t: getattr(t, kind)(given).bits)


WORDS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d", "strided", "sparse_coo")


@pytest.mark.parametrize("word", WORDS)
def test_words_are_shown_as_they_are_written(word: str) -> None:
    agree(lambda t: (repr(getattr(t, word)), type(getattr(t, word)).__name__, getattr(t, word) is getattr(t, word)))


def test_words_are_arguments() -> None:
    def case(t: Any) -> Any:
        x = t.arange(6.0).reshape(2, 3)
        return (
            x.clone(memory_format=t.preserve_format),
            x.to(t.float64, memory_format=t.contiguous_format),
            x.contiguous(memory_format=t.contiguous_format),
            t.zeros(2, layout=t.strided),
            t.empty_like(x, memory_format=t.preserve_format).shape,
        )

    agree(case)


@pytest.mark.parametrize("t", [ours, pytorch], ids=["ours", "pytorch"])
def test_what_is_resized_gets_the_order_of_the_result(t):
    x = t.ones(1, 2, 3, 6)[..., ::2]
    for order in itertools.permutations(range(4)):
        turned = x.permute(order)
        for function, given in ((t.add, (turned, turned)), (t.exp, (turned,))):
            assert function(*given, out=t.empty(0)).stride() == function(*given).stride()
            rows = t.empty(turned.shape)
            assert function(*given, out=rows).stride() == t.empty(turned.shape).stride()


@pytest.mark.parametrize("t", [ours, pytorch], ids=["ours", "pytorch"])
def test_sizes_of_one_keep_their_strides_beside_other_shapes(t):
    x = t.rand(10, 3, 1, 1).to(memory_format=t.channels_last)
    y = t.rand(3, 1, 1)
    for result in (x + y, y + x, x * 5, x == 1, x / 2, x % 2, t.maximum(x, t.tensor(1.0))):
        assert result.stride() == x.stride() == (3, 1, 3, 3)
    assert x.exp().stride() == x.sigmoid().stride() == (3, 1, 1, 1)


@pytest.mark.parametrize("t", [ours, pytorch], ids=["ours", "pytorch"])
def test_upsampled_into_other_dtypes_and_orders(t):
    x = t.ones(1, 3, 4, 4)
    out = t.empty(1, 3, 8, 8).contiguous(memory_format=t.channels_last)
    t._C._nn.upsample_nearest2d(x, (8, 8), out=out)
    assert out.is_contiguous(memory_format=t.channels_last)
    with pytest.raises(RuntimeError, match=r"(?i)Expected out tensor to have dtype float, but got double instead"):
        t._C._nn.upsample_nearest2d(x, (8, 8), out=t.empty(1, 3, 8, 8, dtype=t.float64))


@pytest.mark.parametrize("t", [ours, pytorch], ids=["ours", "pytorch"])
def test_random_numbers_into_tensors(t):
    t.manual_seed(0)
    for dtype in (t.int32, t.uint8, t.bool, t.float64):
        drawn = t.bernoulli(t.full((20,), 0.5), out=t.full((20,), 2, dtype=dtype))
        assert drawn.dtype is dtype
        assert set(drawn.tolist()) == {0, 1}
    assert t.bernoulli(t.ones(3), out=t.ones(4)).tolist() == [1, 1, 1]
    for given in ((t.ones(2, 3), t.ones(2, 3)), (t.ones(2, 3), 1.0), (0.0, t.ones(2, 3)), (0.0, 1.0, (2, 3))):
        assert t.normal(*given, out=t.empty(2, 3)).shape == (2, 3)
    for given in ((t.ones(2, 3), t.ones(2, 1)), (t.ones(2, 3), 1.0), (0.0, t.ones(2, 3))):
        with pytest.warns(UserWarning, match="in a future PyTorch release outputs will not be resized unless"):
            assert t.normal(*given, out=t.empty(3)).shape == (2, 3)


def test_copy_is_no_function_of_the_top_level():
    assert hasattr(ours, "copy") is hasattr(pytorch, "copy") is False
