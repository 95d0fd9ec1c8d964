"""Kernels of the operators that make views, on every device: they touch no elements, and Python has no frame of theirs.

Which these are, and their gradients, ops_yaml/shape.yaml says.
"""

cdef list list_of(int nd, const int64_t* sizes):
    return [sizes[i] for i in range(nd)]


cdef int counted_dim(int64_t dim, int nd) except -1:
    """A dimension counted from 0. A tensor without dimensions is taken to have one."""
    cdef int n = nd if nd > 0 else 1
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return <int>(dim + n if dim < 0 else dim)


cdef Tensor in_order(Tensor t, const int* order):
    """A view with t's dimensions in that order."""
    cdef Tensor v = bare_view(t, t.nd)
    cdef int i
    for i in range(t.nd):
        v.sizes[i], v.strides[i] = t.sizes[order[i]], t.strides[order[i]]
    finish_geometry(v)
    return v


def transposed(Tensor self not None, int64_t dim0, int64_t dim1):
    """Two dimensions exchanged."""
    cdef int order[MAX_DIMS]
    cdef int i, a = counted_dim(dim0, self.nd), b = counted_dim(dim1, self.nd)
    for i in range(self.nd):
        order[i] = i
    if self.nd > 0:
        order[a], order[b] = b, a
    return in_order(self, order)


def matrix_transposed(Tensor self not None):
    """A matrix transposed; a vector as it is."""
    cdef int[2] order = [self.nd - 1, 0]
    if self.nd > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.nd}D")
    return in_order(self, order)


def permuted(Tensor self not None, dims not None):
    """The dimensions in another order."""
    cdef int64_t given[MAX_DIMS]
    cdef int order[MAX_DIMS]
    cdef uint64_t seen = 0
    cdef int i
    if len(dims) != self.nd:
        raise RuntimeError("permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
                           f"ordering of dimensions i.e. input.dim() = {self.nd} is not equal to len(dims) = {len(dims)}")
    read_ints(dims, given, "permute(): argument 'dims'")
    for i in range(self.nd):
        order[i] = counted_dim(given[i], self.nd)
    for i in range(self.nd):
        if seen >> order[i] & 1:
            raise RuntimeError("permute(): duplicate dims are not allowed.")
        seen |= <uint64_t>1 << order[i]
    return in_order(self, order)


def dim_moved(Tensor self not None, int64_t source, int64_t destination):
    """A dimension moved to another position."""
    cdef int order[MAX_DIMS]
    cdef int i, at = 0, first = counted_dim(source, self.nd), last = counted_dim(destination, self.nd)
    for i in range(self.nd):
        if i == last:
            order[i] = first
            continue
        at += at == first
        order[i] = at
        at += 1
    return in_order(self, order)


def selected(Tensor self not None, int64_t dim, int64_t index):
    """One index of a dimension, which is left out."""
    cdef int d
    cdef int64_t size
    if self.nd == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = counted_dim(dim, self.nd)
    size = self.sizes[d]
    if not -size <= index < size:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension {dim}")
    return sliced(self, d, index + size if index < 0 else index, -1, 1)


cdef inline int64_t cut_to(int64_t index, int64_t size) noexcept:
    """A bound of a slice, counted from the end where it is negative, within what there is."""
    if index < 0:
        index += size
    return 0 if index < 0 else size if index > size else index


