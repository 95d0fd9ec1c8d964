"""Valid nodes to the model: schemas and expressions are parsed, and names in them are not resolved yet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Sequence as SequenceOf
from dataclasses import replace

import opschema
from mtcodegen.document.nodes import Mapping, Node, Scalar, Sequence
from mtcodegen.entries.composite import needs_fake
from mtcodegen.entries.model import (
    Backward,
    BuildOptions,
    Cast,
    Check,
    Compute,
    Derivative,
    Example,
    FakeRule,
    File,
    Formula,
    Forward,
    HostTiling,
    KernelArg,
    KernelBody,
    KernelSpec,
    Launch,
    Mindspore,
    OpSpec,
    PythonFunction,
    Sample,
    Tangent,
    Values,
    default_device_check,
    default_overlap_check,
)
from mtcodegen.entries.validate import to_python
from mtcodegen.expr import ExpressionError, Unread, parse_expression
from mtcodegen.expr import nodes as tree
from mtcodegen.expr.types import C_TYPES
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import Diagnostic, Related
from mtcodegen.findings.source import Text
from mtcodegen.pycode.names import taken
from mtcodegen.system.values import dataclass

__all__ = ["expression_fault", "is_special", "parse", "read_formula", "schema_fault", "schemas_of"]

_MARKERS = ("not_differentiable", "not_implemented")
_TANGENT_MARKERS = ("auto_linear", "auto_element_wise", *_MARKERS)
_BUILD_KEYS = ("include", "defines", "flags")
_LAUNCH_KEYS = ("library", "source", "symbol", "abi", "block_dim", "args", "workspace", "tiling", *_BUILD_KEYS)
_LONGEST = 10_000  # characters of an expression
_MESSAGE_PART = re.compile(r"((?:[^{}]|\{\{|\}\})+)|\{([^{}]+)\}|[{}]")
_BODIES = ("symbol", "python", "mindspore", "compute")


def parse(document: Node) -> tuple[File, list[Diagnostic]]:
    """The operators of a document in which ``validate`` found no fault."""
    reader = _Reader()
    defaults = document if isinstance(document, Mapping) else None
    entries = document.get("ops") if isinstance(document, Mapping) else document
    items = entries.items if isinstance(entries, Sequence) else []
    specs = [reader.operator(item, defaults) for item in items if isinstance(item, Mapping)]
    pending = defaults is not None and _text(defaults, "load") == "first_use"
    return File(document.source.path, tuple(spec for spec in specs if spec is not None), pending), reader.diagnostics


@dataclass(frozen=True, eq=False)
class Declared:
    """An entry's schema, the names of its variants, whether these are published, and its other names."""

    schema: opschema.Schema
    variants: tuple[str, ...]
    published: bool
    aliases: tuple[str, ...]


def schemas_of(document: Node) -> list[Declared]:
    """What a document's entries declare; without those whose schemas do not parse."""
    reader = _Reader()
    entries = document.get("ops") if isinstance(document, Mapping) else document
    namespace = _scalar(document, "namespace") if isinstance(document, Mapping) else None
    items = entries.items if isinstance(entries, Sequence) else []
    found: list[Declared] = []
    for item in items:
        func = _scalar(item, "func") if isinstance(item, Mapping) else None
        schema = None if func is None else reader.schema(func, namespace)
        if schema is not None and isinstance(item, Mapping):
            names = [name for node in _autogen(item.get("autogen")) for name in node.value.split(",")]
            aliases = tuple(node.value for node in _autogen(item.get("aliases")))
            published = isinstance(item.get("autogen"), Mapping)
            found.append(Declared(schema, tuple(name.strip() for name in names), published, aliases))
    return found


def read_formula(text: Text) -> tuple[Formula | None, list[Diagnostic]]:
    """The expression that a text holds, or what is wrong with it."""
    try:
        return Formula(text, _expression(text.value)), []
    except ExpressionError as error:
        return None, [expression_fault(text, error)]


def _expression(text: str) -> tree.Expr:
    """Raises ExpressionError."""
    if len(text) > _LONGEST:
        message = f"the expression has {len(text)} characters, more than {_LONGEST}"
        hint = "declare an operator for a part of it"
        raise ExpressionError(message, 0, len(text), hint, Code.MT202)
    return parse_expression(text)


