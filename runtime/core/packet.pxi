"""All overloads of one name: ``torch.ops.aten.add`` calls the first overload that fits."""

# Forms that PyTorch's functions and methods still have besides the operators' own: factors between the tensors.
cdef dict OLDER_FORMS = {
    "add": ("self alpha other",), "sub": ("self alpha other",),
    "addcmul": ("self value tensor1 tensor2",), "addcdiv": ("self value tensor1 tensor2",),
    "addmm": ("beta self alpha mat1 mat2", "beta self mat1 mat2"),
    "addmv": ("beta self alpha mat vec", "beta self mat vec"), "addr": ("beta self alpha vec1 vec2", "beta self vec1 vec2"),
    "addbmm": ("beta self alpha batch1 batch2", "beta self batch1 batch2"),
    "baddbmm": ("beta self alpha batch1 batch2", "beta self batch1 batch2"),
}
cdef frozenset FACTORS = frozenset(("alpha", "beta", "value"))

cdef enum:
    NEVER_SO_MANY = 1 << 30


cdef class OpOverloadPacket:
    """The overloads of ``ns::name``, in the order they were defined.

    As a function of the top level, and as a method, a packet takes more: see `as_function` and `as_method`, whose packets
    have the same overloads; as a function it is equal to this one.
    """
    cdef vectorcallfunc vectorcall
    cdef readonly str namespace, __name__
    cdef list ops              # all overloads; `plain` and `into` have each of them once
    cdef list plain            # those that return what they compute
    cdef list into             # those that write it into tensors which `out=` names
    cdef set out_names         # by which they are named: "out", and what the schemas call them
    cdef dict older            # names of the arguments of the older forms, by how many there are; None: there are none
    cdef Py_ssize_t older_from # how many arguments such a form has at least
    cdef int mode              # BIND_PARTS: `x.view(2, 3)` is `x.view((2, 3))`; BIND_NAMED: `x.max(1)` has `values`
    cdef OpOverload of_tensors, of_number    # what two tensors find, or a tensor and a number; None: what fits first is to be tried
    cdef dict __dict__
    cdef object __weakref__

    def __init__(self, str namespace not None, str name not None):
        self.vectorcall = <vectorcallfunc>call_packet
        self.namespace, self.__name__, self.ops, self.plain, self.into = namespace, name, [], [], []
        self.out_names = {"out"}
        if namespace == "aten":
            note_builtin(name, self)
        self.older_from = NEVER_SO_MANY

    def as_function(self):
        """The packet as a function of the top level: its older forms, too, and names for several results."""
        forms = [form.split() for form in OLDER_FORMS.get(self.__name__.rstrip("_"), ()) if self.namespace == "aten"]
        return same_overloads(self, forms, BIND_NAMED)

    def as_method(self):
        """The packet as a method: its older forms from the tensor on, and a last argument that is a list in parts.

        It is not equal to the packet: ``torch.Tensor.add`` is another function than ``torch.add``.
        """
        forms = [form.replace("beta self", "self beta").split() for form in OLDER_FORMS.get(self.__name__.rstrip("_"), ())
                 if self.namespace == "aten"]
        in_parts = any([(<OpOverload>op).sig.varargs >= 0 for op in self.plain])
        return same_overloads(self, forms, self.mode | BIND_METHOD | (BIND_PARTS if in_parts else 0))

    def hold(self):
        """Lets its next call wait until the module that defines its overloads is imported whole, by whichever thread."""
        self.vectorcall = <vectorcallfunc>call_held_packet

    @property
    def is_method(self):
        """Whether it is what `as_method` gives."""
        return self.mode & BIND_METHOD != 0

    def add(self, OpOverload op not None):
        """Adds an overload; it becomes an attribute (``default`` where it has no overload name)."""
        self.ops.append(op)
        (self.into if op._schema.out_arguments else self.plain).append(op)
        self.out_names.update([argument.name for argument in op._schema.out_arguments])
        choose_for_pairs(self)
        setattr(self, op._overloadname, op)

    def discard(self, OpOverload op not None):
        """Takes an overload back."""
        self.ops.remove(op)
        (self.into if op._schema.out_arguments else self.plain).remove(op)
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
        if name == "__module__":                                # a function of the top level says another
            return f"torch._ops.{self.namespace}"
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "op":                                        # in PyTorch a function of its own
            return self
        for op in self.ops:                                     # of a packet that shares them
            if (<OpOverload>op)._overloadname == name:
                return op
        raise AttributeError(f"The underlying op of '{self.namespace}.{self.__name__}' has no overload name '{name}'; "
                             f"it has {', '.join(self.overloads())}")

    def __eq__(self, other):
        if not isinstance(other, OpOverloadPacket):
            return NotImplemented
        return (<OpOverloadPacket>other).ops is self.ops and not ((<OpOverloadPacket>other).mode ^ self.mode) & BIND_METHOD

    def __hash__(self):
        return hash((self.namespace, self.__name__, self.mode & BIND_METHOD))

    def __reduce__(self):
        if self.mode & BIND_METHOD:
            return getattr, (Tensor, self.__name__)
        return hook.find_packet, (self._qualified_op_name,)

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self.namespace}.{self.__name__}')>"

    def __str__(self):
        return f"{self.namespace}.{self.__name__}"


