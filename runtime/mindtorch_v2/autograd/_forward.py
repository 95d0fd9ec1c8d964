"""How an operator's outputs get their tangents.

In this order: by the forward-mode formula that was registered; a view by the same view of the tangent; else by
differentiating the operator's gradient formula, which is linear in the gradients it starts from. The rule runs with its
own level hidden, so that what it computes may have tangents of outer levels, and a history.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opschema import Argument, SchemaKind

from .. import _core
from .._core import OpOverload, Tensor
from .._lazy_values import kept_as, kept_like
from .._ops import ops
from ._levels import ForwardLevel, hidden_from
from .engine import grad
from .grad_mode import enable_grad, is_grad_enabled

__all__ = ["open_levels", "set_tangent"]

open_levels: dict[int, ForwardLevel] = {}  # by number
_BATCHED = _core.key_mask("Batched")
_WRAPPED = _core.key_mask("Batched", "Functionalize", "Python")


def call_with_tangents(op: OpOverload, keys: int, number: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Runs a call whose arguments have tangents at a level, and gives its outputs theirs."""
    level, schema = open_levels[number], op._schema
    if schema.kind is SchemaKind.OUT:
        raise NotImplementedError(
            f"Trying to use forward AD with {op.name()} that does not support it because it is an out= function"
        )
    with hidden_from(number):
        inputs = (*args, *kwargs.values())
        tangents = tuple(_tangent_of(v, a, level) for v, a in zip(inputs, schema.arguments, strict=True))
        written = {i for i, argument in enumerate(schema.arguments) if argument.is_write}
        before = _before(inputs, written)
        output = op.redispatch(keys, *args, **kwargs)
        found = _output_tangents(op, before, tangents, output)
        for at, (value, tangent) in enumerate(zip(_flat(output), _flat(found), strict=True)):
            if isinstance(value, Tensor) and value.dtype in _DIFFERENTIABLE:
                if any(value is inputs[i] for i in written):
                    set_tangent(value, tangent, level, in_place=True)
                elif _looks_at(op, value, inputs) and tangent is not None:
                    level.set_view(value, inputs[0], _look(op, inputs, tangents, at), tangent)
                elif not any(value is other for other in inputs):
                    set_tangent(value, tangent if _is_view(op) else _unshared(tangent, tangents), level)
    return output


def copy_tangents(tensor: Tensor, copy: Tensor, hidden: int) -> None:
    """Gives a copy of what is about to be overwritten the tangents at levels from ``hidden`` on, as they are now."""
    for number, level in list(open_levels.items()):
        tangent = level.get(tensor) if number >= hidden else None
        if tangent is not None:
            level.set(copy, _ops().clone(tangent))


def set_tangent(tensor: Tensor, tangent: Tensor | None, level: ForwardLevel, in_place: bool = False) -> None:
    """Gives a tensor a tangent in the primal's layout, so that views of the one are views of the other.

    After an in-place operator a tangent that exists is overwritten, and a view's becomes part of its base's. A batch
    needs memory for all samples: then the owner of the tangent gets a new one, and its views look at that. Raises
    RuntimeError where the sizes differ.
    """
    if tangent is not None and tangent.shape != tensor.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )
    held = _held_for(tensor, tangent, level) if in_place else None
    if held is not None:
        _ops().zero_(held) if tangent is None else _ops().copy_(held, tangent)
        return
    if tangent is not None and not _same_layout(tensor, tangent):
        tangent = _ops().copy_(_zeros_in_layout(tensor, tangent), tangent)
    level.set(tensor, tangent)


def _held_for(tensor: Tensor, tangent: Tensor | None, level: ForwardLevel) -> Tensor | None:
    """The tangent that an in-place operator overwrites, with room for the new one's batches; None: there is none."""
    held = level.get(tensor)
    if tangent is None or (held is None and tensor._base is None):
        return held
    if held is not None and _batch_levels(tangent) <= _batch_levels(held):
        return held
    owner = _core.tangent_owner(tensor, level.number)
    before = level.get(owner)
    if before is None:
        level.set(owner, _zeros_in_layout(owner, tangent))
    else:
        level.set(owner, _ops().copy_(_zeros_in_layout(owner, tangent, before), before))
    return level.get(tensor)


