"""Elements of the CPU's memory as Python's numbers, and back: what `item`, `tolist`, `tensor` and `numpy` do at once.

They do so for tensors that are what their memory is, where nobody follows the call: no mode, no subclass, no profiler. All
else goes the way of operators, or to functions in Python, which know what to refuse.
"""

cdef extern from *:
    """
    #include <float.h>
    #include <math.h>
    static double mt_half_value(uint16_t bits) {
        int power = bits >> 10 & 31;
        double size = bits & 1023;
        if (power == 31) size = size != 0 ? NAN : INFINITY;
        else size = power == 0 ? ldexp(size, -24) : ldexp(size + 1024, power - 25);
        return bits >> 15 ? -size : size;
    }
    static double mt_bfloat16_value(uint16_t bits) {
        uint32_t wide = (uint32_t)bits << 16;
        float value;
        memcpy(&value, &wide, sizeof value);
        return value;
    }
    """
    double mt_half_value(uint16_t bits) noexcept
    double mt_bfloat16_value(uint16_t bits) noexcept
    double FLT_MAX
    bint isinf(double value)
    double fabs(double value)
    object PyComplex_FromDoubles(double real, double imag)
    double PyFloat_AS_DOUBLE(object value)

cdef uint64_t LIKE_ANY_OTHER = KEYS_OF_DEVICE[KEY_CPU] | MT_ALWAYS     # keys of tensors, and calls, of which nothing else is to be known
cdef int64_t WHOLE_IN_DOUBLE = <int64_t>1 << 53


cdef inline bint is_plain(Tensor t) noexcept:
    """Whether a tensor is what its memory on the CPU is, and nobody follows what is done with it."""
    return t.dev.type_code == KEY_CPU and (t.keys | mt_state.included & ~mt_state.excluded) & ~LIKE_ANY_OTHER == 0 \
        and watched == 0 and mt_state.run == NULL and t.storage.data != NULL and t.nelem > 0


def lie_apart(list tensors not None):
    """Whether these are tensors of one shape and dtype, contiguous in memory of the CPU, each in its own, of which nothing but autograd knows."""
    cdef Py_ssize_t i, j, n = len(tensors)
    cdef Tensor t, first = None
    cdef char *at, *other
    if mt_state.run != NULL or mt_state.transform or forward_levels:
        return False
    for i in range(n):
        if not isinstance(tensors[i], Tensor):
            return False
        t = <Tensor>tensors[i]
        if first is None:
            first = t
        if t.dev.type_code != KEY_CPU or (t.keys | mt_state.included & ~mt_state.excluded) & ~LIKE_ANY_OTHER or not t.contig \
                or t.dt is not first.dt or t.nd != first.nd or memcmp(t.sizes, first.sizes, t.nd * sizeof(int64_t)) != 0 \
                or t.storage.data == NULL and t.nelem > 0:
            return False
        at = tensor_data(t)
        for j in range(i):
            other = tensor_data(<Tensor>tensors[j])
            if at < other + t.nelem * t.dt.itemsize and other < at + t.nelem * t.dt.itemsize:
                return False
    return True


# ---------------------------------------------------------------- reading
cdef object element(int code, const char* at):
    """The number of a dtype that lies there; of no narrow one."""
    if code == MT_F32: return <double>(<const float*>at)[0]
    if code == MT_F64: return (<const double*>at)[0]
    if code == MT_I64: return (<const int64_t*>at)[0]
    if code == MT_BOOL: return True if at[0] else False
    if code == MT_I32: return (<const int32_t*>at)[0]
    if code == MT_U8: return (<const uint8_t*>at)[0]
    if code == MT_I8: return (<const int8_t*>at)[0]
    if code == MT_I16: return (<const int16_t*>at)[0]
    if code == MT_F16: return mt_half_value((<const uint16_t*>at)[0])
    if code == MT_BF16: return mt_bfloat16_value((<const uint16_t*>at)[0])
    if code == MT_C64: return PyComplex_FromDoubles((<const float*>at)[0], (<const float*>at)[1])
    if code == MT_C128: return PyComplex_FromDoubles((<const double*>at)[0], (<const double*>at)[1])
    if code == MT_U16: return (<const uint16_t*>at)[0]
    if code == MT_U32: return (<const uint32_t*>at)[0]
    return (<const uint64_t*>at)[0]