def expression_fault(text: Text, error: ExpressionError) -> Diagnostic:
    """A fault in an expression, at its place in the file."""
    whole = error.length > _LONGEST  # then it is at fault as a whole, its quotes included
    span = text.span if whole else text.locate(error.offset, error.length)
    return Diagnostic(error.code, error.message, span, error.hint or "")


def schema_fault(func: Text, error: opschema.SchemaError) -> Diagnostic:
    """A fault in a schema, at its place in the file, with the part that it goes against."""
    span = func.locate(error.offset, error.length)
    related = () if error.also is None else (Related(func.locate(*error.also), "the earlier one is here"),)
    return Diagnostic(Code.MT150, error.message, span, error.hint or "", related=related)


def _scalar(node: Mapping, key: str) -> Scalar | None:
    value = node.get(key)
    return value if isinstance(value, Scalar) else None


def _text(node: Mapping, key: str) -> str:
    value = _scalar(node, key)
    return "" if value is None else value.value


def _casts(node: Node | None) -> tuple[Cast, ...]:
    """The policies of `autocast`, by device."""
    entries = node.entries.values() if isinstance(node, Mapping) else ()
    return tuple(Cast(key, value.value) for key, value in entries if isinstance(value, Scalar))


def _build_options(node: Mapping) -> BuildOptions:
    defines = node.get("defines")
    entries = defines.entries.items() if isinstance(defines, Mapping) else ()
    return BuildOptions(
        include=tuple(item.value for item in _scalars(node.get("include"))),
        defines=tuple((name, _macro(value)) for name, (_, value) in entries if isinstance(value, Scalar)),
        flags=tuple(item.value for item in _scalars(node.get("flags"))),
    )


def _macro(value: Scalar) -> str:
    """A macro's text: YAML's true and false are C's 1 and 0."""
    return {"true": "1", "false": "0"}.get(value.value.lower(), value.value)


def _tiling_values(node: Node | None) -> Iterator[tuple[str, Scalar]]:
    """The values of a tiling's fields by their names, those of an array's elements as ``shape[0]``."""
    for name, (_, value) in node.entries.items() if isinstance(node, Mapping) else ():
        if isinstance(value, Scalar):
            yield name, value
        else:
            yield from ((f"{name}[{i}]", item) for i, item in enumerate(_scalars(value)))


def _scalars(node: Node | None) -> list[Scalar]:
    """A scalar or a list of scalars, as a list."""
    if isinstance(node, Sequence):
        return [item for item in node.items if isinstance(item, Scalar)]
    return [node] if isinstance(node, Scalar) else []


