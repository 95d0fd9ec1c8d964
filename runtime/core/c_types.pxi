"""C types of kernel arguments: what a Python value becomes on its way into a compiled kernel."""

cdef extern from *:
    """
    #include <Python.h>
    #include <math.h>
    #include <string.h>

    #if PY_VERSION_HEX < 0x030B0000
    #define PyFloat_Pack2(x, p, le) _PyFloat_Pack2((x), (unsigned char*)(p), (le))
    #endif

    static uint64_t mt_float_bits(double value) {
        float narrow = (float)value;
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof bits);
        return bits;
    }

    static uint64_t mt_double_bits(double value) {
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        return bits;
    }

    /* Through float, as every bfloat16 type does it: round to nearest even, and keep a NaN a NaN. */
    static uint64_t mt_bfloat_bits(double value) {
        uint64_t bits = mt_float_bits(value);
        if (value != value) return (bits >> 16) | 0x40;
        return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
    }

    /* -1 where a finite value has no finite half. */
    static int mt_half_bits(double value, uint64_t* bits) {
        unsigned char bytes[2];
        if (PyFloat_Pack2(value, (char*)bytes, 1) < 0) { PyErr_Clear(); return -1; }
        *bits = bytes[0] | (uint64_t)bytes[1] << 8;
        return 0;
    }
    """
    uint64_t mt_float_bits(double value)
    uint64_t mt_double_bits(double value)
    uint64_t mt_bfloat_bits(double value)
    int mt_half_bits(double value, uint64_t* bits)
    bint isfinite(double value)
    double PyFloat_AS_DOUBLE(object value)
    double PyFloat_AsDouble(object value) except? -1
    unsigned long long PyLong_AsUnsignedLongLong(object value) except? 0xFFFFFFFFFFFFFFFF

cdef enum:                     # kinds of C types
    C_PTR, C_HOST, C_DESC, C_CONTEXT, C_GENERATOR, C_BOOL, C_I8, C_I16, C_I32, C_I64, C_U8, C_U16, C_U32, C_U64, C_F16,
    C_BF16, C_F32, C_F64

cdef enum:                     # what a conversion found
    CONVERTED, WRONG_TYPE, OUT_OF_RANGE

cdef int64_t[18] INT_LOW = [0, 0, 0, 0, 0, 0, -0x80, -0x8000, -0x80000000, -0x7FFFFFFFFFFFFFFF - 1, 0, 0, 0, 0, 0, 0, 0, 0]
cdef int64_t[18] INT_HIGH = [0, 0, 0, 0, 0, 0, 0x7F, 0x7FFF, 0x7FFFFFFF, 0x7FFFFFFFFFFFFFFF, 0xFF, 0xFFFF, 0xFFFFFFFF,
                             0x7FFFFFFFFFFFFFFF, 0, 0, 0, 0]
cdef double[18] FLOAT_HIGH = [0] * 14 + [65504.0, 3.3895313892515355e38, 3.4028234663852886e38, 1.7976931348623157e308]
cdef str SCALAR_NAMES = "f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, bool_"


@cython.final
cdef class CType:
    """The C type of a kernel argument. A scalar type is called to type a number: ``f32(2.0)``, ``u32(n)``.

    ``ptr`` takes a tensor, ``tensor_ptr(tensor)`` or None; ``host`` takes bytes-like data, passed by host address;
    ``desc`` takes a tensor of any strides, passed as ``const mt_tensor*``; ``context`` takes None, and passes what the
    runtime says of where the kernel runs and what comes next, as ``const mt_context*``; ``generator`` takes a torch.Generator of
    the CPU's or None, passed as ``mt_generator*``, whose lock is held meanwhile.
    """

    def __call__(self, value):
        cdef uint64_t bits
        if self.kind <= C_GENERATOR:
            raise TypeError(f"npu.{self.name} is not a scalar type: pass {EXPECTED[self.kind]} as the argument itself")
        if isinstance(value, TypedScalar):
            value = (<TypedScalar>value).value
        cdef int status = convert_scalar(self.kind, value, &bits)
        if status != CONVERTED:
            raise_bad_scalar(f"npu.{self.name}", self, value, status)
        cdef TypedScalar typed = TypedScalar.__new__(TypedScalar)
        typed.ctype, typed.value = self, value
        return typed

    def bits(self, value):
        """The value's C representation, as an unsigned int of `size` bytes; raises as calling the type does."""
        cdef uint64_t bits
        cdef TypedScalar typed = self(value)
        convert_scalar(self.kind, typed.value, &bits)
        return bits & (0xFFFFFFFFFFFFFFFF >> (64 - 8 * self.size))

    def __repr__(self):
        return f"npu.{self.name}"

    def __reduce__(self):
        return _ctype_by_name, (self.name,)


cdef CType make_ctype(str name, int kind, int size):
    cdef CType t = CType.__new__(CType)
    t.name, t.kind, t.size = name, kind, size
    return t


c_types = {t.name: t for t in (
    make_ctype("ptr", C_PTR, 8), make_ctype("host", C_HOST, 8), make_ctype("desc", C_DESC, 8),
    make_ctype("context", C_CONTEXT, 8), make_ctype("generator", C_GENERATOR, 8),
    make_ctype("bool_", C_BOOL, 1), make_ctype("f16", C_F16, 2), make_ctype("bf16", C_BF16, 2),
    make_ctype("f32", C_F32, 4), make_ctype("f64", C_F64, 8),
    make_ctype("i8", C_I8, 1), make_ctype("i16", C_I16, 2), make_ctype("i32", C_I32, 4), make_ctype("i64", C_I64, 8),
    make_ctype("u8", C_U8, 1), make_ctype("u16", C_U16, 2), make_ctype("u32", C_U32, 4), make_ctype("u64", C_U64, 8),
)}
cdef CType ctype_ptr = c_types["ptr"], ctype_host = c_types["host"]
cdef list EXPECTED = ["a tensor, tensor_ptr(tensor) or None", "bytes-like data", "a tensor", "None",
                      "a torch.Generator or None", "a bool"] \
    + ["an int"] * 8 + ["a real number"] * 4


