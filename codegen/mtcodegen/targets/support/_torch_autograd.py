"""What runs at PyTorch's Autograd key for an operator that is defined: its gradient, and its tangents."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function, forward_ad

from ._language import tangents
from ._planned import Geometry, Planned
from ._torch_policies import binder, called

__all__ = ["autograd_kernel"]

_NO_GRADIENT = "`backward` of its declaration gives none that torch.library takes"
_Setup = Callable[[Any, tuple[Any, ...], Any], None]
_Backward = Callable[..., Any]
_Rule = Callable[[Sequence[Any], Sequence[Any], Any], Any]


def autograd_kernel(overload: Any, definition: Planned) -> Callable[..., Any] | None:
    """The kernel that records the gradient; None where the definition says neither gradient nor tangents."""
    names = [ret.name for ret in overload._schema.returns]
    rule = tangents(definition.builder, names, _tangent, lambda *values: called(overload, values))
    if not definition.has_gradient and rule is None:
        return None
    bound, record = binder(overload._schema), _recorder(overload, definition)

    def kernel(keys: Any, *args: Any, **kwargs: Any) -> Any:
        inputs = bound(args, kwargs)
        if forward_ad._current_level >= 0:
            given = _each(lambda tensor: forward_ad.unpack_dual(tensor).tangent, inputs)
            if any(True for _ in _tensors(given)):
                return _with_tangents(overload, definition, rule, inputs, given)
        tensors = [*_tensors(inputs)]
        if record is not None and torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
            return record(_Call(keys, args, kwargs, inputs), tensors)
        with torch._C._AutoDispatchBelowAutograd():
            return overload.redispatch(keys & torch._C._after_autograd_keyset, *args, **kwargs)

    return kernel


# ---------------------------------------------------------------- tensors in lists
def _each(change: Callable[[Tensor], Any], value: Any) -> Any:
    """A value with its tensors changed, those in lists too; None in place of all that is no tensor."""
    if isinstance(value, Tensor):
        return change(value)
    return [_each(change, item) for item in value] if isinstance(value, (tuple, list)) else None


def _tensors(values: Sequence[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from _tensors(value)


def _with(tensors: Iterator[Any], value: Any) -> Any:
    """A value with others in the places of its tensors."""
    if isinstance(value, Tensor):
        return next(tensors)
    return type(value)([_with(tensors, item) for item in value]) if type(value) in (list, tuple) else value


def _outputs(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


# ---------------------------------------------------------------- gradients
class _Call:
    """A call below the Autograd key, and what it returned."""

    def __init__(self, keys: Any, args: tuple[Any, ...], kwargs: dict[str, Any], inputs: list[Any]) -> None:
        self.keys, self.args, self.kwargs, self.inputs, self.result = keys, args, kwargs, inputs, None


def _recorder(overload: Any, definition: Planned) -> Callable[[_Call, list[Tensor]], Any] | None:
    """A function that makes a call and records its gradient; None where no output has a gradient."""
    if definition.builder.marker == "not_implemented" and _takes_no_gradient(overload._schema):
        return lambda call, tensors: _refuse(overload)
    pair = _gradient(overload, definition)
    if pair is None:
        return None
    setup, gradient = pair

    def forward(ctx: Any, call: _Call, *tensors: Tensor) -> Any:
        with torch._C._AutoDispatchBelowAutograd():
            call.result = result = overload.redispatch(
                call.keys & torch._C._after_autograd_keyset, *call.args, **call.kwargs
            )
            ctx.places = [_each(lambda _: True, value) for value in call.inputs]
            setup(_Context(ctx), tuple(call.inputs), result)
        ctx.groups = [len(output) if isinstance(output, list) else None for output in _outputs(result)]
        return result if ctx.groups == [None] else tuple(_tensors_and_others(result))

    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        left = iter(grads)
        grouped = [next(left) if n is None else [*itertools.islice(left, n)] for n in ctx.groups]
        found = _outputs(gradient(_Context(ctx), *grouped))
        return (None, *itertools.chain.from_iterable(map(_flat, ctx.places, found)))

    name = f"{overload._schema.name.partition('::')[2]}Backward"
    node: Any = type(name, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})

    def record(call: _Call, tensors: list[Tensor]) -> Any:
        result = node.apply(call, *tensors)
        if not isinstance(call.result, list) and not any(isinstance(x, list) for x in _outputs(call.result)):
            return result
        found = iter(_outputs(result))
        grouped = [[next(found) for _ in o] if isinstance(o, list) else next(found) for o in _outputs(call.result)]
        return tuple(grouped) if isinstance(call.result, tuple) else grouped[0]

    return record


def _tensors_and_others(result: Any) -> Iterator[Any]:
    for output in _outputs(result):
        yield from output if isinstance(output, list) else (output,)


def _flat(place: Any, gradient: Any) -> Iterator[Any]:
    """The gradients of an argument's tensors."""
    if isinstance(place, list):
        parts = [None] * len(place) if gradient is None else gradient
        yield from (part for there, part in zip(place, parts, strict=True) if there)
    elif place:
        yield gradient


