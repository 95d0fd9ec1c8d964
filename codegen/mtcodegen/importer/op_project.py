"""The definition of an operator project -> imported operators: an ``OpDef`` in C++, or the JSON file of msopgen.

Both name inputs, outputs and attributes with their types. What the host side computes in C++ before a launch
(block_dim, the values of the tiling) is left to be written: it stands in a kernel that is commented out.
"""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

import opschema
from mtcodegen.document.load import read
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import Diagnostic
from mtcodegen.findings.source import Source, Span
from mtcodegen.importer.model import Imported, Note
from mtcodegen.system.values import dataclass
from opschema.tiling import TilingClass, TilingError, read_tiling

__all__ = ["is_op_project", "read_op_project"]

_SUFFIXES = (".cpp", ".cc", ".h", ".hpp", ".json")
# Of each type: CANN's name, ours, and the kernels'.
_TYPES = {
    "DT_FLOAT16": ("float16", "half"),
    "DT_FLOAT": ("float32", "float"),
    "DT_BF16": ("bfloat16", "bfloat16_t"),
    "DT_DOUBLE": ("float64", "double"),
    "DT_INT8": ("int8", "int8_t"),
    "DT_INT16": ("int16", "int16_t"),
    "DT_INT32": ("int32", "int32_t"),
    "DT_INT64": ("int64", "int64_t"),
    "DT_UINT8": ("uint8", "uint8_t"),
    "DT_BOOL": ("bool", "bool"),
}
_SHORT = {  # msopgen's names
    **{name.removeprefix("DT_").lower(): name for name in _TYPES},
    "fp16": "DT_FLOAT16",
    "half": "DT_FLOAT16",
    "fp32": "DT_FLOAT",
    "float32": "DT_FLOAT",
    "bfloat16": "DT_BF16",
}
_ATTRIBUTES = {"bool": "bool", "float": "float", "int": "int", "string": "str"}
_CLASS = re.compile(r"\bclass\s+(?P<name>\w+)\s*:\s*public\s+(?:\w+::)?OpDef\b")
_MEMBER = re.compile(
    r"\bthis->(?P<kind>Input|Output|Attr)\(\s*\"(?P<name>\w+)\"\s*\)(?P<calls>(?:[^;\"]|\"(?:\\.|[^\"\\])*\")*);"
)
_CALL = re.compile(r"\.(?P<name>\w+)\((?P<argument>(?:[^()\"]|\"(?:\\.|[^\"\\])*\")*)\)")
_COMMENT = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|//[^\n]*|/\*.*?\*/", re.DOTALL)  # or a text, which may hold one
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"\n]+)"', re.MULTILINE)
# "the shape of output i is that of input j", with names between or without.
_SHAPE_NAME = re.compile(r"(\w+)\s*=\s*context->Get(Input|Output)Shape\((\d+)\)")
_COPY = re.compile(r"\*\s*(context->GetOutputShape\(\d+\)|\w+)\s*=\s*\*\s*(context->GetInputShape\(\d+\)|\w+)\s*;")


@dataclass(frozen=True)
class _Tensor:
    """An input or output: how it is given, and its type in each combination.

    Where the types are ``free`` they combine with all of the others'; else those of one tensor stand beside another's.
    """

    name: str
    form: str  # required, optional or dynamic
    types: tuple[str, ...]
    free: bool = False
    follows: str | None = None


@dataclass(frozen=True)
class _Attribute:
    name: str
    type: str
    default: str | None


@dataclass(frozen=True)
class _Definition:
    name: str
    span: Span
    inputs: tuple[_Tensor, ...]
    outputs: tuple[_Tensor, ...]
    attributes: tuple[_Attribute, ...]


def is_op_project(path: pathlib.Path) -> bool:
    """Whether a file is the source of an operator's host side, or a JSON file."""
    return path.suffix in _SUFFIXES


def read_op_project(path: pathlib.Path) -> tuple[list[Imported], list[Diagnostic]]:
    """The operators that a file defines, and what is wrong with it."""
    source, found = read(path, str(path))
    if source is None:
        return [], found
    try:
        definitions = list(_from_json(source) if path.suffix == ".json" else _from_cpp(source))
    except _FaultError as fault:
        return [], [*found, Diagnostic(Code.MT111, str(fault), fault.span, fault.hint)]
    if not definitions:
        hint = 'expected `class Name : public OpDef`, with this->Input("x") and its kin'
        return [], [*found, Diagnostic(Code.MT111, "no operator is defined here", Span(source, 0), hint)]
    alone = len(definitions) == 1
    operators = []
    for definition in definitions:
        try:
            operators.append(_imported(definition, source, path, alone=alone))
        except opschema.SchemaError as error:
            found.append(Diagnostic(Code.MT111, f"{definition.name}: {error}", definition.span))
    return operators, found


