"""DLPack: tensors over the memory of arrays of other libraries, and the other way round, without a copy."""

from __future__ import annotations

import enum
from typing import Any

from . import _core
from ._core import Tensor
from ._core_dlpack import from_capsule, to_capsule

__all__ = ["DLDeviceType", "dlpack", "dlpack_device", "from_dlpack", "is_capsule", "to_dlpack"]

_CAPSULE = "PyCapsule"  # CPython's class of capsules, which has no name in Python


class DLDeviceType(enum.IntEnum):
    """DLPack's numbers of device types (dmlc/dlpack, dlpack.h)."""

    kDLCPU = 1  # noqa: N815
    kDLCUDA = 2  # noqa: N815
    kDLCUDAHost = 3  # noqa: N815
    kDLOpenCL = 4  # noqa: N815
    kDLVulkan = 7  # noqa: N815
    kDLMetal = 8  # noqa: N815
    kDLVPI = 9  # noqa: N815
    kDLROCM = 10  # noqa: N815
    kDLROCMHost = 11  # noqa: N815
    kDLExtDev = 12  # noqa: N815
    kDLCUDAManaged = 13  # noqa: N815
    kDLOneAPI = 14  # noqa: N815
    kDLWebGPU = 15  # noqa: N815
    kDLHexagon = 16  # noqa: N815
    kDLMAIA = 17  # noqa: N815


_DEVICES = {"cpu": DLDeviceType.kDLCPU, "npu": DLDeviceType.kDLExtDev, "cuda": DLDeviceType.kDLCUDA}


def is_capsule(value: Any) -> bool:
    """Whether a value is a capsule."""
    return type(value).__name__ == _CAPSULE


def dlpack_device(self: Tensor) -> tuple[DLDeviceType, int]:
    """DLPack's device type and index. Raises ValueError for a device that it has no number of."""
    device = self.device
    if device.type not in _DEVICES:
        raise ValueError(f"Unknown device type {device.type} for Dlpack")
    return _DEVICES[device.type], device.index or 0


def dlpack(self: Tensor, stream: Any, dl_device: tuple[int, int] | None, copy: bool | None) -> Any:
    """A capsule over the tensor's memory, or with ``copy`` over a copy of it.

    Raises BufferError where the tensor requires grad, is not on the CPU, or is asked for on another device.
    """
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if _core.is_lazy(self):
        bit = "conjugate" if _core.is_kept(self, "Conjugate") else "negative"
        raise BufferError(f"Can't export tensors with the {bit} bit set, use tensor.resolve_conj().resolve_neg()")
    if stream is not None and type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``")
    if dl_device is not None and tuple(dl_device) != dlpack_device(self):
        raise BufferError(f"DLPack: the tensor is on device {dlpack_device(self)}, not on {tuple(dl_device)}")
    return to_capsule(self.clone() if copy else self)


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule over a tensor's memory, of the form without a version."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"to_dlpack(): argument 'tensor' (position 1) must be Tensor, not {type(tensor).__name__}")
    return dlpack(tensor, None, None, None)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of an array of another library, or of a capsule, which can be taken once.

    ``copy`` True asks for memory of its own, False for none. Raises ValueError where ``copy`` is False and ``device``
    another than the array's.
    """
    if is_capsule(ext_tensor):
        if device is not None or copy is not None:
            raise AssertionError("device and copy kwargs not supported when ext_tensor is already a DLPack capsule.")
        whole: Tensor = from_capsule(ext_tensor)
        return whole
    if not hasattr(ext_tensor, "__dlpack__"):
        raise TypeError(
            f"from_dlpack: expected an array with __dlpack__, or a capsule, got {type(ext_tensor).__name__}"
        )
    result: Tensor = from_capsule(ext_tensor.__dlpack__())
    moved: Tensor = result if device is None else result.to(device)
    if copy is False and moved is not result:
        raise ValueError(
            f"cannot move DLPack tensor from device {result.device} to {moved.device} without copying. Set copy=None "
            "or copy=True."
        )
    return moved.clone() if copy and moved is result else moved
