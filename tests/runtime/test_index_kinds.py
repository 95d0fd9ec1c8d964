"""What may stand between the brackets: numbers, slices, masks; and what may not."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from tests.runtime.both import agree, agree_or_raise


class One:
    def __index__(self) -> int:
        return 1


@pytest.mark.parametrize("value", [0, 1, 2])
@pytest.mark.parametrize("column", [False, True])
@pytest.mark.parametrize("dtype", ["uint8", "bool", "int64", "int32"])
def test_a_tensor_without_dimensions(dtype: str, column: bool, value: int) -> None:
    """Of uint8 it is a truth value, as of bool."""

    def case(torch: Any) -> Any:
        x = torch.arange(9.0).reshape(3, 3)
        pick = torch.tensor(value).to(getattr(torch, dtype))
        index = (slice(None), pick) if column else pick
        picked = x[index]
        x[index] = 7.0
        return picked, x

    agree(case)


def test_a_truth_value_on_a_number() -> None:
    agree(lambda torch: torch.tensor(5.0)[torch.tensor(1, dtype=torch.uint8)])


@pytest.mark.parametrize("index", ["mask", "mask and number", "after ellipsis"])
def test_a_mask_of_uint8(index: str) -> None:
    def case(torch: Any) -> Any:
        x = torch.arange(12.0).reshape(2, 3, 2)
        mask = torch.tensor([[1, 0, 2], [0, 1, 0]], dtype=torch.uint8)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch calls it deprecated
            if index == "after ellipsis":
                return x[..., mask[0, :2]]
            return x[mask] if index == "mask" else x[mask, 0]

    agree(case)


@pytest.mark.parametrize("bounds", [(One(), None), (None, One()), (True, None), (None, None, One())])
def test_a_slice_of_what_has_an_index(bounds: Any) -> None:
    agree(lambda torch: torch.arange(4)[slice(*bounds)])


@pytest.mark.parametrize("bounds", [("0", "1"), ("0", None), (1.0, 2), (None, 1.5), (None, "a"), (None, None, "a")])
@pytest.mark.parametrize("assigned", [False, True])
def test_a_slice_of_something_else(bounds: Any, assigned: bool) -> None:
    def case(torch: Any) -> Any:
        x = torch.arange(4)
        if assigned:
            x[slice(*bounds)] = 1
        return x[slice(*bounds)]

    agree(case, "slice indices must be integers or None or have an __index__ method")


def test_a_slice_of_tensors() -> None:
    def case(torch: Any) -> Any:
        x, two = torch.arange(6), torch.tensor(2)
        return x[two:], x[: torch.tensor([[2]])], x[::two], x[torch.tensor(True) :]

    agree(case)


@pytest.mark.parametrize("value", [1.5, [1, 2]])
@pytest.mark.parametrize("step", [False, True])
def test_a_slice_of_tensors_that_are_no_index(value: Any, step: bool) -> None:
    def case(torch: Any) -> Any:
        bound = torch.tensor(value)
        return torch.arange(4)[::bound] if step else torch.arange(4)[bound:]

    agree(case, "only integer tensors of a single element can be converted to an index")


def test_steps() -> None:
    agree(lambda torch: torch.arange(4)[::0], "slice step cannot be zero")
    agree(lambda torch: torch.arange(4)[::-1], "step must be greater than zero")


@pytest.mark.parametrize("index", ["a", b"a"])
def test_a_text(index: Any) -> None:
    agree(lambda torch: torch.arange(4)[index], "invalid data type")


@pytest.mark.parametrize("index", [1.5, 1j, {}, object()])
def test_what_is_no_index(index: Any) -> None:
    agree(lambda torch: torch.arange(4)[index], "are valid indices")


class Broken:
    def __index__(self) -> int:
        raise ValueError("no index")


class Fraction:
    def __index__(self) -> Any:
        return 2.5


# What stands between the brackets, of a vector and a matrix: sequences, text, what says it is an index and is none.
SEQUENCES: dict[str, Any] = {
    "text of three": "CPU",
    "text of one": "C",
    "no text": "",
    "bytes": b"x",
    "text in a tuple": ("x",),
    "text in a list": ["x"],
    "a range": range(2),
    "fractions": [1.0, 0.5],
    "rows of different lengths": [[1, 2], [0]],
    "rows": [[0, 1], [1, 0]],
    "a slice in a list": [slice(0, 1)],
    "None in a list": [None],
    "an ellipsis in a list": [1, ...],
    "an empty list in a list": [[]],
    "a long list of lists": [[0]] * 40,
    "truth values": [True, False, True],
    "NumPy's fractions": np.ones(3),
    "NumPy's truth values": np.array([True, False, True]),
    "NumPy's integer": np.int64(1),
    "an object": object(),
    "no numbers": [object()],
    "a dict": {},
    "a float": 1.0,
    "an index that fails": Broken(),
    "an index that is none": Fraction(),
    "too big": 2**63,
    "too big in a list": [2**63],
}


@pytest.mark.parametrize("name", SEQUENCES)
@pytest.mark.parametrize("shape", [(3,), (2, 3), ()])
@pytest.mark.parametrize("assigned", [False, True])
def test_what_stands_between_the_brackets(name: str, shape: tuple[int, ...], assigned: bool) -> None:
    """As PyTorch has it: a sequence that holds more than numbers stands for a tuple, any other one for a tensor."""

    def case(torch: Any) -> Any:
        x = torch.zeros(shape) + 5
        if not assigned:
            return x[SEQUENCES[name]]
        x[SEQUENCES[name]] = 1.5
        return x

    agree_or_raise(case)


VALUES: dict[str, Any] = {
    "None": None,
    "text": "x",
    "a list": [1.0],
    "an empty list": [],
    "a tuple": (1.0, 2.0, 3.0),
    "an array": np.ones(3),
    "NumPy's float": np.float32(1.5),
    "NumPy's integer": np.int64(1),
    "complex": 1j,
    "no index": Broken(),
    "a dtype": int,
    "a truth value": True,
    "nan": float("nan"),
    "too big": 2**63,
    "bigger": 2**70,
    "negative": -1,
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("index", [0, 5, "x", slice(None), [0, 1], "mask", ()])
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "bool"])
def test_what_is_assigned(name: str, index: Any, dtype: str) -> None:
    """A number or a tensor; it is looked at before the index is."""

    def case(torch: Any) -> Any:
        x = torch.zeros(3).to(getattr(torch, dtype))
        x[torch.tensor([True, False, True]) if index == "mask" else index] = VALUES[name]
        return x

    agree_or_raise(case)


OUTSIDE: dict[str, Any] = {
    "a position after another": lambda t, x: x[0, 5],
    "after None": lambda t, x: x[None, 0, 5],
    "after a slice": lambda t, x: x[:, 0, 10],
    "after an ellipsis": lambda t, x: x[..., 10],
    "a number of no dimensions": lambda t, x: t.tensor(1)[0],
    "a slice of no dimensions": lambda t, x: t.tensor(1)[:],
    "two numbers of no dimensions": lambda t, x: t.tensor(1)[0, 0],
    "an index of an empty dimension": lambda t, x: t.empty(10, 0)[:, [0, 1]],
    "one written to": lambda t, x: x.__setitem__((0, 5), 1),
    "values that do not fit": lambda t, x: x.__setitem__(x > 5, t.ones(3)),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_is_said_of_an_index_outside(name: str) -> None:
    """The same words, which count the indices that were given, not the dimensions that are left."""

    def said(torch: Any) -> str:
        with pytest.raises((IndexError, RuntimeError)) as caught:
            OUTSIDE[name](torch, torch.arange(100).view(2, 5, 10))
        words, _, _ = str(caught.value).partition(" cannot be broadcast")
        return words

    agree(said)


BELOW: dict[str, Any] = {
    "index_copy_": lambda x, i: x.index_copy_(1, i, x[:, :1].clone()),
    "index_add_": lambda x, i: x.index_add_(1, i, x[:, :1].clone()),
    "index_fill_": lambda x, i: x.index_fill_(1, i, 2.0),
    "index_fill_ with a complex number": lambda x, i: x.index_fill_(1, i, 1j),
    "index_reduce_": lambda x, i: x.index_reduce_(1, i, x[:, :1].clone(), "prod"),
    "index_select": lambda x, i: x.index_select(1, i),
    "take_along_dim": lambda x, i: x.take_along_dim(i.view(1, 1), 1),
    "take_along_dim by int32": lambda x, i: x.take_along_dim(i.view(1, 1).int(), 1),
}


@pytest.mark.parametrize("name", BELOW)
@pytest.mark.parametrize("index", [-1, -3, -4, 3])
@pytest.mark.parametrize("dtype", ["float32", "bool"])
def test_indices_counted_from_the_end(name: str, index: int, dtype: str) -> None:
    def case(torch: Any) -> Any:
        return BELOW[name](torch.ones(2, 3).to(getattr(torch, dtype)), torch.tensor([index]))

    agree_or_raise(case)


def test_bytes_for_a_mask_are_told() -> None:
    def case(torch: Any) -> Any:
        x, mask = torch.arange(3.0), torch.tensor([1, 0, 1], dtype=torch.uint8)
        with pytest.warns(UserWarning, match="indexing with dtype torch.uint8 is now deprecated"):
            x[mask] = x[mask] * 2
        return x

    agree(case)
