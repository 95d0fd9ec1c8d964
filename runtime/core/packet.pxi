"""All overloads of one name: ``torch.ops.aten.add`` calls the first overload that fits."""


cdef class OpOverloadPacket:
    """The overloads of ``ns::name``, in the order they were defined."""
    cdef vectorcallfunc vectorcall
    cdef readonly str namespace, __name__
    cdef list ops
    cdef str factor            # what an older form of the function takes second; None: there is none
    cdef Py_ssize_t factor_args
    cdef OpOverload of_tensors, of_number    # what two tensors find, or a tensor and a number; None: what fits first is to be tried
    cdef dict __dict__
    cdef object __weakref__

    def __init__(self, str namespace not None, str name not None):
        self.vectorcall = <vectorcallfunc>call_packet
        self.namespace, self.__name__, self.ops = namespace, name, []
        if namespace == "aten":
            note_builtin(name, self)
            self.factor, self.factor_args = FACTOR_SECOND.get(name.rstrip("_"), (None, 0))

    def add(self, OpOverload op not None):
        """Adds an overload; it becomes an attribute (``default`` where it has no overload name)."""
        self.ops.append(op)
        choose_for_pairs(self)
        setattr(self, op._overloadname, op)

    def discard(self, OpOverload op not None):
        """Takes an overload back."""
        self.ops.remove(op)
        choose_for_pairs(self)
        vars(self).pop(op._overloadname, None)          # somebody may have deleted it

    def overloads(self):
        """Names of the overloads."""
        return [op._overloadname for op in self.ops]

    @property
    def _qualified_op_name(self):
        return f"{self.namespace}::{self.__name__}"

    @property
    def __doc__(self):
        return "\n\n".join([f"{op._schema}\n\n{op.__doc__ or ''}".rstrip() for op in self.ops])

    def __get__(self, instance, owner):
        return self if instance is None else PyMethod_New(self, instance)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"The underlying op of '{self.namespace}.{self.__name__}' has no overload name '{name}'; "
                             f"it has {', '.join(self.overloads())}")

    def __reduce__(self):
        return hook.find_packet, (self._qualified_op_name,)

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self.namespace}.{self.__name__}')>"

    def __str__(self):
        return f"{self.namespace}.{self.__name__}"


cdef int choose_for_pairs(OpOverloadPacket packet) except -1:
    packet.of_tensors, packet.of_number = taking_pair(packet.ops, ARG_TENSOR), taking_pair(packet.ops, ARG_SCALAR)
    return 0


cdef OpOverload taking_pair(list ops, int second):
    """The first overload that a tensor and something of the kind `second` fit; None where that takes a look at the values."""
    cdef Signature sig
    for op in ops:
        sig = (<OpOverload>op).sig
        if sig.positional < 2 or sig.args[0].kind != ARG_TENSOR or sig.args[1].kind not in (ARG_TENSOR, ARG_SCALAR):
            return None
        if sig.args[1].kind == second and not any([default is NO_DEFAULT for default in sig.defaults[2:]]):
            return <OpOverload>op
    return None


cdef object call_pair(OpOverload op, PyObject* a, PyObject* b):
    """A call of what `taking_pair` found."""
    cdef Bound bound
    cdef int i
    bound.made_count, bound.mode = 0, BIND_EXACT
    bound.slots[0], bound.slots[1] = a, b
    for i in range(2, op.sig.count):
        bound.slots[i] = <PyObject*>PyTuple_GET_ITEM(op.sig.defaults, i)
    return dispatch(op, &bound, call_keys(op, &bound))


cdef OpOverloadPacket _packet_probe = OpOverloadPacket.__new__(OpOverloadPacket)
mt_enable_vectorcall(<PyTypeObject*>OpOverloadPacket,
                     <char*>&_packet_probe.vectorcall - <char*><PyObject*>_packet_probe, 1)


# Functions that PyTorch still takes a factor of as the second of so many arguments: `add(self, alpha, other)`.
cdef dict FACTOR_SECOND = {"add": ("alpha", 3), "sub": ("alpha", 3), "addcmul": ("value", 4), "addcdiv": ("value", 4)}


cdef PyObject* call_with_factor(OpOverloadPacket packet, PyObject** args) except NULL:
    """A call in the older form, in the one there is now."""
    rest = [<object>args[i] for i in range(packet.factor_args) if i != 1]
    result = (<object>packet)(*rest, **{packet.factor: <object>args[1]})
    Py_INCREF(result)
    return <PyObject*>result


cdef PyObject* call_packet(PyObject* callable, PyObject** args, size_t nargsf, PyObject* kwnames) except NULL:
    cdef OpOverloadPacket packet = <OpOverloadPacket>callable
    cdef Py_ssize_t nargs = PyVectorcall_NARGS(nargsf)
    if nargs == packet.factor_args and packet.factor is not None and kwnames == NULL and matches(ARG_SCALAR, args[1]):
        return call_with_factor(packet, args)
    if len(packet.ops) == 1:
        return call_overload(<OpOverload>packet.ops[0], args, nargs, kwnames, 0)
    result = call_first_that_fits(packet, args, nargs, kwnames, BIND_EXACT)
    if result is NotImplemented:
        result = call_first_that_fits(packet, args, nargs, kwnames, 0)
    if result is NotImplemented and any([(<OpOverload>op).takes_numbers for op in packet.ops]):
        result = call_first_that_fits(packet, args, nargs, kwnames, BIND_WRAP)
    if result is NotImplemented:
        result = ask_strangers(packet, args, nargs, kwnames)
    if result is NotImplemented:
        raise no_overload(packet, args, nargs, kwnames)
    Py_INCREF(result)
    return <PyObject*>result


cdef object call_first_that_fits(OpOverloadPacket packet, PyObject** args, Py_ssize_t nargs, PyObject* kwnames, int mode):
    """What the first overload that a call fits returns, or NotImplemented where it fits none."""
    cdef Bound bound
    cdef OpOverload op
    for op in packet.ops:
        try:
            if bind(op.sig, args, nargs, kwnames, &bound, mode):
                return dispatch(op, &bound, call_keys(op, &bound))
        finally:
            release_bound(&bound)
    return NotImplemented


cdef object no_overload(OpOverloadPacket packet, PyObject** args, Py_ssize_t nargs, PyObject* kwnames):
    given = [stranger_name(<object>args[i]) for i in range(nargs)]
    if kwnames != NULL:
        given += [f"{name}={stranger_name(<object>args[nargs + i])}" for i, name in enumerate(<object>kwnames)]
    schemas = "\n".join([f"  {op._schema}" for op in packet.ops])
    hint = stranger_hint(tuple([<object>args[i] for i in range(nargs + (0 if kwnames == NULL else len(<object>kwnames)))]))
    return ArgumentError(f"{packet.namespace}::{packet.__name__}() received an invalid combination of arguments - got "
                     f"({', '.join(given)}), but expected one of:\n{schemas}{hint}")
