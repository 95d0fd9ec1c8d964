"""Sizes, strides and memory of tensors: making, copying and comparing them.

Every maker of tensors and views sets sizes and strides, and then has them judged here, before memory is touched:
`set_row_major` or `finish_geometry`, and `bytes_reached` where they are laid over memory that there is.
"""

cdef extern from "geometry.h" nogil:
    bint mt_row_major(int nd, const int64_t* sizes, int64_t* strides, int64_t* count) noexcept
    bint mt_measure(int nd, const int64_t* sizes, const int64_t* strides, int64_t* count, uint8_t* contiguous) noexcept
    bint mt_reach(int nd, const int64_t* sizes, const int64_t* strides, int64_t offset, int64_t* reach) noexcept
    bint mt_advance(int64_t offset, int64_t index, int64_t stride, int64_t* result) noexcept

cdef inline bint is_tensor(PyObject* value) noexcept:
    return PyObject_TypeCheck(value, TensorType)


cdef inline char* tensor_data(Tensor t) noexcept:
    return data_at(<PyObject*>t)


cdef inline char* data_at(PyObject* t) noexcept:
    """As `tensor_data`, of a borrowed tensor."""
    cdef char* data = <char*>(<Tensor>t).storage.data
    if data == NULL or (<Tensor>t).nelem == 0:       # an empty view's offset may lie anywhere
        return NULL
    return data + (<Tensor>t).offset * (<Tensor>t).dt.itemsize


cdef int wrap_dim(Tensor t, object dim) except -1:
    cdef int64_t d
    cdef int n = t.nd if t.nd > 0 else 1
    if PyBool_Check(dim) or isinstance(dim, Tensor) and ((<Tensor>dim).nd != 0 or (<Tensor>dim).dt.category != CATEGORY_INT):
        raise TypeError(f"argument 'dim' must be int, not {_type_name(dim)}")
    d = to_int64(dim, "argument 'dim'")
    if not -n <= d < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
    if t.nd == 0:
        raise IndexError(f"Dimension specified as {d} but tensor has no dimensions")
    return <int>(d + n if d < 0 else d)


cdef inline bint same_sizes(Tensor a, Tensor b) noexcept:
    return same_sizes_at(<PyObject*>a, <PyObject*>b)


cdef bint same_sizes_at(PyObject* a, PyObject* b) noexcept:
    """As `same_sizes`, of borrowed tensors."""
    cdef int64_t* sizes = (<Tensor>a).sizes
    cdef int64_t* others = (<Tensor>b).sizes
    cdef int i, nd = (<Tensor>a).nd
    if nd != (<Tensor>b).nd:
        return False
    for i in range(nd):
        if sizes[i] != others[i]:
            return False
    return True


cdef int set_rank(Tensor t, int nd) except -1:
    """Makes room for `nd` sizes and strides."""
    cdef int64_t* room = t.inline_dims
    if nd > INLINE_DIMS:
        room = <int64_t*>malloc(2 * nd * sizeof(int64_t))
        if room == NULL:
            raise MemoryError()
    if t.sizes != NULL and t.sizes != t.inline_dims:
        free(t.sizes)
    t.sizes = room
    t.strides = t.sizes + nd
    t.nd = nd
    return 0


cdef int finish_geometry(Tensor t) except -1:
    """Element count and contiguity from sizes and strides."""
    if mt_measure(t.nd, t.sizes, t.strides, &t.nelem, &t.contig):
        raise RuntimeError(f"numel: integer multiplication overflow: {list(make_size(t.nd, t.sizes))} are more than 2**63 - 1 elements")
    return 0


cdef int set_row_major(Tensor t) except -1:
    """Strides, element count and contiguity from sizes."""
    if mt_row_major(t.nd, t.sizes, t.strides, &t.nelem):
        raise cold.too_large(t, False)
    t.contig = True
    return 0


cdef int64_t bytes_of(Tensor t) except -1:
    """Bytes of a contiguous tensor's elements."""
    cdef int64_t nbytes
    if mt_advance(0, t.nelem, t.dt.itemsize, &nbytes):
        raise cold.too_large(t, False)
    return nbytes


