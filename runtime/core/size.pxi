"""Shapes: the Size that users see, and sequences of ints as the core reads them."""

cdef enum:
    INLINE_DIMS = 5            # shapes up to this rank live inside the object
    MAX_DIMS = 64


class Size(tuple):
    """The shape of a tensor: a tuple of ints that knows its element count."""
    __slots__ = ()

    def numel(self):
        """The product of the sizes; 1 for a 0-d shape."""
        n = 1
        for size in self:
            n *= size
        return n

    def __getitem__(self, index):
        item = tuple.__getitem__(self, index)
        return Size(item) if isinstance(index, slice) else item

    def __add__(self, other):
        return Size(tuple.__add__(self, tuple(other)))

    def __repr__(self):
        return f"torch.Size({list(self)})"


cdef PyTypeObject* SizeType = <PyTypeObject*>Size


cdef object make_size(int nd, const int64_t* sizes):
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


cdef int read_ints(object values, int64_t* out, str what) except -1:
    """A sequence of ints, or one int, into `out` (room for MAX_DIMS); returns how many."""
    cdef int i = 0
    if PyLong_Check(values):
        out[0] = PyLong_AsLongLong(values)
        return 1
    if not (PyTuple_Check(values) or PyList_Check(values)):
        raise TypeError(f"{what} must be a tuple of ints, not {_type_name(values)}")
    for value in values:
        if i == MAX_DIMS:
            raise RuntimeError(f"{what} has more than {MAX_DIMS} dimensions")
        if PyLong_Check(value):
            out[i] = PyLong_AsLongLong(value)
        elif PyIndex_Check(value):
            out[i] = value.__index__()
        else:
            raise TypeError(f"{what} must be a tuple of ints, but found element of type {_type_name(value)} at pos {i}")
        i += 1
    return i
