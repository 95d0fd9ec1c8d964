# cython: language_level=3, boundscheck=False, binding=False, cdivision=True, initializedcheck=False
# cython: nonecheck=False, auto_pickle=False, embedsignature=True, embedsignature.format=clinic
"""NPU memory: a caching allocator ordered by streams, with private pools for captured graphs."""
cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uintptr_t

from mindtorch_v2._core cimport (
    KEY_NPU, MT_MAX_NPUS, WATCH_PROFILE, Allocator, Tensor, acl, bind_acl, checked_npu, cold, mt_highest_bit, npu_enter, npu_error,
    npu_recordings, npu_stream_of, set_allocator, watched,
)

from mindtorch_v2._core import OutOfMemoryError, npu_current_device, npu_note

cdef extern from "cpython_glue.h":      # for tracebacks without frames of the core
    pass

cdef enum:
    ACL_OUT_OF_MEMORY = 207001
    ACL_HBM = 1
    ACL_DEVICE_TO_DEVICE = 3
    NPU_SMALLEST_BLOCK = 512

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


@cython.final
@cython.freelist(64)
cdef class NpuBlock:
    """Device memory. It belongs to the stream and the pool it was allocated for, and is reused in no other."""
    cdef void* data
    cdef size_t nbytes
    cdef void* stream
    cdef int index
    cdef int pool              # 0: no private one
    cdef size_t serial         # of the allocation that has it: a number that no other one gets
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

    What is allocated on a stream while it is captured comes from the graph's private pool and returns there: each run of
    the graph writes to it again. Nothing else gets that memory before the pool is given up.
    """
    cdef dict cached           # (pool, index, stream) -> {block size: [NpuBlock]}
    cdef dict live             # address -> NpuBlock
    cdef dict pools            # captured model, by handle -> pool
    cdef list postponed        # blocks whose guests cannot be waited for while something is captured
    cdef list tape             # (address, size) of what is allocated on `taped`; None: nobody listens
    cdef void* taped
    cdef Counter counters[MT_MAX_NPUS][COUNTERS]
    cdef size_t limit[MT_MAX_NPUS]      # bytes to reserve at most; 0: no limit
    cdef size_t retries[MT_MAX_NPUS]
    cdef size_t failures[MT_MAX_NPUS]
    # The free blocks that the last allocation without a pool looked at: nearly always those the next one wants.
    cdef dict recent
    cdef void* recent_stream
    cdef int recent_index
    cdef size_t serials        # that were given to allocations

    def __cinit__(self):
        self.cached, self.live, self.pools, self.postponed = {}, {}, {}, []
        self.recent_index = -1

    cdef void* allocate(self, size_t nbytes, int index) except NULL:
        cdef size_t size = npu_block_size(nbytes)
        cdef void* stream = npu_stream_of(index)
        cdef int pool = self.pool_of(stream) if npu_recordings else 0
        cdef Counter* counters = self.counters[index]
        cdef NpuBlock block
        cdef list blocks = <list>self.free_blocks(pool, index, stream).get(size)
        if blocks:
            block = <NpuBlock>blocks.pop()
        else:
            block = self.fresh(size, index, stream, pool)
        self.serials += 1
        block.serial = self.serials
        self.live[<uintptr_t>block.data] = block
        count_up(&counters[ALLOCATION], 1)
        count_up(&counters[ALLOCATED_BYTES], size)
        count_up(&counters[REQUESTED_BYTES], nbytes)
        if self.tape is not None and stream == self.taped:
            self.tape.append((<uintptr_t>block.data, size))
        return block.data

    cdef dict free_blocks(self, int pool, int index, void* stream):
        if pool == 0 and stream == self.recent_stream and index == self.recent_index:
            return self.recent
        key = (pool, index, <uintptr_t>stream)
        cdef dict found = self.cached.get(key)
        if found is None:
            found = self.cached[key] = {}
        if pool == 0:
            self.recent, self.recent_stream, self.recent_index = found, stream, index
        return found

    cdef int pool_of(self, void* stream) except -1:
        """The pool of the graph that the stream is being captured for; 0 where it is not."""
        cdef int status = 0
        cdef void* model = NULL
        if self.pools and acl.capture_info(stream, &status, &model) == 0 and status != 0:
            return self.pools.get(<uintptr_t>model, 0)
        return 0

    cdef NpuBlock fresh(self, size_t size, int index, void* stream, int pool):
        cdef NpuBlock block = NpuBlock.__new__(NpuBlock)
        cdef Counter* counters = self.counters[index]
        cdef int status
        previous = npu_enter(index)
        try:
            status = self.take(&block.data, size, index)
            # Emptying the cache waits for the device, which would spoil a capture.
            if (status == ACL_OUT_OF_MEMORY and npu_recordings == 0
                    and counters[RESERVED_BYTES].current > counters[ALLOCATED_BYTES].current):
                self.retries[index] += 1
                self.empty(index)
                status = self.take(&block.data, size, index)
            if status == ACL_OUT_OF_MEMORY:
                self.failures[index] += 1
                self.raise_out_of_memory(size, index)
            if status != 0:
                raise npu_error(status, f"allocating {size} bytes on npu:{index}")
        finally:
            npu_enter(previous)
        block.nbytes, block.index, block.stream, block.pool = size, index, stream, pool
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
        cdef NpuBlock block = self.live.pop(<uintptr_t>pointer)
        cdef Counter* counters = self.counters[index]
        counters[ALLOCATION].current -= 1
        counters[ALLOCATED_BYTES].current -= block.nbytes
        counters[REQUESTED_BYTES].current -= nbytes
        if block.guests is not None:
            if npu_recordings:
                self.postponed.append(block)
                return
            if not self.wait_for_guests(block):
                return         # the device is in error: memory that may still be written to is not handed out again
        self.recycle(block)

    cdef void recycle(self, NpuBlock block) noexcept:
        cdef dict free_blocks = self.free_blocks(block.pool, block.index, block.stream)
        blocks = free_blocks.get(block.nbytes)
        if blocks is None:
            free_blocks[block.nbytes] = [block]
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

    cdef int recycle_postponed(self) except -1:
        cdef list blocks = self.postponed
        self.postponed = []
        for block in blocks:
            if self.wait_for_guests(<NpuBlock>block):
                self.recycle(<NpuBlock>block)
        return 0

    cdef void used_on(self, void* pointer, void* stream):
        cdef NpuBlock block = self.live.get(<uintptr_t>pointer)
        if block is not None and block.stream != stream:
            if block.guests is None:
                block.guests = set()
            block.guests.add(<uintptr_t>stream)

    cdef int empty(self, int index) except -1:
        """Gives the cached blocks of an NPU back, but those of private pools; the caller has made it the thread's.

        Freeing does not wait, so wait.
        """
        cdef int status
        with nogil:
            status = acl.synchronize_device()
        if status != 0:
            raise npu_error(status, f"synchronising npu:{index}")
        self.recent, self.recent_index = None, -1
        for key in [key for key in self.cached if key[0] == 0 and key[1] == index]:
            for blocks in self.cached.pop(key).values():
                for block in blocks:
                    acl.free((<NpuBlock>block).data)
                    self.counters[index][SEGMENT].current -= 1
                    self.counters[index][RESERVED_BYTES].current -= (<NpuBlock>block).nbytes
        return 0

    cdef int give_up(self, int pool) except -1:
        """Makes a private pool's memory ordinary memory of the streams that it was allocated for."""
        cdef NpuBlock block
        if pool == 0:      # ordinary memory already: what is cached would be merged with what was taken out of the cache
            return 0
        for key in [key for key in self.cached if key[0] == pool]:
            for blocks in self.cached.pop(key).values():
                for block in blocks:
                    block.pool = 0
                    self.recycle(block)
        for block in [*self.live.values(), *self.postponed]:
            if block.pool == pool:
                block.pool = 0
        return 0


