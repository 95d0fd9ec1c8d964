"""Views, and CPU memory shared with NumPy and other holders of buffers."""

from cpython.buffer cimport PyBUF_FORMAT, PyBUF_WRITABLE


def as_strided(Tensor t not None, size, stride, storage_offset=None):
    """A view of t's storage with the given sizes, strides and offset (elements). Raises where it would leave it.

    No gradient is recorded here: operators that make views declare theirs.
    """
    cdef int64_t sizes[MAX_DIMS]
    cdef int64_t strides[MAX_DIMS]
    cdef int nd = read_ints(size, sizes, "as_strided(): argument 'size'")
    if read_ints(stride, strides, "as_strided(): argument 'stride'") != nd:
        raise RuntimeError(f"mismatch in length of strides and shape: {len(stride)} strides for {nd} sizes")
    return strided(t, nd, sizes, strides,
                   t.offset if storage_offset is None else to_int64(storage_offset, "as_strided(): argument 'storage_offset'"))


cdef Tensor strided(Tensor t, int nd, const int64_t* sizes, const int64_t* strides, int64_t offset):
    """See `as_strided`."""
    cdef Tensor v = bare_view(t, nd)
    cdef int64_t needed
    v.offset = offset
    if v.offset < 0:
        raise RuntimeError(f"as_strided: invalid storage offset {v.offset}")
    set_strides(v, sizes, strides)
    needed = bytes_reached(v)
    if needed > <int64_t>t.storage.nbytes_:
        raise out_of_bounds(v, needed, t.storage)
    return v


def retyped(Tensor t not None, dtype dt not None, size, stride, int64_t storage_offset):
    """A view of t's storage as elements of another dtype, with the given sizes, strides and offset. Raises where it would leave it."""
    cdef int64_t sizes[MAX_DIMS]
    cdef int64_t strides[MAX_DIMS]
    cdef int nd = read_ints(size, sizes, "retyped(): argument 'size'")
    read_ints(stride, strides, "retyped(): argument 'stride'")
    return retyped_to(t, dt, nd, sizes, strides, storage_offset)


cdef Tensor retyped_to(Tensor t, dtype dt, int nd, const int64_t* sizes, const int64_t* strides, int64_t storage_offset):
    """See `retyped`."""
    cdef Tensor v = bare_view(t, nd)
    v.dt, v.offset = dt, storage_offset
    v.keys = with_narrow(v.keys, dt)
    set_strides(v, sizes, strides)
    if bytes_reached(v) > <int64_t>t.storage.nbytes_:
        raise out_of_bounds(v, bytes_reached(v), t.storage)
    return v


cdef object out_of_bounds(Tensor v, int64_t needed, UntypedStorage storage):
    return RuntimeError(f"setStorage: sizes {list(v.shape)}, strides {list(v.stride())}, storage offset {v.offset}, and itemsize "
                        f"{v.dt.itemsize} requiring a storage size of {needed} are out of bounds for storage of size {storage.nbytes_}")


cdef int set_strides(Tensor v, const int64_t* sizes, const int64_t* strides) except -1:
    """Gives a tensor sizes and strides, as many as it has dimensions."""
    cdef int i
    for i in range(v.nd):
        if strides[i] < 0:
            raise RuntimeError("as_strided: Negative strides are not supported at the moment, got strides: "
                               f"{[strides[k] for k in range(v.nd)]}")
        if sizes[i] < 0:
            raise RuntimeError(f"as_strided: Negative sizes are not supported, got sizes: {[sizes[k] for k in range(v.nd)]}")
        v.sizes[i], v.strides[i] = sizes[i], strides[i]
    return finish_geometry(v)


cdef Tensor bare_view(Tensor t, int nd):
    """A view of t's storage from t's first element on; `nd` sizes and strides are still to be set."""
    cdef Tensor v = bare_tensor(t.dt, t.dev)
    v.storage, v.offset, v.keys, v.born = t.storage, t.offset, t.keys & ~OVERRIDES, t.born
    set_rank(v, nd)
    return v


cdef int checked_dim(Tensor t, int64_t d) except -1:
    if not 0 <= d < t.nd:
        raise IndexError(f"dimension {d} of a tensor with {t.nd}")
    return <int>d


