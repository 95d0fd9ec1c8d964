"""Gradients: one for every differentiable argument, no more and no fewer."""

from __future__ import annotations

from dataclasses import replace

import opschema
from mtcodegen.diagnostics import suggest
from mtcodegen.expr import OPTIONAL_TENSOR, Purpose, ValueType, value_type
from mtcodegen.model import Backward, Derivative, OpSpec
from mtcodegen.resolve_kernels import is_composite
from mtcodegen.scopes import OpScope
from mtcodegen.source import Span

__all__ = ["resolve_backward"]


def resolve_backward(spec: OpSpec, scope: OpScope) -> OpSpec:
    """Check the gradients and their formulas."""
    differentiable = _differentiable(spec.schema)
    backward = spec.backward
    if backward is None:
        if differentiable and _has_tensor_output(spec.schema) and not is_composite(spec) and spec.kernels:
            _missing(spec, scope, differentiable)
        return spec
    key = spec.node.entries["backward"][0].span
    if spec.schema.kind is opschema.SchemaKind.OUT:
        scope.fault("MT416", "an out variant has no gradient", key, "remove `backward`")
    elif not differentiable:
        scope.fault(
            "MT411", f"{spec.schema.qualname} has no tensor argument to differentiate", key, "remove `backward`"
        )
    elif not backward.marker and backward.function is None:
        return replace(spec, backward=_resolve(backward, scope, differentiable, key))
    return spec


def _differentiable(schema: opschema.Schema) -> list[str]:
    """Arguments that hold tensors, but for those that only receive a result."""
    out = {argument.name for argument in schema.out_arguments}
    return [
        argument.name
        for argument in schema.arguments
        if opschema.base_of(argument.type).name == "Tensor" and argument.name not in out
    ]


def _has_tensor_output(schema: opschema.Schema) -> bool:
    return schema.kind is not opschema.SchemaKind.OUT and any(
        opschema.base_of(ret.type).name == "Tensor" for ret in schema.returns
    )


def _missing(spec: OpSpec, scope: OpScope, differentiable: list[str]) -> None:
    arguments = ", ".join(f"`{name}`" for name in differentiable)
    hint = "add `backward:` with formulas, or `backward: not_differentiable` or `not_implemented`"
    message = f"{spec.schema.qualname} has no gradient for {arguments}"
    scope.fault("MT414", message, scope.name_span, hint)


def _resolve(backward: Backward, scope: OpScope, differentiable: list[str], key: Span) -> Backward:
    known = {argument.name: argument for argument in scope.schema.arguments}
    given: dict[str, Derivative] = {}
    for derivative in backward.derivatives:
        for name in derivative.arguments:
            span = _name_span(derivative, name)
            if name not in known:
                hint = suggest(name, differentiable)
                scope.fault("MT412", f"`{name}` is not an argument of {_title(scope)}", span, hint)
            elif name not in differentiable:
                kind = known[name].type
                scope.fault("MT411", f"`{name}` is {kind}, which has no gradient", span, "remove it")
            elif name in given:
                hint = f"first given on line {given[name].key.line}"
                scope.fault("MT413", f"a second gradient for `{name}`", span, hint)
            given.setdefault(name, derivative)
    for name in differentiable:
        if name not in given:
            hint = f"add `{name}: <formula>` or `{name}: not_differentiable`"
            scope.fault("MT410", f"there is no gradient for `{name}`", key, hint)
    return replace(backward, derivatives=tuple(_resolve_formula(item, scope) for item in backward.derivatives))


def _title(scope: OpScope) -> str:
    return scope.schema.qualname.partition(".")[0]


def _name_span(derivative: Derivative, name: str) -> Span:
    start = derivative.key.value.find(name)
    return derivative.key.locate(max(start, 0), len(name)) if name else derivative.key.span


def _resolve_formula(derivative: Derivative, scope: OpScope) -> Derivative:
    if derivative.formula is None:
        return derivative
    types = {argument.name: value_type(argument.type) for argument in scope.schema.arguments}
    expected = [_gradient_type(types.get(name)) for name in derivative.arguments]
    wanted = expected[0] if len(expected) == 1 else ValueType.tuple_of(expected)
    return replace(derivative, formula=scope.formula(derivative.formula, Purpose.BACKWARD, wanted))


def _gradient_type(type_: ValueType | None) -> ValueType:
    """A tensor or None for a tensor, a list of them for a list."""
    return OPTIONAL_TENSOR if type_ is None or type_.elements == () else ValueType.list_of(OPTIONAL_TENSOR)
