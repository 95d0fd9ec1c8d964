# cython: language_level=3, boundscheck=False, binding=False, cdivision=True, initializedcheck=False
# cython: nonecheck=False, auto_pickle=False, embedsignature=True, embedsignature.format=clinic
"""NPU memory: a caching allocator ordered by streams, with private pools for captured graphs."""
cimport cython
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int64_t, uintptr_t

from mindtorch_v2._core cimport (
    KEY_NPU, MT_MAX_NPUS, WATCH_PROFILE, Allocator, Tensor, acl, bind_acl, checked_npu, cold, note_queued, npu_enter, npu_error,
    npu_recordings, npu_stream_of, release_held, set_allocator, watched,
)

from mindtorch_v2._core import OutOfMemoryError, npu_current_device

cdef extern from "cpython_glue.h":      # for tracebacks without frames of the core, too
    bint PyObject_TypeCheck(PyObject* value, PyTypeObject* type) noexcept

cdef extern from "npu_blocks.h":
    enum:
        MT_BLOCK_CLASSES
    int mt_block_class(size_t nbytes, size_t* size) noexcept

    struct mt_block:
        void* data
        mt_heap* heap
        mt_block* next
        size_t nbytes, serial
        void** guests
        int guest_count
    mt_block* mt_block_new(mt_heap* heap, void* data, size_t nbytes, int size_class) noexcept
    mt_block* mt_block_take(mt_heap* heap, int size_class) noexcept
    void mt_block_give(mt_block* block) noexcept
    void mt_block_forget(mt_block* block) noexcept
    int mt_block_visit(mt_block* block, void* stream) noexcept

    struct mt_heap:
        mt_heap* next
        void* stream
        int index, pool
        size_t reserved
    mt_heap* mt_heap_find(mt_heap** heaps, int pool, int index, void* stream) noexcept
    mt_heap* mt_heap_get(mt_heap** heaps, int pool, int index, void* stream) noexcept
    void mt_heap_merge(mt_heap* source, mt_heap* into) noexcept
    void mt_heap_drop(mt_heap** heaps, mt_heap* heap) noexcept
    size_t mt_heap_free_bytes(mt_heap* heap) noexcept

    struct mt_block_table:
        mt_block** slots
        size_t mask
    int mt_table_grow(mt_block_table* table) noexcept
    int mt_table_put(mt_block_table* table, mt_block* block) noexcept
    mt_block* mt_table_find(mt_block_table* table, void* data) noexcept
    mt_block* mt_table_take(mt_block_table* table, void* data) noexcept

cdef enum:
    ACL_OUT_OF_MEMORY = 207001
    ACL_HBM = 1
    ACL_DEVICE_TO_DEVICE = 3

cdef enum:                     # what is counted for each NPU
    ALLOCATION, ALLOCATED_BYTES, REQUESTED_BYTES, SEGMENT, RESERVED_BYTES, COUNTERS

cdef list COUNTER_NAMES = ["allocation", "allocated_bytes", "requested_bytes", "segment", "reserved_bytes"]

cdef struct Counter:
    size_t current
    size_t peak
    size_t total               # all that was ever added; what was taken away is total - current


cdef inline void count_up(Counter* counter, size_t amount) noexcept:
    counter.current += amount
    counter.total += amount
    if counter.current > counter.peak:
        counter.peak = counter.current


cdef str mebibytes(size_t nbytes):
    return f"{nbytes / 1048576:.2f} MiB"


