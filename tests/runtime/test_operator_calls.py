"""Python's operators beside PyTorch's: which overload a pair of operands finds, and what comes of it."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import mindtorch_v2
from mindtorch_v2.library import Library
from tests.runtime.both import agree, agree_or_raise

DTYPES = ("bool", "uint8", "int64", "float16", "float32", "float64")
NUMBERS = (True, 2, -3, 2**62, 0.5, float("inf"), np.float32(2), np.int64(3))
OPERATORS = ("add", "sub", "mul", "truediv", "lt", "eq", "iadd", "imul")
SHAPES = (
    ((4, 4), (4,)), ((4, 4), (1, 4)), ((4, 4), (1, 1)), ((4, 4), ()), ((4,), (4, 4)), ((4, 4), (4, 1)),
    ((4, 4), (1, 4, 4)), ((2, 3, 4), (3, 4)), ((2, 3, 4), (1, 4)), ((2, 3, 4), (3, 1)), ((2, 3, 4), (2,)),
    ((3, 0), ()), ((0,), (1,)), ((1,), (0,)), ((32, 32), (32,)), ((33, 32), (32,)), ((32, 32), ()), ((7, 3), (3,)),
)  # fmt: skip


def filled(torch: Any, shape: tuple[int, ...], dtype: str, start: int = 1) -> Any:
    return (torch.arange(int(np.prod(shape)), dtype=torch.int64) % 7 + start).reshape(shape).to(getattr(torch, dtype))


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_of_a_tensor_and_a_number(name: str, dtype: str, number: Any) -> None:
    agree_or_raise(lambda torch: getattr(operator, name)(filled(torch, (2, 3), dtype), number))


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("dtype", ["int64", "float32"])
@pytest.mark.parametrize("number", [2**63 - 1, 2**63, 2**64, -(2**63), -(2**63) - 1])
def test_of_integers_at_the_limits(name: str, dtype: str, number: int) -> None:
    agree_or_raise(lambda torch: getattr(operator, name)(filled(torch, (2, 3), dtype), number))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", [True, 2, 0, 0.5])
def test_powers(dtype: str, number: Any) -> None:
    agree_or_raise(lambda torch: filled(torch, (2, 3), dtype).clamp(max=1) ** number)
    agree_or_raise(lambda torch: 2 ** filled(torch, (2, 3), dtype))


@pytest.mark.parametrize("name", ["add", "mul", "lt", "iadd"])
@pytest.mark.parametrize("second", ["int64", "float32", "float64"])
@pytest.mark.parametrize("first", ["int64", "float32", "bfloat16"])
@pytest.mark.parametrize("shapes", SHAPES, ids=repr)
def test_of_tensors_that_are_broadcast(shapes: Any, first: str, second: str, name: str) -> None:
    def case(torch: Any) -> Any:
        return getattr(operator, name)(filled(torch, shapes[0], first), filled(torch, shapes[1], second, start=2))

    agree_or_raise(case)


@pytest.mark.parametrize("part", [lambda x: x[::2], lambda x: x.t(), lambda x: x[:, :1].expand(4, 4), lambda x: x[1]])
def test_of_parts_of_tensors(part: Any) -> None:
    def case(torch: Any) -> Any:
        x = filled(torch, (4, 4), "float32")
        return x[:2] + part(x)[:2] if part(x).dim() == 2 else x + part(x)

    agree_or_raise(case)


def test_a_number_without_dimensions_does_not_decide() -> None:
    agree(lambda torch: filled(torch, (2, 2), "int64") * torch.tensor(2.5, dtype=torch.float64))
    agree(lambda torch: torch.tensor(3) * 2.5)
    agree(lambda torch: torch.tensor(2.5) * filled(torch, (2, 2), "float16"))


def test_overloads_that_come_and_go() -> None:
    x = mindtorch_v2.ones(2)
    library = Library("aten", "FRAGMENT")
    library.define("mul.operator_calls(Tensor self, str other) -> Tensor")
    library.impl("mul.operator_calls", lambda self, other: self + len(other), "CPU")
    assert (x * 3).tolist() == (x * mindtorch_v2.full((2,), 3.0)).tolist() == [3.0, 3.0]
    assert mindtorch_v2.ops.aten.mul(x, "four").tolist() == [5.0, 5.0]
    library._destroy()
    assert (x * 3).tolist() == (x * mindtorch_v2.full((2,), 3.0)).tolist() == [3.0, 3.0]


def test_what_is_registered_over_a_kernel_is_called() -> None:
    x = mindtorch_v2.ones(2)
    library = Library("aten", "IMPL")
    library.impl("add.Tensor", lambda self, other, *, alpha=1: self - other, "CPU")
    assert (x + x).tolist() == [0.0, 0.0]
    library._destroy()
    assert (x + x).tolist() == [2.0, 2.0]
