"""Random sizes, strides and offsets near 2**31, 2**62 and 2**63: PyTorch's geometry, or its class of error."""

from __future__ import annotations

import math
from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st

import mindtorch_v2
from mindtorch_v2 import _core
from tests.runtime.both import outcome

EDGES = [2**31, 2**32, 2**40, 2**61, 2**62, 2**63 - 1]
near = st.builds(lambda edge, by: edge + by, st.sampled_from(EDGES), st.integers(-3, 3)).filter(lambda n: n < 2**63)
numbers = st.one_of(st.integers(0, 4), near)
signed = st.one_of(numbers, st.integers(-4, -1), numbers.map(lambda n: -n))


def wraps_in_pytorch(shape: list[int]) -> bool:
    """Whether an empty tensor's other sizes need more than 63 bits: PyTorch refuses some, and lets others wrap."""
    return 0 in shape and math.prod(max(size, 1) for size in shape) >= 2**63


empty_shapes = st.tuples(st.just(0), near, near).flatmap(st.permutations)
shapes = st.lists(numbers, max_size=4).filter(lambda shape: not wraps_in_pytorch(shape))
views = st.lists(st.tuples(numbers, numbers), max_size=4).filter(
    lambda v: not wraps_in_pytorch([size for size, _ in v])
)
dtypes = st.sampled_from(["uint8", "bool", "int16", "float32", "float64", "complex128"])


def geometry(tensor: Any) -> tuple[Any, ...]:
    return tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), tensor.numel(), tensor.is_contiguous()


def compare(case: Any) -> None:
    """The same geometry under both imports, or ours raises PyTorch's class of error."""
    theirs = outcome(torch, lambda t: geometry(case(t)))
    ours = outcome(mindtorch_v2, lambda t: geometry(case(t)))
    if theirs.error is None:
        assert ours.error is None, f"PyTorch gives {theirs.value}, mindtorch_v2 raises {ours.error!r}"
        assert ours.value == theirs.value
    else:
        assert ours.error is not None, f"PyTorch raises {theirs.error!r}, mindtorch_v2 gives {ours.value}"
        assert isinstance(ours.error, type(theirs.error)), (
            f"PyTorch raises {theirs.error!r}, mindtorch_v2 {ours.error!r}"
        )


def affordable(shape: list[int], itemsize: int = 16) -> bool:
    """Whether a tensor on the CPU is tiny, or more than any machine has: what lies between is not asked for."""
    nbytes = math.prod(shape) * itemsize
    return nbytes < 2**20 or nbytes // itemsize >= 2**47


@given(shapes, dtypes)
def test_new_tensors_on_meta(shape: list[int], dtype: str) -> None:
    compare(lambda t: t.empty(shape, dtype=getattr(t, dtype), device="meta"))


@given(shapes.filter(affordable), dtypes)
def test_new_tensors_on_the_cpu(shape: list[int], dtype: str) -> None:
    compare(lambda t: t.empty(shape, dtype=getattr(t, dtype)))


@given(shapes.filter(affordable), st.sampled_from(["zeros", "ones"]))
def test_filled_tensors(shape: list[int], maker: str) -> None:
    compare(lambda t: getattr(t, maker)(shape))


@given(views, st.one_of(st.none(), signed), dtypes)
def test_as_strided(dims: list[tuple[int, int]], offset: int | None, dtype: str) -> None:
    sizes, strides = [size for size, _ in dims], [stride for _, stride in dims]
    compare(lambda t: t.zeros(6, dtype=getattr(t, dtype)).as_strided(sizes, strides, offset))


@given(views, numbers, views)
def test_as_strided_twice(first: list[tuple[int, int]], offset: int, second: list[tuple[int, int]]) -> None:
    def case(t: Any) -> Any:
        view = t.zeros(6).as_strided([a for a, _ in first], [b for _, b in first], offset)
        return view.as_strided([a for a, _ in second], [b for _, b in second])

    compare(case)


@given(shapes)
def test_expand(shape: list[int]) -> None:
    compare(lambda t: t.ones(1).expand(shape))


@given(shapes)
def test_view_of_nothing(shape: list[int]) -> None:
    compare(lambda t: t.zeros(0).view(shape))


@given(shapes.filter(affordable))
def test_resize_from_an_offset(shape: list[int]) -> None:
    compare(lambda t: t.zeros(6)[2:].resize_(shape))


@given(empty_shapes)
def test_an_empty_tensor_of_huge_sizes_is_empty_or_refused(shape: list[int]) -> None:
    for make in (mindtorch_v2.empty, mindtorch_v2.zeros(0).view, mindtorch_v2.zeros(3).resize_):
        try:
            made = make(shape)
        except RuntimeError:
            continue
        assert (made.numel(), made.shape) == (0, tuple(shape))
        assert all(0 <= stride < 2**63 for stride in made.stride())


@given(st.one_of(st.none(), signed), st.one_of(st.none(), signed), numbers.filter(bool))
def test_slices(start: int | None, stop: int | None, step: int) -> None:
    def case(t: Any) -> Any:
        return t.arange(12).reshape(4, 3)[start:stop:step]

    # A step that wraps in PyTorch gives strides of its own there: ours must refuse it, or agree.
    ours = outcome(mindtorch_v2, lambda t: geometry(case(t)))
    theirs = outcome(torch, lambda t: geometry(case(t)))
    if ours.error is not None:
        assert isinstance(ours.error, RuntimeError)
        assert step * 3 >= 2**63 or theirs.error is not None
    elif theirs.error is None:
        assert ours.value == theirs.value


@given(signed, signed)
def test_select_and_its_dimension(dim: int, index: int) -> None:
    compare(lambda t: t.zeros(4, 3).select(dim, index))


@given(shapes, shapes)
def test_broadcasting(first: list[int], second: list[int]) -> None:
    """Shapes that need more than 63 bits are refused before there is a result."""
    ours = outcome(mindtorch_v2, lambda t: t.empty(first, device="meta") + t.empty(second, device="meta"))
    theirs = outcome(torch, lambda t: t.empty(first, device="meta") + t.empty(second, device="meta"))
    assert (ours.error is None) == (theirs.error is None)


@given(st.lists(st.tuples(numbers, numbers), max_size=4), numbers)
def test_a_view_never_reaches_beyond_its_storage(dims: list[tuple[int, int]], offset: int) -> None:
    """Said without PyTorch: exact arithmetic is the oracle."""
    x = mindtorch_v2.zeros(6)
    sizes, strides = [size for size, _ in dims], [stride for _, stride in dims]
    try:
        view = _core.as_strided(x, sizes, strides, offset)
    except RuntimeError:
        return
    if 0 not in sizes:
        assert offset + sum((size - 1) * stride for size, stride in dims) < 6
        assert view.numel() == math.prod(sizes) < 2**63
    else:
        assert view.numel() == 0
        assert view.data_ptr() == 0
