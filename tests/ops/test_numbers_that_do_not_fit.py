"""Numbers, dtypes and places that do not fit, beside PyTorch: what it refuses is refused, the rest gives its value."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from tests.runtime.both import agree_or_raise

NUMBERS = (1e40, -7e4, 70000, 65519.0, 464.1, math.inf, 1e40 + 0j, 1e40j, 1 << 63, -1, True, 2.5)
DTYPES = ("float16", "bfloat16", "float32", "float64", "complex32", "complex64", "float8_e4m3fn", "float8_e5m2",
          "uint8", "int32", "int64", "bool")  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [(), (1,), (2,), (0,)], ids=str)
def test_tensors_are_filled(dtype: str, size: tuple[int, ...]) -> None:
    for number in NUMBERS:

        def given(torch: Any, number: Any = number) -> dict[str, Any]:
            return {"fill_value": number, "dtype": getattr(torch, dtype)}

        def filled(torch: Any, number: Any = number) -> Any:
            return torch.zeros(size, dtype=getattr(torch, dtype)).fill_(number).tolist()

        def alone(torch: Any, number: Any = number) -> Any:
            return torch.scalar_tensor(number, dtype=getattr(torch, dtype)).tolist()

        agree_or_raise(lambda torch: torch.full(size, **given(torch)).tolist())
        agree_or_raise(lambda torch: torch.full_like(torch.zeros(size), **given(torch)).tolist())
        agree_or_raise(lambda torch: torch.zeros(3).new_full(size, **given(torch)).tolist())
        agree_or_raise(filled)
        agree_or_raise(lambda torch: torch.full(size, device="meta", **given(torch)).shape)
        if not size:
            agree_or_raise(alone)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int32", "bool", "complex64"])
@pytest.mark.parametrize("kind", ["int64", "int32", "uint8", "float32"])
def test_slices_are_filled(dtype: str, kind: str) -> None:
    shapes = (), (0,), (3,), (2, 3), (2, 0)
    places: tuple[Any, ...] = 0, [], [1], [0, -1], [5], [[0]], [-4]
    for shape, place, dim, number in itertools.product(shapes, places, (0, -2), (2, 0.5, 1j, 1 << 40, 1e40)):
        for device in ("cpu", "meta"):

            def case(
                torch: Any, s: Any = shape, p: Any = place, d: int = dim, n: Any = number, on: str = device
            ) -> Any:
                x = torch.zeros(s, dtype=getattr(torch, dtype), device=on)
                return x.index_fill(d, torch.tensor(p, dtype=getattr(torch, kind), device=on), n)

            if device == "cpu" or not (isinstance(place, list) and [place] == [[[0]]]):  # of two faults on meta either
                agree_or_raise(case)

    def values(torch: Any) -> Any:
        return torch.zeros(3).index_fill(0, torch.tensor([1]), torch.ones(1))

    agree_or_raise(values)


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "int32"])
@pytest.mark.parametrize("other", ["float32", "float64", "int64", "int16", "float16", "complex64"])
def test_searches_promote(dtype: str, other: str) -> None:
    def given(torch: Any, numbers: list[float], name: str) -> Any:
        return torch.tensor(numbers, dtype=torch.float64).to(getattr(torch, name))

    several: tuple[tuple[list[float], ...], ...] = ([], [1, 2.5, 70]), ([], [0, 1, 2.5, 2, 99])
    for bounds, values in itertools.product(*several):

        def case(torch: Any, bounds: list[float] = bounds, values: list[float] = values) -> Any:
            sequence, sought = given(torch, bounds, dtype), given(torch, values, other)
            return torch.searchsorted(sequence, sought), torch.bucketize(sought, sequence, right=True)

        def one(torch: Any, bounds: list[float] = bounds) -> Any:
            return torch.searchsorted(given(torch, bounds, dtype), given(torch, [2.5], other)[0])

        agree_or_raise(case)
        agree_or_raise(one)
    agree_or_raise(
        lambda t: t.searchsorted(given(t, [1, 2], dtype).expand(2, 2), given(t, [1, 2, 3], other).expand(2, 3))
    )


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float32", "complex64"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 2), (0, 2)], ids=str)
@pytest.mark.parametrize("weights", [None, "float32", "float64", "int32", "bfloat16"])
def test_numbers_are_counted(dtype: str, shape: tuple[int, ...], weights: str | None) -> None:
    for count, least in itertools.product((3, 0), (0, 4, -1)):

        def case(torch: Any, n: int = count, least: int = least) -> Any:
            by = None if weights is None else torch.ones(n, dtype=getattr(torch, weights))
            return torch.bincount(torch.ones(shape, dtype=getattr(torch, dtype)), by, least)

        agree_or_raise(case)


@pytest.mark.parametrize("out", ["float32", "float64", "int64", "int32"])
def test_results_of_their_own_dtype_alone_are_written(out: str) -> None:
    def target(torch: Any) -> Any:
        return torch.zeros((), dtype=getattr(torch, out))

    for dtype in ("float32", "int64"):

        def given(torch: Any, name: str = dtype) -> Any:
            return torch.tensor([2, 0, 1]).to(getattr(torch, name))

        agree_or_raise(lambda torch: torch.ops.aten.count_nonzero.out(given(torch), None, out=target(torch)))
        agree_or_raise(lambda torch: torch.ops.aten.count_nonzero.dim_IntList_out(given(torch), [0], out=target(torch)))
        agree_or_raise(lambda torch: torch.ops.aten.median.out(given(torch), out=target(torch)))
        agree_or_raise(lambda torch: torch.ops.aten.nanmedian.out(given(torch), out=target(torch)))


def test_truth_values_have_no_mean_even_where_none_is_added() -> None:
    def case(torch: Any) -> Any:
        none = torch.zeros(0, dtype=torch.bool)
        return torch.zeros(3, dtype=torch.bool).scatter_reduce(0, torch.zeros(0, dtype=torch.int64), none, "mean")

    agree_or_raise(case)


def test_the_middle_of_no_truth_values() -> None:
    agree_or_raise(lambda torch: torch.zeros(0, dtype=torch.bool).median())


@pytest.mark.parametrize("pool", ["max_pool1d", "max_pool2d", "max_pool3d"])
def test_padding_is_at_most_half_a_window_whatever_the_dilation(pool: str) -> None:
    for kernel, padding, dilation in itertools.product((1, 2, 3), (0, 1, 2), (1, 2, 3)):

        def case(torch: Any, k: int = kernel, p: int = padding, d: int = dilation) -> Any:
            x = torch.arange(6.0 ** int(pool[-2])).reshape(1, 1, *[6] * int(pool[-2]))
            return getattr(torch.nn.functional, pool)(x, k, 1, p, d)

        agree_or_raise(case)