cdef NpuAllocator npu_allocator = NpuAllocator()


cdef int mark_tensors(PyObject** args, Py_ssize_t n, void* stream) except -1:
    """Tells the allocator which blocks a stream uses; only once more than the default stream is in use."""
    cdef Py_ssize_t i
    for i in range(n):
        if isinstance(<object>args[i], Tensor):
            npu_allocator.used_on((<Tensor><object>args[i]).storage.data, stream)
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
    cold.release_held()
    npu_enter(index)
    stream = npu_stream_of(index)
    span = profiled("replay", "aclmdlRIExecuteAsync")
    status = acl.execute(<void*>model, stream)
    cold.close_span(span)
    if status != 0:
        raise npu_error(status, "aclmdlRIExecuteAsync")
    npu_note(index, <uintptr_t>stream, "a captured graph")


cdef inline void* first_byte(Tensor t) noexcept:
    return <char*>t.storage.data + t.offset * t.dt.itemsize


def npu_copy_within(Tensor destination not None, Tensor source not None, size_t nbytes):
    """Queues a copy of bytes between contiguous tensors of one NPU on its current stream."""
    cdef int status, index = destination.dev.index_code, previous = npu_enter(index)
    cdef void* stream
    cdef int64_t span
    cold.release_held()
    stream = npu_stream_of(index)
    span = profiled("copy", "aclrtMemcpyAsync")
    status = acl.copy(first_byte(destination), nbytes, first_byte(source), nbytes, ACL_DEVICE_TO_DEVICE, stream)
    cold.close_span(span)
    npu_enter(previous)
    if status != 0:
        raise npu_error(status, "aclrtMemcpyAsync")
    npu_allocator.used_on(destination.storage.data, stream)
    npu_allocator.used_on(source.storage.data, stream)
    npu_note(index, <uintptr_t>stream, "a copy")


def npu_empty_cache():
    """Gives cached memory of every NPU back to the device; waits for the devices that have some."""
    for index in {key[1] for key in npu_allocator.cached}:
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
    cdef NpuBlock block = npu_allocator.live.get(address)
    return None if block is None else (block.pool, block.serial)


def npu_pools(int index):
    """{private pool: (bytes in live tensors, bytes reserved)} of an NPU, for captured graphs."""
    cdef NpuBlock block
    checked_npu(index)
    pools = {}
    for block in [*npu_allocator.live.values(), *npu_allocator.postponed]:
        if block.pool != 0 and block.index == index:
            allocated, reserved = pools.get(block.pool, (0, 0))
            pools[block.pool] = (allocated + block.nbytes, reserved + block.nbytes)
    for key in [key for key in npu_allocator.cached if key[0] != 0 and key[1] == index]:
        for blocks in npu_allocator.cached[key].values():
            for block in blocks:
                allocated, reserved = pools.get(block.pool, (0, 0))
                pools[block.pool] = (allocated, reserved + block.nbytes)
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
    if npu_recordings == 0 and npu_allocator.postponed:
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
