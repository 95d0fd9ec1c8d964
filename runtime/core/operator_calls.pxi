"""How Python's operators on tensors reach their aten packets."""

cdef dict aten_packets = {}        # name -> OpOverloadPacket of the namespace aten; filled by `note_builtin`

cdef enum:                         # operators of two operands
    OP_ADD, OP_SUB, OP_RSUB, OP_MUL, OP_DIV, OP_FLOOR_DIVIDE, OP_REMAINDER, OP_POW, OP_MATMUL
    OP_AND, OP_OR, OP_XOR, OP_LSHIFT, OP_RSHIFT, OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE
    OP_IADD, OP_ISUB, OP_IMUL, OP_IDIV, OP_IFLOOR_DIVIDE, OP_IREMAINDER, OP_IPOW, OP_IAND, OP_IOR, OP_IXOR, OP_ILSHIFT, OP_IRSHIFT
    OPERATORS

cdef dict OPERATOR_OF_NAME = {
    "add": OP_ADD, "sub": OP_SUB, "rsub": OP_RSUB, "mul": OP_MUL, "div": OP_DIV, "floor_divide": OP_FLOOR_DIVIDE,
    "remainder": OP_REMAINDER, "pow": OP_POW, "matmul": OP_MATMUL, "bitwise_and": OP_AND, "bitwise_or": OP_OR,
    "bitwise_xor": OP_XOR, "bitwise_left_shift": OP_LSHIFT, "bitwise_right_shift": OP_RSHIFT, "eq": OP_EQ, "ne": OP_NE,
    "lt": OP_LT, "le": OP_LE, "gt": OP_GT, "ge": OP_GE, "add_": OP_IADD, "sub_": OP_ISUB, "mul_": OP_IMUL, "div_": OP_IDIV,
    "floor_divide_": OP_IFLOOR_DIVIDE, "remainder_": OP_IREMAINDER, "pow_": OP_IPOW, "bitwise_and_": OP_IAND,
    "bitwise_or_": OP_IOR, "bitwise_xor_": OP_IXOR, "bitwise_left_shift_": OP_ILSHIFT, "bitwise_right_shift_": OP_IRSHIFT,
}
# What ``__torch_function__`` is told in place of the operator's own name.
cdef dict METHOD_OF_OPERATOR = {
    OP_RSUB: "__rsub__", OP_FLOOR_DIVIDE: "__floordiv__", OP_AND: "__and__", OP_OR: "__or__", OP_XOR: "__xor__", OP_LSHIFT: "__lshift__",
    OP_RSHIFT: "__rshift__", OP_EQ: "__eq__", OP_IAND: "__iand__", OP_IOR: "__ior__", OP_IXOR: "__ixor__", OP_ILSHIFT: "__ilshift__",
    OP_IRSHIFT: "__irshift__",
}
cdef list operator_methods = [None] * OPERATORS     # those packets as methods, of which some are made
cdef PyObject* operator_packets[OPERATORS]         # by number, so that a call looks up no name; borrowed from `aten_packets`


cdef int note_builtin(str name, object packet) except -1:
    """Makes a packet of the namespace aten the one that `aten` and Python's operators find."""
    aten_packets[name] = packet
    number = OPERATOR_OF_NAME.get(name)
    if number is not None:
        operator_packets[<int>number] = <PyObject*>packet
        operator_methods[<int>number] = None
    return 0


cdef object aten(str name):
    packet = aten_packets.get(name)
    if packet is None and hook.load_operators is not None:
        hook.load_operators(f"aten::{name}")
        packet = aten_packets.get(name)
    if packet is None:
        raise NotImplementedError(f"operator aten::{name} is not loaded: the built-in operators (package mindtorch_ops) are "
                                  "missing or do not have it")
    return packet


cdef inline object operator_packet(int number):
    if operator_packets[number] == NULL:
        return aten([name for name, at in OPERATOR_OF_NAME.items() if at == number][0])      # or raises
    return <object>operator_packets[number]


cdef object operator_method(int number):
    """What an operator of the language calls where it takes a look at the values; a method, to ``__torch_function__``."""
    method = operator_methods[number]
    if method is None:
        method = operator_methods[number] = (<OpOverloadPacket>operator_packet(number)).as_method()
    return method


