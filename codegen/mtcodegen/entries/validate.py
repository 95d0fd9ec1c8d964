"""Structure: nodes against ops.schema.json, the one description of the language that editors read too.

`jsonschema` finds what is wrong; what is said of it is in the language's own words.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator
from collections.abc import Mapping as MappingOf
from collections.abc import Sequence as SequenceOf
from typing import TYPE_CHECKING, Any

from mtcodegen.document.nodes import Mapping, Node, Scalar, Sequence
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import MOST_FINDINGS, Diagnostic, suggest
from mtcodegen.findings.source import Span
from mtcodegen.system.paths import data_folder

if TYPE_CHECKING:
    import jsonschema

__all__ = ["device_keys", "fallbacks", "json_schema", "plain_type", "to_python", "validate"]

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9_]*|0x[0-9a-fA-F]+|0o[0-7]+)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_SHORT = 6  # values of an enumeration that are always listed
# Names that PyTorch, C and people have for values of the language.
_OTHER_NAMES = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "fp16": "float16",
    "fp32": "float32",
    "bf16": "bfloat16",
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "char": "int8",
    "byte": "uint8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "gpu": "cuda",
    "ascend": "npu",
    "host": "cpu",
}
_BOOLEANS = {"yes": "true", "on": "true", "no": "false", "off": "false"}  # YAML 1.1's words for them
_NAMES = {
    "array": "a list",
    "object": "a mapping",
    "string": "a string",
    "number": "a number",
    "integer": "an integer",
    "boolean": "true or false",
}


@functools.cache
def json_schema() -> dict[str, Any]:
    """ops.schema.json."""
    schema: dict[str, Any] = json.loads((data_folder("ops_yaml") / "ops.schema.json").read_text("utf-8"))
    return schema


def device_keys() -> dict[str, str]:
    """The dispatch key of each device that kernels may be for, by its name in the YAML."""
    keys: dict[str, str] = json_schema()["$defs"]["device"]["dispatchKeys"]
    return keys


def fallbacks() -> dict[str, str]:
    """The devices whose operators without a kernel run on another one, unless an entry says otherwise, and on which."""
    found: dict[str, str] = json_schema()["$defs"]["device"]["fallbacks"]
    return found


def validate(document: Node) -> list[Diagnostic]:
    """Everything about the document's structure that ops.schema.json does not allow."""
    validator = _validator()
    branches = [branch for branch in validator.schema["anyOf"] if _fits(document, branch)]
    if not branches:
        return [_wrong_type(document, _types(json_schema()), "the file")]
    # `iter_errors` of one branch is lazy; `anyOf` would collect all errors first, and a hostile file has millions.
    errors = validator.evolve(schema=branches[0]).iter_errors(to_python(document))
    return [*itertools.islice((item for error in errors for item in _worded(error, document)), MOST_FINDINGS)]


def plain_type(node: Node) -> str:
    """JSON Schema's name for the type of a node; plain scalars by YAML 1.2's core schema."""
    if isinstance(node, Sequence):
        return "array"
    if isinstance(node, Mapping):
        return "object"
    if node.style:
        return "string"
    if node.value in ("", "~", "null", "Null", "NULL"):
        return "null"
    if node.value in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return "boolean"
    if len(node.value) < 40 and _INTEGER.fullmatch(node.value):
        return "integer"
    return "number" if len(node.value) < 40 and _FLOAT.fullmatch(node.value) else "string"


def to_python(node: Node) -> Any:
    """The plain value of a node, as a YAML reader would give it."""
    if isinstance(node, Sequence):
        return [to_python(item) for item in node.items]
    if isinstance(node, Mapping):
        return {key: to_python(value) for key, (_, value) in node.entries.items()}
    match plain_type(node):
        case "null":
            return None
        case "boolean":
            return node.value.lower() == "true"
        case "integer":
            return int(node.value.replace("_", ""), 0)
        case "number":
            return float(re.sub(r"\.(?=inf|nan)", "", node.value.lower()))
    return node.value