def _output_tangents(op: OpOverload, inputs: tuple[Any, ...], tangents: tuple[Any, ...], output: Any) -> Any:
    """One tangent or None per output, nested as the outputs are."""
    nothing = [None] * len(_flat(output))
    if not any(isinstance(value, Tensor) and value.dtype in _DIFFERENTIABLE for value in _flat(output)):
        return nothing
    formula = _with_formula(op)
    if formula.jvp_function is not None:
        return _checked(formula, formula.jvp_function(inputs, tangents, output), output)
    if _is_view(op):
        return _call(op, _with_tangents(op, inputs, tangents))
    if formula.backward_function is None:
        raise NotImplementedError(
            f"Trying to use forward AD with {op.name()} that does not support it because it has not been implemented "
            "yet: it has neither a forward-mode formula nor a gradient formula. Register one with "
            f'`Library.register_jvp("{op.name()}", ...)` or `library.register_autograd("{op.name()}", ...)`.'
        )
    return _by_double_backward(formula, inputs, tangents, output)


def _with_formula(op: OpOverload) -> OpOverload:
    """The operator whose formula applies: of an in-place operator the functional one, which sees the value before."""
    if op._schema.kind is not SchemaKind.INPLACE or op.jvp_function is not None:
        return op
    schema = op._schema
    overload = f".{schema.overload}" if schema.overload else ""
    other = _core.find_operator(f"{op.namespace}::{schema.name.removesuffix('_')}{overload}")
    if other is None or (other.jvp_function is None and other.backward_function is None):
        return op
    names = [(a.name, a.type) for a in schema.arguments]
    return other if [(a.name, a.type) for a in other._schema.arguments] == names else op


def _with_tangents(op: OpOverload, inputs: tuple[Any, ...], tangents: tuple[Any, ...]) -> list[Any]:
    """A view operator's arguments for the tangent; a position in memory is the same from the tangent's start."""
    values = [i if t is None else t for i, t in zip(inputs, tangents, strict=True)]
    for i, argument in enumerate(op._schema.arguments):
        if argument.name == "storage_offset" and values[i] is not None:
            values[i] += values[0].storage_offset() - inputs[0].storage_offset()
    return values


def _looks_at(op: OpOverload, value: Tensor, inputs: tuple[Any, ...]) -> bool:
    """Whether an output is a view of the first argument, by no formula but the operator itself."""
    if not _is_view(op) or value is inputs[0] or _with_formula(op).jvp_function is not None:
        return False
    same: bool = value.untyped_storage() is inputs[0].untyped_storage()
    return same


def _look(op: OpOverload, inputs: tuple[Any, ...], tangents: tuple[Any, ...], at: int) -> Callable[[Tensor], Any]:
    """What makes of the first argument's tangent that of an output: the operator again."""
    return lambda whole: _flat(_call(op, _with_tangents(op, inputs, (whole, *tangents[1:]))))[at]


def _is_view(op: OpOverload) -> bool:
    """Whether the operator only looks at its first argument in another way."""
    arguments = op._schema.arguments
    return bool(arguments) and arguments[0].alias is not None and not any(a.is_write for a in arguments)


def _checked(op: OpOverload, result: Any, output: Any) -> list[Any]:
    """What a registered formula returned, one tangent per output. Raises RuntimeError where it is something else."""
    outputs = _flat(output)
    found = _flat(result) if isinstance(result, (tuple, list)) else [result]
    if len(found) != len(outputs):
        raise RuntimeError(
            f"{op.name()}: the forward-mode formula returned {len(found)} tangents, but the operator has "
            f"{len(outputs)} outputs{_registered_at(op)}"
        )
    for number, tangent in enumerate(found):
        if tangent is not None and not isinstance(tangent, Tensor):
            raise RuntimeError(
                f"{op.name()}: the forward-mode formula returned {type(tangent).__name__} as tangent {number}, "
                f"expected a Tensor or None{_registered_at(op)}"
            )
    return [_materialized(t, o) for t, o in zip(found, outputs, strict=True)]


def _unshared(tangent: Tensor | None, given: Any) -> Tensor | None:
    """A tangent in memory of its own, so that changing the output in place leaves those of the arguments alone."""
    if tangent is None:
        return None
    taken = {_memory(other) for other in _tensors(given)}
    return _ops().clone(tangent) if _memory(tangent) in taken else tangent


def _memory(tensor: Any) -> int:
    """What tells a tensor's memory from others'; of a batch, that of the whole of it. A wrapper has no address."""
    while _batched(tensor):
        tensor = tensor.value
    return id(tensor.untyped_storage())


