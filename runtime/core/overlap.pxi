"""Memory that is written: whether its elements overlap one another, or an input's, judged before a kernel runs.

The rules are PyTorch's. Memory overlaps itself where a dimension of more than one index has the stride 0; it overlaps an
input partially where both are dense and share some of their bytes without being the same view. Of tensors with gaps
nothing is said: to find out is as hard as integer programming.
"""

cdef enum OverlapCheck:                  # bits: what an operator refuses of an argument that it writes to
    REFUSE_INTERNAL = 1                  # two elements in one place
    REFUSE_PARTIAL = 2                   # an input that shares some of its memory
    REFUSE_FULL = 4                      # an input that shares some or all of it
    WARN_EXPANDED = 8                    # two elements in one place: a warning says so

cdef enum Overlap:
    OVERLAP_NONE, OVERLAP_PARTIAL, OVERLAP_FULL

cdef dict OVERLAP_CHECKS = {"Internal": REFUSE_INTERNAL, "Partial": REFUSE_PARTIAL, "Full": REFUSE_FULL, "Expanded": WARN_EXPANDED}


cdef int read_overlap_check(object schema, object names) except -1:
    """The bits of checks by their names; none for an operator that writes to no argument."""
    cdef int found = 0
    for name in names:
        if name not in OVERLAP_CHECKS:
            raise ValueError(f"{schema.name}: overlap_check must be of {', '.join(OVERLAP_CHECKS)}, got {name!r}")
        found |= <int>OVERLAP_CHECKS[name]
    return found if any([argument.is_write for argument in schema.arguments]) else 0


cdef inline bint plainly_apart(OpOverload op, Bound* bound) noexcept:
    """Whether only the first argument is written, without gaps, and no other tensor's storage reaches into its storage."""
    cdef int i
    if not op.writes_first or bound.slots[0] == <PyObject*>None or not (<Tensor>bound.slots[0]).contig:
        return False
    for i in range(1, op.sig.count):
        if op.sig.args[i].kind == ARG_TENSOR and bound.slots[i] != <PyObject*>None \
                and share_storage(bound.slots[0], bound.slots[i]):
            return False
    return True


cdef int check_overlap(OpOverload op, Bound* bound) except -1:
    """Raises RuntimeError where a call would write to memory that its declaration says must not overlap."""
    cdef int i
    for i in range(op.sig.count):
        if not op.aliases[i].written or bound.slots[i] == <PyObject*>None:
            continue
        if op.sig.args[i].kind == ARG_TENSOR:
            check_written(op, bound, i, <Tensor>bound.slots[i])
        else:
            for t in tensors_of(<object>bound.slots[i]):
                check_written(op, bound, i, <Tensor>t)
    return 0


cdef object internal_overlap(str name, str argument):
    return RuntimeError(f"{name}: unsupported operation: more than one element of the written-to tensor refers to a single memory "
                        f"location. Please clone() the tensor '{argument}' before performing the operation.")


cdef int warn_of_expanded(str name) except -1:
    import warnings
    warnings.warn(f"Use of {name} on expanded tensors is deprecated: what is written to one element is written to others, too. Please "
                  "clone() the tensor before. This also applies to assignments at indices and masks.", UserWarning,
                  stacklevel=hook.user_stacklevel())
    return 0


cdef inline int check_written(OpOverload op, Bound* bound, int at, Tensor written) except -1:
    cdef int i, kind
    if written.dev is device_meta or written.keys & WRAPPERS:
        return 0                                          # nothing is written here: what a tensor wraps is checked
    if op.overlap_check & REFUSE_INTERNAL and not written.contig and overlaps_itself(written):
        raise internal_overlap(op.sig.qualname, op.sig.names[at])
    if op.overlap_check & WARN_EXPANDED and not written.contig and overlaps_itself(written):
        warn_of_expanded(op._schema.name)
    if not op.overlap_check & (REFUSE_PARTIAL | REFUSE_FULL):
        return 0
    for i in range(op.sig.count):
        if i == at or bound.slots[i] == <PyObject*>None:
            continue
        kind = op.sig.args[i].kind
        if kind == ARG_TENSOR:
            if share_storage(<PyObject*>written, bound.slots[i]):
                check_against(op, at, written, i, <Tensor>bound.slots[i])
        elif kind == ARG_TENSOR_LIST or kind == ARG_OPT_TENSOR_LIST:
            for item in <object>bound.slots[i]:
                if item is not None and share_storage(<PyObject*>written, <PyObject*>item):
                    check_against(op, at, written, i, <Tensor>item)
    return 0


cdef inline bint share_storage(PyObject* a, PyObject* b) noexcept:
    """Whether the memory of two tensors' storages overlaps: two storages may borrow from one owner. On meta there is none."""
    return <char*>(<Tensor>a).storage.data < <char*>(<Tensor>b).storage.data + (<Tensor>b).storage.nbytes_ \
        and <char*>(<Tensor>b).storage.data < <char*>(<Tensor>a).storage.data + (<Tensor>a).storage.nbytes_ \
        and (<Tensor>a).storage.data != NULL and (<Tensor>b).storage.data != NULL


cdef int check_against(OpOverload op, int at, Tensor written, int other, Tensor given) except -1:
    cdef int found = overlap_of(written, given)
    if found == OVERLAP_PARTIAL or found == OVERLAP_FULL and op.overlap_check & REFUSE_FULL:
        raise RuntimeError(f"{op.sig.qualname}: unsupported operation: some elements of the input tensor and the written-to tensor refer "
                           f"to a single memory location. Please clone() the tensor '{op.sig.names[other]}', which shares memory with "
                           f"'{op.sig.names[at]}', before performing the operation.")
    return 0


cdef int overlap_of(Tensor a, Tensor b) noexcept:
    """How two tensors whose storages overlap do; of those that are not dense it is not known, and counts as none."""
    cdef char* first = tensor_data(a)
    cdef char* second = tensor_data(b)
    cdef int64_t length = a.nelem * a.dt.itemsize, other_length = b.nelem * b.dt.itemsize
    if a is b:
        return OVERLAP_FULL
    if length == 0 or other_length == 0 or not is_dense(a) or not is_dense(b):
        return OVERLAP_NONE
    if first == second and length == other_length and same_steps(a, b):
        return OVERLAP_FULL
    return OVERLAP_PARTIAL if first < second + other_length and second < first + length else OVERLAP_NONE


cdef bint same_steps(Tensor a, Tensor b) noexcept:
    """Whether two tensors have the same strides."""
    cdef int i
    if a.nd != b.nd:
        return False
    for i in range(a.nd):
        if a.strides[i] != b.strides[i]:
            return False
    return True


cdef bint overlaps_itself(Tensor t) noexcept:
    cdef int i
    for i in range(t.nd):
        if t.strides[i] == 0 and t.sizes[i] > 1:
            return t.nelem > 0
    return False


cpdef bint is_dense(Tensor t) noexcept:
    """Whether the elements fill their memory without gaps and without overlap, in whatever order."""
    cdef int i, left = 0
    cdef int64_t expected = 1
    cdef bint found = True
    if t.contig:
        return True
    for i in range(t.nd):
        left += t.sizes[i] != 1
    while left > 0 and found:                             # each dimension steps over those that are inside of it
        found = False
        for i in range(t.nd):
            if t.sizes[i] != 1 and t.strides[i] == expected:
                expected *= t.sizes[i]
                left -= 1
                found = True
                break
    return left == 0