def _minimum(validator: Any, minimum: float, instance: Any, schema: Any) -> Iterator[jsonschema.ValidationError]:
    """As JSON Schema's, which knows neither infinity nor NaN: both are refused."""
    if validator.is_type(instance, "number") and not minimum <= instance < math.inf:
        from jsonschema import ValidationError

        yield ValidationError(f"{instance!r} is no number that is at least {minimum!r}")


@functools.cache
def _validator() -> Any:
    from jsonschema import (
        Draft202012Validator,
        validators,
    )  # imported here: it takes 0.1 s, and `import` validates nothing

    extend: Any = validators.extend
    return extend(Draft202012Validator, {"minimum": _minimum})(_inlined(json_schema()))


def _inlined(schema: Any, inside: tuple[str, ...] = ()) -> Any:
    """A schema with definitions in the places of references to them, which a validator looks up again at each value.

    A reference to a definition that it is ``inside`` of stays.
    """
    if isinstance(schema, list):
        return [_inlined(item, inside) for item in schema]
    if not isinstance(schema, dict):
        return schema
    reference = schema.get("$ref")
    if reference is not None and reference not in inside:
        return _inlined(_definition(reference), (*inside, reference))
    return {key: value if key == "$defs" else _inlined(value, inside) for key, value in schema.items()}


def _worded(error: jsonschema.ValidationError, document: Node, what: str = "") -> Iterator[Diagnostic]:
    """An error of the validator in the language's own words; ``what`` is what it is about, where that is known."""
    node = _at(document, error.absolute_path)
    schema: Any = error.schema
    what = what or _name([*error.absolute_path], schema)
    title = schema.get("title", what)
    match error.validator, node:
        case "anyOf", _:
            yield from _closest(error, document, node, what)
        case "enum", _:
            yield _not_one_of(node, schema["enum"], what)
        case "type", _:
            yield _wrong_type(node, _types(schema), what)
        case "required", Mapping():
            yield from (_missing(node, name, title) for name in schema["required"] if name not in node.entries)
        case "additionalProperties", Mapping():
            known = schema.get("properties", {})
            yield from (_unknown(key, known, title) for name, (key, _) in node.entries.items() if name not in known)
        case "oneOf", Mapping():
            yield _not_one_key(node, schema, title)
        case "pattern", Mapping():  # of `propertyNames`
            key = str(error.instance)
            yield Diagnostic(Code.MT114, f"a key of {what} cannot be {_quote(key)}", node.entries[key][0].span)
        case "pattern", Scalar():
            yield Diagnostic(Code.MT114, f"{what} cannot be {_quote(node.value)}", node.span, _pattern_hint(schema))
        case "minimum", Scalar():
            hint = f"expected a number that is at least {schema['minimum']}"
            yield Diagnostic(Code.MT114, f"{what} cannot be {_quote(node.value)}", node.span, hint)
        case _:  # `minLength`, `minItems`, `minProperties`
            yield Diagnostic(Code.MT116, f"{what} is empty", node.span)


def _closest(error: jsonschema.ValidationError, document: Node, node: Node, what: str) -> Iterator[Diagnostic]:
    """The errors against the first of several alternative schemas that allows values of this type."""
    schema: Any = error.schema
    fitting = [i for i, branch in enumerate(schema["anyOf"]) if _fits(node, branch)]
    if not fitting:
        yield _wrong_type(node, _types(schema), what)
    for inner in error.context or ():
        if fitting and inner.relative_schema_path[0] == fitting[0]:
            yield from _worded(inner, document, "" if inner.relative_path else what)


def _at(document: Node, path: Iterable[str | int]) -> Node:
    """The node that a path of keys and positions leads to."""
    for step in path:
        if isinstance(document, Mapping):
            document = document.entries[str(step)][1]
        elif isinstance(document, Sequence):
            document = document.items[int(step)]
    return document


def _name(path: SequenceOf[str | int], schema: MappingOf[str, Any]) -> str:
    """What a value is called: by its key, or by what a list is of."""
    if not path:
        return "the file"
    if isinstance(path[-1], str):
        return f"`{path[-1]}`"
    return schema.get("title") or f"an item of {_name(path[:-1], {})}"


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref")
    if reference is None:
        return schema
    return _resolved(_definition(reference))