def _registered_at(op: OpOverload) -> str:
    return f" (registered at {op.jvp_source})" if op.jvp_source else ""


def _materialized(tangent: Any, output: Any) -> Any:
    """A tangent expanded to its output's shape: formulas need not broadcast. What does not fit is refused later."""
    if tangent is None or tangent.shape == output.shape or tangent.dim() > output.dim():
        return tangent
    pairs = zip(reversed(tangent.shape), reversed(output.shape), strict=False)
    return _ops().expand(tangent, output.shape) if all(n in (1, m) for n, m in pairs) else tangent


def _by_double_backward(op: OpOverload, inputs: tuple[Any, ...], tangents: tuple[Any, ...], output: Any) -> list[Any]:
    """``v -> vjp(v)`` is linear: its own vjp at the tangents is the jvp."""
    outputs = _flat(output)
    recorded = is_grad_enabled()
    with enable_grad():
        starts = [_start(o) for o in outputs]
        args, kwargs = _split(op, inputs)
        try:
            gradients, without = _core.run_backward_formula(op, args, kwargs, output, _needs(tangents, op), starts)
        except NotImplementedError as error:
            raise NotImplementedError(
                f"Trying to use forward AD with {op.name()} that does not support it: {error}"
            ) from error
        pairs = [
            (g, t) for g, t in zip(gradients, _slots(op, tangents), strict=True) if g is not None and t is not None
        ]
        linear = [(g, _fit(t, g)) for g, t in pairs if _depends(op, g)]
        wanted = [i for i, o in enumerate(outputs) if starts[i] is not None and not any(o is w for w in without)]
        result: list[Any] = [None] * len(outputs)
        if linear and wanted:
            found = grad(
                [g for g, _ in linear],
                [starts[i] for i in wanted],
                [t for _, t in linear],
                create_graph=recorded,
                allow_unused=True,
            )
            for i, tangent in zip(wanted, found, strict=True):
                result[i] = tangent
        elif pairs:
            for i in wanted:
                result[i] = _ops().zeros_like(outputs[i])
    has_history = recorded and any(v.requires_grad for v in (*_tensors(inputs), *_tensors(tangents)))
    return result if has_history else [None if t is None else _core.without_history(t) for t in result]


def _start(output: Any) -> Any:
    if not isinstance(output, Tensor) or output.dtype not in _DIFFERENTIABLE:
        return None
    return _core.leaf(_ops().ones_like(output))


def _depends(op: OpOverload, gradient: Tensor) -> bool:
    """Whether a gradient can be differentiated. Raises where a formula cut itself off: a zero would be wrong."""
    if gradient.requires_grad:
        return True
    if not _batched(gradient) and gradient.device.type != "meta" and bool((gradient != 0).any()):
        raise NotImplementedError(
            f"Trying to use forward AD with {op.name()} that does not support it: its gradient formula is not "
            f'differentiable. Register a forward-mode formula with `Library.register_jvp("{op.name()}", ...)`.'
        )
    return False


def _fit(tangent: Tensor, gradient: Tensor) -> Tensor:
    """A tangent as the formula's own, not yet summed down, gradient pairs with it."""
    if tangent.dtype is not gradient.dtype:
        tangent = _ops()._to_copy(tangent, dtype=gradient.dtype)
    return tangent if tangent.shape == gradient.shape else _ops().expand(tangent, gradient.shape)


def _slots(op: OpOverload, tangents: tuple[Any, ...]) -> list[Tensor | None]:
    """Tangents by tensor slot, lists flattened, as gradients come."""
    slots: list[Tensor | None] = []
    for argument, tangent in zip(op._schema.arguments, tangents, strict=True):
        if _is_list(argument):
            slots.extend(tangent or [])
        elif str(argument.type) in ("Tensor", "Tensor?"):
            slots.append(tangent)
    return slots


def _tangent_of(value: Any, argument: Argument, level: ForwardLevel) -> Any:
    """None for zero, and for what is no tensor; of a list of tensors, an empty one included, a list."""
    if value is not None and _is_list(argument):
        return [None if v is None else level.get(v) for v in value]
    return level.get(value) if isinstance(value, Tensor) else None


def _is_list(argument: Argument) -> bool:
    """Whether an argument is a list of tensors, which may be optional, as may those."""
    kind = str(argument.type)
    return kind.startswith("Tensor") and kind not in ("Tensor", "Tensor?")


