"""Random numbers inside `vmap`: each sample has its own, or all have the same, as `vmap` was told; or they are refused.

While a `vmap` runs every operator that draws comes here, whether or not its tensors are batches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from opschema import SchemaKind

from .. import _core
from .._core import OpOverload, Tensor
from .._generators import generator_of
from .._ops import ops
from ..utils._pytree import tree_leaves
from ._batching import (
    DRAWS,
    VmapInfo,
    aligned,
    batch,
    levels,
    outside,
    refuse_random_numbers,
    refuse_unsupported,
    sample_at,
    stacked,
    unbatch,
    written_arguments,
)

__all__: list[str] = []

# Switches that say whether anything is drawn at all, by their names, and what they are where it is not.
_SWITCHES = {"train": False, "training": False, "dropout_p": 0.0}
_POINTWISE = frozenset(("bernoulli", "poisson", "binomial", "normal", "_standard_gamma", "_sample_dirichlet"))
_DROPOUT = frozenset(("dropout", "alpha_dropout", "native_dropout"))  # of elements: a batch of them is one of all
_SLOPES = frozenset(("rrelu", "rrelu_", "rrelu_with_noise", "rrelu_with_noise_"))


@dataclass(frozen=True)
class _Call:
    """A call inside of a `vmap`: ``different`` says whether samples get numbers of their own."""

    op: OpOverload
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    level: int
    info: VmapInfo
    name: str
    values: dict[str, Any]

    @property
    def different(self) -> bool:
        return self.info.randomness == "different"

    @property
    def first(self) -> Any:
        return self.args[0]

    def is_batch(self, value: Any) -> bool:
        return unbatch(value, self.level)[1] is not None

    def any_batch(self) -> bool:
        return any(map(self.is_batch, tree_leaves([self.args, self.kwargs])))

    def once(self) -> Any:
        """One call for all samples, of what none of them has of its own."""
        return self.op(*self.args, **self.kwargs)

    def on_first(self, value: Tensor) -> Any:
        return self.op(value, *self.args[1:], **self.kwargs)

    def whole(self, value: Any) -> Tensor:
        """All samples of a tensor, in the first dimension."""
        inner, dim = unbatch(value, self.level)
        if dim is None:
            return ops.aten.expand(inner, [self.info.batch_size, *inner.shape])  # type: ignore[no-any-return]
        return ops.aten.movedim(inner, dim, 0) if dim else inner  # type: ignore[no-any-return]

    def batched(self, result: Any) -> Any:
        if isinstance(result, (tuple, list)):
            return type(result)(self.batched(item) for item in result)
        return batch(result, 0, self.level)


def _draw(op: OpOverload, *args: Any, **kwargs: Any) -> Any:
    """The fallback at the key of running calls of `vmap`, for operators that draw."""
    level = levels.drawing[-1] if levels.drawing else 0
    values = {**dict(zip((a.name for a in op._schema.arguments), args, strict=False)), **kwargs}
    if level and op._schema.name in _SLOPES:
        refuse_unsupported()
    if not level or op.has_kernel("Batched") or op._schema.name == "_fused_sdp_choice" or _is_off(values):
        with _unwatched():
            return op(*args, **kwargs)
    if op._schema.kind is SchemaKind.OUT:
        raise RuntimeError(
            "vmap: We do not support calling out variants of random operations inside of vmap. Please use non-out "
            "variants as a workaround"
        )
    refuse_random_numbers(level)
    call = _Call(op, args, kwargs, level, levels.open[level], op._schema.name, values)
    with outside(level):
        return _way_of(call)(call)


class _unwatched:  # noqa: N801  (reads as a condition)
    """``with _unwatched():`` a call that draws nothing, or has a rule of its own."""

    def __enter__(self) -> None:
        included, excluded = self._keys = _core.thread_keys()
        _core.set_thread_keys_(included & ~DRAWS, excluded)

    def __exit__(self, *exc: object) -> None:
        _core.set_thread_keys_(*self._keys)


def _is_off(values: dict[str, Any]) -> bool:
    return any(name in values and values[name] == off for name, off in _SWITCHES.items())


def _way_of(call: _Call) -> Callable[[_Call], Any]:
    if call.op.namespace != "aten":
        return _by_sample
    if call.op._schema.kind is SchemaKind.INPLACE:
        return _in_place
    if not any(isinstance(t, Tensor) for t in tree_leaves([call.args, call.kwargs])):
        return _made
    if call.name.endswith("_like"):
        return _like
    if call.name == "multinomial":
        return _multinomial
    if call.name in _POINTWISE:
        return _pointwise
    return _dropout if call.name in _DROPOUT else _by_sample


def _made(call: _Call) -> Any:
    if not call.different:
        return call.once()
    if "size" in call.values:
        return call.batched(call.op(**{**call.values, "size": [call.info.batch_size, *call.values["size"]]}))
    count = call.info.batch_size
    return stacked([call.once() for _ in range(count or 1)], call.level, count)


def _like(call: _Call) -> Any:
    if call.different:
        return call.batched(call.on_first(call.whole(call.first)))
    return call.on_first(_sample(call, call.first)) if call.is_batch(call.first) else call.once()


def _sample(call: _Call, value: Any) -> Tensor:
    """A tensor of a sample's shape, whose values do not matter."""
    inner, dim = unbatch(value, call.level)
    if inner.shape[dim]:
        return ops.aten.select(inner, dim, 0)  # type: ignore[no-any-return]
    return ops.aten.new_empty(inner, [n for i, n in enumerate(inner.shape) if i != dim])  # type: ignore[no-any-return]


