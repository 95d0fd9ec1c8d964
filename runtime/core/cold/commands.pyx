# cython: language_level=3, boundscheck=False, binding=False, cdivision=True, initializedcheck=False
# cython: nonecheck=False, auto_pickle=False, embedsignature=True, embedsignature.format=clinic
"""Runs of operations, one ahead: what a kernel is told of the next one, and where work is committed and waited for.

A `Run` hears of a thread's operations as they arrive: calls of operators at a backend, outside of one another. The next
operation of each is known in one of two ways. A plan (`Course`) has them all. Without one the run looks ahead by one: a
launch that asks for its context is held back until the next operation arrives, or until somebody asks for its stream.
Either way there is one moment at which an operation and its next are both known, and there it is decided whether the
command buffer goes on.
"""
import threading

cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t, int64_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from mindtorch_v2._core cimport (
    ARG_OPT_TENSOR_LIST, ARG_TENSOR, ARG_TENSOR_LIST, KEY_NPU, MAX_KERNEL_ARGS, MT_FLOAT_REGISTERS, MT_INT_REGISTERS, MT_MAX_NPUS,
    MT_NEXT_DELEGATE, MT_NEXT_END, MT_NEXT_KERNEL, MT_NEXT_UNKNOWN, WATCH_PROFILE, Bound, Kernel, OpOverload, Tensor, acl,
    as_device, cold, device, device_at, kernel_context, mt_context,
    mt_frame, mt_state_t, npu_enter, npu_error, npu_recordings, npu_stream_of, operators, queue_launch, thread_state,
    watched,
)

cdef extern from "cpython_glue.h":      # for tracebacks without frames of the core
    pass

cdef list NEXT_NAMES = ["unknown", "end", "kernel", "delegate"]

include "commands/buffers.pxi"
include "commands/courses.pxi"


# ---------------------------------------------------------------- contexts
@cython.final
cdef class RuntimeContext:
    """What a kernel of Python or a delegate is told of where it runs and of what comes next."""
    cdef readonly str next_kind            # "kernel", "delegate", "end" or "unknown"
    cdef int code, index, next_code, next_index
    cdef readonly int64_t position         # in the plan, or since the lookahead began; -1: there is neither
    cdef readonly object plan              # the ExecutionPlan that is followed, or None
    cdef readonly bint commit_and_continue # whether work may stay encoded

    def __init__(self):
        raise TypeError("a RuntimeContext is what the runtime gives a kernel or a delegate")

    @property
    def device(self):
        """Where this operation runs; None where no run is followed."""
        return device_at(self.code, self.index) if self.code else None

    @property
    def next_device(self):
        """Where the next operation runs; None where that is not known, and at the end."""
        return device_at(self.next_code, self.next_index) if self.next_code else None

    def __repr__(self):
        following = self.next_kind if self.next_device is None else f"{self.next_kind} on {self.next_device}"
        return f"<RuntimeContext position={self.position}, next: {following}, commit_and_continue={self.commit_and_continue}>"


def runtime_context():
    """The context of the operation that runs on this thread."""
    cdef mt_context* told = kernel_context()
    cdef Run run = current_run()
    cdef RuntimeContext made = RuntimeContext.__new__(RuntimeContext)
    made.next_kind = <str>NEXT_NAMES[told.next]
    made.position, made.commit_and_continue = told.position, told.commit_and_continue
    if run is not None:
        made.plan = run.plan
        made.code, made.index = told.device, told.device_index
        made.next_code, made.next_index = told.next_device, told.next_device_index
    return made


# ---------------------------------------------------------------- runs
cdef inline Run current_run():
    cdef void* run = thread_state().run
    return None if run == NULL else <Run>run


cdef struct Manner:
    # How a thread's calls are dispatched, of `mt_state_t`: a call that is held back runs as it would have where it was made.
    uint64_t included, excluded, withheld
    int grad_off


cdef inline Manner manner_of(mt_state_t* state) noexcept:
    cdef Manner found
    found.included, found.excluded, found.withheld, found.grad_off = state.included, state.excluded, state.withheld, state.grad_off
    return found


cdef inline void take_manner(mt_state_t* state, Manner manner) noexcept:
    state.included, state.excluded, state.withheld, state.grad_off = manner.included, manner.excluded, manner.withheld, manner.grad_off


