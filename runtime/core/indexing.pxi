"""``x[...]`` of integers and slices: views straight away. Everything else is for ``_indexing.py``."""

cdef enum:
    MAX_INDICES = 8            # that are looked at here


cdef inline bint is_small(object value) noexcept:
    """Whether a slice's bound is None or an int of 64 bits."""
    return value is None or PyLong_CheckExact(value) and not is_wide(<PyObject*>value)


cdef bint is_plain_slice(PyObject* item) noexcept:
    """Whether an index is a slice that needs no conversion and raises nothing."""
    cdef PySliceObject* parts = <PySliceObject*>item
    cdef int overflow = 0
    if Py_TYPE(item) != &PySlice_Type or not is_small(<object>parts.start) or not is_small(<object>parts.stop):
        return False
    return parts.step == <PyObject*>None or PyLong_CheckExact(<object>parts.step) \
        and PyLong_AsLongLongAndOverflow(<object>parts.step, &overflow) > 0


cdef bint is_position(PyObject* item, int64_t size) noexcept:
    """Whether an index is an int within a dimension."""
    cdef int overflow = 0
    cdef int64_t index
    if not PyLong_CheckExact(<object>item):
        return False
    index = PyLong_AsLongLongAndOverflow(<object>item, &overflow)
    return not overflow and -size <= index < size


cdef object plain_view(Tensor t, object index):
    """The view, or NotImplemented where an index is something else, or is outside of its dimension."""
    cdef PyObject* items[MAX_INDICES]
    cdef PySliceObject* parts
    cdef object view = t
    cdef int i, dim = 0, count = 1
    items[0] = <PyObject*>index
    if PyTuple_CheckExact(index):
        count = <int>min(PyTuple_GET_SIZE(index), MAX_INDICES + 1)
        if count > MAX_INDICES:
            return NotImplemented
        for i in range(count):
            items[i] = PyTuple_GET_ITEM(index, i)
    if count > t.nd:
        return NotImplemented
    for i in range(count):
        if not is_position(items[i], t.sizes[i]) and not is_plain_slice(items[i]):
            return NotImplemented
    for i in range(count):
        if Py_TYPE(items[i]) != &PySlice_Type:
            view = aten("select")(view, dim, <object>items[i])
            continue
        parts = <PySliceObject*>items[i]
        if parts.start != <PyObject*>None or parts.stop != <PyObject*>None or parts.step != <PyObject*>None:
            view = aten("slice")(view, dim, <object>parts.start, <object>parts.stop,
                                 1 if parts.step == <PyObject*>None else <object>parts.step)
        dim += 1
    return call1(aten("alias"), t) if view is t else view
