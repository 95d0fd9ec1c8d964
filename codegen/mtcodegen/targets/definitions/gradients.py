"""How an operator is differentiated: its formulas, the function that somebody wrote, or why there is no gradient."""

from __future__ import annotations

from collections.abc import Sequence, Set

import opschema
from mtcodegen.entries.model import Derivative
from mtcodegen.entries.schemas import is_tensor, is_tensor_list
from mtcodegen.expr import Expr, Literal, Name, gradient_names, reads
from mtcodegen.expr.nodes import Attribute, Compare, Conditional, Index, map_children
from mtcodegen.pycode.literals import quoted
from mtcodegen.targets.definitions import views
from mtcodegen.targets.definitions.scope import Scope

__all__ = ["chosen_formula", "gradient"]


def gradient(scope: Scope) -> views.Derivatives | None:
    """The gradient of an operator; None where its entry says nothing of it."""
    backward = scope.spec.backward
    if backward is None:
        return None
    if backward.marker == "not_implemented":
        return views.Derivatives("not_implemented")
    if backward.function is not None:
        setup = backward.setup_context
        context = "" if setup is None else quoted(setup.reference)
        return views.Derivatives("backward", function=quoted(backward.function.reference), setup_context=context)
    markers = {backward.marker} if backward.marker else {item.marker for item in backward.derivatives}
    if markers == {"not_differentiable"}:
        return views.Derivatives("not_differentiable")
    return _formulas(scope, backward.derivatives)


def _formulas(scope: Scope, derivatives: Sequence[Derivative]) -> views.Derivatives:
    count = len(scope.schema.returns)
    wanted = {name: i for name, i in gradient_names(scope.schema).items() if name not in scope.arguments}
    named = {i: name for name, i in wanted.items()}  # where an output has several names, the last: its own
    names = [scope.local.unique(named.get(i, "grad" if count == 1 else f"grad{i}")) for i in range(count)]
    overwritten = {arg.name for arg in scope.schema.arguments if arg.is_write and is_tensor(arg.type)}
    before = {f"{name} before": f"op.before({scope.arguments[name]})" for name in overwritten}
    emitter = scope.beside({name: names[i] for name, i in wanted.items()} | before)
    gradients = []
    for item in derivatives:
        if item.marker == "not_differentiable":
            continue
        of = ", ".join(map(scope.read, item.arguments))
        expr = chosen_formula(item, scope.schema)
        value = "NotImplemented" if expr is None else emitter.text(_before(_named(expr, names), overwritten))
        gradients.append((f"({of})" if len(item.arguments) > 1 else of, value))
    flags = scope.spec.output_differentiability
    marks = "" if all(flags) else f"({', '.join(map(str, flags))}{',' if len(flags) == 1 else ''})"
    return views.Derivatives("formulas", tuple(names), tuple(gradients), marks)


def _named(expr: Expr, names: Sequence[str]) -> Expr:
    """``expr`` with ``grads[i]`` replaced by the parameter that holds it."""
    match expr:
        case Index(value=Name(id="grads"), index=Literal(value=int() as i)):
            return Name(names[i])
    return map_children(expr, lambda child: _named(child, names))


def _before(expr: Expr, overwritten: Set[str]) -> Expr:
    """With the values that arguments had before the call, in place of what the operator has written to them."""
    for read in reads(expr) if overwritten else ():
        if read.name in overwritten and read.property is None:
            expr = _replaced(expr, read.expr, Name(f"{read.name} before"))
    return expr


def _replaced(expr: Expr, part: Expr, by: Expr) -> Expr:
    """With one part of an expression, the very node, in place of another."""
    return by if expr is part else map_children(expr, lambda child: _replaced(child, part, by))


def chosen_formula(item: Derivative, schema: opschema.Schema) -> Expr | None:
    """The formula of a derivative, or the choice between those of several devices."""
    if item.formula is None:
        return None
    expr = item.formula.expr
    for device, formula in item.by_device.items():
        where = Attribute(Attribute(_first_tensor(schema), "device"), "type")
        expr = Conditional(Compare(where, (("==", Literal(device)),)), formula.expr, expr)
    return expr


def _first_tensor(schema: opschema.Schema) -> Expr:
    """The gradient of an output that is a tensor, or of the first one in a list."""
    plain = [i for i, ret in enumerate(schema.returns) if is_tensor(ret.type)]
    if plain:
        return Index(Name("grads"), Literal(plain[0]))
    listed = next(i for i, ret in enumerate(schema.returns) if is_tensor_list(ret.type))
    return Index(Index(Name("grads"), Literal(listed)), Literal(0))