@cython.final
cdef class Run:
    """The operations of one thread, from ``begin`` to ``end``, of which each learns what comes next.

    ``course`` and ``plan`` are what the run has to follow; without them it looks ahead by one. ``log`` is a list that gets
    ``("encode" | "commit" | "wait", device, operation)`` as they happen.
    """
    cdef Course course
    cdef readonly object plan
    cdef readonly list log
    cdef readonly int64_t position         # of the next operation
    cdef list table                        # the thread's command buffers
    cdef CommandBuffer recent              # the one that was used last, or None
    cdef void* outer                       # the run that this one is inside of
    cdef mt_context outer_context
    cdef bint begun
    cdef bint inside, viewing              # an operation runs; or a view, which is none
    # the latest operation, until its next is known
    cdef bint open
    cdef int kind, code, index
    cdef str what                          # its name
    cdef int pieces                        # that it has queued
    cdef void* stream                      # on which
    # of a launch or a call that is held back
    cdef bint holds
    cdef Kernel held_kernel
    cdef mt_frame held_frame
    cdef PyObject* held_values[MAX_KERNEL_ARGS]    # the arguments of the launch, owned
    cdef Py_ssize_t held_count
    cdef list held_views
    cdef int held_index
    cdef void* held_stream
    cdef object held_call
    cdef tuple held_args                   # of the call
    cdef Manner held_manner

    def __init__(self, Course course=None, plan=None, list log=None):
        self.course, self.plan, self.log = course, plan, log

    def begin(self):
        """The calling thread's operations are this run's from now on, until ``end``."""
        global logged
        if self.begun:
            raise RuntimeError("this run has begun already: make another one for each")
        release_held()                                   # of the run outside
        self.begun, self.table, self.outer = True, buffers.table, thread_state().run
        self.outer_context = kernel_context()[0]
        reset_context(self)
        if self.log is not None:
            logged += 1
        Py_INCREF(self)
        thread_state().run = <void*>self

    def end(self):
        """Queues what is held back, commits and waits; then nothing is followed any more. Raises what that raises."""
        global logged
        if thread_state().run != <void*>self:
            raise RuntimeError("this run is not the innermost one of this thread: runs end where they began, inner ones first")
        try:
            try:
                release(self, MT_NEXT_END, 0, -1)
            finally:                                     # what failed there ends nothing else
                self.open = False
                wait_for_all(self.table)
        finally:
            thread_state().run = self.outer
            if self.log is not None:
                logged -= 1
            kernel_context()[0] = self.outer_context
            Py_DECREF(self)


cdef int wait_for_all(list table) except -1:
    """Commits and waits on every NPU; then raises the first error there was."""
    failure = None
    for buffer in table:
        if buffer is not None:
            try:
                commit_and_wait(<CommandBuffer>buffer)
            except RuntimeError as error:
                failure = error if failure is None else failure
    if failure is not None:
        raise failure
    return 0


cdef int reset_context(Run run) except -1:
    cdef mt_context* told = kernel_context()
    told.next, told.commit_and_continue, told.encoded = MT_NEXT_UNKNOWN, 1, 0
    told.device = told.next_device = 0
    told.device_index = told.next_device_index = told.position = -1
    told.operations = -1 if run.course is None else run.course.count
    return 0


cdef bint begins_operation(OpOverload op, int key, Bound* bound) except -1:
    """What the call path asks of a call at a backend; then it ends by `end_operation`. Raises where a plan has another one."""
    cdef Run run = <Run>thread_state().run
    cdef int code = key, index = -1
    cdef PyObject* first
    if run.inside:
        return False
    if op.makes_views and not op.mutates:                # it may copy, as `contiguous` does, but is no operation
        run.inside = run.viewing = True
        return True
    place_of(op, key, bound, &code, &index)
    if run.course is not None:
        if run.position >= run.course.count or not as_planned(&run.course.steps[run.position], op, code, index, bound):
            shapes = [tuple((<Tensor>t).shape) for t in tensors_of(op, bound)]
            raise run.plan.departure(run.position, op, device_at(code, index), shapes)
    arrive(run, MT_NEXT_DELEGATE if op.is_delegate else MT_NEXT_KERNEL, code, index, op.sig.qualname)
    run.inside = True
    return True


