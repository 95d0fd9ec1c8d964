"""Kernels of few elements, which are moved here by their indices; more, and what is wrong, are for the kernels in Python."""

cdef inline bint lies_in_rows(Tensor t) noexcept:
    """Whether a tensor's few elements are moved as the bytes that they are."""
    return is_little(t) and t.contig and not t.keys & (LAZY | WRAPPERS | NARROW)


cdef inline bint holds_positions(Tensor index) noexcept:
    """Whether an index tensor is read here: one of few positions, in rows or along one dimension."""
    return is_little(index) and (index.contig or index.nd == 1) and not index.keys & (LAZY | WRAPPERS) \
        and (index.dt.code == MT_I64 or index.dt.code == MT_I32)


cdef bint find_rows(Tensor index, int64_t size, bint first, int64_t* rows) noexcept:
    """Numbers of rows, of which those of the dimensions before are there already unless it is the `first`; False outside of `size`."""
    cdef int64_t i, at, step = index.strides[0] if index.nd == 1 else 1
    cdef const char* data = tensor_data(index)
    for i in range(index.nelem):
        at = (<const int64_t*>data)[i * step] if index.dt.code == MT_I64 else (<const int32_t*>data)[i * step]
        if at < -size or at >= size:
            return False
        rows[i] = (0 if first else rows[i] * size) + (at + size if at < 0 else at)
    return True


cdef int64_t find_chosen(Tensor mask, int64_t* rows) noexcept:
    """The numbers of a mask's elements that hold; returns how many they are."""
    cdef const char* data = tensor_data(mask)
    cdef int64_t i, count = 0
    for i in range(mask.nelem):
        if data[i]:
            rows[count] = i
            count += 1
    return count


cdef void move_rows(const char* source, char* to, int64_t nbytes, const int64_t* rows, int64_t count) noexcept:
    cdef int64_t i
    if nbytes == 4:
        for i in range(count):
            (<int32_t*>to)[i] = (<const int32_t*>source)[rows[i]]
    elif nbytes == 8:
        for i in range(count):
            (<int64_t*>to)[i] = (<const int64_t*>source)[rows[i]]
    else:
        for i in range(count):
            memcpy(to + i * nbytes, source + rows[i] * nbytes, nbytes)


cdef struct Picked:            # of a tensor in rows what a mask picks, or index tensors of one shape for dimensions side by side
    int nd
    int64_t sizes[2 * MAX_DIMS]
    int64_t count, outer, size, nbytes         # rows that are picked, of how many, how often, and how long each of them is
    int64_t rows[RELEASE_GIL_FROM]


cdef bint find_picked(Tensor self, list indices, Picked* p) except -1:
    """What is picked; False for what is looked at in Python."""
    cdef int64_t inner = 1
    cdef int first = 0, width = 0, i
    cdef Tensor index = None
    p.count, p.outer, p.size = 0, 1, 1
    if not lies_in_rows(self) or len(indices) > self.nd:
        return False
    for given in indices:
        if given is None:
            first += index is None
            continue
        if index is None:
            index = <Tensor>given
        if width and (index.dt.code == MT_BOOL or indices[first + width] is not given or not same_sizes(index, <Tensor>given)):
            return False
        if holds_positions(<Tensor>given):
            if not find_rows(<Tensor>given, self.sizes[first + width], width == 0, p.rows):
                return False
            p.count, width = index.nelem, width + 1
        elif index.dt.code == MT_BOOL and lies_in_rows(index) and first + index.nd <= self.nd \
                and memcmp(index.sizes, self.sizes + first, index.nd * sizeof(int64_t)) == 0:
            p.count, width = find_chosen(index, p.rows), index.nd
        else:
            return False
    if width == 0:
        return False
    p.nd = self.nd - width + (1 if index.dt.code == MT_BOOL else index.nd)
    for i in range(first):
        p.sizes[i] = self.sizes[i]
        p.outer *= self.sizes[i]
    if index.dt.code == MT_BOOL:
        p.sizes[first] = p.count
    else:
        memcpy(p.sizes + first, index.sizes, index.nd * sizeof(int64_t))
    for i in range(first + width, self.nd):
        p.sizes[p.nd - self.nd + i] = self.sizes[i]
        inner *= self.sizes[i]
    for i in range(first, first + width):
        p.size *= self.sizes[i]
    p.nbytes = inner * self.dt.itemsize
    return p.nd <= MAX_DIMS and p.outer * p.count * inner < RELEASE_GIL_FROM


