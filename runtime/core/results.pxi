"""What a kernel may return: what the schema declares, in memory of its own unless it says otherwise."""

cdef inline int check_types(OpOverload op, object result) except -1:
    """Refuses a result that is not of the types the schema declares."""
    if op.return_kind == ARG_TENSOR and (is_tensor(<PyObject*>result) if op.returns == 1 else are_tensors(op, result)):
        return 0
    return check_each_type(op, result)


cdef inline bint are_tensors(OpOverload op, object result) noexcept:
    """Whether a kernel returned a tuple of as many tensors as the schema declares."""
    cdef Py_ssize_t i
    if not PyTuple_CheckExact(result) or PyTuple_GET_SIZE(result) != op.returns:
        return False
    for i in range(op.returns):
        if not is_tensor(PyTuple_GET_ITEM(result, i)):
            return False
    return True


cdef int check_answer(OpOverload op, Bound* bound, object result) except -1:
    """As `check_types`, of what ``__torch_dispatch__`` of a class or mode returned: None is a tensor that is not there."""
    if op.returns != 1 or op.return_kind != ARG_TENSOR or not (result is None or is_tensor(<PyObject*>result)):
        try:
            check_each_type(op, result)
        except RuntimeError as error:
            raise RuntimeError(f"Unable to cast what __torch_dispatch__ returned: {error}") from None
    return share_claims(op, bound, result) if op.makes_views and result is not None else 0


cdef int check_each_type(OpOverload op, object result) except -1:
    cdef Py_ssize_t i
    if op.returns == 0:
        if result is not None:
            raise RuntimeError(f"{op.sig.qualname}: the schema declares no return, but the kernel returned {_type_name(result)}\n"
                               f"  schema: {op._schema}")
        return 0
    if op.returns == 1:
        return check_type(op, op.return_kind, result, 0)
    if not (PyTuple_Check(result) or PyList_Check(result)) or len(result) != op.returns:
        got = f"{_type_name(result)} of length {len(result)}" if isinstance(result, (tuple, list)) else _type_name(result)
        raise RuntimeError(f"{op.sig.qualname}: the schema declares {op.returns} returns, but the kernel returned {got}\n"
                           f"  schema: {op._schema}")
    for i in range(op.returns):
        check_type(op, arg_spec(op._schema.returns[i].type).kind, result[i], i)
    return 0


cdef int check_type(OpOverload op, int kind, object value, Py_ssize_t at) except -1:
    if kind == ARG_TENSOR:
        if is_tensor(<PyObject*>value) or value is None and op.returns > 1:    # an output that was not asked for
            return 0
        raise RuntimeError(f"{op.sig.qualname}: the schema declares that output {at} is a Tensor, but the kernel returned "
                           f"{_type_name(value)}\n  schema: {op._schema}")
    if kind == ARG_TENSOR_LIST:
        if not (PyTuple_Check(value) or PyList_Check(value)):
            raise RuntimeError(f"{op.sig.qualname}: the schema declares that output {at} is a list of tensors, but the kernel "
                               f"returned {_type_name(value)}\n  schema: {op._schema}")
        for item in value:
            if not is_tensor(<PyObject*>item):
                raise RuntimeError(f"{op.sig.qualname}: output {at} must be a list of tensors, but it holds {_type_name(item)}\n"
                                   f"  schema: {op._schema}")
    return 0


cdef inline int check_aliases(OpOverload op, Bound* bound, object result) except -1:
    """Refuses outputs that share memory with an argument, or with each other, where the schema does not declare it."""
    if op.returns == 1 and op.return_kind == ARG_TENSOR:
        return 0 if op.aliased_returns else check_no_alias(op, bound, <Tensor>result, 0)
    if op.return_kind == ARG_TENSOR and not op.aliased_returns and are_tensors(op, result):
        return check_tensors_apart(op, bound, <tuple>result)
    return check_each_alias(op, bound, result)


cdef int check_tensors_apart(OpOverload op, Bound* bound, tuple result) except -1:
    """As `check_each_alias`, of several tensors."""
    cdef Py_ssize_t i, earlier
    for i in range(op.returns):
        check_no_alias(op, bound, <Tensor>PyTuple_GET_ITEM(result, i), i)
    for i in range(1, op.returns):
        for earlier in range(i):
            if (<Tensor>PyTuple_GET_ITEM(result, i)).storage is (<Tensor>PyTuple_GET_ITEM(result, earlier)).storage:
                raise shared_outputs(op)
    return 0


cdef int check_each_alias(OpOverload op, Bound* bound, object result) except -1:
    cdef Py_ssize_t i
    if op.returns == 1:
        return 0 if op.aliased_returns else check_alias(op, bound, result, 0)
    for i in range(op.returns):
        if not op.aliased_returns >> i & 1:
            check_alias(op, bound, result[i], i)
    return 0 if op.aliased_returns else check_distinct(op, result)


cdef int check_alias(OpOverload op, Bound* bound, object output, Py_ssize_t at) except -1:
    for t in tensors_of(output):
        check_no_alias(op, bound, <Tensor>t, at)
    return 0


cdef int check_distinct(OpOverload op, object result) except -1:
    """Refuses outputs that share memory with each other."""
    cdef set seen = set()
    for output in flatten_outputs(result):
        if isinstance(output, Tensor):
            if id((<Tensor>output).storage) in seen:
                raise shared_outputs(op)
            seen.add(id((<Tensor>output).storage))
    return 0


cdef object shared_outputs(OpOverload op):
    return RuntimeError(f"{op.sig.qualname}: two outputs share memory. An output of an operator may not alias another: "
                        f"return a copy (`.clone()`).\n  schema: {op._schema}")


cdef int check_no_alias(OpOverload op, Bound* bound, Tensor output, Py_ssize_t at) except -1:
    cdef int i, kind
    for i in range(op.sig.count):
        kind = op.sig.args[i].kind
        if bound.slots[i] == <PyObject*>None:
            continue
        if kind == ARG_TENSOR:
            if (<Tensor>bound.slots[i]).storage is output.storage:
                raise undeclared_alias(op, i, at)
        elif kind == ARG_TENSOR_LIST or kind == ARG_OPT_TENSOR_LIST:
            for item in <object>bound.slots[i]:
                if isinstance(item, Tensor) and (<Tensor>item).storage is output.storage:     # the kernel had the list
                    raise undeclared_alias(op, i, at)
    return 0


cdef object undeclared_alias(OpOverload op, int arg, Py_ssize_t output):
    return RuntimeError(
        f"{op.sig.qualname}: output {output} shares memory with argument '{op.sig.names[arg]}', but the schema does not declare it. "
        f"The output of an operator may not alias its inputs: return a copy (`.clone()`), or declare the alias in the schema "
        f"(`Tensor(a)` for a view, `Tensor(a!)` for a mutated argument).\n  schema: {op._schema}")