cdef list elements_along(Tensor t, int d, const char* at):
    """The elements from a place on, of a dimension and those inside of it, as nested lists."""
    cdef int64_t i, step = t.strides[d] * t.dt.itemsize
    cdef int code = t.dt.code
    if d + 1 == t.nd:
        return [element(code, at + i * step) for i in range(t.sizes[d])]
    return [elements_along(t, d + 1, at + i * step) for i in range(t.sizes[d])]


def first_element(Tensor self not None):
    """A kernel: the value of a tensor's first element as a Python number."""
    if is_plain(self):
        return element(self.dt.code, tensor_data(self))
    return hook.python_kernel("creation:local_scalar_dense")(self)


# What the operator `item` runs, and that which it calls: a library may have put kernels of its own in their places.
cdef OpOverload item_operator = None, reading_operator = None
cdef PyObject* item_plan = NULL
cdef PyObject* reading_kernel = NULL


cdef int note_readers() except -1:
    """After a call of `item`, which has completed both operators."""
    global item_operator, reading_operator, item_plan, reading_kernel
    cdef OpOverload item = operators.get("aten::item"), reading = operators.get("aten::_local_scalar_dense")
    cdef PyObject* kernel
    if item is None or reading is None or item.pending is not None or reading.pending is not None:
        return 0
    kernel = reading.table[KEY_CPU]
    if type(<object>item.table[KEY_CPU]) is not Plan or kernel == NULL or type(<object>kernel) is not LateFunction \
            or (<LateFunction>kernel).found is not FIRST_ELEMENT:
        return 0
    item_operator, reading_operator, item_plan, reading_kernel = item, reading, item.table[KEY_CPU], kernel
    return 0


cdef object FIRST_ELEMENT = first_element


cdef inline bint reads_itself(Tensor t) noexcept:
    """Whether `item` of a tensor of one element is what lies in its memory."""
    return is_plain(t) and item_plan != NULL and reading_operator.table[KEY_CPU] == reading_kernel \
        and item_operator.table[mt_highest_bit((t.keys | MT_ALWAYS) & item_operator.active)] == item_plan


cdef PyObject* call_item(PyObject* callable, PyObject** args, size_t nargsf, PyObject* kwnames) except NULL:
    """The method `item`, a packet."""
    cdef PyObject* result
    if kwnames == NULL and PyVectorcall_NARGS(nargsf) == 1 and is_tensor(args[0]) and (<Tensor>args[0]).nelem == 1 \
            and reads_itself(<Tensor>args[0]):
        return new_pointer(element((<Tensor>args[0]).dt.code, data_at(args[0])))
    result = call_packet(callable, args, nargsf, kwnames)
    if item_plan == NULL:
        note_readers()
    return result


# ---------------------------------------------------------------- writing
cdef bint put_number(int code, char* at, object value) noexcept:
    """Writes a number of Python's own types where nothing is to be said about it as an element of the dtype, else False."""
    cdef double number
    cdef int64_t whole
    cdef int overflow = 0
    if PyFloat_CheckExact(value):
        number = PyFloat_AS_DOUBLE(value)
        if code == MT_F32 and (fabs(number) <= FLT_MAX or isinf(number) or number != number):
            (<float*>at)[0] = <float>number
        elif code == MT_F64:
            (<double*>at)[0] = number
        else:
            return False
        return True
    if not (PyLong_CheckExact(value) or PyBool_Check(value)):
        return False
    whole = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow:
        return False
    if code == MT_I64: (<int64_t*>at)[0] = whole
    elif code == MT_BOOL: at[0] = whole != 0
    elif code == MT_I32 and -(<int64_t>1 << 31) <= whole < <int64_t>1 << 31: (<int32_t*>at)[0] = <int32_t>whole
    elif code == MT_U8 and 0 <= whole < 256: (<uint8_t*>at)[0] = <uint8_t>whole
    elif code == MT_F32 and -WHOLE_IN_DOUBLE <= whole <= WHOLE_IN_DOUBLE: (<float*>at)[0] = <float><double>whole
    elif code == MT_F64 and -WHOLE_IN_DOUBLE <= whole <= WHOLE_IN_DOUBLE: (<double*>at)[0] = <double>whole
    else: return False
    return True


