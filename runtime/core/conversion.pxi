"""What stands for what: values that an argument takes though they are of another type than the schema's.

There are two ways, as in PyTorch. A function (``torch.sum``, a method) takes what is plainly meant. An overload called by
its own name (``torch.ops.aten.sum.default``, BIND_CAST) casts: any number, or tensor of one, is an int or a bool.
"""

from operator import index as to_index

# The numbers that stand for dtypes where an overload is called by its name, as a schema's ScalarType is an int.
cdef dict DTYPE_OF_NUMBER = {
    0: dtypes["uint8"], 1: dtypes["int8"], 2: dtypes["int16"], 3: dtypes["int32"], 4: dtypes["int64"], 5: dtypes["float16"],
    6: dtypes["float32"], 7: dtypes["float64"], 9: dtypes["complex64"], 10: dtypes["complex128"], 11: dtypes["bool"],
    8: dtypes["complex32"], 15: dtypes["bfloat16"], 23: dtypes["float8_e5m2"], 24: dtypes["float8_e4m3fn"],
    25: dtypes["float8_e5m2fnuz"], 26: dtypes["float8_e4m3fnuz"], 27: dtypes["uint16"], 28: dtypes["uint32"], 29: dtypes["uint64"],
}
cdef dict NUMBER_OF_DTYPE = {value: number for number, value in DTYPE_OF_NUMBER.items()}
# The memory formats there are, and their numbers.
cdef tuple MEMORY_FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")


cdef object convert(int kind, object value, int mode):
    """The value as its kind, where PyTorch converts silently; NO_DEFAULT where it does not fit."""
    if kind == ARG_TENSOR:
        return number_for_tensor(value, mode) if mode & BIND_WRAP else NO_DEFAULT
    if mode & BIND_EXACT and isinstance(value, Tensor):
        return NO_DEFAULT
    if kind == ARG_STR:
        return decoded(value)
    if kind == ARG_GENERATOR:
        return value if hook.generator_type is not None and isinstance(value, hook.generator_type) else NO_DEFAULT
    if kind == ARG_DEVICE:
        return device_for(value, mode)
    if kind == ARG_MEMORY_FORMAT and isinstance(value, (str, TopName)):
        return value if value in MEMORY_FORMATS else NO_DEFAULT
    if kind == ARG_LAYOUT and isinstance(value, (str, TopName)):
        return cast_layout(0) if value == "strided" else NO_DEFAULT
    return cast(kind, value, mode) if mode & BIND_CAST else convert_for_function(kind, value, mode)


cdef object convert_for_function(int kind, object value, int mode):
    if kind == ARG_FLOAT and PyLong_Check(value):
        return float(value)
    if kind == ARG_DTYPE:
        found = dtype_from_python(value)
        return NO_DEFAULT if found is None else found
    if kind in (ARG_INT, ARG_FLOAT, ARG_SCALAR):
        return convert_number(kind, value, mode)
    return NO_DEFAULT


cdef object number_for_tensor(object value, int mode):
    if not matches(ARG_SCALAR, <PyObject*>value):
        if not is_numpy_scalar(value) or is_stranger(value):
            return NO_DEFAULT
        value = value.item()
    return wrap_number(value)


cdef object decoded(object value):
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return NO_DEFAULT
    return NO_DEFAULT


cdef object device_for(object value, int mode):
    text = decoded(value) if isinstance(value, bytes) else value
    if isinstance(text, str) or (PyLong_Check(text) and not PyBool_Check(text) and not mode & BIND_CAST):
        return device(text)
    return NO_DEFAULT


cdef bint followed_by_transforms(Tensor t) except -1:
    """Whether a number taken from a tensor would lose its derivative: an overload that takes tensors is to be found."""
    return t.dt.category >= CATEGORY_FLOAT and (t.keys & (BATCHED | FUNCTIONALIZE) != 0 or forward_levels and cold.level_of_tensor(t) != 0)


cdef inline object number_of(Tensor t):
    return hook.number_taken(t) if tracing() else t.item()


cdef object convert_number(int kind, object value, int mode):
    if isinstance(value, Tensor):
        if (<Tensor>value).nelem != 1 or (<Tensor>value).nd != 0 and not (kind == ARG_INT and mode & (BIND_SYMBOLIC | BIND_ITEM)):
            return NO_DEFAULT
        if needs_grad(<Tensor>value) or followed_by_transforms(<Tensor>value):
            return NO_DEFAULT
        value = number_of(<Tensor>value)
    elif is_numpy_scalar(value) and not is_stranger(value):
        value = value.item()
    elif kind == ARG_INT:
        value = guarded_number(to_index, value) if PyIndex_Check(value) else NO_DEFAULT
    if kind == ARG_FLOAT and PyLong_Check(value):
        value = float(value)
    return value if matches(kind, <PyObject*>value) else NO_DEFAULT


# ---- what an overload called by its own name takes

cdef object cast(int kind, object value, int mode):
    if kind == ARG_SCALAR:
        return NUMBER_OF_DTYPE.get(value, NO_DEFAULT) if isinstance(value, dtype) else NO_DEFAULT
    if kind == ARG_BOOL:
        return cast_bool(value)
    if kind == ARG_FLOAT:
        return cast_number(value, float)
    if kind == ARG_INT:
        return NO_DEFAULT if mode & BIND_SYMBOLIC and isinstance(value, dtype) else cast_int(value)
    if kind == ARG_DTYPE:
        return DTYPE_OF_NUMBER.get(cast_int(value), NO_DEFAULT)
    if kind == ARG_LAYOUT:
        return cast_layout(cast_int(value))
    return cast_format(cast_int(value)) if kind == ARG_MEMORY_FORMAT else NO_DEFAULT


