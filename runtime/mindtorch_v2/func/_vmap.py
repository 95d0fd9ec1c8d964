"""`vmap`: a function of one sample as a function of a batch."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from .. import _core
from .._argument_types import names_wrong_types
from .._core import Tensor
from .._ops import ops
from ..autograd._levels import in_transform, next_level
from ..utils._pytree import tree_leaves, tree_map
from ._batching import VmapInfo, batch, levels, unbatch

__all__ = ["unrestricted_vmap", "vmap"]

_BATCHED = _core.key_mask("Batched")
_NO_DIMENSION = object()  # in place of None, which is a leaf that says as much


@names_wrong_types
def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """``func``, which takes one sample, as a function of batches.

    ``in_dims`` is the dimension of the inputs to map over (one for all, or one per argument, nested as they are; None:
    not mapped), ``out_dims`` where the outputs get theirs; keyword arguments are not mapped. With ``chunk_size`` no
    more than so many samples are computed at a time. Raises ValueError where they do not fit.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    return _mapped(func, in_dims, out_dims, randomness, chunk_size, lambda level: in_transform(level, "Vmap"))


def unrestricted_vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0) -> Callable[..., Any]:
    """As `vmap`, but no transform to what is called: Functions of the old style run, a sample as an argument.

    Random operators are refused.
    """
    return _mapped(func, in_dims, out_dims, "never", None, lambda level: contextlib.nullcontext())


def _mapped(
    func: Callable[..., Any],
    in_dims: Any,
    out_dims: Any,
    randomness: str,
    chunk_size: int | None,
    inside: Callable[[int], AbstractContextManager[Any]],
) -> Callable[..., Any]:
    """``inside(level)`` is where the function runs."""
    name = getattr(func, "__name__", repr(func))

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if not args:
            raise ValueError(
                f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap "
                "over a function with no inputs. The latter is unsupported."
            )
        dims = _spread(in_dims, list(args), name, "in_dims")
        size = _batch_size(name, in_dims, list(args), dims)
        if chunk_size is not None and chunk_size < size:
            return run_in_chunks(list(args), kwargs, dims, size)
        return run(list(args), kwargs, dims, size)

    def run_in_chunks(args: list[Any], kwargs: dict[str, Any], dims: Any, size: int) -> Any:
        parts = []
        for start in range(0, size, chunk_size or size):
            count = min(chunk_size or size, size - start)
            chosen = tree_map(
                lambda v, d, start=start, count=count: v if d is _NO_DIMENSION else ops.aten.narrow(v, d, start, count),
                args,
                dims,
            )
            parts.append(run(chosen, kwargs, dims, count))
        return _joined(parts, out_dims)

    def run(args: list[Any], kwargs: dict[str, Any], dims: Any, size: int) -> Any:
        level = next_level()
        levels.open[level] = VmapInfo(size, randomness)
        included, excluded = _core.thread_keys()
        _core.set_thread_keys_(included, excluded & ~_BATCHED)
        try:
            samples = tree_map(lambda v, d: v if d is _NO_DIMENSION else batch(v, d, level), args, dims)
            with inside(level):
                output = func(*samples, **kwargs)
            return _collect(output, out_dims, name, level, size)
        finally:
            _core.set_thread_keys_(included, excluded)
            del levels.open[level]

    return mapped


def _spread(dims: Any, tree: Any, name: str, what: str) -> Any:
    """A dimension for each leaf of ``tree``."""
    if dims is None or isinstance(dims, int):
        return tree_map(lambda leaf: _dimension(leaf, dims, name), tree)
    if isinstance(dims, dict) and isinstance(tree, dict) and dims.keys() == tree.keys():
        return {key: _spread(dims[key], value, name, what) for key, value in tree.items()}
    if not isinstance(dims, (tuple, list)) or not isinstance(tree, (tuple, list)) or len(dims) != len(tree):
        raise ValueError(
            f"vmap({name}, {what}={dims}, ...)(<inputs>): {what} is not compatible with the structure of inputs: "
            f"expected one entry for each of {len(tree) if isinstance(tree, (tuple, list)) else 1}."
        )
    return type(tree)(_spread(d, t, name, what) for d, t in zip(dims, tree, strict=True))


def _dimension(leaf: Any, dim: int | None, name: str) -> Any:
    if dim is None:
        return _NO_DIMENSION
    if not isinstance(leaf, Tensor):
        raise ValueError(
            f"vmap({name}, in_dims={dim}, ...)(<inputs>): Got in_dim={dim} for an input but the input is of type "
            f"{type(leaf)}. We cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
        )
    if not -leaf.dim() <= dim < leaf.dim():
        raise ValueError(
            f"vmap({name}, in_dims={dim}, ...)(<inputs>): Got in_dim={dim} for some input, but that input is a Tensor "
            f"of dimensionality {leaf.dim()} so expected in_dim to satisfy -{leaf.dim()} <= in_dim < {leaf.dim()}."
        )
    return dim


def _batch_size(name: str, in_dims: Any, args: Any, dims: Any) -> int:
    found = tree_leaves(tree_map(lambda v, d: None if d is _NO_DIMENSION else v.shape[d], args, dims))
    sizes = [s for s in found if s is not None]
    if not sizes:
        raise ValueError(f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): at least one input must be mapped over")
    if len(set(sizes)) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            "mapped dimension"
        )
    return int(sizes[0])


def _collect(output: Any, out_dims: Any, name: str, level: int, size: int) -> Any:
    if isinstance(output, (tuple, list, dict)):
        items = list(output.values()) if isinstance(output, dict) else output
        dims = out_dims if isinstance(out_dims, (tuple, list)) else [out_dims] * len(items)
        if len(dims) != len(items):
            raise ValueError(
                f"vmap({name}, ..., out_dims={out_dims}): out_dims is not compatible with the structure of outputs"
            )
        done = [_collect(item, dim, name, level, size) for item, dim in zip(items, dims, strict=True)]
        return dict(zip(output, done, strict=True)) if isinstance(output, dict) else type(output)(done)
    if not isinstance(output, Tensor):
        raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(output)}.")
    dim = out_dims[0] if isinstance(out_dims, (tuple, list)) else out_dims
    value, batch_dim = unbatch(output, level)
    if dim is None and batch_dim is not None:
        raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
    if batch_dim is None:
        if dim is None:
            return value
        return ops.aten.clone(ops.aten.expand(ops.aten.unsqueeze(value, dim), _inserted(value.shape, dim, size)))
    return value if dim % value.dim() == batch_dim else ops.aten.movedim(value, batch_dim, dim)


def _joined(parts: list[Any], out_dims: Any) -> Any:
    """Outputs of chunks, one after the other along their batch dimension; those without one are the first chunk's."""
    first = parts[0]
    if isinstance(first, dict):
        dims = out_dims if isinstance(out_dims, (tuple, list)) else [out_dims] * len(first)
        return {k: _joined([p[k] for p in parts], d) for k, d in zip(first, dims, strict=True)}
    if isinstance(first, (tuple, list)):
        dims = out_dims if isinstance(out_dims, (tuple, list)) else [out_dims] * len(first)
        return type(first)(_joined([p[i] for p in parts], d) for i, d in enumerate(dims))
    dim = out_dims[0] if isinstance(out_dims, (tuple, list)) else out_dims
    return first if dim is None else ops.aten.cat(parts, dim)


def _inserted(shape: Any, dim: int, size: int) -> list[int]:
    sizes = list(shape)
    sizes.insert(dim % (len(sizes) + 1), size)
    return sizes