cpdef Tensor sliced(Tensor t, int64_t dim, int64_t first, int64_t count, int64_t step):
    """A view of `count` of the indices of a dimension, from `first` on, `step` apart; `count` -1: `first` without the dimension.

    Raises IndexError where an index is outside of the dimension.
    """
    cdef int d = checked_dim(t, dim), i, at = 0
    cdef int64_t last = first
    cdef bint wide = count >= 0 and mt_advance(first, count - 1, step, &last)
    if wide or not (0 <= first <= last < t.sizes[d]) and not (count == 0 and 0 <= first <= t.sizes[d]):
        raise IndexError(f"{count} indices from {first} on, {step} apart, of a dimension of size {t.sizes[d]}")
    cdef Tensor v = bare_view(t, t.nd - 1 if count < 0 else t.nd)
    for i in range(t.nd):
        if i == d and count < 0:
            continue
        v.sizes[at], v.strides[at] = t.sizes[i], t.strides[i]
        at += 1
    if count >= 0:
        v.sizes[d] = count
        wide = step < 0 or mt_advance(0, step, t.strides[d], &v.strides[d])
    if wide or mt_advance(v.offset, first, t.strides[d], &v.offset):
        raise RuntimeError(f"slice: a stride of {t.strides[d]} elements, {step} times over from index {first} on, needs more than 64 "
                           "bits, or is negative")
    finish_geometry(v)
    return v


