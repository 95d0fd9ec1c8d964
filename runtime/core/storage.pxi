"""Memory: allocators, the CPU pool, and the storage that tensors share."""

cdef extern from "stdlib.h" nogil:
    int posix_memalign(void** out, size_t alignment, size_t size)

cdef extern from "sys/mman.h" nogil:
    int MADV_HUGEPAGE
    int madvise(void* address, size_t length, int advice)

cdef enum:
    ALIGNMENT = 64
    SMALLEST_CLASS = 6          # 64 bytes
    LARGEST_IN_SLAB = 9         # 512 bytes: blocks up to that are cut from slabs, which malloc's padding would double
    SLAB_BYTES = 1 << 16
    LARGE_CLASS = 20            # 1 MiB: for blocks from that on, what is kept of them makes room
    LARGEST_CLASS = 44          # 64 MiB, as from LARGE_CLASS on there are four to a power of two; larger blocks go straight back to the system
    HUGE_PAGE = 1 << 21         # of x86-64, and of AArch64 with pages of 4 KiB

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


class OutOfMemoryError(RuntimeError, MemoryError):
    """A device has no room for a tensor; an NPU's cache was emptied before. ``requested``, ``free``, ``reserved`` are bytes."""

    def __init__(self, message, requested=0, free=0, reserved=0):
        super().__init__(message)
        self.requested, self.free, self.reserved = requested, free, reserved


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


