"""Lazy clones: storages that show one memory until one of them is written to, or lends its address: that one then has its own.

The memory belongs to a storage that no tensor shows. Whoever writes comes by one of a few places, which cost a look at
`lazy_storages` while there are none: an operator's call, before its kernel sees the arguments that the schema declares as
written (`own_written`); a launch that no operator's program makes, of which nobody says what it writes; and whatever tells
an address (`data_ptr`, memoryviews) or changes the memory itself (resizing, moving).
"""

cdef int64_t lazy_storages = 0         # storages that share memory lazily


cdef void count_lazy(int change) noexcept:
    global lazy_storages
    lazy_storages += change


cdef inline bint shows_shared(UntypedStorage root) noexcept:
    return root.sharing is not None and root.sharing.lazy


cdef inline int own_memory(UntypedStorage s) except -1:
    """Before a storage's memory is written to: it has its own from now on."""
    return 0 if lazy_storages == 0 or not shows_shared(owner_storage(s)) else stop_sharing(owner_storage(s))


cdef int stop_sharing(UntypedStorage root) except -1:
    """The last storage that shows a memory takes it; one of several takes a copy."""
    cdef UntypedStorage common = <UntypedStorage>root.sharing.owner, fresh
    if common.sharing.lent == 1:
        root.allocator, common.allocator = common.allocator, None
        common.data = NULL
    else:
        fresh = new_storage(root.sharing.room, root.dev)
        memcpy(fresh.data, root.data, root.sharing.room)      # tensors may reach what a smaller size left behind
        root.data, root.allocator = fresh.data, fresh.allocator
        fresh.data, fresh.allocator = NULL, None
    common.sharing.lent -= 1
    root.sharing.owner, root.sharing.lazy = None, False
    count_lazy(-1)
    tell_aliases(root)
    return 0


cdef int own_written(OpOverload op, Bound* bound) except -1:
    """Before an operator's kernel runs: the arguments that the schema declares as written have memory of their own."""
    cdef int i
    for i in range(op.sig.count):
        if op.aliases[i].written:
            for t in tensors_of(<object>bound.slots[i]):
                own_memory((<Tensor>t).storage)
    return 0


cdef UntypedStorage lazily_cloned(UntypedStorage s):
    """A storage that shows the same memory until one of them is written to.

    Where others hold the address, and what they write would be seen, or the memory is not the CPU's, it is a copy at once.
    """
    cdef UntypedStorage root = owner_storage(s), common, made
    if not shows_shared(root):
        if root.allocator is not cpu_allocator or root.data == NULL or shared(root).lent:
            made = new_storage(root.nbytes_, root.dev)
            copy_bytes(made, root)
            return made
        common = UntypedStorage.__new__(UntypedStorage)
        common.dev, common.nbytes_, common.data, common.allocator = root.dev, root.nbytes_, root.data, root.allocator
        shared(common).room = root.sharing.room
        root.allocator = None
        share_lazily(root, common)
    made = UntypedStorage.__new__(UntypedStorage)
    made.dev, made.nbytes_, made.data = root.dev, root.nbytes_, root.data
    shared(made).room = root.sharing.room
    share_lazily(made, <UntypedStorage>root.sharing.owner)
    return made


cdef int share_lazily(UntypedStorage s, UntypedStorage common) except -1:
    s.sharing.owner, s.sharing.lazy = common, True
    count_lent(common, 1)
    count_lazy(1)
    return 0


def lazy_clone(Tensor t not None):
    """A tensor like t over a storage of its own, which shares t's memory until one of the two is written to."""
    cdef Tensor made = bare_tensor(t.dt, t.dev)
    copy_geometry(t, made)
    made.storage, made.offset = lazily_cloned(t.storage), t.offset
    return made


def is_lazily_shared(Tensor t not None):
    """Whether t's memory may be that of lazy clones, so that it is copied before it is written to."""
    return shows_shared(owner_storage(t.storage))


def seen_address(Tensor t not None):
    """The address of t's first element, to compare, not to write to: lazy clones go on sharing it."""
    return <uintptr_t>tensor_data(t)


def storage_identity(UntypedStorage s not None):
    """A number that storages of the same memory have in common: that of an object, which lazy clones each have their own of."""
    cdef UntypedStorage root = owner_storage(s)
    return <uintptr_t><PyObject*>root
