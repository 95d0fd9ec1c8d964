"""Devices of a call's tensors: compared once, where a backend's kernel is about to run.

An operator says in its declaration what goes together (`device_check`, with the names of native_functions.yaml and two
more); one that a program defines without saying so is not checked, as in PyTorch. A call whose keys are those of the CPU
alone costs a comparison; concrete devices are interned, so that the tensors of others cost a comparison of pointers each.
"""

cdef enum DeviceCheck:
    NO_DEVICE_CHECK
    EXACT_SAME                           # all tensors are on one device
    CPU_SCALARS                          # or without dimensions and on the CPU: the kernel gets copies on the others' device
    CPU_INDICES                          # as CPU_SCALARS, and lists of indices (`Tensor?[]`) may be on the CPU

cdef dict DEVICE_CHECKS = {
    "NoCheck": NO_DEVICE_CHECK, "ExactSame": EXACT_SAME, "CPUScalars": CPU_SCALARS, "CPUIndices": CPU_INDICES}


cdef int read_device_check(object schema, object name) except -1:
    """The code of a check by its name; none for an operator that takes less than two tensors."""
    cdef int found
    if name not in DEVICE_CHECKS:
        raise ValueError(f"{schema.name}: device_check must be one of {', '.join(DEVICE_CHECKS)}, got {name!r}")
    found = DEVICE_CHECKS[name]
    kinds = [arg_spec(argument.type).kind for argument in schema.arguments]
    lists = kinds.count(ARG_TENSOR_LIST) + kinds.count(ARG_OPT_TENSOR_LIST)
    return found if lists or kinds.count(ARG_TENSOR) > 1 else NO_DEVICE_CHECK


cdef inline bint on_one_device(OpOverload op, Bound* bound) except -1:
    """Whether all tensors of a call are on the same device."""
    cdef PyObject* first = NULL
    cdef PyObject* at
    cdef int i, kind
    for i in range(op.sig.count):
        if bound.slots[i] == <PyObject*>None:
            continue
        kind = op.sig.args[i].kind
        if kind == ARG_TENSOR:
            at = <PyObject*>(<Tensor>bound.slots[i]).dev
            if first == NULL:
                first = at
            elif at != first:
                return False
        elif kind == ARG_TENSOR_LIST or kind == ARG_OPT_TENSOR_LIST:
            for item in <object>bound.slots[i]:
                if item is None:
                    continue
                at = <PyObject*>(<Tensor>item).dev
                if first == NULL:
                    first = at
                elif at != first:
                    return False
    return True


cdef device common_device(OpOverload op, Bound* bound):
    """The first device that is not the CPU: what is there cannot be meant to be elsewhere."""
    cdef int i
    for i in range(op.sig.count):
        for t in tensors_of(<object>bound.slots[i]):
            if (<Tensor>t).dev is not device_cpu:
                return (<Tensor>t).dev
    return device_cpu


cdef object run_across_devices(OpOverload op, int key, Bound* bound, uint64_t keys):
    """The kernel of a call whose tensors are on several devices. Raises RuntimeError where its declaration does not allow it.

    Only the kernel sees the copies: what is saved for backward, and gets a gradient, is what the caller gave.
    """
    cdef PyObject* given[MAX_ARGS]
    cdef device common = common_device(op, bound)
    cdef list copies = []
    cdef int i, kind
    memcpy(given, bound.slots, op.sig.count * sizeof(PyObject*))
    for i in range(op.sig.count):
        kind = op.sig.args[i].kind
        for t in tensors_of(<object>given[i]):
            if (<Tensor>t).dev is common:
                continue
            if (<Tensor>t).dev is device_cpu and kind == ARG_OPT_TENSOR_LIST and op.device_check == CPU_INDICES:
                continue
            if (<Tensor>t).dev is not device_cpu or (<Tensor>t).nd or kind != ARG_TENSOR or op.device_check == EXACT_SAME \
                    or op.aliases[i].declared:
                raise several_devices(op, i, common, (<Tensor>t).dev)
            copies.append(copied_to(t, device=common))
            bound.slots[i] = <PyObject*>copies[-1]
    try:
        return run_unchecked(op, key, bound, keys)
    finally:
        memcpy(bound.slots, given, op.sig.count * sizeof(PyObject*))


cdef object several_devices(OpOverload op, int at, device common, device other):
    return RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, {common} and {other}! (when checking "
        f"argument for argument {op.sig.names[at]} in method {op.sig.qualname}). Move one of them with `.to(...)`.")