cdef int shape_of_lists(object data, int64_t* sizes) noexcept:
    """The sizes of nested lists, as their first items have them; returns how many, -1 for what is looked at in Python."""
    cdef int nd = 0
    while PyList_CheckExact(data) or PyTuple_CheckExact(data):
        if nd == INLINE_DIMS:
            return -1
        sizes[nd] = PyList_GET_SIZE(data) if PyList_CheckExact(data) else PyTuple_GET_SIZE(data)
        if sizes[nd] == 0:
            return -1
        data = <object>(PyList_GET_ITEM(data, 0) if PyList_CheckExact(data) else PyTuple_GET_ITEM(data, 0))
        nd += 1
    return nd


cdef int category_of(object data, int nd, const int64_t* sizes) noexcept:
    """The highest category among the numbers in nested lists of these sizes; -1 for what is looked at in Python."""
    cdef int64_t i
    cdef int found = CATEGORY_BOOL, one
    cdef PyObject* item
    if nd == 0:
        if PyFloat_CheckExact(data):
            return CATEGORY_FLOAT
        return CATEGORY_BOOL if PyBool_Check(data) else CATEGORY_INT if PyLong_CheckExact(data) else -1
    if not is_list_of(data, sizes[0]):
        return -1
    for i in range(sizes[0]):
        item = PyList_GET_ITEM(data, i) if PyList_CheckExact(data) else PyTuple_GET_ITEM(data, i)
        one = category_of(<object>item, nd - 1, sizes + 1)
        if one < 0:
            return -1
        found = max(found, one)
    return found


cdef inline bint is_list_of(object data, int64_t count) noexcept:
    """Whether something is a list, or a tuple, of so many items."""
    return PyList_GET_SIZE(data) == count if PyList_CheckExact(data) else PyTuple_CheckExact(data) and PyTuple_GET_SIZE(data) == count


cdef bint put_lists(object data, int nd, const int64_t* sizes, int code, int itemsize, char** at) noexcept:
    """Writes the numbers in nested lists behind one another, and moves `at` on; False as `put_number`."""
    cdef int64_t i
    cdef PyObject* item
    if nd == 0:
        at[0] += itemsize
        return put_number(code, at[0] - itemsize, data)
    if not is_list_of(data, sizes[0]):
        return False
    for i in range(sizes[0]):
        item = PyList_GET_ITEM(data, i) if PyList_CheckExact(data) else PyTuple_GET_ITEM(data, i)
        if not put_lists(<object>item, nd - 1, sizes + 1, code, itemsize, at):
            return False
    return True


cdef Tensor tensor_of_numbers(object data, dtype wanted):
    """A new tensor of a number, or of nested lists; None for what is looked at in Python, say because it is wrong."""
    cdef int64_t sizes[INLINE_DIMS]
    cdef int nd = shape_of_lists(data, sizes), category
    cdef Tensor made
    cdef char* at
    if nd < 0 or wanted is not None and wanted.code >= MT_NARROW:
        return None
    category = category_of(data, nd, sizes)
    if category < 0:
        return None
    if wanted is None:
        wanted = default_dtype_ if category == CATEGORY_FLOAT else dtype_i64 if category == CATEGORY_INT else dtype_bool
    made = alloc_sizes(nd, sizes, wanted, device_cpu)
    at = <char*>made.storage.data
    return made if put_lists(data, nd, sizes, wanted.code, wanted.itemsize, &at) else None


cdef bint fill_little(Tensor t, object value) except -1:
    """Writes a number into all of a new tensor of few elements in rows, on the CPU; False where others are to do that."""
    cdef char first[16]
    cdef int64_t i
    cdef int itemsize = t.dt.itemsize
    cdef char* at = <char*>t.storage.data
    if not is_little(t) or t.keys & NARROW or not put_number(t.dt.code, first, value):
        return False
    if itemsize == 8:
        for i in range(t.nelem):
            (<int64_t*>at)[i] = (<int64_t*>first)[0]
    elif itemsize == 4:
        for i in range(t.nelem):
            (<int32_t*>at)[i] = (<int32_t*>first)[0]
    else:                                        # of what `put_number` writes
        memset(at, first[0], t.nelem)
    return True