@cython.final
cdef class NpuAllocator(Allocator):
    """A caching allocator ordered by streams.

    A freed block goes to the stream it was allocated for: whatever is queued there next comes after the kernels that
    still use it, so a temporary may be dropped as soon as its launch has returned. Where other streams used it too, its
    own stream is made to wait for them first.

    What is allocated on a stream while it is captured comes from the graph's private pool and returns there: each run of
    the graph writes to it again. Nothing else gets that memory before the pool is given up.

    Blocks, heaps and the table are npu_blocks.h's. What runs other code (an exception, a list, the GIL given up) may find
    them changed afterwards: nothing keeps a heap over that.
    """
    cdef mt_heap* heaps        # what lies free, by pool, NPU and stream; the one used last is in front
    cdef mt_block_table live
    cdef dict pools            # captured model, by handle -> pool
    cdef mt_block* postponed   # blocks whose guests cannot be waited for while something is captured, the newest in front
    cdef list tape             # (address, size) of what is allocated on `taped`; None: nobody listens
    cdef void* taped
    cdef Counter counters[MT_MAX_NPUS][COUNTERS]
    cdef size_t limit[MT_MAX_NPUS]      # bytes to reserve at most; 0: no limit
    cdef size_t retries[MT_MAX_NPUS]
    cdef size_t failures[MT_MAX_NPUS]
    cdef size_t serials        # that were given to allocations

    def __cinit__(self):
        self.pools = {}
        if mt_table_grow(&self.live) < 0:
            raise MemoryError()

    cdef void* allocate(self, size_t nbytes, int index) except NULL:
        cdef size_t size
        cdef int size_class = mt_block_class(nbytes, &size)
        cdef void* stream = npu_stream_of(index)
        cdef int pool = self.pool_of(stream) if npu_recordings else 0
        cdef Counter* counters = self.counters[index]
        cdef mt_heap* heap = mt_heap_find(&self.heaps, pool, index, stream)
        cdef mt_block* block = NULL if heap == NULL else mt_block_take(heap, size_class)
        if block == NULL:
            block = self.fresh(size, size_class, pool, index, stream)
        if mt_table_put(&self.live, block) < 0:
            mt_block_give(block)
            raise MemoryError()
        self.serials += 1
        block.serial = self.serials
        count_up(&counters[ALLOCATION], 1)
        count_up(&counters[ALLOCATED_BYTES], size)
        count_up(&counters[REQUESTED_BYTES], nbytes)
        if self.tape is not None and stream == self.taped:
            self.tape.append((<uintptr_t>block.data, size))
        return block.data

    cdef int pool_of(self, void* stream) except -1:
        """The pool of the graph that the stream is being captured for; 0 where it is not."""
        cdef int status = 0
        cdef void* model = NULL
        if self.pools and acl.capture_info(stream, &status, &model) == 0 and status != 0:
            return self.pools.get(<uintptr_t>model, 0)
        return 0

    cdef mt_block* fresh(self, size_t size, int size_class, int pool, int index, void* stream) except NULL:
        cdef Counter* counters = self.counters[index]
        cdef mt_heap* heap
        cdef mt_block* block = NULL
        cdef void* data = NULL
        cdef int status, previous = npu_enter(index)
        try:
            status = self.take(&data, size, index)
            # Emptying the cache waits for the device, which would spoil a capture.
            if (status == ACL_OUT_OF_MEMORY and npu_recordings == 0
                    and counters[RESERVED_BYTES].current > counters[ALLOCATED_BYTES].current):
                self.retries[index] += 1
                self.empty(index)
                status = self.take(&data, size, index)
            if status == ACL_OUT_OF_MEMORY:
                self.failures[index] += 1
                self.raise_out_of_memory(size, index)
            if status != 0:
                raise npu_error(status, f"allocating {size} bytes on npu:{index}")
            heap = mt_heap_get(&self.heaps, pool, index, stream)
            if heap != NULL:
                block = mt_block_new(heap, data, size, size_class)
            if block == NULL:
                acl.free(data)
                raise MemoryError()
        finally:
            npu_enter(previous)
        count_up(&counters[SEGMENT], 1)
        count_up(&counters[RESERVED_BYTES], size)
        return block

    cdef int take(self, void** data, size_t size, int index) noexcept:
        if self.limit[index] and self.counters[index][RESERVED_BYTES].current + size > self.limit[index]:
            return ACL_OUT_OF_MEMORY
        return acl.malloc(data, size, 0)

    cdef int raise_out_of_memory(self, size_t size, int index) except -1:
        cdef size_t free_bytes = 0, total = 0
        cdef size_t reserved = self.counters[index][RESERVED_BYTES].current
        cdef size_t allocated = self.counters[index][ALLOCATED_BYTES].current
        acl.memory_info(ACL_HBM, &free_bytes, &total)
        npu_error(ACL_OUT_OF_MEMORY, "")      # takes the library's message, which says no more than this one
        cache = "the cache was emptied" if npu_recordings == 0 else "the cache cannot be emptied while a graph is captured"
        limit = f"; the process may reserve {mebibytes(self.limit[index])}" if self.limit[index] else ""
        raise OutOfMemoryError(
            f"npu:{index} is out of memory: tried to allocate {mebibytes(size)}, {mebibytes(free_bytes)} of "
            f"{mebibytes(total)} are free; {mebibytes(reserved)} are reserved here, {mebibytes(allocated)} of them in live "
            f"tensors ({cache}{limit})", size, free_bytes, reserved)

    cdef void release(self, void* pointer, size_t nbytes, int index) noexcept:
        cdef mt_block* block = mt_table_take(&self.live, pointer)
        cdef Counter* counters = self.counters[index]
        if block == NULL:
            raise KeyError(<uintptr_t>pointer)
        counters[ALLOCATION].current -= 1
        counters[ALLOCATED_BYTES].current -= block.nbytes
        counters[REQUESTED_BYTES].current -= nbytes
        if block.guest_count == 0:
            mt_block_give(block)
        elif npu_recordings:
            block.next, self.postponed = self.postponed, block
        else:
            self.give_behind_guests(block)

    cdef int give_behind_guests(self, mt_block* block) except -1:
        """Frees a block whose own stream waits for the others from now on."""
        cdef void* event
        cdef void* stream = block.heap.stream
        cdef int i, status = 0, previous = npu_enter(block.heap.index)
        for i in range(block.guest_count):
            status |= acl.create_event(&event, 1)
            if status == 0:
                status |= acl.record_event(event, block.guests[i])
                status |= acl.wait_event(stream, event)
                status |= acl.destroy_event(event)
        block.guest_count = 0
        if status == 0:
            mt_block_give(block)
        else:                  # the device is in error: memory that may still be written to is not handed out again
            mt_block_forget(block)
        npu_enter(previous)
        return 0

    cdef int recycle_postponed(self) except -1:
        cdef mt_block* block
        cdef mt_block* blocks = NULL
        while self.postponed != NULL:
            block = self.postponed
            self.postponed, block.next, blocks = block.next, blocks, block
        while blocks != NULL:              # the oldest first
            block, blocks = blocks, blocks.next
            self.give_behind_guests(block)
        return 0

    cdef inline int used_on(self, void* pointer, void* stream) except -1:
        cdef mt_block* block = mt_table_find(&self.live, pointer)
        if block != NULL and block.heap.stream != stream and mt_block_visit(block, stream) < 0:
            raise MemoryError()
        return 0

    cdef int empty(self, int index) except -1:
        """Gives the cached blocks of an NPU back, but those of private pools; the caller has made it the thread's.

        Freeing does not wait, so wait.
        """
        cdef mt_heap* heap
        cdef mt_heap* after
        cdef int status
        with nogil:
            status = acl.synchronize_device()
        if status != 0:
            raise npu_error(status, f"synchronising npu:{index}")
        heap = self.heaps
        while heap != NULL:
            after = heap.next
            if heap.pool == 0 and heap.index == index:
                self.empty_heap(heap)
            heap = after
        return 0

    cdef void empty_heap(self, mt_heap* heap) noexcept:
        cdef Counter* counters = self.counters[heap.index]
        cdef mt_block* block
        cdef int i
        for i in range(MT_BLOCK_CLASSES):
            block = mt_block_take(heap, i)
            while block != NULL:
                acl.free(block.data)
                counters[SEGMENT].current -= 1
                counters[RESERVED_BYTES].current -= block.nbytes
                mt_block_forget(block)
                block = mt_block_take(heap, i)
        if heap.reserved == 0:
            mt_heap_drop(&self.heaps, heap)

    cdef void give_up(self, int pool) noexcept:
        """Makes a private pool's memory ordinary memory of the streams that it was allocated for."""
        cdef mt_heap* heap
        cdef mt_heap* ordinary
        if pool == 0:          # ordinary memory already
            return
        heap = self.heaps
        while heap != NULL:
            if heap.pool == pool:
                ordinary = mt_heap_find(&self.heaps, 0, heap.index, heap.stream)
                if ordinary == NULL:
                    heap.pool = 0
                else:
                    self.merge(heap, ordinary)
                heap = self.heaps          # in another order now
            else:
                heap = heap.next

    cdef void merge(self, mt_heap* source, mt_heap* into) noexcept:
        cdef mt_block* block = self.postponed
        cdef size_t at
        while block != NULL:
            if block.heap == source:
                block.heap = into
            block = block.next
        for at in range(self.live.mask + 1):
            block = self.live.slots[at]
            if block != NULL and block.heap == source:
                block.heap = into
        mt_heap_merge(source, into)
        mt_heap_drop(&self.heaps, source)


