"""``torch.cuda``: programs may ask for CUDA devices, and there are none: nothing allocates memory there.

Questions have true answers (no device, no memory in use), what is for all devices does nothing, and what needs a device
raises AssertionError, as PyTorch does where it was built without CUDA.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, NoReturn

from .._core import OutOfMemoryError, Tensor
from .._legacy_types import cuda_types
from .._storages import CUDA as _STORAGES

__all__ = [
    "CUDAGraph",
    "Event",
    "OutOfMemoryError",
    "Stream",
    "StreamContext",
    "can_device_access_peer",
    "current_device",
    "current_stream",
    "default_generators",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_gencode_flags",
    "get_rng_state",
    "get_rng_state_all",
    "graph",
    "has_half",
    "has_magma",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "is_tf32_supported",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
]

globals().update(cuda_types | _STORAGES)  # FloatTensor, FloatStorage and their kin
default_generators: tuple[Any, ...] = ()
has_half, has_magma = True, False


def _refuse() -> NoReturn:
    raise AssertionError("Torch not compiled with CUDA enabled: there are no CUDA devices here")


# ---------------------------------------------------------------- what there is
def is_available() -> bool:
    """Whether there is such a device."""
    return False


def is_initialized() -> bool:
    """Whether one is in use."""
    return False


def device_count() -> int:
    """How many there are."""
    return 0


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the current one computes in bfloat16."""
    return False


def is_tf32_supported() -> bool:
    """Whether the current one computes in TensorFloat-32."""
    return False


def get_arch_list() -> list[str]:
    """The devices that there are kernels for."""
    return []


def get_gencode_flags() -> str:
    """The options that kernels were compiled with."""
    return ""


def current_device() -> NoReturn:
    """Raises AssertionError."""
    _refuse()


def init() -> NoReturn:
    """Raises AssertionError."""
    _refuse()


def get_device_name(device: Any = None) -> NoReturn:
    """Raises AssertionError."""
    _refuse()


def get_device_capability(device: Any = None) -> NoReturn:
    """Raises AssertionError."""
    _refuse()


def get_device_properties(device: Any = None) -> NoReturn:
    """Raises AssertionError."""
    _refuse()


def can_device_access_peer(device: Any, peer_device: Any) -> NoReturn:
    """Raises AssertionError."""
    _refuse()


def set_device(device: Any) -> NoReturn:
    """Raises AssertionError."""
    _refuse()


def synchronize(device: Any = None) -> NoReturn:
    """Raises AssertionError."""
    _refuse()


class device:  # noqa: N801  (PyTorch's name)
    """``with device(1):`` that one is the thread's. A negative number, or None, is none, and changes nothing."""

    def __init__(self, device: Any) -> None:
        self.idx, self.prev_idx = (-1 if device is None else device), -1

    def __enter__(self) -> None:
        if not (isinstance(self.idx, int) and self.idx < 0):
            _refuse()

    def __exit__(self, *exc: object) -> None:
        pass


class device_of(device):  # noqa: N801  (PyTorch's name)
    """``with device_of(tensor):`` the tensor's is the thread's; of a tensor elsewhere nothing changes."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if getattr(obj, "is_cuda", False) else -1)


# ---------------------------------------------------------------- streams
class Stream:
    """Raises RuntimeError: streams are of a device."""

    def __init__(self, device: Any = None, priority: int = 0, **options: Any) -> None:
        raise RuntimeError("torch.cuda.Stream requires CUDA support")


class Event:
    """Raises RuntimeError: events are of a device."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
    ) -> None:
        raise RuntimeError("torch.cuda.Event requires CUDA support")


def is_current_stream_capturing() -> bool:
    """Whether a graph is being captured."""
    return False


class CUDAGraph:
    """Raises RuntimeError: graphs are of a device. Those of an NPU are `torch.npu.NPUGraph`."""

    def __init__(self, keep_graph: bool = False) -> None:
        raise RuntimeError("torch.cuda.CUDAGraph requires CUDA support")


class graph:  # noqa: N801  (PyTorch's name)
    """Raises RuntimeError, as `CUDAGraph`."""

    def __init__(
        self, cuda_graph: Any, pool: Any = None, stream: Any = None, capture_error_mode: str = "global"
    ) -> None:
        raise RuntimeError("torch.cuda.graph requires CUDA support")


class StreamContext:
    """``with stream(s):`` work goes to a stream; None, which is all there is, changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass


def stream(stream: Stream | None) -> StreamContext:
    """`StreamContext`."""
    return StreamContext(stream)


def set_stream(stream: Stream | None) -> None:
    """Makes a stream the current one; None changes nothing."""


def current_stream(device: Any = None) -> NoReturn:
    """Raises AssertionError."""
    _refuse()


def default_stream(device: Any = None) -> NoReturn:
    """Raises AssertionError."""
    _refuse()


# ---------------------------------------------------------------- memory
def memory_allocated(device: Any = None) -> int:
    """Bytes that tensors have there."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_cached = max_memory_cached = memory_allocated


def memory_stats(device: Any = None) -> dict[str, Any]:
    """What an allocator has counted."""
    return OrderedDict()


def empty_cache() -> None:
    """Gives memory back that no tensor uses: there is none."""


def reset_peak_memory_stats(device: Any = None) -> None:
    """Counts the most memory in use anew."""


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def mem_get_info(device: Any = None) -> NoReturn:
    """Raises AssertionError."""
    _refuse()


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> NoReturn:
    """Raises AssertionError."""
    _refuse()


def ipc_collect() -> NoReturn:
    """Raises AssertionError."""
    _refuse()


# ---------------------------------------------------------------- random numbers
def manual_seed(seed: int) -> None:
    """Seeds the current device's generator: there is none."""
    int(seed)


manual_seed_all = manual_seed


def seed() -> None:
    """Seeds the current device's generator anew: there is none."""


seed_all = seed


def initial_seed() -> NoReturn:
    """Raises AssertionError."""
    _refuse()


def get_rng_state(device: Any = "cuda") -> NoReturn:
    """Raises AssertionError."""
    _refuse()


def get_rng_state_all() -> list[Tensor]:
    """The states of all generators."""
    return []


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Sets a generator's state: there is none."""


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Sets all generators' states. Raises AssertionError where there is a state for one."""
    if list(new_states):
        _refuse()


def __getattr__(name: str) -> Any:
    if name == "amp":
        from .amp import __name__ as found

        return sys.modules[found]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