class _FaultError(Exception):
    def __init__(self, message: str, span: Span, hint: str = "") -> None:
        super().__init__(message)
        self.span, self.hint = span, hint


def _from_cpp(source: Source) -> Iterator[_Definition]:
    text = _COMMENT.sub(lambda match: match[0] if match[0][0] == '"' else re.sub(r"[^\n]", " ", match[0]), source.text)
    classes = list(_CLASS.finditer(text))
    for found, following in zip(classes, [*classes, None][1:], strict=True):
        tensors: dict[str, list[tuple[_Tensor, Span]]] = {"Input": [], "Output": []}
        attributes = []
        for member in _MEMBER.finditer(text, found.end(), following.start() if following else len(text)):
            calls = {call["name"]: call["argument"].strip() for call in _CALL.finditer(member["calls"])}
            span = Span(source, member.start("name"), len(member["name"]))
            if member["kind"] == "Attr":
                attributes.append(_attribute(member["name"], calls, span))
                continue
            form = calls.get("ParamType", "REQUIRED").rpartition("::")[2].lower()
            listed = re.findall(r"\bDT_\w+", calls.get("DataType", "") or calls.get("DataTypeList", ""))
            followed = re.match(r'"(\w+)"(?!.*\bSHAPE\b)', calls.get("Follow", ""))
            tensor = _tensor(member["name"], form, listed, span)
            free, follows = "DataTypeList" in calls, followed[1] if followed and not listed else None
            tensors[member["kind"]].append((replace(tensor, free=free, follows=follows), span))
        span = Span(source, found.start("name"), len(found["name"]))
        combined = _combined([*tensors["Input"], *tensors["Output"]])
        inputs, outputs = combined[: len(tensors["Input"])], combined[len(tensors["Input"]) :]
        yield _Definition(found["name"], span, inputs, outputs, tuple(attributes))


def _combined(tensors: Sequence[tuple[_Tensor, Span]]) -> tuple[_Tensor, ...]:
    """The tensors with their types in each combination: beside each other, combined freely, or as of another tensor."""
    columns = [item.types for item, _ in tensors]
    count = max((len(item.types) for item, _ in tensors if not item.free), default=1) or 1
    free = [index for index, (item, _) in enumerate(tensors) if item.free]
    for index in free:
        choices = tensors[index][0].types
        columns[index] = tuple(type_ for type_ in choices for _ in range(count))
        for other in range(len(columns)):
            if other not in free or other < index:
                columns[other] *= len(choices)
        count *= len(choices)
    of = {item.name: column for (item, _), column in reversed([*zip(tensors, columns, strict=True)]) if column}
    for item, span in tensors:
        if item.follows is not None and item.follows not in {other.name for other, _ in tensors}:
            raise _FaultError(f"`{item.name}` follows `{item.follows}`, which the operator does not have", span)
    return tuple(
        replace(item, types=of.get(item.follows, ()) if item.follows is not None else column)
        for (item, _), column in zip(tensors, columns, strict=True)
    )


def _attribute(name: str, calls: Mapping[str, str], span: Span) -> _Attribute:
    optional = "OPTIONAL" in calls.get("AttrType", "")
    for call, value in calls.items():
        is_list, scalar = call.startswith("List"), call.removeprefix("List").lower()
        if scalar in _ATTRIBUTES and call != "AttrType":
            return _Attribute(name, _ATTRIBUTES[scalar] + "[]" * is_list, _default(value) if optional else None)
    raise _FaultError(
        f"attribute `{name}` has no type", span, "one of Bool, Float, Int, String, ListBool, ListFloat, ListInt"
    )


def _default(text: str) -> str:
    """A value of C++ as schemas write it."""
    text = text.strip()
    if text.startswith("{"):
        return f"[{', '.join(_default(item) for item in text.strip('{} ').split(',') if item.strip())}]"
    if text in ("true", "false"):
        return text.title()
    return re.sub(r"(?<=[\d.])[fFlL]$", "", text)


