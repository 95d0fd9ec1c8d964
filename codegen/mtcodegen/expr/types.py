"""Types of values in expressions: which is accepted for which, and their properties and methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum

import opschema
from mtcodegen.system.values import dataclass

__all__ = [
    "CONSTANTS",
    "C_FLOATS",
    "C_TYPES",
    "DTYPES",
    "Kind",
    "Member",
    "ValueType",
    "accepts",
    "join",
    "members_of",
    "value_type",
]

C_FLOATS = frozenset({"f16", "bf16", "f32", "f64"})
C_TYPES = C_FLOATS | {f"{sign}{bits}" for sign in "iu" for bits in (8, 16, 32, 64)} | {"bool"}
CONSTANTS = frozenset({"inf", "nan", "pi"})
DTYPES = frozenset(
    {"float16", "bfloat16", "float32", "float64", "complex32", "complex64", "complex128", "bool"}
    | {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
)


class Kind(Enum):
    """The kinds of values. The text is how messages call them."""

    TENSOR = "Tensor"
    INT = "int"
    FLOAT = "float"
    NUMBER = "Scalar"
    BOOL = "bool"
    STR = "str"
    DTYPE = "dtype"
    DEVICE = "device"
    LIST = "list"
    TUPLE = "tuple"
    NONE = "None"
    SLICE = "slice"
    POINTER = "pointer"  # workspace, tiling, stream, context
    C_SCALAR = "typed scalar"  # f32(scale)
    OPAQUE = "opaque"  # a schema type that expressions only pass on, such as Generator
    ANY = "any"  # unknown, or already reported

    __hash__ = object.__hash__  # the one of Enum hashes the name, in Python code: slow


@dataclass(frozen=True, slots=True)
class ValueType:
    """A kind; for lists the element, for tuples the elements, for the rest nothing. ``optional``: it may be None."""

    kind: Kind
    elements: tuple[ValueType, ...] = ()
    optional: bool = False
    name: str = ""

    @property
    def element(self) -> ValueType:
        """The type of a list's elements."""
        return self.elements[0] if self.elements else ANY

    @property
    def required(self) -> ValueType:
        """The same type once it is known not to be None."""
        return replace(self, optional=False) if self.optional else self

    @property
    def is_number(self) -> bool:
        """Whether it is a Python number or bool."""
        return self.kind in _NUMBERS and not self.optional

    @property
    def has_tensor(self) -> bool:
        """Whether it is a tensor, or holds tensors."""
        return self.kind is Kind.TENSOR or any(element.has_tensor for element in self.elements)

    def __str__(self) -> str:
        if self.kind is Kind.LIST:
            text = f"{self.element}[]"
        elif self.kind is Kind.TUPLE:
            text = f"({', '.join(map(str, self.elements))})"
        else:
            text = self.name or self.kind.value
        return f"{text}?" if self.optional else text

    @classmethod
    def list_of(cls, element: ValueType) -> ValueType:
        """A list of ``element``."""
        return cls(Kind.LIST, (element,))

    @classmethod
    def tuple_of(cls, elements: Sequence[ValueType]) -> ValueType:
        """A tuple: the several results of an operator, or a list of unlike elements."""
        return cls(Kind.TUPLE, tuple(elements))


# In rising order: a number goes where one to its right is expected.
_NUMBERS = {Kind.BOOL: 0, Kind.INT: 1, Kind.FLOAT: 2, Kind.NUMBER: 3}

TENSOR = ValueType(Kind.TENSOR)
OPTIONAL_TENSOR = ValueType(Kind.TENSOR, optional=True)
TENSOR_LIST = ValueType.list_of(TENSOR)
INT = ValueType(Kind.INT)
FLOAT = ValueType(Kind.FLOAT)
NUMBER = ValueType(Kind.NUMBER)
BOOL = ValueType(Kind.BOOL)
STR = ValueType(Kind.STR)
DTYPE = ValueType(Kind.DTYPE)
DEVICE = ValueType(Kind.DEVICE)
SHAPE = ValueType.list_of(INT)
NONE = ValueType(Kind.NONE)
SLICE = ValueType(Kind.SLICE)
POINTER = ValueType(Kind.POINTER)
GENERATOR = ValueType(Kind.OPAQUE, name="Generator")
ANY = ValueType(Kind.ANY)