cdef int place_of(OpOverload op, int key, Bound* bound, int* code, int* index) except -1:
    """Where a call's result is: on the device that an argument names, or that of what is written, or that of the tensors."""
    cdef device where = None
    cdef Tensor t
    cdef PyObject* value
    cdef int i
    if op.sig.device_arg >= 0 and bound.slots[op.sig.device_arg] != <PyObject*>None:
        where = as_device(<object>bound.slots[op.sig.device_arg])
    elif op.writes_first:
        where = (<Tensor>bound.slots[0]).dev
    else:
        for i in range(op.sig.tensor_args):
            value = bound.slots[op.sig.tensor_at[i]]
            if value != <PyObject*>None and (<Tensor>value).dev.type_code == key:
                where = (<Tensor>value).dev
                break
        else:
            if op.sig.has_lists:
                where = place_of_lists(op, key, bound)
    if where is not None:
        code[0], index[0] = where.type_code, where.index_code
    return 0


cdef device place_of_lists(OpOverload op, int key, Bound* bound):
    """The device of the first tensor in a call's lists that is on one of that key; None where there is none."""
    cdef int i
    for i in range(op.sig.count):
        if op.sig.args[i].kind in (ARG_TENSOR_LIST, ARG_OPT_TENSOR_LIST) and bound.slots[i] != <PyObject*>None:
            for item in <object>bound.slots[i]:
                if item is not None and (<Tensor>item).dev.type_code == key:
                    return (<Tensor>item).dev
    return None


cdef int arrive(Run run, int kind, int code, int index, str what) except -1:
    """An operation comes: the one before learns of it, and it learns of its own next where a plan has it."""
    cdef mt_context* told = kernel_context()
    cdef Planned* following
    if run.holds:
        release(run, kind, code, index)
    if run.open:
        settle(run, code, index)
    run.open, run.kind, run.code, run.index, run.what, run.pieces = True, kind, code, index, what, 0
    told.device, told.device_index, told.position = code, index, run.position
    told.encoded = <int32_t>buffer_of(run, index).encoded if code == KEY_NPU else 0
    run.position += 1
    if run.course is None:
        tell(run, told, MT_NEXT_UNKNOWN, 0, -1)
    elif run.position == run.course.count:
        tell(run, told, MT_NEXT_END, 0, -1)
    else:
        following = &run.course.steps[run.position]
        tell(run, told, following.kind, following.code, following.index)
    return 0


cdef inline int tell(Run run, mt_context* told, int kind, int code, int index) except -1:
    """What the open operation is told of its next."""
    told.next, told.next_device, told.next_device_index = kind, code, index
    told.commit_and_continue = kind == MT_NEXT_UNKNOWN or kind != MT_NEXT_END and continues(run, code, index)
    return 0


cdef inline bint continues(Run run, int code, int index) noexcept:
    """Whether an operation is on the device of the one before."""
    return code == run.code and (index == run.index or index < 0)


cdef int settle(Run run, int code, int index) except -1:
    """An operation and its next are known: where the device changes, the command buffer ends."""
    if run.open:
        run.open = False
        if run.code == KEY_NPU and not continues(run, code, index):
            commit(buffer_of(run, run.index))
    return 0


cdef int end_operation() except -1:
    """The operation that runs has queued all its work, or holds it back, or has failed."""
    cdef Run run = <Run>thread_state().run
    run.inside = False
    if run.viewing:
        run.viewing = False
    elif not run.holds:
        close(run)
    return 0


cdef int close(Run run) except -1:
    """What an operation queued is encoded. With a plan its next is known already."""
    cdef Planned* following
    if run.pieces:
        run.pieces = 0
        encode_operation(buffer_of(run, run.index), run.stream, run.what)
    if run.course is not None and run.position < run.course.count:
        following = &run.course.steps[run.position]
        settle(run, following.code, following.index)
    return 0


cdef int queued(int index, void* stream, str what) except -1:
    """Something was queued. Outside of any operation it is one of its own."""
    cdef Run run = <Run>thread_state().run
    if run.inside and not run.viewing and run.code == KEY_NPU and run.index == index:
        run.pieces += 1
        run.stream = stream
    else:
        encode_operation(buffer_of(run, index), stream, what)
    return 0


