"""Operators without anything at their autograd keys: backward through them fails, or warns, or passes them by."""

cdef enum AutogradFallback:
    FALLBACK_ERROR                       # recorded; backward raises (PyTorch has this mode for operators that ask for it)
    FALLBACK_WARN                        # PyTorch's default: what the kernel's own operators record; backward warns
    FALLBACK_NOTHING                     # what the kernel's own operators record

cdef int autograd_fallback = FALLBACK_ERROR
cdef tuple AUTOGRAD_FALLBACK_MODES = ("error", "warn", "nothing")


def set_autograd_fallback_mode(str mode not None):
    """Sets for the whole process what backward does at operators without a gradient: "error", "warn" or "nothing"."""
    global autograd_fallback
    if mode not in AUTOGRAD_FALLBACK_MODES:
        raise RuntimeError(f"autograd fallback mode must be one of {', '.join(map(repr, AUTOGRAD_FALLBACK_MODES))}, got {mode!r}")
    autograd_fallback = AUTOGRAD_FALLBACK_MODES.index(mode)


def get_autograd_fallback_mode():
    """What `set_autograd_fallback_mode` set; "error" at first."""
    return AUTOGRAD_FALLBACK_MODES[autograd_fallback]


cdef object warn_of_no_formula(str name):
    import warnings
    warnings.warn(f"{name}: an autograd kernel was not registered to the Autograd key(s) but we are trying to backprop through "
                  f"it: its gradient may be silently wrong. Register one with `library.register_autograd(\"{name}\", ...)`, or "
                  f"`library.impl(\"{name}\", \"Autograd\", library.fallthrough_kernel)` if it has none.", UserWarning)


cdef class WarnNotImplemented(Node):
    """An operator without a gradient: warns when backward comes by, and leads on to nothing."""
    cdef str operator

    cdef object apply(self, list grads):
        warn_of_no_formula(self.operator)
        return [None] * self.next_count


cdef object call_without_formula(OpOverload op, int key, Bound* bound, uint64_t keys, bint record):
    """The kernel with autograd on, as if nothing were at the autograd key; in the mode "warn" its outputs remember it."""
    cdef WarnNotImplemented node
    cdef int number = 0
    if not record or autograd_fallback == FALLBACK_NOTHING:
        return dispatch_at(op, key, bound, keys)
    node = new_warning_node(op, bound)
    result = dispatch_at(op, key, bound, keys)
    name = op.sig.qualname
    outputs = outputs_and_whether_written(op, result)
    node.set_output_count(len(outputs))
    for value, written in outputs:
        if isinstance(value, Tensor) and (<Tensor>value).dt.category >= CATEGORY_FLOAT:
            if needs_grad(<Tensor>value):
                value.register_hook(lambda grad: warn_of_no_formula(name))
                if written and value._base is not None and value._base.requires_grad:
                    value._base.register_hook(lambda grad: warn_of_no_formula(name))     # which has the history from now on
            elif not written:                              # of what the kernel changed nobody knows what it was a part of
                set_history(<Tensor>value, node, number)
        number += 1
    return result


cdef list outputs_and_whether_written(OpOverload op, object result):
    """All outputs, each with whether it is an argument that the operator says it writes to."""
    returns = op._schema.returns
    parts = (result,) if len(returns) == 1 else result
    return [(value, declared.is_write) for declared, part in zip(returns, parts or ()) for value in flatten_outputs(part)]


cdef WarnNotImplemented new_warning_node(OpOverload op, Bound* bound):
    global next_sequence
    cdef WarnNotImplemented node = WarnNotImplemented.__new__(WarnNotImplemented)
    cdef int slot = 0
    tensors = [t for i in range(op.sig.count) for t in tensors_of(<object>bound.slots[i])]
    node.operator, node.node_name, node.sequence = op.sig.qualname, "WarnNotImplemented", next_sequence
    next_sequence += 1
    node.set_edge_count(len(tensors))
    for t in tensors:
        node.set_edge(slot, t)
        slot += 1
    return node
