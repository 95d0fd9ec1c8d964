"""The rules of ``mtcodegen lint``: each looks at one operator, and may know how to mend what it finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import opschema
from mtcodegen.check.lint_truth import truth
from mtcodegen.document.edit import Edit, remove_entry, remove_item
from mtcodegen.document.nodes import Mapping, Node, Scalar, Sequence
from mtcodegen.entries.composite import needs_fake
from mtcodegen.entries.formulas import every_formula, gradients, reads_in_python
from mtcodegen.entries.model import Formula, KernelSpec, Mindspore, OpSpec
from mtcodegen.entries.schemas import argument_span
from mtcodegen.entries.validate import to_python
from mtcodegen.expr import Call, Expr, Name, reads, walk
from mtcodegen.expr.nodes import Attribute
from mtcodegen.findings.codes import Code, Severity
from mtcodegen.findings.diagnostics import Diagnostic, Related
from mtcodegen.findings.source import Place, Span
from mtcodegen.system.values import dataclass

__all__ = ["RULES", "Finding", "Nodes"]


@dataclass(frozen=True)
class Finding:
    """What a rule found; ``edits`` mend it, none where that takes a person."""

    diagnostic: Diagnostic
    edits: tuple[Edit, ...] = ()


class Nodes:
    """A file's nodes by place: rules edit the text, and the model has only places."""

    def __init__(self, document: Node) -> None:
        self.document = document
        self._by_start = {node.start: node for node in _mappings(document)}

    def at(self, place: Place) -> Mapping:
        """The entry, or the part of one, that stands at a place."""
        return self._by_start[place.span.offset]


def _mappings(node: Node) -> Iterator[Mapping]:
    """All mappings of a document. No two have the same start, since a mapping starts with its first key."""
    if isinstance(node, Mapping):
        yield node
        for _, value in node.entries.values():
            yield from _mappings(value)
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from _mappings(item)


Rule = Callable[[OpSpec, Nodes], Iterator[Finding]]


def _finding(
    code: Code, message: str, span: Span, hint: str = "", edit: Edit | None = None, related: Iterable[Related] = ()
) -> Finding:
    diagnostic = Diagnostic(code, message, span, hint, Severity.WARNING, related=tuple(related))
    return Finding(diagnostic, () if edit is None else (edit,))


def _name_span(spec: OpSpec) -> Span:
    return spec.func.locate(0, len(spec.func.value.partition("(")[0]))


def _missing_doc(spec: OpSpec, nodes: Nodes) -> Iterator[Finding]:
    if "doc" not in spec.place and not spec.schema.name.startswith("_"):
        hint = "add `doc:`; `help()` and editors show it"
        yield _finding(Code.MT801, f"{spec.schema.qualname} has no `doc`", _name_span(spec), hint)


# ---------------------------------------------------------------- defaults


def _redundant(spec: OpSpec, nodes: Nodes) -> Iterator[Finding]:
    for place, key in _defaults_given(spec, nodes):
        edit = remove_entry(nodes.at(place), key)
        yield _finding(Code.MT802, f"`{key}` gives the default", place.key(key), "remove it", edit)


def _defaults_given(spec: OpSpec, nodes: Nodes) -> Iterator[tuple[Place, str]]:
    if "variants" in spec.place and spec.variants == ("function",):
        yield spec.place, "variants"
    if "tags" in spec.place and not spec.tags:
        yield spec.place, "tags"
    library = nodes.document.get("library") if isinstance(nodes.document, Mapping) else None
    for kernel in spec.kernels:
        node = nodes.at(kernel.place)
        abi, own = node.get("abi"), node.get("library")
        if isinstance(abi, Scalar) and abi.value == ("ascendc" if kernel.devices == ("npu",) else "c"):
            yield kernel.place, "abi"
        if isinstance(own, Scalar) and isinstance(library, Scalar) and own.value == library.value:
            yield kernel.place, "library"
    if "fake" not in spec.place:  # what the file says is no entry's
        return
    default = nodes.document.get("fake") if isinstance(nodes.document, Mapping) else None
    if default is not None and needs_fake(spec) and _same(nodes.at(spec.place).get("fake"), default):
        yield spec.place, "fake"
    else:
        yield from _fake_defaults(spec)


