"""derivatives.yaml: every entry with its formulas, as values."""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Mapping as MappingOf
from enum import Enum
from functools import cached_property

import opschema
from mtcodegen.document.nodes import Mapping, Node, Scalar
from mtcodegen.expr.errors import ExpressionError
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import Diagnostic, Related, suggest
from mtcodegen.findings.source import Place, Text
from mtcodegen.importer.pytorch.entries import EntryReader, part_span, split_names
from mtcodegen.importer.pytorch.native import NativeFunction
from mtcodegen.importer.pytorch.nodes import CppExpr
from mtcodegen.importer.pytorch.parser import parse_formula
from mtcodegen.importer.pytorch.reads import reads
from mtcodegen.importer.pytorch.scope import output_names
from mtcodegen.system.values import dataclass

__all__ = ["Derivatives", "Formula", "FormulaKind", "Variant", "read_derivatives"]

_RESULT = re.compile(r"result(\d*)")
_AUTOGRAD_KEY = re.compile(
    r"Default|Autograd(?:CPU|CUDA|HIP|XLA|MTIA|MPS|IPU|XPU|HPU|VE|Lazy|Meta|MAIA|PrivateUse[123]|NestedTensor)"
)
_AUTOGRAD_KEYS = (
    "Default",
    "AutogradCPU",
    "AutogradCUDA",
    "AutogradMPS",
    "AutogradNestedTensor",
    "AutogradPrivateUse1",
)


class FormulaKind(Enum):
    """What a formula is for."""

    BACKWARD = "backward"
    FORWARD = "forward"
    NON_DIFFERENTIABLE = "non_differentiable"
    AUTO_LINEAR = "auto_linear"
    AUTO_ELEMENT_WISE = "auto_element_wise"


@dataclass(frozen=True, eq=False)
class Formula:
    """The gradient of the arguments ``names``, or the tangent of the outputs ``names``; a marker has no ``expr``."""

    kind: FormulaKind
    names: tuple[str, ...]
    key: Text
    text: Text
    expr: CppExpr | None = None


@dataclass(frozen=True, eq=False)
class Variant:
    """The formulas for one dispatch key; ``Default`` is for all."""

    key: str
    formulas: tuple[Formula, ...]

    def of(self, *kinds: FormulaKind) -> tuple[Formula, ...]:
        """The formulas of some kinds."""
        return tuple(formula for formula in self.formulas if formula.kind in kinds)

    @cached_property
    def differentiable(self) -> tuple[str, ...]:
        """The arguments with a gradient formula."""
        return tuple(name for formula in self.of(FormulaKind.BACKWARD) for name in formula.names)


@dataclass(frozen=True, eq=False)
class Derivatives:
    """One entry. ``output_differentiability`` is empty where every output is; or there is a ``condition``."""

    place: Place
    name: Text
    schema: opschema.Schema
    variants: tuple[Variant, ...]
    output_differentiability: tuple[bool, ...] = ()
    condition: tuple[Text, CppExpr] | None = None

    @cached_property
    def differentiable_outputs(self) -> tuple[bool, ...]:
        """For every output whether it is differentiable; those that the entry does not name are not.

        Where nothing is said, formulas that read `grad` are about the first tensor alone, as in PyTorch.
        """
        count = len(self.schema.returns)
        if count > 1 and not self.output_differentiability and self._reads_grad():
            tensors = [i for i, ret in enumerate(self.schema.returns) if opschema.base_of(ret.type).name == "Tensor"]
            return tuple(i in tensors[:1] for i in range(count))
        flags = self.output_differentiability or (True,) * count
        return (*flags, *(False,) * (count - len(flags)))

    def _reads_grad(self) -> bool:
        formulas = [formula for variant in self.variants for formula in variant.of(FormulaKind.BACKWARD)]
        return any(name == "grad" for formula in formulas if formula.expr for name, _, _ in reads(formula.expr))


