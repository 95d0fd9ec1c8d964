"""``autograd.Function.apply``: forward with grad off, then a node that calls the class's backward."""


def base_setup_context(ctx, inputs, output):
    """What ``Function.setup_context`` is until a class defines its own: its presence tells new style from old."""
    raise NotImplementedError("setup_context is not implemented.")


def function_apply(cls, tuple args not None, dict kwargs not None):
    """Runs ``cls.forward`` on the arguments and records the call where an input requires grad."""
    global next_sequence
    cdef FunctionCtx ctx = FunctionCtx.__new__(FunctionCtx)
    cdef bint new_style = cls.setup_context is not base_setup_context
    cdef bint record
    cdef int outside = mt_state.grad_off
    args = bind_forward(cls, args, kwargs, new_style)
    ctx.function = cls
    ctx.node_name = cls.__name__ + "Backward"
    ctx.sequence = next_sequence
    next_sequence += 1
    record = prepare_function_inputs(ctx, args) and not outside
    mt_state.grad_off = True
    try:
        if new_style:
            output = cls.forward(*args)
            cls.setup_context(ctx, args, output)
        else:
            output = cls.forward(ctx, *args)
        outputs = output if PyTuple_Check(output) else (output,)
        wrapped = wrap_outputs(ctx, args, <tuple>outputs, record)
    finally:
        mt_state.grad_off = outside
    if record:
        ctx.finish_saving()
    return wrapped if PyTuple_Check(output) else wrapped[0]


cdef tuple bind_forward(object cls, tuple args, dict kwargs, bint new_style):
    """Keywords and defaults in forward's order, so that setup_context and backward see every argument."""
    code = getattr(cls.forward, "__code__", None)
    if not kwargs and code is not None and len(args) + (not new_style) == code.co_argcount:
        return args
    if not kwargs and not new_style:
        return args
    import inspect
    signature = inspect.signature(cls.forward)
    if new_style:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.args
    bound = signature.bind(None, *args, **kwargs)
    return bound.args[1:]


cdef bint prepare_function_inputs(FunctionCtx ctx, tuple args):
    """Edges by argument slot; whether any tensor argument requires grad."""
    cdef list tensors = [], needs = [], lengths = []
    cdef bint any_needs = False, wants
    for value in args:
        wants = False
        if isinstance(value, Tensor):
            tensors.append(value)
            lengths.append(1)
            wants = needs_grad(<Tensor>value)
            any_needs = any_needs or wants
        else:
            tensors.append(None)
            lengths.append(None)
        needs.append(wants)
    ctx.needs_input_grad = tuple(needs)
    ctx.list_lengths = tuple(lengths)
    if any_needs:
        ctx.set_edge_count(len(tensors))
        for slot in range(len(tensors)):
            ctx.set_edge(slot, tensors[slot])
    return any_needs


cdef bint holds(object tensors, object value):
    """Whether a tuple holds this very object."""
    if tensors is None:
        return False
    for t in tensors:
        if t is value:
            return True
    return False


cdef tuple wrap_outputs(FunctionCtx ctx, tuple args, tuple outputs, bint record):
    cdef int number = 0
    check_dirty(ctx, args, outputs)
    ctx.set_output_count(len(outputs))
    wrapped = []
    for value in outputs:
        if isinstance(value, Tensor):
            value = wrap_output(ctx, args, <Tensor>value, number, record)
            if record and (<Tensor>value).base_ is not None and not holds(ctx.dirty, value):
                (<Tensor>value).made = MADE_WITH_OTHERS if len(outputs) > 1 else MADE_BY_FUNCTION
        wrapped.append(value)
        number += 1
    return tuple(wrapped)


cdef int check_dirty(FunctionCtx ctx, tuple args, tuple outputs) except -1:
    if ctx.dirty is None:
        return 0
    for t in ctx.dirty:
        if not isinstance(t, Tensor):
            raise TypeError(f"mark_dirty can only accept variables, but got an argument of type {_type_name(t)}")
        if not holds(outputs, t):
            raise RuntimeError("Some elements marked as dirty during the forward method were not returned as output. The inputs "
                               "that are modified inplace must all be outputs of the Function.")
        if not holds(args, t):
            import warnings
            warnings.warn("mark_dirty: a tensor that is not an input of the Function was marked as dirty", UserWarning)
    return 0


cdef Tensor wrap_output(FunctionCtx ctx, tuple args, Tensor output, int number, bint record):
    cdef Tensor view
    cdef bint is_dirty = holds(ctx.dirty, output)
    cdef bint differentiable = output.dt.category >= CATEGORY_FLOAT and not holds(ctx.non_differentiable, output)
    if is_dirty:
        if record and output.wants_grad:
            raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
        output.storage.version += 1
    elif holds(args, output):
        view = shallow_copy(output)
        view.base_ = output if output.base_ is None else output.base_
        view.epoch = view.base_.epoch
        output = view
    if record and differentiable:
        set_history(output, ctx, number)
    elif record:
        record_meta(ctx.meta(number), output)             # no history, but backward sees zeros for it
    return output

