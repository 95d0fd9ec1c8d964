"""The thread's current NPU and streams, and the launches seen last: what launching and allocating touch on every call.

The ACL library is opened in Python (mindtorch_v2.npu.acl), which hands over the addresses of the hot entry points.
"""

cdef extern from *:
    """
    /* The ACL context belongs to the thread, so does what is current. -1: this thread has set no device yet. */
    static _Thread_local int mt_npu_device = -1;
    static _Thread_local void* mt_npu_streams[MT_MAX_NPUS];
    /* What this thread's kernels are told of what comes next: nothing is known, unless a run is followed. */
    static _Thread_local mt_context mt_told = {sizeof(mt_context), MT_NEXT_UNKNOWN, 0, -1, 0, -1, 1, 0, -1, -1};
    """
    mt_context mt_told
    int mt_npu_device
    void** mt_npu_streams

cdef enum:
    REMEMBERED_LAUNCHES = 64


cdef struct NoteOfLaunch:
    int index
    void* stream
    PyObject* kernel           # its name

cdef AclEntryPoints acl
cdef NoteOfLaunch launch_notes[REMEMBERED_LAUNCHES]
cdef uint32_t launches_noted = 0
cdef bint npu_blocking = False           # MINDTORCH_LAUNCH_BLOCKING: wait after every launch
cdef bint npu_streams_in_use = False     # some thread has used a stream other than the default one
cdef list launch_log = None              # (stream, kernel) of every launch while somebody listens
cdef int npu_recordings = 0              # captures and updates under way, in all threads
cdef object npu_error_factory = None     # (code, what) -> exception


def npu_is_bound():
    """Whether the ACL library was opened."""
    return npu_error_factory is not None


cdef int bind_acl(dict addresses, object error_factory) except -1:
    """See `npu_bind` in cold/npu_memory.pyx."""
    global npu_error_factory
    npu_error_factory = error_factory
    acl.set_device = <int (*)(int32_t) noexcept nogil><uintptr_t>addresses["aclrtSetDevice"]
    acl.malloc = <int (*)(void**, size_t, int) noexcept nogil><uintptr_t>addresses["aclrtMalloc"]
    acl.free = <int (*)(void*) noexcept nogil><uintptr_t>addresses["aclrtFree"]
    acl.memory_info = <int (*)(int, size_t*, size_t*) noexcept nogil><uintptr_t>addresses["aclrtGetMemInfo"]
    acl.synchronize_device = <int (*)() noexcept nogil><uintptr_t>addresses["aclrtSynchronizeDevice"]
    acl.synchronize_stream = <int (*)(void*) noexcept nogil><uintptr_t>addresses["aclrtSynchronizeStream"]
    acl.synchronize_within = <int (*)(void*, int32_t) noexcept nogil><uintptr_t>addresses["aclrtSynchronizeStreamWithTimeout"]
    acl.create_event = <int (*)(void**, uint32_t) noexcept nogil><uintptr_t>addresses["aclrtCreateEventExWithFlag"]
    acl.destroy_event = <int (*)(void*) noexcept nogil><uintptr_t>addresses["aclrtDestroyEvent"]
    acl.record_event = <int (*)(void*, void*) noexcept nogil><uintptr_t>addresses["aclrtRecordEvent"]
    acl.wait_event = <int (*)(void*, void*) noexcept nogil><uintptr_t>addresses["aclrtStreamWaitEvent"]
    acl.copy = <int (*)(void*, size_t, void*, size_t, int, void*) noexcept nogil><uintptr_t>addresses["aclrtMemcpyAsync"]
    acl.execute = <int (*)(void*, void*) noexcept nogil><uintptr_t>addresses["aclmdlRIExecuteAsync"]
    acl.query_event = <int (*)(void*, int*) noexcept nogil><uintptr_t>addresses["aclrtQueryEventStatus"]
    acl.capture_info = <int (*)(void*, int*, void**) noexcept nogil><uintptr_t>addresses["aclmdlRICaptureGetInfo"]
    acl.begin_update = <int (*)(void*, void*) noexcept nogil><uintptr_t>addresses["aclmdlRICaptureTaskUpdateBegin"]
    acl.end_update = <int (*)(void*) noexcept nogil><uintptr_t>addresses["aclmdlRICaptureTaskUpdateEnd"]
    return 0


cdef object npu_error(int code, str what):
    return npu_error_factory(code, what)


# ---------------------------------------------------------------- current device and stream
cdef inline int npu_current() noexcept:
    return mt_npu_device if mt_npu_device > 0 else 0


cdef int npu_enter(int index) except -1:
    """Makes an NPU the calling thread's; returns the one that was."""
    global mt_npu_device
    cdef int status, previous = npu_current()
    checked_npu(index)
    if mt_npu_device == index:
        return previous
    if acl.set_device == NULL:
        type_of(KEY_NPU).start()
    status = acl.set_device(index)
    if status != 0:
        raise npu_error(status, f"selecting npu:{index}")
    mt_npu_device = index
    return previous


cdef int checked_npu(int index) except -1:
    """Every index of an NPU that comes from outside passes here: tables have an entry for each."""
    if not 0 <= index < MT_MAX_NPUS:
        raise RuntimeError(f"npu:{index}: at most {MT_MAX_NPUS} NPUs are supported")
    return index


cdef void* npu_stream_of(int index) noexcept:
    return mt_npu_streams[index]


def npu_check_index(int index):
    """Raises RuntimeError for the index of an NPU that there is no room for in the tables."""
    checked_npu(index)


def npu_current_device():
    """Index of the calling thread's current NPU; 0 at start."""
    return npu_current()


