"""Gradients: one for every differentiable argument, no more and no fewer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import opschema
from mtcodegen.check.scopes import OpScope
from mtcodegen.entries.composite import is_composite
from mtcodegen.entries.model import Backward, Derivative, OpSpec
from mtcodegen.entries.schemas import is_tensor_list
from mtcodegen.expr import OPTIONAL_TENSOR, Expr, Literal, Name, Purpose, ValueType, gradient_names, walk
from mtcodegen.expr.nodes import Index
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import Related, suggest
from mtcodegen.findings.source import Text

__all__ = ["resolve_backward"]


def resolve_backward(spec: OpSpec, scope: OpScope) -> Backward | None:
    """Check the gradients and their formulas."""
    backward = spec.backward
    _check_outputs(spec, scope)
    if backward is None:
        if spec.kernels and not is_composite(spec) and _has_tensor_output(spec.schema):
            _check_missing(spec, scope)
        return None
    differentiable = _differentiable(spec.schema)
    key = backward.key
    if spec.schema.kind is opschema.SchemaKind.OUT:
        scope.fault(Code.MT416, "an out variant has no gradient", key.span, "remove `backward`")
    elif not differentiable:
        scope.fault(
            Code.MT411, f"{spec.schema.qualname} has no tensor argument to differentiate", key.span, "remove `backward`"
        )
    elif not backward.marker and backward.function is None:
        return _resolve(backward, scope, differentiable, key)
    return backward


def _check_outputs(spec: OpSpec, scope: OpScope) -> None:
    """`output_differentiability` has one entry an output, says no somewhere, and no formula contradicts it."""
    flags = spec.output_differentiability
    if not flags:
        return
    span = spec.place.key("output_differentiability")
    if len(flags) != len(spec.schema.returns):
        entries = "1 entry" if len(flags) == 1 else f"{len(flags)} entries"
        outputs = "1 output" if len(spec.schema.returns) == 1 else f"{len(spec.schema.returns)} outputs"
        scope.fault(Code.MT424, f"`output_differentiability` has {entries} for {outputs}", span)
    elif spec.backward is None or spec.backward.marker:
        hint = "remove it, or give `backward` formulas"
        scope.fault(Code.MT425, "`output_differentiability` changes nothing: there are no formulas", span, hint)
    elif all(flags):
        scope.fault(Code.MT425, "`output_differentiability` changes nothing: it is true for all", span, "remove it")
    elif not any(flags):
        scope.fault(Code.MT426, "no output is differentiable", span, "write `backward: not_differentiable`")
    else:
        _check_unused(spec, scope)


def _check_unused(spec: OpSpec, scope: OpScope) -> None:
    """Report formulas that read the gradient of an output without one: its value would be None."""
    positions = gradient_names(spec.schema)
    arguments = {argument.name for argument in spec.schema.arguments}
    for derivative in spec.backward.derivatives if spec.backward is not None else ():
        given = () if derivative.formula is None else (derivative.formula, *derivative.by_device.values())
        for formula, node in ((item, node) for item in given for node in walk(item.expr)):
            position = _gradient_read(node, positions, arguments)
            if position is not None and not spec.output_differentiability[position]:
                message = f"output {position} has no gradient: `output_differentiability` says so"
                scope.fault(Code.MT417, message, formula.text.locate(node.offset, node.length))


def _gradient_read(node: Expr, positions: Mapping[str, int], arguments: set[str]) -> int | None:
    """The output whose gradient a node names."""
    if isinstance(node, Index) and node.value == Name("grads") and isinstance(node.index, Literal):
        index = node.index.value
        return index if isinstance(index, int) and 0 <= index < max(positions.values()) + 1 else None
    return positions.get(node.id) if isinstance(node, Name) and node.id not in arguments else None


def _differentiable(schema: opschema.Schema) -> list[str]:
    """Arguments that hold tensors, but for those that only receive a result."""
    return [
        argument.name
        for argument in schema.arguments
        if opschema.base_of(argument.type).name == "Tensor" and not argument.is_out
    ]


def _has_tensor_output(schema: opschema.Schema) -> bool:
    return any(opschema.base_of(ret.type).name == "Tensor" for ret in schema.returns) and (
        schema.kind is not opschema.SchemaKind.OUT
    )


def _check_missing(spec: OpSpec, scope: OpScope) -> None:
    arguments = ", ".join(f"`{name}`" for name in _differentiable(spec.schema))
    if arguments:
        hint = "add `backward:` with formulas, or `backward: not_differentiable` or `not_implemented`"
        message = f"{spec.schema.qualname} has no gradient for {arguments}"
        scope.fault(Code.MT414, message, scope.name_span, hint)


_FORWARD = ("result", *(f"result{i}" for i in range(10)))  # derivatives.yaml's keys for a formula of the output


def _resolve(backward: Backward, scope: OpScope, differentiable: list[str], key: Text) -> Backward:
    known = {argument.name: argument for argument in scope.schema.arguments}
    given: dict[str, Derivative] = {}
    for derivative in backward.derivatives:
        for name in derivative.arguments:
            if name not in differentiable:
                _refuse_name(name, known.get(name), derivative, scope, differentiable)
            elif name in given:
                first = Related(given[name].key.locate_item(name), "the first is here")
                message, span = f"a second gradient for `{name}`", derivative.key.locate_item(name)
                scope.fault(Code.MT413, message, span, "remove one of them", first)
            given.setdefault(name, derivative)
    for name in differentiable:
        if name not in given:
            hint = f"add `{name}: <formula>` or `{name}: not_differentiable`"
            scope.fault(Code.MT410, f"there is no gradient for `{name}`", key.span, hint)
    derivatives = tuple([_resolve_formula(item, scope, known, differentiable) for item in backward.derivatives])
    return backward if derivatives == backward.derivatives else replace(backward, derivatives=derivatives)


def _refuse_name(
    name: str, argument: opschema.Argument | None, derivative: Derivative, scope: OpScope, differentiable: list[str]
) -> None:
    """Note why ``name`` has no gradient."""
    span = derivative.key.locate_item(name)
    if argument is not None:
        scope.fault(Code.MT411, f"`{name}` is {argument.type}, which has no gradient", span, "remove it")
    elif name in _FORWARD:
        hint = "move it to `forward`: `backward` has the gradients of arguments"
        scope.fault(Code.MT418, "a forward-mode formula stands in `backward`", span, hint)
    else:
        hint = suggest(name, differentiable)
        scope.fault(Code.MT412, f"`{name}` is not an argument of {scope.schema.qualname}", span, hint)


def _resolve_formula(
    derivative: Derivative, scope: OpScope, known: Mapping[str, opschema.Argument], differentiable: list[str]
) -> Derivative:
    if derivative.formula is None or (derivative.key.value in _FORWARD and derivative.key.value not in known):
        return derivative
    wanted: ValueType | None = None
    if all(name in differentiable for name in derivative.arguments):  # a wrong name is reported already
        expected = [_gradient_type(known[name].type) for name in derivative.arguments]
        wanted = expected[0] if len(expected) == 1 else ValueType.tuple_of(expected)
    by_device = {
        device: scope.formula(formula, Purpose.BACKWARD, wanted) for device, formula in derivative.by_device.items()
    }
    formula = scope.formula(derivative.formula, Purpose.BACKWARD, wanted)
    if formula is derivative.formula and not by_device:
        return derivative
    return Derivative(derivative.key, derivative.arguments, formula, derivative.marker, by_device)


_OPTIONAL_TENSORS = ValueType.list_of(OPTIONAL_TENSOR)


def _gradient_type(type_: opschema.Type) -> ValueType:
    """A tensor or None for a tensor, a list of them for a list, which may be None where the argument may."""
    if not is_tensor_list(type_):
        return OPTIONAL_TENSOR
    return replace(_OPTIONAL_TENSORS, optional=isinstance(type_, opschema.OptionalType))