cdef int choose_for_pairs(OpOverloadPacket packet) except -1:
    packet.of_tensors, packet.of_number = taking_pair(packet.plain, ARG_TENSOR), taking_pair(packet.plain, ARG_SCALAR)
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
    bound.made_count, bound.mode = 0, BIND_EXACT | BIND_METHOD
    bound.slots[0], bound.slots[1] = a, b
    for i in range(2, op.sig.count):
        bound.slots[i] = <PyObject*>PyTuple_GET_ITEM(op.sig.defaults, i)
    return dispatch(op, &bound, call_keys(op, &bound))


cdef OpOverloadPacket _packet_probe = OpOverloadPacket.__new__(OpOverloadPacket)
mt_enable_vectorcall(<PyTypeObject*>OpOverloadPacket,
                     <char*>&_packet_probe.vectorcall - <char*><PyObject*>_packet_probe, 1)


cdef OpOverloadPacket same_overloads(OpOverloadPacket packet, list forms, int mode):
    cdef OpOverloadPacket same = OpOverloadPacket.__new__(OpOverloadPacket)
    same.vectorcall, same.namespace, same.__name__ = packet.vectorcall, packet.namespace, packet.__name__
    if mode & BIND_METHOD and packet.namespace == "aten" and packet.__name__ == "item":
        same.vectorcall = <vectorcallfunc>call_item
    same.ops, same.plain, same.into, same.mode, same.out_names = packet.ops, packet.plain, packet.into, mode, packet.out_names
    same.older = {len(form): form for form in forms}
    same.older_from = min([len(form) for form in forms], default=NEVER_SO_MANY)
    return same


cdef object in_older_form(OpOverloadPacket packet, PyObject** args, Py_ssize_t nargs):
    """A call in an older form, in the one there is now; NotImplemented where its arguments are not of one."""
    cdef Py_ssize_t i
    names = packet.older.get(nargs, ())
    factors = {name: <object>args[i] for i, name in enumerate(names) if name in FACTORS and matches(ARG_SCALAR, args[i])}
    if len(factors) != len(FACTORS.intersection(names)) or not names:
        return NotImplemented
    hook.older_form(packet.__name__, factors)
    return (<object>packet)(*[<object>args[i] for i in range(nargs) if names[i] not in FACTORS], **factors)


cdef inline bint names_output(OpOverloadPacket packet, PyObject* kwnames) except -1:
    """Whether a call may name tensors to write to."""
    cdef Py_ssize_t i
    for i in range(PyTuple_GET_SIZE(<object>kwnames)):
        if <object>PyTuple_GET_ITEM(<object>kwnames, i) in packet.out_names:
            return True
    return False