def _needs(tangents: tuple[Any, ...], op: OpOverload) -> tuple[Any, ...]:
    """What ``ctx.needs_input_grad`` says: of a list of tensors a list, empty where there is none."""
    return tuple(
        [t is not None for t in value or ()] if _is_list(argument) else value is not None
        for value, argument in zip(tangents, op._schema.arguments, strict=True)
    )


def _before(inputs: tuple[Any, ...], written: set[int]) -> tuple[Any, ...]:
    """The arguments as formulas see them: those that will be changed in place as copies."""
    copies = {id(t): _ops().clone(t) for i in written for t in _tensors(inputs[i])}

    def replaced(value: Any) -> Any:
        return [replaced(v) for v in value] if isinstance(value, (list, tuple)) else copies.get(id(value), value)

    return tuple(replaced(value) for value in inputs) if copies else inputs


def _split(op: OpOverload, values: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    count = len(op._schema.positional)
    keywords = {a.name: v for a, v in zip(op._schema.kwarg_only, values[count:], strict=True)}
    return tuple(values[:count]), keywords


def _call(op: OpOverload, values: list[Any]) -> Any:
    args, kwargs = _split(op, values)
    return op(*args, **kwargs)


def _flat(result: Any) -> list[Any]:
    """Outputs in a row, as a node counts them."""
    flat: list[Any] = []
    for value in result if isinstance(result, (tuple, list)) else (result,):
        flat.extend(value) if isinstance(value, (tuple, list)) else flat.append(value)
    return flat


def _tensors(values: Any) -> list[Tensor]:
    return [v for v in _flat(values) if isinstance(v, Tensor)]


def _batched(tensor: Tensor) -> bool:
    return bool(_core.tensor_keys(tensor) & _BATCHED)


def _batch_levels(tensor: Tensor) -> set[int]:
    """The levels of the calls of `vmap` that a tensor is a sample of."""
    levels = set()
    while _batched(tensor):
        sample: Any = tensor
        levels.add(sample.level)
        tensor = sample.value
    return levels


def _same_layout(tensor: Tensor, tangent: Tensor) -> bool:
    """Whether views of the tangent will be what views of the primal are; a primal that overlaps itself has no other."""
    if kept_as(tensor) != kept_as(tangent):
        return False
    if _may_overlap(tensor):
        return True
    wrapped = (_core.tensor_keys(tensor) | _core.tensor_keys(tangent)) & _WRAPPED
    if not wrapped and tensor.numel() and _room(tensor) > _room(tangent):  # for what `as_strided` sees outside of it
        return False
    dims = zip(tensor.shape, tensor.stride(), tangent.stride(), strict=True)
    return all(own == other for size, own, other in dims if size > 1)


def _room(tensor: Tensor) -> int:
    """How many elements its storage has from its first one on."""
    return tensor.untyped_storage().nbytes() // tensor.element_size() - tensor.storage_offset()


def _may_overlap(tensor: Tensor) -> bool:
    """Whether elements of the tensor may share memory: a step is not longer than what the shorter steps reach."""
    reach = 0
    for step, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1:
            if step <= reach:
                return True
            reach += (size - 1) * step
    return False


def _zeros_in_layout(tensor: Tensor, *like: Tensor) -> Tensor:
    """Zeros of a primal's sizes and strides, of the dtype of what is kept there, for each sample of its batches."""
    extent = 1 + sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    if not _core.tensor_keys(tensor) & _WRAPPED and tensor.numel():
        extent = max(extent, _room(tensor))
    memory, *others = (_ops().new_zeros(_core.apart(t), [max(extent, 0)]) for t in like)
    for other in others:
        if not _batch_levels(other) <= _batch_levels(memory):
            memory = memory + other
    if _core.tensor_keys(memory) & _WRAPPED:
        zeros: Any = _ops().as_strided(memory, tensor.shape, tensor.stride(), 0)
        whole = zeros
        while _batched(whole):
            whole = whole.value
        _core.as_own_(whole)
        return zeros  # type: ignore[no-any-return]
    return kept_like(_core.as_strided(memory, tensor.shape, tensor.stride(), 0), kept_as(tensor))


def _ops() -> Any:
    return ops.aten


_DIFFERENTIABLE = frozenset(d for d in _core.dtypes.values() if d.is_floating_point or d.is_complex)
