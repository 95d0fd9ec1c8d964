"""Objects of Tensor and its subclasses: what `Tensor.__new__` makes, and wrappers that only claim a device."""

cdef uint64_t override_keys(object cls):
    """Keys that send calls on tensors of a subclass to its ``__torch_function__`` and ``__torch_dispatch__``."""
    cdef uint64_t keys = 0
    if cls is Tensor:
        return 0
    if defines_dispatch(cls):
        keys |= PYTHON
    if cls.__torch_function__ is not disabled_torch_function and not (keys and settled_by_dispatch(cls)):
        watch_attributes()
        keys |= TORCH_FUNCTION
    return keys


cdef bint settled_by_dispatch(cls) except -1:
    """Whether a class defines ``__torch_dispatch__`` and leaves ``__torch_function__`` as it is: as in PyTorch it has none then."""
    for base in cls.__mro__:
        if base is Tensor:
            return False
        if "__torch_function__" in base.__dict__:
            return base.__dict__["__torch_function__"] is disabled_torch_function
        if "__torch_dispatch__" in base.__dict__:
            for above in base.__mro__[1:]:
                if above is not Tensor and "__torch_function__" in above.__dict__:
                    return False
            base.__torch_function__ = disabled_torch_function
            return True
    return False


def defines_dispatch(object cls):
    """Whether a class says by ``__torch_dispatch__`` what calls below autograd are to do; that of Tensor says nothing."""
    return getattr(cls, "__torch_dispatch__", None) not in (None, Tensor.__torch_dispatch__)


def wrapper_tensor(cls, size, strides=None, dtype=None, device=None, uint64_t extra_keys=0, storage_offset=None):
    """See `Tensor._make_wrapper_subclass`; `extra_keys` are added to those of the device and the class."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise no_subclass(cls)
    if not defines_dispatch(cls) and not extra_keys:
        raise TypeError(f"{cls.__name__} must define __torch_dispatch__: without it calls would find no memory")
    cdef Tensor shape = alloc(size, dtype, "meta")
    cdef Tensor t = new_of_class(cls)
    if strides is not None:
        shape = with_strides(shape, strides)
    t.dt, t.storage, t.dev = shape.dt, shape.storage, as_device(device)
    shared(t.storage).claimed = True
    t.keys = with_narrow(device_keys(t.dev.type_code) & ~mt_state.withheld | override_keys(cls) | extra_keys, t.dt)
    t.born = mt_state.transform
    if storage_offset is not None:
        t.offset = storage_offset
    copy_geometry(shape, t)
    return t


def wrapper_over(cls, Tensor meta not None, where, uint64_t extra_keys):
    """A tensor of the class `cls` that claims the device `where`, with the shape and the (empty) storage of `meta`.

    Wrappers over views of one meta tensor count as views of one another.
    """
    cdef device claimed = as_device(where)
    if meta.dev.type_code != KEY_META and meta.dev is not claimed:
        raise ValueError(f"wrapper_over(): a tensor on {meta.dev} cannot be shown as one on {claimed}: give its shape on meta")
    cdef Tensor t = new_of_class(cls)
    t.dt, t.storage, t.offset, t.dev = meta.dt, meta.storage, meta.offset, claimed
    t.keys = device_keys(t.dev.type_code) & ~mt_state.withheld | override_keys(cls) | extra_keys | meta.keys & LAZY
    t.born = meta.born
    copy_geometry(meta, t)
    return t


def count_as_view(Tensor view not None, Tensor owner not None):
    """Makes a wrapper, which has no memory, count as a view of another."""
    if view.storage.dev is not device_meta or owner.storage.dev is not device_meta:
        raise RuntimeError("count_as_view(): only wrappers of other tensors, which have no memory of their own")
    view.storage = owner.storage


cdef dict ASKED_BY_POLICY = {None: 0, "strides": ASKED_STRIDES, "sizes": ASKED_STRIDES | ASKED_SIZES}


cdef uint64_t asked_keys(object policy, object device, object layout) except? 1:
    if policy not in ASKED_BY_POLICY:
        raise RuntimeError(f"unknown dispatch_sizes_strides_policy {policy!r}: expected 'strides' or 'sizes'")
    cdef uint64_t keys = <uint64_t>ASKED_BY_POLICY[policy] | (ASKED_DEVICE if device else 0) | (ASKED_LAYOUT if layout else 0)
    if keys:
        watch_attributes()
    return keys


def asked(Tensor t not None):
    """What a tensor's class answers for itself, now: some of "strides", "sizes", "device" and "layout"."""
    cdef uint64_t keys = 0 if mt_state.excluded & PYTHON else t.keys
    return [name for bit, name in ((ASKED_STRIDES, "strides"), (ASKED_SIZES, "sizes"), (ASKED_DEVICE, "device"),
                                   (ASKED_LAYOUT, "layout")) if keys & <uint64_t>bit]


cdef inline bint is_asked(Tensor t) noexcept:
    return t.keys & ASKED != 0 and not mt_state.excluded & PYTHON


cdef object no_subclass(object cls):
    return TypeError("Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure "
                     f"your class inherits from Tensor. Got {cls!r}")


cdef object tensor_new = getattr(Tensor, "__new__")


cdef Tensor new_of_class(cls):
    """An empty object of a subclass, past a ``__new__`` of its own: that is what calls us."""
    return <Tensor>tensor_new(cls)


cdef PyObject* complete_tensor(PyTypeObject* cls, PyObject* bare, PyObject* args, PyObject* kwargs) except NULL:
    """What ``Tensor.__new__`` gives Python code: an empty tensor, or what the legacy constructor makes of arguments."""
    cdef Tensor t
    if bare == NULL:
        result = hook.legacy_tensor(<object><PyObject*>cls, *<tuple>args, **({} if kwargs == <PyObject*>None else <dict>kwargs))
    else:
        result = t = <Tensor>bare
        t.dt, t.dev, t.storage = default_dtype_, device_cpu, new_storage(0, device_cpu)
        t.keys = device_keys(KEY_CPU) & ~mt_state.withheld | override_keys(<object><PyObject*>cls)
        set_rank(t, 1)
        t.sizes[0] = 0
        set_row_major(t)
    Py_INCREF(result)
    return <PyObject*>result


mt_complete_tensors(TensorType, complete_tensor)


cdef Tensor with_strides(Tensor t, strides):
    """The same shape on meta with other strides, over a storage as large as they need."""
    cdef int64_t steps[MAX_DIMS]
    cdef Tensor v = bare_view(t, t.nd)
    if read_ints(strides, steps, "argument 'strides'") != t.nd:
        raise RuntimeError(f"mismatch in length of strides and shape: {len(strides)} strides for {t.nd} sizes")
    set_strides(v, t.sizes, steps)
    v.storage = new_storage(bytes_reached(v), device_meta)
    return v


def disabled_torch_function(func, types, args=(), kwargs=None):
    """As ``__torch_function__`` of a class: its tensors are treated like plain ones."""
    return NotImplemented