cdef NpuAllocator npu_allocator = NpuAllocator()
cdef PyTypeObject* TensorType = <PyTypeObject*>Tensor


cdef int mark_tensors(PyObject** args, Py_ssize_t n, void* stream) except -1:
    """Tells the allocator which blocks a stream uses; only once more than the default stream is in use."""
    cdef Py_ssize_t i
    for i in range(n):
        if PyObject_TypeCheck(args[i], TensorType):
            npu_allocator.used_on((<Tensor>args[i]).storage.data, stream)
    return 0


def npu_record_stream(Tensor t not None, uintptr_t stream):
    """Says that work on a stream (by handle) uses the tensor, so its memory is not reused before that work is done."""
    npu_allocator.used_on(t.storage.data, <void*>stream)


cdef inline int64_t profiled(str category, str name) except -2:
    """Begins a span of a profile, where there is one; `cold.close_span` ends it."""
    return cold.open_span(category, name) if watched & WATCH_PROFILE else -1


def npu_replay(uintptr_t model):
    """Queues a captured graph, by its handle, on the current stream of the thread's NPU."""
    cdef int status, index = npu_current_device()
    cdef void* stream
    cdef int64_t span
    release_held()
    npu_enter(index)
    stream = npu_stream_of(index)
    span = profiled("replay", "aclmdlRIExecuteAsync")
    status = acl.execute(<void*>model, stream)
    cold.close_span(span)
    if status != 0:
        raise npu_error(status, "aclmdlRIExecuteAsync")
    note_queued(index, stream, "a captured graph")