cdef object call_into(OpOverloadPacket packet, PyObject** args, Py_ssize_t nargs, PyObject* kwnames):
    """A call of what writes to tensors that are named: as `out=`, several in a tuple, or each by its own name.

    None for `out` is as none given. NotImplemented where a call names no such tensor.
    """
    cdef OpOverloadPacket alone = same_overloads(packet, [], packet.mode)
    given = {name: <object>args[nargs + i] for i, name in enumerate(<object>kwnames)}
    positional = [<object>args[i] for i in range(nargs)]
    targets = {op: [argument.name for argument in op._schema.out_arguments] for op in packet.into}
    out = given.pop("out", NO_DEFAULT)
    if out is NO_DEFAULT:
        fitting = [op for op in packet.into if given.keys() >= set(targets[op])]
    elif out is None:
        return (<object>packet)(*positional, **given)
    else:
        parts = out if isinstance(out, (tuple, list)) else (out,)
        fitting = [op for op in packet.into if len(targets[op]) == len(parts)] or packet.into
        if len(parts) == 1 or len(targets[fitting[0]]) != len(parts):
            given["out"] = out
        elif len(fitting) == 1:
            given.update(zip(targets[fitting[0]], parts))
        else:
            named = [dict(given, **dict(zip(targets[op], parts))) for op in fitting]
            return call_first_into(alone, fitting, positional, named)
    if not fitting:
        return NotImplemented
    alone.ops = alone.plain = fitting
    alone.into = []
    return (<object>alone)(*positional, **given)


cdef object call_first_into(OpOverloadPacket alone, list ops, list positional, list given):
    alone.into = []
    for op, named in zip(ops, given):
        alone.ops = alone.plain = [op]
        try:
            return (<object>alone)(*positional, **named)
        except ArgumentError:
            if op is ops[len(ops) - 1]:
                raise


cdef PyObject* call_held_packet(PyObject* callable, PyObject** args, size_t nargsf, PyObject* kwnames) except NULL:
    cdef OpOverloadPacket packet = <OpOverloadPacket>callable
    if hook.load_operators(f"{packet.namespace}::{packet.__name__}"):
        packet.vectorcall = <vectorcallfunc>call_packet
    return call_packet(callable, args, nargsf, kwnames)


cdef PyObject* call_packet(PyObject* callable, PyObject** args, size_t nargsf, PyObject* kwnames) except NULL:
    cdef OpOverloadPacket packet = <OpOverloadPacket>callable
    cdef Py_ssize_t nargs = PyVectorcall_NARGS(nargsf)
    if nargs >= packet.older_from and kwnames == NULL:
        result = in_older_form(packet, args, nargs)
        if result is not NotImplemented:
            Py_INCREF(result)
            return <PyObject*>result
    if kwnames != NULL and packet.into and names_output(packet, kwnames):
        result = call_into(packet, args, nargs, kwnames)
        if result is not NotImplemented:
            Py_INCREF(result)
            return <PyObject*>result
    if len(packet.plain) == 1:
        return call_overload(<OpOverload>packet.plain[0], args, nargs, kwnames, packet.mode)
    result = call_first_that_fits(packet, args, nargs, kwnames, packet.mode | BIND_EXACT)
    if result is NotImplemented:
        result = call_first_that_fits(packet, args, nargs, kwnames, packet.mode)
    if result is NotImplemented and any([(<OpOverload>op).takes_numbers for op in packet.plain]):
        result = call_first_that_fits(packet, args, nargs, kwnames, packet.mode | BIND_WRAP)
    if result is NotImplemented:
        result = ask_strangers(packet, args, nargs, kwnames)
    if result is NotImplemented:
        raise cold.no_overload(f"{packet.namespace}::{packet.__name__}", packet.plain or packet.ops, args, nargs, kwnames)
    Py_INCREF(result)
    return <PyObject*>result


cdef object call_first_that_fits(OpOverloadPacket packet, PyObject** args, Py_ssize_t nargs, PyObject* kwnames, int mode):
    """What the first overload that a call fits returns, or NotImplemented where it fits none."""
    cdef Bound bound
    cdef OpOverload op
    for op in packet.plain:
        try:
            if bind(op.sig, args, nargs, kwnames, &bound, mode):
                return call_bound(op, &bound, mode)
        finally:
            release_bound(&bound)
    return NotImplemented
