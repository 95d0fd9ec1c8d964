"""What becomes of a tensor that is there: whether it requires grad, the memory it shows, a history that it loses."""

cdef int set_requires_grad(Tensor t, bint value) except -1:
    if current_grad_fn(t) is not None:
        if not value:
            raise RuntimeError("you can only change requires_grad flags of leaf variables. If you want to use a computed "
                               "variable in a subgraph that doesn't require differentiation use "
                               "var_no_grad = var.detach().")
        return 0
    if value and not t.keys & INPLACE_OR_VIEW and not mt_state.withheld:
        raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
    if value and t.dt.category < CATEGORY_FLOAT:
        raise RuntimeError(f"only Tensors of floating point and complex dtype can require gradients, got {t.dt}")
    t.wants_grad = value
    return 0


def has_compatible_type(Tensor t not None, Tensor value not None):
    """Whether ``t.data = value`` is possible: both have memory, or neither has, and the same transform sees both."""
    cdef uint64_t wrappers = BATCHED | FUNCTIONALIZE
    return (t.dev.type_code == KEY_META) == (value.dev.type_code == KEY_META) and t.keys & wrappers == value.keys & wrappers \
        and (t.storage.dev is device_meta) == (value.storage.dev is device_meta)


cdef int set_data(Tensor t, Tensor value) except -1:
    """See the setter of `Tensor.data`: t shows the memory of `value` from now on; its version and its history stay."""
    if not has_compatible_type(t, value):
        raise RuntimeError("Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type: "
                           f"a {_type_name(t)} on {t.dev}, and a {_type_name(value)} on {value.dev}. Make a new tensor instead")
    if value.dt.category < CATEGORY_FLOAT and needs_grad(t):
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype, got "
                           f"{value.dt}")
    if t.storage is not value.storage:
        show_memory(t, value.storage)
    t.offset = value.offset
    copy_geometry(value, t)
    t.dt, t.dev, t.keys = value.dt, value.dev, value.keys & ~OVERRIDES | t.keys & OVERRIDES
    return 0


cdef int show_memory(Tensor t, UntypedStorage source) except -1:
    """Makes t show another storage's memory; its version goes on from where it is."""
    cdef UntypedStorage shown = alias_storage(source), before = t.storage
    shown.version, shown.bump, shown.bumped_by = before.version, before.bump, before.bumped_by
    if Py_REFCNT(<PyObject*>before) > 2:                  # by more than t, and this function: views of it, say
        count_together(before, shown)
    t.storage = shown
    return 0


# ---------------------------------------------------------------- the dtype of gradients
cdef object grad_dtype_of(Tensor t):
    """The dtype of a leaf's gradient, or None for any."""
    if t.grad_dtype_ == GRAD_OF_OWN_DTYPE:
        return t.dt
    return None if t.grad_dtype_ == GRAD_OF_ANY_DTYPE else <dtype>dtype_by_code[t.grad_dtype_ - GRAD_OF_DTYPE]


cdef int set_grad_dtype(Tensor t, object value) except -1:
    """See the property of Tensor; gradients that are on their way already are converted, too."""
    cdef Tensor held = t.grad_
    if value is not None and not isinstance(value, dtype):
        raise RuntimeError(f"grad_dtype must be a torch.dtype or None, but got {_type_name(value)}")
    if current_grad_fn(t) is not None:
        raise RuntimeError("grad_dtype can only be set on leaf tensors.")
    if value is not None and (<dtype>value).category < CATEGORY_FLOAT <= t.dt.category:
        raise RuntimeError(f"grad_dtype must be a floating point or complex dtype, or None, got {value}")
    if held is not None and value is not None and held.dt is not value:
        raise RuntimeError(f"Cannot set grad_dtype to {value} because there is already a gradient with dtype {held.dt}. Clear the "
                           "gradient (.grad = None) before changing grad_dtype, or give the dtype that it has.")
    t.grad_dtype_ = GRAD_OF_ANY_DTYPE if value is None else GRAD_OF_DTYPE + (<dtype>value).code
    if t.accumulator != NULL:
        record_leaf(<AccumulateGrad>t.accumulator, t)
    return 0


cdef int check_grad_dtype(Tensor t, Tensor grad) except -1:
    """Raises RuntimeError for a gradient that is assigned to t, and of a dtype that t does not take."""
    expected = grad_dtype_of(t)
    if expected is not None and grad.dt is not expected:
        raise RuntimeError(f"assigned grad has data of a different type: expected {expected}, got {grad.dt}; set the tensor's grad_dtype "
                           "to that dtype, or to None for any")
    return 0


# ---------------------------------------------------------------- two tensors as one another
cdef bint leaves_swapped = False       # whether any graph has a node for a leaf that is another tensor by now


def swap_(Tensor a not None, Tensor b not None):
    """Makes each of two tensors what the other was, its class, attributes and history included.

    It counts as a change in place of both: what a graph saved of them is refused, and so is a pass that would add to one of
    them. Raises RuntimeError where their classes have different slots.
    """
    if Py_TYPE(<PyObject*>a).tp_basicsize != Py_TYPE(<PyObject*>b).tp_basicsize:
        raise RuntimeError(f"a {_type_name(a)} and a {_type_name(b)} cannot be swapped: their classes have different slots")
    if a is b:
        return
    part_from_graphs(a)
    part_from_graphs(b)
    mt_trade_bodies(<PyObject*>a, <PyObject*>b)
    find_sizes(a, b)
    find_sizes(b, a)
    bump_version(a.storage)
    bump_version(b.storage)


