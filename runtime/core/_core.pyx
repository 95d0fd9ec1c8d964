# cython: language_level=3, boundscheck=False, binding=False, cdivision=True, initializedcheck=False
# cython: nonecheck=False, auto_pickle=False, embedsignature=True, embedsignature.format=clinic
"""The compiled core of mindtorch_v2: what runs on every operator call.

One included file an idea; `_core.pxd` is what they and the cold parts know of one another. What calls seldom come to is a module
of its own (`cold/`), imported at the end; what has nothing to do with calls stays in Python.
"""
import os
import sys
import threading

cimport cython
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_New, PyTuple_SET_ITEM
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

include "cpython_glue.pxi"
include "hooks.pxi"
include "dtype.pxi"
include "keys.pxi"
include "narrow_dtypes.pxi"
include "device.pxi"
include "storage.pxi"
include "copy_on_write.pxi"
include "operator_calls.pxi"
include "size.pxi"
include "tensor.pxi"
include "tensor_state.pxi"
include "tangents.pxi"
include "subclasses.pxi"
include "watched_attributes.pxi"
include "geometry.pxi"
include "views.pxi"
include "lazy_values.pxi"
include "view_operators.pxi"
include "binding.pxi"
include "conversion.pxi"
include "dispatch.pxi"
include "named_results.pxi"
include "results.pxi"
include "dispatch_table.pxi"
include "devices.pxi"
include "overlap.pxi"
include "packet.pxi"
include "callables.pxi"
include "indexing.pxi"
include "node.pxi"
include "node_types.pxi"
include "parking.pxi"
include "registered_attributes.pxi"
include "module_call.pxi"
include "context.pxi"
include "autograd.pxi"
include "versions.pxi"
include "autograd_fallback.pxi"
include "graph_hooks.pxi"
include "graph_task.pxi"
include "gradient_hooks.pxi"
include "engine.pxi"
include "backward_entry.pxi"
include "conversion_methods.pxi"
include "launch.pxi"
include "launch_by_name.pxi"
include "memory_formats.pxi"
include "joining.pxi"
include "elements.pxi"
include "picking.pxi"
include "creation.pxi"
include "usual_launches.pxi"
include "usual_windows.pxi"
include "usual_rows.pxi"
include "usual_arrangements.pxi"
include "plan_program.pxi"
include "plan_numbers.pxi"
include "plan_shapes.pxi"
include "plan_objects.pxi"
include "plan_launch.pxi"
include "plan_kernel.pxi"
include "plan_gradient.pxi"
include "npu.pxi"

# What the cold parts define for Python is found here too: one face of several modules.
from mindtorch_v2._core_failures import (
    IndexOutOfRangeError, KernelArgumentError, KernelError, KernelOverflowError,
)
from mindtorch_v2._core_forward import (
    adopt_, adopt_input_, apart, born, copy_tangents_, hidden_tangents, hide_tangents_, highest_tangent_level, leaf,
    reaches_other_leaves, retire_, run_backward_formula, running_transform, set_tangent_, set_tangent_view_, set_transform_, tangent,
    tangent_levels, tangent_owner, without_history,
)
from mindtorch_v2._core_function import (
    base_setup_context, forget_marks_, function_apply, function_tangents, is_differentiable_output, new_function_context,
    record_function,
)
from mindtorch_v2._core_commands import (
    CommandBuffer, Course, Run, RuntimeContext, bind_waiting, command_buffer, host_waits, in_run, runtime_context,
)
from mindtorch_v2._core_delegates import Forms, GraphReplay, LoweredCall, LoweredKernel
from mindtorch_v2._core_profiling import (
    Span, clock_ns, close_span, open_span, profiler_begin, profiler_dropped, profiler_end, profiler_forget, profiler_records, span,
)
from mindtorch_v2._core_npu_memory import (
    npu_allocation, npu_begin_recording, npu_bind, npu_copy_within, npu_empty_cache, npu_end_recording, npu_end_tape,
    npu_give_up_pool, npu_limit_memory, npu_memory, npu_play_tape, npu_pools, npu_record_stream, npu_recording, npu_replay,
    npu_reset_accumulated_memory, npu_reset_peak_memory, npu_stop_tape, npu_tape_allocations,
)
from mindtorch_v2._core_graph_updates import (
    WeakTensor, call_again, npu_record_event, npu_replace_tasks, npu_wait_event,
)
from mindtorch_v2._core_saved_values import SavedTensor
from mindtorch_v2._core_random import Generator, set_default_generator, source_of

from mindtorch_v2._core_inplace_views import view_in_place

import mindtorch_v2._core_misfits        # defines nothing for Python