class _Reader:
    """Reads entries and keeps what it finds wrong with them."""

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []

    def operator(self, node: Mapping, defaults: Mapping | None) -> OpSpec | None:
        func = node.get("func")
        if not isinstance(func, Scalar):
            return None
        schema = self.schema(func, None if defaults is None else _scalar(defaults, "namespace"))
        fakes, fake_function = self.fakes(node.get("fake"))
        library = None if defaults is None else _scalar(defaults, "library")
        kernels = node.get("kernels")
        items = kernels.items if isinstance(kernels, Sequence) else []
        specs = [self.kernel(item, library) for item in items if isinstance(item, Mapping)]
        backward, forward = self.backward(node, schema), self.forward(node, schema)
        checks = self.checks(node.get("check"))
        if schema is None:
            return None
        spec = OpSpec(
            place=node.place,
            func=func,
            schema=schema,
            doc=_documentation(node),
            tags=_tags(node),
            variants=self.variants(node.get("variants"), schema),
            device_check=_text(node, "device_check") or default_device_check(_tags(node)),
            overlap_check=_overlap_check(node),
            checks=checks,
            fakes=fakes,
            fake_function=fake_function,
            kernels=tuple(spec for spec in specs if spec is not None),
            backward=backward,
            forward=forward,
            autogen=_autogen(node.get("autogen")),
            autogen_as=_published(node.get("autogen")),
            aliases=_autogen(node.get("aliases")),
            aliases_as=_published(node.get("aliases")),
            fallback=_text(node, "fallback"),
            autocast=_casts(node.get("autocast")),
            graph_update=_graph_update(node.get("graph")),
            graph_hooks=_graph_hooks(node.get("graph")),
            examples=self.examples(node.get("examples"), schema),
            deprecated=" ".join(_text(node, "deprecated").split()),
            output_differentiability=tuple(
                item.value.lower() == "true" for item in _scalars(node.get("output_differentiability"))
            ),
        )
        if defaults is not None and "fake" in defaults.entries and "fake" not in node.entries and needs_fake(spec):
            fakes, fake_function = self.fakes(defaults.get("fake"))
            return replace(spec, fakes=fakes, fake_function=fake_function)
        return spec

    def schema(self, func: Scalar, namespace: Scalar | None) -> opschema.Schema | None:
        try:
            schema = opschema.parse_schema(func.value)
        except opschema.SchemaError as error:
            self.diagnostics.append(schema_fault(func, error))
            return None
        if schema.namespace is None and namespace is None:
            hint = f"write `ns::{schema.name}(...)`, or give the file a `namespace`"
            span = func.locate(0, len(schema.name))
            self.diagnostics.append(Diagnostic(Code.MT121, f"`{schema.name}` has no namespace", span, hint))
            return None
        if schema.namespace is None and namespace is not None:
            schema = schema.in_namespace(namespace.value)
        found = taken(schema.namespace or "", schema.name, schema.overload)
        if found is None:
            return schema
        name, what = found
        at = re.search(rf"\b{name}\b", func.value.partition("(")[0])
        span = func.locate(at.start(), len(name)) if at is not None else (namespace or func).span
        message = f"`{name}` is taken, and cannot name {what}"
        self.diagnostics.append(Diagnostic(Code.MT122, message, span, "choose another name"))
        return None

    def optional(self, node: Scalar | None) -> Formula | None:
        return None if node is None else self.formula(node)

    def variants(self, node: Node | None, schema: opschema.Schema) -> tuple[str, ...]:
        names = _variants(node)
        if node is not None and "method" in names and is_special(schema.name):
            message = f"`{schema.name}` cannot be a method: what Tensor has under special names is the runtime's own"
            self.diagnostics.append(Diagnostic(Code.MT131, message, node.span, "write `variants: function`"))
        return names

    def formula(self, node: Scalar) -> Formula:
        """The expression in a text; one that does not parse is ``Unread``, and so not reported as missing, too."""
        text = node.value
        if not node.style and text in ("true", "false"):
            text = text.capitalize()  # YAML's spelling, where it is the whole value
        try:
            return Formula(node, _expression(text))
        except ExpressionError as error:
            if _is_cut_short(node):
                error.hint = "quote the value: between [ ] or { } a comma ends it"
            self.diagnostics.append(expression_fault(node, error))
            return Formula(node, Unread())

    def checks(self, node: Node | None) -> tuple[Check, ...]:
        items = node.items if isinstance(node, Sequence) else [node]
        checks = [self.check(item) for item in items if isinstance(item, (Scalar, Mapping))]
        return tuple(check for check in checks if check is not None)

    def check(self, node: Scalar | Mapping) -> Check | None:
        if isinstance(node, Scalar):
            return Check(self.formula(node))
        condition, message = _scalar(node, "that"), _scalar(node, "message")
        if condition is None:
            return None
        parts = () if message is None else self.message(message)
        return Check(self.formula(condition), _text(node, "error"), parts)

    def message(self, node: Scalar) -> tuple[str | Formula, ...]:
        """A text in which ``{expression}`` stands for a value; ``{{`` is a brace."""
        parts: list[str | Formula] = []
        for found in _MESSAGE_PART.finditer(node.value):
            text, inner = found[1], found[2]
            if text is not None:
                parts.append(text.replace("{{", "{").replace("}}", "}"))
            elif inner is not None:
                parts.append(self.part(node, inner, found.start(2)))
            else:
                span = node.locate(found.start(), 1)
                hint = "write an expression between { and }, or {{ for a brace"
                self.diagnostics.append(Diagnostic(Code.MT114, "a brace without its other half", span, hint))
        return tuple(parts)

    def part(self, node: Scalar, text: str, offset: int) -> Formula:
        """An expression within a text; its offsets count from the start of the text."""
        try:
            return Formula(node, parse_expression(" " * offset + text))
        except ExpressionError as error:
            self.diagnostics.append(expression_fault(node, error))
            return Formula(node, Unread())

    def formulas(self, nodes: SequenceOf[Scalar]) -> tuple[Formula, ...]:
        return tuple([self.formula(node) for node in nodes])

    # ------------------------------------------------------------ fake rules

    def fakes(self, node: Node | None) -> tuple[tuple[FakeRule, ...], PythonFunction | None]:
        if isinstance(node, Sequence):
            rules = [self.fake(item) for item in node.items if isinstance(item, Mapping)]
            for item in node.items:
                if isinstance(item, Mapping) and "python" in item.entries:
                    key = item.entries["python"][0]
                    hint = "give it alone, not in a list"
                    self.diagnostics.append(Diagnostic(Code.MT406, "`python` makes all outputs", key.span, hint))
            return tuple(rules), None
        if not isinstance(node, Mapping):
            return (), None
        python = _scalar(node, "python")
        if python is None:
            return (self.fake(node),), None
        for name, (key, _) in node.entries.items():
            if name != "python":
                message = f"`{name}` does nothing beside `python`"
                self.diagnostics.append(Diagnostic(Code.MT406, message, key.span, "remove one of them"))
        return (), PythonFunction(python)

    def fake(self, node: Mapping) -> FakeRule:
        shape = node.get("shape")
        return FakeRule(
            place=node.place,
            like=self.optional(_scalar(node, "like")),
            shape=self.formulas(_scalars(shape))
            if isinstance(shape, Sequence)
            else self.optional(_scalar(node, "shape")),
            dtype=self.optional(_scalar(node, "dtype")),
            device=self.optional(_scalar(node, "device")),
        )

    # ------------------------------------------------------------ kernels

    def kernel(self, node: Mapping, library: Scalar | None) -> KernelSpec | None:
        form = next(name for name in _BODIES if name in node.entries)
        if form != "symbol":
            for name, (key, _) in node.entries.items():
                if name in _LAUNCH_KEYS:
                    message = f"`{name}` belongs to launched kernels, and this one is `{form}`"
                    self.diagnostics.append(Diagnostic(Code.MT306, message, key.span))
        devices = tuple(item.value for item in _scalars(node.get("device")))
        return KernelSpec(
            place=node.place,
            devices=devices,
            dtypes=tuple(item.value for item in _scalars(node.get("dtypes"))),
            when=self.optional(_scalar(node, "when")),
            body=self.body(form, node, devices, library),
        )

    def body(self, form: str, node: Mapping, devices: tuple[str, ...], library: Scalar | None) -> KernelBody:
        value = node.entries[form][1]
        if form == "symbol":
            return self.launch(node, devices, library)
        if form == "python" and isinstance(value, Scalar):
            return PythonFunction(value)
        if form == "mindspore":
            return self.mindspore(value)
        return Compute(self.formulas(_scalars(value)))

    def launch(self, node: Mapping, devices: tuple[str, ...], library: Scalar | None) -> Launch:
        sources = tuple(_scalars(node.get("source")))
        own_library = _scalar(node, "library")
        if sources and own_library is not None:
            key = node.entries["library"][0]
            self.diagnostics.append(
                Diagnostic(Code.MT115, "a kernel cannot have both `library` and `source`", key.span)
            )
        tiling = node.get("tiling")
        declared = tiling.get("fields") if isinstance(tiling, Mapping) else None
        host = self.host_tiling(tiling) if isinstance(declared, Mapping) and isinstance(tiling, Mapping) else None
        values = declared if host is not None else tiling
        return Launch(
            symbol=_text(node, "symbol"),
            abi=_text(node, "abi") or ("ascendc" if devices == ("npu",) else "c"),
            library=None if sources else own_library or library,
            sources=sources,
            args=tuple([self.kernel_arg(item) for item in _scalars(node.get("args"))]),
            block_dim=self.optional(_scalar(node, "block_dim")),
            workspace=self.optional(_scalar(node, "workspace")),
            tiling={name: self.kernel_arg(value) for name, value in _tiling_values(values)},
            host_tiling=host,
            build=_build_options(node),
        )

    def host_tiling(self, node: Mapping) -> HostTiling | None:
        path, name = _scalar(node, "from"), _scalar(node, "class")
        return None if path is None or name is None else HostTiling(path, name)

    def kernel_arg(self, node: Scalar) -> KernelArg:
        """``f32(scale)`` is ``scale`` passed as a C float; ``desc(x)`` and ``upload(tiling)`` are other ways."""
        formula = self.formula(node)
        match formula.expr:
            case tree.Call(function=tree.Name(id=name), arguments=(value,), keywords=()) if name in C_TYPES:
                return KernelArg(formula, "bool_" if name == "bool" else name)
            case tree.Call(function=tree.Name(id="desc" | "upload" as name), arguments=(value,), keywords=()):
                return KernelArg(Formula(node, value), name)
        return KernelArg(formula)

    def mindspore(self, value: Node) -> Mindspore:
        if isinstance(value, Scalar):
            return Mindspore(value.value, None, {})
        node = value if isinstance(value, Mapping) else None
        args = None if node is None else node.get("args")
        attrs = None if node is None else node.get("attrs")
        entries = attrs.entries.items() if isinstance(attrs, Mapping) else ()
        return Mindspore(
            "" if node is None else _text(node, "primitive"),
            None if args is None else self.formulas(_scalars(args)),
            {name: self.formula(item) for name, (_, item) in entries if isinstance(item, Scalar)},
        )

    # ------------------------------------------------------------ examples

    def examples(self, node: Node | None, schema: opschema.Schema) -> tuple[Example, ...]:
        items = node.items if isinstance(node, Sequence) else []
        return tuple(self.example(item, schema) for item in items if isinstance(item, Mapping))

    def example(self, node: Mapping, schema: opschema.Schema) -> Example:
        args, expect, tolerance = node.get("args"), node.get("expect"), node.get("tolerance")
        entries = args.entries.items() if isinstance(args, Mapping) else ()
        read = {name: self.sample(value) for name, (_, value) in entries}
        several = len(schema.returns) > 1 and isinstance(expect, Sequence)
        expected = expect.items if several and isinstance(expect, Sequence) else [expect]
        return Example(
            node.place,
            args.place if isinstance(args, Mapping) else node.place,
            {name: value for name, value in read.items() if value is not None},
            tuple(value for item in expected if (value := self.sample(item)) is not None),
            Example.tolerance if tolerance is None else float(to_python(tolerance)),
        )

    def sample(self, node: Node | None) -> Sample | None:
        if isinstance(node, Sequence):
            return Values(node.span, tuple(value for item in node.items if (value := self.sample(item)) is not None))
        return self.formula(node) if isinstance(node, Scalar) else None

    # ------------------------------------------------------------ gradients

    def backward(self, entry: Mapping, schema: opschema.Schema | None) -> Backward | None:
        if "backward" not in entry.entries:
            return None
        key, node = entry.entries["backward"]
        if isinstance(node, Scalar):
            return Backward(key, marker=node.value)
        arguments = {argument.name for argument in schema.arguments} if schema is not None else set()
        if not isinstance(node, Mapping):
            return None
        if "function" in node.entries and "function" not in arguments:
            function, setup = self.written(node, ("function", "setup_context"), "gradients")
            return Backward(key, function=function, setup_context=setup)
        derivatives = [self.derivative(name, value) for name, value in node.entries.values()]
        return Backward(key, tuple(item for item in derivatives if item is not None))

    def written(self, node: Mapping, keys: tuple[str, ...], what: str) -> tuple[PythonFunction | None, ...]:
        """Hand-written functions, for ``keys``, that compute all of ``what``; nothing else may stand beside them."""
        for name, (other, value) in node.entries.items():
            if name not in keys:
                message = f"`{name}` does nothing beside `function`, which gives all {what}"
                self.diagnostics.append(Diagnostic(Code.MT415, message, other.span))
            elif isinstance(value, Scalar) and not _FUNCTION.fullmatch(value.value):
                message = f"`{name}` cannot be `{value.value[:60]}`"
                self.diagnostics.append(Diagnostic(Code.MT114, message, value.span, "expected `module:function`"))
        given = [_scalar(node, name) for name in keys]
        return tuple(None if value is None else PythonFunction(value) for value in given)

    def derivative(self, key: Scalar, value: Node) -> Derivative | None:
        names = tuple(name.strip() for name in key.value.split(","))
        if isinstance(value, Mapping):
            formulas = {
                device: self.formula(item) for device, (_, item) in value.entries.items() if isinstance(item, Scalar)
            }
            return Derivative(key, names, formulas.pop("default", None), by_device=formulas)
        if not isinstance(value, Scalar):
            return None
        if value.value in _MARKERS:
            return Derivative(key, names, None, value.value)
        return Derivative(key, names, self.formula(value))

    def forward(self, entry: Mapping, schema: opschema.Schema | None) -> Forward | None:
        if "forward" not in entry.entries:
            return None
        key, node = entry.entries["forward"]
        if isinstance(node, Scalar):
            return Forward(key, marker=node.value)
        if not isinstance(node, Mapping):
            return None
        names = {ret.name for ret in schema.returns} if schema is not None else set()
        if "function" in node.entries and "function" not in names:
            (function,) = self.written(node, ("function",), "tangents")
            return Forward(key, function=function)
        tangents = [self.tangent(name, value) for name, value in node.entries.values() if isinstance(value, Scalar)]
        return Forward(key, tuple(tangents))

    def tangent(self, key: Scalar, value: Scalar) -> Tangent:
        if value.value in _TANGENT_MARKERS:
            return Tangent(key, key.value, None, value.value)
        return Tangent(key, key.value, self.formula(value))