def _definition(reference: str) -> dict[str, Any]:
    found: dict[str, Any] = json_schema()["$defs"][reference.rsplit("/", 1)[1]]
    return found


def _pattern_hint(schema: dict[str, Any]) -> str:
    pattern = schema["pattern"]
    if ":" in pattern:
        return "expected `module:function`"
    return "expected `function`, `method` or both" if "method" in pattern else "expected letters, digits and `_`"


def _types(schema: dict[str, Any]) -> tuple[str, ...]:
    """The JSON types that a schema takes, in its order."""
    schema = _resolved(schema)
    if "anyOf" in schema:
        return tuple(dict.fromkeys(name for branch in schema["anyOf"] for name in _types(branch)))
    if "enum" in schema:
        return ("string",)
    types = schema["type"]
    return (types,) if isinstance(types, str) else tuple(types)


def _fits(node: Node, schema: dict[str, Any]) -> bool:
    actual, wanted = plain_type(node), _types(schema)
    return actual in wanted or (actual == "integer" and "number" in wanted)


def _not_one_of(node: Node, values: list[str], what: str) -> Diagnostic:
    if not isinstance(node, Scalar):
        return _wrong_type(node, ("string",), what)
    message = f"{what} cannot be {_quote(node.value)}"
    other = _OTHER_NAMES.get(node.value, "")
    hint = f"did you mean `{other}`?" if other in values else suggest(node.value, values)
    if not hint or len(values) <= _SHORT:  # of a long list, only the name that was probably meant is shown
        message += f"; expected {_either([f'`{value}`' for value in values])}"
    return Diagnostic(Code.MT113, message, node.span, hint)


def _wrong_type(node: Node, wanted: tuple[str, ...], what: str) -> Diagnostic:
    names = [_NAMES[name] for name in wanted if name != "number" or "string" not in wanted]
    if "string" in wanted:
        names = [name for name in names if name != _NAMES["boolean"]]
    actual = plain_type(node)
    got = "nothing" if actual == "null" else _NAMES[actual]
    span = node.span
    if actual == "null" and isinstance(node, Scalar) and not node.value:
        span = _key_before(node)
    word = _BOOLEANS.get(node.value.lower(), "") if isinstance(node, Scalar) and "boolean" in wanted else ""
    return Diagnostic(
        Code.MT112, f"{what} must be {_either(names)}, not {got}", span, f"write `{word}`" if word else ""
    )


def _key_before(node: Scalar) -> Span:
    """An empty value has no place of its own: point at what stands before it."""
    text = node.source.text
    end = node.start
    while end > 0 and text[end - 1] in " \t\r\n":
        end -= 1
    return Span(node.source, max(0, end - 1))


def _missing(node: Mapping, name: str, title: str) -> Diagnostic:
    near = suggest(name, node.entries)
    hint = f"{near.removeprefix('did you mean ').removesuffix('?')} looks like it" if near else ""
    return Diagnostic(Code.MT111, f"{title} needs the key `{name}`", node.span, hint)


def _unknown(key: Scalar, known: dict[str, Any], title: str) -> Diagnostic:
    hint = suggest(key.value, known) or f"known are {', '.join(known)}"
    if key.value.count(")") > key.value.count("("):  # the rest of a call that YAML cut in two
        hint = "quote the value before it: between [ ] or { } a comma ends it"
    return Diagnostic(Code.MT110, f"{title} has no key {_quote(key.value)}", key.span, hint)


def _not_one_key(node: Mapping, schema: MappingOf[str, Any], title: str) -> Diagnostic:
    """``oneOf`` is used in one way only: exactly one of some keys must be there."""
    keys = [branch["required"][0] for branch in schema["oneOf"]]
    given = [name for name in node.entries if name in keys]
    if not given:
        return Diagnostic(Code.MT111, f"{title} needs one of {_either([f'`{key}`' for key in keys])}", node.span)
    message = f"{title} cannot have both `{given[0]}` and `{given[1]}`"
    return Diagnostic(Code.MT115, message, node.entries[given[1]][0].span, "make two kernels of it")


def _quote(value: str) -> str:
    shown = value if len(value) <= 60 else f"{value[:57]}..."
    return f"`{shown}`"


def _either(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