cdef int64_t bytes_reached(Tensor t) except -1:
    """How many bytes t's storage must have, from its start to behind t's last element."""
    cdef int64_t reach = 0, nbytes
    if t.nelem == 0:
        return 0
    if mt_reach(t.nd, t.sizes, t.strides, t.offset, &reach) or mt_advance(0, reach, t.dt.itemsize, &nbytes):
        raise cold.too_large(t, True)
    return nbytes


cdef inline int copy_geometry(Tensor source, Tensor target) except -1:
    return copy_geometry_at(<PyObject*>source, target)


cdef inline int copy_geometry_at(PyObject* source, Tensor target) except -1:
    """As `copy_geometry`, of a borrowed tensor."""
    cdef int64_t* sizes = (<Tensor>source).sizes           # strides follow them
    cdef int i, nd = (<Tensor>source).nd
    if nd <= INLINE_DIMS and target.sizes == NULL:
        target.sizes, target.strides, target.nd = target.inline_dims, target.inline_dims + nd, nd
    else:
        set_rank(target, nd)
    for i in range(2 * nd):
        target.sizes[i] = sizes[i]
    target.nelem, target.contig = (<Tensor>source).nelem, (<Tensor>source).contig
    return 0


cdef inline Tensor bare_tensor(dtype dt, device dev):
    cdef Tensor t = Tensor.__new__(Tensor)
    t.dt, t.dev = dt, dev
    t.keys = with_narrow(device_keys(dev.type_code) & ~mt_state.withheld, dt)
    t.born = mt_state.transform
    return t


cdef Tensor shallow_copy(Tensor source):
    """Another tensor over the same storage, without autograd state."""
    cdef Tensor t = bare_tensor(source.dt, source.dev)
    t.keys = source.keys & ~OVERRIDES                     # in inference mode, what shares memory keeps its autograd keys
    t.storage, t.offset, t.born = source.storage, source.offset, source.born
    copy_geometry(source, t)
    return t


cdef Tensor same_value(Tensor source):
    """As `shallow_copy`; of a tensor that wraps others, an object of the same class around the same ones."""
    cdef Tensor t
    if not source.keys & WRAPPERS:
        return shallow_copy(source)
    t = new_of_class(type(source))
    t.dt, t.dev, t.storage, t.offset, t.keys = source.dt, source.dev, source.storage, source.offset, source.keys
    t.born = source.born
    copy_geometry(source, t)
    vars(t).update(vars(source))
    for cls in type(source).__mro__:
        for name in cls.__dict__.get("__slots__", ()) if cls is not Tensor else ():
            if hasattr(source, name):
                setattr(t, name, getattr(source, name))
    return t


cdef Tensor shape_sizes(int nd, const int64_t* sizes, dtype dt, device dev):
    """A contiguous tensor that has no storage yet."""
    cdef Tensor t = bare_tensor(dt, dev)
    cdef int i
    set_rank(t, nd)
    for i in range(nd):
        if sizes[i] < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {sizes[i]}: {[sizes[k] for k in range(nd)]}")
        t.sizes[i] = sizes[i]
    set_row_major(t)
    return t


cdef Tensor alloc_sizes(int nd, const int64_t* sizes, dtype dt, device dev):
    cdef Tensor t = shape_sizes(nd, sizes, dt, dev)
    note_halves(dt)
    t.storage = new_storage(bytes_of(t), dev)
    return t


cdef object given_dtype(str caller, object value):
    found = dtype_from_python(value)
    if found is None:
        raise TypeError(f"{caller}(): argument 'dtype' must be a dtype, not {_type_name(value)}")
    return found


def alloc(shape, dtype=None, device=None):
    """An uninitialised contiguous tensor: `shape` an int or a sequence of ints, the default dtype and device if None."""
    cdef int64_t sizes[MAX_DIMS]
    cdef int nd = read_ints(shape, sizes, "alloc(): argument 'shape'")
    d = default_dtype_ if dtype is None else given_dtype("alloc", dtype)
    return alloc_sizes(nd, sizes, d, as_device(device))


