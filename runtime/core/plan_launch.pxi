"""Launches of a program: arguments from registers straight into the kernel's frame, its status into the operator's error."""

cdef enum:                     # how an argument is passed
    BY_TENSOR, BY_NOTHING, BY_INT, BY_FLOAT, BY_OBJECT
    OPERAND_KINDS

PLAN_OPERANDS = {"tensor": BY_TENSOR, "nothing": BY_NOTHING, "int": BY_INT, "float": BY_FLOAT, "object": BY_OBJECT}

cdef extern from *:
    void PyErr_SetObject(object kind, object value)


cdef int check_launch(Program p, Step* s) except -1:
    """A launch's operands: for each of the kernel's arguments how it is passed, and a register."""
    cdef int i, how, at
    if not isinstance(<object>s.what, Kernel) or s.b != 2 * (<Kernel>s.what).nargs:
        raise ValueError("a launch has a kernel and a pair for each of its arguments")
    if (<Kernel>s.what).ascendc:
        require_register(p, "w", s.made)
    for i in range(s.a, s.a + s.b, 2):
        how, at = p.pool[i], p.pool[i + 1]
        if not 0 <= how < OPERAND_KINDS:
            raise ValueError(f"unknown operand {how}")
        if how != BY_NOTHING:
            require_register(p, "o" if how in (BY_TENSOR, BY_OBJECT) else "w", at)
    return 0


cdef int launch_step(Program p, Frame* f, Step* s, Kernel k) except -1:
    """Without boxing where that can be. `made` is the word with block_dim, c the number of the first argument among the explained."""
    cdef Launch call
    cdef PyObject* tensors[MAX_KERNEL_ARGS]
    cdef int count
    if k.has_host or k.has_generator:
        return launch_boxed(p, f, s, k)
    if k.address == NULL:
        resolve_address(k)
    call.elements, call.device, call.device_from = 0, -1 if k.ascendc else 0, -1
    count = fill_operands(p, f, s, k, &call, tensors)
    if count < 0:
        return launch_boxed(p, f, s, k)
    if k.ascendc:
        return queue_step(p, f, s, k, &call, tensors, count)
    return invoke_step(p, f, s, k, &call)


cdef inline int fill_operands(Program p, Frame* f, Step* s, Kernel k, Launch* call, PyObject** tensors) except -2:
    """Fills the frame, and gathers the tensors; how many there are, or -1 where an argument has to be an object."""
    cdef uint64_t* frame = <uint64_t*>&call.frame
    cdef uint64_t* word
    cdef int* operand = p.pool + s.a
    cdef PyObject* t
    cdef int i, how, kind, count = 0
    for i in range(k.nargs):
        word, kind, how = frame + k.slots[i], k.kinds[i], operand[0]
        if how == BY_TENSOR:
            t = f.objects[operand[1]]
            if not is_home(k, <Tensor>t, call) or not k.allowed[i] >> (<Tensor>t).dt.code & 1 \
                    or kind == C_PTR and not (<Tensor>t).contig or (<Tensor>t).storage.data == NULL and (<Tensor>t).nelem > 0 \
                    or (<Tensor>t).keys & LAZY:
                if k.ascendc:
                    return -1                         # which says what is wrong
                refuse_tensor(p, f, s, k, i, <Tensor>t)
            call.elements |= (<Tensor>t).nelem
            tensors[count] = t
            count += 1
            if kind == C_PTR:
                word[0] = <uint64_t>data_at(t)
            else:
                describe_tensor(<Tensor>t, &call.descriptors[i])
                word[0] = <uint64_t>&call.descriptors[i]
        elif how == BY_INT and C_BOOL < kind < C_F16 and INT_LOW[kind] <= f.words[operand[1]].i <= INT_HIGH[kind]:
            word[0] = <uint64_t>f.words[operand[1]].i
        elif how == BY_OBJECT and kind == C_F32 and PyFloat_CheckExact(<object>f.objects[operand[1]]) \
                and float_fits(PyFloat_AS_DOUBLE(<object>f.objects[operand[1]])):
            word[0] = mt_float_bits(PyFloat_AS_DOUBLE(<object>f.objects[operand[1]]))
        elif how == BY_NOTHING:
            word[0] = <uint64_t>context_at(KEY_NPU if k.ascendc else KEY_CPU, -1) if kind == C_CONTEXT else 0
        elif kind == C_PTR:                           # a stream
            return -1
        else:
            put_boxed(p, f, s, k, i, operand_value(k, i, f, how, operand[1]), word)
        operand += 2
    return count


cdef inline bint is_home(Kernel k, Tensor t, Launch* call) noexcept:
    """Whether a tensor is where the kernel runs: on the CPU, or on the NPU of the tensors before it."""
    if not k.ascendc:
        return t.dev.type_code == KEY_CPU
    if call.device < 0:
        call.device = t.dev.index_code
    return t.dev.type_code == KEY_NPU and t.dev.index_code == call.device


