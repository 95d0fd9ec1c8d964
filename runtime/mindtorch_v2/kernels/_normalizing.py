"""What all normalization shares: what is refused, memory of kernels, and how it is composed of operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops

_DTYPES = _core.dtypes
F32, F64 = _DTYPES["float32"], _DTYPES["float64"]
HALVES = (_DTYPES["float16"], _DTYPES["bfloat16"])
CPU = _core.device("cpu")


# ---------------------------------------------------------------- what is refused
def check_dtypes(name: str, input: Tensor, *parameters: Tensor | None) -> Any:
    """The dtype of the statistics: float32 where the input is half precision and a parameter is float32."""
    if not input.is_floating_point():
        raise NotImplementedError(f'"{name}" not implemented for {input.dtype}')
    kinds = {p.dtype for p in parameters if p is not None}
    if kinds <= {input.dtype}:
        return input.dtype
    if input.dtype in HALVES and kinds == {F32}:
        return F32
    wrong = next(kind for kind in kinds if kind is not input.dtype)
    raise RuntimeError(f"{name}: expected parameters of {input.dtype}, as the input, but found {wrong}")


def check_vectors(channels: int, what: str, **given: Tensor | None) -> None:
    """Raises RuntimeError where a parameter is no vector of a number for each channel."""
    for name, vector in given.items():
        if vector is not None and (vector.dim() != 1 or vector.numel() != channels):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                "shape "
                f"{list(vector.shape)} and {what}: {name} should contain {channels} elements"
            )


def check_shape(name: str, argument: str, given: Tensor | None, shape: Sequence[int]) -> None:
    """Raises RuntimeError where an argument of a gradient has another shape than the call that it is of."""
    if given is not None and tuple(given.shape) != tuple(shape):
        raise RuntimeError(f"{name}(): expected {argument} of shape {list(shape)}, got {list(given.shape)}")


def check_floating(name: str, **given: Tensor | None) -> None:
    """Raises RuntimeError where an argument of a gradient is no floating-point tensor."""
    for argument, tensor in given.items():
        if tensor is not None and not tensor.is_floating_point():
            raise RuntimeError(f"{name}(): expected a floating-point {argument}, got {tensor.dtype}")


# ---------------------------------------------------------------- memory of kernels
def widened(tensor: Tensor | None, dtype: Any) -> Tensor | None:
    """A parameter in the dtype that a kernel computes in."""
    if tensor is None:
        return None
    wide: Tensor = (tensor if tensor.dtype is dtype else tensor.to(dtype)).contiguous()
    return wide


def kept_dtype(tensor: Tensor) -> Any:
    """The dtype that a kernel computes in."""
    return F64 if tensor.dtype is F64 else F32


def as_numbers(array: Any) -> Tensor:
    """A tensor of float64 with an array's numbers, for a kernel to read."""
    import numpy as np

    result = _core.alloc((array.size,), F64, CPU)
    np.asarray(_core.as_memoryview(result))[...] = array.reshape(-1)
    return result


def numbers_of(tensor: Tensor) -> Any:
    """The elements as an array of float64."""
    import numpy as np

    return np.asarray(_core.as_memoryview(tensor if tensor.dtype is F64 else tensor.to(F64)))


def numbers_as_tensor(array: Any, dtype: Any) -> Tensor:
    """A tensor of an array of float64, in a dtype."""
    import numpy as np

    result = _core.alloc(np.shape(array), F64, CPU)
    np.asarray(_core.as_memoryview(result))[...] = array
    return result if dtype is F64 else result.to(dtype)


def as_output(tensor: Tensor, like: Tensor) -> Tensor:
    """A kernel's memory in the shape and dtype of an output."""
    result: Tensor = tensor.reshape(like.shape).to(like.dtype)
    return result


def check_mask(name: str, output_mask: Sequence[bool], size: int) -> None:
    """Raises RuntimeError where a mask has not an element for each gradient."""
    if len(output_mask) != size:
        raise RuntimeError(f"{name}(): expected an output_mask of {size}, got {len(output_mask)}")


# ---------------------------------------------------------------- composed of operators
def normalized(x: Tensor, dims: Sequence[int], rstd: Tensor, centered: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """(x - mean) * rstd over dimensions, mean and rstd, as operators compose them.

    ``rstd`` has the values: the epsilon that they were made with is what they have beyond the variance.
    """
    mean = x.mean(list(dims), True) if centered else ops.aten.zeros_like(rstd)
    apart = x - mean if centered else x
    var = apart.square().mean(list(dims), True)
    root = (var + (rstd.detach() ** -2 - var.detach())).rsqrt()
    return apart * root, mean, root


def _mask_of_kind(mask: Tensor, kind: int | None, scores: Tensor) -> Tensor:
    """A mask of another shape than the scores', as one of theirs."""
    if kind is None:
        raise RuntimeError("Mask Type should be defined")
    if kind not in (0, 1, 2):
        raise RuntimeError(
            f"Mask Type should be 0 (src_mask) or 1 (src_key_padding_mask), or 2 (default_mask), got {kind}"
        )
    if kind == 2 or scores.dim() != 4:
        raise RuntimeError("For mask_type == 2 mask shape should match input shape")
    batch, _, steps, length = scores.shape
    wanted = (steps, length) if kind == 0 else (batch, length)
    if tuple(mask.shape) != wanted:
        raise RuntimeError(f"For mask_type == {kind} mask shape should be {'(L, L)' if kind == 0 else '(B, L)'}")
    result: Tensor = (mask if kind == 0 else mask.reshape(batch, 1, 1, length)).expand(scores.shape)
    return result


def masked_softmax(self: Tensor, mask: Tensor, dim: int | None, mask_type: int | None) -> Tensor:
    """The softmax of what is not masked. A mask has the shape of ``self``.

    Of (B, H, L, L) it may be of (L, L), where its type is 0, or of (B, L), where it is 1; of another shape its type has
    to be given.

    Raises RuntimeError for another shape and for what is no mask of booleans.
    """
    if mask.dtype is not _DTYPES["bool"]:
        raise RuntimeError("Mask should be a boolean tensor")
    if not self.is_floating_point():
        raise NotImplementedError(f'"masked_softmax" not implemented for {self.dtype}')
    if mask.shape != self.shape:
        mask = _mask_of_kind(mask, mask_type, self)
    result: Tensor = self.masked_fill(mask, float("-inf")).softmax(-1 if dim is None else dim)
    return result
