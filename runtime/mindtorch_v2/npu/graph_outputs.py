"""``prepare: out``: an operator is captured as its ``out`` overload, into outputs and a workspace allocated before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._core import OpOverload, Tensor, find_operator
from .._creation import empty_strided
from ..utils import _pytree

__all__ = ["given_outputs", "into_outputs"]


def into_outputs(cls: type, func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The call of the ``out`` overload in the place of a functional one; one that has its outputs stays as it is.

    Outputs are as the operator has them on meta tensors. A ``workspace`` that the overload takes is what the operator
    ``_<name>_get_max_workspace`` of the same namespace returns for these arguments, where there is one.
    """
    if not isinstance(func, OpOverload) or func._overloadname == "out":
        return func, args, kwargs
    namespace, name = func.namespace, func._schema.name
    target = find_operator(f"{namespace}::{name}.out")
    if target is None:
        raise RuntimeError(f"{func.name()}: `prepare: out`, and there is no overload {namespace}::{name}.out")
    arguments = {argument.name: argument for argument in target._schema.arguments}
    given = dict(kwargs)
    sizer = find_operator(f"{namespace}::_{name}_get_max_workspace")
    if sizer is not None and "workspace" in arguments and given.get("workspace") is None:
        given["workspace"] = sizer(*args, **given)
    given.update(_outputs(func, target, args, kwargs))
    return target, args, given


def _outputs(func: OpOverload, target: OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """New outputs, by the names of the arguments that they are written to."""
    device = next(
        leaf.device for leaf in _pytree.tree_leaves((args, kwargs)) if isinstance(leaf, Tensor) and leaf.is_npu
    )
    shapes = func(*_on_meta(tuple(args)), **_on_meta(dict(kwargs)))
    made = [
        empty_strided(meta.shape, meta.stride(), dtype=meta.dtype, device=device)
        for meta in (shapes if isinstance(shapes, (tuple, list)) else (shapes,))
    ]
    written = [argument for argument in target._schema.arguments if argument.is_write]
    if len(written) == 1 and (len(made) > 1 or "[]" in str(written[0].type)):
        return {written[0].name: made}
    return {argument.name: tensor for argument, tensor in zip(written, made, strict=True)}


def _on_meta(tree: Any) -> Any:
    def moved(leaf: Any) -> Any:
        if not (isinstance(leaf, Tensor) and leaf.is_npu):
            return leaf
        return empty_strided(leaf.shape, leaf.stride(), dtype=leaf.dtype, device="meta")

    return _pytree.tree_map(moved, tree)


def given_outputs(cls: type, result: Any, kwargs: Mapping[str, Any]) -> Any:
    """The outputs that the captured call was given."""
    if result is None:
        return kwargs["out"]
    return result
