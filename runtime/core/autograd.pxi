"""Recording: the node an operator call leaves behind."""

cdef object call_below_autograd(OpOverload op, Bound* bound, uint64_t keys):
    """The kernel with autograd off; then versions, views and, where an input requires grad, the node."""
    cdef uint64_t live = keys & op.active
    cdef uint64_t record = 0 if mt_state.grad_off else requiring_grad(op, bound)
    cdef int key
    if live == 0:
        raise cold.missing_kernel(op, keys)
    key = mt_highest_bit(live)
    if op.planned_at >> key & 1 and not show_trace and (not record or op.gradient is not None and not recording_hooked) \
            and not (op.device_check and keys & NOT_CPU):
        return run_plan(<Plan>op.table[key], key, bound, record)
    if key <= KEY_META and not op.composite_at >> key & 1 and begins_operation(op, key, bound):
        try:
            return call_recorded(op, key, bound, keys, record)
        finally:
            end_operation()
    return call_recorded(op, key, bound, keys, record)


cdef object call_recorded(OpOverload op, int key, Bound* bound, uint64_t keys, uint64_t record):
    """What a key has for the operator, and what autograd notes of it; `record`: the arguments that require grad, as bits."""
    cdef uint64_t outside = mt_state.excluded
    cdef uint64_t start = bumps                           # what was held back may have written to arguments by now
    cdef FunctionCtx ctx = None
    cdef tuple inputs = None
    cdef bint by_formula
    cdef int grad_off = mt_state.grad_off
    if autograd_fallback != FALLBACK_ERROR and ALIAS_AUTOGRAD not in op.kernels:
        return call_without_formula(op, key, bound, keys, record != 0)
    if op.mutates:
        if record and op.is_builtin and writes_into_numbers(op, bound):
            raise RuntimeError(f"{op._schema.name}(): functions with out=... arguments don't support automatic differentiation, but one "
                               "of the arguments requires grad.")
        refuse_inference_tensors(op, bound)
    by_formula = record and op.gradient is not None and not op.mutates and not recording_hooked
    if by_formula:
        ctx = new_plan_node(op, bound.slots)
    elif record:
        ctx = new_operator_node(op, bound)
        if op.mutates and op.gradient is not None:
            inputs = inputs_before(op, bound, ctx)
    if not keys & BATCHED:                                # inside a batch are tensors that may be recorded, too
        mt_state.excluded = outside | BELOW_AUTOGRAD
    if record and not op.is_builtin:                      # a kernel sees tensors that require grad, and may ask for memory
        mt_state.grad_off = 1
    try:
        result = run_traced(op, key, bound, keys) if show_trace else run_at(op, key, bound, keys)
        if key == KEY_PYTHON:
            check_answer(op, bound, result)
            if result is None and op.returns:             # there is nothing that would have a history
                record, by_formula, inputs = 0, False, None
        else:
            check_types(op, result)
        if key <= KEY_BACKEND_SELECT:                     # above, Python code answers for what it does
            if op.refuses_aliases or record:              # recorded, its gradient would be wrong without a word
                check_aliases(op, bound, result)
            check_unchanged(op, bound, start)
            if mt_state.last_bump > start:
                begin_versions(<PyObject*>result)
            if op.keeps_layout and not op.composite_at >> key & 1 and is_laid_out(op, bound.slots):
                keep_layout(op, bound.slots, result)
        if op.mutates:
            bump_mutated(op, bound, start)
        if inputs is not None:
            (<Gradient>op.gradient).setup_context(ctx, inputs, result)
        elif by_formula:
            save_result(<PlanNode>ctx, op, bound, result, record)
        elif record and op.setup_function is not None:
            call_setup(op, bound, ctx, result)
    finally:
        mt_state.excluded, mt_state.grad_off = outside, grad_off
    if op.makes_views:
        mark_views(op, bound, result)
    if record:
        attach(op, bound, ctx, result)
        if inputs is not None:
            outdate_overwritten(op, bound, ctx)
    return result


cdef object run_traced(OpOverload op, int key, Bound* bound, uint64_t keys):
    trace_line("redispatch", op, key)
    trace_depth.depth += 1
    try:
        return run_at(op, key, bound, keys)
    finally:
        trace_depth.depth -= 1


