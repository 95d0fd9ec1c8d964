"""The helpers of the language, in one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum

from mtcodegen.expr.types import ANY, BOOL, DTYPE, FLOAT, INT, NUMBER, SHAPE, TENSOR, Kind, ValueType, join
from mtcodegen.system.values import dataclass

__all__ = ["HELPERS", "Purpose", "Signature"]


class Purpose(Enum):
    """Where an expression stands, which decides what it may name."""

    CHECK = "a precondition"
    FAKE = "a shape rule"
    LAUNCH = "a launch argument"
    COMPUTE = "a composed kernel"
    BACKWARD = "a gradient formula"
    FORWARD = "a tangent formula"
    WHEN = "a kernel's condition"
    SAMPLE = "a sample input"
    EXPECT = "an expected result"

    __hash__ = object.__hash__  # the one of Enum hashes the name, in Python code: slow

    @property
    def reads_values(self) -> bool:
        """Whether tensors may be computed with, and operators called."""
        return self in _READ_VALUES


_READ_VALUES = frozenset({Purpose.COMPUTE, Purpose.BACKWARD, Purpose.FORWARD, Purpose.SAMPLE, Purpose.EXPECT})
EVERYWHERE = frozenset(Purpose)
DEVICE_SIDE = frozenset({Purpose.LAUNCH, Purpose.COMPUTE, Purpose.BACKWARD, Purpose.FORWARD})
TENSOR_OR_DTYPE = ValueType(Kind.ANY, name="Tensor or dtype")


@dataclass(frozen=True, slots=True)
class Signature:
    """What a helper takes and gives.

    ``rest``: the type of any number of further arguments. ``returns`` is a type, or a rule on the arguments' types.
    ``python`` is how it is spelled in Python; ``.name`` and ``.name()`` say that it becomes a property or a method of
    its argument.
    """

    parameters: tuple[ValueType, ...]
    returns: ValueType | Callable[[Sequence[ValueType]], ValueType]
    python: str
    rest: ValueType | None = None
    purposes: frozenset[Purpose] = EVERYWHERE

    def result(self, arguments: Sequence[ValueType]) -> ValueType:
        """The type of a call with ``arguments``."""
        return self.returns if isinstance(self.returns, ValueType) else self.returns(arguments)


def _joined(arguments: Sequence[ValueType]) -> ValueType:
    """The narrowest number that holds every argument, or every element of a list."""
    numbers = [part for argument in arguments for part in (argument.elements or (argument,))]
    result = numbers[0] if numbers else ANY
    for number in numbers[1:]:
        result = join(result, number) or NUMBER
    return result if result.kind is not Kind.BOOL else INT


def _extremum(python: str) -> Signature:
    return Signature((NUMBER,), _joined, python, rest=NUMBER)


def _math(name: str, returns: ValueType = FLOAT) -> Signature:
    return Signature((NUMBER,), returns, f"math.{name}")


HELPERS: Mapping[str, Signature] = {
    "ceil_div": Signature((INT, INT), INT, "npu.ceil_div"),
    "align_up": Signature((INT, INT), INT, "npu.align_up"),
    "min": _extremum("min"),
    "max": _extremum("max"),
    "abs": Signature((NUMBER,), _joined, "abs"),
    "len": Signature((ValueType.list_of(ANY),), INT, "len"),
    "int": Signature((NUMBER,), INT, "int"),
    "float": Signature((NUMBER,), FLOAT, "float"),
    "prod": Signature((ValueType.list_of(NUMBER),), _joined, "math.prod"),
    "sum": Signature((ValueType.list_of(NUMBER),), _joined, "sum"),
    "sqrt": _math("sqrt"),
    "exp": _math("exp"),
    "log": _math("log"),
    "floor": _math("floor", INT),
    "ceil": _math("ceil", INT),
    "broadcast_shapes": Signature((SHAPE,), SHAPE, "torch.broadcast_shapes", rest=SHAPE),
    "reduced_shape": Signature((SHAPE, ANY, BOOL), SHAPE, "reduced_shape"),
    "dim_bits": Signature((ANY, INT), INT, "dim_bits"),
    "promote_types": Signature((DTYPE, DTYPE), DTYPE, "torch.promote_types"),
    "result_type": Signature((ANY, ANY), DTYPE, "torch.result_type"),
    "can_cast": Signature((DTYPE, DTYPE), BOOL, "torch.can_cast"),
    "sizeof": Signature((TENSOR_OR_DTYPE,), INT, ".itemsize"),
    "contiguous": Signature((TENSOR,), TENSOR, ".contiguous()", purposes=DEVICE_SIDE),
}
