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
    cdef uint64_t wrappers = OVERRIDES & ~TORCH_FUNCTION
    return (t.dev.type_code == KEY_META) == (value.dev.type_code == KEY_META) and t.keys & wrappers == value.keys & wrappers


cdef int set_data(Tensor t, Tensor value) except -1:
    """See the setter of `Tensor.data`: t shows the memory of `value` from now on; its version and its history stay."""
    cdef UntypedStorage shown
    if not has_compatible_type(t, value):
        raise RuntimeError("Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type: "
                           f"a {_type_name(t)} on {t.dev}, and a {_type_name(value)} on {value.dev}. Make a new tensor instead")
    if value.dt.category < CATEGORY_FLOAT and needs_grad(t):
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype, got "
                           f"{value.dt}")
    if t.storage is not value.storage:
        shown = alias_storage(value.storage)
        shown.version = t.storage.version
        t.storage = shown
    t.offset = value.offset
    copy_geometry(value, t)
    t.dt, t.dev, t.keys = value.dt, value.dev, value.keys & ~OVERRIDES | t.keys & OVERRIDES
    return 0


def forget_history(Tensor t not None):
    """Makes t a leaf that does not require grad, in place."""
    t.grad_fn_, t.output_nr_, t.wants_grad = None, 0, False
