"""What hooks make of gradients on their way, and what they may not make of them."""

cdef int run_tensor_hooks(Node node, list grads) except -1:
    """Hooks of the tensors whose gradients arrived, in a leaf those of its accumulator; then the tensors that keep theirs."""
    if node.sequence == LAST_SEQUENCE and (<AccumulateGrad>node).variable.hooks:
        grads[0] = run_hooks((<AccumulateGrad>node).variable.hooks, grads[0])
    if node.hooks is None:
        return 0
    for output, hooks in list(node.hooks.tensor.items()):         # a hook may add others, to outputs that had none
        grads[output] = run_hooks(hooks, grads[output])
    for output, reference in list(node.hooks.retained.items()):
        tensor = reference()
        if tensor is not None and grads[output] is not None:
            accumulate(<Tensor>tensor, grads[output])
    return 0


cdef object run_hooks(dict hooks, object grad):
    """A gradient, None where nothing arrived, as hooks leave it."""
    for hook in list(hooks.values()):
        replaced = hook(grad)
        if replaced is not None:
            check_replaced(grad, replaced, hook)
            grad = replaced
    return grad


cdef tuple replaced_by_hooks(dict hooks, tuple values, object grad_outputs):
    cdef Py_ssize_t i
    for hook in list(hooks.values()):
        replaced = hook(values) if grad_outputs is None else hook(values, grad_outputs)
        if replaced is None:
            continue
        if isinstance(replaced, Tensor):
            replaced = (replaced,)
        if not isinstance(replaced, tuple):
            raise TypeError(f"expected tuple, but hook returned '{_type_name(replaced)}': hook '{hook_name(hook)}' returns None, or one "
                            "gradient for each that it was given")
        if len(replaced) != len(values):
            raise RuntimeError(f"hook '{hook_name(hook)}' has returned an incorrect number of values (got {len(replaced)}, but expected "
                               f"{len(values)})")
        for i in range(len(values)):
            if replaced[i] is not None:
                check_replaced(values[i], replaced[i], hook)
        values = <tuple>replaced
    return values


cdef object hook_name(object hook):
    return getattr(hook, "__name__", hook)


cdef int check_replaced(object value, object replaced, object hook) except -1:
    """Refuses what a hook returns instead of a gradient that is another kind of thing."""
    cdef Tensor old, new
    if value is None:
        raise RuntimeError(f"can't replace a None gradient with a non-None value: hook '{hook_name(hook)}' was given None and returned "
                           f"'{_type_name(replaced)}'")
    if not isinstance(replaced, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{_type_name(replaced)}': hook '{hook_name(hook)}' must return None or a "
                        "Tensor")
    old, new = <Tensor>value, <Tensor>replaced
    if old.dt is not new.dt or old.dev.type_code != new.dev.type_code:
        raise RuntimeError(f"hook '{hook_name(hook)}' has changed the type of value (was {old.dt} on {old.dev}, got {new.dt} on "
                           f"{new.dev})")
    if not same_sizes(old, new):
        raise RuntimeError(f"hook '{hook_name(hook)}' has changed the size of value (was {list(old.shape)}, got {list(new.shape)})")
    return 0
