"""NPU memory as PyTorch reports it: counters of the caching allocator, its cache and its limit."""

from __future__ import annotations

import ctypes
import math

from .. import _core
from . import acl
from .runtime import DeviceLike, index_of, is_initialized, on_device, opened

__all__ = [
    "allocate_host",
    "empty_cache",
    "free_host",
    "get_per_process_memory_fraction",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
]

_Counters = dict[str, tuple[int, int, int]]  # name -> (now, peak, ever added)

# What is counted -> what the summary calls it, and whether it is bytes.
_SUMMARY = {
    "allocated_bytes": ("Allocated memory", True),
    "requested_bytes": ("Requested memory", True),
    "reserved_bytes": ("Reserved memory", True),
    "allocation": ("Allocations", False),
    "segment": ("Reserved segments", False),
}


def _counters(device: DeviceLike) -> tuple[_Counters, int, int]:
    return _core.npu_memory(index_of(device))


def allocate_host(nbytes: int, index: int) -> int:
    """The address of host memory that NPUs reach by themselves."""
    address = ctypes.c_void_p()
    with on_device(None):
        opened().call("aclrtMallocHost", ctypes.byref(address), nbytes)
    return address.value or 0


def free_host(address: int, nbytes: int, index: int) -> None:
    """Gives back what `allocate_host` gave."""
    with on_device(None):  # the thread that drops the last tensor need not have used an NPU
        opened().call("aclrtFreeHost", address)


def mem_get_info(device: DeviceLike = None) -> tuple[int, int]:
    """(free, total) bytes of an NPU."""
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    with on_device(device):
        opened().call("aclrtGetMemInfo", acl.HBM, ctypes.byref(free), ctypes.byref(total))
    return free.value, total.value


def memory_allocated(device: DeviceLike = None) -> int:
    """Bytes in live tensors of an NPU."""
    return _counters(device)[0]["allocated_bytes"][0]


def max_memory_allocated(device: DeviceLike = None) -> int:
    """Peak bytes in live tensors since the start, or since ``reset_peak_memory_stats``."""
    return _counters(device)[0]["allocated_bytes"][1]


def memory_reserved(device: DeviceLike = None) -> int:
    """Bytes held by the allocator, its cache and the memory of captured graphs included."""
    return _counters(device)[0]["reserved_bytes"][0]


def max_memory_reserved(device: DeviceLike = None) -> int:
    """Peak bytes held by the allocator since the start, or since ``reset_peak_memory_stats``."""
    return _counters(device)[0]["reserved_bytes"][1]


def memory_stats(device: DeviceLike = None) -> dict[str, int]:
    """The allocator's counters by PyTorch's names, sorted.

    ``<what>.all.<metric>``, where ``what`` is ``allocation``, ``segment``, ``active`` or ``inactive_split``, their
    ``_bytes`` (``reserved_bytes`` for segments), or ``requested_bytes``, and ``metric`` is ``current``, ``peak``,
    ``allocated`` (ever) or ``freed`` (ever). There is one pool, so none is told apart from ``all``; blocks are never
    split. With them ``num_alloc_retries`` (the cache was emptied), ``num_ooms``, ``num_device_alloc`` and
    ``num_device_free``. Memory of captured graphs is told by ``allocated_bytes.graph_pools.current`` and
    ``reserved_bytes.graph_pools.current``, and for each pool, by the number in its token, as ``graph_pool_3``.
    """
    counters, retries, failures = _counters(device)
    nothing = (0, 0, 0)
    named = {
        **counters,
        "active": counters["allocation"],
        "active_bytes": counters["allocated_bytes"],
        "inactive_split": nothing,
        "inactive_split_bytes": nothing,
    }
    stats = {"num_alloc_retries": retries, "num_ooms": failures}
    for what, (now, peak, ever) in named.items():
        metrics = {"current": now, "peak": peak, "allocated": ever, "freed": ever - now}
        stats.update((f"{what}.all.{metric}", value) for metric, value in metrics.items())
    pools = _core.npu_pools(index_of(device))
    sums = [sum(sizes) for sizes in zip(*pools.values(), strict=True)] if pools else [0, 0]
    for name, sizes in [("graph_pools", sums), *((f"graph_pool_{number}", each) for number, each in pools.items())]:
        stats[f"allocated_bytes.{name}.current"], stats[f"reserved_bytes.{name}.current"] = sizes
    stats["num_device_alloc"] = stats["segment.all.allocated"]
    stats["num_device_free"] = stats["segment.all.freed"]
    return dict(sorted(stats.items()))


def memory_summary(device: DeviceLike = None, abbreviated: bool = False) -> str:
    """A table of the counters to read; ``abbreviated`` leaves out all but what tensors hold and what is reserved."""
    counters, retries, failures = _counters(device)
    names = ("allocated_bytes", "reserved_bytes") if abbreviated else tuple(_SUMMARY)
    header = f"| {'Metric':<18} | {'Cur Usage':>11} | {'Peak Usage':>11} | {'Tot Alloc':>11} | {'Tot Freed':>11} |"
    bar = "-" * len(header)
    title = f"memory of npu:{index_of(device)}; out of memory: {failures}; cache emptied to allocate: {retries}"
    lines = [bar, f"| {title:<{len(header) - 4}} |", bar, header, bar]
    for name in names:
        label, in_bytes = _SUMMARY[name]
        now, peak, ever = counters[name]
        cells = (_readable(value) if in_bytes else str(value) for value in (now, peak, ever, ever - now))
        lines.append(f"| {label:<18} | {' | '.join(f'{cell:>11}' for cell in cells)} |")
    return "\n".join([*lines, bar])


def _readable(nbytes: int) -> str:
    power = 0 if nbytes < 1024 else min(int(math.log(nbytes, 1024)), 4)
    return f"{nbytes // 1024**power} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


def reset_peak_memory_stats(device: DeviceLike = None) -> None:
    """Starts the peaks over at what is held now."""
    _core.npu_reset_peak_memory(index_of(device))


def reset_accumulated_memory_stats(device: DeviceLike = None) -> None:
    """Starts over what counts since the start: memory ever allocated and freed, retries and failures."""
    _core.npu_reset_accumulated_memory(index_of(device))


def empty_cache() -> None:
    """Gives cached memory back to the devices; waits for those that have some."""
    if is_initialized():
        _core.npu_empty_cache()


_fractions: dict[int, float] = {}


def set_per_process_memory_fraction(fraction: float, device: DeviceLike = None) -> None:
    """Limits what this process reserves on an NPU to a part, 0 to 1, of its memory; beyond is out of memory."""
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    index = index_of(device)
    _fractions[index] = fraction
    # One byte stands for a limit of 0, which means that there is none.
    _core.npu_limit_memory(index, 0 if fraction == 1 else max(1, int(fraction * mem_get_info(index)[1])))


def get_per_process_memory_fraction(device: DeviceLike = None) -> float:
    """The part of an NPU's memory that this process may reserve."""
    return _fractions.get(index_of(device), 1.0)