def _ctype_by_name(str name):
    return c_types[name]


@cython.final
@cython.freelist(16)
cdef class TypedScalar:
    """A number with its C type, as ``f32(2.0)`` makes it."""
    cdef readonly CType ctype
    cdef readonly object value

    def __init__(self, CType ctype not None, value):
        self.ctype, self.value = ctype, value

    def __eq__(self, other):
        return (isinstance(other, TypedScalar) and (<TypedScalar>other).ctype is self.ctype
                and (<TypedScalar>other).value == self.value)

    def __hash__(self):
        return hash((self.ctype.name, self.value))

    def __repr__(self):
        return f"{self.ctype!r}({self.value!r})"

    def __reduce__(self):
        return TypedScalar, (self.ctype, self.value)


mt_whole_scalar_install(<PyTypeObject*>TypedScalar)


class DevicePointer(int):
    """An address in a device's memory, with its device: what ``tensor_ptr`` returns.

    It does not keep the memory alive. Adding or subtracting bytes gives a pointer on the same device.
    """

    def __new__(cls, address, device=None):
        self = int.__new__(cls, address)
        self.device = device_cpu if device is None else as_device(device)
        return self

    def __add__(self, nbytes):
        return DevicePointer(int(self) + nbytes, self.device)

    def __sub__(self, other):
        if isinstance(other, DevicePointer):
            return int(self) - int(other)
        return DevicePointer(int(self) - other, self.device)

    def __repr__(self):
        return f"DevicePointer(0x{int(self):x}, device='{self.device}')"


cdef inline int convert_scalar(int kind, object value, uint64_t* bits) except -1:
    """Converts to the C type's bits, sign- or zero-extended to 64; returns CONVERTED or what was wrong."""
    if kind >= C_F16:
        return convert_float(kind, value, bits)
    if kind == C_BOOL:
        if not PyBool_Check(value):
            return WRONG_TYPE
        bits[0] = 1 if value is True else 0
        return CONVERTED
    return convert_int(kind, value, bits)


cdef int convert_int(int kind, object value, uint64_t* bits) except -1:
    cdef int overflow
    cdef int64_t number
    if not PyLong_Check(value):
        if not PyIndex_Check(value) or isinstance(value, Tensor):
            return WRONG_TYPE
        value = PyNumber_Index(value)
    number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow > 0 and kind == C_U64:
        try:
            bits[0] = PyLong_AsUnsignedLongLong(value)
        except OverflowError:
            return OUT_OF_RANGE
        return CONVERTED
    if overflow or number < INT_LOW[kind] or number > INT_HIGH[kind]:
        return OUT_OF_RANGE
    bits[0] = <uint64_t>number
    return CONVERTED


cdef int convert_float(int kind, object value, uint64_t* bits) except -1:
    cdef double number
    if PyFloat_Check(value):
        number = PyFloat_AS_DOUBLE(value)
    elif PyLong_CheckExact(value) and not is_wide(<PyObject*>value):
        number = <double>PyLong_AsLongLong(value)
    elif isinstance(value, Tensor):
        return WRONG_TYPE              # reading it could wait for a device: the caller says .item() where that is meant
    else:
        try:
            number = PyFloat_AsDouble(value)
        except OverflowError:
            return OUT_OF_RANGE
        except TypeError:
            return WRONG_TYPE
    if kind == C_F64:
        bits[0] = mt_double_bits(number)
    elif kind == C_F32:
        bits[0] = mt_float_bits(number)
        return OUT_OF_RANGE if bits[0] & 0x7FFFFFFF == 0x7F800000 and isfinite(number) else CONVERTED
    elif kind == C_BF16:
        bits[0] = mt_bfloat_bits(number)
        return OUT_OF_RANGE if bits[0] & 0x7FFF == 0x7F80 and isfinite(number) else CONVERTED
    elif mt_half_bits(number, bits) < 0:
        return OUT_OF_RANGE
    return CONVERTED


cdef int raise_bad_scalar(str where, CType ctype, object value, int status) except -1:
    if status == WRONG_TYPE:
        raise TypeError(f"{where}: expected {EXPECTED[ctype.kind]}, got {describe(value)}")
    if ctype.kind >= C_F16:
        raise OverflowError(f"{where}: expected a magnitude of at most {FLOAT_HIGH[ctype.kind]:g}, got {value!r}")
    high = 0xFFFFFFFFFFFFFFFF if ctype.kind == C_U64 else INT_HIGH[ctype.kind]
    raise OverflowError(f"{where}: expected {INT_LOW[ctype.kind]} to {high}, got {value!r}")


cdef str describe(object value):
    """A value in an error message: short, with its type."""
    if isinstance(value, Tensor):
        return f"a tensor of shape {list((<Tensor>value).shape)}"
    if value is None or isinstance(value, (TypedScalar, DevicePointer)):
        return repr(value)
    text = repr(value)
    return f"{_type_name(value)} {text if len(text) <= 40 else text[:37] + '...'}"