cdef Tensor row_major_view(Tensor t, int nd, int64_t* sizes):
    """A view of a contiguous tensor in another shape, in which one size may be -1, and then is worked out.

    None where t is not contiguous or the sizes do not fit: what is wrong is for the caller to say.
    """
    cdef int i, wild = -1
    cdef int64_t known = 1
    for i in range(nd):
        if sizes[i] == -1 and wild < 0:
            wild = i
        elif sizes[i] < 0 or (sizes[i] > 0 and known > t.nelem // sizes[i]):   # the latter also keeps it from overflowing
            return None
        else:
            known *= sizes[i]
    if not t.contig or t.nelem == 0:
        return None
    if wild >= 0:
        if known == 0 or t.nelem % known:
            return None
        sizes[wild] = t.nelem // known
    elif known != t.nelem:
        return None
    cdef Tensor v = bare_view(t, nd)
    memcpy(v.sizes, sizes, nd * sizeof(int64_t))
    set_row_major(v)
    return v


# ---------------------------------------------------------------- a view's part of what lies as its base does
cdef int pairs_between(Tensor view, Tensor base) noexcept:
    """1 where a view shows complex numbers as pairs of real ones, -1 where pairs as complex numbers, else 0."""
    return (base.dt.category == CATEGORY_COMPLEX) - (view.dt.category == CATEGORY_COMPLEX)


cdef int64_t start_in_base(Tensor view, Tensor base) noexcept:
    """How far behind its base's start a view starts: in elements, of pairs in real numbers."""
    cdef int pairs = pairs_between(view, base)
    return (2 if pairs < 0 else 1) * view.offset - (2 if pairs > 0 else 1) * base.offset


cdef PlaceInBase place_in_base(Tensor view, Tensor base):
    """Where a view lies in its base, and how it shows what lies there."""
    cdef PlaceInBase place = PlaceInBase.__new__(PlaceInBase)
    place.size, place.stride = tuple(make_size(view.nd, view.sizes)), view.stride()
    place.offset, place.pairs, place.lazily = start_in_base(view, base), pairs_between(view, base), lazily_between(view, base)
    return place


cdef bint is_all_of(Tensor view, Tensor base) noexcept:
    """Whether a view shows all of its base, as that is."""
    return view.offset == base.offset and view.dt is base.dt and not (view.keys ^ base.keys) & LAZY \
        and same_sizes(view, base) and same_steps(view, base)


cdef object shown_at(PlaceInBase place, object whole):
    """What a view shows of a tensor that lies as its base does, say the base's gradient."""
    cdef int pairs = place.pairs
    cdef tuple size = place.size, stride = place.stride
    cdef int64_t offset = place.offset + (2 if pairs > 0 else 1) * (<Tensor?>whole).offset
    if pairs > 0:
        whole = aten("view_as_real")(whole)
    elif pairs < 0:
        size, stride = (*size, 2), (*[2 * step for step in stride], 1)
    part = aten("as_strided")(whole, size, stride, offset)
    part = aten("view_as_complex")(part) if pairs < 0 else part
    part = aten("_conj")(part) if place.lazily & CONJUGATE else part
    return aten("_neg_view")(part) if place.lazily & NEGATIVE else part


cdef uint64_t lazily_between(Tensor view, Tensor base) except? 0:
    """The bits by which what a view shows differs from the part of its base that it is: conjugated, negated."""
    if base.dt.category != CATEGORY_COMPLEX or view.dt.category == CATEGORY_COMPLEX:
        return (view.keys ^ base.keys) & (CONJUGATE | NEGATIVE)
    if base.keys & CONJUGATE:
        raise RuntimeError("a view of the parts of a tensor that is kept as its conjugate cannot be changed in place, as what it is a view "
                           "of would not learn of that: take the parts of `x.resolve_conj()`")
    return (view.keys ^ base.keys) & NEGATIVE


def shallow_detach(Tensor t not None):
    """Another tensor over the same storage, outside the graph, that does not count as a view."""
    return shallow_copy(t)


def change_class(Tensor t not None, cls):
    """A view of the whole tensor, history and tangents included, as an object of a subclass of Tensor."""
    cdef uint64_t outside = mt_state.excluded
    cdef Tensor view, result = <Tensor?>Tensor._make_subclass(cls, t)
    mt_state.excluded = outside | TORCH_FUNCTION          # the class of what is viewed is not asked
    try:
        view = <Tensor?>call1(aten("alias"), t)
    finally:
        mt_state.excluded = outside
    result.wants_grad, result.base_, result.seen_version, result.made = view.wants_grad, view.base_, view.seen_version, view.made
    result.grad_fn_, result.output_nr_ = view.grad_fn_, view.output_nr_
    if forward_levels:
        result.tangents = tangents_of(view)
    return result


def resize_(Tensor t not None, shape, memory_format=None):
    """Gives t a new shape in place, in rows unless a format is given; its storage grows where it must, uninitialised."""
    cdef int64_t sizes[MAX_DIMS]
    cdef int nd = read_ints(shape, sizes, "resize_(): argument 'size'")
    cdef Tensor fresh
    cdef int64_t needed
    refuse_inference_tensor(t)
    if needs_grad(t) and t.keys & INPLACE_OR_VIEW:        # a tensor of inference mode has no graph
        raise RuntimeError("cannot resize variables that require grad: resize `x.detach()`, or `x.data`")
    if forward_levels and cold.level_of_tensor(t):
        raise RuntimeError("cannot resize variables that has a forward grad: resize what `unpack_dual` gives")
    if t.keys & OVERRIDES & ~TORCH_FUNCTION:
        raise RuntimeError(f"resize_ is no operator: a {_type_name(t)}, which has no memory of its own, cannot be resized")
    fresh = shape_sizes(nd, sizes, t.dt, t.dev)
    if memory_format is None and same_sizes(fresh, t):
        return t
    if memory_format is not None and order_of_format(memory_format, nd) != NULL:
        set_dense(fresh, order_of_format(memory_format, nd))
    fresh.offset = t.offset
    needed = bytes_reached(fresh)
    if needed > <int64_t>t.storage.nbytes_:
        resize_storage(t.storage, needed)
    copy_geometry(fresh, t)
    bump_version(t.storage)
    return t


def from_buffer(owner, uintptr_t pointer, shape, stride, dtype dt not None, device dev not None=device_cpu):
    """A tensor over memory at `pointer` of a device that `owner` keeps alive; stride in elements, none negative."""
    cdef int64_t sizes[MAX_DIMS]
    cdef int64_t strides[MAX_DIMS]
    cdef int nd = read_ints(shape, sizes, "from_buffer(): argument 'shape'")
    cdef device where = concrete_device(dev)
    if read_ints(stride, strides, "from_buffer(): argument 'stride'") != nd:
        raise RuntimeError(f"from_buffer(): {len(stride)} strides for {nd} sizes")
    cdef Tensor t = bare_tensor(dt, where)
    set_rank(t, nd)
    set_strides(t, sizes, strides)
    t.storage = borrow_storage(<void*>pointer, bytes_reached(t), where, owner)
    return t


cdef class ArrayView:
    """Exposes a CPU tensor through the buffer protocol; the view keeps the storage alive."""
    cdef Tensor tensor
    cdef UntypedStorage lender           # whose memory it is
    cdef Py_ssize_t nbytes
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef Py_ssize_t strides[MAX_DIMS]
    cdef bytes format

    def __cinit__(self, Tensor tensor not None):
        cdef int i
        cdef int64_t nbytes
        if tensor.dev.type_code != KEY_CPU:
            raise TypeError(f"can't convert {tensor.dev} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
                            "host memory first.")
        if tensor.keys & LAZY:
            raise RuntimeError(no_memory_to_show(tensor))
        if tensor.dt.buffer_format is None:
            raise TypeError(f"Got unsupported ScalarType {scalar_types[tensor.dt.name]}: NumPy has no such type")
        if tensor.storage.data == NULL and tensor.nelem > 0:
            raise RuntimeError("the memory of this tensor was freed")
        if mt_advance(0, tensor.nelem, tensor.dt.itemsize, &nbytes):
            raise ValueError(f"array is too big: {tensor.nelem} elements of {tensor.dt.itemsize} bytes, though few of them lie in memory")
        self.tensor, self.nbytes = shallow_copy(tensor), nbytes
        self.lender = owner_storage(tensor.storage)
        for i in range(tensor.nd):
            self.shape[i] = tensor.sizes[i]
            if mt_advance(0, tensor.strides[i], tensor.dt.itemsize, &nbytes):
                nbytes = 0                   # only where no step is made along the dimension
            self.strides[i] = nbytes

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        cdef Tensor t = self.tensor
        own_memory(self.lender)
        count_lent(self.lender, 1)           # until `__releasebuffer__`
        self.format = t.dt.buffer_format.encode()
        buffer.buf = tensor_data(t)
        if buffer.buf == NULL:
            buffer.buf = &self.shape[0]      # an empty tensor has no memory; consumers want an address all the same
        buffer.obj = self
        buffer.len = self.nbytes
        buffer.itemsize = t.dt.itemsize
        buffer.readonly = 0
        buffer.ndim = t.nd
        buffer.format = NULL
        if flags & PyBUF_FORMAT:
            buffer.format = self.format
        buffer.shape = self.shape
        buffer.strides = self.strides
        buffer.suboffsets = NULL
        buffer.internal = NULL

    def __releasebuffer__(self, Py_buffer* buffer):
        count_lent(self.lender, -1)


def as_memoryview(Tensor t not None):
    """A writable memoryview of a CPU tensor's elements, with its shape and strides; nothing is copied."""
    return memoryview(ArrayView(t))


cdef inline bint are_one(tuple values) noexcept:
    """Whether all of them are the same object."""
    cdef Py_ssize_t i
    for i in range(1, PyTuple_GET_SIZE(values)):
        if PyTuple_GET_ITEM(values, i) != PyTuple_GET_ITEM(values, 0):
            return False
    return True


cdef object other_shape(object given):
    """What else is taken for a shape: None, which has no dimensions, and a range."""
    if given is None or isinstance(given, range):
        return tuple(given or ())
    raise RuntimeError(f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {_type_name(given)}")


def broadcast_shapes(*shapes):
    """The shape that all given shapes broadcast to; a number is the shape of one dimension.

    Raises RuntimeError where two sizes differ and neither is 1, and for what is no shape; ValueError for a negative size.
    """
    cdef int64_t sizes[MAX_DIMS]
    cdef int64_t given[MAX_DIMS]
    cdef int nd = 0, n, i, shift
    if len(shapes) > 1 and type(shapes[0]) is Size and are_one(shapes):
        return shapes[0]                    # the common case: tensors share the objects, see `make_size`
    for shape in shapes:
        if not (PyTuple_Check(shape) or PyList_Check(shape) or PyLong_Check(shape)):
            shape = other_shape(shape)
        n = read_ints(shape, given, "broadcast_shapes(): shape")
        if n > nd:                          # right-align what was there
            for i in range(nd - 1, -1, -1):
                sizes[i + n - nd] = sizes[i]
            for i in range(n - nd):
                sizes[i] = 1
            nd = n
        shift = nd - n
        for i in range(n):
            if given[i] < 0:
                raise ValueError(f"Attempting to broadcast a dimension with negative length: {given[i]}")
            if given[i] == 1 or given[i] == sizes[i + shift]:
                continue
            if sizes[i + shift] != 1:
                raise RuntimeError("Shape mismatch: objects cannot be broadcast to a single shape: The size of tensor a "
                                   f"({sizes[i + shift]}) must match the size of tensor b ({given[i]}) at non-singleton dimension "
                                   f"{i + shift}, in {', '.join([str(s if PyLong_Check(s) else list(s)) for s in shapes])}")
            sizes[i + shift] = given[i]
    return make_size(nd, sizes)
