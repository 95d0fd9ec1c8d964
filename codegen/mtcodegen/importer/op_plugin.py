"""op-plugin's op_plugin_functions.yaml -> imported operators."""

from __future__ import annotations

import re
from collections.abc import Sequence as SequenceOf
from dataclasses import replace

import opschema
from mtcodegen.document.nodes import Mapping, Node, Scalar, Sequence
from mtcodegen.expr.errors import ExpressionError
from mtcodegen.findings.codes import Code
from mtcodegen.findings.source import Span
from mtcodegen.importer.formula import ConversionError, to_expression
from mtcodegen.importer.gradients import DerivativeTable
from mtcodegen.importer.model import Imported, Note
from mtcodegen.importer.native import python_kernel
from mtcodegen.importer.pytorch.entries import VARIANTS, EntryReader, shown, split_names
from mtcodegen.importer.pytorch.parser import parse_formula

__all__ = ["OpPluginReader", "is_op_plugin", "newest_derivatives"]

_SECTIONS = ("official", "custom", "symint", "autograd", "quant", "sparse")
_NAMESPACE = "npu"  # of operators that are not PyTorch's own
_VERSION_KEYS = ("acl_op", "op_api", "sparse", "version")
_NAMED = re.compile(r"\bDimname\b")
_DTYPES = {
    "at::kBool": "bool",
    "at::kByte": "uint8",
    "at::kChar": "int8",
    "at::kShort": "int16",
    "at::kInt": "int32",
    "at::kLong": "int64",
    "at::kHalf": "float16",
    "at::kBFloat16": "bfloat16",
    "at::kFloat": "float32",
    "at::kDouble": "float64",
}
_BROADCAST = re.compile(r"broadcast_ops_npu_output_size\((\w+), (\w+)\)")


def is_op_plugin(document: Node | None) -> bool:
    """Whether a file is in op-plugin's form: sections of entries."""
    return isinstance(document, Mapping) and any(name in document.entries for name in ("all_version", *_SECTIONS))


def newest_derivatives(document: Node | None) -> tuple[Node | None, list[Note]]:
    """The entries of op-plugin's derivatives.yaml that hold for the newest version, as a file of PyTorch's has them.

    The notes are on the others.
    """
    if not isinstance(document, Mapping):
        return document, []
    newest = _newest(document)
    notes = [
        Note(name, "not a section of formulas", key.span)
        for name, (key, _) in document.entries.items()
        if name not in ("all_version", "backward")
    ]
    entries = document.get("backward")
    if not isinstance(entries, Sequence):
        return entries, notes
    kept = []
    for item in entries.items:
        name = item.get("name") if isinstance(item, Mapping) else None
        if not isinstance(item, Mapping) or not isinstance(name, Scalar) or _covers(item.get("version"), newest):
            kept.append(_without_version(item))
        else:
            notes.append(Note(f"the gradients of {name.value}", "they are not for the newest version", name.span))
    return replace(entries, items=kept), notes


def _without_version(item: Node) -> Node:
    if not isinstance(item, Mapping):
        return item
    return replace(item, entries={name: entry for name, entry in item.entries.items() if name != "version"})


def _newest(document: Mapping) -> str:
    versions = document.get("all_version")
    listed = versions.items if isinstance(versions, Sequence) else []
    last = listed[-1] if listed else None
    return last.value if isinstance(last, Scalar) else "newest"


def _covers(node: Node | None, newest: str) -> bool:
    """Whether a list of versions, or a range of them, has the newest one; no list has all."""
    if node is None:
        return True
    items = [item.value for item in node.items if isinstance(item, Scalar)] if isinstance(node, Sequence) else []
    if isinstance(node, Scalar):
        items = [*split_names(node.value)]
    return any(item in ("all_version", "newest", newest) for item in items)


