"""``torch.accelerator``: what a program asks of the one kind of accelerator, whichever it is. Here that is the NPU."""

from __future__ import annotations

from typing import Any

from . import npu
from ._core import device as Device

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "get_memory_info",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]


def is_available() -> bool:
    """Whether there is an accelerator."""
    return npu.is_available()


def device_count() -> int:
    """How many there are."""
    return npu.device_count() if npu.is_available() else 0


def current_accelerator(check_available: bool = False) -> Device | None:
    """The accelerator's device type, without an index; None where there is none."""
    return Device("npu") if npu.is_available() else None


def _module() -> Any:
    if not npu.is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return npu


def _index(device: Any) -> int:
    """A device's number. Raises ValueError for one of another type."""
    if device is None:
        return current_device_index()
    if isinstance(device, int):
        return device
    found = Device(device)
    if found.type != "npu":
        raise ValueError(f"{found.type} doesn't match the current accelerator npu.")
    return current_device_index() if found.index is None else found.index


def current_device_index() -> int:
    """The number of the thread's device. Raises RuntimeError where there is no accelerator."""
    index: int = _module().current_device()
    return index


def set_device_index(device: Any, /) -> None:
    """Makes a device the thread's; None and negative numbers leave it as it is."""
    module = _module()
    index = None if device is None else _index(device)
    if index is not None and index >= 0:
        module.set_device(index)


current_device_idx, set_device_idx = current_device_index, set_device_index


class device_index:  # noqa: N801  (PyTorch's name)
    """``with device_index(1):`` that device is the thread's; None changes nothing."""

    def __init__(self, device: int | None, /) -> None:
        self.idx, self.prev_idx = device, -1

    def __enter__(self) -> None:
        if self.idx is not None:
            self.prev_idx = current_device_index()
            set_device_index(self.idx)

    def __exit__(self, *exc: object) -> None:
        if self.idx is not None:
            set_device_index(self.prev_idx)


def current_stream(device: Any = None, /) -> Any:
    """The stream that work on a device is queued to."""
    return _module().current_stream(_index(device))


def set_stream(stream: Any) -> None:
    """Makes a stream its device's current one."""
    _module().set_stream(stream)


def synchronize(device: Any = None, /) -> None:
    """Waits for all that a device has to do."""
    _module().synchronize(_index(device))


def empty_cache() -> None:
    """Gives memory back that no tensor uses."""
    _module().empty_cache()


def memory_stats(device_index: Any = None, /) -> dict[str, Any]:
    """What an accelerator's allocator has counted; nothing where there is none."""
    found: dict[str, Any] = _module().memory_stats(_index(device_index))
    return found


def memory_allocated(device_index: Any = None, /) -> int:
    """Bytes that tensors have."""
    return int(_module().memory_allocated(_index(device_index)))


def max_memory_allocated(device_index: Any = None, /) -> int:
    """The most bytes that tensors have had."""
    return int(_module().max_memory_allocated(_index(device_index)))


def memory_reserved(device_index: Any = None, /) -> int:
    """Bytes that the allocator holds."""
    return int(_module().memory_reserved(_index(device_index)))


def max_memory_reserved(device_index: Any = None, /) -> int:
    """The most bytes that the allocator has held."""
    return int(_module().max_memory_reserved(_index(device_index)))


def reset_peak_memory_stats(device_index: Any = None, /) -> None:
    """Counts the most anew, from now on."""
    _module().reset_peak_memory_stats(_index(device_index))


def reset_accumulated_memory_stats(device_index: Any = None, /) -> None:
    """Counts what adds up anew, from now on."""
    _module().reset_accumulated_memory_stats(_index(device_index))


def get_memory_info(device_index: Any = None, /) -> tuple[int, int]:
    """Bytes of a device's memory that are free, and all of them."""
    free, total = _module().mem_get_info(_index(device_index))
    return free, total