cdef object cast_int(object value):
    if PyFloat_Check(value):
        return NO_DEFAULT
    number = NUMBER_OF_DTYPE.get(value, NO_DEFAULT) if isinstance(value, dtype) else cast_number(value, int)
    return NO_DEFAULT if number is NO_DEFAULT or is_wide(<PyObject*>number) else number


cdef object cast_number(object value, to_number):
    if isinstance(value, Tensor):
        if (<Tensor>value).nelem != 1 or (<Tensor>value).dt.category == CATEGORY_COMPLEX:
            return NO_DEFAULT
        value = number_of(<Tensor>value)
        if isinstance(value, to_number):
            return value                 # as it is: a trace knows its numbers by their identity
    return guarded_number(to_number, value) if PyNumber_Check(value) else NO_DEFAULT


cdef object cast_bool(object value):
    if isinstance(value, Tensor):
        if (<Tensor>value).nelem != 1:
            return NO_DEFAULT
        value = number_of(<Tensor>value)
    if value is None or not hasattr(type(value), "__bool__"):
        return False if value is None else NO_DEFAULT
    return guarded_number(bool, value)


cdef object cast_layout(object number):
    """None, which is what kernels see of the one layout there is."""
    if number is NO_DEFAULT or number == 0:
        return NO_DEFAULT if number is NO_DEFAULT else None
    raise NotImplementedError(f"layout {number} is not supported: every tensor is strided (layout 0)")


cdef object cast_format(object number):
    if number is NO_DEFAULT:
        return NO_DEFAULT
    if 0 <= number < len(MEMORY_FORMATS):
        return MEMORY_FORMATS[number]
    raise NotImplementedError(f"memory format {number} is not supported, only {', '.join(MEMORY_FORMATS)} (0 to {len(MEMORY_FORMATS) - 1})")


# ---- code of the caller's: where it fails the value is not of the kind, which the error for the argument says

cdef object guarded_number(to_number, object value):
    try:
        return to_number(value)
    except (ArithmeticError, TypeError, ValueError):
        return NO_DEFAULT


cdef bint is_sequence(object value, bint symbolic):
    """Whether an overload takes an object for a list: what can be counted and gone through, as `SymInt[]` whatever it holds."""
    return hasattr(value, "__len__") and hasattr(value, "__iter__") and (symbolic or not isinstance(value, (str, bytes, dict, Tensor)))


cdef object guarded_items(object value):
    try:
        return [item for item in value]
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None


# ---- numbers of a kind that the result does not have

cdef int multiply_in(Signature sig, int at, Bound* bound, dtype result) except -1:
    """Multiplies a factor of integers that kernels, which take it as a double, would not get whole into what it is for."""
    cdef int scaled = 0 if sig.qualname.startswith("aten::rsub") else 1
    cdef object operand = <object>bound.slots[scaled], factor = <object>bound.slots[at]
    if factor >= 1 << 63 and sig.qualname.startswith("aten::add"):      # the others negate it, which wraps
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    if isinstance(operand, Tensor):
        operand = operand.to(result) * factor
    else:
        operand = ((operand * factor + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)       # as int64 wraps
    bound.slots[scaled], bound.slots[at] = keep(bound, operand), keep(bound, 1)
    return 0


# Of these operators the arguments that must not be True or False: a factor, where the result is no bool, and what is subtracted.
cdef dict REFUSED_BOOLS = {"aten::add": ("alpha",), "aten::sub": ("alpha", "other"), "aten::rsub": ("alpha", "other")}


cdef int check_factor(Signature sig, int at, Bound* bound) except -1:
    """Raises for a number that its argument refuses by its kind; the operator's tensors come before it."""
    cdef object value = <object>bound.slots[at]
    cdef dtype found
    cdef int i
    if sig.names[at] == "other":
        if PyBool_Check(value):
            raise RuntimeError("Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
                               f"use the `~` or `logical_not()` operator instead: {sig.qualname}() got {value}")
        return 0
    if PyFloat_Check(value) and is_tensor(bound.slots[0]) and (<Tensor>bound.slots[0]).dt.category == CATEGORY_FLOAT:
        return 0                                          # as nearly always
    found = common_dtype(*[<object>bound.slots[i] for i in range(at) if bound.slots[i] != NULL])
    if PyBool_Check(value) and found is not dtype_bool:
        raise RuntimeError(f"Boolean alpha only supported for Boolean results: {sig.qualname}() got alpha={value}")
    if PyFloat_Check(value) and found.category < CATEGORY_FLOAT:
        raise RuntimeError(f"For integral input tensors, argument alpha must not be a floating point number: {sig.qualname}() "
                           f"got alpha={value}")
    if PyLong_Check(value) and found.category == CATEGORY_INT and found.itemsize == 8 and is_long(<PyObject*>value):
        return multiply_in(sig, at, bound, found)
    if PyComplex_Check(value) and found.category < CATEGORY_COMPLEX:
        raise RuntimeError(f"For non-complex input tensors, argument alpha must not be a complex number: {sig.qualname}() "
                           f"got alpha={value}")
    return 0
