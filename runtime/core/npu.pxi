"""NPU memory and the thread's current device and streams: what launching and allocating touch on every call.

The ACL library is opened in Python (mindtorch_v2.npu.acl), which hands over the addresses of the hot entry points.
"""

cdef extern from *:
    """
    #define MT_MAX_NPUS 64
    /* The ACL context belongs to the thread, so does what is current. -1: this thread has set no device yet. */
    static thread_local int mt_npu_device = -1;
    static thread_local void* mt_npu_streams[MT_MAX_NPUS];
    """
    enum:
        MT_MAX_NPUS
    int mt_npu_device
    void** mt_npu_streams

cdef enum:
    ACL_OUT_OF_MEMORY = 207001
    ACL_HBM = 1
    NPU_SMALLEST_BLOCK = 512
    REMEMBERED_LAUNCHES = 64

cdef struct AclEntryPoints:
    int (*set_device)(int32_t) noexcept nogil
    int (*malloc)(void**, size_t, int) noexcept nogil
    int (*free)(void*) noexcept nogil
    int (*memory_info)(int, size_t*, size_t*) noexcept nogil
    int (*synchronize_device)() noexcept nogil
    int (*synchronize_stream)(void*) noexcept nogil
    int (*create_event)(void**, uint32_t) noexcept nogil
    int (*destroy_event)(void*) noexcept nogil
    int (*record_event)(void*, void*) noexcept nogil
    int (*wait_event)(void*, void*) noexcept nogil

cdef struct NoteOfLaunch:
    int index
    void* stream
    PyObject* kernel           # its name

cdef AclEntryPoints acl
cdef NoteOfLaunch launch_notes[REMEMBERED_LAUNCHES]
cdef uint32_t launches_noted = 0
cdef bint npu_blocking = False           # MINDTORCH_LAUNCH_BLOCKING: wait after every launch
cdef bint npu_streams_in_use = False     # some thread has used a stream other than the default one
cdef object npu_error_factory = None     # (code, what) -> exception


def npu_bind(dict addresses not None, error_factory):
    """Takes the addresses of the ACL entry points, and the function that makes an exception of an ACL error code."""
    global npu_error_factory
    npu_error_factory = error_factory
    acl.set_device = <int (*)(int32_t) noexcept nogil><uintptr_t>addresses["aclrtSetDevice"]
    acl.malloc = <int (*)(void**, size_t, int) noexcept nogil><uintptr_t>addresses["aclrtMalloc"]
    acl.free = <int (*)(void*) noexcept nogil><uintptr_t>addresses["aclrtFree"]
    acl.memory_info = <int (*)(int, size_t*, size_t*) noexcept nogil><uintptr_t>addresses["aclrtGetMemInfo"]
    acl.synchronize_device = <int (*)() noexcept nogil><uintptr_t>addresses["aclrtSynchronizeDevice"]
    acl.synchronize_stream = <int (*)(void*) noexcept nogil><uintptr_t>addresses["aclrtSynchronizeStream"]
    acl.create_event = <int (*)(void**, uint32_t) noexcept nogil><uintptr_t>addresses["aclrtCreateEventExWithFlag"]
    acl.destroy_event = <int (*)(void*) noexcept nogil><uintptr_t>addresses["aclrtDestroyEvent"]
    acl.record_event = <int (*)(void*, void*) noexcept nogil><uintptr_t>addresses["aclrtRecordEvent"]
    acl.wait_event = <int (*)(void*, void*) noexcept nogil><uintptr_t>addresses["aclrtStreamWaitEvent"]
    device_allocators[DEVICE_NPU] = npu_allocator
    _set_current_npu_index(npu_current_device)


cdef object npu_error(int code, str what):
    return npu_error_factory(code, what)


# ---------------------------------------------------------------- current device and stream
cdef inline int npu_current() noexcept:
    return mt_npu_device if mt_npu_device > 0 else 0


cdef int npu_enter(int index) except -1:
    """Makes an NPU the calling thread's; returns the one that was."""
    global mt_npu_device
    cdef int status, previous = npu_current()
    if mt_npu_device == index:
        return previous
    if acl.set_device == NULL:
        import mindtorch_v2.npu.runtime as npu_runtime
        npu_runtime.init()
    if index >= MT_MAX_NPUS:
        raise RuntimeError(f"npu:{index}: at most {MT_MAX_NPUS} NPUs are supported")
    status = acl.set_device(index)
    if status != 0:
        raise npu_error(status, f"selecting npu:{index}")
    mt_npu_device = index
    return previous