def _tensor(name: str, form: str, listed: Iterable[str], span: Span) -> _Tensor:
    types = tuple(listed)
    for type_ in types:
        if type_ not in _TYPES:
            raise _FaultError(
                f"`{name}` has a type that tensors do not have: {type_}", span, f"one of {', '.join(_TYPES)}"
            )
    if form not in ("required", "optional", "dynamic"):
        raise _FaultError(f"`{name}`: expected REQUIRED, OPTIONAL or DYNAMIC, not {form.upper()}", span)
    return _Tensor(name, form, types)


def _from_json(source: Source) -> Iterator[_Definition]:
    try:
        read_ = json.loads(source.text)
    except json.JSONDecodeError as error:
        raise _FaultError(f"this is no JSON: {error.msg}", Span(source, min(error.pos, len(source.text) - 1))) from None
    for entry in read_ if isinstance(read_, list) else [read_]:
        if not isinstance(entry, dict) or not isinstance(entry.get("op"), str):
            raise _FaultError("an operator without its name, `op`", Span(source, 0))
        name = entry["op"]
        span = Span(source, max(source.text.find(f'"{name}"'), 0), len(name) + 2)
        inputs, outputs = (
            tuple(_json_tensor(item, span) for item in _listed(entry, key, span))
            for key in ("input_desc", "output_desc")
        )
        attributes = tuple(_json_attribute(item, span) for item in _listed(entry, "attr", span))
        yield _Definition(name, span, inputs, outputs, attributes)


def _listed(entry: Mapping[str, Any], key: str, span: Span) -> Sequence[dict[str, Any]]:
    items = entry.get(key, [])
    if not isinstance(items, list) or any(not isinstance(item, dict) or "name" not in item for item in items):
        raise _FaultError(f"`{key}`: expected a list of entries with a `name`", span)
    return items


def _json_tensor(item: Mapping[str, Any], span: Span) -> _Tensor:
    types = item.get("type", [])
    named = [_SHORT.get(str(type_).lower(), str(type_)) for type_ in (types if isinstance(types, list) else [types])]
    return _tensor(str(item["name"]), str(item.get("param_type", "required")).lower(), named, span)


def _json_attribute(item: Mapping[str, Any], span: Span) -> _Attribute:
    text = str(item.get("type", "")).lower()
    scalar = text.removeprefix("list_")
    if scalar not in _ATTRIBUTES:
        raise _FaultError(
            f"attribute `{item['name']}`: no type is called {text!r}", span, "bool, float, int, string, list_int"
        )
    value = item.get("default_value")
    optional = str(item.get("param_type", "required")).lower() == "optional" and value is not None
    given = value if isinstance(value, str) else json.dumps(value)
    if scalar == "string" and optional:
        given = json.dumps(value)
    is_list = text.startswith("list_")
    return _Attribute(str(item["name"]), _ATTRIBUTES[scalar] + "[]" * is_list, _default(given) if optional else None)


def _imported(definition: _Definition, source: Source, path: pathlib.Path, *, alone: bool) -> Imported:
    operator = Imported(opschema.parse_schema(_schema(definition)), definition.span)
    operator.backward = "not_implemented"
    shapes = _shapes(source.text) if alone else {}
    operator.fake = _fake(definition, shapes)
    if not operator.fake and definition.outputs:
        operator.notes.append(Note("fake", "the shapes are computed in C++: write a rule", definition.span))
    untyped = [item.name for item in (*definition.inputs, *definition.outputs) if not item.types]
    if untyped:
        reason = f"which types {', '.join(f'`{name}`' for name in untyped)} has is not known"
        operator.notes.append(Note("kernels", reason, definition.span))
        return operator
    reason = "block_dim and the tiling's values are computed in C++: write them for what `...` stands for"
    operator.notes.append(Note("kernels", reason, definition.span))
    operator.suggested = tuple(_kernels(definition, path, _tiling(definition.name, source.text, path)))
    return operator


