"""NPUs as PyTorch presents accelerators: start-up and devices."""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from .. import _core
from .._argument_types import names_wrong_types
from .._core import Tensor
from .._core import device as Device
from .._managers import not_entered
from . import acl
from .acl import Acl

DeviceLike = Device | str | int | None

_lock = threading.Lock()
_library: Acl | None = None
at_open: list[Callable[[Acl], None]] = []  # called once the library is open
at_exit: list[Callable[[], None]] = []  # called before the process waits for queued work


def init() -> None:
    """Opens the ACL library and makes NPU memory allocatable; called on first use, a repeat does nothing."""
    opened()


def opened() -> Acl:
    """The ACL library, opened and bound to the core."""
    global _library
    if _library is None:
        with _lock:
            if _library is None:
                library = acl.library()
                _core.npu_bind({symbol: library.address(symbol) for symbol in acl.SIGNATURES}, library.error)
                _core.bind_waiting(library.wait_on)
                _core.npu_set_blocking(os.environ.get("MINDTORCH_LAUNCH_BLOCKING", "0") == "1")
                atexit.register(_finish)
                _library = library
                for tell in at_open:
                    tell(library)
    return _library


def _finish() -> None:
    """Lets queued work end before the interpreter takes away what it uses; a fault found here is nobody's any more."""
    if opened().forked:
        return  # the work, and the threads that do it, are the parent's
    for release in at_exit:
        release()
    for index in range(device_count()):
        with on_device(index):
            opened().functions["aclrtSynchronizeDevice"]()


# ---------------------------------------------------------------- devices
def is_available() -> bool:
    """Whether there is an NPU, real or simulated."""
    try:
        return device_count() > 0
    except (OSError, RuntimeError):
        return False


def is_initialized() -> bool:
    """Whether the NPU's library has been opened."""
    return _library is not None


def is_simulated() -> bool:
    """Whether the NPUs are simulated ones."""
    return opened().simulated


def device_count() -> int:
    """The number of NPUs."""
    return _count()


@functools.cache
def _count() -> int:
    count = ctypes.c_uint32()
    opened().call("aclrtGetDeviceCount", ctypes.byref(count))
    return count.value


def current_device() -> int:
    """Index of the calling thread's current NPU; 0 at start."""
    return _core.npu_current_device()


def set_device(device: DeviceLike) -> None:
    """Makes an NPU (index, ``"npu:1"`` or a device) the calling thread's."""
    _core.npu_set_device(index_of(device))


class on_device:  # noqa: N801  (a context manager, exported as `npu.device`)
    """``with npu.device(1):`` makes an NPU the calling thread's."""

    def __init__(self, device: DeviceLike) -> None:
        self.index = index_of(device)
        self._previous: int | None = None

    def __enter__(self) -> None:
        self._previous = _core.npu_set_device(self.index)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._previous is None:
            raise not_entered(self)
        _core.npu_set_device(self._previous)


class device_of(on_device):  # noqa: N801  (named as PyTorch names it)
    """``with npu.device_of(tensor):`` makes the tensor's NPU the calling thread's; does nothing for one elsewhere."""

    @names_wrong_types
    def __init__(self, obj: Tensor) -> None:
        super().__init__(obj.get_device() if obj.is_npu else None)


def get_device_name(device: DeviceLike = None) -> str:
    """The chip's name; that of a simulated NPU ends in ``-sim``."""
    with on_device(device):
        name = opened().functions["aclrtGetSocName"]()
    return name.decode() if name else "unknown"


@dataclass(frozen=True)
class DeviceProperties:
    """What is known of an NPU. ``total_memory`` is in bytes."""

    name: str
    total_memory: int


def get_device_properties(device: DeviceLike = None) -> DeviceProperties:
    """Name and memory of an NPU."""
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    with on_device(device):
        opened().call("aclrtGetMemInfo", acl.HBM, ctypes.byref(free), ctypes.byref(total))
    return DeviceProperties(get_device_name(device), total.value)


def index_of(device: DeviceLike) -> int:
    """The index of an NPU given in any way; None is the current one. Raises for another type or no such device."""
    if device is None:
        return current_device()
    if isinstance(device, int):
        index = device
    else:
        device = Device(device)
        if device.type != "npu":
            raise ValueError(f"expected an npu device, got {device}")
        index = current_device() if device.index is None else device.index
    count = device_count()
    if not 0 <= index < count:
        raise RuntimeError(f"npu:{index} does not exist: there are {count} NPUs, npu:0 to npu:{count - 1}")
    return index


def synchronize(device: DeviceLike = None) -> None:
    """Waits for all work on an NPU; raises ``NpuError`` where some of it failed."""
    with on_device(device):
        opened().call("aclrtSynchronizeDevice")