cdef inline void* npu_stream_of(int index) noexcept:
    return mt_npu_streams[index]


def npu_current_device():
    """Index of the calling thread's current NPU; 0 at start."""
    return npu_current()


def npu_set_device(int index):
    """Makes an NPU the calling thread's; returns the index of the one that was."""
    return npu_enter(index)


def npu_current_stream(int index):
    """Handle of the calling thread's current stream of an NPU; 0 is the default one."""
    return <uintptr_t>npu_stream_of(index)


def npu_swap_stream(int index, uintptr_t stream):
    """Makes a stream, by handle (0: the default one), current for this thread and NPU; returns the one that was."""
    global npu_streams_in_use
    if not 0 <= index < MT_MAX_NPUS:
        raise RuntimeError(f"npu:{index}: at most {MT_MAX_NPUS} NPUs are supported")
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
    Py_INCREF(kernel)
    note.index, note.stream, note.kernel = index, stream, <PyObject*>kernel
    Py_XDECREF(previous)


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
    previous = npu_enter(index)
    with nogil:
        status = acl.synchronize_stream(stream)
    if status != 0:
        error = npu_error(status, f"kernel {kernel}")
        npu_enter(previous)
        raise error
    npu_enter(previous)
    return 0


# ---------------------------------------------------------------- memory
class OutOfMemoryError(RuntimeError):
    """An NPU has no room for a tensor, its cache emptied. ``requested`` and ``free`` are bytes."""

    def __init__(self, message, requested=0, free=0):
        super().__init__(message)
        self.requested, self.free = requested, free


@cython.final
@cython.freelist(64)
cdef class NpuBlock:
    """Device memory. It belongs to the stream it was allocated for, and is reused on no other."""
    cdef void* data
    cdef size_t nbytes
    cdef void* stream
    cdef int index
    cdef set guests            # other streams that used it since it was allocated


cdef inline size_t npu_block_size(size_t nbytes) noexcept:
    """Eight sizes to each power of two: at most an eighth is wasted, and sizes that differ little share blocks."""
    cdef size_t step = NPU_SMALLEST_BLOCK
    if nbytes > 8 * NPU_SMALLEST_BLOCK:
        step = <size_t>1 << (mt_highest_bit(nbytes - 1) - 3)
    return (nbytes + step - 1) & ~(step - 1)


cdef str mebibytes(size_t nbytes):
    return f"{nbytes / 1048576:.2f} MiB"


