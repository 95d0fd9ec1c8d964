"""Forward-mode formulas: a tangent for every differentiable output, no more and no fewer."""

from __future__ import annotations

from dataclasses import replace

import opschema
from mtcodegen.check.scopes import OpScope
from mtcodegen.entries.composite import is_composite
from mtcodegen.entries.model import Derivative, Forward, OpSpec, Tangent
from mtcodegen.expr import Unread, analyze, reads, tangent_scope, value_type
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import suggest
from mtcodegen.findings.source import Text

__all__ = ["differentiable_arguments", "resolve_forward", "tangent_names"]


def tangent_names(schema: opschema.Schema) -> list[str]:
    """What the tangent of each output is called: by the output's name, else ``result`` or ``result0``, ``result1``."""
    single = len(schema.returns) == 1
    return [ret.name or ("result" if single else f"result{i}") for i, ret in enumerate(schema.returns)]


def differentiable_arguments(spec: OpSpec) -> list[str]:
    """Arguments that have tangents: tensors, but for those that ``backward`` says are not differentiable."""
    derivatives = spec.backward.derivatives if spec.backward is not None else ()
    excluded = {name for item in derivatives if item.marker == "not_differentiable" for name in item.arguments}
    return [
        argument.name
        for argument in spec.schema.arguments
        if opschema.base_of(argument.type).name == "Tensor" and argument.name not in excluded
    ]


def resolve_forward(spec: OpSpec, scope: OpScope) -> Forward | None:
    """Check the tangents and their formulas; afterwards there is one for each output, in their order."""
    forward = spec.forward
    if forward is None:
        return None
    differentiable = differentiable_arguments(spec)
    known = dict(zip(tangent_names(spec.schema), spec.schema.returns, strict=True))
    outputs = _outputs(spec, known)
    if _is_useless(spec, forward.key, scope, differentiable, outputs) or forward.function is not None:
        return forward
    if forward.marker:
        tangents = {name: Tangent(forward.key, name, None, forward.marker) for name in outputs}
    else:
        tangents = _by_output(forward, spec, scope, known, outputs)
    found = tuple(
        [_resolve(tangents[name], ret, spec, scope, differentiable) for name, ret in known.items() if name in tangents]
    )
    return forward if found == forward.tangents else replace(forward, tangents=found)


def _is_useless(spec: OpSpec, key: Text, scope: OpScope, differentiable: list[str], outputs: list[str]) -> bool:
    """Whether nothing would ever ask for tangents; notes why."""
    if spec.schema.kind is opschema.SchemaKind.OUT:
        scope.fault(Code.MT416, "an out variant has no tangent", key.span, "remove `forward`")
    elif not differentiable or (spec.backward and spec.backward.marker == "not_differentiable"):
        message = f"nothing asks for tangents: {spec.schema.qualname} has no differentiable argument"
        scope.fault(Code.MT428, message, key.span, "remove `forward`")
    elif not outputs:
        message = f"nothing asks for tangents: {spec.schema.qualname} has no differentiable output"
        scope.fault(Code.MT428, message, key.span, "remove `forward`")
    elif spec.backward is None and is_composite(spec):
        hint = "remove `forward`, or give formulas in `backward`, too"
        message = "nothing asks for tangents: they go through the operators that this one is made of"
        scope.fault(Code.MT428, message, key.span, hint)
    else:
        return False
    return True


def _outputs(spec: OpSpec, known: dict[str, opschema.Return]) -> list[str]:
    """The outputs that may have a tangent."""
    flags = spec.output_differentiability
    flags = flags if len(flags) == len(known) else (True,) * len(known)
    named = zip(known.items(), flags, strict=True)
    return [name for (name, ret), flag in named if flag and opschema.base_of(ret.type).name == "Tensor"]


def _by_output(
    forward: Forward, spec: OpSpec, scope: OpScope, known: dict[str, opschema.Return], outputs: list[str]
) -> dict[str, Tangent]:
    given: dict[str, Tangent] = {}
    for tangent in forward.tangents:
        name = tangent.name
        given[name] = tangent
        if name in outputs:
            continue
        span = tangent.key.span
        if name not in known:
            arguments = [argument.name for argument in spec.schema.arguments]
            hint = "gradients of arguments belong to `backward`" if name in arguments else suggest(name, outputs)
            message = f"`{name}` is not an output of {spec.schema.qualname}"
            scope.fault(Code.MT420, message, span, hint or f"its outputs are {_listed(known)}")
        elif opschema.base_of(known[name].type).name != "Tensor":
            scope.fault(Code.MT427, f"`{name}` has no tangent: it is {known[name].type}", span, "remove it")
        else:
            message = f"`{name}` has no tangent: `output_differentiability` says so"
            scope.fault(Code.MT427, message, span, "remove it")
    for name in outputs:
        if name not in given:
            hint = f"add `{name}: <formula>`, `{name}: not_differentiable` or `{name}: not_implemented`"
            scope.fault(Code.MT421, f"there is no tangent for `{name}`", forward.key.span, hint)
    return {name: tangent for name, tangent in given.items() if name in outputs}


def _listed(names: dict[str, opschema.Return]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _resolve(
    tangent: Tangent, ret: opschema.Return, spec: OpSpec, scope: OpScope, differentiable: list[str]
) -> Tangent:
    if tangent.marker == "auto_element_wise":
        _check_element_wise(tangent, spec, scope)
    if tangent.formula is None:
        return tangent
    names = tangent_scope(spec.schema, differentiable, scope.table)
    formula = scope.note(tangent.formula, checked := analyze(tangent.formula.expr, names, value_type(ret.type)))
    read = {read.name for read in reads(formula.expr)}
    if (
        not checked.errors
        and not isinstance(formula.expr, Unread)
        and read.isdisjoint(f"{x}_t" for x in differentiable)
    ):
        hint = f"a tangent is computed from tangents, such as `{differentiable[0]}_t`; or write `not_differentiable`"
        scope.fault(Code.MT422, f"the tangent of `{tangent.name}` does not depend on any", formula.text.span, hint)
    return tangent if formula is tangent.formula else Tangent(tangent.key, tangent.name, formula, tangent.marker)


def _check_element_wise(tangent: Tangent, spec: OpSpec, scope: OpScope) -> None:
    """There are formulas, one for each argument, that read the output's gradient in no way but as a tensor."""
    span = tangent.key.span
    derivatives = [item for item in spec.backward.derivatives if item.formula is not None] if spec.backward else []
    if len(spec.schema.returns) != 1 or opschema.base_of(spec.schema.returns[0].type) != spec.schema.returns[0].type:
        scope.fault(
            Code.MT423, "`auto_element_wise` is for operators with one tensor as output", span, "write a formula"
        )
    elif not derivatives or any(item.formula is None for item in _differentiable(spec)):
        hint = "write formulas there, or one here"
        scope.fault(Code.MT423, "`auto_element_wise` takes the formulas of `backward`, which has not all", span, hint)
    elif (several := next((item for item in derivatives if len(item.arguments) > 1), None)) is not None:
        message = f"`auto_element_wise` cannot take `{several.key.value}` apart, which has one formula"
        scope.fault(Code.MT423, message, span, "write a formula")


def _differentiable(spec: OpSpec) -> list[Derivative]:
    derivatives = spec.backward.derivatives if spec.backward is not None else ()
    return [item for item in derivatives if item.marker != "not_differentiable"]
