"""``autograd.Function.apply`` where an argument has a tangent: forward below the level, then the class's ``jvp``."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import FunctionCtx, Tensor
from .._hooks import hooks
from ._forward import open_levels, set_tangent
from ._levels import ForwardLevel, hidden_from

__all__ = ["apply_transformed", "is_transformed"]

_BATCHED = _core.key_mask("Batched")


def apply_transformed(cls: Any, args: tuple[Any, ...]) -> Any:
    """``cls.apply`` where an argument has a tangent or is a batch: by the innermost of the transforms."""
    level = _core.highest_tangent_level(args)
    batch = max((a.level for a in args if _batched(a)), default=0)
    if level > batch:
        return apply_with_tangents(cls, level, args)
    return hooks.apply_batched(cls, args)


def apply_with_tangents(cls: Any, number: int, args: tuple[Any, ...]) -> Any:
    """``cls.apply`` for tangents at a level. Raises NotImplementedError where the class has no ``jvp``."""
    level = open_levels[number]
    with hidden_from(number):
        result, ctx = _forward(cls, args)
        tangents = tuple(level.get(a) if isinstance(a, Tensor) else None for a in args)
        versions = {id(t): t._version for t in tangents if t is not None}
        found = _core.function_tangents(ctx, args, tangents)
        found = found if isinstance(found, tuple) else (found,)
        outputs = result if isinstance(result, tuple) else (result,)
        if len(found) != len(outputs):
            raise RuntimeError(
                f"Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} but got "
                f"{len(found)})"
            )
        for position, (output, tangent) in enumerate(zip(outputs, found, strict=True)):
            _require_change(output, tangent, level, args, versions)
            _give(cls, level, ctx, position, output, tangent, args)
        _core.forget_marks_(ctx)
    return result


def _forward(cls: Any, args: tuple[Any, ...]) -> tuple[Any, FunctionCtx]:
    """Forward below the level, and the context for ``jvp``.

    With transforms around this one forward belongs to them, and the context is one that ``setup_context`` fills anew.
    """
    if not is_transformed(args):
        result: tuple[Any, FunctionCtx] = _core.record_function(cls, args)
        return result
    if cls.setup_context is _core.base_setup_context:
        if _core.running_transform():
            raise RuntimeError(
                "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it "
                f"must override the setup_context staticmethod: {cls.__name__} does not."
            )
        recorded: tuple[Any, FunctionCtx] = _core.record_function(cls, args)
        return recorded
    result = cls.apply(*args)
    ctx = _core.new_function_context(cls)
    cls.setup_context(ctx, args, result)
    return result, ctx


def is_transformed(args: tuple[Any, ...]) -> bool:
    """Whether an argument is a batch, or has a tangent that is not hidden."""
    return _core.highest_tangent_level(args) > 0 or any(_batched(a) for a in args)


def _batched(value: Any) -> bool:
    return isinstance(value, Tensor) and bool(_core.tensor_keys(value) & _BATCHED)


def _give(
    cls: Any, level: ForwardLevel, ctx: FunctionCtx, position: int, output: Any, tangent: Any, args: tuple[Any, ...]
) -> None:
    if tangent is not None and not isinstance(tangent, Tensor):
        raise RuntimeError(f"expected Variable or None (got {type(tangent).__name__}) for grad output {position}.")
    if not _core.is_differentiable_output(ctx, output):
        if tangent is not None:
            raise RuntimeError(
                f"Function's jvp returned a gradient at position {position}, but  the corresponding forward output is "
                "not a differentiable Tensor. You should return None at that position instead."
            )
        return
    if tangent is None:
        raise RuntimeError(
            f"Function's jvp of {cls.__name__} returned None at position {position}, but the corresponding forward "
            "output is differentiable: return its tangent, or zeros"
        )
    if any(output is a for a in args):
        return
    if output._is_view():
        _require_same_view(output, tangent, level, args)
    set_tangent(output, tangent, level)


def _require_change(
    output: Any, tangent: Any, level: ForwardLevel, args: tuple[Any, ...], versions: dict[int, int]
) -> None:
    """Of an argument that forward changed in place the tangent is changed in place, too."""
    if not any(output is a for a in args):
        return
    given = level.get(output)
    if given is not None and (given is not tangent or given._version == versions[id(given)]):
        raise RuntimeError(
            "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is "
            "modifying an input inplace, then the jvp function must modify the corresponding gradient inplace."
        )


def _require_same_view(output: Any, tangent: Any, level: ForwardLevel, args: tuple[Any, ...]) -> None:
    """Of a view the tangent is a view, too: of the tangent of what the output is a view of."""
    returns = "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view"
    if not tangent._is_view():
        raise RuntimeError(f"{returns}.")
    for value in args:
        given = level.get(value) if isinstance(value, Tensor) else None
        if given is None or (output._base is not value and output._base is not value._base):
            continue
        if tangent._base is not given and tangent._base is not given._base:
            of = "the same base as the given input" if given._is_view() else "the given input"
            raise RuntimeError(f"{returns} of {of}.")