def _same(one: Node | None, other: Node) -> bool:
    return one is not None and to_python(one) == to_python(other)


def _fake_defaults(spec: OpSpec) -> Iterator[tuple[Place, str]]:
    tensors = [item for item in spec.schema.arguments if opschema.base_of(item.type).name == "Tensor"]
    if not tensors or not isinstance(tensors[0].type, opschema.BaseType):
        return
    for rule in spec.fakes:
        base = tensors[0].name
        if rule.like is not None:
            if not isinstance(rule.like.expr, Name):
                continue
            base = rule.like.expr.id
        for key, formula in (("dtype", rule.dtype), ("device", rule.device)):
            if formula is not None and formula.expr == Attribute(Name(base), key):
                yield rule.place, key


# ---------------------------------------------------------------- conditions


def _constant_conditions(spec: OpSpec, nodes: Nodes) -> Iterator[Finding]:
    for i, check in enumerate(spec.checks):
        yield from _constant(
            spec, check.condition, _without_check(nodes.at(spec.place), i), "is never called: it always fails"
        )
    for kernel in spec.kernels:
        if kernel.when is not None:
            yield from _constant(spec, kernel.when, remove_entry(nodes.at(kernel.place), "when"), "is never run")


def _constant(spec: OpSpec, condition: Formula, edit: Edit | None, otherwise: str) -> Iterator[Finding]:
    value = truth(condition.expr, spec.schema)
    if value is True:
        yield _finding(
            Code.MT803, "this always holds", condition.text.span, "remove it, or mend what it compares", edit
        )
    elif value is False:
        yield _finding(Code.MT804, f"this never holds, so that what it guards {otherwise}", condition.text.span)


def _without_check(entry: Mapping, index: int) -> Edit | None:
    checks = entry.get("check")
    if not isinstance(checks, Sequence) or len(checks.items) == 1:
        return remove_entry(entry, "check")
    return remove_item(checks, index)


def _repeated_checks(spec: OpSpec, nodes: Nodes) -> Iterator[Finding]:
    for i, check in enumerate(spec.checks):
        condition = check.condition
        first = next((item.condition for item in spec.checks[:i] if item.condition.expr == condition.expr), None)
        if first is not None:
            there = Related(first.text.span, "first checked here")
            edit = _without_check(nodes.at(spec.place), i)
            yield _finding(Code.MT808, "this is checked twice", condition.text.span, "remove it", edit, [there])


def _repeated_items(spec: OpSpec, nodes: Nodes) -> Iterator[Finding]:
    lists = [(spec.place, "tags"), (spec.place, "variants")]
    lists += [(kernel.place, key) for kernel in spec.kernels for key in ("device", "dtypes")]
    for place, key in lists:
        items = nodes.at(place).get(key)
        values = [item.value for item in items.items if isinstance(item, Scalar)] if isinstance(items, Sequence) else []
        for i, value in enumerate(values):
            if value in values[:i] and isinstance(items, Sequence):
                span = items.items[i].span
                there = Related(items.items[values.index(value)].span, "first given here")
                edit = remove_item(items, i)
                yield _finding(Code.MT809, f"`{value}` is given twice", span, "remove it", edit, [there])


# ---------------------------------------------------------------- kernels and arguments


def _dead_kernels(spec: OpSpec, nodes: Nodes) -> Iterator[Finding]:
    kernels = nodes.at(spec.place).get("kernels")
    for i, kernel in enumerate(spec.kernels):
        earlier = [_first_taking_all(spec, device, kernel, i) for device in kernel.devices]
        taken = [item for item in earlier if item is not None]
        if taken and len(taken) == len(earlier):
            places = dict.fromkeys(item.place for item in taken)
            there = [Related(place.span, "this kernel takes all that it would") for place in places]
            hint = "move it up, or narrow the one before it"
            edit = remove_item(kernels, i) if isinstance(kernels, Sequence) else None
            message = f"this kernel is never run on {' and '.join(dict.fromkeys(kernel.devices))}"
            yield _finding(Code.MT805, message, next(iter(kernel.place.keys.values())).span, hint, edit, there)


