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
    mt_frame, mt_run_t, mt_state_t, npu_enter, npu_error, npu_recordings, npu_stream_of, operators, queue_launch, release_held, thread_state,
    watched,
)

cdef extern from "cpython_glue.h":      # for tracebacks without frames of the core, too
    PyObject** PySequence_Fast_ITEMS(object sequence)
    Py_ssize_t PySequence_Fast_GET_SIZE(object sequence)
    bint PyFloat_CheckExact(object value)
    bint PyLong_CheckExact(object value)

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
    cdef mt_run_t* now = thread_state().run
    return None if now == NULL else <Run>now.owner


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
    """``with``: the thread's operations, of which each learns what comes next; the end commits and waits.

    ``course`` and ``plan`` are what the run has to follow; without them it looks ahead by one. ``log`` is a list that gets
    ``("encode" | "commit" | "wait", device, operation)`` as they happen.
    """
    # First what every operation looks at, so that it lies in few cache lines.
    cdef mt_run_t now
    cdef mt_context* told                  # the thread's
    cdef CommandBuffer recent              # the one that was used last, or None
    cdef Course course
    cdef readonly int64_t position         # of the next operation
    cdef bint open                         # the latest operation's next is not known yet
    cdef str what                          # the latest operation's name
    # of a launch or a delegate's call that is held back
    cdef int held_index
    cdef Kernel held_kernel
    cdef void* held_stream
    cdef PyObject* held_views              # owned as what follows is, but by hand: that counts less. NULL where there is none
    cdef PyObject* held_execute
    cdef PyObject* held_lists[3]           # inputs, state, outputs
    cdef Py_ssize_t held_count
    cdef PyObject* held_values[MAX_KERNEL_ARGS]    # the arguments of the launch but its numbers
    cdef mt_frame held_frame
    cdef Manner held_manner
    # of the run
    cdef readonly object plan
    cdef readonly list log
    cdef list table                        # the thread's command buffers
    cdef mt_run_t* outer                   # the run that this one is inside of
    cdef mt_context outer_context
    cdef bint begun

    def __init__(self, Course course=None, plan=None, list log=None):
        self.course, self.plan, self.log = course, plan, log
        self.now.owner, self.now.planned = <void*>self, course is not None

    def __enter__(self):
        global logged
        if self.begun:
            raise RuntimeError("this run has begun already: make another one for each `with`")
        release_held()                                   # of the run outside
        self.begun, self.table, self.outer, self.told = True, buffers.table, thread_state().run, kernel_context()
        self.outer_context = self.told[0]
        reset_context(self)
        if self.log is not None:
            logged += 1
        Py_INCREF(self)
        thread_state().run = &self.now
        return self

    def __exit__(self, kind, error, trace):
        """Queues what is held back, commits and waits; then nothing is followed any more.

        Raises what that raises, unless the block raised, which says more; and ``PlanError`` where some of a plan is left.
        """
        try:
            self.end()
        except RuntimeError:
            if error is None:
                raise
        if error is None and self.course is not None and self.position < self.course.count:
            raise self.plan.unfinished(self.position)

    cdef int end(self) except -1:
        global logged
        if not self.begun:
            raise RuntimeError("this run is left without having been entered")
        if thread_state().run != &self.now:
            raise RuntimeError("this run is not the innermost one of this thread: runs end where they began, inner ones first")
        try:
            try:
                if self.now.holds:
                    release(self, MT_NEXT_END, 0, -1)
            finally:                                     # what failed there ends nothing else
                self.open = False
                wait_for_all(self.table)
        finally:
            thread_state().run = self.outer
            if self.log is not None:
                logged -= 1
            self.told[0] = self.outer_context
            Py_DECREF(self)
        return 0


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


cdef void reset_context(Run run) noexcept:
    cdef mt_context* told = run.told
    told.next, told.commit_and_continue, told.encoded = MT_NEXT_UNKNOWN, 1, 0
    told.device = told.next_device = 0
    told.device_index = told.next_device_index = told.position = -1
    told.operations = -1 if run.course is None else run.course.count