class _Context:
    """PyTorch's ``ctx`` with an entry in ``needs_input_grad`` for each argument of the schema, a list for a list."""

    def __init__(self, ctx: Any) -> None:
        flat = iter(ctx.needs_input_grad[1:])
        needs = [
            [next(flat) if there else False for there in place]
            if isinstance(place, list)
            else bool(place) and next(flat)
            for place in ctx.places
        ]
        self.__dict__.update(_ctx=ctx, needs_input_grad=tuple(needs))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._ctx, name, value)


def _gradient(overload: Any, definition: Planned) -> tuple[_Setup, _Backward] | None:
    """The setup and backward of an operator: they see all arguments. None: its outputs have no gradient."""
    builder, schema = definition.builder, overload._schema
    if builder.marker == "not_differentiable" or not definition.has_gradient:
        return None
    if builder.marker == "not_implemented":
        return _no_setup, _missing(overload)
    if builder.by_hand is not None:
        by_hand, setup = builder.by_hand
        return setup or _no_setup, by_hand
    return _of_formulas(
        definition, [i for i, flag in enumerate(builder.differentiable) if not flag], len(schema.returns)
    )


def _of_formulas(definition: Planned, marked: Sequence[int], count: int) -> tuple[_Setup, _Backward]:
    """Saves what the formulas read, and computes them; ``marked`` are the outputs without a gradient."""

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        outputs = (output,) if count == 1 else output
        (values, geometry), saved = definition.reads, list[Tensor]()
        ctx.kept = [
            _kept(value, saved) if at in values else _described(value) if at in geometry else _plain(value)
            for at, value in enumerate((*inputs, *outputs))
        ]
        ctx.save_for_backward(*saved)
        if marked:
            ctx.mark_non_differentiable(*_tensors([outputs[i] for i in marked]))

    def backward(ctx: Any, *grads: Any) -> Any:
        tensors = ctx.saved_tensors
        kept = [_restored(value, tensors) for value in ctx.kept]
        needs = enumerate(ctx.needs_input_grad)
        mask = sum(1 << i for i, need in needs if (any(need) if isinstance(need, list) else need))
        return tuple(definition.gradient(mask)(*kept, *grads))

    return setup_context, backward


class _Place(int):
    """Where a tensor is among those saved."""


def _kept(value: Any, saved: list[Tensor]) -> Any:
    """A value with places for its tensors, which are saved."""
    if isinstance(value, Tensor):
        saved.append(value)
        return _Place(len(saved) - 1)
    return [_kept(item, saved) for item in value] if isinstance(value, (list, tuple)) else value


def _described(value: Any) -> Any:
    """A value with the geometry of its tensors."""
    if isinstance(value, Tensor):
        return Geometry(value.shape, value.dtype, value.device)
    return [_described(item) for item in value] if isinstance(value, (list, tuple)) else value