def _first_taking_all(spec: OpSpec, device: str, kernel: KernelSpec, position: int) -> KernelSpec | None:
    """An earlier kernel for ``device`` that fits whenever ``kernel`` does."""
    for other in spec.kernels[:position]:
        always = other.when is None or truth(other.when.expr, spec.schema) is True
        wider = not other.dtypes or (kernel.dtypes and set(kernel.dtypes) <= set(other.dtypes))
        if device in other.devices and always and wider:
            return other
    return None


def _unused_arguments(spec: OpSpec, nodes: Nodes) -> Iterator[Finding]:
    if not spec.kernels or reads_in_python(spec):
        return
    used = {node.id for formula in every_formula(spec) for node in walk(formula.expr) if isinstance(node, Name)}
    bodies = [kernel.body for kernel in spec.kernels]
    takes_tensors = any(isinstance(body, Mindspore) and body.args is None for body in bodies)
    out = {argument.name for argument in spec.schema.out_arguments}
    for argument in spec.schema.arguments:
        is_taken = takes_tensors and opschema.base_of(argument.type).name == "Tensor"
        if argument.name not in used | out and not is_taken and not argument.is_write:
            yield _finding(Code.MT806, f"nothing reads `{argument.name}`", argument_span(spec.func, argument.name))


# ---------------------------------------------------------------- what formulas save

# Operators that read only the shape (and dtype) of an argument, and what takes the shape itself.
_SHAPE_METHODS = {"view_as": "view", "reshape_as": "reshape", "expand_as": "expand"}
_LIKE = frozenset({"zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like"})


def _saves_too_much(spec: OpSpec, nodes: Nodes) -> Iterator[Finding]:
    whole: Counter[str] = Counter()
    loose: list[tuple[str, Formula, Call]] = []
    for formula in gradients(spec):
        whole.update(read.name for read in reads(formula.expr) if read.property is None)
        loose += [(name, formula, call) for name, call in _shape_readings(formula.expr)]
    only_shape = Counter(name for name, _, _ in loose)
    known = {argument.name for argument in spec.schema.arguments} | {"result"}
    for name, formula, call in loose:
        if name in known and whole[name] == only_shape[name]:
            span = formula.text.locate(call.offset, call.length)
            message = f"this saves all of `{name}`, of which only the shape is needed"
            edit, hint = _with_shape(name, formula, call)
            yield _finding(Code.MT807, message, span, hint, edit)


def _shape_readings(expr: Expr) -> Iterator[tuple[str, Call]]:
    for node in walk(expr):
        match node:
            case Call(function=Attribute(name=method), arguments=(Name(id=name),)) if method in _SHAPE_METHODS:
                yield name, node
            case Call(function=Name(id=function), arguments=(Name(id=name), *_)) if function in _LIKE:
                yield name, node


def _with_shape(name: str, formula: Formula, call: Call) -> tuple[Edit | None, str]:
    """The call with the shape in place of the tensor."""
    if not isinstance(call.function, Attribute):
        function = "zeros" if not isinstance(call.function, Name) else call.function.id.removesuffix("_like")
        return None, f"write `{function}({name}.shape, ..., dtype={name}.dtype, device={name}.device)`"
    method = _SHAPE_METHODS[call.function.name]
    hint = f"write `.{method}({name}.shape)`"
    start, end = call.function.name_offset, call.offset + call.length
    first, last = formula.text.locate(start), formula.text.locate(end - 1)
    text = formula.text.source.text[first.offset : last.offset + 1]
    as_written = "".join(text.split()) == f"{call.function.name}({name})"
    return (Edit(first.offset, last.offset + 1, f"{method}({name}.shape)") if as_written else None), hint


RULES: tuple[Rule, ...] = (
    _missing_doc,
    _redundant,
    _constant_conditions,
    _dead_kernels,
    _unused_arguments,
    _saves_too_much,
    _repeated_checks,
    _repeated_items,
)