cdef inline object call1(object packet, object a):
    cdef PyObject* args[1]
    args[0] = <PyObject*>a
    return PyObject_Vectorcall(packet, args, 1, NULL)


cdef inline object call2(object packet, object a, object b):
    cdef PyObject* args[2]
    args[0], args[1] = <PyObject*>a, <PyObject*>b
    return PyObject_Vectorcall(packet, args, 2, NULL)


cdef object operand(object value):
    """A tensor or number as it is, a NumPy scalar as a number, None for what is neither (a NumPy array of any rank too)."""
    if isinstance(value, Tensor) or PyLong_Check(value) or PyFloat_Check(value) or PyComplex_Check(value):
        return value
    if is_numpy_scalar(value):
        return value.item()
    return value if hasattr(type(value), "__torch_function__") else None


cdef inline bint is_numpy_scalar(object value):
    """Whether a value is a number of NumPy's; its arrays without dimensions can be written to, numbers cannot."""
    return hasattr(value, "dtype") and getattr(value, "ndim", None) == 0 and not hasattr(value, "__setitem__")


cdef inline object array_as_tensor(object value):
    """A NumPy array as a tensor, for comparisons, which Python would answer by identity if nobody else did."""
    if isinstance(value, Tensor) or not hasattr(value, "__array_interface__") or is_numpy_scalar(value):
        return value
    return hook.from_array(value)


cdef object wrap_number(object value):
    """A Python number as a 0-d CPU tensor in full precision; in type promotion it counts as the number it is."""
    cdef Tensor t = alloc((), dtype_f64 if PyFloat_Check(value) else dtype_c128 if PyComplex_Check(value) else dtype_of_number(value),
                          device_cpu)
    t = aten("fill_")(t, value)
    t.wrapped = True
    return t


cdef object binary(int number, object a, object b):
    """Python's `a op b`, of a tensor and anything. As in PyTorch what no ``__torch_function__`` answers, or is no call of
    the operator, is left to the other operand: NotImplemented."""
    if attributes_watched and (is_overridden(<Tensor>a) or is_tensor(<PyObject*>b) and is_overridden(<Tensor>b)):
        return overridden_pair(METHOD_OF_OPERATOR.get(number) or (<OpOverloadPacket>operator_packet(number)).__name__, a, b)
    return pair(number, a, b)


cdef object commuted(int number, object self, object other):
    """Python's `other op self` of an operator that has no name of its own that way round."""
    if attributes_watched and is_overridden(<Tensor>self):
        return overridden_pair((<OpOverloadPacket>operator_packet(number)).__name__, self, other)
    return pair(number, self, other)


cdef object overridden_pair(str name, object a, object b):
    """What ``__torch_function__`` makes of a method of tensors with an operand, or NotImplemented."""
    if operand(b) is None:
        return NotImplemented
    try:
        return hook.overridden_attribute(getattr(Tensor, name), a, b)
    except TypeError:
        return NotImplemented


cdef object pair(int number, object a, object b):
    """`a op b` of a tensor and what may be one: straight to the overload where there is no doubt which that is."""
    cdef OpOverloadPacket packet = <OpOverloadPacket>operator_packet(number)
    cdef OpOverload op = None
    if is_tensor(<PyObject*>b):
        op = packet.of_tensors
    elif PyFloat_CheckExact(b) or PyLong_CheckExact(b) and not is_wide(<PyObject*>b):
        op = packet.of_number
    if op is not None:
        return call_pair(op, <PyObject*>a, <PyObject*>b)
    b = operand(b)
    if b is None:
        return NotImplemented
    if isinstance(b, Tensor) or not hasattr(type(b), "__torch_function__"):
        return call2(operator_method(number), a, b)
    try:
        return call2(operator_method(number), a, b)
    except ArgumentError:                                 # another library's tensor: it says how to take that in
        raise
    except TypeError:
        return NotImplemented


cdef object reflected(int number, str name, object self, object other):
    """`other op self` where only self is a tensor; `name` is what the language calls that."""
    if attributes_watched and is_overridden(<Tensor>self):
        return overridden_pair(name, self, other)
    other = operand(other)
    return NotImplemented if other is None else call2(operator_method(number), other, self)


cdef inline bint is_tensor_like(object value):
    return isinstance(value, Tensor) or hasattr(type(value), "__torch_function__")