cdef int begin_operation(mt_run_t* now, OpOverload op, int key, Bound* bound) except -1:
    """A call at a backend, outside of any other."""
    cdef Run run = <Run>now.owner
    cdef int code = key, index = -1
    if op.makes_views and not op.mutates:                # it may copy, as `contiguous` does, but is no operation
        now.inside = now.viewing = True
        return 0
    place_of(op, key, bound, &code, &index)
    if now.planned and (run.position >= run.course.count
                        or not as_planned(&run.course.steps[run.position], op, code, index, bound)):
        shapes = [tuple((<Tensor>t).shape) for t in tensors_of(op, bound)]
        raise run.plan.departure(run.position, op, device_at(code, index), shapes)
    arrive(run, MT_NEXT_DELEGATE if op.is_delegate else MT_NEXT_KERNEL, code, index, op.sig.qualname)
    now.inside = True
    return 0


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
    cdef PyObject** items
    cdef Py_ssize_t k
    cdef int i
    for i in range(op.sig.count):
        if op.sig.args[i].kind in (ARG_TENSOR_LIST, ARG_OPT_TENSOR_LIST) and bound.slots[i] != <PyObject*>None:
            items = PySequence_Fast_ITEMS(<object>bound.slots[i])
            for k in range(PySequence_Fast_GET_SIZE(<object>bound.slots[i])):
                if items[k] != <PyObject*>None and (<Tensor>items[k]).dev.type_code == key:
                    return (<Tensor>items[k]).dev
    return None


cdef int arrive(Run run, int kind, int code, int index, str what) except -1:
    """An operation comes: the one before learns of it, and it learns of its own next where a plan has it."""
    cdef mt_context* told = run.told
    cdef Planned* following
    if run.now.holds:
        release(run, kind, code, index)
    settle(run, code, index)
    run.open, run.now.code, run.now.index, run.now.pieces = True, code, index, 0
    if run.what is not what:
        run.what = what
    told.device, told.device_index, told.position = code, index, run.position
    told.encoded = 0
    if code == KEY_NPU:
        turn_to_buffer(run, index)
        told.encoded = <int32_t>run.recent.encoded
    run.position += 1
    if not run.now.planned:
        tell(run, MT_NEXT_UNKNOWN, 0, -1)
    elif run.position == run.course.count:
        tell(run, MT_NEXT_END, 0, -1)
    else:
        following = &run.course.steps[run.position]
        tell(run, following.kind, following.code, following.index)
    return 0


cdef inline void tell(Run run, int kind, int code, int index) noexcept:
    """What the open operation is told of its next."""
    cdef mt_context* told = run.told
    told.next, told.next_device, told.next_device_index = kind, code, index
    told.commit_and_continue = kind == MT_NEXT_UNKNOWN or kind != MT_NEXT_END and continues(run, code, index)


cdef inline bint continues(Run run, int code, int index) noexcept:
    """Whether an operation is on the device of the one before."""
    return code == run.now.code and (index == run.now.index or index < 0)


cdef inline int settle(Run run, int code, int index) except -1:
    """An operation and its next are known: where the device changes, the command buffer ends."""
    if run.open:
        run.open = False
        if run.now.code == KEY_NPU and not continues(run, code, index):
            turn_to_buffer(run, run.now.index)
            commit(run.recent)
    return 0


cdef int close_operation(mt_run_t* now) except -1:
    return close(<Run>now.owner)


cdef inline int close(Run run) except -1:
    """What an operation queued is encoded. With a plan its next is known already."""
    cdef Planned* following
    if run.now.pieces:
        run.now.pieces = 0
        turn_to_buffer(run, run.now.index)
        encode_operation(run.recent, run.now.stream, run.what)
    if run.now.planned and run.position < run.course.count:
        following = &run.course.steps[run.position]
        settle(run, following.code, following.index)
    return 0


cdef int queued_alone(mt_run_t* now, int index, void* stream, str what) except -1:
    """Something was queued outside of any operation, or elsewhere: it is one of its own."""
    cdef Run run = <Run>now.owner
    turn_to_buffer(run, index)
    return encode_operation(run.recent, stream, what)


# ---------------------------------------------------------------- what is held back
cdef bint hold_launch(mt_run_t* now, Kernel kernel, mt_frame* frame, int index, void* stream, PyObject** args, Py_ssize_t n,
                      list views) except -1:
    """Whether a launch waits for the next operation: where there is no plan, and the kernel asks."""
    cdef Run run = <Run>now.owner
    cdef Py_ssize_t i
    if not now.inside and not now.planned:               # by hand, not by an operator
        arrive(run, MT_NEXT_KERNEL, KEY_NPU, index, kernel.name)
    elif now.holds:
        release(run, MT_NEXT_KERNEL, KEY_NPU, index)
    if not kernel.takes_context or now.planned or now.viewing or npu_recordings > 0:
        return False
    memcpy(&run.held_frame, frame, (MT_INT_REGISTERS + MT_FLOAT_REGISTERS) * sizeof(uint64_t))
    if kernel.words:
        memcpy(<uint64_t*>&run.held_frame + MT_INT_REGISTERS + MT_FLOAT_REGISTERS,
               <uint64_t*>frame + MT_INT_REGISTERS + MT_FLOAT_REGISTERS, kernel.words * sizeof(uint64_t))
    run.held_count = 0
    for i in range(n):
        if not (PyFloat_CheckExact(<object>args[i]) or PyLong_CheckExact(<object>args[i])):        # which the frame has
            Py_INCREF(<object>args[i])
            run.held_values[run.held_count] = args[i]
            run.held_count += 1
    if views is not None:
        Py_INCREF(views)
        run.held_views = <PyObject*>views
    run.held_kernel, run.held_index, run.held_stream = kernel, index, stream
    now.holds = True
    return True


