"""What is written, added and reduced at indices, running extremes, unique elements, choices: PyTorch's values."""
# ruff: noqa: B023 - cases run where they are defined

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch as pytorch

import mindtorch_v2 as ours
from tests.runtime.both import agree, agree_or_raise

pytestmark = pytest.mark.filterwarnings("ignore:index_reduce")
DTYPES = ("uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32", "float64")
SHAPES: tuple[tuple[int, ...], ...] = ((6,), (4, 5), (3, 2, 4), (5, 1, 3))


def _numbers(seed: int, shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    found = np.random.default_rng(seed).integers(-4, 5, shape).astype("f8")
    if dtype.startswith(("float", "bfloat")) and found.size > 8:
        found.flat[:3] = np.nan, np.inf, -0.0
    return abs(found) if dtype == "uint8" else found


def _tensor(t: Any, seed: int, shape: tuple[int, ...], dtype: str, turned: bool = False) -> Any:
    if turned and shape:
        return _tensor(t, seed, shape[::-1], dtype).permute(*range(len(shape))[::-1])
    return t.tensor(_numbers(seed, shape, dtype).tolist(), dtype=getattr(t, dtype)).reshape(shape)


def _places(t: Any, seed: int, shape: tuple[int, ...], size: int, least: int = 0) -> Any:
    return t.tensor(np.random.default_rng(seed).integers(least, size, shape).tolist(), dtype=t.int64).reshape(shape)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_reduced_at_places(reduce: str, dtype: str) -> None:
    for shape in SHAPES:
        for dim in range(len(shape)):
            for turned in (False, True):
                for include in (False, True):
                    wider = (*shape[:dim], 7, *shape[dim + 1 :])

                    def case(t: Any) -> Any:
                        x, src = _tensor(t, 1, shape, dtype, turned), _tensor(t, 2, wider, dtype, turned)
                        index = _places(t, 3, wider, shape[dim])
                        each = x.scatter_reduce(dim, index, src, reduce, include_self=include)
                        if reduce == "sum":
                            return each
                        vector = index.reshape(-1)[:7]
                        return each, x.index_reduce(dim, vector, src, reduce, include_self=include)

                    agree(case)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("reduce", ["prod", "mean", "sum"])
def test_halves_are_rounded_where_pytorch_rounds(reduce: str, dtype: str) -> None:
    def case(t: Any) -> Any:
        source = (1 + t.arange(24.0) / 37).reshape(8, 3).to(getattr(t, dtype))
        x, index = t.full((2, 3), 1.5, dtype=source.dtype), t.tensor([0, 1, 0, 0, 1, 0, 1, 1])
        each = x.scatter_reduce(0, index[:, None].expand(8, 3), source, reduce)
        return each if reduce == "sum" else (each, x.index_reduce(0, index, source, reduce))

    agree(case)


@pytest.mark.parametrize("reduce", ["prod", "mean", "amax", "amin"])
def test_gradients_of_what_is_reduced(reduce: str) -> None:
    def case(t: Any) -> Any:
        x = t.arange(1.0, 7.0).reshape(2, 3).requires_grad_()
        src = (t.arange(12.0).reshape(4, 3) / 3 + 0.1).requires_grad_()
        index = t.tensor([0, 1, 0, 0])
        weight = t.arange(6.0).reshape(2, 3)
        (x.index_reduce(0, index, src, reduce) * weight).sum().backward()
        return x.grad, src.grad

    agree(case)


KEYS = [
    ((4, 5, 3), (0,), [(7,)]),
    ((4, 5, 3), (1,), [(2, 3)]),
    ((4, 5, 3), (2,), [(4,)]),
    ((4, 5, 3), (0, 1), [(6,), (6,)]),
    ((4, 5, 3), (1, 2), [(2, 1), (3,)]),
    ((4, 5, 3), (0, 2), [(6,), (2, 1)]),
    ((4, 5, 3), (0, 1, 2), [(9,), (), (1,)]),
    ((4, 5), (0, 1), [(300,), (300,)]),
    ((4, 0, 3), (0,), [(2,)]),
    ((6,), (0,), [(0,)]),
]


@pytest.mark.parametrize("dtype", [*DTYPES, "bool", "complex64", "complex32", "float8_e5m2"])
@pytest.mark.parametrize(("shape", "dims", "of_indices"), KEYS)
def test_index_tensors(shape: tuple[int, ...], dims: tuple[int, ...], of_indices: Any, dtype: str) -> None:
    for turned in (False, True):

        def case(t: Any) -> Any:
            x = _tensor(t, 1, shape, "float32", turned).to(getattr(t, dtype))
            keys: list[Any] = [slice(None)] * len(shape)
            for d, of in zip(dims, of_indices, strict=True):
                keys[d] = _places(t, d, of, shape[d], -shape[d])
            taken = x[tuple(keys)]
            given = _tensor(t, 5, tuple(taken.shape), "float32").to(x.dtype)
            indices = [None if isinstance(key, slice) else key for key in keys]
            added = t.ops.aten.index_put(x, indices, given, True)
            one = t.ops.aten.index_put(x, indices, given.reshape(-1)[:1], False) if given.numel() else x
            return [t.view_as_real(r.to(t.complex64)) if r.is_complex() else r.float() for r in (taken, added, one)]

        agree(case)


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("dtype", [*DTYPES, "bool", "complex64"])
def test_put_into_the_flat_tensor(dtype: str, accumulate: bool) -> None:
    for turned in (False, True):

        def case(t: Any) -> Any:
            x, source = _tensor(t, 1, (4, 6), dtype, turned), _tensor(t, 2, (3, 3), dtype, turned)
            index = _places(t, 3, (3, 3), 24, -24) if accumulate else t.arange(-4, 5).reshape(3, 3)
            found = x.put(index, source, accumulate), x.put_(index, source, accumulate), x.take(index)
            return [t.view_as_real(r) if r.is_complex() else r for r in found]

        agree(case)


def test_indices_outside() -> None:
    for case in (
        lambda t: t.zeros(4, 5)[t.tensor([0, 4])],
        lambda t: t.zeros(4, 5)[t.tensor([0, -5]), t.tensor([0, 1])],
        lambda t: t.zeros(4, 5).index_put((t.tensor([1]), t.tensor([5])), t.ones(1), True),
        lambda t: t.zeros(4, 5)[t.tensor([0, 1]), t.tensor([0, 1, 2])],
        lambda t: t.zeros(4, 0)[:, t.tensor([0])],
        lambda t: t.zeros(4).put(t.tensor([4]), t.ones(1)),
        lambda t: t.zeros(0).put(t.tensor([0]), t.ones(1)),
        lambda t: t.zeros(4).put(t.tensor([1], dtype=t.int32), t.ones(1)),
        lambda t: t.zeros(4).scatter_reduce(0, t.tensor([4]), t.ones(1), "amax"),
        lambda t: t.zeros(4).scatter_reduce(0, t.tensor([-1]), t.ones(1), "mean"),
        lambda t: t.zeros(4, dtype=t.complex64).scatter_reduce(0, t.tensor([0]), t.ones(1, dtype=t.complex64), "amax"),
        lambda t: t.zeros(4, dtype=t.bool).scatter_reduce(0, t.tensor([0]), t.ones(1, dtype=t.bool), "mean"),
        lambda t: t.zeros(4).index_reduce(0, t.tensor([4]), t.ones(1), "prod"),
    ):
        agree_or_raise(case)


@pytest.mark.parametrize("name", ["cummax", "cummin"])
@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
def test_running_extremes(dtype: str, name: str) -> None:
    for shape in (*SHAPES, (3, 1100), (0, 3), (3, 0), ()):
        for dim in range(-1, len(shape)):
            for turned in (False, True):
                agree(lambda t: tuple(getattr(_tensor(t, 1, shape, dtype, turned), name)(dim)))


@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
def test_unique_elements_and_slices(dtype: str) -> None:
    def numbers(t: Any, shape: tuple[int, ...]) -> Any:
        given = np.random.default_rng(4).integers(0, 3, shape)
        return t.tensor(given.tolist(), dtype=getattr(t, dtype)).reshape(shape)

    for shape in ((), (9,), (300,), (12, 2), (2, 12), (3, 2, 9), (0,), (0, 3)):
        agree(lambda t: tuple(t.unique_consecutive(numbers(t, shape), return_inverse=True, return_counts=True)))
        agree(lambda t: tuple(t.unique(numbers(t, shape), return_inverse=True, return_counts=True)))
        agree(lambda t: t.unique(numbers(t, shape)))
        for dim in range(len(shape)):
            for find in ("unique", "unique_consecutive"):

                def case(t: Any) -> Any:
                    x = numbers(t, shape)
                    return tuple(getattr(t, find)(x, return_inverse=True, return_counts=True, dim=dim))

                agree_or_raise(case)


def test_nan_equals_nothing() -> None:
    x = [float("nan"), float("nan"), 1.0, 0.0, -0.0, float("nan")]
    agree(lambda t: tuple(t.unique_consecutive(t.tensor(x), return_inverse=True, return_counts=True)))
    agree(lambda t: tuple(t.unique(t.tensor(x), return_inverse=True, return_counts=True)))
    for t in (ours, pytorch):
        assert t.unique(t.tensor([[1.0, float("nan")], [1.0, float("nan")], [0.0, 1.0]]), dim=0).shape == (3, 2)


@pytest.mark.parametrize("name", ["tril_indices", "triu_indices"])
def test_places_of_triangles(name: str) -> None:
    for rows, columns in ((0, 3), (3, 0), (1, 1), (4, 4), (3, 7), (7, 3)):
        for offset in (-(2**40), -8, -3, -1, 0, 1, 2, 6, 9, 2**40):
            agree(lambda t: getattr(t, name)(rows, columns, offset))


def test_choices_of_elements() -> None:
    for size in (0, 1, 2, 5):
        for count in (0, 1, 2, 3, 5, 7):
            for repeats in (False, True):
                agree(lambda t: t.combinations(t.arange(size) * 2, count, repeats))
