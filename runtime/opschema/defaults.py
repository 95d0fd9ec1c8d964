"""Default values: which text a type takes, and the Python value it stands for."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from .errors import SchemaError
from .hints import near
from .types import BaseType, ListType, OptionalType, Type

# The number of each constant in PyTorch, whose schemas have that for a default's value.
_NUMBERS = dict(
    zip(("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"), range(8), strict=True),
    complex32=8,
    complex64=9,
    complex128=10,
    bool=11,
    bfloat16=15,
    uint16=27,
    uint32=28,
    uint64=29,
    strided=0,
    sparse_coo=1,
    sparse_csr=2,
    contiguous_format=0,
    preserve_format=1,
    channels_last=2,
    channels_last_3d=3,
    Mean=1,
    Sum=2,
)


@dataclass(frozen=True, slots=True, eq=False)
class Identifier:
    """A default that names a constant: ``Mean``, ``int64``, ``contiguous_format``.

    It is equal to the number that PyTorch has for it, and an index, as that is.
    """

    name: str

    def __index__(self) -> int:
        return _NUMBERS[self.name]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Identifier):
            return self.name == other.name
        return isinstance(other, int) and self.__index__() == other

    def __hash__(self) -> int:
        return hash(self.__index__())

    def __str__(self) -> str:
        return self.name


Default: TypeAlias = "int | float | bool | str | Identifier | list[Default] | None"

# A default as a token: a string, a list, or a word. Strings and lists may hold spaces and commas.
_STRING_TEXT = r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'"""
DEFAULT = re.compile(rf"""{_STRING_TEXT}|\[(?:{_STRING_TEXT}|[^\]"'])*\]|[^\s,()\[\]"']+""")

_ITEM = re.compile(rf"""{_STRING_TEXT}|[^,]+""")
_INT = re.compile(r"-?\d+", re.ASCII)
_FLOAT = re.compile(r"-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", '"': '"', "'": "'"}
_INT_MAX_DIGITS = 20

# The names of dtypes, each with the one that a default stands for.
_OTHER_DTYPES = {
    "byte": "uint8",
    "char": "int8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "half": "float16",
    "float": "float32",
    "double": "float64",
}
_DTYPES = {
    *("bool", *_OTHER_DTYPES),
    *("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex32", "complex64", "complex128"),
}
_IDENTIFIERS = {
    "int": frozenset({"Mean", "Sum"}),
    "ScalarType": frozenset(_DTYPES),
    "Layout": frozenset({"strided", "sparse_coo", "sparse_csr"}),
    "MemoryFormat": frozenset({"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"}),
}
_EXPECTED = {
    "int": "an integer",
    "SymInt": "an integer",
    "DeviceIndex": "an integer",
    "float": "a number",
    "Scalar": "a number",
    "complex": "a number",
    "bool": "`True` or `False`",
    "SymBool": "`True` or `False`",
    "str": "a quoted string",
    "Device": "a quoted string",
    "ScalarType": "the name of a dtype",
    "Layout": "the name of a layout",
    "MemoryFormat": "the name of a memory format",
}


def check_default(type_: Type, text: str) -> None:
    """Raise SchemaError, with an offset in ``text``, unless ``text`` is a default of ``type_``."""
    default_value(type_, text)


def default_value(type_: Type, text: str) -> Default:
    """The Python value of the default ``text``.

    Numbers, ``True``, ``False`` and ``None`` are themselves, strings lose their quotes, names become ``Identifier``,
    one for all names of a dtype.
    A scalar default of a sized list stands for that many equal elements.
    """
    if isinstance(type_, OptionalType):
        return None if text == "None" else default_value(type_.elem, text)
    if isinstance(type_, ListType):
        return _list_value(type_, text)
    return _base_value(type_, text)


def _list_value(type_: ListType, text: str) -> Default:
    if text.startswith("[") and text.endswith("]"):
        return _items(type_.elem, text)
    if type_.size is None:
        raise SchemaError(f"`{text}` is not a default of {type_}", 0, len(text), f"write a list, as in `[{text}]`")
    value = default_value(type_.elem, text)
    return [value] * type_.size


def _items(elem: Type, text: str) -> list[Default]:
    values: list[Default] = []
    position, end = 1, len(text) - 1
    if not text[position:end].strip():
        return values
    while True:
        match = _ITEM.match(text, position, end)
        item = match.group().strip() if match else ""
        if match is None or not item:
            raise SchemaError("an element is missing in this list", position, 1)
        start = position + len(match.group()) - len(match.group().lstrip())
        try:
            values.append(default_value(elem, item))
        except SchemaError as error:
            raise error.moved(start) from None
        position = match.end()
        if position >= end:
            return values
        if text[position] != ",":
            raise SchemaError("expected `,` between the elements of a list", position, 1)
        position += 1


def _base_value(type_: BaseType, text: str) -> Default:
    name = type_.name
    read = _READERS.get(name)
    if read is not None and (value := read(text)) is not None:
        return value
    if text in _IDENTIFIERS.get(name, ()):
        return Identifier(_OTHER_DTYPES.get(text, text) if name == "ScalarType" else text)
    raise _wrong(name, text)


def _read_int(text: str) -> int | None:
    if not _INT.fullmatch(text) or len(text) > _INT_MAX_DIGITS:
        return None
    value = int(text)
    return value if -(2**63) <= value < 2**63 else None


def _read_number(text: str) -> int | float | bool | None:
    if _INT.fullmatch(text):
        return _read_int(text)
    return float(text) if _FLOAT.fullmatch(text) else _BOOLS.get(text)


def _read_float(text: str) -> float | None:
    return float(text) if _FLOAT.fullmatch(text) else None


def _read_string(text: str) -> str | None:
    if len(text) < 2 or text[0] not in "\"'" or text[-1] != text[0]:
        return None
    return _ESCAPE.sub(lambda match: _ESCAPES.get(match.group(1), match.group()), text[1:-1])


_BOOLS = {"True": True, "False": False}
_READERS: dict[str, Callable[[str], Default]] = {
    "int": _read_int,
    "SymInt": _read_int,
    "DeviceIndex": _read_int,
    "float": _read_float,
    "Scalar": _read_number,
    "complex": _read_number,
    "bool": _BOOLS.get,
    "SymBool": _BOOLS.get,
    "str": _read_string,
    "Device": _read_string,
}


def _wrong(name: str, text: str) -> SchemaError:
    expected = _EXPECTED.get(name)
    hint: str | None = None
    if text == "None":
        hint = f"None is a default of an optional: `{name}?`"
    elif expected is None:
        return SchemaError(f"{name} takes no default, only `{name}?` does, and its default is None", 0, len(text))
    elif name in ("int", "SymInt") and _INT.fullmatch(text):
        return SchemaError(f"`{text}` does not fit in 64 bits", 0, len(text))
    elif name in ("float", "Scalar") and text.lstrip("-") in ("inf", "nan"):
        hint = f"a schema has no text for it: write `{name}?` with the default None, and let None stand for it"
    elif name in ("str", "Device"):
        hint = f'write `"{text}"`'
    elif name in ("bool", "SymBool") and text.lower() in ("true", "false"):
        hint = f"write `{text.capitalize()}`"
    elif candidate := near(text, _IDENTIFIERS.get(name, ())):
        hint = f"did you mean `{candidate}`?"
    return SchemaError(f"`{text}` is not a default of {name}: expected {expected}", 0, len(text), hint)
