"""NPUs: kernels and how they are launched, devices, streams, events and memory. ``torch.npu`` in PyTorch's terms."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .._core import CType, DevicePointer, Kernel, TypedScalar, alloc, alloc_broadcast, alloc_like, c_types, tensor_ptr
from . import graphs, mindspore, timeline  # noqa: F401  (the timeline is what profilers ask)
from .build_errors import BuildError
from .commands import CommandBuffer, RuntimeContext, command_buffer, lookahead
from .copies import copy_
from .errors import DelegateError, NpuError, OutOfMemoryError, PlanError
from .fallback import fallback_report, reset_fallback_report
from .fallback import install as _install_fallback
from .graphs import (
    NPUGraph,
    NpuGraphOpHandler,
    graph,
    graph_pool_handle,
    make_graphed_callables,
    register_npu_graph_handler,
)
from .launcher import KernelLauncher, ascendc_load
from .memory import (
    empty_cache,
    get_per_process_memory_fraction,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)
from .operators import align_up, ascendc_op, ceil_div
from .random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from .recording import (
    graph_task_group_begin,
    graph_task_group_end,
    graph_task_update_begin,
    graph_task_update_end,
    is_current_stream_capturing,
)
from .runtime import (
    DeviceProperties,
    current_device,
    device_count,
    device_of,
    get_device_name,
    get_device_properties,
    init,
    is_available,
    is_initialized,
    is_simulated,
    set_device,
    synchronize,
)
from .runtime import is_simulated as _is_simulated
from .runtime import on_device as device
from .streams import (
    Event,
    ExternalEvent,
    ExternalStream,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    set_stream,
    stream,
)
from .structs import Struct, struct, tiling_struct, upload

if TYPE_CHECKING:
    from .delegates import BackendInitContext, Delegate, delegate_names, register_delegate
    from .kernel_profile import KernelProfile, profile_kernel
    from .lowering import LoweredModule, lower
    from .plans import ExecutionPlan, Operation, plan
    from .timeline_profile import profile

__all__ = [
    "BackendInitContext",
    "BuildError",
    "CType",
    "CommandBuffer",
    "Delegate",
    "DelegateError",
    "DevicePointer",
    "DeviceProperties",
    "Event",
    "ExecutionPlan",
    "ExternalEvent",
    "ExternalStream",
    "Kernel",
    "KernelLauncher",
    "KernelProfile",
    "LoweredModule",
    "NPUGraph",
    "NpuError",
    "NpuGraphOpHandler",
    "Operation",
    "OutOfMemoryError",
    "PlanError",
    "RuntimeContext",
    "Stream",
    "StreamContext",
    "Struct",
    "TypedScalar",
    "_is_simulated",
    "align_up",
    "alloc",
    "alloc_broadcast",
    "alloc_like",
    "ascendc_load",
    "ascendc_op",
    "bf16",
    "bool",
    "bool_",
    "ceil_div",
    "command_buffer",
    "context",
    "copy_",
    "current_device",
    "current_stream",
    "default_stream",
    "delegate_names",
    "desc",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "f16",
    "f32",
    "f64",
    "fallback_report",
    "get_device_name",
    "get_device_properties",
    "get_per_process_memory_fraction",
    "get_rng_state",
    "get_rng_state_all",
    "graph",
    "graph_pool_handle",
    "graph_task_group_begin",
    "graph_task_group_end",
    "graph_task_update_begin",
    "graph_task_update_end",
    "graphs",
    "host",
    "i8",
    "i16",
    "i32",
    "i64",
    "init",
    "initial_seed",
    "is_available",
    "is_current_stream_capturing",
    "is_initialized",
    "is_simulated",
    "lookahead",
    "lower",
    "make_graphed_callables",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "mindspore",
    "plan",
    "profile",
    "profile_kernel",
    "ptr",
    "register_delegate",
    "register_npu_graph_handler",
    "reset_accumulated_memory_stats",
    "reset_fallback_report",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "struct",
    "synchronize",
    "tensor_ptr",
    "tiling_struct",
    "u8",
    "u16",
    "u32",
    "u64",
    "upload",
]

ptr, host, desc, context = (c_types[name] for name in ("ptr", "host", "desc", "context"))
f16, bf16, f32, f64 = (c_types[name] for name in ("f16", "bf16", "f32", "f64"))
i8, i16, i32, i64 = (c_types[name] for name in ("i8", "i16", "i32", "i64"))
u8, u16, u32, u64 = (c_types[name] for name in ("u8", "u16", "u32", "u64"))
bool_ = bool = c_types["bool_"]

_install_fallback()


# What few programs use, by the file that has it: these stand above what the rest needs, and take time to load.
_LATER = {
    **dict.fromkeys(("KernelProfile", "profile_kernel"), "kernel_profile"),
    **dict.fromkeys(("ExecutionPlan", "Operation", "plan"), "plans"),
    **dict.fromkeys(("BackendInitContext", "Delegate", "delegate_names", "register_delegate"), "delegates"),
    **dict.fromkeys(("LoweredModule", "lower"), "lowering"),
    "profile": "timeline_profile",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
