"""Element types, and PyTorch's promotion rules."""

# The codes are those of `enum mt_dtype` in mindtorch_kernel.h: C++ kernels switch on them.
cdef enum:
    MT_BOOL, MT_U8, MT_I8, MT_I16, MT_I32, MT_I64, MT_F16, MT_BF16, MT_F32, MT_F64, MT_C64, MT_C128
    MT_U16, MT_U32, MT_U64
    MT_F8_E4M3FN, MT_F8_E5M2, MT_F8_E4M3FNUZ, MT_F8_E5M2FNUZ, MT_C32
    MT_NARROW = MT_F8_E4M3FN       # and all from it on


@cython.final
cdef class dtype:
    """An element type such as ``float32``. Instances are unique: compare with ``is``."""

    def __init__(self, *args, **kwargs):
        raise TypeError("cannot create 'torch.dtype' instances: use torch.float32, torch.int64, ...")

    @property
    def is_floating_point(self):
        return self.category == CATEGORY_FLOAT

    @property
    def is_complex(self):
        return self.category == CATEGORY_COMPLEX

    def to_complex(self):
        """The complex dtype of such parts. Raises RuntimeError where there is none."""
        if self.category < CATEGORY_FLOAT:
            raise RuntimeError(f"Unknown Complex ScalarType for {scalar_types[self.name]}")
        return self if self.category == CATEGORY_COMPLEX else complex_of(self)

    def to_real(self):
        """The dtype of a complex one's parts; another one itself."""
        return dtypes[f"float{4 * self.itemsize}"] if self.category == CATEGORY_COMPLEX else self

    def __repr__(self):
        return "torch." + self.name

    def __reduce__(self):
        return _dtype_by_name, (self.name,)


cdef dtype make_dtype(str name, int code, int itemsize, int category, bint is_signed, str buffer_format):
    cdef dtype t = dtype.__new__(dtype)
    t.name, t.code, t.itemsize, t.category = name, code, itemsize, category
    t.is_signed, t.buffer_format = is_signed, buffer_format
    return t


dtypes = {t.name: t for t in (
    make_dtype("bool", MT_BOOL, 1, CATEGORY_BOOL, False, "?"),
    make_dtype("uint8", MT_U8, 1, CATEGORY_INT, False, "B"),
    make_dtype("int8", MT_I8, 1, CATEGORY_INT, True, "b"),
    make_dtype("int16", MT_I16, 2, CATEGORY_INT, True, "h"),
    make_dtype("int32", MT_I32, 4, CATEGORY_INT, True, "i"),
    make_dtype("int64", MT_I64, 8, CATEGORY_INT, True, "l" if sizeof(long) == 8 else "q"),      # what NumPy calls int64
    make_dtype("float16", MT_F16, 2, CATEGORY_FLOAT, True, "e"),
    make_dtype("bfloat16", MT_BF16, 2, CATEGORY_FLOAT, True, None),
    make_dtype("float32", MT_F32, 4, CATEGORY_FLOAT, True, "f"),
    make_dtype("float64", MT_F64, 8, CATEGORY_FLOAT, True, "d"),
    make_dtype("complex64", MT_C64, 8, CATEGORY_COMPLEX, True, "Zf"),
    make_dtype("complex128", MT_C128, 16, CATEGORY_COMPLEX, True, "Zd"),
    make_dtype("uint16", MT_U16, 2, CATEGORY_INT, False, "H"),
    make_dtype("uint32", MT_U32, 4, CATEGORY_INT, False, "I"),
    make_dtype("uint64", MT_U64, 8, CATEGORY_INT, False, "L" if sizeof(long) == 8 else "Q"),
    # From here on those that few operators compute with: see narrow_dtypes.pxi.
    make_dtype("float8_e4m3fn", MT_F8_E4M3FN, 1, CATEGORY_FLOAT, True, None),
    make_dtype("float8_e5m2", MT_F8_E5M2, 1, CATEGORY_FLOAT, True, None),
    make_dtype("float8_e4m3fnuz", MT_F8_E4M3FNUZ, 1, CATEGORY_FLOAT, True, None),
    make_dtype("float8_e5m2fnuz", MT_F8_E5M2FNUZ, 1, CATEGORY_FLOAT, True, None),
    make_dtype("complex32", MT_C32, 4, CATEGORY_COMPLEX, True, None),
)}
cdef list dtype_by_code = list(dtypes.values())

