"""How Python's operators on tensors reach their aten packets."""

cdef dict aten_packets = {}        # name -> OpOverloadPacket of the namespace aten; filled by packet.pxi


cdef object aten(str name):
    packet = aten_packets.get(name)
    if packet is None:
        raise NotImplementedError(f"operator aten::{name} is not loaded: the built-in operators (package mindtorch_ops) are "
                                  "missing or do not have it")
    return packet


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
    return protocols().from_array(value)


cdef object wrap_number(object value):
    """A Python number as a 0-d CPU tensor in full precision; in type promotion it counts as the number it is."""
    cdef Tensor t = alloc((), dtype_f64 if PyFloat_Check(value) else dtype_c128 if PyComplex_Check(value) else dtype_of_number(value),
                          device_cpu)
    t = aten("fill_")(t, value)
    t.wrapped = True
    return t


cdef object binary(str name, object a, object b):
    b = operand(b)
    return NotImplemented if b is None else call2(aten(name), a, b)


cdef object reflected(str name, object self, object other):
    """`other op self` where only self is a tensor."""
    other = operand(other)
    return NotImplemented if other is None else call2(aten(name), other, self)


cdef inline bint is_tensor_like(object value):
    return isinstance(value, Tensor) or hasattr(type(value), "__torch_function__")