cdef Tensor picked_rows(Tensor self, list indices):
    """What is picked, in a new tensor; None for what is looked at in Python."""
    cdef Picked p
    cdef int64_t o
    cdef Tensor made
    if not find_picked(self, indices, &p):
        return None
    made = alloc_sizes(p.nd, p.sizes, self.dt, device_cpu)
    for o in range(p.outer if p.count > 0 else 0):
        move_rows(tensor_data(self) + o * p.size * p.nbytes, <char*>made.storage.data + o * p.count * p.nbytes, p.nbytes, p.rows, p.count)
    return made


cdef inline list as_list(indices):
    return <list>indices if type(indices) is list else list(indices)


def index_elements(Tensor self not None, indices not None):
    """A kernel: elements at index tensors or masks."""
    cdef Tensor made = picked_rows(self, as_list(indices))
    return hook.python_kernel("indexing:index")(self, indices) if made is None else made


cdef bint put_rows(Tensor self, list indices, Tensor values) except -1:
    """Writes what is picked, a value for each of its elements or one for all; False for what is looked at in Python."""
    cdef Picked p
    cdef int64_t o, i, at, itemsize = self.dt.itemsize
    cdef char* row
    cdef const char* source
    if values.dt is not self.dt or values.storage is self.storage or not lies_in_rows(values) or not find_picked(self, indices, &p) \
            or p.count == 0 or values.nd > p.nd:
        return False
    if values.nelem > 1 and (values.nd != p.nd or memcmp(values.sizes, p.sizes, p.nd * sizeof(int64_t)) != 0):
        return False
    source = tensor_data(values)
    for o in range(p.outer):
        for i in range(p.count):
            row = tensor_data(self) + (o * p.size + p.rows[i]) * p.nbytes
            if values.nelem > 1:
                memcpy(row, source, p.nbytes)
                source += p.nbytes
            else:
                for at in range(0, p.nbytes, itemsize):
                    memcpy(row + at, source, itemsize)
    return True


def index_put_elements(Tensor self not None, indices not None, Tensor values not None, accumulate=False):
    """A kernel: values written at index tensors or masks."""
    if accumulate or not put_rows(self, as_list(indices), values):
        return hook.python_kernel("indexing:index_put_")(self, indices, values, accumulate)
    return self


def take_elements(Tensor self not None, Tensor index not None):
    """A kernel: elements of the flat tensor."""
    cdef int64_t rows[RELEASE_GIL_FROM]
    cdef Tensor made
    if lies_in_rows(self) and index.dt.code == MT_I64 and holds_positions(index) and find_rows(index, self.nelem, True, rows):
        made = alloc_sizes(index.nd, index.sizes, self.dt, device_cpu)
        move_rows(tensor_data(self), <char*>made.storage.data, self.dt.itemsize, rows, index.nelem)
        return made
    return hook.python_kernel("scattering:take")(self, index)


cdef bint find_some(Tensor t, int64_t* found, int64_t* count) noexcept:
    """The numbers of the elements that are not 0; False for a dtype of which that is not known here."""
    cdef const char* at = tensor_data(t)
    cdef int64_t i
    cdef int code = t.dt.code
    count[0] = 0
    if code == MT_BOOL:
        count[0] = find_chosen(t, found)
        return True
    for i in range(t.nelem):
        if code == MT_F32:
            some = (<const float*>at)[i] != 0
        elif code == MT_I64:
            some = (<const int64_t*>at)[i] != 0
        elif code == MT_F64:
            some = (<const double*>at)[i] != 0
        elif code == MT_I32:
            some = (<const int32_t*>at)[i] != 0
        else:
            return False
        if some:
            found[count[0]] = i
            count[0] += 1
    return True


