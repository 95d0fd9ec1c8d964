"""Python's operators on tensors whose ``__torch_function__`` declines: the other operand is asked, as in PyTorch."""

from __future__ import annotations

import operator
from typing import Any

import pytest

from tests.runtime.both import agree

BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "and_", "or_", "xor", "pow", "lshift", "rshift", "matmul")
COMPARING = ("eq", "ne", "lt", "le", "gt", "ge")
CHANGING = tuple(f"i{name.rstrip('_')}" for name in BINARY if name != "matmul")


def noting(torch: Any, names: list[str], answer: Any = NotImplemented) -> Any:
    """A tensor that notes what it is asked."""

    class Noting(torch.Tensor):  # type: ignore[misc,name-defined]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            names.append(func.__name__)
            return answer

    return torch.ones(2).as_subclass(Noting)


@pytest.mark.parametrize("name", [*BINARY, *COMPARING, *CHANGING])
@pytest.mark.parametrize("answer", [NotImplemented, -1], ids=["declines", "answers"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_what_is_asked(name: str, answer: Any, side: str) -> None:
    if (name == "matmul" and side == "left") or (side == "right" and name in CHANGING):
        pytest.skip("a number has no such operator, and PyTorch asks nobody")

    def case(torch: Any) -> Any:
        names: list[str] = []
        value = noting(torch, names, answer)
        operands = (value, 3) if side == "left" else (3, value)
        try:
            return names, getattr(operator, name)(*operands)
        except TypeError:
            return names, "refused"

    agree(case)


@pytest.mark.parametrize("name", ["invert", "neg", "abs"])
def test_of_one_operand(name: str) -> None:
    def case(torch: Any) -> Any:
        names: list[str] = []
        return getattr(operator, name)(noting(torch, names, -1)), names

    agree(case)


def test_the_other_operand_answers_by_its_own_method() -> None:
    def case(torch: Any) -> Any:
        class Nothing(torch.Tensor):  # type: ignore[misc,name-defined]
            @classmethod
            def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return NotImplemented

        class Reflected(torch.Tensor):  # type: ignore[misc,name-defined]
            @classmethod
            def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return -1 if func in (torch.Tensor.__rpow__, torch.Tensor.__rsub__) else NotImplemented

        return Nothing() ** Reflected(), Nothing() - Reflected()

    agree(case)


def test_a_mode_sees_calls_without_tensors() -> None:
    def case(torch: Any) -> Any:
        class Mode(torch.overrides.TorchFunctionMode):  # type: ignore[misc,name-defined]
            def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return -1

        with Mode():
            return torch.split(None, [2])

    agree(case)
