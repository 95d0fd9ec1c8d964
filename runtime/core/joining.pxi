"""Kernels that join and copy tensors. A few elements are moved here, many by the operator `copy_`, whose kernel has threads."""

cdef bint is_nothing(Tensor t) noexcept:
    """Whether a tensor counts as nothing among those that are joined, as in PyTorch."""
    return t.nd == 1 and t.sizes[0] == 0


cdef int check_tensors(object tensors) except -1:
    """Raises TypeError where there is something else among what is joined: these are functions of Python, too."""
    for t in tensors:
        if not isinstance(t, Tensor):
            raise TypeError(f"expected tensors to be joined, got {type(t).__name__} among them")
    return 0


cdef Tensor room_for(object tensors, int64_t dim, int* along):
    """Uninitialised memory for tensors that are joined, and the dimension. Raises where sizes differ elsewhere."""
    cdef int64_t sizes[MAX_DIMS]
    cdef Tensor t, first = None
    cdef dtype common = None
    cdef bint alike = True
    cdef int i, d = 0, at = 0
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    check_tensors(tensors)
    for t in tensors:
        if t.nd == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {at}) cannot be concatenated")
        common, alike = t.dt if common is None else common, alike and (common is None or common is t.dt)
        at += 1
    at = 0
    for t in tensors:
        if is_nothing(t):
            continue
        if first is None:
            first, d = t, counted_dim(dim, t.nd)
            memcpy(sizes, t.sizes, t.nd * sizeof(int64_t))
        else:
            check_joins(first, t, d, at)
            if mt_advance(sizes[d], 1, t.sizes[d], &sizes[d]):
                raise RuntimeError(f"torch.cat(): the sizes in dimension {d} add up to more than 2**63 - 1")
        at += 1
    if first is None:                       # where none counts no dimension is wrong
        first, sizes[0] = <Tensor>tensors[0], 0
    if not alike:
        common = <dtype>common_dtype(*tensors)
    along[0] = d
    if first.nd == 4 or first.nd == 5:
        return room_in_format(first.nd, sizes, common, (<Tensor>tensors[0]).dev, common_format(tensors))
    return alloc_sizes(first.nd, sizes, common, (<Tensor>tensors[0]).dev)


cdef object common_format(object tensors):
    """The memory format of tensors that are joined, that of rows where it is not one."""
    format = suggested_format(tensors[0])
    for t in tensors:
        if suggested_format(t) != format:
            return "contiguous_format"
    return format


cdef int check_joins(Tensor first, Tensor t, int along, int at) except -1:
    """Raises where tensor number `at` of those that count does not go with the first."""
    cdef int i
    if t.nd != first.nd:
        raise RuntimeError(f"Tensors must have same number of dimensions: got {first.nd} and {t.nd}")
    for i in range(t.nd):
        if i != along and t.sizes[i] != first.sizes[i]:
            raise RuntimeError(f"Sizes of tensors must match except in dimension {along}. Expected size {first.sizes[i]} but got size "
                               f"{t.sizes[i]} for tensor number {at} in the list.")
    return 0


cdef inline bint is_little(Tensor t) noexcept:
    """Whether to move a tensor's elements takes less than a call."""
    return t.dev.type_code == KEY_CPU and 0 < t.nelem < RELEASE_GIL_FROM and t.storage.data != NULL


cdef int fill_part(Tensor whole, int along, int64_t start, Tensor part) except -1:
    """Writes a tensor into one in rows, or in another format, from an index of a dimension on."""
    cdef int64_t inner = whole.dt.itemsize, outer = 1, i, row, nbytes
    cdef char* to
    cdef char* source
    cdef int d
    if part.nelem == 0:
        return 0
    if not (part.contig and whole.contig and part.dt is whole.dt and is_little(part) and whole.dev.type_code == KEY_CPU):
        call2(aten("copy_"), sliced(whole, along, start, part.sizes[along], 1), part)
        return 0
    for d in range(along + 1, whole.nd):
        inner *= whole.sizes[d]
    for d in range(along):
        outer *= whole.sizes[d]
    row, nbytes = whole.sizes[along] * inner, part.sizes[along] * inner
    to, source = tensor_data(whole) + start * inner, tensor_data(part)
    for i in range(outer):
        memcpy(to + i * row, source + i * nbytes, nbytes)
    return 0


def joined(tensors not None, int64_t dim):
    """Tensors joined along a dimension."""
    cdef int along
    cdef int64_t start = 0
    cdef Tensor t, whole = room_for(tensors, dim, &along)
    for t in tensors:
        if not is_nothing(t):
            fill_part(whole, along, start, t)
            start += t.sizes[along]
    return whole


def joined_size(tensors not None, int64_t dim):
    """The result of `joined` without its values."""
    cdef int along
    return room_for(tensors, dim, &along)


cdef list rows_of(object tensors, int64_t dim):
    """Tensors of one shape, each with a new dimension of size 1."""
    cdef Tensor t, first
    cdef int d, at = 0
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    check_tensors(tensors)
    first = <Tensor>tensors[0]
    d = counted_dim(dim, first.nd + 1)
    for t in tensors:
        if not same_sizes(t, first):
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(first.shape)} at entry 0 and {list(t.shape)} "
                               f"at entry {at}")
        at += 1
    return [unsqueezed(<Tensor>t, d) for t in tensors]


def stacked(tensors not None, int64_t dim):
    """Tensors joined along a new dimension."""
    return joined(rows_of(tensors, dim), dim)


def stacked_size(tensors not None, int64_t dim):
    """The result of `stacked` without its values."""
    return joined_size(rows_of(tensors, dim), dim)


# ---------------------------------------------------------------- copies
def cloned(Tensor self not None, *, memory_format=None):
    """A copy with memory of its own, in the order of self's dimensions unless a format is given."""
    cdef Tensor made = room_like(self, self.dt, self.dev, memory_format)
    if is_little(self) and same_steps(self, made):        # one run of memory, in whichever order
        memcpy(made.storage.data, tensor_data(self), self.nelem * self.dt.itemsize)
    else:
        call2(aten("copy_"), made, self)
    return made


def made_contiguous(Tensor self not None, *, memory_format=None):
    """The tensor itself where it lies in the format, that of rows unless one is given, else a copy that does."""
    cdef Tensor made
    if self.contig if memory_format is None else is_in_format(self, memory_format):
        return self
    if memory_format == "preserve_format":
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    made = room_in_format(self.nd, self.sizes, self.dt, self.dev, memory_format)
    call2(aten("copy_"), made, self)
    return made


def copied_to(Tensor self not None, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None):
    """A copy in another dtype or on another device."""
    cdef Tensor made = room_elsewhere(self, dtype, device, memory_format)
    if made.dev.type_code != KEY_META:
        call2(aten("copy_"), made, self)
    return made


def copied_to_size(Tensor self not None, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False,
                   memory_format=None):
    """The result of `copied_to` without its values."""
    return room_elsewhere(self, dtype, device, memory_format)


cdef Tensor room_elsewhere(Tensor t, object wanted, object place, object format):
    """Uninitialised memory of t's shape, of its dtype and device and in its order unless others are given."""
    cdef device where = t.dev if place is None else as_device(place)
    if t.dev.type_code == KEY_META and where.type_code != KEY_META:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    if (format is None or format == "preserve_format") and not t.contig and not is_dense(t):
        format = suggested_format(t)
    return room_like(t, t.dt if wanted is None else <dtype>given_dtype("_to_copy", wanted), where, format)