def _is_cut_short(node: Scalar) -> bool:
    """Whether a comma cut a call in two, as in ``[f(a, b)]``, which is a list of two values in YAML."""
    unclosed = node.value.count("(") - node.value.count(")")
    if node.style or not unclosed:
        return False
    text, near = node.source.text, 100  # characters, so that not the whole file is copied for each fault
    if unclosed > 0:
        return text[node.end : node.end + near].lstrip().startswith(",")
    return text[max(0, node.start - near) : node.start].rstrip().endswith(",")


_FUNCTION = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)


def is_special(name: str) -> bool:
    """Whether Python gives a name a meaning of its own: ``__and__``."""
    return name.startswith("__") and name.endswith("__")


def _variants(node: Node | None) -> tuple[str, ...]:
    names = [name.strip() for item in _scalars(node) for name in item.value.split(",")]
    return tuple(dict.fromkeys(names)) or ("function",)


def _autogen(node: Node | None) -> tuple[Scalar, ...]:
    """The names of the variants to make: one or several in a text, or the keys of a mapping."""
    if isinstance(node, Mapping):
        return tuple(key for key, _ in node.entries.values())
    return tuple(_scalars(node))


def _published(node: Node | None) -> dict[str, tuple[str, ...]]:
    """The ``variants`` of each variant, where they are given."""
    entries = node.entries.items() if isinstance(node, Mapping) else ()
    return {name: _variants(value) for name, (_, value) in entries}


def _tags(node: Mapping) -> tuple[str, ...]:
    return tuple(tag.value for tag in _scalars(node.get("tags")))


def _overlap_check(node: Mapping) -> tuple[str, ...]:
    declared = tuple(item.value for item in _scalars(node.get("overlap_check")))
    if not declared:
        return default_overlap_check(_tags(node))
    return () if declared == ("NoCheck",) else declared


def _graph_update(node: Node | None) -> tuple[Scalar, ...]:
    return tuple(_scalars(node.get("update"))) if isinstance(node, Mapping) else ()


def _graph_hooks(node: Node | None) -> dict[str, Scalar]:
    if not isinstance(node, Mapping):
        return {}
    hooks = {key: node.get(key) for key in ("prepare", "postprocess", "update_args", "record")}
    return {key: hook for key, hook in hooks.items() if isinstance(hook, Scalar)}


def _documentation(node: Mapping) -> str:
    """``doc``, with what is said about versions below it."""
    parts = [_text(node, "doc").strip()]
    if since := _text(node, "since"):
        parts.append(f"Since version {since}.")
    if deprecated := _text(node, "deprecated").strip():
        parts.append(f"Deprecated: {deprecated}")
    return "\n\n".join(part for part in parts if part)
