"""`vmap`: a function of one sample as a function of a batch."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from .. import _core
from .._argument_types import names_wrong_types
from .._core import Tensor
from .._generators import default_generator
from .._ops import ops
from ..autograd._levels import in_transform, next_level
from ..utils._pytree import TreeSpec, _broadcast_to_and_flatten, tree_flatten, tree_leaves, tree_structure
from . import _random  # noqa: F401  (what a `vmap` does with operators that draw)
from ._batching import DRAWS, VmapInfo, batch, levels, unbatch

__all__ = ["chunk_vmap", "unrestricted_vmap", "vmap"]

_BATCHED = _core.key_mask("Batched")


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


def chunk_vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2
) -> Callable[..., Any]:
    """As `vmap`, in so many chunks, one after the other; in fewer where there are fewer samples."""
    if chunks < 1:
        raise ValueError(f"chunk_vmap: chunks should be greater than 0. (got {chunks})")

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, _, dims = _with_dims(in_dims, args, _name_of(func))
        size = -(-_batch_size(leaves, dims) // chunks)
        return vmap(func, in_dims, out_dims, randomness, chunk_size=max(size, 1))(*args, **kwargs)

    return mapped


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
    name = _name_of(func)

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        _check_out_dims(out_dims, name)
        leaves, spec, dims = _with_dims(in_dims, args, name)
        size = _batch_size(leaves, dims)
        if chunk_size is not None and chunk_size < size:
            return run_in_chunks(leaves, spec, kwargs, dims, size)
        return _put_together(run(leaves, spec, kwargs, dims, size))

    def run_in_chunks(leaves: list[Any], spec: TreeSpec, kwargs: dict[str, Any], dims: list[Any], size: int) -> Any:
        parts = []
        state = default_generator.get_state() if randomness == "same" else None
        for start in range(0, size, chunk_size or size):
            count = min(chunk_size or size, size - start)
            chosen = [
                v if d is None else ops.aten.narrow(v, d, start, count) for v, d in zip(leaves, dims, strict=True)
            ]
            if state is not None:  # what one chunk draws the others do, too
                default_generator.set_state(state)
            parts.append(run(chosen, spec, kwargs, dims, count))
        return _joined(parts)

    def run(leaves: list[Any], spec: TreeSpec, kwargs: dict[str, Any], dims: list[Any], size: int) -> _Output:
        level = next_level()
        levels.open[level] = VmapInfo(size, randomness)
        outer = levels.drawing
        levels.drawing = (*outer, level)
        included, excluded = _core.thread_keys()
        _core.set_thread_keys_(included | DRAWS, excluded & ~(_BATCHED | DRAWS))
        try:
            samples = [v if d is None else batch(v, d, level) for v, d in zip(leaves, dims, strict=True)]
            with inside(level):
                output = func(*spec.unflatten(samples), **kwargs)
            return _collected(output, out_dims, name, level, size)
        finally:
            _core.set_thread_keys_(included, excluded)
            levels.drawing = outer
            del levels.open[level]

    return mapped


def _name_of(func: Any) -> str:
    if hasattr(func, "__name__"):
        return str(func.__name__)
    return f"functools.partial({_name_of(func.func)}, ...)" if isinstance(func, functools.partial) else repr(func)


def _with_dims(in_dims: Any, args: tuple[Any, ...], name: str) -> tuple[list[Any], TreeSpec, list[int | None]]:
    """The leaves of the arguments, how they nest, and a dimension for each."""
    where = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{where}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap "
            "over a function with no inputs. The latter is unsupported."
        )
    leaves, spec = tree_flatten(args)
    dims = _broadcast_to_and_flatten(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"{where}in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{tree_structure(in_dims)} but inputs has structure {spec}."
        )
    for leaf, dim in zip(leaves, dims, strict=True):
        if dim is None:
            continue
        if not isinstance(dim, int):
            raise ValueError(
                f"{where}Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
            )
        if not isinstance(leaf, Tensor):
            raise ValueError(
                f"{where}Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over "
                "non-Tensor arguments, please use None as the respective in_dim"
            )
        if not -leaf.dim() <= dim < leaf.dim():
            raise ValueError(
                f"{where}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {leaf.dim()} "
                f"so expected in_dim to satisfy -{leaf.dim()} <= in_dim < {leaf.dim()}."
            )
    return leaves, spec, dims


def _batch_size(leaves: list[Any], dims: list[int | None]) -> int:
    sizes = [leaf.shape[dim] for leaf, dim in zip(leaves, dims, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            "mapped dimension"
        )
    return int(sizes[0])


def _check_out_dims(out_dims: Any, name: str) -> None:
    for dim in (out_dims,) if isinstance(out_dims, int) else tree_leaves(out_dims):
        if dim is not None and not isinstance(dim, int):
            raise ValueError(
                f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of "
                "ints representing where in the outputs the vmapped dimension should appear."
            )


class _Output(NamedTuple):
    """What a function returned: the leaves with their batch dimension where it belongs, and how they nest."""

    leaves: list[Any]
    dims: list[int | None]
    spec: TreeSpec


def _collected(output: Any, out_dims: Any, name: str, level: int, size: int) -> _Output:
    leaves, spec = tree_flatten(output)
    dims = _broadcast_to_and_flatten(out_dims, spec)
    if isinstance(output, Tensor):  # one alone may have its dimension in a tuple
        dims = list(out_dims) if isinstance(out_dims, tuple) and len(out_dims) == 1 else [out_dims]
        dims = dims if dims[0] is None or isinstance(dims[0], int) else None
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {tree_structure(out_dims)} but outputs has structure {spec}."
        )
    done = [_whole(leaf, dim, name, level, size) for leaf, dim in zip(leaves, dims, strict=True)]
    return _Output(done, dims, spec)


def _whole(leaf: Any, dim: int | None, name: str, level: int, size: int) -> Any:
    """A leaf of the output as the caller gets it."""
    if dim is None:
        if unbatch(leaf, level)[1] is not None:
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return leaf
    if not isinstance(leaf, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(leaf)}. Did you mean to set "
            "out_dims= to None for output?"
        )
    rank = leaf.dim() + 1
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    value, batch_dim = unbatch(leaf, level)
    if batch_dim is None:
        return ops.aten.expand(ops.aten.unsqueeze(value, dim), _inserted(value.shape, dim, size))
    return value if dim % rank == batch_dim else ops.aten.movedim(value, batch_dim, dim)


def _put_together(output: _Output) -> Any:
    return output.spec.unflatten(output.leaves)


def _joined(parts: list[_Output]) -> Any:
    """Outputs of chunks, one after the other along their batch dimension; those without one are the first chunk's."""
    _, dims, spec = parts[0]
    columns = zip(*(part.leaves for part in parts), strict=True)
    joined = [
        column[0] if dim is None else ops.aten.cat(list(column), dim) for column, dim in zip(columns, dims, strict=True)
    ]
    return spec.unflatten(joined)


def _inserted(shape: Any, dim: int, size: int) -> list[int]:
    sizes = list(shape)
    sizes.insert(dim % (len(sizes) + 1), size)
    return sizes
