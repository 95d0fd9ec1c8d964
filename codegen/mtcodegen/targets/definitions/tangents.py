"""The tangents of an operator's outputs: a function of values by their names, or the one that somebody wrote."""

from __future__ import annotations

from collections.abc import Set

from mtcodegen.check.forward import differentiable_arguments, tangent_names
from mtcodegen.entries.model import OpSpec, Tangent
from mtcodegen.expr import Expr, Literal, Name, gradient_names, output_names
from mtcodegen.expr.nodes import Binary, Index, map_children
from mtcodegen.pycode.definitions import DefinitionEmitter
from mtcodegen.pycode.literals import quoted
from mtcodegen.targets.definitions import views
from mtcodegen.targets.definitions.gradients import chosen_formula
from mtcodegen.targets.definitions.scope import RESERVED, Scope

__all__ = ["tangents"]

_LINEAR = "linear"


def tangents(scope: Scope) -> views.Tangents | None:
    """The forward-mode derivative of an operator; None where its entry says nothing of it."""
    forward = scope.spec.forward
    if forward is None:
        return None
    if forward.function is not None:
        return views.Tangents(function=quoted(forward.function.reference))
    for item in forward.tangents:
        if item.marker == "not_implemented":
            text = f"{scope.schema.qualname}: the tangent of `{item.name}` is not implemented"
            return views.Tangents(refusal=quoted(text))
    spelled = _spelled(scope)
    emitter = DefinitionEmitter(scope.imports, spelled)
    found = {item.name: item for item in forward.tangents}
    exprs = [_tangent(scope.spec, found.get(name), i) for i, name in enumerate(tangent_names(scope.schema))]
    values = tuple("None" if expr is None else emitter.text(expr) for expr in exprs)
    return views.Tangents(tuple(dict.fromkeys(spelled[name] for name in spelled if name in emitter.read)), values)


def _spelled(scope: Scope) -> dict[str, str]:
    """How the parameters of the function are spelled, each thing by one name, as the runtime looks them up.

    An argument that the operator writes to is there as it was before, under its name and as ``x_p``.
    """
    taken: set[str] = set()

    def free(name: str) -> str:
        while name in taken or name in RESERVED:
            name += "_"
        taken.add(name)
        return name

    schema = scope.schema
    arguments = {argument.name: free(argument.name) for argument in schema.arguments}
    of_arguments = {f"{argument.name}_t": free(f"{argument.name}_t") for argument in schema.arguments}
    made = {_LINEAR: free(_LINEAR)}
    variables = [free("out" if len(schema.returns) == 1 else f"out{i}") for i in range(len(schema.returns))]
    before = {f"{name}_p": spelled for name, spelled in arguments.items()}
    outputs = {name: variables[i] for name, i in output_names(schema).items()}
    differentiable = {f"{name}_t": of_arguments[f"{name}_t"] for name in differentiable_arguments(scope.spec)}
    marked = {_marked(name): spelled for name, spelled in {**made, **of_arguments}.items()}
    return {**arguments, **outputs, **before, **differentiable, **arguments, **marked}


def _marked(name: str) -> str:
    """A name that no formula can contain, for the operator on the tangents and for an argument's tangent."""
    return f"<{name}>"


def _tangent(spec: OpSpec, tangent: Tangent | None, number: int) -> Expr | None:
    """The expression of an output's tangent; None where it has none."""
    if tangent is None:
        return None
    if tangent.marker == "auto_linear":
        linear = Name(_marked(_LINEAR))
        return linear if len(spec.schema.returns) == 1 else Index(linear, Literal(number))
    if tangent.marker == "auto_element_wise":
        return _element_wise(spec)
    return None if tangent.formula is None else tangent.formula.expr


def _element_wise(spec: OpSpec) -> Expr | None:
    """The sum of the gradients' formulas, each with its argument's tangent in place of the output's gradient."""
    arguments = {argument.name for argument in spec.schema.arguments}
    gradients = gradient_names(spec.schema).keys() - arguments
    total: Expr | None = None
    for derivative in spec.backward.derivatives if spec.backward is not None else ():
        expr = chosen_formula(derivative, spec.schema)
        if expr is not None:
            term = _of_tangent(expr, Name(_marked(f"{derivative.arguments[0]}_t")), gradients)
            total = term if total is None else Binary("+", total, term)
    return total


def _of_tangent(expr: Expr, tangent: Name, gradients: Set[str]) -> Expr:
    if expr == Index(Name("grads"), Literal(0)) or (isinstance(expr, Name) and expr.id in gradients):
        return tangent
    return map_children(expr, lambda child: _of_tangent(child, tangent, gradients))