def alloc_like(Tensor t not None, dtype=None):
    """An uninitialised contiguous tensor of t's shape and device, and of its dtype unless one is given."""
    return like_of(t, t.dt if dtype is None else <object>given_dtype("alloc_like", dtype))


def lie_alike(Tensor first not None, *others):
    """Whether tensors have one shape, dtype and device, and their elements in rows without gaps."""
    cdef Tensor t
    if not first.contig:
        return False
    for other in others:
        t = <Tensor?>other
        if not t.contig or t.dt is not first.dt or t.dev is not first.dev or not same_sizes(t, first):
            return False
    return True


def fits_within(Tensor t not None, Tensor other not None, int along):
    """Whether a tensor has as many dimensions as another, and no larger ones but along one of them."""
    cdef int i
    if t.nd != other.nd:
        return False
    for i in range(t.nd):
        if i != along and t.sizes[i] > other.sizes[i]:
            return False
    return True


cdef inline Tensor like_of(Tensor t, dtype d):
    """As `alloc_like`, of a given dtype."""
    return like_at(<PyObject*>t, <PyObject*>d)


cdef Tensor like_at(PyObject* t, PyObject* d):
    """As `like_of`, of a borrowed tensor and dtype."""
    cdef PyObject* dev = <PyObject*>(<Tensor>t).dev
    cdef Tensor result
    if not (<Tensor>t).contig or (<device>dev).type_code == KEY_META or (<dtype>d).code == MT_C32:
        return alloc_sizes((<Tensor>t).nd, (<Tensor>t).sizes, <dtype>d, <device>dev)
    result = bare_tensor(<dtype>d, <device>dev)
    copy_geometry_at(t, result)
    result.storage = new_storage(bytes_of(result), <device>dev)
    return result


def alloc_broadcast(Tensor first not None, Tensor second not None, dtype=None):
    """An uninitialised contiguous tensor of the shape that two tensors broadcast to, on first's device.

    Its dtype is their result type unless one is given. The same as ``alloc(broadcast_shapes(first.shape, second.shape),
    result_type(first, second), first.device)``, in one call. Raises RuntimeError where the shapes do not fit.
    """
    if dtype is not None:
        d = given_dtype("alloc_broadcast", dtype)
    elif first.dt is second.dt and not first.wrapped:
        d = first.dt
    else:
        d = common_dtype(first, second)
    if same_sizes(first, second):
        return alloc_sizes(first.nd, first.sizes, d, first.dev)
    return alloc(broadcast_shapes(first.shape, second.shape), d, first.dev)


cdef object NATIVE_METHODS = frozenset(Tensor.__dict__)
# Special names that Python has no type slot for: __complex__ is found by its name, the others are those of Python 2.
cdef object SLOTLESS = frozenset(("__complex__", "__long__", "__nonzero__", "__div__", "__idiv__", "__rdiv__"))


def install_method(str name not None, value):
    """Gives every tensor a method or property. What the core defines itself (``contiguous``, which nearly always returns
    its argument, ...) stays; special names (``__add__``) are refused where they live in type slots.
    """
    if name.startswith("__") and name.endswith("__") and name not in SLOTLESS:
        raise ValueError(f"install_method(): special method {name!r} must be written in the core")
    if name not in NATIVE_METHODS:
        mt_install_attribute(TensorType, sys.intern(name), value)


def install_repr(function not None):
    """Makes a function ``Tensor.__repr__``, which may then be called with keywords; see `install_method`."""
    mt_install_attribute(TensorType, "__repr__", function)


def install_storage_method(str name not None, value):
    """Gives every storage a method or property."""
    mt_install_attribute(<PyTypeObject*>UntypedStorage, sys.intern(name), value)


def uninstall_method(str name not None):
    """Takes `install_method` back; what the core defines itself stays."""
    if name not in NATIVE_METHODS:
        mt_remove_attribute(TensorType, name)