class OpPluginReader(EntryReader):
    """Reads the sections; ``left_out`` are whole entries that were not carried over."""

    def __init__(self, derivatives: DerivativeTable, kernels: str) -> None:
        super().__init__()
        self.derivatives = derivatives
        self.kernels = kernels
        self.left_out: list[Note] = []
        self.seen: dict[str, Span] = {}

    def operators(self, document: Node | None) -> list[Imported]:
        """The operators of a file."""
        if not isinstance(document, Mapping):
            return []
        found: list[Imported] = []
        newest = _newest(document)
        for section, (key, value) in document.entries.items():
            if section == "all_version":
                continue
            if section not in _SECTIONS:
                self.left_out.append(Note(section, "not a section of operators", key.span))
                continue
            entries = [self.entry(node, section, newest) for node in self.items(value, f"`{section}`")]
            found += [item for item in entries if item is not None]
        return found

    def entry(self, node: Mapping, section: str, newest: str) -> Imported | None:
        """One operator, None where it is left out."""
        func = self.scalar(node, "func")
        if func is None:
            self.fault(Code.MT111, "`func` is missing", node)
            return None
        if _NAMED.search(func.value):
            self.left_out.append(Note(func.value, "dimensions have no names here", func.span))
            return None
        schema = self.schema(func)
        if schema is None:
            return None
        span = func.locate(0, len(schema.qualname))
        ranges = [node.entries[name][1] for name in ("acl_op", "op_api") if name in node.entries]
        if ranges and not any(_covers(item, newest) for item in ranges):
            self.left_out.append(Note(schema.qualname, "it is not for the newest version", span))
            return None
        own = schema if section in ("official", "symint") else schema.in_namespace(_NAMESPACE)
        if own.qualname in self.seen:
            self.left_out.append(Note(own.qualname, f"it is there on line {self.seen[own.qualname].line}", span))
            return None
        self.seen[own.qualname] = node.span
        imported = Imported(schema, span)
        imported.add_tags(self.tags(node))
        imported.add_variants(self.choices(node, "variants", VARIANTS))
        for name, (key, value) in node.entries.items():
            if name not in ("func", "tags", "variants", "gen_opapi"):
                reason = "versions of PyTorch" if name in _VERSION_KEYS else "a key of op-plugin's code generator"
                imported.notes.append(Note(f"{name}: {shown(value)}", reason, key.span))
        self.launch(node.get("gen_opapi"), imported)
        if self.kernels:
            imported.kernels.append(python_kernel(schema, ("npu",), self.kernels))
        self.derivatives.add_backward(imported, composite=False)
        imported.schema = own  # set last: the lookup in derivatives.yaml is without namespace
        return imported

    def launch(self, node: Node | None, imported: Imported) -> None:
        """``gen_opapi``: the outputs' shapes and dtypes, each under its name, and the aclnn function."""
        if node is None:
            return
        if not isinstance(node, Mapping):
            self.fault(Code.MT112, f"`gen_opapi` is a mapping, and this is a {node.kind}", node)
            return
        outputs = {
            name: value
            for name, (_, value) in node.entries.items()
            if isinstance(value, Mapping) and "size" in value.entries
        }
        rules = [_fake(value, imported.schema) for value in outputs.values()]
        functional = imported.schema.kind is opschema.SchemaKind.FUNCTIONAL
        carried = functional and len(rules) == len(imported.schema.returns) and None not in rules
        if carried:
            imported.fake = tuple(rule for rule in rules if rule is not None)
            imported.fake_span = node.span
        for name, (key, value) in node.entries.items():
            text = shown(value)
            if name == "exec":
                imported.notes.append(Note(f"exec: {text}", "an aclnn function is called in two steps", key.span))
            elif name not in outputs:
                imported.notes.append(Note(f"{name}: {text}", "a key of op-plugin's code generator", key.span))
            elif not carried:
                imported.notes.append(Note(f"{name}: {text}", "a C++ rule for the output", key.span))
            elif (names := outputs[name].get("name")) is not None:
                imported.notes.append(
                    Note(f"{name}: name: {shown(names)}", "dimensions have no names here", names.span)
                )


def _fake(node: Mapping, schema: opschema.Schema) -> dict[str, str] | None:
    """A rule for one output, None where it is C++."""
    size, dtype = node.get("size"), node.get("dtype")
    if not isinstance(size, Scalar) or not isinstance(dtype, Scalar) or set(node.entries) - {"size", "dtype", "name"}:
        return None
    tensors = [argument.name for argument in schema.arguments if str(argument.type) == "Tensor"]
    if size.value == dtype.value and size.value in tensors:
        return {"like": size.value}
    shape = _shape(size.value, tensors)
    own_dtype = f"{dtype.value}.dtype" if dtype.value in tensors else _DTYPES.get(dtype.value)
    return None if shape is None or own_dtype is None else {"shape": shape, "dtype": own_dtype}


def _shape(text: str, tensors: SequenceOf[str]) -> str | None:
    if text in tensors:
        return f"{text}.shape"
    if broadcast := _BROADCAST.fullmatch(text):
        return f"broadcast_shapes({broadcast[1]}.shape, {broadcast[2]}.shape)"
    if not text.startswith("{"):
        return None
    try:
        return to_expression(parse_formula(text))
    except (ExpressionError, ConversionError):
        return None
