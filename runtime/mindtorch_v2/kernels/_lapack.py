"""LAPACK and BLAS on batches of matrices, and what is asked of matrices before."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .._core import Tensor, dtype
from .._ops import ops
from ..errors import LinAlgError
from ._arrays import as_array, as_tensor, scipy

__all__ = [
    "adjoint",
    "batched",
    "check_floating",
    "check_info",
    "check_matrices",
    "check_square",
    "empty",
    "function",
    "real_dtype",
    "reduced_to",
    "tied",
]

_DTYPES = _core.dtypes
_I32 = _DTYPES["int32"]
_REAL = {_DTYPES["complex64"]: _DTYPES["float32"], _DTYPES["complex128"]: _DTYPES["float64"]}


def real_dtype(given: dtype) -> dtype:
    """The dtype of a complex number's parts; a real dtype itself."""
    return _REAL.get(given, given)


# ---------------------------------------------------------------- checks
def check_matrices(name: str, tensor: Tensor, called: str = "A") -> None:
    """Refuses what has no two dimensions."""
    if tensor.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor {called} must have at least 2 dimensions.")


def check_square(name: str, tensor: Tensor, called: str = "A") -> None:
    """Refuses what is not a batch of square matrices."""
    check_matrices(name, tensor, called)
    if tensor.shape[-1] != tensor.shape[-2]:
        raise RuntimeError(
            f"{name}: {called} must be batches of square matrices, but they are {tensor.shape[-2]} by "
            f"{tensor.shape[-1]} matrices"
        )


def check_floating(name: str, tensor: Tensor, called: str = "A") -> None:
    """Refuses all dtypes but those that LAPACK computes in."""
    kind = tensor.dtype
    if not (kind.is_floating_point or kind.is_complex):
        raise NotImplementedError(f"{name}: Expected a floating point or complex tensor as input. Got {kind}")
    if real_dtype(kind).itemsize < 4:
        raise NotImplementedError(f"{name}: Low precision dtypes not supported. Got {kind} for {called}")


def check_info(name: str, info: Tensor, reason: str) -> None:
    """Raises LinAlgError for the first matrix for which LAPACK reports a fault; ``{}`` in the reason is its number."""
    if info.is_meta or not info.numel() or not info.any().item():
        return
    codes = as_array(info.cpu()).reshape(-1)
    bad = codes.nonzero()[0]
    if len(bad):
        batch = f"(Batch element {bad[0]}): " if info.dim() else ""
        raise LinAlgError(f"{name}: {batch}{reason.format(codes[bad[0]])}")


# ---------------------------------------------------------------- calls
def function(name: str, array: Any) -> Any:
    """SciPy's wrapper of a function of LAPACK or BLAS, for an array's dtype."""
    return _function_for(name, array.dtype)


@functools.cache
def _function_for(name: str, kind: Any) -> Any:
    linalg = scipy("linalg")
    find = linalg.get_blas_funcs if name == "trsm" else linalg.get_lapack_funcs
    return find(name, dtype=kind)


def empty(shape: Sequence[int], target: dtype, like: Tensor) -> Tensor:
    """A tensor on the device of another."""
    return _core.alloc(tuple(shape), target, like.device)


def batched(
    call: Callable[..., Sequence[Any]],
    inputs: Sequence[Tensor],
    ranks: Sequence[int],
    outputs: Sequence[tuple[Any, dtype]],
) -> list[Tensor]:
    """``call`` of each item of a batch, whose results have the shapes and dtypes of ``outputs``.

    Of each input the last of its dimensions, as many as ``ranks`` says, are one item; those before are the same of all.
    """
    import numpy as np

    arrays = [as_array(tensor) for tensor in inputs]
    if all(array.ndim == rank for array, rank in zip(arrays, ranks, strict=True)):  # one item, no batch
        return [as_tensor(item, target, shape) for item, (shape, target) in zip(call(*arrays), outputs, strict=True)]
    batch = arrays[0].shape[: arrays[0].ndim - ranks[0]]
    count = math.prod(batch)
    flat = [
        array.reshape((count, *array.shape[array.ndim - rank :])) for array, rank in zip(arrays, ranks, strict=True)
    ]
    names = [str(target).removeprefix("torch.") for _, target in outputs]
    made = [np.zeros((count, *shape), name) for (shape, _), name in zip(outputs, names, strict=True)]
    for at in range(count):
        for result, item in zip(made, call(*(array[at] for array in flat)), strict=True):
            result[at] = item
    return [
        as_tensor(result.reshape((*batch, *shape)), target)
        for result, (shape, target) in zip(made, outputs, strict=True)
    ]


# ---------------------------------------------------------------- gradients
def adjoint(tensor: Tensor) -> Tensor:
    """The conjugates of the transposed matrices."""
    turned: Tensor = tensor.transpose(-2, -1)
    return ops.aten.conj_physical(turned) if tensor.is_complex() else turned


def reduced_to(grad: Tensor, shape: Sequence[int]) -> Tensor:
    """A gradient summed over what was broadcast."""
    result: Tensor = grad if tuple(grad.shape) == tuple(shape) else ops.aten.sum_to_size(grad, list(shape))
    return result


def tied(value: Tensor, like: Tensor) -> Tensor:
    """A value that does not depend on a tensor, in its shape, and with a gradient for it: zeros."""
    everywhere = ops.aten.ones([], dtype=_DTYPES["bool"], device=like.device)
    result: Tensor = ops.aten.where(everywhere, value.expand(like.shape), like)
    return result
