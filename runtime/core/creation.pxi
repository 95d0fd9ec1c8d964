"""New tensors: the kernels of the usual ones, and functions of the top level whose usual calls come here at once."""

cdef bint settles_memory = False       # whether memory without values is filled, see backends/_new_memory.py


def settle_new_memory(bint on):
    """Sets whether memory without values is filled, so that results are the same in every run."""
    global settles_memory
    settles_memory = on


# ---------------------------------------------------------------- kernels
def empty(size, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    """A tensor of the given size with whatever its memory holds."""
    if pin_memory or settles_memory:
        return hook.python_kernel("creation:empty")(size, dtype=dtype, device=device, pin_memory=pin_memory, memory_format=memory_format)
    return alloc_in_format(size, dtype, device, memory_format)


def empty_like(Tensor self not None, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    """A tensor of self's size, in the order of its dimensions unless a format is given; by default of its dtype."""
    if settles_memory:
        return hook.python_kernel("creation:empty_like")(self, dtype=dtype, device=device, memory_format=memory_format)
    return alloc_in_format_of(self, dtype, device, memory_format)


def new_empty(Tensor self not None, size, *, dtype=None, layout=None, device=None, pin_memory=None):
    """A tensor of the given size, and of self's dtype and device unless others are given."""
    if settles_memory:
        return hook.python_kernel("creation:new_empty")(self, size, dtype=dtype, device=device)
    return room_beside(self, size, dtype, device)


cdef Tensor room_beside(Tensor t, object size, object wanted, object place):
    return alloc(size, t.dt if wanted is None else wanted, t.dev if place is None else place)


cdef Tensor filled(Tensor t, int value):
    """A new tensor with a number in all of it that is an element of every dtype: 0 or 1."""
    if t.dev.type_code == KEY_META or t.nelem == 0:
        return t
    if value == 0 and is_little(t):
        memset(t.storage.data, 0, t.nelem * t.dt.itemsize)
        return t
    return t if fill_little(t, value) else hook.python_kernel("creation:write")(t, value)


def zeros(size, *, dtype=None, layout=None, device=None, pin_memory=None):
    """A tensor of the given size filled with 0."""
    return filled(alloc(size, dtype, device), 0)


def ones(size, *, dtype=None, layout=None, device=None, pin_memory=None):
    """A tensor of the given size filled with 1."""
    return filled(alloc(size, dtype, device), 1)


def zeros_like(Tensor self not None, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    """A tensor of self's size filled with 0."""
    return filled(alloc_in_format_of(self, dtype, device, memory_format), 0)


def ones_like(Tensor self not None, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    """A tensor of self's size filled with 1."""
    return filled(alloc_in_format_of(self, dtype, device, memory_format), 1)


def new_zeros(Tensor self not None, size, *, dtype=None, layout=None, device=None, pin_memory=None):
    """As `new_empty`, filled with 0."""
    return filled(room_beside(self, size, dtype, device), 0)


def new_ones(Tensor self not None, size, *, dtype=None, layout=None, device=None, pin_memory=None):
    """As `new_empty`, filled with 1."""
    return filled(room_beside(self, size, dtype, device), 1)


def full(size, fill_value, *, dtype=None, layout=None, device=None, pin_memory=None):
    """A tensor of the given size filled with a number; of its kind of dtype unless one is given."""
    kind = dtype_i64 if PyLong_CheckExact(fill_value) else common_dtype(fill_value)
    if kind is dtype_c32:                        # beside a default dtype of half precision
        kind = dtype_c64
    return filled_with(alloc(size, kind if dtype is None else dtype, device), fill_value)


def full_like(Tensor self not None, fill_value, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    """A tensor of self's size filled with a number."""
    return filled_with(alloc_in_format_of(self, dtype, device, memory_format), fill_value)


def new_full(Tensor self not None, size, fill_value, *, dtype=None, layout=None, device=None, pin_memory=None):
    """As `new_empty`, filled with a number."""
    return filled_with(room_beside(self, size, dtype, device), fill_value)


cdef Tensor filled_with(Tensor t, object value):
    """A new tensor with a number in all of it, which its dtype must be able to hold."""
    return t if fill_little(t, value) else hook.python_kernel("creation:fill_")(t, value)


def arange(end, *, dtype=None, layout=None, device=None, pin_memory=None):
    """0, 1, 2, ... below `end`."""
    cdef int64_t i, count
    cdef Tensor made
    if PyLong_CheckExact(end) and 0 <= end < RELEASE_GIL_FROM and as_device(device) is device_cpu \
            and (dtype is None or dtype is dtype_i64 or dtype is dtype_f32 or dtype is dtype_f64):
        count = end
        made = alloc_sizes(1, &count, dtype_i64 if dtype is None else dtype, device_cpu)
        for i in range(count):
            if made.dt is dtype_i64:
                (<int64_t*>made.storage.data)[i] = i
            else:
                put_real(made, i, <double>i)
        return made
    return hook.python_kernel("creation:arange")(end, dtype=dtype, device=device)


cdef Tensor line(object start, object end, object steps, dtype dt):
    """Few evenly spaced numbers; None for what is looked at in Python."""
    cdef int64_t count
    cdef Tensor made
    if not is_small_number(start) or not is_small_number(end) or not -1e30 < start < 1e30 or not -1e30 < end < 1e30 \
            or not PyLong_CheckExact(steps) or not 0 < steps < RELEASE_GIL_FROM or dt is not dtype_f32 and dt is not dtype_f64:
        return None
    count = steps
    made = alloc_sizes(1, &count, dt, device_cpu)
    c_kernel("mt_linspace", LINE_TYPES)(made, <double>start, <double>(start if count == 1 else end))
    return made


cdef tuple LINE_TYPES = ("desc", "f64", "f64")


def linspace(start, end, steps, *, dtype=None, layout=None, device=None, pin_memory=None):
    """`steps` evenly spaced numbers, both ends included."""
    cdef Tensor made = line(start, end, steps, default_dtype_ if dtype is None else dtype) if as_device(device) is device_cpu else None
    return hook.python_kernel("creation:linspace")(start, end, steps, dtype=dtype, device=device) if made is None else made


cdef Tensor powers(object base, Tensor exponents, dtype dt):
    cdef Tensor made = alloc_sizes(1, exponents.sizes, dt, device_cpu)
    cdef int64_t i
    for i in range(made.nelem):
        put_real(made, i, power(base, (<const double*>exponents.storage.data)[i]))
    return made


def logspace(start, end, steps, base=10.0, *, dtype=None, layout=None, device=None, pin_memory=None):
    """The powers of a number by evenly spaced exponents."""
    cdef object kind = default_dtype_ if dtype is None else dtype
    cdef Tensor exponents = None
    if as_device(device) is device_cpu and is_small_number(base) and (kind is dtype_f32 or kind is dtype_f64):
        exponents = line(start, end, steps, dtype_f64)
    if exponents is None:
        return hook.python_kernel("spacing:logspace")(start, end, steps, base, dtype=dtype, device=device)
    return powers(base, exponents, kind)


def eye(n, *, dtype=None, layout=None, device=None, pin_memory=None):
    """The identity matrix of n rows."""
    return eye_of(n, n, dtype=dtype, device=device)


def eye_of(n, m, *, dtype=None, layout=None, device=None, pin_memory=None):
    """The identity matrix of n rows and m columns."""
    cdef Tensor made
    cdef int64_t i
    cdef int itemsize
    if PyLong_CheckExact(n) and PyLong_CheckExact(m) and 0 < n < RELEASE_GIL_FROM and 0 < m < RELEASE_GIL_FROM and n * m < RELEASE_GIL_FROM:
        made = filled(alloc((n, m), dtype, device), 0)
        if is_little(made) and not made.keys & NARROW and put_number(made.dt.code, <char*>made.storage.data, True):
            itemsize = made.dt.itemsize
            for i in range(1, min(made.sizes[0], made.sizes[1])):
                memcpy(<char*>made.storage.data + i * (made.sizes[1] + 1) * itemsize, made.storage.data, itemsize)
            return made
    return hook.python_kernel("creation:eye_of")(n, m, dtype=dtype, device=device)


def tensor_of_lists(data, dtype wanted not None):
    """A new tensor of nested lists of numbers; None where modes follow, and for what is looked at in Python."""
    return tensor_of_numbers(data, wanted) if mt_state.included == MT_ALWAYS else None


# ---------------------------------------------------------------- functions of the top level
cdef enum QuickKind:
    QUICK_SIZED                # of sizes, as one sequence or apart: `zeros`
    QUICK_NUMBERS              # of what the operator takes: `arange`
    QUICK_LIKE                 # of a tensor: `zeros_like`
    QUICK_VALUES               # of numbers: `tensor`
    QUICK_ITSELF               # of numbers, or what there is already: `as_tensor`
    QUICK_ARRAY                # of an array of NumPy's: `from_numpy`
    QUICK_DIRECT               # of anything that does not override it: `relu`

cdef dict QUICK_KINDS = {"sized": QUICK_SIZED, "numbers": QUICK_NUMBERS, "like": QUICK_LIKE, "values": QUICK_VALUES,
                         "itself": QUICK_ITSELF, "array": QUICK_ARRAY, "direct": QUICK_DIRECT}

cdef struct Options:
    PyObject* dtype            # NULL: none is given
    PyObject* device
    bint requires_grad


cdef class QuickFunction:
    """A function in Python whose usual calls are answered here, as it would; what is not usual, or wrong, is for it.

    One of the kind "direct" stands before another one, `direct`, which is what it calls where nothing overrides it. Where
    that fails by one of the classes `failures`, ``explain(args, kwargs)`` returns what is raised instead, or None.
    """
    cdef vectorcallfunc vectorcall
    cdef readonly object __wrapped__
    cdef object direct, failures, explain
    cdef int kind
    cdef object packet         # aten's, once it was called
    cdef dict __dict__
    cdef object __weakref__

    def __init__(self, function not None, str kind not None, direct=None, tuple failures=(), explain=None):
        self.kind = QUICK_KINDS[kind]
        self.vectorcall = <vectorcallfunc>(call_direct if self.kind == QUICK_DIRECT else call_quick)
        self.__wrapped__, self.direct, self.failures, self.explain = function, direct, failures, explain
        for name in ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__"):
            setattr(self, name, getattr(function, name, None))

    def __get__(self, instance, owner):
        return self if instance is None or self.kind != QUICK_DIRECT else PyMethod_New(self, instance)

    def __repr__(self):
        return f"<function {self.__qualname__}>"

    def __reduce__(self):
        return self.__qualname__


cdef QuickFunction _quick_probe = QuickFunction.__new__(QuickFunction)
mt_enable_vectorcall(<PyTypeObject*>QuickFunction, <char*>&_quick_probe.vectorcall - <char*><PyObject*>_quick_probe, 0)
cdef tuple DTYPE_NAME = (sys.intern("dtype"),), DEVICE_NAME = (sys.intern("device"),)
cdef object DTYPE_OPTION = DTYPE_NAME[0], DEVICE_OPTION = DEVICE_NAME[0], GRAD_OPTION = sys.intern("requires_grad")


cdef PyObject* call_quick(PyObject* callable, PyObject** args, size_t nargsf, PyObject* kwnames) except NULL:
    cdef QuickFunction self = <QuickFunction>callable
    cdef Py_ssize_t n = PyVectorcall_NARGS(nargsf)
    cdef Options options
    result = NotImplemented
    if read_options(args + n, kwnames, &options):
        if self.kind <= QUICK_LIKE:
            result = quick_creation(self, args, n, &options)
        elif n == 1:
            result = quick_values(self, <object>args[0], &options)
    if result is NotImplemented:
        result = PyObject_Vectorcall(self.__wrapped__, args, nargsf, kwnames)
    elif options.requires_grad:
        result.requires_grad = True
    Py_INCREF(result)
    return <PyObject*>result


cdef PyObject* call_direct(PyObject* callable, PyObject** args, size_t nargsf, PyObject* kwnames) except NULL:
    cdef QuickFunction self = <QuickFunction>callable
    cdef Py_ssize_t i, n = PyVectorcall_NARGS(nargsf)
    cdef object function = self.__wrapped__ if mt_state.included & ~mt_state.excluded & TORCH_FUNCTION else self.direct
    for i in range(n + (0 if kwnames == NULL else PyTuple_GET_SIZE(<object>kwnames))):
        if overriding_value(<object>args[i]):
            function = self.__wrapped__
            break
    try:
        result = PyObject_Vectorcall(function, args, nargsf, kwnames)
    except self.failures:
        wrong = None
        if function is self.direct:
            given, keywords = given_to(args, nargsf, kwnames)
            wrong = self.explain(given, keywords)
        if wrong is None:
            raise
        raise wrong from None
    Py_INCREF(result)
    return <PyObject*>result


cdef bint read_options(PyObject** values, PyObject* kwnames, Options* options) noexcept:
    """The options of a call, where it has none but the usual ones."""
    cdef PyObject* name
    cdef Py_ssize_t i
    options.dtype = options.device = NULL
    options.requires_grad = False
    if kwnames == NULL:
        return True
    for i in range(PyTuple_GET_SIZE(<object>kwnames)):
        name = PyTuple_GET_ITEM(<object>kwnames, i)
        if values[i] == <PyObject*>None and (name == <PyObject*>DTYPE_OPTION or name == <PyObject*>DEVICE_OPTION):
            continue
        if name == <PyObject*>DTYPE_OPTION and Py_TYPE(values[i]) == <PyTypeObject*>dtype and (<dtype>values[i]).code != MT_QUANTIZED:
            options.dtype = values[i]
        elif name == <PyObject*>DEVICE_OPTION and (Py_TYPE(values[i]) == <PyTypeObject*>device or PyUnicode_CheckExact(<object>values[i])):
            options.device = values[i]
        elif name == <PyObject*>GRAD_OPTION and PyBool_Check(<object>values[i]):
            options.requires_grad = <object>values[i] is True
        else:
            return False
    return True


cdef object quick_creation(QuickFunction self, PyObject** args, Py_ssize_t n, Options* options):
    """A call of the operator, or NotImplemented."""
    cdef PyObject* flat[6]
    cdef Py_ssize_t i, count = n
    cdef object sizes = None
    cdef PyObject* names = NULL
    if n == 0 or mt_state.included & (PYTHON | TORCH_FUNCTION | TRACING):
        return NotImplemented
    if self.kind == QUICK_SIZED:
        sizes = sizes_given(args, n)
        if sizes is None:
            return NotImplemented
        flat[0], count = <PyObject*>sizes, 1
    elif n > 4 or self.kind == QUICK_LIKE and not (is_tensor(args[0]) and (<Tensor>args[0]).keys & OVERRIDES == 0):
        return NotImplemented
    else:
        memcpy(flat, args, n * sizeof(PyObject*))
    n = count
    if options.dtype != NULL:
        flat[n], names, n = options.dtype, <PyObject*>DTYPE_NAME, n + 1
    if options.device != NULL:
        flat[n], names, n = options.device, <PyObject*>(DEVICE_NAME if names == NULL else BOTH_NAMES), n + 1
    if self.packet is None:
        self.packet = aten(self.__name__)
    return PyObject_Vectorcall(self.packet, flat, count, names)


cdef object sizes_given(PyObject** args, Py_ssize_t n):
    """``f(2, 3)`` and ``f((2, 3))`` alike; None for what is looked at in Python."""
    cdef Py_ssize_t i
    if n == 1 and (PyTuple_Check(<object>args[0]) or PyList_CheckExact(<object>args[0])):
        return <object>args[0]
    for i in range(n):
        if not PyLong_CheckExact(<object>args[i]):
            return None
    return tuple_of(args, n)


cdef object quick_values(QuickFunction self, object data, Options* options):
    """A tensor of values, or NotImplemented."""
    if self.kind == QUICK_ARRAY:
        made = tensor_over_array(data) if options.dtype == NULL and options.device == NULL and not options.requires_grad else None
    elif options.device != NULL or mt_state.included != MT_ALWAYS or mt_state.default_device != NULL:
        return NotImplemented
    elif self.kind == QUICK_ITSELF and options.requires_grad:
        return NotImplemented
    elif self.kind == QUICK_ITSELF and type(data) is Tensor:
        made = data if (<Tensor>data).dev is device_cpu and (options.dtype == NULL or options.dtype == <PyObject*>(<Tensor>data).dt) else None
    else:
        made = tensor_of_numbers(data, None if options.dtype == NULL else <dtype>options.dtype)
    return NotImplemented if made is None else made
