"""The rules of ``mtcodegen lint``: each looks at one operator, and may know how to mend what it finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import opschema
from mtcodegen.check.lint_truth import truth
from mtcodegen.document.edit import Edit, remove_entry, remove_item
from mtcodegen.document.nodes import Mapping, Node, Scalar, Sequence
from mtcodegen.entries.formulas import every_formula, gradients, reads_in_python
from mtcodegen.entries.model import Formula, KernelSpec, Mindspore, OpSpec
from mtcodegen.entries.schemas import argument_span
from mtcodegen.expr import Call, Expr, Name, reads, walk
from mtcodegen.expr.nodes import Attribute
from mtcodegen.findings.codes import Code, Severity
from mtcodegen.findings.diagnostics import Diagnostic, Related
from mtcodegen.findings.source import Span

__all__ = ["RULES", "Finding"]


@dataclass(frozen=True)
class Finding:
    """What a rule found; ``edits`` mend it, none where that takes a person."""

    diagnostic: Diagnostic
    edits: tuple[Edit, ...] = ()


Rule = Callable[[OpSpec, Node], Iterator[Finding]]


def _finding(
    code: Code, message: str, span: Span, hint: str = "", edit: Edit | None = None, related: Iterable[Related] = ()
) -> Finding:
    diagnostic = Diagnostic(code, message, span, hint, Severity.WARNING, related=tuple(related))
    return Finding(diagnostic, () if edit is None else (edit,))


def _name_span(spec: OpSpec) -> Span:
    return spec.func.locate(0, len(spec.func.value.partition("(")[0]))


def _key_span(node: Mapping, key: str) -> Span:
    return node.entries[key][0].span


def _missing_doc(spec: OpSpec, document: Node) -> Iterator[Finding]:
    if "doc" not in spec.node.entries and not spec.schema.name.startswith("_"):
        hint = "add `doc:`; `help()` and editors show it"
        yield _finding(Code.MT801, f"{spec.schema.qualname} has no `doc`", _name_span(spec), hint)


# ---------------------------------------------------------------- defaults


def _redundant(spec: OpSpec, document: Node) -> Iterator[Finding]:
    for node, key in _defaults_given(spec, document):
        edit = remove_entry(node, key)
        yield _finding(Code.MT802, f"`{key}` gives the default", _key_span(node, key), "remove it", edit)


def _defaults_given(spec: OpSpec, document: Node) -> Iterator[tuple[Mapping, str]]:
    entry = spec.node
    if "variants" in entry.entries and spec.variants == ("function",):
        yield entry, "variants"
    tags = entry.get("tags")
    if isinstance(tags, Sequence) and not tags.items:
        yield entry, "tags"
    library = document.get("library") if isinstance(document, Mapping) else None
    for kernel in spec.kernels:
        abi, own = kernel.node.get("abi"), kernel.node.get("library")
        if isinstance(abi, Scalar) and abi.value == ("ascendc" if kernel.devices == ("npu",) else "c"):
            yield kernel.node, "abi"
        if isinstance(own, Scalar) and isinstance(library, Scalar) and own.value == library.value:
            yield kernel.node, "library"
    yield from _fake_defaults(spec)


def _fake_defaults(spec: OpSpec) -> Iterator[tuple[Mapping, str]]:
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
                yield rule.node, key


# ---------------------------------------------------------------- conditions


def _constant_conditions(spec: OpSpec, document: Node) -> Iterator[Finding]:
    for i, check in enumerate(spec.checks):
        yield from _constant(spec, check.condition, _without_check(spec, i), "is never called: it always fails")
    for kernel in spec.kernels:
        if kernel.when is not None:
            yield from _constant(spec, kernel.when, remove_entry(kernel.node, "when"), "is never run")


def _constant(spec: OpSpec, condition: Formula, edit: Edit | None, otherwise: str) -> Iterator[Finding]:
    value = truth(condition.expr, spec.schema)
    if value is True:
        yield _finding(
            Code.MT803, "this always holds", condition.node.span, "remove it, or mend what it compares", edit
        )
    elif value is False:
        yield _finding(Code.MT804, f"this never holds, so that what it guards {otherwise}", condition.node.span)


def _without_check(spec: OpSpec, index: int) -> Edit | None:
    node = spec.node.get("check")
    only = not isinstance(node, Sequence) or len(node.items) == 1
    return remove_entry(spec.node, "check") if only else remove_item(node, index)  # type: ignore[arg-type]


def _repeated_checks(spec: OpSpec, document: Node) -> Iterator[Finding]:
    for i, check in enumerate(spec.checks):
        condition = check.condition
        first = next((item.condition for item in spec.checks[:i] if item.condition.expr == condition.expr), None)
        if first is not None:
            there = Related(first.node.span, "first checked here")
            yield _finding(
                Code.MT808, "this is checked twice", condition.node.span, "remove it", _without_check(spec, i), [there]
            )


def _repeated_items(spec: OpSpec, document: Node) -> Iterator[Finding]:
    lists = [(spec.node, "tags"), (spec.node, "variants")]
    lists += [(kernel.node, key) for kernel in spec.kernels for key in ("device", "dtypes")]
    for node, key in lists:
        items = node.get(key)
        values = [item.value for item in items.items if isinstance(item, Scalar)] if isinstance(items, Sequence) else []
        for i, value in enumerate(values):
            if value in values[:i] and isinstance(items, Sequence):
                span = items.items[i].span
                there = Related(items.items[values.index(value)].span, "first given here")
                edit = remove_item(items, i)
                yield _finding(Code.MT809, f"`{value}` is given twice", span, "remove it", edit, [there])


# ---------------------------------------------------------------- kernels and arguments


def _dead_kernels(spec: OpSpec, document: Node) -> Iterator[Finding]:
    kernels = spec.node.get("kernels")
    for i, kernel in enumerate(spec.kernels):
        earlier = [_first_taking_all(spec, device, kernel, i) for device in kernel.devices]
        taken = [item for item in earlier if item is not None]
        if taken and len(taken) == len(earlier):
            nodes = dict.fromkeys(item.node for item in taken)
            there = [Related(node.span, "this kernel takes all that it would") for node in nodes]
            hint = "move it up, or narrow the one before it"
            edit = remove_item(kernels, i) if isinstance(kernels, Sequence) else None
            message = f"this kernel is never run on {' and '.join(dict.fromkeys(kernel.devices))}"
            yield _finding(Code.MT805, message, next(iter(kernel.node.entries.values()))[0].span, hint, edit, there)


def _first_taking_all(spec: OpSpec, device: str, kernel: KernelSpec, position: int) -> KernelSpec | None:
    """An earlier kernel for ``device`` that fits whenever ``kernel`` does."""
    for other in spec.kernels[:position]:
        always = other.when is None or truth(other.when.expr, spec.schema) is True
        wider = not other.dtypes or (kernel.dtypes and set(kernel.dtypes) <= set(other.dtypes))
        if device in other.devices and always and wider:
            return other
    return None


def _unused_arguments(spec: OpSpec, document: Node) -> Iterator[Finding]:
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


def _saves_too_much(spec: OpSpec, document: Node) -> Iterator[Finding]:
    whole: Counter[str] = Counter()
    loose: list[tuple[str, Formula, Call]] = []
    for formula in gradients(spec):
        whole.update(read.name for read in reads(formula.expr) if read.property is None)
        loose += [(name, formula, call) for name, call in _shape_readings(formula.expr)]
    only_shape = Counter(name for name, _, _ in loose)
    known = {argument.name for argument in spec.schema.arguments} | {"result"}
    for name, formula, call in loose:
        if name in known and whole[name] == only_shape[name]:
            span = formula.node.locate(call.offset, call.length)
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
    first, last = formula.node.locate(start), formula.node.locate(end - 1)
    text = formula.node.source.text[first.offset : last.offset + 1]
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
