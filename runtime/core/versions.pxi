"""Which tensors a call changed: versions, and who counted them up last.

Every change in place counts the storage's version up, and gets a number of its own: the next of `bumps`, for the whole
process. The storage remembers its last change's number and thread, the thread its last number. So a call knows at the
cost of one comparison that it changed nothing, and never takes another thread's change of a shared tensor for its own.
"""

cdef uint64_t bumps = 0            # changes in place so far


def set_version_(Tensor t not None, int64_t version):
    """Sets how often the tensor's memory is said to have changed."""
    t.storage.version = version


cdef void bump_version(UntypedStorage s) noexcept:
    global bumps
    bumps += 1
    s.version += 1
    s.bump, s.bumped_by = bumps, &mt_state
    mt_state.last_bump = bumps
    if s.sharing is not None and s.sharing.counted_with is not None:
        count_for_others(s)


cdef int count_for_others(UntypedStorage s) except -1:
    for reference in s.sharing.counted_with:
        other = reference()
        if other is not None:
            (<UntypedStorage>other).version = s.version
    return 0


cdef int count_together(UntypedStorage s, UntypedStorage other) except -1:
    """From now on a change of either counts for both: they stand for one tensor and what shared its memory before."""
    import weakref
    cdef list group = shared(s).counted_with
    if group is None:
        group = [weakref.ref(s)]
    group = [reference for reference in group if reference() is not None]
    group.append(weakref.ref(other))
    for reference in group:
        member = reference()
        if member is not None:
            shared(<UntypedStorage>member).counted_with = group
    return 0


cdef inline bint changed_since(Tensor t, uint64_t start) noexcept:
    """Whether this thread changed a tensor's memory after change number `start`.

    The address of a thread's state stands for the thread; one that ended and left its address to this thread did so
    before `start`.
    """
    return t.storage.bump > start and t.storage.bumped_by == &mt_state


cdef inline int check_unchanged(OpOverload op, Bound* bound, uint64_t start) except -1:
    """Refuses a kernel that changed an argument in place which the schema does not declare as written."""
    return 0 if mt_state.last_bump <= start else find_undeclared_change(op, bound, start)


cdef int find_undeclared_change(OpOverload op, Bound* bound, uint64_t start) except -1:
    cdef int i
    for i in range(op.sig.count):
        if not op.aliases[i].written:
            for t in tensors_of(<object>bound.slots[i]):
                if changed_since(<Tensor>t, start):
                    cold.refuse_mutation(op, bound, i)
    return 0


cdef void begin_versions(PyObject* result) noexcept:
    """Tensors that a kernel made begin at version 0, whatever it did to fill them: nobody else has seen one.

    `result` is what it returned, a tensor, or a list or tuple of them, to which the call has the only reference.
    """
    cdef Py_ssize_t i
    if is_tensor(result):
        if Py_REFCNT(result) == 1 and Py_REFCNT(<PyObject*>(<Tensor>result).storage) == 1:
            (<Tensor>result).storage.version = 0
    elif PyTuple_Check(<object>result):
        for i in range(PyTuple_GET_SIZE(<object>result)):
            begin_versions(<PyObject*>PyTuple_GET_ITEM(<object>result, i))
    elif PyList_Check(<object>result):
        for i in range(PyList_GET_SIZE(<object>result)):
            begin_versions(PyList_GET_ITEM(<object>result, i))


cdef list tensors_of(object value):
    if isinstance(value, Tensor):
        return [value]
    return [t for t in value if isinstance(t, Tensor)] if isinstance(value, (list, tuple)) else []


cdef int bump_mutated(OpOverload op, Bound* bound, uint64_t start) except -1:
    """Counts a change on every argument that the schema declares as written, unless the kernel's own operators did."""
    cdef int i
    for i in range(op.sig.count):
        if not op.aliases[i].written or bound.slots[i] == <PyObject*>None:
            continue
        if op.sig.args[i].kind == ARG_TENSOR:
            bump_unless_changed(<Tensor>bound.slots[i], start)
        else:
            for t in tensors_of(<object>bound.slots[i]):
                bump_unless_changed(<Tensor>t, start)
    return 0


cdef inline void bump_unless_changed(Tensor t, uint64_t start) noexcept:
    if not changed_since(t, start):
        bump_version(t.storage)