cdef inline int invoke_step(Program p, Frame* f, Step* s, Kernel k, Launch* call) except -1:
    """Runs a kernel of the CPU."""
    cdef void* address = k.address                    # see `launch_on_cpu`
    cdef int status
    if call.elements < RELEASE_GIL_FROM:
        status = mt_invoke(address, &call.frame, k.floats, k.words)
    else:
        with nogil:
            status = mt_invoke(address, &call.frame, k.floats, k.words)
    if status != 0 or mt_stopped:
        mt_check_stopped()
        if status != 0:
            refuse_status(p, f, s, k, status)
    return 0


cdef int queue_step(Program p, Frame* f, Step* s, Kernel k, Launch* call, PyObject** tensors, int count) except -1:
    """Queues a kernel of an NPU."""
    cdef int64_t block_dim = f.words[s.made].i
    cdef void* stream
    if not 1 <= block_dim <= MAX_BLOCK_DIM:
        return launch_boxed(p, f, s, k)               # which says so
    if call.device < 0:
        call.device = npu_current()
    stream = npu_stream_of(call.device)
    if k.takes_context:
        context_at(KEY_NPU, call.device)
    call.frame.ints[0], call.frame.ints[1] = block_dim, <uint64_t>stream
    try:
        if not holds_launch(k, &call.frame, call.device, stream, tensors, count, None):
            queue_launch(k, &call.frame, call.device, stream, tensors, count)
    except RuntimeError as error:
        raise of_operator(p, error, "")
    return 0


cdef inline bint float_fits(double number) noexcept:
    """Whether a number is well inside the range of a C float; `convert_scalar` decides about all others."""
    return -3e38 < number < 3e38


cdef int put_boxed(Program p, Frame* f, Step* s, Kernel k, int i, object value, uint64_t* word) except -1:
    """An argument that is converted from a Python object."""
    cdef int status = convert_scalar(k.kinds[i], value, word)
    return 0 if status == CONVERTED else refuse_scalar(p, f, s, k, i, value, status)


cdef object operand_value(Kernel k, int i, Frame* f, int how, int at):
    """An argument as a Python object."""
    if how == BY_NOTHING:
        return None
    if how == BY_INT:
        return f.words[at].i != 0 if k.kinds[i] == C_BOOL else f.words[at].i
    return f.words[at].d if how == BY_FLOAT else <object>f.objects[at]


cdef int launch_boxed(Program p, Frame* f, Step* s, Kernel k) except -1:
    """With the arguments as objects: structs, streams, generators, and whatever the kernel will refuse."""
    cdef int i
    args = tuple([operand_value(k, i, f, p.pool[s.a + 2 * i], p.pool[s.a + 2 * i + 1]) for i in range(k.nargs)])
    try:
        if k.ascendc:
            k.launch(f.words[s.made].i, args)
        else:
            k(*args)
    except (KernelError, KernelArgumentError, KernelOverflowError) as error:
        return explained(p, f, error)
    except (TypeError, ValueError, RuntimeError) as error:
        raise of_operator(p, error, "")
    return 0


# ---------------------------------------------------------------- errors
cdef object of_operator(Program p, object error, str argument):
    """A launch's error with the operator, and its argument, before it."""
    name = p.op.sig.qualname + (f": argument '{argument}'" if argument else "")
    error.args = (f"{name}: {error}", *error.args[1:])
    return error


cdef str argument_text(Program p, Step* s, int i):
    """What the definition passes as a kernel's argument i."""
    return p.explain("operand", s.c + i, ())


cdef int refuse_tensor(Program p, Frame* f, Step* s, Kernel k, int i, Tensor t) except -1:
    cdef Launch call
    call.elements, call.device, call.device_from = 0, 0, -1
    try:
        check_tensor(k, i, <PyObject*>t, &call)
    except RuntimeError as error:
        raise of_operator(p, error, argument_text(p, s, i)) from None
    return 0


cdef int refuse_scalar(Program p, Frame* f, Step* s, Kernel k, int i, object value, int status) except -1:
    try:
        cold.raise_bad_argument(k, i, value, status)
    except (TypeError, OverflowError) as error:
        if not p.op.is_builtin:
            of_operator(p, error, argument_text(p, s, i))
        return explained(p, f, error)
    return 0


cdef int refuse_status(Program p, Frame* f, Step* s, Kernel k, int status) except -1:
    values = tuple([<object>f.objects[p.pool[i + 1]] for i in range(s.a, s.a + s.b, 2) if p.pool[i] == BY_TENSOR])
    return explained(p, f, cold.kernel_failure(k, status, <PyObject**>&(<PyTupleObject*>values).ob_item[0], len(values)))


cdef int explained(Program p, Frame* f, object error) except -1:
    """Raises what a launch's error is of the operator's call: cold/failures.pyx knows, at the latest where the kernel was called."""
    if f.bound == NULL:
        raise error
    PyErr_SetObject(type(error), error)
    return cold.explain_kernel_failure(p.op, f.bound)
