"""Examples: a value of its type for each argument, and an expected value for each output."""

from __future__ import annotations

from dataclasses import replace

import opschema
from mtcodegen.check.scopes import OpScope
from mtcodegen.entries.model import Example, Formula, OpSpec, Sample
from mtcodegen.expr import Expr, Literal, Purpose, Unread, value_type
from mtcodegen.expr.nodes import Unary
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import suggest

__all__ = ["is_nested_numbers", "resolve_examples"]


def resolve_examples(spec: OpSpec, scope: OpScope) -> OpSpec:
    """Check every example."""
    if not spec.examples:
        return spec
    return replace(spec, examples=tuple(_resolve(example, scope) for example in spec.examples))


def _resolve(example: Example, scope: OpScope) -> Example:
    arguments = {argument.name: argument for argument in scope.schema.arguments}
    values = {}
    for name, sample in example.arguments.items():
        if name in arguments:
            values[name] = _sample(sample, arguments[name].type, scope, Purpose.SAMPLE)
        else:
            message = f"`{name}` is not an argument of {scope.schema.qualname}"
            scope.fault(Code.MT141, message, example.names.key(name), suggest(name, arguments))
    for argument in arguments.values():
        if argument.name not in example.arguments and not argument.has_default:
            scope.fault(
                Code.MT140, f"the example has no `{argument.name}`", example.place.span, f"add `{argument.name}:`"
            )
    returns = scope.schema.returns
    if example.expected and len(example.expected) != len(returns):
        span = example.place.key("expect")
        count = f"{len(example.expected)} value{'' if len(example.expected) == 1 else 's'}"
        scope.fault(Code.MT142, f"{count} for {len(returns)} outputs", span, "give a list with one an output")
        return replace(example, arguments=values)
    pairs = zip(example.expected, returns, strict=False)
    expected = tuple(_sample(sample, ret.type, scope, Purpose.EXPECT) for sample, ret in pairs)
    return replace(example, arguments=values, expected=expected)


def _sample(sample: Sample, type_: opschema.Type, scope: OpScope, purpose: Purpose) -> Sample:
    if isinstance(sample, Formula):
        return scope.formula(sample, purpose, value_type(type_))
    bare = type_.elem if isinstance(type_, opschema.OptionalType) else type_
    if isinstance(bare, opschema.ListType):
        return replace(sample, items=tuple(_sample(item, bare.elem, scope, purpose) for item in sample.items))
    if opschema.base_of(bare).name != "Tensor":
        scope.fault(Code.MT143, f"a list is not {bare}", sample.span)
    elif not is_nested_numbers(sample):
        scope.fault(
            Code.MT144, "not numbers in lists of one length at each level", sample.span, "write `[[1, 2], [3, 4]]`"
        )
    return sample


def is_nested_numbers(sample: Sample) -> bool:
    """Whether a list is the values of a tensor."""
    return _shape(sample) is not None


def _shape(sample: Sample) -> tuple[int, ...] | None:
    """The shape of nested numbers; None for anything else."""
    if isinstance(sample, Formula):
        return () if _may_be_number(sample.expr) else None
    shapes = {_shape(item) for item in sample.items}
    shape = shapes.pop() if len(shapes) == 1 else () if not shapes else None
    return None if shape is None else (len(sample.items), *shape)


def _may_be_number(expr: Expr) -> bool:
    literal = expr.operand if isinstance(expr, Unary) else expr
    return isinstance(expr, Unread) or (isinstance(literal, Literal) and isinstance(literal.value, bool | int | float))
