"""Tiling structs as the host side of a custom operator declares them, in a header or a source, read without a compiler.

BEGIN_TILING_DATA_DEF(AddTiling)
  TILING_DATA_FIELD_DEF(uint32_t, length);
  TILING_DATA_FIELD_DEF_ARR(int64_t, 8, shape);
  TILING_DATA_FIELD_DEF_STRUCT(TCubeTiling, product);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(Add, AddTiling)
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["HostTiling", "TilingClass", "TilingError", "TilingField", "read_tiling", "read_tiling_file"]

# C's scalar types, and our names of them.
SCALARS = {
    "bool": "bool",
    "char": "i8",
    "double": "f64",
    "float": "f32",
    "int": "i32",
    "size_t": "u64",
    **{f"int{bits}_t": f"i{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}_t": f"u{bits}" for bits in (8, 16, 32, 64)},
}
# What CANN declares itself, and how many words of 4 bytes each has.
BUILT_IN: Mapping[str, int] = {
    "TCubeTiling": 50,
    "SoftMaxTiling": 16,
    "LayerNormTiling": 26,
    "RmsNormTiling": 12,
    "DeepNormTiling": 26,
    "ConfusionTransposeTiling": 18,
    "PadTiling": 23,
    "UnPadTiling": 8,
}

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"(?P<file>[^"\n]+)"', re.MULTILINE)
_MOST_FILES = 200
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)[ \t]+(?P<value>[^\n]+)$", re.MULTILINE)
_CONSTANT = re.compile(r"\bconst(?:expr)?\b[\w\s:]*?\b(?P<name>\w+)\s*=\s*(?P<value>[^;{}]+);")
_CLASS = re.compile(r"\bBEGIN_TILING_DATA_DEF\s*\(\s*(?P<name>\w+)\s*\)(?P<body>.*?)\bEND_TILING_DATA_DEF\b", re.DOTALL)
_FIELD = re.compile(r"\b(?P<macro>TILING_DATA_FIELD_DEF\w*)\s*\((?P<arguments>[^()]*(?:\([^()]*\)[^()]*)*)\)")
_REGISTERED = re.compile(r"\bREGISTER_TILING_DATA_CLASS\s*\(\s*(?P<operator>\w+)\s*,\s*(?P<name>\w+)\s*\)")
_ARITHMETIC: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Div: lambda a, b: a // b,
    ast.LShift: lambda a, b: a << b,
}


class TilingError(ValueError):
    """A declaration that cannot be read; ``line`` is where it stands in its file."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class TilingField:
    """A field: a scalar of a C type, an array of ``length`` of them, or another struct where ``is_struct``."""

    name: str
    type: str
    length: int | None = None
    is_struct: bool = False

    @property
    def scalar(self) -> str:
        """Our name of its C type: ``u32``."""
        return SCALARS[self.type]


@dataclass(frozen=True)
class TilingClass:
    """A tiling struct."""

    name: str
    fields: tuple[TilingField, ...]
    line: int

    def declaration(self) -> str:
        """Its form in a kernel: the same bytes, as a plain struct. Structs within it start at multiples of 8 bytes."""
        lines = []
        for field in self.fields:
            align = "alignas(8) " if field.is_struct else ""
            align += "AscendC::" if field.is_struct and field.type in BUILT_IN else ""
            extent = "" if field.length is None else f"[{field.length}]"
            lines.append(f"  {align}{field.type} {field.name}{extent};\n")
        return f"struct {self.name} {{\n{''.join(lines)}}};\n"


@dataclass(frozen=True)
class HostTiling:
    """What a file declares: its structs by name, those that it registers, by operator, and constants as they stand."""

    classes: Mapping[str, TilingClass]
    registered: Mapping[str, str]
    constants: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def with_more(self, other: HostTiling) -> HostTiling:
        """This, and what another file declares behind it."""
        return HostTiling(
            {**self.classes, **other.classes},
            {**self.registered, **other.registered},
            {**self.constants, **other.constants},
        )

    def default(self, key: int | None = None) -> TilingClass | None:
        """The struct of a kernel that does not name one, where there is one: ``Op_2`` is for the tiling key 2 alone."""
        of_key = [name for operator, name in self.registered.items() if operator.endswith(f"_{key}")]
        if key is not None and len(of_key) == 1:
            return self.classes.get(of_key[0])
        parts = {field.type for item in self.classes.values() for field in item.fields if field.is_struct}
        plain = {
            name
            for operator, name in self.registered.items()
            if name not in parts and not re.fullmatch(r"\w+_\d+", operator)
        }
        return self.classes.get(next(iter(plain))) if len(plain) == 1 else None


_NOTHING = HostTiling({}, {})


