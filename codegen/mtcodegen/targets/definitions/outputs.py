"""What a definition returns: which outputs are allocated how, and which are arguments."""

from __future__ import annotations

from collections.abc import Sequence, Set

from mtcodegen.entries.model import Compute, FakeRule, Formula, Launch, OpSpec, Variant
from mtcodegen.entries.schemas import aliased_argument, fresh_returns
from mtcodegen.expr import Call, Name
from mtcodegen.expr.nodes import Attribute
from mtcodegen.targets.definitions import views
from mtcodegen.targets.definitions.scope import Scope

__all__ = ["is_composed", "made_targets", "returns"]


def is_composed(spec: OpSpec) -> bool:
    """Whether the operator is one expression over other operators, with no kernels for devices and no fake rule."""
    made = any(isinstance(kernel.body, Compute) for kernel in spec.kernels)
    return made and not any(kernel.devices for kernel in spec.kernels) and not spec.fakes


def returns(scope: Scope) -> views.Call | None:
    """``op.returns(...)``, once it is known which outputs are read."""
    spec, declared = scope.spec, scope.schema.returns
    made = any(isinstance(kernel.body, Variant) for kernel in spec.kernels)
    if is_composed(spec) or made or not declared:
        return None
    read = _read(scope)
    known = bool(spec.fakes) or not fresh_returns(scope.schema)
    launched = any(isinstance(kernel.body, Launch) for kernel in spec.kernels)
    if not known and not launched:
        found = made_targets(scope)
        return views.Call(found, ()) if found else None
    values, targets = [], []
    fakes = iter(spec.fakes)
    for i, ret in enumerate(declared):
        argument = aliased_argument(scope.schema, ret)
        values.append(_allocation(scope, next(fakes)) if argument is None else scope.read(argument.name))
        targets.append(scope.variables[i] if argument is None else f"out{i}")
    return views.Call(_targets(targets, read), tuple(values))


def made_targets(scope: Scope) -> tuple[str, ...]:
    """Variables for outputs that a kernel makes, once it is known which are read."""
    return _targets([scope.variables.get(i, f"out{i}") for i in range(len(scope.schema.returns))], _read(scope))


def _read(scope: Scope) -> Set[str]:
    """The variables of the outputs that are read."""
    return {scope.outputs[name] for name in scope.emitter.read if name in scope.outputs}


def _targets(names: Sequence[str], read: Set[str]) -> tuple[str, ...]:
    """Variables for the outputs, with an underscore where one is not read; empty where none is read."""
    return tuple(name if name in read else f"_{name}" for name in names) if read & {*names} else ()


def _allocation(scope: Scope, rule: FakeRule) -> str:
    """How an output is made, as an expression."""
    text, helper = scope.emitter.text, scope.emitter.helper
    pair = _broadcast_pair(rule)
    if pair is not None and pair[0].id == scope.tensors()[0].name:
        return f"{helper('broadcast')}({text(pair[0])}, {text(pair[1])})"
    dtype = None if rule.dtype is None else text(rule.dtype.expr)
    if rule.shape is None and rule.device is None:
        like = scope.first() if rule.like is None else text(rule.like.expr)
        return f"{helper('like')}({like}{'' if dtype is None else f', {dtype}'})"
    device = scope.first() if rule.device is None else text(rule.device.expr)
    if rule.shape is None:
        shape = f"{scope.first()}.shape"
    elif isinstance(rule.shape, Formula):
        shape = text(rule.shape.expr)
    else:
        shape = f"[{', '.join(text(part.expr) for part in rule.shape)}]"
    return f"{helper('empty')}({shape}, {dtype or f'{scope.first()}.dtype'}, {device})"


def _broadcast_pair(rule: FakeRule) -> tuple[Name, Name] | None:
    """The two tensors whose broadcast shape and result type an output has, which one call allocates."""
    match rule:
        case FakeRule(
            shape=Formula(
                expr=Call(
                    function=Name(id="broadcast_shapes"),
                    arguments=(Attribute(value=Name() as a, name="shape"), Attribute(value=Name() as b, name="shape")),
                )
            ),
            dtype=Formula(expr=dtype),
            device=None,
        ) if dtype == Call(Name("result_type"), (a, b)):
            return a, b
    return None
