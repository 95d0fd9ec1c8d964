# cython: language_level=3, boundscheck=False, binding=False, cdivision=True, initializedcheck=False
# cython: nonecheck=False, auto_pickle=False, embedsignature=True, embedsignature.format=clinic
"""Updates of captured graphs: calls that are made again, with tensors that nobody was kept from freeing, in old tasks' place."""
cimport cython
from libc.stdint cimport int64_t, uintptr_t

from mindtorch_v2._core cimport WATCH_PROFILE, Tensor, acl, cold, npu_error, watched

from mindtorch_v2._core import from_buffer
from mindtorch_v2._core_npu_memory import (
    npu_allocation, npu_begin_recording, npu_end_recording, npu_play_tape, npu_stop_tape,
)

cdef extern from "cpython_glue.h":      # for tracebacks without frames of the core
    pass

cdef frozenset PLAIN = frozenset((int, float, bool, str, complex, type(None)))     # nothing of a tensor in them


@cython.final
cdef class WeakTensor:
    """A tensor of an NPU that keeps its memory from nobody. Calling it gives the tensor, or None once that is freed.

    Memory that was allocated during a capture is the graph's, and so never freed before the graph is.
    """
    cdef Tensor alias
    cdef uintptr_t base
    cdef object serial         # of the allocation; 0: it is not freed before the graph is, or is not ours to know

    def __init__(self, tensor):
        if not isinstance(tensor, Tensor) or not tensor.is_npu:
            what = f"one on {tensor.device}" if isinstance(tensor, Tensor) else type(tensor).__name__
            raise TypeError(f"WeakTensor: expected a tensor on an NPU, got {what}")
        self.alias = from_buffer(None, tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype, tensor.device)
        self.base = tensor.untyped_storage().data_ptr()
        pool, serial = npu_allocation(self.base) or (0, 0)
        self.serial = 0 if pool else serial

    def __call__(self):
        """The tensor, without its memory's owner; None once that memory is freed."""
        return strong(self)

    def __repr__(self):
        state = "" if strong(self) is not None else ", freed"
        return f"<WeakTensor {tuple(self.alias.shape)} {self.alias.dtype} on {self.alias.device}{state}>"

    def __deepcopy__(self, memo):
        return self


cdef Tensor strong(WeakTensor weak):
    if weak.serial:
        allocation = npu_allocation(weak.base)
        if allocation is None or allocation[1] != weak.serial:
            return None
    return weak.alias


def call_again(function, list args not None, dict kwargs not None, taken):
    """Calls a captured function with what was kept of its arguments: plain values, weak tensors, and what ``taken`` makes.

    ``taken(where, value)`` is asked, by position or name, for the value in place of anything else and of a freed tensor.
    """
    cdef list given = []
    cdef dict named
    cdef Py_ssize_t i
    for i in range(len(args)):
        given.append(again(args[i], i, taken))
    if not kwargs:
        return function(*given)
    named = {name: again(value, name, taken) for name, value in kwargs.items()}
    return function(*given, **named)


cdef object again(object value, object where, object taken):
    cdef Tensor tensor
    if type(value) in PLAIN:
        return value
    if type(value) is WeakTensor:
        tensor = strong(<WeakTensor>value)
        if tensor is not None:
            return tensor
    return taken(where, value)


def npu_replace_tasks(uintptr_t stream, uintptr_t handle, list tape not None, run, list args not None, dict kwargs not None):
    """Calls ``run(args, kwargs)``; the tasks that it queues on a stream take the place of a task group's, by its handle.

    What it allocates there is what is on the tape. Raises ``NpuError`` where the tasks are others than the group's; then,
    and where ``run`` raises, nothing is replaced.
    """
    cdef int status
    cdef int64_t span = spanned("aclmdlRICaptureTaskUpdateBegin")
    with nogil:
        status = acl.begin_update(<void*>stream, <void*>handle)
    checked(status, span, "aclmdlRICaptureTaskUpdateBegin")
    npu_begin_recording(0, 0)
    try:
        npu_play_tape(tape, stream)
        try:
            run(args, kwargs)
        finally:
            npu_stop_tape()
    except BaseException:
        status = acl.end_update(<void*>stream)
        if status != 0:
            npu_error(status, "")                        # takes the library's message: with too few tasks nothing is replaced
        raise
    finally:
        npu_end_recording(0)
    span = spanned("aclmdlRICaptureTaskUpdateEnd")
    with nogil:
        status = acl.end_update(<void*>stream)
    checked(status, span, "aclmdlRICaptureTaskUpdateEnd")


def npu_record_event(uintptr_t event, uintptr_t stream):
    """Marks an event, by handle, as passed when a stream has done what it was given so far."""
    cdef int status
    cdef int64_t span = spanned("aclrtRecordEvent")
    with nogil:
        status = acl.record_event(<void*>event, <void*>stream)
    checked(status, span, "aclrtRecordEvent")


def npu_wait_event(uintptr_t stream, uintptr_t event):
    """Makes what a stream gets from now on wait for an event, by handle."""
    cdef int status
    cdef int64_t span = spanned("aclrtStreamWaitEvent")
    with nogil:
        status = acl.wait_event(<void*>stream, <void*>event)
    checked(status, span, "aclrtStreamWaitEvent")


cdef int64_t spanned(str symbol) except -2:
    return cold.open_span("event" if "Event" in symbol else "call", symbol) if watched & WATCH_PROFILE else -1


cdef int checked(int status, int64_t span, str symbol) except -1:
    cold.close_span(span)
    if status != 0:
        raise npu_error(status, symbol)
    return 0