cdef enum:
    MT_QUANTIZED = 31          # a bit of its own among those of kernels' dtypes, which no tensor's dtype has

# Dtypes of storages alone: of the integers that stand for quantized numbers, each as long as the storage says.
quantized_dtypes = {name: make_dtype(name, MT_QUANTIZED, itemsize, CATEGORY_INT, is_signed, None) for name, itemsize, is_signed in (
    ("qint8", 1, True), ("quint8", 1, False), ("qint32", 4, True), ("quint4x2", 1, False), ("quint2x4", 1, False),
)}
cdef dtype dtype_bool = dtypes["bool"], dtype_i64 = dtypes["int64"], dtype_f32 = dtypes["float32"]
cdef dtype dtype_f64 = dtypes["float64"], dtype_c64 = dtypes["complex64"], dtype_c128 = dtypes["complex128"]
cdef dtype dtype_f16 = dtypes["float16"], dtype_c32 = dtypes["complex32"]
cdef dtype default_dtype_ = dtype_f32

# PyTorch's names of dtypes in what its operators say, and in the names of their old types.
scalar_types = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long", "float16": "Half",
    "bfloat16": "BFloat16", "float32": "Float", "float64": "Double", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
    "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64", "float8_e4m3fn": "Float8_e4m3fn", "float8_e5m2": "Float8_e5m2",
    "float8_e4m3fnuz": "Float8_e4m3fnuz", "float8_e5m2fnuz": "Float8_e5m2fnuz", "complex32": "ComplexHalf",
}


def _dtype_by_name(str name):
    return dtypes[name] if name in dtypes else quantized_dtypes[name]


def get_default_dtype():
    """The floating-point dtype that Python floats become; ``float32`` at start."""
    return default_dtype_


def set_default_dtype(d, /):
    """Sets the dtype that Python floats become. Raises TypeError where `d` is not a floating-point type."""
    global default_dtype_
    if not isinstance(d, dtype) or (<dtype>d).category != CATEGORY_FLOAT:
        raise TypeError(f"only floating-point types are supported as the default type, got {d!r}")
    if is_float8(<dtype>d):
        raise TypeError(f"couldn't find storage object {scalar_types[(<dtype>d).name]}Storage: numbers of 8 bits are no default type")
    default_dtype_ = <dtype>d


cdef dtype dtype_from_python(object value):
    """dtype, or one of the Python types that stand for one; None where it is neither."""
    if isinstance(value, dtype):
        if (<dtype>value).code == MT_QUANTIZED:
            raise RuntimeError(f"{value}: there are no quantized tensors here, only storages of the integers that stand for their numbers")
        return value
    if value is float:
        return dtype_f64
    if value is int:
        return dtype_i64
    if value is bool:
        return dtype_bool
    if value is complex:
        return dtype_c128
    return None


cdef inline bint is_wide_unsigned(dtype d) noexcept:
    return MT_U16 <= d.code <= MT_U64


cdef inline bint is_float8(dtype d) noexcept:
    return MT_F8_E4M3FN <= d.code <= MT_F8_E5M2FNUZ


cdef dtype complex_of(dtype d):
    """The complex dtype whose parts are as a floating-point one, but for bfloat16, whose are wider. RuntimeError for 8 bits."""
    if is_float8(d):
        raise RuntimeError(f"Unknown Complex ScalarType for {scalar_types[d.name]}")
    return dtype_c128 if d is dtype_f64 else dtype_c32 if d is dtype_f16 else dtype_c64


cdef dtype promote(dtype a, dtype b):
    """The smallest dtype that holds both (torch.promote_types). RuntimeError where PyTorch names none."""
    if a is b:
        return a
    if is_float8(a) or is_float8(b):
        raise RuntimeError("Promotion for Float8 Types is not supported, attempted to promote "
                           f"{scalar_types[a.name]} and {scalar_types[b.name]}")
    if a.category < b.category:
        a, b = b, a
    if a.category != CATEGORY_FLOAT and (is_wide_unsigned(a) or is_wide_unsigned(b)):
        raise RuntimeError("Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
                           f"{a.name} and {b.name}: convert one of them first")
    if a.category == CATEGORY_COMPLEX:
        if b.category == CATEGORY_FLOAT:
            b = complex_of(b)
        return b if b.category == CATEGORY_COMPLEX and b.itemsize > a.itemsize else a
    if a.category > b.category:
        return a
    if a.category == CATEGORY_FLOAT:
        if a.itemsize == b.itemsize:      # float16 with bfloat16: neither holds the other
            return dtype_f32
        return a if a.itemsize > b.itemsize else b
    return promote_integers(a, b)