def cut(Tensor self not None, int64_t dim, start, end, int64_t step):
    """A range of a dimension, cut to what there is."""
    cdef int d
    cdef int64_t size, first, last
    if self.nd == 0:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    d = counted_dim(dim, self.nd)
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    size = self.sizes[d]
    first = 0 if start is None else cut_to(to_int64(start, "slice(): argument 'start'"), size)
    last = size if end is None else cut_to(to_int64(end, "slice(): argument 'end'"), size)
    return sliced(self, d, first, 0 if last <= first else (last - first - 1) // step + 1, step)


cdef Tensor without_ones(Tensor t, uint64_t dims):
    """A view without those of the dimensions, bits of `dims`, whose size is 1."""
    cdef int i, at = 0
    for i in range(t.nd):
        at += not (t.sizes[i] == 1 and dims >> i & 1)
    cdef Tensor v = bare_view(t, at)
    at = 0
    for i in range(t.nd):
        if not (t.sizes[i] == 1 and dims >> i & 1):
            v.sizes[at], v.strides[at] = t.sizes[i], t.strides[i]
            at += 1
    finish_geometry(v)
    return v


def squeezed(Tensor self not None):
    """Dimensions of size 1 left out."""
    return without_ones(self, <uint64_t>-1)


def squeezed_dim(Tensor self not None, int64_t dim):
    """A dimension left out if its size is 1."""
    return without_ones(self, <uint64_t>1 << counted_dim(dim, self.nd))


def squeezed_dims(Tensor self not None, dim not None):
    """Dimensions left out where their size is 1. Each is looked at before the next: of two mistakes the first is told."""
    cdef int64_t dims[MAX_DIMS]
    cdef uint64_t found = 0, bit
    cdef int i
    for i in range(read_ints(dim, dims, "dim")):
        dims[i] = counted_dim(dims[i], self.nd)
        bit = <uint64_t>1 << dims[i]
        if found & bit:
            raise RuntimeError(f"dim {dims[i]} appears multiple times in the list of dims")
        found |= bit
    return without_ones(self, found)


def unsqueezed(Tensor self not None, int64_t dim):
    """A dimension of size 1 put in."""
    cdef int64_t sizes[MAX_DIMS]
    cdef int64_t strides[MAX_DIMS]
    cdef int i, d = counted_dim(dim, self.nd + 1)
    if self.nd == MAX_DIMS:
        raise RuntimeError(f"unsqueeze: a tensor has at most {MAX_DIMS} dimensions")
    for i in range(self.nd):
        sizes[i + (i >= d)], strides[i + (i >= d)] = self.sizes[i], self.strides[i]
    sizes[d] = strides[d] = 1
    if d < self.nd and mt_advance(0, self.sizes[d], self.strides[d], &strides[d]):
        raise RuntimeError(f"unsqueeze: {self.sizes[d]} times a stride of {self.strides[d]} elements needs more than 64 bits")
    return strided(self, self.nd + 1, sizes, strides, self.offset)


def view_as_real(Tensor self not None):
    """Complex numbers as pairs in a last dimension, over the same memory. Raises RuntimeError for one kept as its conjugate."""
    cdef int64_t sizes[MAX_DIMS]
    cdef int64_t strides[MAX_DIMS]
    cdef int i
    if self.keys & CONJUGATE:
        raise RuntimeError("view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can view "
                           "it as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the original.")
    if self.nd == MAX_DIMS:
        raise RuntimeError(f"view_as_real: a tensor has at most {MAX_DIMS} dimensions")
    for i in range(self.nd):
        sizes[i] = self.sizes[i]
        if mt_advance(0, 2, self.strides[i], &strides[i]):
            raise RuntimeError(f"view_as_real: a stride of {self.strides[i]} complex numbers needs more than 64 bits")
    sizes[self.nd], strides[self.nd] = 2, 1
    return retyped_to(self, self.dt.to_real(), self.nd + 1, sizes, strides, 2 * self.offset)


def view_as_complex(Tensor self not None):
    """The pairs of a last dimension as numbers, over the same memory. Raises RuntimeError for strides that do not allow it."""
    cdef int64_t strides[MAX_DIMS]
    cdef int i, last = self.nd - 1
    if last < 0 or self.sizes[last] != 2 or self.strides[last] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    for i in range(last):
        if self.strides[i] % 2 and self.sizes[i] != 1:
            raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
        strides[i] = self.strides[i] // 2
    if self.offset % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    return retyped_to(self, self.dt.to_complex(), last, self.sizes, strides, self.offset // 2)


def diagonal(Tensor self not None, int64_t offset=0, int64_t dim1=0, int64_t dim2=1):
    """The elements whose places in two dimensions differ by `offset`, as a last dimension."""
    cdef int64_t sizes[MAX_DIMS]
    cdef int64_t strides[MAX_DIMS]
    cdef int64_t start = self.offset, count = 0
    cdef int i, at = 0, first = counted_dim(dim1, self.nd), second = counted_dim(dim2, self.nd)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if offset >= 0 and offset < self.sizes[second]:
        count = min(self.sizes[first], self.sizes[second] - offset)
        start += offset * self.strides[second] if count > 0 else 0
    elif offset < 0 and offset > -self.sizes[first]:
        count = min(self.sizes[first] + offset, self.sizes[second])
        start -= offset * self.strides[first] if count > 0 else 0
    for i in range(self.nd):
        if i != first and i != second:
            sizes[at], strides[at] = self.sizes[i], self.strides[i]
            at += 1
    sizes[at] = count
    if mt_advance(self.strides[first], 1, self.strides[second], &strides[at]):
        raise RuntimeError("diagonal: the sum of two strides needs more than 64 bits")
    return strided(self, at + 1, sizes, strides, start)


# ---------------------------------------------------------------- other shapes of the same elements
cdef int infer_size(int nd, int64_t* sizes, int64_t numel) except -1:
    """Works out the -1 in a shape, if there is one, from the number of elements. Raises where a shape does not fit it."""
    cdef int i, wild = -1
    cdef int64_t known = 1
    cdef bint many = False, negative = False, empty = False, wide = False
    for i in range(nd):
        if sizes[i] == -1:
            many, wild = many or wild >= 0, i
        elif sizes[i] == 0:
            empty = True
        elif sizes[i] < 0:
            negative = True
        elif not wide:
            wide = mt_advance(0, known, sizes[i], &known)
    if many:
        raise RuntimeError("only one dimension can be inferred")
    if negative:
        given = list_of(nd, sizes)
        raise RuntimeError(f"invalid shape dimension {min(given)} at index {given.index(min(given))} of shape {given}")
    if empty:
        known, wide = 0, False
    if wild >= 0 and empty:
        raise RuntimeError(f"cannot reshape tensor of {numel} elements into shape {list_of(nd, sizes)} because the unspecified "
                           "dimension size -1 can be any value and is ambiguous")
    if (numel > 0 or wild < 0) if wide else (numel % known != 0) if wild >= 0 else numel != known:
        raise RuntimeError(f"shape '{list_of(nd, sizes)}' is invalid for input of size {numel}")
    if wild >= 0:
        sizes[wild] = 0 if wide else numel // known
    return 0


cdef bint strides_in(Tensor t, int nd, const int64_t* sizes, int64_t* strides) noexcept:
    """Strides that show t's elements in another shape of as many; false where no strides do.

    Runs of t's dimensions that follow one another in memory can be divided anew; others cannot.
    """
    cdef int64_t counts[MAX_DIMS]
    cdef int64_t steps[MAX_DIMS]
    cdef int64_t left = 1, step = 1, span
    cdef int d, runs = 0
    if t.nelem == 0 or t.contig:
        for d in range(nd - 1, -1, -1):
            strides[d] = step
            step = <int64_t>(<uint64_t>step * <uint64_t>max(sizes[d], 1))      # beyond 64 bits are only empty tensors
        return True
    for d in range(t.nd):
        if t.sizes[d] == 1:
            continue
        if runs > 0 and not mt_advance(0, t.sizes[d], t.strides[d], &span) and steps[runs - 1] == span:
            counts[runs - 1] *= t.sizes[d]
            steps[runs - 1] = t.strides[d]
        else:
            counts[runs], steps[runs] = t.sizes[d], t.strides[d]
            runs += 1
    if runs > 0:
        runs -= 1
        left, step = counts[runs], steps[runs]
    for d in range(nd - 1, -1, -1):
        if sizes[d] == 1:
            strides[d] = step
            continue
        if left == 1:
            runs -= 1
            left, step = counts[runs], steps[runs]
        if left % sizes[d] != 0:
            return False
        strides[d] = step
        left, step = left // sizes[d], step * sizes[d]
    return True


cdef Tensor in_shape(Tensor t, int nd, int64_t* sizes):
    """A view in another shape, in which one size may be -1; None where no strides show it."""
    cdef int64_t strides[MAX_DIMS]
    cdef Tensor v = row_major_view(t, nd, sizes)
    if v is not None:
        return v
    infer_size(nd, sizes, t.nelem)
    return strided(t, nd, sizes, strides, t.offset) if strides_in(t, nd, sizes, strides) else None


def viewed(Tensor self not None, size):
    """The same elements in another shape."""
    cdef int64_t sizes[MAX_DIMS]
    cdef Tensor made = in_shape(self, read_ints(size, sizes, "view(): argument 'size'"), sizes)
    if made is None:
        raise RuntimeError("view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
                           "contiguous subspaces). Use .reshape(...) instead.")
    return made


def shaped(Tensor self not None, size):
    """The same elements in another shape, as a view where that is possible."""
    cdef int64_t sizes[MAX_DIMS]
    cdef int nd = read_ints(size, sizes, "reshape(): argument 'shape'")
    cdef Tensor made = in_shape(self, nd, sizes)
    return in_shape(<Tensor>made_contiguous(self), nd, sizes) if made is None else made


def has_view(Tensor t not None, size):
    """Whether a view shows t's elements in that shape. Raises where they are not as many."""
    cdef int64_t sizes[MAX_DIMS]
    cdef int64_t strides[MAX_DIMS]
    cdef int nd = read_ints(size, sizes, "view(): argument 'size'")
    infer_size(nd, sizes, t.nelem)
    return strides_in(t, nd, sizes, strides)


def expanded(Tensor self not None, size, *, implicit=False):
    """Dimensions of size 1 repeated and others added in front, without a copy; -1 keeps a size."""
    cdef int64_t sizes[MAX_DIMS]
    cdef int nd = read_ints(size, sizes, "expand(): argument 'size'"), i, d, added = nd - self.nd
    cdef int64_t own, given, step = 1        # step: where a new dimension of size 1 would lie
    cdef Tensor v
    if added < 0:
        raise cold.not_expandable(self, nd, sizes)
    v = bare_view(self, nd)
    for i in range(nd - 1, -1, -1):
        d, given = i - added, sizes[i]
        own = 1 if d < 0 else self.sizes[d]
        if given == -1 and d >= 0:
            given = own
        if given < 0 or (given != own and own != 1):
            raise cold.not_expandable(self, nd, sizes)
        v.sizes[i] = given
        v.strides[i] = 0 if given != own else step if d < 0 else self.strides[d]
        if mt_advance(0, given, v.strides[i], &step):
            step = 0                         # nothing in front of so much memory has a stride that matters
    finish_geometry(v)
    return v


# ---------------------------------------------------------------- several views at once
cdef enum:
    MANY_VIEWS = 1 << 20       # are made without asking
    BYTES_OF_VIEW = 256        # that one takes, at least


cdef int require_memory(int64_t count) except -1:
    """Raises where so many views do not fit in memory, before the first of them is made."""
    if count > MANY_VIEWS:
        alloc((count, BYTES_OF_VIEW), dtypes["uint8"], device_cpu)
    return 0


def unbound(Tensor self not None, int64_t dim):
    """The slices along a dimension, which is left out."""
    cdef int64_t i, count
    cdef int d
    if self.nd == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    d = counted_dim(dim, self.nd)
    count = self.sizes[d]
    require_memory(count)
    return [sliced(self, d, i, -1, 1) for i in range(count)]


cdef int64_t divided_size(str name, Tensor t, int64_t dim) except -1:
    """The size of the dimension that an operator divides."""
    if t.nd == 0:
        raise RuntimeError(f"{name} expects at least a 1-dimensional tensor")
    return t.sizes[counted_dim(dim, t.nd)]


cdef list parts_of(Tensor t, int d, int64_t length, int64_t count):
    """`count` views of `length` indices of a dimension each; the last has what is left."""
    cdef int64_t i, size = t.sizes[d]
    require_memory(count)
    return [sliced(t, d, i * length, min(length, size - i * length), 1) for i in range(count)]


def split_evenly(Tensor self not None, int64_t split_size, int64_t dim):
    """Parts of `split_size` along a dimension; the last may be smaller."""
    cdef int64_t size
    if split_size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    size = divided_size("split", self, dim)
    if split_size == 0 and size != 0:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}")
    return parts_of(self, counted_dim(dim, self.nd), split_size, 1 if size == 0 else (size - 1) // split_size + 1)


def split_into(Tensor self not None, split_sizes not None, int64_t dim):
    """Parts of the given sizes along a dimension."""
    cdef int64_t size = divided_size("split_with_sizes", self, dim), start = 0, length
    cdef int d = counted_dim(dim, self.nd)
    cdef list parts = []
    if sum(split_sizes) != size or min(split_sizes, default=0) < 0:
        raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension {dim}), "
                           f"but got split_sizes={list(split_sizes)}")
    for given in split_sizes:
        length = given
        parts.append(sliced(self, d, start, length, 1))
        start += length
    return parts


def chunked(Tensor self not None, int64_t chunks, int64_t dim):
    """At most `chunks` parts of equal size along a dimension; the last may be smaller."""
    cdef int64_t size, length
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    size = divided_size("chunk", self, dim)
    if size == 0:
        return parts_of(self, counted_dim(dim, self.nd), 0, chunks)
    length = (size - 1) // chunks + 1
    return parts_of(self, counted_dim(dim, self.nd), length, (size - 1) // length + 1)
