"""``x[...]`` of integers, slices, None, ``...`` and tensors straight away, and what is assigned to an element or a view.

Everything else is for ``_indexing.py``.
"""

cdef enum:
    MAX_INDICES = 8            # that are looked at here

cdef PyObject* ELLIPSIS = <PyObject*>Ellipsis


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


cdef inline bint is_array(PyObject* item) noexcept:
    """Whether an index is a tensor of positions or truth values, whose class does not answer for itself."""
    return is_tensor(item) and (<Tensor>item).nd > 0 and not (<Tensor>item).keys & OVERRIDES \
        and (<Tensor>item).dt.category <= CATEGORY_INT and (<Tensor>item).dt.code < MT_NARROW


cdef inline int width_of(PyObject* item) noexcept:
    """How many dimensions an index stands for; ``...`` for none that are counted."""
    if item == <PyObject*>None or item == ELLIPSIS:
        return 0
    if is_tensor(item) and ((<Tensor>item).dt.code == MT_BOOL or (<Tensor>item).dt.code == MT_U8):
        return (<Tensor>item).nd
    return 1


cdef int read_items(Tensor t, object index, PyObject** items, int* used) noexcept:
    """The indices, and how many dimensions they stand for; returns how many they are, -1 where one is looked at in Python."""
    cdef int i, count = 1, dim = 0, wild = 0
    items[0] = <PyObject*>index
    if PyTuple_CheckExact(index):
        count = <int>min(PyTuple_GET_SIZE(index), MAX_INDICES + 1)
        if count > MAX_INDICES:
            return -1
        for i in range(count):
            items[i] = PyTuple_GET_ITEM(index, i)
    used[0] = 0
    for i in range(count):
        used[0] += width_of(items[i])
        wild += items[i] == ELLIPSIS
    if used[0] > t.nd or wild > 1:
        return -1
    for i in range(count):
        if items[i] == ELLIPSIS:
            dim += t.nd - used[0]
        elif items[i] != <PyObject*>None:
            if not (is_position(items[i], t.sizes[dim]) or is_plain_slice(items[i]) or is_array(items[i])):
                return -1
            dim += width_of(items[i])
    return count


cdef object plain_view(Tensor t, object index, bint picks=True):
    """``t[index]``, or NotImplemented where an index is something else, or outside of its dimension; `picks`: a tensor may be one."""
    cdef PyObject* items[MAX_INDICES]
    cdef PySliceObject* parts
    cdef list picked = None
    cdef object view = t
    cdef int i, used, dim = 0, covered = 0, count = read_items(t, index, items, &used)
    if count < 0:
        return NotImplemented
    for i in range(count if not picks else 0):
        if is_tensor(items[i]):
            return NotImplemented
    for i in range(count):
        if items[i] == <PyObject*>None:
            view = call2(aten("unsqueeze"), view, dim)
        elif items[i] == ELLIPSIS:
            dim += t.nd - used
            continue
        elif is_tensor(items[i]):
            picked = [] if picked is None else picked
            picked.extend([None] * (dim - covered))
            picked.append(<object>items[i])
            dim += width_of(items[i])
            covered = dim
            continue
        elif Py_TYPE(items[i]) != &PySlice_Type:
            view = aten("select")(view, dim, <object>items[i])
            continue
        else:
            parts = <PySliceObject*>items[i]
            if parts.start != <PyObject*>None or parts.stop != <PyObject*>None or parts.step != <PyObject*>None:
                view = aten("slice")(view, dim, <object>parts.start, <object>parts.stop,
                                     1 if parts.step == <PyObject*>None else <object>parts.step)
        dim += 1
    if picked is not None:
        return call2(aten("index"), view, picked)
    return call1(aten("alias"), t) if view is t else view


# ---------------------------------------------------------------- assignment
cdef int64_t place_of_element(Tensor t, object index) noexcept:
    """Where the element is that an int for each dimension says, from the first element on; -1 where an index is something else."""
    cdef PyObject* item = <PyObject*>index
    cdef int64_t place = 0, at
    cdef int i
    if PyTuple_CheckExact(index):
        if PyTuple_GET_SIZE(index) != t.nd:
            return -1
    elif t.nd != 1:
        return -1
    for i in range(t.nd):
        if PyTuple_CheckExact(index):
            item = PyTuple_GET_ITEM(index, i)
        if not is_position(item, t.sizes[i]):
            return -1
        at = PyLong_AsLongLong(<object>item)
        place += (at + t.sizes[i] if at < 0 else at) * t.strides[i]
    return place


cdef bint set_plainly(Tensor t, object index, object value) except -1:
    """A number assigned to an element that nothing is recorded of, or a tensor to a view of its shape; False for all else."""
    cdef int64_t place
    if PyFloat_CheckExact(value) or PyLong_CheckExact(value):
        if not is_plain(t) or not t.keys & INPLACE_OR_VIEW or forward_levels or needs_grad(t):
            return False
        place = place_of_element(t, index)
        if place < 0:
            return False
        own_memory(t.storage)
        if not put_number(t.dt.code, tensor_data(t) + place * t.dt.itemsize, value):
            return False
        bump_version(t.storage)
        return True
    if not is_tensor(<PyObject*>value) or ((<Tensor>value).keys | t.keys) & OVERRIDES or mt_state.included != MT_ALWAYS:
        return False
    view = plain_view(t, index, False)
    if view is NotImplemented or not same_sizes(<Tensor>view, <Tensor>value):
        return False
    call2(aten("copy_"), view, value)
    return True