_BASE = {
    "Tensor": TENSOR,
    "int": INT,
    "SymInt": INT,
    "DeviceIndex": INT,
    "float": FLOAT,
    "Scalar": NUMBER,
    "complex": NUMBER,
    "bool": BOOL,
    "SymBool": BOOL,
    "str": STR,
    "ScalarType": DTYPE,
    "Device": DEVICE,
}


def value_type(type_: opschema.Type) -> ValueType:
    """The type of a schema's value in expressions."""
    if isinstance(type_, opschema.BaseType):
        return _BASE.get(type_.name) or ValueType(Kind.OPAQUE, name=type_.name)
    if isinstance(type_, opschema.OptionalType):
        return replace(value_type(type_.elem), optional=True)
    return ValueType.list_of(value_type(type_.elem))


def accepts(expected: ValueType, actual: ValueType) -> bool:
    """Whether a value of type ``actual`` can stand where ``expected`` is wanted."""
    if expected is actual or expected.kind is Kind.ANY or actual.kind is Kind.ANY:
        return True
    if actual.kind is Kind.NONE:
        return expected.optional or expected.kind is Kind.NONE
    if actual.optional and not expected.optional:
        return False
    if expected.kind in _NUMBERS:
        return _accepts_number(expected.kind, actual.kind)
    if expected.kind is Kind.LIST and actual.kind in (Kind.LIST, Kind.TUPLE):
        return all(accepts(expected.element, element) for element in actual.elements)
    if expected.kind is Kind.TUPLE and actual.kind is Kind.TUPLE:
        pairs = zip(expected.elements, actual.elements, strict=False)
        return len(expected.elements) == len(actual.elements) and all(accepts(*pair) for pair in pairs)
    if expected.kind is Kind.DEVICE and actual.kind is Kind.STR:
        return True
    return expected.kind is actual.kind and expected.name == actual.name


def _accepts_number(expected: Kind, actual: Kind) -> bool:
    if actual not in _NUMBERS:
        return False
    if expected is Kind.BOOL:
        return actual is Kind.BOOL
    return _NUMBERS[actual] <= _NUMBERS[expected] or (expected is Kind.FLOAT and actual is Kind.NUMBER)


def join(first: ValueType, second: ValueType) -> ValueType | None:
    """The narrowest type that holds both, or None where there is none."""
    if Kind.ANY in (first.kind, second.kind):
        return ANY
    if first.kind is Kind.NONE or second.kind is Kind.NONE:
        other = second if first.kind is Kind.NONE else first
        return other if other.kind is Kind.NONE else replace(other, optional=True)
    optional = first.optional or second.optional
    first, second = first.required, second.required
    joined = second if accepts(second, first) else first if accepts(first, second) else None
    return replace(joined, optional=True) if joined and optional else joined


@dataclass(frozen=True, slots=True)
class Member:
    """A property or a method. ``metadata``: it is known without reading the values of the tensor.

    A method without its ``optional_index`` returns ``without_index`` in place of ``type``: ``x.size()``, ``x.size(0)``.
    """

    type: ValueType
    method: bool = False
    metadata: bool = True
    index: bool = False
    without_index: ValueType | None = None


_TENSOR_MEMBERS = {
    "shape": Member(SHAPE),
    "dtype": Member(DTYPE),
    "device": Member(DEVICE),
    "ndim": Member(INT),
    "itemsize": Member(INT),
    "nbytes": Member(INT),
    "requires_grad": Member(BOOL),
    "is_complex": Member(BOOL, method=True),
    "is_floating_point": Member(BOOL, method=True),
    "is_contiguous": Member(BOOL, method=True),
    "numel": Member(INT, method=True),
    "dim": Member(INT, method=True),
    "element_size": Member(INT, method=True),
    "storage_offset": Member(INT, method=True),
    "size": Member(INT, method=True, index=True, without_index=SHAPE),
    "stride": Member(INT, method=True, index=True, without_index=SHAPE),
    "contiguous": Member(TENSOR, method=True, metadata=False),
    "T": Member(TENSOR, metadata=False),
    "mT": Member(TENSOR, metadata=False),
}
_MEMBERS = {
    Kind.TENSOR: _TENSOR_MEMBERS,
    Kind.DTYPE: {
        "itemsize": Member(INT),
        "is_floating_point": Member(BOOL),
        "is_complex": Member(BOOL),
        "is_signed": Member(BOOL),
    },
    Kind.DEVICE: {"type": Member(STR), "index": Member(replace(INT, optional=True))},
}


def members_of(type_: ValueType) -> dict[str, Member]:
    """The properties and methods of a value, by name."""
    return _MEMBERS.get(type_.kind, {})