def read_tiling_file(path: Path, known: HostTiling = _NOTHING) -> HostTiling:
    """The declarations of a host file and of those beside it that it includes, whose fields may be ``known`` structs.

    Raises ``TilingError`` for a field that cannot be read, and what opening the file raises.
    """
    return _read_file(path, known, set())


def _read_file(path: Path, known: HostTiling, seen: set[Path]) -> HostTiling:
    text = path.read_text(encoding="utf-8", errors="replace")
    seen.add(path.resolve())
    for match in _INCLUDE.finditer(text):
        other = path.parent / match["file"]
        if len(seen) < _MOST_FILES and other.is_file() and other.resolve() not in seen:
            try:
                known = _read_file(other, known, seen)
            except TilingError as error:
                raise TilingError(f"{match['file']}:{error.line}: {error}", _line(text, match.start())) from None
    return known.with_more(read_tiling(text, known))


def read_tiling(text: str, known: HostTiling = _NOTHING) -> HostTiling:
    """The declarations in the text of a host file, whose fields may be ``known`` structs of other files.

    Raises ``TilingError`` for a field that cannot be read.
    """
    plain = _COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    own = {match["name"]: match["value"] for pattern in (_DIRECTIVE, _CONSTANT) for match in pattern.finditer(plain)}
    constants = {**known.constants, **own}
    classes: dict[str, TilingClass] = {}
    for match in _CLASS.finditer(plain):
        fields = tuple(
            _field(field, constants, {**known.classes, **classes}, _line(plain, match.start("body") + field.start()))
            for field in _FIELD.finditer(match["body"])
        )
        _refuse_twice(fields, _line(plain, match.start()))
        classes[match["name"]] = TilingClass(match["name"], fields, _line(plain, match.start()))
    registered = {match["operator"]: match["name"] for match in _REGISTERED.finditer(plain)}
    return HostTiling(classes, registered, own)


def _field(
    match: re.Match[str], constants: Mapping[str, str], classes: Mapping[str, TilingClass], line: int
) -> TilingField:
    macro, arguments = match["macro"], [item.strip() for item in match["arguments"].split(",")]
    if macro == "TILING_DATA_FIELD_DEF" and len(arguments) == 2:
        return TilingField(arguments[1], _scalar(arguments[0], line))
    if macro == "TILING_DATA_FIELD_DEF_ARR" and len(arguments) == 3:
        return TilingField(arguments[2], _scalar(arguments[0], line), _number(arguments[1], constants, line))
    if macro == "TILING_DATA_FIELD_DEF_STRUCT" and len(arguments) == 2:
        if arguments[0] not in classes and arguments[0] not in BUILT_IN:
            known = ", ".join([*classes, *BUILT_IN])
            raise TilingError(f"the struct {arguments[0]!r} is not declared before it is used; known are {known}", line)
        return TilingField(arguments[1], arguments[0], is_struct=True)
    raise TilingError(
        f"{match[0]!r} is not a field that is known; expected TILING_DATA_FIELD_DEF(type, name), "
        "TILING_DATA_FIELD_DEF_ARR(type, length, name) or TILING_DATA_FIELD_DEF_STRUCT(type, name)",
        line,
    )


def _scalar(type_: str, line: int) -> str:
    name = type_.removeprefix("std::")
    if name not in SCALARS:
        raise TilingError(f"the type {type_!r} is not one of C's: expected one of {', '.join(SCALARS)}", line)
    return name


def _number(text: str, constants: Mapping[str, str], line: int) -> int:
    """The value of a length: numbers, constants of the file, ``+ - * / <<``."""
    try:
        return _value(ast.parse(_literals(text), mode="eval").body, constants, depth=0)
    except (SyntaxError, KeyError, TypeError, ZeroDivisionError, RecursionError):
        raise TilingError(
            f"the length {text!r} is not a number: expected whole numbers and constants of the same file", line
        ) from None


def _value(node: ast.expr, constants: Mapping[str, str], depth: int) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name) if depth < 20:
            return _value(ast.parse(_literals(constants[name]), mode="eval").body, constants, depth + 1)
        case ast.BinOp(left=left, op=operation, right=right):
            return int(_ARITHMETIC[type(operation)](_value(left, constants, depth), _value(right, constants, depth)))
    raise TypeError


def _literals(text: str) -> str:
    """C's numbers as Python's: without suffixes."""
    return re.sub(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b", r"\1", text).strip()


def _refuse_twice(fields: Iterable[TilingField], line: int) -> None:
    seen: set[str] = set()
    for field in fields:
        if field.name in seen:
            raise TilingError(f"the field {field.name!r} is declared twice", line)
        seen.add(field.name)


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
