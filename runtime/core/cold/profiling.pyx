# cython: language_level=3, boundscheck=False, binding=False, cdivision=True, initializedcheck=False
# cython: nonecheck=False, auto_pickle=False, embedsignature=True, embedsignature.format=clinic
"""What a profiler hears of the host: spans of time, nested by thread, and memory as it comes and goes.

One recording at a time, of one thread or of all. Off, calls look at `watched` and no more; on, a call takes two looks at the
clock and a place in an array. What the spans mean is for Python (`autograd/_profile`), once the recording is over.
"""
cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int64_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport free, realloc

from mindtorch_v2._core cimport (
    ARG_OPT_TENSOR_LIST, ARG_TENSOR, ARG_TENSOR_LIST, KEY_AUTOGRAD_META, KEY_AUTOGRAD_OTHER, WATCH_MEMORY, WATCH_PROFILE, Bound,
    Node, OpOverload, Tensor, cold, device, make_size, next_sequence, thread_state, watched,
)

import sys

cdef extern from *:
    """
    #include <stdint.h>
    #include <time.h>
    #include <unistd.h>
    #include <sys/syscall.h>

    /* The clock that the simulated NPU stamps with, too. */
    static inline int64_t mt_clock_ns(void) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    }

    /* A thread's place in the recording whose number it has; its own number is the system's. */
    typedef struct {
        uint32_t session, thread;
        int64_t open;
    } mt_lane_t;
    static __thread mt_lane_t mt_lane;

    static inline uint32_t mt_thread_id(void) { return (uint32_t)syscall(SYS_gettid); }
    """
    ctypedef struct mt_lane_t:
        uint32_t session
        uint32_t thread
        int64_t open
    mt_lane_t mt_lane
    int64_t mt_clock_ns() noexcept nogil
    uint32_t mt_thread_id() noexcept nogil

cdef extern from "cpython_glue.h":      # for tracebacks without frames of the core
    pass

cdef enum:
    NUMBER_BITS = 40           # of a span's number that are its place; above them is the recording's
    FIRST_ROOM = 1024
    WITH_SHAPES = 1
    WITH_STACKS = 2

cdef uint64_t AUTOGRAD_KEYS = (<uint64_t>2 << KEY_AUTOGRAD_META) - (<uint64_t>1 << KEY_AUTOGRAD_OTHER)


cdef struct Recorded:
    PyObject* category         # a str
    PyObject* what             # an OpOverload, or a name
    PyObject* details          # a tuple, see `details_of`, or None
    int64_t begin, end         # ns; an end of 0: still open
    int64_t parent             # the place of the span around this one, of the same thread; -1
    int64_t sequence           # of the node that the call records, or that runs; -1
    uint32_t thread, end_thread


cdef struct Change:
    int64_t time, nbytes       # bytes taken, or with a minus given back
    void* address
    PyObject* dev              # concrete devices are never freed
    uint32_t thread

cdef Recorded* spans = NULL
cdef Py_ssize_t span_count = 0, span_room = 0, span_limit = 0
cdef Change* changes = NULL
cdef Py_ssize_t change_count = 0, change_room = 0
cdef Py_ssize_t dropped = 0              # for which there was no room
cdef uint32_t session = 0                # of the recording that runs, or ran last
cdef uint32_t only_thread = 0            # 0: all threads
cdef int wanted = 0                      # WITH_SHAPES, WITH_STACKS


# ---------------------------------------------------------------- recording
cdef mt_lane_t* lane() noexcept:
    """The calling thread's, ready for this recording; NULL where the thread is not recorded."""
    if mt_lane.session != session:
        mt_lane.session, mt_lane.thread, mt_lane.open = session, mt_thread_id(), -1
    if only_thread and mt_lane.thread != only_thread:
        return NULL
    return &mt_lane


cdef void* more_room(void* items, Py_ssize_t* room, size_t size) noexcept:
    """Twice the room, as `span_limit` allows; NULL where that is reached, or the memory is."""
    cdef Py_ssize_t larger = min(max(<Py_ssize_t>FIRST_ROOM, 2 * room[0]), span_limit)
    cdef void* moved = realloc(items, larger * size) if larger > room[0] else NULL
    if moved != NULL:
        room[0] = larger
    return moved


