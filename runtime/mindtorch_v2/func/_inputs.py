"""What the transforms share: checks of arguments and results, and tensors put at a transform's own level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from ..autograd._forward import open_levels
from ..autograd._levels import ForwardLevel, hidden_from
from ..utils._pytree import tree_leaves, tree_map
from ._batching import BatchedTensor, batch, levels

__all__ = [
    "chosen_arguments", "depends_on_others", "only_tensors", "own", "recorded_outside", "released", "split_aux",
    "structure", "tracked", "untracked",
]  # fmt: skip

_AUTOGRAD = _core.key_mask("Autograd")
_FUNCTIONALIZE = _core.key_mask("Functionalize")
_WRAPPED = _core.key_mask("Batched") | _FUNCTIONALIZE

ArgNums = int | tuple[int, ...]


def chosen_arguments(argnums: Any, count: int) -> tuple[int, ...]:
    """``argnums`` as positions among ``count`` arguments. Raises RuntimeError where they are none."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    given = (argnums,) if isinstance(argnums, int) else argnums
    if not given:
        raise RuntimeError("argnums must be non-empty")
    for n in given:
        if not isinstance(n, int):
            raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {argnums}")
        if not -count <= n < count:
            raise RuntimeError(f"Got argnum={n}, but only {count} positional inputs")
    positions = tuple(n % count for n in given)
    if len(set(positions)) != len(positions):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return positions


def own(tree: Any) -> Any:
    """Tensors over the same memory as tensors of the transform that runs, which it may change in place."""
    return tree_map(lambda value: _core.adopt_(ops.aten.alias(value)) if isinstance(value, Tensor) else value, tree)


def split_aux(result: Any, has_aux: bool, where: str) -> tuple[Any, Any]:
    """A function's result as ``(output, aux)``; aux is None without ``has_aux``."""
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(f"{where}: output of function f should be a tuple: (output, aux) if has_aux is True")
    for leaf in tree_leaves(result[1]):
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(leaf)}")
    return result


def only_tensors(output: Any, where: str) -> list[Tensor]:
    """The tensors of a function's output. Raises RuntimeError for anything else in it, and for an empty one."""
    leaves = [] if output is None else tree_leaves(output)
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(
                f"{where}: expected f(*primals) to return only tensors, got unsupported type {type(leaf)}"
            )
    if not leaves:
        raise RuntimeError(f"{where}: Expected f to be a function that has non-empty output (got output = {output})")
    return leaves


def structure(tree: Any) -> str:
    """How a tree nests: ``(*, {'a': *})``."""
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{key!r}: {structure(value)}" for key, value in tree.items()) + "}"
    if isinstance(tree, (tuple, list)):
        brackets = "()" if isinstance(tree, tuple) else "[]"
        return brackets[0] + ", ".join(structure(item) for item in tree) + brackets[1]
    return "*"


def recorded_outside() -> bool:
    """Whether autograd outside of a transform that begins here records calls, were it not for the grad mode."""
    return not _core.thread_keys()[1] & _AUTOGRAD


def tracked(tree: Any, recorded: bool = True) -> Any:
    """Tensors that gradients are taken for: leaves, or part of the graph where that records the call too.

    Inside `vmap` they stand for samples of it, so that there is a gradient for each. Raises for what is no tensor of
    floating-point numbers.
    """
    return tree_map(lambda value: _tracked(value, recorded), tree)


def _tracked(value: Any, recorded: bool) -> Tensor:
    if not isinstance(value, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(value)}")
    if not (value.is_floating_point() or value.is_complex()):
        raise RuntimeError(f"only Tensors of floating point dtype can require gradients, got {value.dtype}")
    value = _lifted(value)
    return _core.adopt_input_(ops.aten.alias(value)) if value.requires_grad and recorded else _core.leaf(value)


def _lifted(value: Any) -> Any:
    """The tensor as a sample of the innermost `vmap`: itself where it is one, else the same for all samples."""
    level = max(levels.open, default=0)
    if level == 0 or (isinstance(value, BatchedTensor) and value.level == level):
        return value
    if _core.tensor_keys(value) & _FUNCTIONALIZE and value.level.number > level:
        return value  # of a `functionalize` inside the `vmap`: what it stands for may be a sample
    inner = [open_levels[n] for n in _core.tangent_levels(value) if n > level]
    with hidden_from(level):
        whole = ops.aten.expand(ops.aten.unsqueeze(value, 0), [levels.open[level].batch_size, *value.shape])
    sample = batch(whole, 0, level)
    for forward in inner:
        forward.set(sample, forward.get(value))
    return sample


def depends_on_others(outputs: Sequence[Tensor], inputs: Sequence[Tensor], number: int) -> tuple[bool, bool]:
    """Whether what was there before transform ``number`` can be differentiated by: outside the samples, and inside."""
    both = [*outputs, *(tangent for o in outputs for _, tangent in _tangents(o))]
    inside = any(_requires_grad_inside(t) for t in (*both, *inputs))
    return _core.reaches_other_leaves(both, inputs, number), inside


def _tangents(tensor: Tensor) -> list[tuple[ForwardLevel, Tensor]]:
    levels = [open_levels[n] for n in _core.tangent_levels(tensor)]
    return [(level, tangent) for level in levels if (tangent := level.get(tensor)) is not None]


def _requires_grad_inside(tensor: Any) -> bool:
    while _core.tensor_keys(tensor) & _WRAPPED:
        tensor = tensor.value
        if tensor.requires_grad:
            return True
    return False


def released(tree: Any, inputs: Sequence[Tensor], number: int) -> Any:
    """What transform ``number`` gives: outside the graph, but for tensors that depend on what was there before it."""

    def part(value: Any) -> Any:
        return (
            value if isinstance(value, Tensor) and depends_on_others([value], inputs, number)[0] else untracked(value)
        )

    return tree_map(part, tree)


def untracked(tree: Any) -> Any:
    """Tensors outside the graph, with the tangents they have."""
    return tree_map(lambda t: _untracked(t) if isinstance(t, Tensor) else t, tree)


def _untracked(tensor: Tensor) -> Tensor:
    found = _tangents(tensor)
    if not any(tangent.requires_grad for _, tangent in found):
        return _core.without_history(tensor) if tensor.requires_grad else tensor
    result = _core.apart(tensor)
    for level, tangent in found:
        level.set(result, _untracked(tangent))
    return result