def _pointwise(call: _Call) -> Any:
    if not call.different:
        _refuse_same(call, call.any_batch())
        return call.once()
    args, kwargs = aligned((list(call.args), call.kwargs), call.level)
    return call.batched(call.op(*args, **kwargs))


def _multinomial(call: _Call) -> Any:
    if not call.different:
        _refuse_same(call, call.is_batch(call.first))
        return call.once()
    whole = call.whole(call.first)
    drawn = call.on_first(ops.aten.flatten(whole, 0, -2) if whole.dim() > 2 else whole)
    return call.batched(drawn.reshape(*whole.shape[:-1], drawn.shape[-1]))


def _dropout(call: _Call) -> Any:
    return call.batched(call.on_first(call.whole(call.first))) if call.different else _by_sample(call)


def _in_place(call: _Call) -> Any:
    others = [t for t in tree_leaves([call.args[1:], call.kwargs]) if isinstance(t, Tensor)]
    if not call.different:
        _refuse_same(call, any(map(call.is_batch, others)))
    if not call.is_batch(call.first):
        if any(map(call.is_batch, others)):
            written_arguments(call.op, call.args, call.kwargs, call.level)  # which refuses
        if call.different:
            raise RuntimeError(
                "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same "
                "randomness. If this is necessary for your usage, please file an issue with functorch."
            )
        return call.once()
    written_arguments(call.op, call.args, call.kwargs, call.level)
    if "dropout" in call.name:
        if call.different and call.name.rstrip("_") in _DROPOUT:
            call.on_first(call.whole(call.first))
        else:
            _by_sample(call)
    elif call.different:
        args, kwargs = aligned((list(call.args), call.kwargs), call.level)
        call.op(*args, **kwargs)
    else:
        inner, dim = unbatch(call.first, call.level)
        drawn = call.on_first(ops.aten.empty_like(_sample(call, call.first)))
        ops.aten.copy_(inner, ops.aten.unsqueeze(drawn, dim))
    return call.first


def _by_sample(call: _Call) -> Any:
    """One sample after the other; for the same numbers each goes on from where the first one did."""
    if not call.different and not call.any_batch():
        return call.once()
    first = next((t for t in tree_leaves([call.args, call.kwargs]) if isinstance(t, Tensor)), None)
    generator = call.values.get("generator") or generator_of(_core.device("cpu") if first is None else first.device)
    state = None if call.different else generator.get_state()
    count, results = call.info.batch_size, []
    for i in range(count or 1):
        if state is not None:
            generator.set_state(state)
        results.append(call.op(*sample_at(call.args, call.level, i), **sample_at(call.kwargs, call.level, i)))
    return stacked(results, call.level, count)


def _refuse_same(call: _Call, any_batch: bool) -> None:
    if any_batch:
        raise RuntimeError(
            "Vmap does not currently support same randomness with a batched tensor input. Please rerun with "
            "`randomness=different`"
        )


_core.set_own_fallback("FuncTorchVmapMode", _draw, f"{__name__}:draw")
