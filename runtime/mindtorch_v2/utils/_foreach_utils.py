"""``torch.utils._foreach_utils``: what optimizers ask before they step over lists of tensors, or in one call."""

from __future__ import annotations

from typing import Any

from .._core import Tensor, device, dtype
from ..autograd.grad_mode import no_grad
from ..optim._rules import devices_of_fused_steps, devices_of_lists

__all__ = [
    "Indices",
    "TensorListList",
    "_device_has_foreach_support",
    "_get_foreach_kernels_supported_devices",
    "_get_fused_kernels_supported_devices",
    "_group_tensors_by_device_and_dtype",
    "_has_foreach_support",
]

TensorListList = list[list[Tensor | None]]
Indices = list[int]
# Of which classes tensors are that may be in a list: libraries add theirs.
_foreach_supported_types: list[Any] = [Tensor]
_HALVES = ("bfloat16", "float16")

_get_foreach_kernels_supported_devices = devices_of_lists
_get_fused_kernels_supported_devices = devices_of_fused_steps


def _device_has_foreach_support(device: device) -> bool:
    """Whether there are operators of lists on a device."""
    return device.type in [*devices_of_lists(), "cpu"]


def _has_foreach_support(tensors: list[Tensor | None], device: device) -> bool:
    """The same, for tensors none of which is of a class that they do not know."""
    return _device_has_foreach_support(device) and all(
        tensor is None or type(tensor) in _foreach_supported_types for tensor in tensors
    )


@no_grad()  # type: ignore[untyped-decorator]
def _group_tensors_by_device_and_dtype(
    tensorlistlist: TensorListList, with_indices: bool = False
) -> dict[tuple[device, dtype], tuple[TensorListList, Indices]]:
    """Lists of tensors, parted by device and dtype of the first list's; behind each group where its tensors were.

    The others are as long, or empty, and may hold None. Raises TypeError for what are no lists of tensors; RuntimeError
    for lists of other lengths, for None in the first one, and where tensors of a place differ, but by their dtype those
    of one element, steps, and those of half precision.
    """
    for tensors in tensorlistlist:
        if not isinstance(tensors, (list, tuple)) or any(not isinstance(t, Tensor) for t in tensors if t is not None):
            raise TypeError(f"expected a list of lists of tensors, got {tensors!r} as one of the lists")
    if not tensorlistlist or not tensorlistlist[0]:
        raise RuntimeError("expected a list of lists of tensors, the first of which has any, got an empty one")
    count = len(tensorlistlist[0])
    lengths = [*map(len, tensorlistlist)]
    if any(length not in (0, count) for length in lengths):
        raise RuntimeError(f"expected lists of {count} tensors as the first, or none, got {lengths}")
    groups: dict[tuple[device, dtype], tuple[TensorListList, Indices]] = {}
    for place, first in enumerate(tensorlistlist[0]):
        if first is None:
            raise RuntimeError(
                "Tensors of the first list of nested Tensor lists are supposed to be defined but the "
                f"{place}-th Tensor is not."
            )
        key = first.device, first.dtype
        lists, indices = groups.setdefault(key, ([[] for _ in tensorlistlist], []))
        for tensors, found in zip(tensorlistlist, lists, strict=True):
            if tensors:
                found.append(_checked(tensors[place], *key))
        if with_indices:
            indices.append(place)
    return groups


def _checked(tensor: Tensor | None, where: device, kind: dtype) -> Tensor | None:
    """A tensor that may be in a group of that device and dtype."""
    if tensor is None or (tensor.device == where and tensor.dtype == kind):
        return tensor
    name = str(tensor.dtype).removeprefix("torch.")
    is_step = tensor.numel() == 1 and tensor.device.type == "cpu" and name in ("float32", "float64")
    if not (is_step or (tensor.device == where and name in _HALVES)):
        raise RuntimeError(
            "Tensors of the same index must be on the same device and the same dtype except `step` tensors that can be "
            "CPU and float32/64, and optimizer states that can be of half precision: expected one of "
            f"{kind} on {where}, got one of {tensor.dtype} on {tensor.device}"
        )
    return tensor
