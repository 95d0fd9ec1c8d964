"""Variants by way of the first argument: in place, by the entry's own kernels; functional, of an in-place entry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mtcodegen.entries.model import Backward, Check, Compute, Formula, KernelArg, KernelSpec, Launch, OpSpec
from mtcodegen.expr import Expr, Name, output_names, parse_expression, reads
from mtcodegen.expr.nodes import Unread, map_children
from mtcodegen.findings.source import Place, Text
from opschema import Schema, SchemaKind

__all__ = ["written_in_place", "written_to_a_copy"]


def written_in_place(spec: OpSpec, made: OpSpec) -> OpSpec | None:
    """``made``, the in-place variant of an entry, with kernels, checks and gradient of the entry; None for another.

    Where an entry is tagged ``pointwise``, an element of the output depends on the same element of the argument alone,
    so a kernel that takes both as they lie (``desc``) may write to what it reads. Any other kernel is called, and its
    result copied. A gradient that reads the argument's values, which are overwritten, or that nobody can look into is
    left to the operator, called on a copy.
    """
    schema = spec.schema
    if made.schema.kind is not SchemaKind.INPLACE or schema.kind is not SchemaKind.FUNCTIONAL:
        return None
    if "pointwise" not in spec.tags or len(spec.fakes) != 1:
        return None
    target = schema.arguments[0].name
    checks = (*spec.checks, *_result_fits(spec, target, made.func))
    if _needs_values(spec, target):
        call = _call(schema, f"{target}.clone()", made.func)
        return replace(made, checks=checks, kernels=(_computed(call),))
    kernels = tuple(_into(kernel, schema, target, made.func) for kernel in spec.kernels)
    return replace(made, checks=checks, kernels=kernels, backward=spec.backward, forward=spec.forward)


def written_to_a_copy(spec: OpSpec, made: OpSpec) -> OpSpec | None:
    """``made``, the functional variant of an in-place entry, which is called on a copy; None for another."""
    schema = spec.schema
    if schema.kind is not SchemaKind.INPLACE or made.schema.kind is not SchemaKind.FUNCTIONAL or not schema.returns:
        return None
    call = _call(schema, f"{schema.arguments[0].name}.clone()", made.func)
    return replace(made, checks=(), kernels=(_computed(call),))


def _needs_values(spec: OpSpec, target: str) -> bool:
    """Whether the gradient reads what an in-place operator overwrites, or nobody can tell."""
    if spec.backward is None:
        return any(not kernel.devices for kernel in spec.kernels)  # whose gradient is that of the operators it calls
    if spec.backward.function is not None:
        return True
    read = [read for formula in _formulas(spec.backward) for read in reads(formula.expr)]
    return any(one.name == target and one.property is None for one in read)


def _formulas(backward: Backward) -> Iterator[Formula]:
    for derivative in backward.derivatives:
        yield from () if derivative.formula is None else (derivative.formula,)
        yield from derivative.by_device.values()


def _result_fits(spec: OpSpec, target: str, asked: Text) -> tuple[Check, ...]:
    """A check, worded as PyTorch words it, that the result's dtype can be cast to the argument's."""
    dtype = spec.fakes[0].dtype
    if dtype is None or isinstance(dtype.expr, Unread) or dtype.text.value == f"{target}.dtype":
        return ()
    condition = _written(f"can_cast({dtype.text.value}, {target}.dtype)", asked)
    own = _written(f"{target}.dtype", asked)
    return (Check(condition, "", ("result type ", dtype, " can't be cast to the desired output type ", own)),)


def _into(kernel: KernelSpec, schema: Schema, target: str, asked: Text) -> KernelSpec:
    """A kernel whose output is the argument."""
    body = kernel.body
    outputs: dict[str, Expr] = {name: Name(target) for name in output_names(schema)}
    if isinstance(body, Launch) and _takes_any_layout(body, {target, *outputs}):
        values = [Formula(arg.value.text, _renamed(arg.value.expr, outputs)) for arg in body.args]
        args = tuple(KernelArg(value, arg.type) for value, arg in zip(values, body.args, strict=True))
        return replace(kernel, body=replace(body, args=args))
    called = _computed(_call(schema, target, asked))
    return replace(called, devices=kernel.devices, dtypes=kernel.dtypes, when=kernel.when)


def _takes_any_layout(body: Launch, names: set[str]) -> bool:
    """Whether a kernel gets tensors of those names as they lie in memory, never a contiguous copy or a bare pointer."""
    plain = [arg.value.expr for arg in body.args if arg.type != "desc"]
    plain += [formula.expr for formula in (body.block_dim, body.workspace) if formula is not None]
    plain += [arg.value.expr for arg in body.tiling.values()]
    return not any(read.name in names and read.property is None for expr in plain for read in reads(expr))


def _computed(call: Formula) -> KernelSpec:
    return KernelSpec(Place(call.text.span, {"compute": call.text}), (), (), None, Compute((call,)))


def _call(schema: Schema, first: str, asked: Text) -> Formula:
    """The operator that ``schema`` declares, with ``first`` as its first argument."""
    name = schema.name if schema.namespace == "aten" else f"{schema.namespace}.{schema.name}"
    given = [f"{a.name}={a.name}" if a.kwarg_only else a.name for a in schema.arguments[1:]]
    return _written(f"{name}({', '.join([first, *given])})", asked)


def _written(text: str, asked: Text) -> Formula:
    """A formula as if it stood where the variant is asked for."""
    return Formula(asked.saying(text), parse_expression(text))


def _renamed(expr: Expr, names: dict[str, Expr]) -> Expr:
    if isinstance(expr, Name):
        return names.get(expr.id, expr)
    return map_children(expr, lambda child: _renamed(child, names))