cdef inline uint64_t requiring_grad(OpOverload op, Bound* bound):
    """The arguments that require grad, or hold a tensor that does, as bits."""
    cdef uint64_t found = lists_requiring_grad(op, bound) if op.sig.has_lists else 0
    cdef PyObject* tensor
    cdef int i
    for i in range(op.sig.tensor_args):
        tensor = bound.slots[op.sig.tensor_at[i]]
        if tensor != <PyObject*>None and requires_grad_at(tensor):
            found |= <uint64_t>1 << op.sig.tensor_at[i]
    return found


cdef uint64_t lists_requiring_grad(OpOverload op, Bound* bound):
    cdef uint64_t found = 0
    cdef int i
    for i in range(op.sig.count):
        if op.sig.args[i].kind == ARG_TENSOR_LIST or op.sig.args[i].kind == ARG_OPT_TENSOR_LIST:
            if bound.slots[i] != <PyObject*>None:
                for item in <object>bound.slots[i]:
                    if item is not None and needs_grad(<Tensor>item):
                        found |= <uint64_t>1 << i
    return found


cdef bint needs_grad(Tensor t) noexcept:
    return requires_grad_at(<PyObject*>t)


cdef inline bint requires_grad_at(PyObject* t) noexcept:
    """As `needs_grad`, of a borrowed tensor."""
    return (<Tensor>t).wants_grad or (<Tensor>t).grad_fn_ is not None \
        or ((<Tensor>t).base_ is not None and base_needs_grad(<Tensor>t))


cdef bint base_needs_grad(Tensor view) noexcept:
    """Whether what this is a view of requires grad: then so does the view, whenever and in whatever mode it was made."""
    return view.base_.wants_grad or view.base_.grad_fn_ is not None


cdef Node current_grad_fn(Tensor t):
    """The node that made a tensor; of a view, made again where the memory was changed in place since it was last looked at."""
    if t.base_ is not None and t.seen_version != <int>t.storage.version and (t.grad_fn_ is not None or base_needs_grad(t)):
        cold.refresh_view(t)
    return t.grad_fn_


cdef inline bint is_made_by(Tensor t, FunctionCtx ctx) except -1:
    """Whether a node made a tensor, or changed it in place as a view, so that keeping the tensor would be a cycle."""
    return t.grad_fn_ is ctx or t.base_ is not None and cold.is_changed_by(t, ctx)


cdef bint holds(tuple tensors, object value):
    """Whether a tuple holds this very object."""
    if tensors is None:
        return False
    for t in tensors:
        if t is value:
            return True
    return False


cdef bint writes_into_numbers(OpOverload op, Bound* bound) except -1:
    """Whether the operator is given tensors to write into, its own arguments apart, that could have a gradient."""
    for argument in op._schema.out_arguments:
        value = <object>bound.slots[op.sig.names.index(argument.name)]
        if isinstance(value, Tensor) and (<Tensor>value).dt.category >= CATEGORY_FLOAT:
            return True
    return False


cdef FunctionCtx new_operator_node(OpOverload op, Bound* bound):
    """The node with its edges, taken before the kernel runs: an in-place operator replaces its argument's history."""
    global next_sequence
    cdef FunctionCtx ctx
    cdef int i, kind, slot = 0
    cdef uint64_t needs = 0
    cdef dict lists = None
    ctx = FunctionCtx.__new__(FunctionCtx)
    if op.context_type == NULL:
        op.context_type = named_type(<PyTypeObject*>OperatorCtx, op.node_name)
    mt_become(<PyObject*>ctx, op.context_type)
    ctx.function, ctx.is_operator, ctx.node_name = op, True, op.node_name
    ctx.sequence = next_sequence
    next_sequence += 1
    if op.sig.has_lists:
        ctx.list_lengths = tensor_list_lengths(op, bound)
    ctx.set_edge_count(op.sig.tensor_args if ctx.list_lengths is None else
                       op.sig.tensor_args + sum([n for n in ctx.list_lengths if n is not None]))
    for i in range(op.sig.count):
        kind = op.sig.args[i].kind
        value = <object>bound.slots[i]
        if kind == ARG_TENSOR:
            if value is not None and needs_grad(<Tensor>value):
                needs |= <uint64_t>1 << i
            ctx.set_edge(slot, value)
            slot += 1
            if op.aliases[i].written and value is not None:
                check_writable(op.sig.qualname, <Tensor>value)
        elif kind == ARG_TENSOR_LIST or kind == ARG_OPT_TENSOR_LIST:
            if lists is None:
                lists = {}
            lists[i] = [item is not None and needs_grad(<Tensor>item) for item in (() if value is None else value)]
            for item in () if value is None else value:
                ctx.set_edge(slot, item)
                slot += 1
    if not op.constants_read:
        read_constants(op)
    if needs & op.constants:
        raise constant_with_gradient(op, mt_highest_bit(needs & op.constants))
    ctx.needs_input_grad = needs_tuple(op.sig, needs) if lists is None else \
        tuple([lists.get(i, bool(needs >> i & 1)) for i in range(op.sig.count)])
    return ctx