cdef dtype promote_integers(dtype a, dtype b):
    if a.is_signed == b.is_signed:        # uint8 is the only unsigned one that comes here
        return a if a.itemsize >= b.itemsize else b
    if b.is_signed:
        a, b = b, a                       # now a is signed, b is not
    return a if a.itemsize > b.itemsize else dtypes["int16"]


def promote_types(type1, type2):
    """The smallest dtype that both can be converted to."""
    if type(type1) is dtype and type(type2) is dtype and (<dtype>type1).code != MT_QUANTIZED and (<dtype>type2).code != MT_QUANTIZED:
        return promote(<dtype>type1, <dtype>type2)
    return promote(dtype_given(type1, "type1"), dtype_given(type2, "type2"))


cdef dtype dtype_given(object value, str name):
    found = dtype_from_python(value)
    if found is None:
        raise TypeError(f"promote_types(): argument '{name}' must be torch.dtype, not {_type_name(value)}")
    return found


cdef dtype dtype_of_number(object value):
    if PyBool_Check(value):
        return dtype_bool
    if PyLong_Check(value):
        return dtype_of_integer(value)
    if PyFloat_Check(value):
        return default_dtype_
    if PyComplex_Check(value):
        return complex_of(default_dtype_)
    return None


cdef dtype dtype_of_integer(object value):
    """int64, and uint64 for what only that holds."""
    if -0x8000000000000000 <= value <= 0x7FFFFFFFFFFFFFFF:
        return dtype_i64
    if 0 < value <= 0xFFFFFFFFFFFFFFFF:
        return dtypes["uint64"]
    raise OverflowError(f"int too big to convert: {value} is outside the range of int64 and of uint64")


cdef dtype wrapped_dtype(dtype d):
    """The dtype as which a wrapped number takes part in promotion: of its kind, in the default precision."""
    return dtype_of_number(1.0) if d.category == CATEGORY_FLOAT else dtype_of_number(1j) if d.category == CATEGORY_COMPLEX else d


def result_type(tensor, other):
    """The dtype of an arithmetic operation on two tensors or numbers; see `common_dtype`."""
    return dtype_of_pair(tensor, other)


cdef dtype dtype_of_pair(object first, object second):
    """As `common_dtype`; at once where a tensor with dimensions decides over its like, or over a number."""
    cdef dtype d
    if is_tensor(<PyObject*>first) and (<Tensor>first).nd > 0:
        d = (<Tensor>first).dt
        if is_tensor(<PyObject*>second):
            if (<Tensor>second).dt is d and (<Tensor>second).nd > 0:
                return d
        elif d.category >= CATEGORY_FLOAT and PyFloat_CheckExact(second) \
                or d.category >= CATEGORY_INT and PyLong_CheckExact(second) and not is_wide(<PyObject*>second):
            return d
    return <dtype>common_dtype(first, second)


def common_dtype(*values):
    """The dtype of an arithmetic operation on tensors and Python numbers.

    Tensors with dimensions decide before 0-d tensors, and these before Python numbers, unless the lower one is of a
    higher category (bool < integer < float < complex). A number that an operator took for a tensor (`wrap_number`) is
    still a number. Source: PyTorch's documented type promotion.
    """
    cdef dtype d
    cdef dtype dims = None, zero = None, number = None
    for value in values:
        if isinstance(value, Tensor):
            d = (<Tensor>value).dt
            if (<Tensor>value).nd > 0:
                dims = d if dims is None else promote(dims, d)
            elif (<Tensor>value).wrapped:
                d = wrapped_dtype(d)
                number = d if number is None else promote(number, d)
            else:
                zero = d if zero is None else promote(zero, d)
        else:
            d = dtype_of_number(value)
            if d is None:
                raise TypeError(f"result_type(): expected tensors and numbers, got {type(value).__name__}")
            number = d if number is None else promote(number, d)
    return combine_categories(combine_categories(dims, zero), number)


cdef dtype combine_categories(dtype higher, dtype lower):
    if higher is None:
        return lower
    if lower is None or lower.category <= higher.category:
        return higher
    if lower.category == CATEGORY_COMPLEX and higher.category == CATEGORY_FLOAT:
        return complex_of(higher)
    return lower if lower.category > CATEGORY_INT else promote(higher, lower)
