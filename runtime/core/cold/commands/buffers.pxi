"""Command buffers: what a thread has queued on an NPU, where it is committed, and where it is waited for."""

cdef enum:
    ACL_EVENT_SYNC = 1
    FEWEST = 128               # operations that a command buffer has room for: below, its fences would be felt
    MOST = 1024
    AT_FIRST = 256
    SHORT_WAIT = 10            # milliseconds: Ctrl-C is felt after that
    ACL_STREAM_SYNC_TIMEOUT = 507046

cdef object wait_for_stream = None       # (handle) -> ACL's code: a wait that goes on, which Ctrl-C ends


def bind_waiting(wait):
    """Takes the function that goes on to wait for a stream, by handle, once a short wait has timed out; it returns ACL's code."""
    global wait_for_stream
    wait_for_stream = wait


@cython.final
cdef class CommandBuffer:
    """What one thread has queued on one NPU and not committed yet.

    Work is encoded by queueing it: the device begins at once. A commit ends what belongs together with a fence, an event
    behind it, without waiting; only `commit_and_wait` waits. The buffer commits by itself when it is full. How much it has
    room for follows the device: twice as much where a buffer was drained before the next was full, half where it was not.
    """
    cdef readonly int index              # of the NPU
    cdef readonly int64_t encoded        # operations since the last commit
    cdef readonly int64_t bound          # operations that there is room for
    cdef void* stream                    # that the encoded work is on
    cdef readonly int64_t commits, waits # so far
    cdef readonly bint pending           # committed work was not waited for
    cdef void* fence                     # behind the latest commit
    cdef bint fenced                     # there is one

    def __init__(self):
        raise TypeError("a command buffer belongs to a thread: torch.npu.command_buffer() returns it")

    def encode(self, function, *args, **kwargs):
        """Calls a function that queues work, as one operation of this buffer; returns what it returns."""
        result = function(*args, **kwargs)
        if thread_state().run == NULL:                   # a run counts what arrives itself
            encode_operation(self, npu_stream_of(self.index), _name_of(function))
        return result

    def commit(self):
        """Ends what was encoded with a fence, without waiting; does nothing where there is nothing."""
        commit(self)

    def commit_and_wait(self):
        """Commits, and waits until the work is done. Raises ``NpuError`` where some of it failed; the buffer stays usable."""
        commit_and_wait(self)

    def __repr__(self):
        return f"<CommandBuffer npu:{self.index}, {self.encoded} of {self.bound} encoded>"

    def __dealloc__(self):
        if self.fence != NULL:
            acl.destroy_event(self.fence)


cdef str _name_of(object function):
    return str(getattr(function, "__name__", None) or type(function).__name__)


cdef int logged = 0                      # runs under way that somebody reads along with


cdef int note(str what, int index, str name) except -1:
    """For who reads along with the thread's run."""
    cdef Run run
    if logged:
        run = current_run()
        if run is not None and run.log is not None:
            run.log.append((what, f"npu:{index}", name))
    return 0


cdef int64_t profiled(str what, int index, str name) except -2:
    """Begins a span of a profile, where there is one; `cold.close_span` ends it."""
    return cold.open_span(what, f"{name} on npu:{index}") if watched & WATCH_PROFILE else -1


cdef int64_t profiled_commit(int index, int64_t count) except -2:
    return cold.open_span("commit", f"{count} operations on npu:{index}") if watched & WATCH_PROFILE else -1


cdef int encode_operation(CommandBuffer self, void* stream, str name) except -1:
    """Counts work that was queued on a stream. What a graph records is the graph's, and not committed by anybody."""
    if is_captured(stream):
        return 0
    if self.encoded and self.stream != stream:
        commit(self)
    self.stream = stream
    self.encoded += 1
    note("encode", self.index, name)
    if watched & WATCH_PROFILE:                          # a mark: the work was queued before
        cold.close_span(profiled("encode", self.index, name))
    if self.encoded >= self.bound:
        adapt(self)
        commit(self)
    return 0