cdef int read_constants(OpOverload op) except -1:
    op.constants = 0
    for name in said_by_setup(op, "constants", ()):
        op.constants |= <uint64_t>1 << op.sig.names.index(name)
    op.constants_read = True
    return 0


cdef object said_by_setup(OpOverload op, str what, object default):
    """What the function that sets the contexts of an operator up says of itself."""
    cdef object setup = op.setup_function
    referred = getattr(setup, "referred", None)           # of a function by reference
    return getattr(setup if referred is None else referred(), what, default)


cdef object constant_with_gradient(OpOverload op, int at):
    name = op.sig.names[at]
    return RuntimeError(f"The function '{op._schema.name}' is not differentiable with respect to argument '{name}'. This input cannot have "
                        f"requires_grad True: pass {name}.detach().")


cdef tuple needs_tuple(Signature sig, uint64_t mask):
    """One bool an argument. Calls share them: there are few, and a tuple a node would count."""
    cdef tuple needs = <tuple>sig.needs.get(mask)
    if needs is None:
        needs = sig.needs[mask] = tuple([bool(mask >> i & 1) for i in range(sig.count)])
    return needs


cdef tuple tensor_list_lengths(OpOverload op, Bound* bound):
    """Per argument: the length of a tensor list, None for anything else."""
    lengths = [None] * op.sig.count
    for i in range(op.sig.count):
        if op.sig.args[i].kind in (ARG_TENSOR_LIST, ARG_OPT_TENSOR_LIST):
            value = <object>bound.slots[i]
            lengths[i] = 0 if value is None else len(value)
    return tuple(lengths)


cdef int check_writable(str name, Tensor t) except -1:
    """Raises where an operator must not change a tensor in place while the change is recorded."""
    if t.base_ is not None and t.made != MADE_BY_OPERATOR:
        raise cold.forbidden_on_view(t, "is being")
    if t.wants_grad:
        raise RuntimeError(f"a leaf Variable that requires grad is being used in an in-place operation: {name}. "
                           "Do it under torch.no_grad(), or on a clone.")
    if t.base_ is not None and t.base_.wants_grad:
        raise RuntimeError(f"a view of a leaf Variable that requires grad is being used in an in-place operation: {name}. "
                           "Do it under torch.no_grad(), or on a clone.")
    return 0


cdef int refuse_inference_tensors(OpOverload op, Bound* bound) except -1:
    cdef int i
    if mt_state.withheld:
        return 0
    for i in range(op.sig.count):
        if op.aliases[i].written and op.sig.args[i].kind == ARG_TENSOR and bound.slots[i] != <PyObject*>None:
            refuse_inference_tensor(<Tensor>bound.slots[i])
    return 0


cdef int refuse_inference_tensor(Tensor t) except -1:
    if not t.keys & INPLACE_OR_VIEW and not mt_state.withheld:
        raise RuntimeError("Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to "
                           "get a normal tensor before doing inplace update.")
    return 0


cdef object call_setup(OpOverload op, Bound* bound, FunctionCtx ctx, object output):
    cdef int i, n = op.sig.positional if op.setup_takes_keywords else op.sig.count
    cdef tuple inputs = tuple_of(bound.slots, n)
    if op.setup_takes_keywords:
        keywords = {op.sig.names[i]: <object>bound.slots[i] for i in range(n, op.sig.count)}
        return op.setup_function(ctx, inputs, keywords, output)
    cdef PyObject* args[3]
    args[0], args[1], args[2] = <PyObject*>ctx, <PyObject*>inputs, <PyObject*>output
    return PyObject_Vectorcall(op.setup_function, args, 3, NULL)


