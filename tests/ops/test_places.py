"""Elements in order, and at places of their own along a dimension: values, places and layouts are PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch as pytorch

import mindtorch_v2 as ours

DTYPES = ("f2", "f4", "f8", "u1", "i1", "i2", "i4", "i8", "bool")
SHAPES = ((7,), (300,), (4, 5), (3, 700), (2, 3, 4), (0, 3), (3, 0))


def _numbers(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    numbers = np.random.default_rng(0).standard_normal(shape) * 3
    found = (abs(numbers) if dtype[0] == "u" else numbers).astype(dtype)
    if dtype[0] == "f" and found.size > 5:
        found.flat[:6] = (0.0, np.nan, -0.0, np.inf, -np.inf, np.nan)
    return found


def _method(name: str, *rest: Any, transposed: bool = False, **named: Any) -> Any:
    """``tensor.<name>(*rest, *others, **named)``, of all of them transposed where that is said."""

    def call(x: Any, *others: Any) -> Any:
        tensors = [t.transpose(0, -1) for t in (x, *others)] if transposed else [x, *others]
        return getattr(tensors[0], name)(*rest, *tensors[1:], **named)

    return call


def _agree(call: Any, *arrays: np.ndarray) -> None:
    theirs, mine = (call(*(torch.from_numpy(a.copy()) for a in arrays)) for torch in (pytorch, ours))
    pairs = zip(theirs, mine, strict=True) if isinstance(theirs, tuple) else [(theirs, mine)]
    for expected, found in pairs:
        assert (str(found.dtype), found.stride()) == (str(expected.dtype), expected.stride())
        np.testing.assert_array_equal(found.numpy(), expected.numpy())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("descending", [False, True])
def test_sort_is_stable_and_keeps_the_layout(dtype: str, descending: bool) -> None:
    for shape in SHAPES:
        for dim in range(len(shape)):
            for transposed in (False, True):
                call = _method("sort", dim=dim, descending=descending, stable=True, transposed=transposed)
                _agree(call, _numbers(dtype, shape))


@pytest.mark.parametrize("largest", [False, True])
def test_the_first_elements_are_those_of_a_sort(largest: bool) -> None:
    for shape in ((300,), (4, 50), (3, 2000), (40, 3)):
        for count in (0, 1, 3, shape[0] // 2, shape[0]):
            x = np.random.default_rng(1).permutation(np.prod(shape)).reshape(shape).astype("f4")  # without equal ones
            _agree(_method("topk", count, 0, largest), x)


@pytest.mark.parametrize("dtype", [*DTYPES, "c8", "c16"])
def test_elements_at_places_are_taken_written_and_added(dtype: str) -> None:
    rng = np.random.default_rng(2)
    cases: tuple[Any, ...] = (
        ((5,), (9,), 0),
        ((4, 6), (3, 2), 0),
        ((4, 6), (4, 3), 1),
        ((2, 3, 4), (2, 8, 4), 1),
        ((7, 3, 4), (9, 3, 4), 0),
    )
    for shape, of_index, dim in cases:
        x, index = _numbers(dtype, shape), rng.integers(0, shape[dim], of_index)
        source = _numbers(dtype, of_index)
        places = np.argsort(rng.random(of_index), axis=dim) % shape[dim]
        if of_index[dim] > shape[dim]:  # of several to a place any may be the last
            source = np.broadcast_to(source.flat[0], of_index)
        for whole in (index, index.astype("i4")):
            _agree(_method("gather", dim), x, whole)
        last = len(shape) - 1
        _agree(_method("gather", {0: last, last: 0}.get(dim, dim), transposed=True), x, index)
        _agree(_method("scatter", dim), x, places, source)
        if dtype != "f2":
            _agree(_method("scatter_add", dim), x, index, source)
            _agree(lambda x, i, s, at=dim: x.scatter_reduce(at, i, s, "sum"), x, index, source)


@pytest.mark.parametrize("name", ["gather", "scatter_add", "scatter", "index_select"])
@pytest.mark.parametrize("place", [3, -1])
def test_an_index_outside_is_named(name: str, place: int) -> None:
    index = ours.tensor([0, place])
    with pytest.raises((IndexError, RuntimeError), match=f"index {place} is out of bounds for dimension 0 with size 3"):
        getattr(ours.zeros(3), name)(0, index, *([ours.ones(2)] if name.startswith("scatter") else []))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "u1", "i2", "i8", "bool", "c8"])
@pytest.mark.parametrize(
    "shape", [(7,), (40_000,), (3, 5), (200, 301), (70, 1, 400), (2, 3, 4), (0, 3), (3, 0), (1, 1)]
)
def test_places_of_what_is_not_0(shape: tuple[int, ...], dtype: str) -> None:
    values = np.random.default_rng(1).integers(0, 3, shape).astype(dtype)
    for order in (lambda x: x, lambda x: x.transpose(0, -1)):
        wanted = order(pytorch.from_numpy(values)).nonzero().numpy()
        found = order(ours.from_numpy(values)).nonzero().numpy()
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == wanted.dtype


@pytest.mark.parametrize("dtype", ["bool", "f2", "f4", "f8", "c16"])
@pytest.mark.parametrize("shape", [(9,), (5, 9), (3, 9, 1), (2, 9, 4), (3000, 9), (9, 3000)])
def test_single_elements_are_selected(shape: tuple[int, ...], dtype: str) -> None:
    values = (np.random.default_rng(2).standard_normal(shape) * 3).astype(dtype)
    for dim, size in enumerate(shape):
        index = np.random.default_rng(3).integers(0, size, 50)
        found = ours.from_numpy(values).index_select(dim, ours.from_numpy(index))
        np.testing.assert_array_equal(found.numpy(), values.take(index, dim))


@pytest.mark.parametrize("dtype", ["bool", "u1", "f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("shape", [(9,), (5, 9), (3, 9, 1), (2, 9, 4, 33), (0, 3), (300, 700)])
def test_flips(shape: tuple[int, ...], dtype: str) -> None:
    values = (np.random.default_rng(4).standard_normal(shape) * 3).astype(dtype)
    for mask in range(1 << len(shape)):
        dims = [d for d in range(len(shape)) if mask >> d & 1]
        np.testing.assert_array_equal(ours.from_numpy(values).flip(dims).numpy(), np.flip(values, dims))
        turned = ours.from_numpy(values).transpose(0, -1).flip(dims)
        np.testing.assert_array_equal(turned.numpy(), np.flip(values.swapaxes(0, -1), dims))


NUMBERS = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
           "complex128"]  # fmt: skip
VIEWS = (
    lambda x: x,
    lambda x: x.t(),
    lambda x: x[::2, 1::3],
    lambda x: x[:, 2],
    lambda x: x[1:2].expand(5, 12),
    lambda x: x[:, None, 1].expand(7, 4),
)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_nonzero_of_each_dtype(dtype: str) -> None:
    """Of numbers with one bit or two, zeros and sign bits alone; in rows, columns, steps and repetitions."""
    wide = pytorch.zeros((), dtype=getattr(pytorch, dtype)).element_size()
    rng = np.random.default_rng(3)
    numbers = np.zeros((7, 12, wide), "u1")
    for row, column in zip(*np.nonzero(rng.random((7, 12)) < 0.4), strict=True):
        numbers[row, column, rng.integers(wide)] = 1 if dtype == "bool" else 1 << rng.integers(8)
    if dtype != "bool":
        numbers[3, :, wide - 1] = 128  # a negative 0, where the dtype has that
    found = []
    for torch in (ours, pytorch):
        x = torch.from_numpy(numbers.reshape(7, -1).copy()).view(getattr(torch, dtype))
        found.append([view(x).nonzero().tolist() for view in VIEWS])
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "number", [0, 1, True, 2.5, -3, 100, 300, 1e-8, float("nan"), float("inf"), 2**40, 2**63 - 1, 1 + 2j]
)
@pytest.mark.parametrize("dtype", NUMBERS)
def test_a_number_at_every_place(dtype: str, number: Any) -> None:
    """Of whole tensors and of parts of them: the number, converted, or an error."""
    found = []
    for torch in (ours, pytorch):
        x, turned = (torch.zeros(7, 9, dtype=getattr(torch, dtype)) for _ in range(2))
        try:
            x.fill_(number)
            turned.t()[1:3].fill_(number)
            turned[1::2, ::3] = number
        except (RuntimeError, NotImplementedError):
            found.append("refused")
        else:
            found.append(str([x.tolist(), turned.tolist()]))
    assert found[0] == found[1]


@pytest.mark.parametrize("target", ["same", "float64", "int16"])
@pytest.mark.parametrize("dtype", ["bool", "u1", "f2", "f4", "f8", "c16"])
def test_copies_of_short_runs(dtype: str, target: str) -> None:
    """Windows, small last dimensions in any order, and parts that are written to: copied, and converted."""
    numbers = (np.random.default_rng(8).standard_normal((6, 9, 70)) * 9).astype(dtype)
    if dtype == "c16" and target != "same":
        numbers = numbers.real.copy()
    found = []
    for torch in (ours, pytorch):
        x = torch.from_numpy(numbers.copy())
        kind = x.dtype if target == "same" else getattr(torch, target)
        room = torch.zeros(70, 9, 6, 5, dtype=kind)
        room[..., :3].copy_(x.permute(2, 1, 0).unsqueeze(-1).expand(70, 9, 6, 3))
        room[::2, :, :, 3].transpose(0, 1).copy_(x[:, :, ::2].permute(1, 2, 0))
        parts = [
            x.unfold(2, 4, 2), x.unfold(2, 3, 1).flip(0), x.unfold(1, 2, 3).transpose(0, 3),
            x[..., :3].permute(1, 2, 0), x[:, :2].permute(2, 0, 1), x[:3, :, ::5].movedim(0, -1),
        ]  # fmt: skip
        found.append([room.tolist(), *(part.to(kind).contiguous().tolist() for part in parts)])
    assert found[0] == found[1]