cdef int64_t open_recorded(str category, object what, object details, int64_t sequence) noexcept:
    global spans, span_count, dropped
    cdef mt_lane_t* here = lane()
    cdef Recorded* s
    cdef void* moved
    if here == NULL:
        return -1
    if span_count == span_room:
        moved = more_room(spans, &span_room, sizeof(Recorded))
        if moved == NULL:
            dropped += 1
            return -1
        spans = <Recorded*>moved
    while here.open >= 0 and spans[here.open].end:         # ended by another thread
        here.open = spans[here.open].parent
    s = &spans[span_count]
    Py_INCREF(category)
    Py_INCREF(what)
    Py_INCREF(details)
    s.category, s.what, s.details = <PyObject*>category, <PyObject*>what, <PyObject*>details
    s.parent, s.sequence, s.thread, s.end_thread, s.end = here.open, sequence, here.thread, here.thread, 0
    here.open = span_count
    span_count += 1
    s.begin = mt_clock_ns()
    return <int64_t>session << NUMBER_BITS | (span_count - 1)


cdef bint records_this_thread() noexcept:
    return watched & WATCH_PROFILE != 0 and lane() != NULL


cdef int64_t open_call(OpOverload op, Bound* bound, uint64_t keys) except -2:
    cdef int64_t sequence = -1
    if keys & AUTOGRAD_KEYS and not thread_state().grad_off:
        sequence = next_sequence
    if not wanted or lane() == NULL:
        return open_recorded("cpu_op", op, None, sequence)
    return open_recorded("cpu_op", op, details_of(op, bound), sequence)


cdef int64_t open_node(Node node, list grads) except -2:
    """Without gradients: all that the engine does for a node; with them: what the node does."""
    cdef int64_t sequence = -1 if node.sequence >> 63 else <int64_t>node.sequence
    cdef str name = node.name()
    if grads is None:
        return open_recorded("cpu_op", "autograd::engine::evaluate_function: " + name, None, sequence)
    details = None
    if wanted & WITH_SHAPES and lane() != NULL:
        details = ([shape_of(grad) for grad in grads], [type_of(grad) for grad in grads], None)
    return open_recorded("backward", name, details, sequence)


cdef int64_t open_named(str category, str name) except -2:
    return open_recorded(category, name, None, -1)


cdef void close_recorded(int64_t number) noexcept:
    """Ends a span. One that was left open inside it, or belongs to a recording that is over, does no harm."""
    cdef int64_t at = number & ((<int64_t>1 << NUMBER_BITS) - 1)
    cdef mt_lane_t* here
    cdef int64_t open
    if number < 0 or number >> NUMBER_BITS != session or at >= span_count or spans[at].end:
        return
    spans[at].end = mt_clock_ns()
    here = lane()
    if here == NULL or spans[at].thread != here.thread:
        spans[at].end_thread = mt_thread_id()
        return
    open = here.open
    while open > at:                                       # those inside it that nobody closed
        open = spans[open].parent
    if open == at:
        here.open = spans[at].parent


cdef void note_memory(void* address, int64_t nbytes, device dev) noexcept:
    global changes, change_count, dropped
    cdef mt_lane_t* here = lane()
    cdef Change* change
    cdef void* moved
    if here == NULL:
        return
    if change_count == change_room:
        moved = more_room(changes, &change_room, sizeof(Change))
        if moved == NULL:
            dropped += 1
            return
        changes = <Change*>moved
    change = &changes[change_count]
    change.time, change.nbytes, change.address, change.dev, change.thread = mt_clock_ns(), nbytes, address, <PyObject*>dev, here.thread
    change_count += 1


# ---------------------------------------------------------------- what a call was given
cdef object shape_of(object value):
    return tuple((<Tensor>value).shape) if isinstance(value, Tensor) else ()


cdef object type_of(object value):
    return (<Tensor>value).dt.name if isinstance(value, Tensor) else ""


cdef object details_of(OpOverload op, Bound* bound):
    """Of each argument the shape, or shapes, and the dtype or kind; and where in Python the call is."""
    cdef list shapes = None, kinds = None
    cdef int i, kind
    if wanted & WITH_SHAPES:
        shapes, kinds = [], []
        for i in range(op.sig.count):
            value, kind = <object>bound.slots[i], op.sig.args[i].kind
            if kind == ARG_TENSOR:
                shapes.append(shape_of(value))
                kinds.append(type_of(value))
            elif (kind == ARG_TENSOR_LIST or kind == ARG_OPT_TENSOR_LIST) and value is not None:
                shapes.append([shape_of(item) for item in value])
                kinds.append("TensorList")
            else:
                shapes.append(())
                kinds.append("" if value is None else "ScalarList" if isinstance(value, (list, tuple)) else "Scalar")
    return shapes, kinds, stack_here() if wanted & WITH_STACKS else None


