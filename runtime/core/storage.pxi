"""Memory: allocators, the CPU pool, and the storage that tensors share."""

cdef extern from "stdlib.h" nogil:
    int posix_memalign(void** out, size_t alignment, size_t size)

cdef enum:
    ALIGNMENT = 64
    SMALLEST_CLASS = 6          # 64 bytes
    LARGEST_IN_SLAB = 9         # 512 bytes: blocks up to that are cut from slabs, which malloc's padding would double
    SLAB_BYTES = 1 << 16
    LARGEST_CLASS = 26          # 64 MiB; larger blocks go straight back to the system

cdef extern from *:
    """
    #ifndef MT_POOLED           /* 0 in a build with AddressSanitizer, which then sees every block come and go */
    #define MT_POOLED 1
    #endif
    """
    enum:
        MT_POOLED

cdef size_t POOL_LIMIT = <size_t>512 << 20     # bytes kept in free lists at most


cdef class Allocator:
    """Where a device's memory comes from. `release` gets the byte count that `allocate` was asked for."""

    cdef void* allocate(self, size_t nbytes, int index) except NULL:
        raise NotImplementedError("Allocator.allocate")

    cdef void release(self, void* pointer, size_t nbytes, int index) noexcept:
        pass


cdef struct FreeBlock:
    FreeBlock* next

cdef FreeBlock* pool_lists[LARGEST_CLASS + 1]
cdef size_t pool_bytes = 0


cdef FreeBlock* cut_slab(int c) noexcept:
    """Fills the free list of a small class from a new slab, which stays the pool's; NULL where there is no memory."""
    global pool_bytes
    cdef char* slab
    cdef Py_ssize_t at = SLAB_BYTES
    if posix_memalign(<void**>&slab, ALIGNMENT, SLAB_BYTES) != 0:
        return NULL
    while at > 0:                                # from the end, so that blocks are handed out by rising address
        at -= <Py_ssize_t>1 << c
        (<FreeBlock*>(slab + at)).next = pool_lists[c]
        pool_lists[c] = <FreeBlock*>(slab + at)
    pool_bytes += SLAB_BYTES
    return pool_lists[c]


cdef inline int size_class(size_t nbytes) noexcept:
    cdef int c = SMALLEST_CLASS
    if nbytes > (<size_t>1 << SMALLEST_CLASS):
        c = mt_highest_bit(nbytes - 1) + 1
    return c


@cython.final
cdef class CpuAllocator(Allocator):
    """64-byte aligned blocks in power-of-two classes. Measured: a pool hit costs 20 ns, posix_memalign 92."""

    cdef void* allocate(self, size_t nbytes, int index) except NULL:
        global pool_bytes
        cdef int c = size_class(nbytes)
        cdef FreeBlock* block
        cdef void* fresh
        if c <= LARGEST_CLASS:
            block = pool_lists[c]
            if block == NULL and c <= LARGEST_IN_SLAB and MT_POOLED:
                block = cut_slab(c)
            if block != NULL:
                pool_lists[c] = block.next
                pool_bytes -= <size_t>1 << c
                return block
        if posix_memalign(&fresh, ALIGNMENT, (<size_t>1 << c) if c <= LARGEST_CLASS else nbytes) != 0:
            raise MemoryError(f"out of memory: tried to allocate {nbytes} bytes on the CPU")
        return fresh

    cdef void release(self, void* pointer, size_t nbytes, int index) noexcept:
        global pool_bytes
        cdef int c = size_class(nbytes)
        if not MT_POOLED or c > LARGEST_CLASS or (c > LARGEST_IN_SLAB and pool_bytes + (<size_t>1 << c) > POOL_LIMIT):
            free(pointer)
            return
        (<FreeBlock*>pointer).next = pool_lists[c]
        pool_lists[c] = <FreeBlock*>pointer
        pool_bytes += <size_t>1 << c


cdef CpuAllocator cpu_allocator = CpuAllocator()
cdef list device_allocators = [cpu_allocator, None, None, None, None]   # by device code


cdef Allocator allocator_of(device dev):
    allocator = device_allocators[dev.type_code]
    if allocator is None:
        if dev.type_code == DEVICE_NPU:
            import mindtorch_v2.npu.runtime as npu_runtime       # registers the NPU's allocator
            npu_runtime.init()
            allocator = device_allocators[dev.type_code]
        if allocator is None:
            raise RuntimeError(f"no memory can be allocated on {dev}: this build has no backend for '{dev.type}' devices")
    return <Allocator>allocator


@cython.final
@cython.no_gc
@cython.freelist(256)
cdef class UntypedStorage:
    """A run of bytes on one device, shared by the tensors that view it.

    The version counts in-place changes; all views of a storage see the same count, as in PyTorch.
    """
    cdef void* data
    cdef size_t nbytes_
    cdef device dev
    cdef Allocator allocator     # None: the memory belongs to `owner`
    cdef object owner
    cdef int64_t version
    cdef uint64_t bump                 # the last change's number, and whose it was; see versions.pxi
    cdef void* bumped_by

    def __dealloc__(self):
        if self.data != NULL and self.allocator is not None:
            self.allocator.release(self.data, self.nbytes_, self.dev.index_code)

    def data_ptr(self):
        """Address of the first byte; 0 where there is none (meta, empty)."""
        return <uintptr_t>self.data

    def nbytes(self):
        return self.nbytes_

    def __len__(self):
        return self.nbytes_

    def resize_(self, size_t nbytes):
        """Frees the memory (`nbytes` 0), tensors over it keep their shapes; nothing else is supported.

        Raises RuntimeError for another size, and for memory that belongs to something else.
        """
        if nbytes != 0:
            raise RuntimeError(f"UntypedStorage.resize_: only 0, which frees the memory, is supported, got {nbytes}")
        if self.data != NULL and self.allocator is None:
            raise RuntimeError("UntypedStorage.resize_: this memory is not the storage's own")
        if self.data != NULL:
            self.allocator.release(self.data, self.nbytes_, self.dev.index_code)
        self.data, self.nbytes_ = NULL, 0
        return self

    @property
    def device(self):
        return self.dev


cdef inline UntypedStorage new_storage(size_t nbytes, device dev):
    cdef UntypedStorage s = UntypedStorage.__new__(UntypedStorage)
    s.dev = dev
    s.nbytes_ = nbytes
    if dev.type_code != DEVICE_META and nbytes > 0:
        s.allocator = cpu_allocator if dev.type_code == DEVICE_CPU else allocator_of(dev)
        s.data = s.allocator.allocate(nbytes, dev.index_code)
    return s


cdef UntypedStorage borrow_storage(void* data, size_t nbytes, device dev, object owner):
    """A storage over memory that `owner` keeps alive."""
    cdef UntypedStorage s = UntypedStorage.__new__(UntypedStorage)
    s.dev, s.nbytes_, s.data, s.owner = dev, nbytes, data, owner
    return s