@cython.final
cdef class NpuAllocator(Allocator):
    """A caching allocator ordered by streams.

    A freed block goes to the stream it was allocated for: whatever is queued there next comes after the kernels that
    still use it, so a temporary may be dropped as soon as its launch has returned. Where other streams used it too, its
    own stream is made to wait for them first.
    """
    cdef dict cached           # (index, stream, block size) -> [NpuBlock]
    cdef dict live             # address -> NpuBlock
    cdef size_t allocated[MT_MAX_NPUS]
    cdef size_t reserved[MT_MAX_NPUS]
    cdef size_t peak[MT_MAX_NPUS]

    def __cinit__(self):
        self.cached, self.live = {}, {}

    cdef void* allocate(self, size_t nbytes, int index) except NULL:
        cdef size_t size = npu_block_size(nbytes)
        cdef void* stream = npu_stream_of(index)
        cdef NpuBlock block
        cdef list blocks = self.cached.get((index, <uintptr_t>stream, size))
        if blocks:
            block = blocks.pop()
        else:
            block = self.fresh(size, index, stream)
        self.live[<uintptr_t>block.data] = block
        self.allocated[index] += size
        if self.allocated[index] > self.peak[index]:
            self.peak[index] = self.allocated[index]
        return block.data

    cdef NpuBlock fresh(self, size_t size, int index, void* stream):
        cdef NpuBlock block = NpuBlock.__new__(NpuBlock)
        cdef int status
        previous = npu_enter(index)
        try:
            status = acl.malloc(&block.data, size, 0)
            if status == ACL_OUT_OF_MEMORY and self.reserved[index] > self.allocated[index]:
                self.empty(index)
                status = acl.malloc(&block.data, size, 0)
            if status == ACL_OUT_OF_MEMORY:
                self.raise_out_of_memory(size, index)
            if status != 0:
                raise npu_error(status, f"allocating {size} bytes on npu:{index}")
        finally:
            npu_enter(previous)
        block.nbytes, block.index, block.stream = size, index, stream
        self.reserved[index] += size
        return block

    cdef int raise_out_of_memory(self, size_t size, int index) except -1:
        cdef size_t free_bytes = 0, total = 0
        acl.memory_info(ACL_HBM, &free_bytes, &total)
        npu_error(ACL_OUT_OF_MEMORY, "")      # takes the library's message, which says no more than this one
        raise OutOfMemoryError(
            f"npu:{index} is out of memory: tried to allocate {mebibytes(size)}, {mebibytes(free_bytes)} of "
            f"{mebibytes(total)} are free and {mebibytes(self.allocated[index])} are in live tensors (the cache was "
            "emptied)", size, free_bytes)

    cdef void release(self, void* pointer, size_t nbytes, int index) noexcept:
        cdef NpuBlock block = self.live.pop(<uintptr_t>pointer)
        self.allocated[index] -= block.nbytes
        if block.guests is not None and not self.wait_for_guests(block):
            return             # the device is in error: memory that may still be written to is not handed out again
        key = (index, <uintptr_t>block.stream, block.nbytes)
        blocks = self.cached.get(key)
        if blocks is None:
            self.cached[key] = [block]
        else:
            (<list>blocks).append(block)

    cdef bint wait_for_guests(self, NpuBlock block):
        cdef void* event
        cdef int status = 0
        previous = npu_enter(block.index)
        for stream in block.guests:
            status |= acl.create_event(&event, 1)
            if status == 0:
                status |= acl.record_event(event, <void*><uintptr_t>stream)
                status |= acl.wait_event(block.stream, event)
                status |= acl.destroy_event(event)
        npu_enter(previous)
        block.guests = None
        return status == 0

    cdef void used_on(self, void* pointer, void* stream):
        cdef NpuBlock block = self.live.get(<uintptr_t>pointer)
        if block is not None and block.stream != stream:
            if block.guests is None:
                block.guests = set()
            block.guests.add(<uintptr_t>stream)

    cdef int empty(self, int index) except -1:
        """Gives the cached blocks of an NPU back; the caller has made it the thread's. Freeing does not wait, so wait."""
        cdef int status
        with nogil:
            status = acl.synchronize_device()
        if status != 0:
            raise npu_error(status, f"synchronising npu:{index}")
        for key in [key for key in self.cached if key[0] == index]:
            for block in self.cached.pop(key):
                acl.free((<NpuBlock>block).data)
                self.reserved[index] -= (<NpuBlock>block).nbytes
        return 0


cdef NpuAllocator npu_allocator = NpuAllocator()


cdef int npu_mark_tensors(PyObject** args, Py_ssize_t n, int index, void* stream) except -1:
    """Tells the allocator which blocks a stream uses; only once more than the default stream is in use."""
    cdef Py_ssize_t i
    for i in range(n):
        if is_tensor(args[i]):
            npu_allocator.used_on((<Tensor><object>args[i]).storage.data, stream)
    return 0


def npu_record_stream(Tensor t not None, uintptr_t stream):
    """Says that work on a stream (by handle) uses the tensor, so its memory is not reused before that work is done."""
    npu_allocator.used_on(t.storage.data, <void*>stream)


def npu_empty_cache():
    """Gives cached memory of every NPU back to the device; waits for the devices that have some."""
    for index in {key[0] for key in npu_allocator.cached}:
        previous = npu_enter(index)
        try:
            npu_allocator.empty(index)
        finally:
            npu_enter(previous)


def npu_memory(int index):
    """(bytes in live tensors, bytes held with the cache, peak bytes in live tensors) of an NPU."""
    return npu_allocator.allocated[index], npu_allocator.reserved[index], npu_allocator.peak[index]


def npu_reset_peak_memory(int index):
    """Starts the peak over at what live tensors hold now."""
    npu_allocator.peak[index] = npu_allocator.allocated[index]