cdef inline void* first_byte(Tensor t) noexcept:
    return <char*>t.storage.data + t.offset * t.dt.itemsize


def npu_copy_within(Tensor destination not None, Tensor source not None, size_t nbytes):
    """Queues a copy of bytes between contiguous tensors of one NPU on its current stream."""
    cdef int status, index = destination.dev.index_code, previous = npu_enter(index)
    cdef void* stream
    cdef int64_t span
    release_held()
    stream = npu_stream_of(index)
    span = profiled("copy", "aclrtMemcpyAsync")
    status = acl.copy(first_byte(destination), nbytes, first_byte(source), nbytes, ACL_DEVICE_TO_DEVICE, stream)
    cold.close_span(span)
    npu_enter(previous)
    if status != 0:
        raise npu_error(status, "aclrtMemcpyAsync")
    npu_allocator.used_on(destination.storage.data, stream)
    npu_allocator.used_on(source.storage.data, stream)
    note_queued(index, stream, "a copy")


def npu_empty_cache():
    """Gives cached memory of every NPU back to the device; waits for the devices that have some."""
    cdef bint used[MT_MAX_NPUS]
    cdef mt_heap* heap = npu_allocator.heaps
    cdef int index
    for index in range(MT_MAX_NPUS):
        used[index] = False
    while heap != NULL:
        used[heap.index] = True
        heap = heap.next
    for index in range(MT_MAX_NPUS):
        if not used[index]:
            continue
        previous = npu_enter(index)
        try:
            npu_allocator.empty(index)
        finally:
            npu_enter(previous)


# ---------------------------------------------------------------- what is counted
def npu_memory(int index):
    """{counter: (now, peak, ever added)} of an NPU, with the failed and retried allocations as plain numbers."""
    cdef int i
    checked_npu(index)
    counted = {}
    for i in range(COUNTERS):
        counter = npu_allocator.counters[index][i]
        counted[COUNTER_NAMES[i]] = (counter.current, counter.peak, counter.total)
    return counted, npu_allocator.retries[index], npu_allocator.failures[index]


def npu_allocation(uintptr_t address):
    """(pool, serial number) of the live allocation that starts at an address; None where there is none."""
    cdef mt_block* block = mt_table_find(&npu_allocator.live, <void*>address)
    return None if block == NULL else (block.heap.pool, block.serial)


cdef struct PoolSize:
    int pool
    size_t free, reserved


def npu_pools(int index):
    """{private pool: (bytes in live tensors, bytes reserved)} of an NPU, for captured graphs."""
    cdef mt_heap* heap = npu_allocator.heaps
    cdef PoolSize* sizes
    cdef size_t i, n = 0
    checked_npu(index)
    while heap != NULL:
        n, heap = n + 1, heap.next
    sizes = <PoolSize*>PyMem_Calloc(n, sizeof(PoolSize))
    if sizes == NULL:
        raise MemoryError()
    n, heap = 0, npu_allocator.heaps
    while heap != NULL:        # to the end, before there are objects that a garbage collection may free others for
        if heap.pool != 0 and heap.index == index and heap.reserved != 0:
            sizes[n].pool, sizes[n].free, sizes[n].reserved = heap.pool, mt_heap_free_bytes(heap), heap.reserved
            n += 1
        heap = heap.next
    pools = {}
    try:
        for i in range(n):
            allocated, reserved = pools.get(sizes[i].pool, (0, 0))
            pools[sizes[i].pool] = (allocated + sizes[i].reserved - sizes[i].free, reserved + sizes[i].reserved)
    finally:
        PyMem_Free(sizes)
    return pools


