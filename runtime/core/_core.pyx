# cython: language_level=3, boundscheck=False, binding=False, cdivision=True, initializedcheck=False
# cython: nonecheck=False, auto_pickle=False, embedsignature=True, embedsignature.format=clinic
"""The compiled core of mindtorch_v2: what runs on every operator call.

One extension module, one included file an idea. What is not hot stays in Python.
"""
import os
import sys
import threading

cimport cython
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

include "cpython_glue.pxi"
include "hooks.pxi"
include "dtype.pxi"
include "keys.pxi"
include "device.pxi"
include "storage.pxi"
include "operator_calls.pxi"
include "size.pxi"
include "tensor.pxi"
include "tensor_state.pxi"
include "subclasses.pxi"
include "watched_attributes.pxi"
include "geometry.pxi"
include "views.pxi"
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
include "autograd.pxi"
include "versions.pxi"
include "autograd_fallback.pxi"
include "graph_hooks.pxi"
include "inplace_views.pxi"
include "forward.pxi"
include "graph_task.pxi"
include "gradient_hooks.pxi"
include "engine.pxi"
include "backward_entry.pxi"
include "conversion_methods.pxi"
include "function.pxi"
include "launch.pxi"
include "launch_by_name.pxi"
include "joining.pxi"
include "failures.pxi"
include "plan_program.pxi"
include "plan_numbers.pxi"
include "plan_shapes.pxi"
include "plan_objects.pxi"
include "plan_launch.pxi"
include "plan_kernel.pxi"
include "plan_gradient.pxi"
include "saved_values.pxi"
include "npu.pxi"
include "npu_memory.pxi"