# ---------------------------------------------------------------- comparing
cdef bint same_elements(Tensor a, Tensor b) noexcept:
    """Whether two runs of memory of one dtype and length hold the same numbers."""
    cdef const char* x = tensor_data(a)
    cdef const char* y = tensor_data(b)
    cdef int64_t i
    if a.dt.code == MT_F32:
        for i in range(a.nelem):
            if (<const float*>x)[i] != (<const float*>y)[i]:
                return False
    elif a.dt.code == MT_F64:
        for i in range(a.nelem):
            if (<const double*>x)[i] != (<const double*>y)[i]:
                return False
    else:
        for i in range(a.nelem * a.dt.itemsize):
            if x[i] != y[i]:
                return False
    return True


def equal_elements(Tensor self not None, Tensor other not None):
    """A kernel: whether two tensors have the same size and the same elements."""
    if is_little(self) and is_little(other) and self.dt is other.dt and self.contig and other.contig and same_sizes(self, other) \
            and not (self.keys | other.keys) & (LAZY | WRAPPERS) \
            and (self.dt.category <= CATEGORY_INT or self.dt is dtype_f32 or self.dt is dtype_f64):
        return True if same_elements(self, other) else False
    return hook.python_kernel("reduction:equal")(self, other)


# ---------------------------------------------------------------- arrays of NumPy's
cdef extern from *:
    """
    /* What ``__array_struct__`` gives, by NumPy's array interface protocol. */
    typedef struct {
        int two, nd;
        char typekind;
        int itemsize, flags;
        Py_ssize_t *shape, *strides;
        void* data;
    } mt_array;
    """
    ctypedef struct mt_array:
        int nd
        char typekind
        int itemsize
        int flags
        Py_ssize_t* shape
        Py_ssize_t* strides
        void* data
    void* PyCapsule_GetPointer(object capsule, const char* name) except NULL

cdef enum:
    ARRAY_IS_NATIVE = 0x600            # not of bytes in the other order, and writable
cdef object array_type = None          # numpy.ndarray, and what makes one over a memoryview, once NumPy is imported
cdef object array_over = None


cdef int find_numpy() except -1:
    global array_type, array_over
    numpy = sys.modules.get("numpy")
    if array_over is None and hasattr(numpy, "ndarray") and hasattr(numpy, "asarray"):     # imported whole
        array_type, array_over = numpy.ndarray, numpy.asarray
    return 0


cdef dtype dtype_of_array(const mt_array* array):
    """The dtype of an array's elements; None for what is none, or is looked at in Python."""
    cdef int size = array.itemsize
    if array.typekind == b"f":
        return dtype_f32 if size == 4 else dtype_f64 if size == 8 else dtype_f16 if size == 2 else None
    if array.typekind == b"i":
        return dtype_i64 if size == 8 else dtypes.get(f"int{8 * size}")
    if array.typekind == b"u":
        return dtypes.get(f"uint{8 * size}")
    if array.typekind == b"b":
        return dtype_bool
    return (dtype_c64 if size == 8 else dtype_c128 if size == 16 else None) if array.typekind == b"c" else None


cdef Tensor tensor_over_array(object value):
    """A tensor over the memory of an array of NumPy's; None for what is looked at in Python."""
    cdef const mt_array* array
    cdef int64_t sizes[MAX_DIMS]
    cdef int64_t strides[MAX_DIMS]
    cdef dtype d
    cdef Tensor t
    cdef int i
    if array_type is None:
        find_numpy()
    if type(value) is not array_type:
        return None
    capsule = value.__array_struct__
    array = <const mt_array*>PyCapsule_GetPointer(capsule, NULL)
    d = dtype_of_array(array)
    if d is None or array.flags & ARRAY_IS_NATIVE != ARRAY_IS_NATIVE or array.nd > MAX_DIMS:
        return None
    for i in range(array.nd):
        if array.strides[i] < 0 or array.strides[i] % array.itemsize:
            return None
        sizes[i], strides[i] = array.shape[i], array.strides[i] // array.itemsize
    t = bare_tensor(d, device_cpu)
    set_rank(t, array.nd)
    set_strides(t, sizes, strides)
    t.storage = borrow_storage(array.data, bytes_reached(t), device_cpu, value)
    return t


cdef object array_of(Tensor t):
    """An array over a tensor's memory, whose size then stays; None for what is looked at in Python."""
    if not is_plain(t) or t.dt.buffer_format is None or not mt_state.grad_off and needs_grad(t):
        return None
    if array_over is None:
        find_numpy()
        if array_over is None:
            return None
    array = array_over(as_memoryview(t))
    shared(owner_storage(t.storage)).fixed = True
    return array