def _snake(name: str) -> str:
    """As msopgen names an operator's files and kernel."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _schema(definition: _Definition) -> str:
    trailing = len(list(takewhile(lambda item: item.form == "optional", reversed(definition.inputs))))
    words = []
    for index, item in enumerate(definition.inputs):
        defaulted = "=None" if index >= len(definition.inputs) - trailing else ""
        mark = {"optional": "?", "dynamic": "[]"}.get(item.form, "")
        words.append(f"Tensor{mark} {item.name}{defaulted}")
    if definition.attributes:
        words.append("*")
    for attribute in definition.attributes:
        words.append(
            f"{attribute.type} {attribute.name}" + ("" if attribute.default is None else f"={attribute.default}")
        )
    marks = ["[]" if item.form == "dynamic" else "" for item in definition.outputs]
    if len(marks) == 1:
        returns = f"Tensor{marks[0]}"
    else:
        named = zip(marks, definition.outputs, strict=True)
        returns = f"({', '.join(f'Tensor{mark} {item.name}' for mark, item in named)})"
    return f"{_snake(definition.name)}({', '.join(words)}) -> {returns}"


def _shapes(text: str) -> dict[int, int]:
    """Which outputs have the shape of which input, where the host side says so by copying it."""
    names = {match[1]: (match[2], int(match[3])) for match in _SHAPE_NAME.finditer(text)}

    def meant(word: str) -> tuple[str, int] | None:
        call = re.fullmatch(r"context->Get(Input|Output)Shape\((\d+)\)", word)
        return (call[1], int(call[2])) if call else names.get(word)

    copies = [(meant(match[1]), meant(match[2])) for match in _COPY.finditer(text)]
    return {to[1]: by[1] for to, by in copies if to and by and to[0] == "Output" and by[0] == "Input"}


def _fake(definition: _Definition, shapes: Mapping[int, int]) -> tuple[Mapping[str, str], ...]:
    """A rule for each output; none where one is not known."""
    rules: list[Mapping[str, str]] = []
    for index, output in enumerate(definition.outputs):
        if output.form != "required" or shapes.get(index, len(definition.inputs)) >= len(definition.inputs):
            return ()
        like = definition.inputs[shapes[index]]
        if like.form != "required" or not output.types:
            return ()
        if output.types == like.types:
            rules.append({"like": like.name})
        elif len(set(output.types)) == 1:
            rules.append({"shape": f"{like.name}.shape", "dtype": _TYPES[output.types[0]][0]})
        else:
            return ()
    return tuple(rules)


def _tiling(operator: str, text: str, path: pathlib.Path) -> tuple[str, TilingClass] | None:
    """The struct that the host side registers for an operator, and the file that declares it."""
    files = [(path, text)]
    for name in _INCLUDE.findall(text):
        if (path.parent / name).is_file():
            files.append((path.parent / name, (path.parent / name).read_text(errors="replace")))
    for file, content in files:
        try:
            tiling = read_tiling(content)
        except TilingError:
            continue
        if (name := tiling.registered.get(operator)) in tiling.classes and name is not None:
            return f"{path.parent.name}/{file.name}", tiling.classes[name]
    return None


def _kernels(definition: _Definition, path: pathlib.Path, tiling: tuple[str, TilingClass] | None) -> Iterator[str]:
    """A launch for each combination of types, with ``...`` for what the host side computes."""
    name, tensors = _snake(definition.name), (*definition.inputs, *definition.outputs)
    is_single = len(definition.outputs) == 1
    inputs = [f"contiguous({item.name})" if item.form == "required" else item.name for item in definition.inputs]
    outputs = ["out"] if is_single else [item.name for item in definition.outputs]
    combinations = dict.fromkeys(zip(*(item.types for item in tensors), strict=False))
    yield "kernels:"
    for types in combinations:
        named = [(item.name.upper(), type_) for item, type_ in zip(tensors, types, strict=True)]
        macros = [f"DTYPE_{key}: {_TYPES[type_][1]}" for key, type_ in named]
        macros += [f"ORIG_DTYPE_{key}: {type_}" for key, type_ in named]
        yield "- device: npu"
        yield f"  source: op_kernel/{name}.cpp"
        yield f"  symbol: {name}"
        yield f"  defines: {{{', '.join(macros)}}}"
        yield "  block_dim: ..."
        if tiling is not None:
            file, class_ = tiling
            yield "  tiling:"
            yield f"    from: {file}"
            yield f"    class: {class_.name}"
            yield f"    fields: {{{', '.join(f'{field.name}: ...' for field in class_.fields)}}}"
        last = ["upload(tiling)" if tiling is not None else "None"]
        yield f"  args: [{', '.join([*inputs, *outputs, 'None', *last])}]"
        yield f"  dtypes: [{', '.join(dict.fromkeys(_TYPES[type_][0] for type_ in types))}]"