def _plain(value: Any) -> Any:
    """A stand-in for a value that no formula reads: it is not None, so that `is None` stays false."""
    return NotImplemented if isinstance(value, Tensor) else value if not isinstance(value, (list, tuple)) else ()


def _restored(value: Any, saved: Sequence[Tensor]) -> Any:
    if type(value) is _Place:
        return saved[value]
    return [_restored(item, saved) for item in value] if type(value) is list else value


def _no_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    pass


def _missing(overload: Any) -> _Backward:
    """The gradient of an operator that has none."""

    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(f"derivative for {overload.name()} is not implemented: {_NO_GRADIENT}")

    return backward


def _takes_no_gradient(schema: Any) -> bool:
    """Whether not even a gradient that raises can be recorded: of what aliases, and of keyword-only tensors."""
    keywords = [argument for argument in schema.arguments if argument.kwarg_only]
    parts = (*schema.arguments, *schema.returns)
    return any(part.alias_info for part in parts) or any("Tensor" in str(argument.type) for argument in keywords)


def _refuse(overload: Any) -> Any:
    raise RuntimeError(
        f"derivative for {overload.name()} is not implemented, and an argument requires grad: call it under "
        f"torch.no_grad(), or with detached tensors; {_NO_GRADIENT}"
    )


# ---------------------------------------------------------------- tangents
def _with_tangents(overload: Any, definition: Planned, rule: _Rule | None, inputs: list[Any], given: Any) -> Any:
    """A call whose outputs have the tangents that the rule gives."""
    if rule is None and definition.builder.marker != "not_differentiable":
        raise NotImplementedError(
            f"{overload.name()}: an argument has a tangent, and there is no rule for it: say `forward` in the "
            "declaration, or op.jvp(...) in the definition"
        )
    arguments = overload._schema.arguments
    primals = _with((forward_ad.unpack_dual(tensor).primal for tensor in _tensors(inputs)), inputs)
    written = [i for i, a in enumerate(arguments) if a.alias_info is not None and a.alias_info.is_write]
    before = [_with((t.clone() for t in _tensors([v])), v) if i in written else v for i, v in enumerate(primals)]
    result = called(overload, primals)
    if rule is None:
        return result
    found = _outputs(rule(before, given, result))
    values = [
        _changed(overload, inputs, primals, given, written, output, tangent)
        for output, tangent in zip(_outputs(result), found, strict=True)
    ]
    return tuple(values) if isinstance(result, tuple) else values[0]


def _changed(
    overload: Any, inputs: Any, primals: Any, given: Any, written: Sequence[int], output: Any, tangent: Any
) -> Any:
    """An output with its tangent; for an argument that was written to, the tangent replaces its earlier one."""
    at = next((i for i in written if primals[i] is output), None)
    if at is None or tangent is None:
        return _dual(output, tangent)
    if given[at] is None:
        raise NotImplementedError(
            f"{overload.name()}: `{overload._schema.arguments[at].name}`, which it writes to, has no tangent before: "
            "make it one of zeros with make_dual(...)"
        )
    given[at].copy_(tangent)
    return inputs[at]


def _dual(output: Any, tangent: Any) -> Any:
    if isinstance(output, (list, tuple)):
        parts = [None] * len(output) if tangent is None else tangent
        return [_dual(item, part) for item, part in zip(output, parts, strict=True)]
    return output if tangent is None else forward_ad.make_dual(output, tangent)


def _tangent(value: Any, given: Any) -> Any:
    """The tangent of an argument: ``given``, or zeros like ``value`` if there is none; None where there is no value."""
    if isinstance(value, (list, tuple)):
        parts = given if given is not None else [None] * len(value)
        return [_tangent(item, part) for item, part in zip(value, parts, strict=True)]
    return given if given is not None or value is None else torch.zeros_like(value)