def nonzero_rows(Tensor self not None):
    """A kernel: the indices of all elements that are not 0, a row each."""
    cdef int64_t found[RELEASE_GIL_FROM]
    cdef int64_t sizes[2]
    cdef int64_t i, left, count
    cdef int64_t* row
    cdef Tensor made
    cdef int d
    if self.nd == 0 or not lies_in_rows(self) or not find_some(self, found, &count):
        return hook.python_kernel("indexing:nonzero")(self)
    sizes[0], sizes[1] = count, self.nd
    made = alloc_sizes(2, sizes, dtype_i64, device_cpu)
    row = <int64_t*>made.storage.data
    for i in range(count):
        left = found[i]
        for d in range(self.nd - 1, -1, -1):
            row[d] = left % self.sizes[d]
            left //= self.sizes[d]
        row += self.nd
    return made


# ---------------------------------------------------------------- indices that are counted
cdef int64_t largest_index(Tensor t) noexcept:
    """The largest of a tensor's few int64, in rows; -1 where one is below 0 or far beyond what is counted here."""
    cdef const int64_t* at = <const int64_t*>tensor_data(t)
    cdef int64_t i, largest = 0
    for i in range(t.nelem):
        if not 0 <= at[i] < RELEASE_GIL_FROM:
            return -1
        largest = max(largest, at[i])
    return largest


cdef inline bint holds_counted(Tensor t) noexcept:
    return lies_in_rows(t) and t.dt.code == MT_I64


def bincount(Tensor self not None, weights=None, int64_t minlength=0):
    """A kernel: how often each number from 0 on is there."""
    cdef int64_t i, count
    cdef Tensor made
    if weights is None and self.nd == 1 and 0 <= minlength < RELEASE_GIL_FROM and holds_counted(self):
        count = largest_index(self) + 1
        if count > 0:
            count = max(count, minlength)
            made = alloc_sizes(1, &count, dtype_i64, device_cpu)
            memset(made.storage.data, 0, count * sizeof(int64_t))
            for i in range(self.nelem):
                (<int64_t*>made.storage.data)[(<const int64_t*>tensor_data(self))[i]] += 1
            return made
    return hook.python_kernel("statistics:bincount")(self, weights, minlength)


def one_hot(Tensor self not None, int64_t num_classes=-1):
    """A kernel: 1 at each index in a new last dimension, 0 elsewhere; as many classes as the largest index needs, by default."""
    cdef int64_t sizes[MAX_DIMS]
    cdef int64_t i, largest, classes
    cdef Tensor made
    if is_plain(self) and self.nd < MAX_DIMS and num_classes < RELEASE_GIL_FROM and holds_counted(self):
        largest = largest_index(self)
        classes = largest + 1 if num_classes == -1 else num_classes
        if 0 <= largest < classes and self.nelem * classes < RELEASE_GIL_FROM:
            memcpy(sizes, self.sizes, self.nd * sizeof(int64_t))
            sizes[self.nd] = classes
            made = alloc_sizes(self.nd + 1, sizes, dtype_i64, device_cpu)
            memset(made.storage.data, 0, made.nelem * sizeof(int64_t))
            for i in range(self.nelem):
                (<int64_t*>made.storage.data)[i * classes + (<const int64_t*>tensor_data(self))[i]] = 1
            return made
    return hook.python_kernel("similarity:one_hot")(self, num_classes)


def repeats_of(Tensor repeats not None, *, output_size=None):
    """A kernel: each number as often as `repeats` says."""
    cdef int64_t i, k, count = 0
    cdef const int64_t* times = <const int64_t*>tensor_data(repeats)
    cdef int64_t* to
    cdef Tensor made
    if repeats.nd == 1 and output_size is None and holds_counted(repeats) and largest_index(repeats) >= 0:
        for i in range(repeats.nelem):
            count += times[i]
        if count < RELEASE_GIL_FROM:
            made = alloc_sizes(1, &count, dtype_i64, device_cpu)
            to = <int64_t*>made.storage.data
            for i in range(repeats.nelem):
                for k in range(times[i]):
                    to[0] = i
                    to += 1
            return made
    return hook.python_kernel("arranging:repeats_of")(repeats, output_size=output_size)