cdef list stack_here():
    """The frames of the call, innermost first, each as (code, line)."""
    cdef list found = []
    frame = sys._getframe()
    while frame is not None:
        found.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    return found


# ---------------------------------------------------------------- for Python
def profiler_begin(thread, bint shapes, bint stacks, bint memory, Py_ssize_t limit):
    """Starts recording: of the thread with a system's number, or of all (None); at most `limit` spans.

    Raises RuntimeError while another recording runs.
    """
    global session, only_thread, wanted, span_limit, dropped, watched
    if watched & WATCH_PROFILE:
        raise RuntimeError("a recording runs")
    profiler_forget()
    session = (session + 1) & 0x3FFFFF
    only_thread, dropped, span_limit = 0 if thread is None else thread, 0, limit
    wanted = (WITH_SHAPES if shapes else 0) | (WITH_STACKS if stacks else 0)
    watched |= WATCH_PROFILE | (WATCH_MEMORY if memory else 0)


def profiler_end():
    """Ends the recording; spans that are open end with it."""
    global watched
    cdef int64_t now = mt_clock_ns()
    cdef Py_ssize_t i
    watched &= ~(WATCH_PROFILE | WATCH_MEMORY)
    for i in range(span_count):
        if spans[i].end == 0:
            spans[i].end = now


def profiler_dropped():
    """How many spans and changes of memory found no room."""
    return dropped


def profiler_forget():
    """Frees what was recorded, and in a forked child ends the recording that its parent goes on with."""
    global spans, span_count, span_room, changes, change_count, change_room, watched
    cdef Recorded* old = spans
    cdef Py_ssize_t i, count = span_count
    watched &= ~(WATCH_PROFILE | WATCH_MEMORY)
    spans = NULL
    span_count = span_room = 0
    for i in range(count):
        Py_DECREF(<object>old[i].category)
        Py_DECREF(<object>old[i].what)
        Py_DECREF(<object>old[i].details)
    free(old)
    free(changes)
    changes = NULL
    change_count = change_room = 0


def profiler_records():
    """What was recorded: spans, as (category, operator or name, begin, end, thread, thread at the end, parent's place or -1,
    sequence number or -1, details or None), in the order in which they began; and changes of memory, as (time, bytes, address, device,
    thread). Times are ns of the monotonic clock."""
    cdef Py_ssize_t i
    cdef Recorded* s
    cdef Change* c
    cdef list found = [], memory = []
    for i in range(span_count):
        s = &spans[i]
        found.append((<object>s.category, <object>s.what, s.begin, s.end, s.thread, s.end_thread, s.parent, s.sequence,
                      <object>s.details))
    for i in range(change_count):
        c = &changes[i]
        memory.append((c.time, c.nbytes, <uintptr_t>c.address, <object>c.dev, c.thread))
    return found, memory


def clock_ns():
    """The clock of all spans, ns."""
    return mt_clock_ns()


def open_span(str category not None, str name not None):
    """Begins a span on this thread; returns its number, for `close_span`. -1 where nothing is recorded."""
    return open_recorded(category, name, None, -1) if watched & WATCH_PROFILE else -1


def close_span(int64_t number):
    """Ends a span."""
    close_recorded(number)


@cython.final
cdef class Span:
    """A context manager: a span as long as its block runs. See `span`."""
    cdef str category, name
    cdef int64_t number

    def __enter__(self):
        if self is not nothing:
            self.number = open_span(self.category, self.name)
        return self

    def __exit__(self, *error):
        if self is not nothing:
            close_recorded(self.number)


cdef Span nothing = Span.__new__(Span)           # what a thread gets that is not recorded


def span(str category not None, str name not None):
    """A context manager that records its block for the profiler that runs; without one it is nothing, and costs as much.

    Categories are those of the trace: ``launch``, ``encode``, ``commit``, ``wait``, ``copy``, ``capture``, ``replay``, ...
    """
    cdef Span made
    if not records_this_thread():
        return nothing
    made = Span.__new__(Span)
    made.category, made.name, made.number = category, name, -1
    return made


cold.open_call = open_call
cold.open_node = open_node
cold.open_span = open_named
cold.close_span = close_recorded
cold.note_memory = note_memory
