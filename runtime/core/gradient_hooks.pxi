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
            cold.check_replaced(grad, replaced, hook)
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
            raise TypeError(f"expected tuple, but hook returned '{_type_name(replaced)}': hook '{cold.hook_name(hook)}' returns None, or one "
                            "gradient for each that it was given")
        if len(replaced) != len(values):
            raise RuntimeError(f"hook '{cold.hook_name(hook)}' has returned an incorrect number of values (got {len(replaced)}, but expected "
                               f"{len(values)})")
        for i in range(len(values)):
            if replaced[i] is not None:
                cold.check_replaced(values[i], replaced[i], hook)
        values = <tuple>replaced
    return values