def read_derivatives(
    document: Node | None, functions: Iterable[NativeFunction] | None = None
) -> tuple[list[Derivatives], list[Diagnostic]]:
    """The entries of a file in the form of derivatives.yaml; names in their formulas are not looked up yet.

    Entries are for ``functions``; where that is None, for operators that are declared elsewhere.
    """
    reader = _Reader(functions)
    found = [reader.entry(item) for item in reader.items(document, "derivatives.yaml")]
    entries = [item for item in found if item is not None]
    first: dict[str, Derivatives] = {}
    for entry in entries:
        name = entry.schema.qualname
        if first.setdefault(name, entry) is not entry:
            reader.duplicate(entry.name, name, first[name].name)
    return entries, reader.diagnostics


class _Reader(EntryReader):
    def __init__(self, functions: Iterable[NativeFunction] | None) -> None:
        super().__init__()
        self.schemas: dict[str, NativeFunction] | None = None
        self.made: set[str] = set()  # operators that `autogen` asks for: their schemas follow from the entry's
        if functions is not None:
            self.schemas = {function.func.value: function for function in functions}
            self.made = {name for function in self.schemas.values() for name in function.autogen}

    def entry(self, node: Mapping) -> Derivatives | None:
        name = self.scalar(node, "name")
        if name is None:
            self.fault(Code.MT111, "`name` is missing", node, "it is the schema of the operator")
            return None
        schema = self.declared_schema(name)
        if schema is None:
            return None
        flags, condition = self.output_differentiability(node.get("output_differentiability"), schema)
        dispatch = node.get("dispatch")
        if isinstance(dispatch, Mapping):
            for key, (place, _) in node.entries.items():
                if key not in ("name", "dispatch", "output_differentiability"):
                    self.fault(Code.MT115, f"`{key[:60]}` stands beside `dispatch`", place, "put it under `Default`")
            variants = tuple(self.dispatched(key, value, schema) for key, value in dispatch.entries.values())
        else:
            if dispatch is not None:
                self.fault(Code.MT112, f"`dispatch` is a mapping, and this is a {dispatch.kind}", dispatch)
            variants = (Variant("Default", self.formulas(node, schema)),)
        return Derivatives(node.place, name, schema, variants, flags, condition)

    def declared_schema(self, name: Scalar) -> opschema.Schema | None:
        if self.schemas is None:
            return self.schema(name)
        function = self.schemas.get(name.value)
        if function is not None:
            return function.schema
        schema = self.schema(name)
        if schema is not None and schema.qualname in self.made:
            return schema
        if schema is not None:
            operators = {item.schema.qualname: text for text, item in self.schemas.items()}
            hint = suggest(schema.qualname, operators)
            if schema.qualname in operators:
                hint = f"it is declared as `{operators[schema.qualname]}`"
            length = len(schema.qualname)
            message = f"`{schema.qualname}` is not declared with this schema"
            self.diagnostics.append(Diagnostic(Code.MT601, message, name.locate(0, length), hint))
        return None

    def dispatched(self, key: Scalar, value: Node, schema: opschema.Schema) -> Variant:
        if not _AUTOGRAD_KEY.fullmatch(key.value):
            hint = suggest(key.value, _AUTOGRAD_KEYS)
            self.fault(Code.MT113, f"`{key.value[:60]}` is not a dispatch key of autograd", key, hint)
        if not isinstance(value, Mapping):
            self.fault(Code.MT112, f"the formulas of a dispatch key are a mapping, and this is a {value.kind}", value)
            return Variant(key.value, ())
        return Variant(key.value, self.formulas(value, schema))

    def formulas(self, node: Mapping, schema: opschema.Schema) -> tuple[Formula, ...]:
        found: list[Formula] = []
        seen: dict[str, Scalar] = {}
        arguments = {argument.name: argument for argument in schema.arguments}
        outputs = output_names(schema)
        for name, (key, value) in node.entries.items():
            if name in ("name", "dispatch", "output_differentiability"):
                continue
            formula = self.formula(key, value, schema, arguments, outputs)
            if formula is None:
                continue
            for part in formula.names:
                if part in seen:
                    first = Related(part_span(seen[part], part), "the first is here")
                    self.fault_in(key, Code.MT413, f"two formulas for `{part}`", part, "remove one of them", first)
                seen.setdefault(part, key)
            found.append(formula)
        return tuple(found)

    def formula(
        self,
        key: Scalar,
        value: Node,
        schema: opschema.Schema,
        arguments: MappingOf[str, opschema.Argument],
        outputs: list[str],
    ) -> Formula | None:
        if not isinstance(value, Scalar):
            self.fault(Code.MT112, f"a formula is a text, and this is a {value.kind}", value)
            return None
        names = split_names(key.value)
        backward = names[0] in arguments
        known = arguments if backward else outputs
        unknown = [name for name in names if name not in known]
        for name in unknown:
            self.unknown_key(name, key, [*arguments], outputs, schema)
        kind = _kind(value.value.strip(), backward)
        if kind is not FormulaKind.BACKWARD and kind is not FormulaKind.FORWARD:
            return None if unknown else Formula(kind, names, key, value)
        expr = self.expression(value)
        gradients = [self.has_gradient(arguments[name], key) for name in names if name in arguments] if backward else []
        return None if unknown or expr is None or not all(gradients) else Formula(kind, names, key, value, expr)

    def has_gradient(self, argument: opschema.Argument, key: Scalar) -> bool:
        if opschema.base_of(argument.type).name == "Tensor":
            return True
        name = argument.name
        self.fault_in(key, Code.MT411, f"`{name}` is {argument.type}, and only tensors have gradients", name)
        return False

    def unknown_key(
        self, name: str, key: Scalar, arguments: list[str], outputs: list[str], schema: opschema.Schema
    ) -> None:
        message = f"`{name[:60]}` is neither an argument nor an output of {schema.qualname}"
        hint = suggest(name, [*arguments, *outputs, "dispatch", "output_differentiability"])
        if name in arguments or name in outputs:
            message, hint = f"`{key.value[:60]}` names arguments and outputs", "a formula is for one or the other"
        elif _RESULT.fullmatch(name) and outputs:
            hint = f"the outputs are `{'`, `'.join(outputs)}`"
        self.fault_in(key, Code.MT412, message, name, hint)

    def expression(self, value: Scalar) -> CppExpr | None:
        try:
            return parse_formula(value.value)
        except ExpressionError as error:
            span = value.locate(error.offset, error.length)
            self.diagnostics.append(Diagnostic(error.code, error.message, span, error.hint or ""))
            return None

    def output_differentiability(
        self, node: Node | None, schema: opschema.Schema
    ) -> tuple[tuple[bool, ...], tuple[Scalar, CppExpr] | None]:
        flags: list[bool] = []
        items = self.scalars(node, "output_differentiability")
        count = len(schema.returns)
        for item in items[count:]:
            message = f"{schema.qualname} has {count} output{'' if count == 1 else 's'}, and this is one more"
            self.fault(Code.MT424, message, item)
        for item in items[:count]:
            word = item.value.lower() if not item.style else ""
            if word in ("true", "false"):
                flags.append(word == "true")
            elif count == 1 and len(items) == 1:
                expr = self.expression(item)
                return (), None if expr is None else (item, expr)
            else:
                message = f"`output_differentiability` is `True` or `False`, and not `{item.value[:60]}`"
                self.fault(Code.MT112, message, item)
        return tuple(flags), None


_MARKERS = {"auto_linear": FormulaKind.AUTO_LINEAR, "auto_element_wise": FormulaKind.AUTO_ELEMENT_WISE}


def _kind(text: str, backward: bool) -> FormulaKind:
    if backward:
        return FormulaKind.NON_DIFFERENTIABLE if text.lower() == "non_differentiable" else FormulaKind.BACKWARD
    return _MARKERS.get(text, FormulaKind.FORWARD)