def npu_set_device(int index):
    """Makes an NPU the calling thread's; returns the index of the one that was."""
    release_held()
    return npu_enter(index)


CONTEXT_BYTES = sizeof(mt_context)       # of the struct that kernels are told by


cdef mt_context* kernel_context() noexcept:
    return &mt_told


cdef inline mt_context* context_at(int code, int index) noexcept:
    """For a kernel that runs on a device. While a run is followed it says where, for all of an operation."""
    if mt_state.run == NULL:
        mt_told.device, mt_told.device_index = code, index
    return &mt_told


# ---------------------------------------------------------------- runs that are followed: see cold/commands.pyx
cdef inline bint begins_operation(OpOverload op, int key, Bound* bound) except -1:
    """What the call path asks of a call at a backend; then it ends by `end_operation`. Raises where a plan has another one."""
    if mt_state.run == NULL or mt_state.run.inside:
        return False
    cold.begin_operation(mt_state.run, op, key, bound)
    return True


cdef inline int end_operation() except -1:
    """The operation that runs has queued all its work, or holds it back, or has failed."""
    cdef mt_run_t* run = mt_state.run
    if run == NULL:                                       # the operation itself has ended the run
        return 0
    run.inside = False
    if run.viewing:
        run.viewing = False
    elif not run.holds:
        cold.close_operation(run)
    return 0


cdef inline bint holds_launch(Kernel kernel, mt_frame* frame, int index, void* stream, PyObject** args, Py_ssize_t n,
                              list views) except -1:
    """Whether a launch waits for the next operation."""
    cdef mt_run_t* run = mt_state.run
    if run == NULL or run.inside and not run.holds and (run.planned or not kernel.takes_context):
        return False
    return cold.hold_launch(run, kernel, frame, index, stream, args, n, views)


cdef inline int note_in_run(int index, void* stream, str what) except -1:
    """Something was queued: a piece of the operation that runs."""
    cdef mt_run_t* run = mt_state.run
    if run == NULL:
        return 0
    if not run.inside or run.viewing or run.code != KEY_NPU or run.index != index:
        return cold.queued_alone(run, index, stream, what)
    run.pieces += 1
    run.stream = stream
    return 0


cdef int release_held() except -1:
    """Queues what is held back: whoever asks for a device or a stream finds all work on it."""
    return 0 if mt_state.run == NULL or not mt_state.run.holds else cold.release(mt_state.run)


def npu_current_stream(int index):
    """Handle of the calling thread's current stream of an NPU; 0 is the default one."""
    release_held()
    return <uintptr_t>npu_stream_of(checked_npu(index))


def npu_swap_stream(int index, uintptr_t stream):
    """Makes a stream, by handle (0: the default one), current for this thread and NPU; returns the one that was."""
    global npu_streams_in_use
    checked_npu(index)
    release_held()
    previous = <uintptr_t>mt_npu_streams[index]
    mt_npu_streams[index] = <void*>stream
    if stream != 0:
        npu_streams_in_use = True
    return previous


# ---------------------------------------------------------------- launches
cdef inline void npu_note_launch(int index, void* stream, str kernel) noexcept:
    """Remembers the last launches: a fault surfaces later, and is then told with the launches it may come from."""
    global launches_noted
    cdef NoteOfLaunch* note = &launch_notes[launches_noted % REMEMBERED_LAUNCHES]
    cdef PyObject* previous = note.kernel
    launches_noted += 1
    if launch_log is not None:
        launch_log.append((<uintptr_t>stream, kernel))
    Py_INCREF(kernel)
    note.index, note.stream, note.kernel = index, stream, <PyObject*>kernel
    Py_XDECREF(previous)


cdef int note_queued(int index, void* stream, str what) except -1:
    """Remembers something else that was queued, such as a graph, among the launches."""
    npu_note_launch(index, stream, what)
    return note_in_run(index, stream, what)


def npu_note(int index, uintptr_t stream, str what not None):
    """See `note_queued`."""
    note_queued(index, <void*>stream, what)


def npu_log_launches():
    """Starts a list of all launches, in all threads."""
    global launch_log
    launch_log = []


def npu_end_log():
    """The list that `npu_log_launches` started, a (stream, kernel) each; it ends here."""
    global launch_log
    log, launch_log = launch_log, None
    return log


def npu_recent_launches(int index, stream=None, int limit=5):
    """Names of the kernels launched last on an NPU (on one stream of it, by handle), oldest first."""
    cdef uint32_t i, known = min(launches_noted, REMEMBERED_LAUNCHES)
    cdef NoteOfLaunch* note
    names = []
    for i in range(known):
        note = &launch_notes[(launches_noted - 1 - i) % REMEMBERED_LAUNCHES]
        if note.index == index and (stream is None or <uintptr_t>note.stream == stream):
            names.append(<object>note.kernel)
        if len(names) == limit:
            break
    return names[::-1]


def npu_set_blocking(bint on):
    """Whether every launch waits for its kernel, so that a fault is raised by the launch that caused it."""
    global npu_blocking
    npu_blocking = on


cdef int npu_wait_for(int index, void* stream, str kernel) except -1:
    cdef int status
    cdef int64_t span = cold.open_span("wait", "aclrtSynchronizeStream") if watched & WATCH_PROFILE else -1
    previous = npu_enter(index)
    with nogil:
        status = acl.synchronize_stream(stream)
    cold.close_span(span)
    if status != 0:
        error = npu_error(status, f"kernel {kernel}")
        npu_enter(previous)
        raise error
    npu_enter(previous)
    return 0