cdef bint hold_delegate(mt_run_t* now, object execute, list inputs, list state, list outputs) except -1:
    """Whether a delegate's call waits for the next operation, as a launch does that asks for its context."""
    cdef Run run = <Run>now.owner
    if not now.inside or now.planned or now.code != KEY_NPU or npu_recordings > 0:
        return False
    if now.holds:
        release(run, MT_NEXT_DELEGATE, now.code, now.index)
    Py_INCREF(execute)
    Py_INCREF(inputs)
    Py_INCREF(state)
    Py_INCREF(outputs)
    run.held_execute = <PyObject*>execute
    run.held_lists[0], run.held_lists[1], run.held_lists[2] = <PyObject*>inputs, <PyObject*>state, <PyObject*>outputs
    run.held_manner, now.holds = manner_of(thread_state()), True
    return True


cdef int release(Run run, int kind, int code, int index) except -1:
    """Queues what is held back, now that its next is known. The run holds nothing then, whatever that raises."""
    cdef char inside = run.now.inside, viewing = run.now.viewing
    run.now.holds = False
    tell(run, kind, code, index)
    run.now.inside, run.now.viewing = True, False
    try:
        if run.held_execute != NULL:
            call_held_delegate(run)
        else:
            queue_held_launch(run)
    finally:
        run.now.inside, run.now.viewing = inside, viewing
        if not inside or viewing:
            close(run)
    return 0


cdef int queue_held_launch(Run run) except -1:
    cdef Kernel kernel = run.held_kernel                 # which stays: the next one is likely the same
    cdef PyObject* values[MAX_KERNEL_ARGS]
    cdef Py_ssize_t i, n = run.held_count
    cdef PyObject* views = run.held_views                # which the launch reads from
    for i in range(n):
        values[i] = run.held_values[i]
    run.held_views = NULL
    run.held_count = 0
    try:
        queue_launch(kernel, &run.held_frame, run.held_index, run.held_stream, values, n)
    finally:
        for i in range(n):
            Py_DECREF(<object>values[i])
        if views != NULL:
            Py_DECREF(<object>views)
    return 0


cdef int call_held_delegate(Run run) except -1:
    cdef PyObject* execute = run.held_execute
    cdef PyObject* inputs = run.held_lists[0]
    cdef PyObject* state = run.held_lists[1]
    cdef PyObject* outputs = run.held_lists[2]
    cdef mt_state_t* thread = thread_state()
    cdef Manner outside = manner_of(thread)
    run.held_execute = NULL
    take_manner(thread, run.held_manner)
    try:
        cold.execute_delegate(<object>execute, <list>inputs, <list>state, <list>outputs)
    finally:
        take_manner(thread, outside)
        Py_DECREF(<object>execute)
        Py_DECREF(<object>inputs)
        Py_DECREF(<object>state)
        Py_DECREF(<object>outputs)
    return 0


cdef int release_unknown(mt_run_t* now) except -1:
    """Somebody asks for a stream, or a device: nothing is held back from them."""
    return release(<Run>now.owner, MT_NEXT_UNKNOWN, 0, -1)


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
    turn_to_buffer(run, index)
    buffer = run.recent
    if run.now.pieces and run.now.index == index:        # of the operation that runs
        run.now.pieces = 0
        encode_operation(buffer, run.now.stream, run.what)
    before = buffer.waits
    commit_and_wait(buffer)
    return buffer.waits != before and buffer.stream == npu_stream_of(index)


def in_run():
    """Whether the calling thread's operations are followed."""
    return thread_state().run != NULL


cold.begin_operation = begin_operation
cold.close_operation = close_operation
cold.hold_launch = hold_launch
cold.hold_delegate = hold_delegate
cold.queued_alone = queued_alone
cold.release = release_unknown
