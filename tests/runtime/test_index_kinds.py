"""What may stand between the brackets: numbers, slices, masks; and what may not."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from tests.runtime.both import agree


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