cdef int part_from_graphs(Tensor t) except -1:
    """Before a leaf becomes another tensor: no pass adds a gradient to it by the graphs that know it."""
    global leaves_swapped
    if t.accumulator != NULL:
        (<AccumulateGrad>t.accumulator).swapped = leaves_swapped = True
    return forget_accumulator(t)


cdef void find_sizes(Tensor t, Tensor other) noexcept:
    """Where sizes and strides are, if they lie inside of a tensor that came from another one's place."""
    cdef Py_ssize_t apart = t.strides - t.sizes
    if t.sizes == other.inline_dims:
        t.sizes = t.inline_dims
        t.strides = t.sizes + apart


# ---------------------------------------------------------------- the kernels of `set_`, on every device
cdef int set_memory(Tensor t, UntypedStorage source, int64_t offset, Tensor shape) except -1:
    """Makes t show a storage's memory from `offset` on with the geometry of `shape`, in place."""
    if source.dev is not t.dev:
        raise RuntimeError(f'Attempted to set the storage of a tensor on device "{t.dev}" to a storage on different device '
                           f'"{source.dev}".  This is no longer allowed; the devices must match.')
    forget_accumulator(t)
    bump_version(t.storage)                      # seen by what shared the memory so far, too, as in PyTorch
    if owner_storage(t.storage) is not owner_storage(source):
        show_memory(t, source)
        t.base_ = None                           # it is no view of that any more
    t.offset = offset
    copy_geometry(shape, t)
    return 0


cdef UntypedStorage given_storage(object source):
    if isinstance(source, UntypedStorage):
        return <UntypedStorage>source
    raise TypeError(f"set_(): argument 'source' (position 1) must be Storage, not {_type_name(source)}")


def set_to_tensor(Tensor self not None, Tensor source not None):
    """Makes self show what source shows."""
    if self.dt is not source.dt:
        raise RuntimeError(f"Could not set tensor of type {source.dt} to a tensor of type {self.dt}: reinterpret one with `view(dtype)`, "
                           "or convert it")
    set_memory(self, source.storage, source.offset, source)
    return self


def set_to_storage(Tensor self not None, source):
    """Makes self show a storage, as many whole elements as it holds."""
    cdef UntypedStorage storage = given_storage(source)
    cdef int64_t count = storage.nbytes_ // self.dt.itemsize
    set_memory(self, storage, 0, shape_sizes(1, &count, self.dt, self.dev))
    return self


def set_to_part(Tensor self not None, source, storage_offset, size, stride=()):
    """Makes self show a part of a storage, which grows where it must; row-major without strides.

    As in PyTorch self keeps the strides of a size that it has, and a storage does not grow for a self that stays as it is.
    """
    cdef UntypedStorage storage = given_storage(source)
    cdef int64_t sizes[MAX_DIMS]
    cdef int64_t strides[MAX_DIMS]
    cdef int64_t offset = to_int64(storage_offset, "set_(): argument 'storage_offset'"), needed
    cdef int nd = read_ints(size, sizes, "set_(): argument 'size'"), given = read_ints(stride, strides, "set_(): argument 'stride'")
    cdef Tensor shape
    cdef bint stays
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    if given and given != nd:
        raise RuntimeError(f"unequal size length ({nd}) and stride length ({given})")
    if given:
        shape = bare_tensor(self.dt, self.dev)
        set_rank(shape, nd)
        set_strides(shape, sizes, strides)
    else:
        shape = shape_sizes(nd, sizes, self.dt, self.dev)
    stays = same_sizes(shape, self) and (not given or same_steps(shape, self))
    shape.offset = offset
    needed = bytes_reached(shape)
    if stays:
        copy_geometry(self, shape)
        needed = max(needed, bytes_reached(shape))       # in PyTorch a row-major self of that size must have room, too
    if source.device is self.dev and needed > <int64_t>storage.nbytes_:      # of another device `set_memory` refuses
        if stays and self.dev.type_code != KEY_META:
            raise out_of_bounds(shape, needed, storage)
        resize_storage(storage, needed)
    set_memory(self, storage, offset, shape)
    return self


def set_to_nothing(Tensor self not None):
    """Makes self empty, with memory of its own."""
    cdef int64_t none = 0
    set_memory(self, new_storage(0, self.dev), 0, shape_sizes(1, &none, self.dt, self.dev))
    return self


def as_own_(Tensor t not None):
    """Makes a view a tensor of its own for autograd: changes in place of other views are not its own; returns it.

    What stands for others stays as it is.
    """
    cdef UntypedStorage shown
    if not t.keys & OVERRIDES and t.base_ is not None:
        shown = alias_storage(t.storage)
        shown.version = 0
        t.storage, t.base_, t.made = shown, None, 0
    return t


def forget_history(Tensor t not None):
    """Makes t a leaf that does not require grad, in place."""
    t.grad_fn_, t.output_nr_, t.wants_grad = None, 0, False