cdef int adapt(CommandBuffer self) except -1:
    """A full buffer asks how the device gets on: whether it has passed the fence of the one before."""
    cdef int done = 0
    if self.fenced and acl.query_event(self.fence, &done) == 0:
        self.bound = min(2 * self.bound, MOST) if done else max(self.bound // 2, FEWEST)
    return 0


cdef int commit(CommandBuffer self) except -1:
    cdef int status, previous
    cdef int64_t span, count = self.encoded
    if not self.encoded:
        return 0
    self.encoded = 0
    if is_captured(self.stream):                         # since it was encoded: a fence would be a task of the graph
        self.pending = True
        return 0
    previous = npu_enter(self.index)
    span = profiled_commit(self.index, count)
    try:
        if self.fence == NULL:
            status = acl.create_event(&self.fence, ACL_EVENT_SYNC)
            if status != 0:
                raise npu_error(status, f"CommandBuffer.commit on npu:{self.index}")
        status = acl.record_event(self.fence, self.stream)
        if status != 0:
            raise npu_error(status, f"CommandBuffer.commit on npu:{self.index}")
    finally:
        cold.close_span(span)
        npu_enter(previous)
    self.fenced = self.pending = True
    self.commits += 1
    note("commit", self.index, "")
    return 0


cdef int wait_shortly(void* stream) except? -1:
    """ACL's code of a wait, which mostly is over before anybody would want to end it; a profile sees the long way."""
    cdef int status
    if watched & WATCH_PROFILE:
        return ACL_STREAM_SYNC_TIMEOUT
    with nogil:
        status = acl.synchronize_within(stream, SHORT_WAIT)
    return status


cdef int commit_and_wait(CommandBuffer self) except -1:
    cdef int previous, status
    cdef int64_t span
    if not self.encoded and not self.pending or is_captured(self.stream):
        return 0
    if self.encoded:                                     # the wait is the fence
        cold.close_span(profiled_commit(self.index, self.encoded))
        self.encoded = 0
        self.commits += 1
        note("commit", self.index, "")
    self.pending = False
    self.waits += 1
    note("wait", self.index, "")
    previous = npu_enter(self.index)
    span = profiled("wait", self.index, "for what is committed")
    try:
        status = wait_shortly(self.stream)
        if status == ACL_STREAM_SYNC_TIMEOUT:
            status = wait_for_stream(<uintptr_t>self.stream)
        if status != 0:
            raise npu_error(status, f"CommandBuffer.commit_and_wait on npu:{self.index}")
    finally:
        cold.close_span(span)
        npu_enter(previous)
    return 0


cdef bint is_captured(void* stream) noexcept:
    """Whether what a stream gets is recorded instead of run."""
    cdef int status = 0
    cdef void* model
    return npu_recordings > 0 and acl.capture_info != NULL and acl.capture_info(stream, &status, &model) == 0 and status != 0


cdef inline int turn_to_buffer(Run run, int index) except -1:
    """Makes the command buffer of an NPU the run's recent one, which it mostly is."""
    if run.recent is None or run.recent.index != index:
        run.recent = buffer_at(run.table, index)
    return 0


class ThreadsBuffers(threading.local):
    def __init__(self):
        self.table = [None] * MT_MAX_NPUS


cdef object buffers = ThreadsBuffers()


cdef CommandBuffer buffer_at(list table, int index):
    cdef CommandBuffer found = <CommandBuffer>table[index]
    if found is None:
        found = CommandBuffer.__new__(CommandBuffer)
        found.index, found.bound = index, AT_FIRST
        table[index] = found
    return found


def command_buffer(int index):
    """The calling thread's command buffer of an NPU."""
    if not 0 <= index < MT_MAX_NPUS:
        raise RuntimeError(f"npu:{index}: at most {MT_MAX_NPUS} NPUs are supported")
    return buffer_at(buffers.table, index)