cdef int mark_views(OpOverload op, Bound* bound, object result) except -1:
    """Outputs that share a declared argument's storage become views of it; several of them may not be changed in place."""
    cdef int i
    if result is None:                                    # what a __torch_dispatch__ may answer
        return 0
    for i in range(op.sig.count):
        if op.aliases[i].declared and op.sig.args[i].kind == ARG_TENSOR and bound.slots[i] != <PyObject*>None:
            if PyTuple_Check(result) or PyList_Check(result):
                for item in result:
                    mark_view(<Tensor>bound.slots[i], <Tensor>item)
                    if (<Tensor>item).base_ is not None and (<Tensor>item).made < MADE_IN_NO_GRAD:
                        (<Tensor>item).made = MADE_WITH_OTHERS
            else:
                mark_view(<Tensor>bound.slots[i], <Tensor>result)
            return 0
    return 0


cdef int share_claims(OpOverload op, Bound* bound, object result) except -1:
    """Wrappers that a class makes as views of a wrapper count their changes together: neither has memory that would tell."""
    cdef int i
    cdef Tensor source
    for i in range(op.sig.tensor_args):
        if op.aliases[op.sig.tensor_at[i]].declared and bound.slots[op.sig.tensor_at[i]] != <PyObject*>None:
            source = <Tensor>bound.slots[op.sig.tensor_at[i]]
            if only_claims(source):
                for item in flatten_outputs(result):
                    if isinstance(item, Tensor) and only_claims(<Tensor>item):
                        (<Tensor>item).storage = source.storage
            return 0
    return 0


cdef inline bint only_claims(Tensor t) noexcept:
    """Whether a tensor is a wrapper of others, on a device where it has no memory."""
    return t.keys & PYTHON != 0 and t.storage.dev is device_meta and t.dev is not device_meta


def only_claims_memory(Tensor t not None):
    """Whether a tensor is a wrapper of others, on a device where it has no memory."""
    return <bint>only_claims(t)


cdef inline void mark_view(Tensor source, Tensor view) noexcept:
    if view is not source and view.storage is source.storage and view.base_ is None:
        view.base_ = source if source.base_ is None else source.base_
        view.seen_version = <int>view.storage.version
        if mt_state.grad_off:
            view.made = MADE_IN_INFERENCE if mt_state.withheld else MADE_IN_NO_GRAD
        else:
            view.made = source.made


cdef int attach(OpOverload op, Bound* bound, FunctionCtx ctx, object result) except -1:
    """Gives the outputs their history, then fixes what is saved."""
    cdef int count = 0
    if op.returns == 1 and op.return_kind == ARG_TENSOR:
        ctx.set_output_count(1)
        attach_output(op, bound, ctx, <Tensor>result, 0)
    elif op.returns > 0:
        flat = flatten_outputs(result)
        ctx.set_output_count(len(flat))
        for value in flat:
            if isinstance(value, Tensor):
                attach_output(op, bound, ctx, <Tensor>value, count)
            count += 1
    if ctx.rare is not None:
        ctx.rare.non_differentiable = None                # it holds an output, whose node this is
    ctx.finish_saving()
    return 0


cdef list flatten_outputs(object result):
    flat = []
    for value in result if isinstance(result, (tuple, list)) else (result,):
        if isinstance(value, (tuple, list)):
            flat.extend(value)
        else:
            flat.append(value)
    return flat


cdef int attach_output(OpOverload op, Bound* bound, FunctionCtx ctx, Tensor output, int number) except -1:
    cdef int i
    if output.dt.category < CATEGORY_FLOAT or \
            not op.mutates and (ctx.rare is not None and holds(ctx.rare.non_differentiable, output)
                                or op.gradient is not None and (<Gradient>op.gradient).constant >> number & 1):
        return ctx.without_history(output, number)
    if op.makes_views:
        for i in range(op.sig.count):
            if bound.slots[i] == <PyObject*>output:       # `contiguous()` of what is contiguous: nothing happened
                return 0
    if not op.mutates:
        set_history(output, ctx, number)
    elif output.base_ is None:
        set_history(output, ctx, number)                  # views of it find their history outdated by the version
    else:
        cold.rebase_view(output, ctx, number, 0)
    return 0


cdef int set_history(Tensor t, Node node, int number) except -1:
    if t.retains_grad_:
        forget_retained(t)
    t.grad_fn_, t.output_nr_, t.wants_grad = node, number, False
    record_meta(node.meta(number), t)
    if t.retains_grad_:                                   # the gradient of what the tensor is now
        node.retain(t)
    return 0