cdef inline size_t block_bytes(int c) noexcept:
    return <size_t>1 << c if c <= LARGE_CLASS else <size_t>(5 + (c - LARGE_CLASS - 1) % 4) << (LARGE_CLASS - 2 + (c - LARGE_CLASS - 1) // 4)


cdef int make_room(size_t nbytes) noexcept:
    """Returns so many bytes of large blocks that are kept, or all there are, to the system."""
    global pool_bytes
    cdef int c
    cdef size_t given = 0
    cdef FreeBlock* block
    for c in range(LARGEST_CLASS, LARGE_CLASS - 1, -1):
        while pool_lists[c] != NULL and given < nbytes:
            block = pool_lists[c]
            pool_lists[c] = block.next
            pool_bytes -= block_bytes(c)
            given += block_bytes(c)
            free(block)
    return 0


cdef int take_pages(void** fresh, size_t nbytes) noexcept:
    """Memory that the system gives for this once, in huge pages where it has them: a page costs more than its zeros do."""
    cdef int status = posix_memalign(fresh, HUGE_PAGE, nbytes)
    if status == 0:
        madvise(fresh[0], nbytes // HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE)     # advice: it may not be taken
    return status


cdef inline int size_class(size_t nbytes) noexcept:
    cdef int c = SMALLEST_CLASS
    if nbytes > (<size_t>1 << SMALLEST_CLASS):
        c = mt_highest_bit(nbytes - 1) + 1
        if c > LARGE_CLASS:
            c = LARGE_CLASS + 1 + 4 * (c - LARGE_CLASS - 1) + <int>((nbytes - 1) >> (c - 3)) - 4
    return c


@cython.final
cdef class CpuAllocator(Allocator):
    """64-byte aligned blocks in classes of size. Measured: a pool hit costs 20 ns, posix_memalign 92.

    A large block that is new takes the place of such that are kept: a program needs no more than it had in use at once.
    """

    cdef void* allocate(self, size_t nbytes, int index) except NULL:
        global pool_bytes
        cdef int c = size_class(nbytes)
        cdef FreeBlock* block
        cdef void* fresh
        cdef int status
        if c <= LARGEST_CLASS:
            block = pool_lists[c]
            if block == NULL and c <= LARGEST_IN_SLAB and MT_POOLED:
                block = cut_slab(c)
            if block != NULL:
                pool_lists[c] = block.next
                pool_bytes -= block_bytes(c)
                return block
        if c >= LARGE_CLASS:
            make_room(nbytes)
        status = posix_memalign(&fresh, ALIGNMENT, block_bytes(c)) if c <= LARGEST_CLASS else take_pages(&fresh, nbytes)
        if status != 0:
            raise OutOfMemoryError(f"can't allocate memory: you tried to allocate {nbytes} bytes on the CPU", nbytes)
        return fresh

    cdef void release(self, void* pointer, size_t nbytes, int index) noexcept:
        global pool_bytes
        cdef int c = size_class(nbytes)
        if not MT_POOLED or c > LARGEST_CLASS or (c > LARGEST_IN_SLAB and pool_bytes + block_bytes(c) > POOL_LIMIT):
            free(pointer)
            return
        (<FreeBlock*>pointer).next = pool_lists[c]
        pool_lists[c] = <FreeBlock*>pointer
        pool_bytes += block_bytes(c)


cdef CpuAllocator cpu_allocator = CpuAllocator()


@cython.final
cdef class PythonAllocator(Allocator):
    """Memory from functions of Python: ``allocate(nbytes, index)`` gives an address, ``free(address, nbytes, index)`` takes it."""
    cdef object take
    cdef object give

    def __init__(self, take, give):
        self.take, self.give = take, give

    cdef void* allocate(self, size_t nbytes, int index) except NULL:
        address = self.take(nbytes, index)
        if not isinstance(address, int) or address <= 0:
            raise RuntimeError(f"allocate({nbytes}, {index}): expected an address, an int above 0, got {address!r}")
        return <void*><uintptr_t>address

    cdef void release(self, void* pointer, size_t nbytes, int index) noexcept:
        self.give(<uintptr_t>pointer, nbytes, index)


cdef inline Allocator allocator_of(device dev):
    """Where a device's memory comes from; None: its kernel of `empty` makes it."""
    cdef PyObject* kind = PyList_GET_ITEM(device_types, dev.type_code)
    return (<DeviceType>kind).allocator if (<DeviceType>kind).allocator is not None else opened_allocator(dev)


cdef Allocator opened_allocator(device dev):
    cdef DeviceType kind = type_of(dev.type_code)
    if kind.start is not None:
        kind.start()
    if kind.allocator is None and not makes_own(dev):
        if dev.type in ("cuda", "xpu"):
            raise AssertionError(f"Torch not compiled with {dev.type.upper()} enabled: there are no such devices here")
        raise RuntimeError(f"no memory can be allocated on {dev}: this build has no backend for '{dev.type}' devices")
    return kind.allocator


cdef OpOverload empty_operator():
    cdef OpOverload op = operators.get("aten::empty.memory_format")
    if op is not None:
        complete(op)
    return op


cdef bint makes_own(device dev) except -1:
    """Whether a device's memory is what its kernel of `empty` makes: of one that no allocator was given for."""
    cdef OpOverload op
    cdef DeviceType kind = type_of(dev.type_code)
    if dev.type_code == KEY_CPU or dev.type_code == KEY_META or kind.allocator is not None or kind.start is not None:
        return False
    op = empty_operator()
    return op is not None and op.table[dev.type_code] != NULL


cdef int take_made(UntypedStorage s) except -1:
    """Memory for a storage whose device makes it by its kernel of `empty`, whose tensor is kept for that long."""
    cdef Tensor made
    cdef Sharing sharing
    made = <Tensor?>empty_operator().redispatch(
        <uint64_t>1 << s.dev.type_code, [s.nbytes_], dtype=dtypes["uint8"], device=s.dev)
    if made.dev is not s.dev or made.storage.nbytes_ < s.nbytes_ or made.storage.data == NULL:
        raise RuntimeError(f"the kernel of aten::empty.memory_format for {s.dev} must make memory there: of {s.nbytes_} bytes it made "
                           f"{made.storage.nbytes_} on {made.dev}")
    sharing = shared(s)
    s.data, sharing.owner = made.storage.data, made.storage
    count_lent(made.storage, 1)
    return 0


def set_device_memory(str name not None, allocate not None, free not None):
    """Gives a device type its memory, where what opens it finds out how it is allocated."""
    type_of(device_codes[name]).allocator = PythonAllocator(allocate, free)


@cython.final
cdef class Sharing:
    """Who else has to do with a storage's memory. Apart from it, because that is nobody for most, and memory a tensor counts."""


@cython.no_gc                  # but for those that Python code keeps something in: see `mt_watched_storages_install`
@cython.freelist(256)
cdef class UntypedStorage:
    """A run of bytes on one device, shared by the tensors that view it.

    The version counts in-place changes; all views of a storage see the same count, as in PyTorch.

    Tensors do not hear when their storage is resized. So memory, once given, never becomes less than what tensors made
    over it may reach (`Sharing.room`), unless all of it is freed, which a launch sees; and an address that others hold
    (`Sharing.lent`), such as NumPy, is not taken back.
    """

    def __init__(self, nbytes=0, *, device=None):
        """So many bytes, uninitialised, or a sequence of what they are to be."""
        if is_size_in_bytes(nbytes):
            take_memory(self, checked_storage_size(nbytes), as_device(device))
        else:
            take_bytes(self, bytes_given(nbytes), as_device(device))

    def data_ptr(self):
        """Address of the first byte; 0 where there is none (meta, empty). Raises RuntimeError for a wrapper's."""
        cdef UntypedStorage root = owner_storage(self)
        own_memory(root)                             # what the caller does with it is not known
        if root.sharing is not None and root.sharing.claimed:
            raise RuntimeError("data_ptr(): the tensor wraps others, by its __torch_dispatch__, and has no memory of its own")
        return <uintptr_t>self.data

    def nbytes(self):
        return self.nbytes_

    def __len__(self):
        return self.nbytes_

    def resizable(self):
        """Whether `resize_` is allowed: not where something else owns the memory, holds its address, or did so as NumPy does."""
        cdef UntypedStorage root = owner_storage(self)
        return root.sharing is None or root.sharing.lazy \
            or (root.sharing.lent == 0 and not root.sharing.fixed and (root.sharing.owner is None or makes_own(root.dev)))

    def resize_(self, nbytes):
        """Gives the storage another size; bytes that it keeps are copied, new ones are uninitialised. 0 frees the memory.

        Tensors over it keep their shapes. Memory that shrinks is given back only as a whole: tensors may still reach it.
        Raises RuntimeError where NumPy or another holder knows the address, or something else owns the memory.
        """
        if not is_size_in_bytes(nbytes):
            raise RuntimeError(f"resize_ expects an int, but got {_type_name(nbytes)}: the size of a storage is in bytes")
        resize_storage(self, checked_storage_size(nbytes))
        return self

    @property
    def device(self):
        return self.dev

    def untyped(self):
        """The storage itself, which has no dtype."""
        return self

    def __getitem__(self, at):
        """A byte; of a slice a storage over the same memory."""
        return hook.storage_item(self, at)

    def __setitem__(self, at, value):
        """Sets a byte, or those of a slice."""
        hook.set_storage_item(self, at, value)

    @staticmethod
    def from_file(filename, shared=False, nbytes=0):
        """A storage over a file's first bytes, which are read as they are used; with `shared` writing writes to it."""
        return hook.storage_from_file(filename, shared, nbytes)

    def __reduce__(self):
        return hook.reduce_storage(self)

cdef PyTypeObject* StorageType = <PyTypeObject*>UntypedStorage
mt_watched_storages_install(StorageType)
cdef UntypedStorage _storage_probe = UntypedStorage.__new__(UntypedStorage)
mt_storage_dict_install(StorageType, <char*>&_storage_probe.attributes - <char*><PyObject*>_storage_probe)
mt_whole_storage_install(StorageType)


cdef bint free_cpu_memory(PyObject* o) noexcept:
    """Frees memory of the CPU, which runs no code, as a storage goes; whether there is more."""
    if (<UntypedStorage>o).attributes != NULL or Py_TYPE(o) != StorageType:
        return True
    if (<UntypedStorage>o).allocator is cpu_allocator and (<UntypedStorage>o).sharing is None:
        if (<UntypedStorage>o).data != NULL:
            if watched & WATCH_MEMORY:
                cold.note_memory((<UntypedStorage>o).data, -<int64_t>(<UntypedStorage>o).nbytes_, (<UntypedStorage>o).dev)
            cpu_allocator.release((<UntypedStorage>o).data, (<UntypedStorage>o).nbytes_, 0)
        return False
    return (<UntypedStorage>o).allocator is not None or (<UntypedStorage>o).sharing is not None


cdef void free_other_memory(PyObject* o) noexcept:
    cdef UntypedStorage s = <UntypedStorage>o
    Py_XDECREF(s.attributes)
    if s.allocator is None:
        if s.sharing is not None:
            give_back(s)
    elif s.data != NULL:
        if watched & WATCH_MEMORY:
            cold.note_memory(s.data, -<int64_t>(s.nbytes_ if s.sharing is None else s.sharing.room), s.dev)
        s.allocator.release(s.data, s.nbytes_ if s.sharing is None else s.sharing.room, s.dev.index_code)


mt_storage_release_install(StorageType, free_cpu_memory, free_other_memory)


cdef int64_t checked_storage_size(object nbytes) except -1:
    cdef int64_t size
    if not PyIndex_Check(nbytes):
        raise RuntimeError(f"resize_ expects an int, but got {_type_name(nbytes)}: the size of a storage is in bytes")
    size = to_int64(nbytes, "size of a storage")
    if size < 0:
        raise RuntimeError(f"a storage of {size} bytes: the size must not be negative")
    return size


cdef inline int take_memory(UntypedStorage s, size_t nbytes, device dev) except -1:
    s.dev = dev
    s.nbytes_ = nbytes
    if dev.type_code != KEY_META and nbytes > 0:
        s.allocator = cpu_allocator if dev.type_code == KEY_CPU else allocator_of(dev)
        if s.allocator is None:
            return take_made(s)
        s.data = s.allocator.allocate(nbytes, dev.index_code)
        if watched & WATCH_MEMORY:
            cold.note_memory(s.data, nbytes, dev)
    return 0


cdef int take_bytes(UntypedStorage s, bytes items, device dev) except -1:
    """As `take_memory`, with what is to be in it."""
    cdef UntypedStorage source
    take_memory(s, len(items), dev)
    if s.data != NULL and dev.type_code == KEY_CPU:
        memcpy(s.data, <char*>items, s.nbytes_)
    elif s.data != NULL:
        source = UntypedStorage(items)
        hook.copy_elsewhere(bytes_in(s, s.nbytes_), bytes_in(source, s.nbytes_))
    return 0


cdef bytes bytes_given(object items):
    """The bytes that a caller gives as a sequence of ints, each of its lowest eight bits."""
    if isinstance(items, (Tensor, dict)) or not (hasattr(items, "__getitem__") and hasattr(items, "__len__")):
        raise RuntimeError(f"torch.UntypedStorage(): Expected a sequence type, but got {_type_name(items)}: the size in bytes, an "
                           "int, or their values, a sequence of ints")
    given = list(items)
    for item in given:
        if not PyLong_Check(item):
            raise RuntimeError(f"torch.UntypedStorage(): tried to construct a storage from a sequence ({_type_name(items)}), but one of "
                               f"the items was of type {_type_name(item)} instead of int")
    return bytes([item & 0xff for item in given])


cdef bint is_size_in_bytes(object value) except -1:
    """Whether a caller's value is a number of bytes: an int of Python's or NumPy's."""
    return PyLong_Check(value) and not PyBool_Check(value) or is_numpy_scalar(value) and value.dtype.kind in "iu"


cdef inline UntypedStorage new_storage(size_t nbytes, device dev):
    cdef UntypedStorage s = UntypedStorage.__new__(UntypedStorage)
    take_memory(s, nbytes, dev)
    return s


cdef Sharing shared(UntypedStorage s):
    """What `sharing` holds, made on first use."""
    if s.sharing is None:
        s.sharing = Sharing.__new__(Sharing)
        s.sharing.room = s.nbytes_
    return s.sharing


cdef int count_lent(UntypedStorage s, int change) except -1:
    """One more (1) or less (-1) holds the storage's address."""
    cdef Sharing sharing = shared(s)
    sharing.lent += change
    return 0


def fix_size(UntypedStorage s not None):
    """From now on a storage keeps its size: somebody has its address who may keep it, and say nothing."""
    shared(owner_storage(s)).fixed = True


cdef UntypedStorage borrow_storage(void* data, size_t nbytes, device dev, object owner):
    """A storage over memory that `owner` keeps alive; where that is a tensor, its storage does."""
    cdef UntypedStorage s = UntypedStorage.__new__(UntypedStorage)
    if isinstance(owner, Tensor):
        owner = (<Tensor>owner).storage
    if isinstance(owner, UntypedStorage):
        owner = owner_storage(<UntypedStorage>owner)
        count_lent(<UntypedStorage>owner, 1)
    cdef Sharing sharing = shared(s)
    s.dev, s.nbytes_, s.data, sharing.owner = dev, nbytes, data, NO_OWNER if owner is None else owner
    return s


cdef object NO_OWNER = object()        # of memory that was given without saying whose it is


cdef UntypedStorage alias_storage(UntypedStorage s):
    """The same memory, whatever becomes of its size, with a version of its own."""
    cdef UntypedStorage root = owner_storage(s), alias = UntypedStorage.__new__(UntypedStorage)
    cdef Sharing mine = shared(alias), theirs = shared(root)
    alias.dev, alias.nbytes_, alias.data = root.dev, root.nbytes_, root.data
    mine.owner, mine.alias = root, True
    mine.next_alias, theirs.aliases = theirs.aliases, <PyObject*>alias
    return alias


cdef inline UntypedStorage owner_storage(UntypedStorage s):
    """The storage whose memory an alias shows."""
    return <UntypedStorage>s.sharing.owner if s.sharing is not None and s.sharing.alias else s


cdef void give_back(UntypedStorage s) noexcept:
    """Says to the storage whose memory another one showed that it no longer does."""
    cdef Sharing theirs
    cdef PyObject** link
    if not isinstance(s.sharing.owner, UntypedStorage):
        return
    theirs = (<UntypedStorage>s.sharing.owner).sharing
    if not s.sharing.alias:
        theirs.lent -= 1
        if s.sharing.lazy:
            count_lazy(-1)
        return
    link = &theirs.aliases
    while link[0] != <PyObject*>s:
        link = &(<UntypedStorage>link[0]).sharing.next_alias
    link[0] = s.sharing.next_alias


cdef int resize_storage(UntypedStorage s, size_t nbytes) except -1:
    """See `UntypedStorage.resize_`."""
    cdef UntypedStorage root = owner_storage(s)
    cdef Sharing sharing = shared(root)
    own_memory(root)
    if sharing.lent or sharing.fixed or sharing.owner is not None and not makes_own(root.dev):
        holder = f"{sharing.lent} arrays or views of others hold its address" if sharing.lent \
            else "its memory was given to NumPy" if sharing.fixed else "its memory belongs to something else"
        raise RuntimeError(f"Trying to resize storage that is not resizable: {holder}. Resize a copy (`.clone()`)")
    if root.dev.type_code == KEY_META:
        sharing.room = max(sharing.room, nbytes)
    elif nbytes == 0:
        if root.data != NULL and root.allocator is not None:
            if watched & WATCH_MEMORY:
                cold.note_memory(root.data, -<int64_t>sharing.room, root.dev)
            root.allocator.release(root.data, sharing.room, root.dev.index_code)
        elif root.data != NULL:
            give_back(root)
            sharing.owner = None
        root.data = NULL
    elif root.data == NULL or nbytes > sharing.room:
        grow_storage(root, max(sharing.room, nbytes))
    root.nbytes_ = nbytes
    tell_aliases(root)
    return 0


cdef void tell_aliases(UntypedStorage root) noexcept:
    """Where a storage's memory is now, and how much of it there is."""
    cdef PyObject* alias = root.sharing.aliases
    while alias != NULL:
        (<UntypedStorage>alias).data, (<UntypedStorage>alias).nbytes_ = root.data, root.nbytes_
        alias = (<UntypedStorage>alias).sharing.next_alias


cdef int grow_storage(UntypedStorage s, size_t room) except -1:
    """Memory of `room` bytes, with what the storage holds. The old memory goes with what the new one was made as."""
    cdef UntypedStorage fresh = new_storage(room, s.dev)
    copy_bytes(fresh, s)
    s.data, fresh.data = fresh.data, s.data
    if fresh.sharing is not None:                # the memory belongs to what the device's kernel of `empty` made
        s.sharing.owner, fresh.sharing.owner = fresh.sharing.owner, s.sharing.owner
    s.allocator, fresh.nbytes_, s.sharing.room = fresh.allocator, s.sharing.room, room
    return 0


cdef int copy_bytes(UntypedStorage to, UntypedStorage s) except -1:
    """What a storage holds, into another one of the same device, with room for it."""
    if s.data != NULL and s.dev.type_code == KEY_CPU:
        memcpy(to.data, s.data, s.nbytes_)
    elif s.data != NULL:
        hook.copy_elsewhere(bytes_in(to, s.nbytes_), bytes_in(s, s.nbytes_))
    return 0


def is_movable(UntypedStorage s not None):
    """Whether `move_storage` can move what it holds: memory of its own, whose address nobody else holds."""
    cdef UntypedStorage root = owner_storage(s)
    own_memory(root)
    return root.sharing is None or root.sharing.lent == 0 and root.sharing.owner is None and not root.sharing.claimed


def move_storage(UntypedStorage s not None, UntypedStorage place not None):
    """Moves what a storage of the CPU holds, and with it all tensors over it, to the memory of another one of its size.

    That one, which no tensor may show, has the old memory then. Raises RuntimeError where others hold the old address.
    """
    cdef UntypedStorage root = owner_storage(s)
    cdef Sharing mine = shared(root), theirs = shared(place)
    own_memory(root)
    if root.dev.type_code != KEY_CPU or place.dev.type_code != KEY_CPU or place.nbytes_ != root.nbytes_:
        raise RuntimeError(f"a storage of {root.nbytes_} bytes on {root.dev} has no room in one of {place.nbytes_} on {place.dev}")
    if mine.lent or mine.owner is not None:
        raise RuntimeError("the memory of the storage cannot be moved: others hold its address. Move a copy (`.clone()`)")
    if root.data != NULL:
        memcpy(place.data, root.data, root.nbytes_)
    root.data, place.data = place.data, root.data
    root.allocator, place.allocator = place.allocator, root.allocator
    mine.owner, theirs.owner = theirs.owner, mine.owner
    mine.room, theirs.room = theirs.room, mine.room
    tell_aliases(root)


cdef Tensor bytes_in(UntypedStorage s, int64_t count):
    """The first bytes of a storage."""
    cdef Tensor t = shape_sizes(1, &count, dtypes["uint8"], s.dev)
    t.storage = s
    return t
