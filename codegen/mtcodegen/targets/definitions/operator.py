"""From an operator's entry to the view of its definition, with expressions in the language of definitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import opschema
from mtcodegen.entries.composite import is_composite
from mtcodegen.entries.model import Check, Formula, OpSpec
from mtcodegen.entries.schemas import is_tensor_list
from mtcodegen.expr import Expr
from mtcodegen.expr.nodes import BoolOp, Conditional, Name, map_children
from mtcodegen.pycode.definitions import DefinitionEmitter
from mtcodegen.pycode.docstrings import docstring
from mtcodegen.pycode.imports import Imports
from mtcodegen.pycode.literals import quoted, requoted, strings
from mtcodegen.targets.definitions import views
from mtcodegen.targets.definitions.gradients import gradient
from mtcodegen.targets.definitions.kernels import KEYS, choices
from mtcodegen.targets.definitions.outputs import is_composed, made_targets, returns
from mtcodegen.targets.definitions.scope import Scope
from mtcodegen.targets.definitions.tangents import tangents

__all__ = ["operator_view"]


def operator_view(
    spec: OpSpec, library: str, name: str, imports: Imports, launchers: Mapping[tuple[str, ...], str]
) -> views.Operator:
    """What the templates see of an operator.

    ``library`` and ``launchers`` are variables of the module, ``name`` that of the operator in it.
    """
    scope = Scope(spec, imports)
    checks = tuple(_joined([_check(scope, check) for check in spec.checks]))
    kernels = tuple(choices(scope, launchers))
    derivatives = gradient(scope)
    outputs = returns(scope)  # last: an output is a variable only if a part above reads it
    if is_composed(spec):
        kernels = tuple(_into(choice, made_targets(scope)) for choice in kernels)
    return views.Operator(
        name=name,
        library=library,
        schema=quoted(str(spec.schema).removeprefix(f"{spec.schema.namespace}::")),
        options=tuple(_options(spec)),
        parameters=scope.parameters(),
        doc=docstring(spec.doc),
        checks=checks,
        returns=outputs,
        kernels=kernels,
        gradient=derivatives,
        tangents=tangents(scope),
    )


def _into(choice: views.Choice, targets: tuple[str, ...]) -> views.Choice:
    """The kernels of a composed operator, with variables for what they return."""
    return views.Choice(tuple((condition, replace(kernel, targets=targets)) for condition, kernel in choice.kernels))


# ---------------------------------------------------------------- what the decorator gets


def _options(spec: OpSpec) -> Iterable[views.Option]:
    """The arguments of the decorator: all that differs from the defaults."""
    if spec.tags:
        yield views.Option("tags", quoted(spec.tags[0]) if len(spec.tags) == 1 else strings(spec.tags))
    if spec.variants != ("function",):
        yield views.Option("variants", strings(spec.variants))
    tensors = [argument for argument in spec.schema.arguments if opschema.base_of(argument.type).name == "Tensor"]
    several = len(tensors) > 1 or any(is_tensor_list(argument.type) for argument in tensors)
    composed = spec.backward is None and is_composite(spec) and not any(kernel.devices for kernel in spec.kernels)
    if several and not composed and spec.device_check != "NoCheck":
        yield views.Option("device_check", quoted(spec.device_check))
    if any(argument.is_write for argument in tensors) and spec.overlap_check:
        yield views.Option("overlap_check", strings(spec.overlap_check))
    if spec.deprecated:
        yield views.Option("deprecated", quoted(spec.deprecated))
    if spec.fallback:
        yield views.Option("fallback", quoted(spec.fallback))
    if spec.autocast:
        items = ", ".join(f"{quoted(KEYS[cast.device])}: {quoted(cast.policy)}" for cast in spec.autocast)
        yield views.Option("autocast", f"{{{items}}}")
    if spec.devices:
        yield views.Option("devices", strings(spec.devices))
    if spec.graph_update:
        update = {name.value for name in spec.graph_update}
        names = [argument.name for argument in spec.schema.arguments if argument.name in update]
        yield views.Option("graph_update", strings(names))
    if spec.graph_hooks:
        items = ", ".join(f"{quoted(hook)}: {quoted(value.value)}" for hook, value in spec.graph_hooks.items())
        yield views.Option("graph_hooks", f"{{{items}}}")


# ---------------------------------------------------------------- checks


def _check(scope: Scope, check: Check) -> views.Check:
    formatted = any(isinstance(part, Formula) for part in check.message)
    chosen = [part.expr for part in check.message if isinstance(part, Formula) and isinstance(part.expr, Conditional)]
    names: dict[Expr, str] = {expr: scope.local.unique("value") for expr in chosen}
    variables = tuple((name, scope.emitter.text(expr)) for expr, name in names.items())
    emitter = scope.beside({name: name for name in names.values()})
    conditions = tuple(emitter.text(_named(expr, names)) for expr in _clauses(check.condition.expr))
    message = "".join(_part(emitter, part, names, formatted) for part in check.message)
    message = ("f" if formatted else "") + requoted(message) if check.message else ""
    return views.Check(conditions, message, check.error, variables)


def _named(expr: Expr, names: Mapping[Expr, str]) -> Expr:
    """An expression with variables in the place of those that have one."""
    return Name(names[expr]) if expr in names else map_children(expr, lambda part: _named(part, names))


def _part(emitter: DefinitionEmitter, part: str | Formula, names: Mapping[Expr, str], formatted: bool) -> str:
    """A part of a message as it stands in a string."""
    if isinstance(part, str):
        text = '\\"'.join(quoted(piece)[1:-1] for piece in part.split('"'))
        return text.replace("{", "{{").replace("}", "}}") if formatted else text
    text = emitter.text(_named(part.expr, names)).replace('"', "'")
    return f"{{{text}}}"


def _joined(checks: Sequence[views.Check]) -> tuple[views.Check, ...]:
    """Consecutive checks without a message or an error class of their own as one."""
    found: list[views.Check] = []
    for check in checks:
        if found and not (check.message or check.error or found[-1].message or found[-1].error):
            found[-1] = replace(found[-1], conditions=(*found[-1].conditions, *check.conditions))
        else:
            found.append(check)
    return tuple(found)


def _clauses(expr: Expr) -> Iterable[Expr]:
    """The conditions of ``a and b``: a check tests the second only where the first holds."""
    if isinstance(expr, BoolOp) and expr.op == "and":
        for value in expr.values:
            yield from _clauses(value)
    else:
        yield expr