# ---------------------------------------------------------------- what is held back
cdef bint holds_launch(Kernel kernel, mt_frame* frame, int index, void* stream, PyObject** args, Py_ssize_t n,
                       list views) except -1:
    """Whether a launch waits for the next operation: where there is no plan, and the kernel asks."""
    cdef Run run = <Run>thread_state().run
    cdef Py_ssize_t i
    if not run.inside and run.course is None:            # by hand, not by an operator
        arrive(run, MT_NEXT_KERNEL, KEY_NPU, index, kernel.name)
    elif run.holds:
        release(run, MT_NEXT_KERNEL, KEY_NPU, index)
    if not kernel.takes_context or run.course is not None or run.viewing or npu_recordings > 0:
        return False
    memcpy(&run.held_frame, frame, (MT_INT_REGISTERS + MT_FLOAT_REGISTERS + kernel.words) * sizeof(uint64_t))
    for i in range(n):
        Py_INCREF(<object>args[i])
        run.held_values[i] = args[i]
    run.held_kernel, run.held_index, run.held_stream, run.held_count, run.held_views = kernel, index, stream, n, views
    run.holds = True
    return True


cdef bint holds_call(object function, tuple args) except -1:
    """Whether a call of ``function(context, *args)`` waits for the next operation, as a launch does that asks for its context."""
    cdef Run run = <Run>thread_state().run
    if not run.inside or run.course is not None or run.code != KEY_NPU or npu_recordings > 0:
        return False
    release(run, MT_NEXT_DELEGATE, run.code, run.index)
    run.held_call, run.held_args, run.held_manner, run.holds = function, args, manner_of(thread_state()), True
    return True


cdef int release(Run run, int kind, int code, int index) except -1:
    """Queues what is held back, now that its next is known. The run holds nothing then, whatever that raises."""
    cdef bint inside = run.inside, viewing = run.viewing
    if not run.holds:
        return 0
    run.holds = False
    tell(run, kernel_context(), kind, code, index)
    run.inside, run.viewing = True, False
    try:
        if run.held_call is not None:
            make_held_call(run)
        else:
            queue_held_launch(run)
    finally:
        run.inside, run.viewing = inside, viewing
        if not inside or viewing:
            close(run)
    return 0


cdef int queue_held_launch(Run run) except -1:
    cdef Kernel kernel = run.held_kernel
    cdef PyObject* values[MAX_KERNEL_ARGS]
    cdef Py_ssize_t i, n = run.held_count
    cdef list views = run.held_views                     # which the launch reads from
    memcpy(values, run.held_values, n * sizeof(PyObject*))
    run.held_kernel = run.held_views = None
    run.held_count = 0
    try:
        queue_launch(kernel, &run.held_frame, run.held_index, run.held_stream, values, n)
    finally:
        for i in range(n):
            Py_DECREF(<object>values[i])
    return 0


cdef int make_held_call(Run run) except -1:
    cdef object call = run.held_call
    cdef tuple args = run.held_args
    cdef Manner outside = manner_of(thread_state())
    run.held_call = run.held_args = None
    take_manner(thread_state(), run.held_manner)
    try:
        call(runtime_context(), *args)
    finally:
        take_manner(thread_state(), outside)
    return 0


cdef int release_held() except -1:
    """Somebody asks for a stream, or a device: nothing is held back from them."""
    cdef void* run = thread_state().run
    if run != NULL and (<Run>run).holds:
        release(<Run>run, MT_NEXT_UNKNOWN, 0, -1)
    return 0


def host_waits(int index):
    """The host is about to read or write memory of an NPU: what a run has queued there is committed and waited for.

    Whether that was the current stream's work; else the caller waits for it.
    """
    cdef Run run = current_run()
    cdef CommandBuffer buffer
    cdef int64_t before
    if run is None:
        return False
    release_held()
    if run.pieces and run.index == index:                # of the operation that runs
        run.pieces = 0
        encode_operation(buffer_of(run, index), run.stream, run.what)
    buffer = buffer_of(run, index)
    before = buffer.waits
    commit_and_wait(buffer)
    return buffer.waits != before and buffer.stream == npu_stream_of(index)


def in_run():
    """Whether the calling thread's operations are followed."""
    return thread_state().run != NULL


cold.begins_operation = begins_operation
cold.end_operation = end_operation
cold.holds_launch = holds_launch
cold.holds_call = holds_call
cold.queued = queued
cold.release_held = release_held
