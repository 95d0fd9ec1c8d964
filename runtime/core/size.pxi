"""Shapes: the Size that users see, and sequences of ints as the core reads them."""


class Size(tuple):
    """The shape of a tensor: a tuple of ints that knows its element count."""
    __slots__ = ()

    def __new__(cls, sizes=()):
        if (type(sizes) is list or type(sizes) is tuple) and are_words(sizes):
            return tuple.__new__(cls, sizes)
        if not (isinstance(sizes, (tuple, list)) or hasattr(sizes, "__iter__")):
            raise TypeError(f"torch.Size() takes an iterable of 'int', not {_type_name(sizes)}")
        return tuple.__new__(cls, [checked_size(size, i) for i, size in enumerate(sizes)])

    def numel(self):
        """The product of the sizes, in 64 bits; 1 for a 0-d shape."""
        cdef uint64_t n = 1
        for size in self:
            n *= <uint64_t>to_int64(size, "a size")
        return <int64_t>n

    def __getitem__(self, index):
        item = tuple.__getitem__(self, index)
        return tuple.__new__(Size, item) if isinstance(index, slice) else item

    def __add__(self, other):
        return Size(tuple.__add__(self, other)) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other):
        return Size(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, count):
        return tuple.__new__(Size, tuple.__mul__(self, count))

    __rmul__ = __mul__

    def __repr__(self):
        return f"torch.Size({list(self)})"


cdef bint are_words(object sizes) noexcept:
    """Whether all items of a list or a tuple are integers of 64 bits."""
    cdef Py_ssize_t i
    cdef int overflow = 0
    for i in range(PyList_GET_SIZE(sizes) if PyList_CheckExact(sizes) else PyTuple_GET_SIZE(sizes)):
        item = <object>(PyList_GET_ITEM(sizes, i) if PyList_CheckExact(sizes) else PyTuple_GET_ITEM(sizes, i))
        if not PyLong_CheckExact(item):
            return False
        PyLong_AsLongLongAndOverflow(item, &overflow)
        if overflow:
            return False
    return True


cdef object checked_size(object size, Py_ssize_t at):
    """A size given by a caller, as an int: what has an ``__index__``, of tensors one integer, stands for one."""
    if PyLong_Check(size) or PyIndex_Check(size) and not (isinstance(size, Tensor) and not is_integer(size)):
        return to_int64(size, f"torch.Size(): item {at}")
    raise TypeError(f"torch.Size() takes an iterable of 'int' (item {at} is '{_type_name(size)}')")


cdef bint is_integer(Tensor t) noexcept:
    return t.nelem == 1 and t.dt.category <= CATEGORY_INT


cdef PyTypeObject* SizeType = <PyTypeObject*>Size


cdef enum:
    SHARED_SIZES = 256
cdef PyObject* shared_sizes[SHARED_SIZES]            # direct-mapped: most tensors of a model have one of few shapes


cdef object make_size(int nd, const int64_t* sizes):
    """The Size of these dimensions; the same object as lately where it is still at hand."""
    cdef uint64_t place = nd
    cdef int i
    for i in range(nd):
        place = (place ^ <uint64_t>sizes[i]) * <uint64_t>0x9E3779B97F4A7C15
    place >>= 56
    if shared_sizes[place] == NULL or not is_size(shared_sizes[place], nd, sizes):
        fresh = new_size(nd, sizes)
        Py_INCREF(fresh)
        Py_XDECREF(shared_sizes[place])
        shared_sizes[place] = <PyObject*>fresh
    return <object>shared_sizes[place]


cdef inline bint is_size(PyObject* size, int nd, const int64_t* sizes):
    cdef int i
    if PyTuple_GET_SIZE(<object>size) != nd:
        return False
    for i in range(nd):
        if PyLong_AsLongLong(<object>PyTuple_GET_ITEM(<object>size, i)) != sizes[i]:
            return False
    return True


cdef object new_size(int nd, const int64_t* sizes):
    cdef PyObject* result = mt_tuple_subclass_new(SizeType, nd)
    cdef int i
    cdef object item
    for i in range(nd):
        item = PyLong_FromLongLong(sizes[i])
        Py_INCREF(item)
        raw_tuple_set(result, i, <PyObject*>item)
    size = <object>result
    Py_DECREF(size)
    return size


class IntegerOverflow(TypeError, ValueError, OverflowError, RuntimeError):
    """A number that needs more than 64 bits.

    PyTorch raises TypeError for one in a list, ValueError for an argument, and RuntimeError for a scalar.
    """

cdef int64_t to_int64(object value, str what) except? -1:
    """A Python int, or what stands for one, that fits in 64 bits."""
    cdef int overflow
    cdef int64_t number
    if not PyLong_Check(value):
        if not PyIndex_Check(value):
            raise TypeError(f"{what} must be an int, not {_type_name(value)}")
        name, value = _type_name(value), guarded_number(to_index, value)
        if value is NO_DEFAULT:
            raise TypeError(f"{what} must be an int, not {name}: its __index__ fails")
    number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow:
        raise IntegerOverflow(f"{what}: Overflow when unpacking long long: got {value}, which needs more than 64 bits")
    return number


cdef int read_ints(object values, int64_t* out, str what) except -1:
    """A sequence of ints, or one int, into `out` (room for MAX_DIMS); returns how many."""
    cdef int i = 0, overflow = 0
    if PyLong_Check(values):
        out[0] = to_int64(values, what)
        return 1
    if not (PyTuple_Check(values) or PyList_Check(values)):
        raise TypeError(f"{what} must be a tuple of ints, not {_type_name(values)}")
    for value in values:
        if i == MAX_DIMS:
            raise RuntimeError(f"{what} has more than {MAX_DIMS} dimensions")
        if PyLong_CheckExact(value):
            out[i] = PyLong_AsLongLongAndOverflow(value, &overflow)
            if overflow:
                to_int64(value, what)                     # raises
        elif PyIndex_Check(value):
            out[i] = to_int64(value, what)
        else:
            raise TypeError(f"{what} must be a tuple of ints, but found element of type {_type_name(value)} at pos {i}")
        i += 1
    return i