def npu_reset_peak_memory(int index):
    """Starts the peaks over at what is held now."""
    cdef int i
    checked_npu(index)
    for i in range(COUNTERS):
        npu_allocator.counters[index][i].peak = npu_allocator.counters[index][i].current


def npu_reset_accumulated_memory(int index):
    """Counts from now on what is added and taken away."""
    cdef int i
    checked_npu(index)
    for i in range(COUNTERS):
        npu_allocator.counters[index][i].total = npu_allocator.counters[index][i].current
    npu_allocator.retries[index] = npu_allocator.failures[index] = 0


def npu_limit_memory(int index, size_t nbytes):
    """The most that may be reserved on an NPU, in bytes; 0: all there is."""
    npu_allocator.limit[checked_npu(index)] = nbytes


# ---------------------------------------------------------------- recordings: captures of graphs, and their updates
@cython.final
cdef class NpuTape(Allocator):
    """Hands out again what an operator allocated while it was captured, in the same order.

    Run again to update the captured tasks, the operator so writes to the memory that the graph's other tasks read. The
    memory stays the graph's: storages of it free nothing.
    """
    cdef list blocks           # (address, size)
    cdef Py_ssize_t position
    cdef void* stream
    cdef dict lent             # address -> how many storages have it

    cdef void* allocate(self, size_t nbytes, int index) except NULL:
        if npu_stream_of(index) != self.stream:
            return npu_allocator.allocate(nbytes, index)       # another thread's
        if self.position == len(self.blocks):
            raise RuntimeError(f"the operator allocates more than the {len(self.blocks)} times it did when it was captured")
        address, size = self.blocks[self.position]
        if nbytes > size:
            raise RuntimeError(f"allocation {self.position + 1} of the operator needs {nbytes} bytes, and there are {size} "
                               "for it since it was captured: capture with the largest values")
        self.position += 1
        self.lent[address] = self.lent.get(address, 0) + 1
        return <void*><uintptr_t>address

    cdef void release(self, void* pointer, size_t nbytes, int index) noexcept:
        cdef int count = self.lent.get(<uintptr_t>pointer, 0)
        if count == 0:
            npu_allocator.release(pointer, nbytes, index)
        elif count == 1:
            del self.lent[<uintptr_t>pointer]
        else:
            self.lent[<uintptr_t>pointer] = count - 1


def npu_begin_recording(uintptr_t model, int pool):
    """From now on a stream that is captured for a model, by handle, allocates from a pool. 0: an update of a graph."""
    global npu_recordings
    npu_recordings += 1
    if model:
        npu_allocator.pools[model] = pool


def npu_end_recording(uintptr_t model):
    """Takes `npu_begin_recording` back."""
    global npu_recordings
    npu_recordings -= 1
    npu_allocator.pools.pop(model, None)
    if npu_recordings == 0:
        npu_allocator.recycle_postponed()


def npu_recording():
    """Whether anything is being captured or updated, on any thread."""
    return npu_recordings > 0


def npu_give_up_pool(int pool):
    """Says that no graph needs the memory of a private pool any more."""
    npu_allocator.give_up(pool)


def npu_tape_allocations(uintptr_t stream):
    """Starts a list of what is allocated on a stream, by handle: an (address, bytes) each."""
    npu_allocator.tape, npu_allocator.taped = [], <void*>stream


def npu_end_tape():
    """The list that `npu_tape_allocations` started, which ends here."""
    tape, npu_allocator.tape = npu_allocator.tape, None
    return tape


def npu_play_tape(list tape not None, uintptr_t stream):
    """From now on what is allocated on a stream is what is on the tape, until `npu_stop_tape`."""
    cdef NpuTape player = NpuTape.__new__(NpuTape)
    player.blocks, player.stream, player.lent = tape, <void*>stream, {}
    set_allocator(KEY_NPU, player)


def npu_stop_tape():
    """Ends `npu_play_tape`."""
    set_allocator(KEY_NPU, npu_allocator)


def npu_bind(dict addresses not None, error_factory):
    """Takes the addresses of the ACL entry points, and the function that makes an exception of an ACL error code."""
    bind_acl(addresses, error_factory)
    set_allocator(KEY_NPU, npu_allocator)


cold.mark_tensors = mark_tensors
