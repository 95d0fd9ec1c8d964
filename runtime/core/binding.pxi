"""Binding a call's arguments, once, to schema order: keywords placed, defaults filled in, types checked (conversion.pxi)."""

cdef enum:                     # how a call is bound, as flags
    BIND_EXPLAIN = 1           # raise where it does not fit
    BIND_EXACT = 2             # no tensor stands for a number: while overloads are chosen, one for tensors goes first
    BIND_WRAP = 4              # a number stands for a tensor
    BIND_CAST = 8              # an overload called by its own name: values are cast as those of a schema, not as a function's
    BIND_SYMBOLIC = 16         # of one argument: what casts is wanted as a SymInt
    BIND_PARTS = 32            # a method: a list that comes last may be given in parts
    BIND_ITEM = 64             # of an item of a list: a tensor of one element is an int, also where it has dimensions
    BIND_NAMED = 128           # called as a function or method: several results are returned under their names
    BIND_METHOD = 256          # called as a method or by an operator, which is what `__torch_function__` hears

cdef dict ARG_KINDS = {
    "Tensor": ARG_TENSOR, "int": ARG_INT, "SymInt": ARG_INT, "DeviceIndex": ARG_INT, "float": ARG_FLOAT, "bool": ARG_BOOL,
    "SymBool": ARG_BOOL, "str": ARG_STR, "Scalar": ARG_SCALAR, "ScalarType": ARG_DTYPE, "Device": ARG_DEVICE,
    "Layout": ARG_LAYOUT, "MemoryFormat": ARG_MEMORY_FORMAT, "Generator": ARG_GENERATOR,
    "Storage": ARG_STORAGE,
}
cdef dict LIST_KINDS = {
    "Tensor": ARG_TENSOR_LIST, "Tensor?": ARG_OPT_TENSOR_LIST, "int": ARG_INT_LIST, "SymInt": ARG_INT_LIST,
    "float": ARG_FLOAT_LIST, "bool": ARG_BOOL_LIST, "Scalar": ARG_SCALAR_LIST,
}
# What an error calls each kind.
cdef inline int element_kind(int kind) noexcept:
    """What a list kind holds; ARG_ANY for what is no list."""
    if kind == ARG_TENSOR_LIST or kind == ARG_OPT_TENSOR_LIST:
        return ARG_TENSOR
    if kind == ARG_INT_LIST:
        return ARG_INT
    if kind == ARG_FLOAT_LIST:
        return ARG_FLOAT
    if kind == ARG_BOOL_LIST:
        return ARG_BOOL
    return ARG_SCALAR if kind == ARG_SCALAR_LIST else ARG_ANY


cdef void release_bound(Bound* bound) noexcept:
    cdef int i
    for i in range(bound.made_count):
        Py_DECREF(<object>bound.made[i])
    bound.made_count = 0


cdef inline PyObject* keep(Bound* bound, object value):
    Py_INCREF(value)
    bound.made[bound.made_count] = <PyObject*>value
    bound.made_count += 1
    return <PyObject*>value


@cython.final
cdef class Signature:
    """A schema's arguments as the call path needs them."""

    def __init__(self, schema, str qualname):
        cdef int i
        self.schema, self.qualname = schema, qualname
        self.count, self.positional = len(schema.arguments), len(schema.positional)
        if self.count > MAX_ARGS - 1:
            raise ValueError(f"{qualname}: {self.count} arguments, but at most {MAX_ARGS - 1} are supported")
        self.varargs = self.device_arg = -1
        self.needs = {}
        for i, argument in enumerate(schema.arguments):
            self.args[i] = arg_spec(argument.type)
            self.args[i].refuses_bool = argument.name in REFUSED_BOOLS.get(qualname.partition(".")[0].rstrip("_"), ())
            self.args[i].is_factor = self.args[i].refuses_bool and argument.name == "alpha"
            if self.args[i].kind in (ARG_TENSOR_LIST, ARG_OPT_TENSOR_LIST):
                self.has_lists = True
            if self.args[i].kind == ARG_TENSOR:
                self.tensor_at[self.tensor_args] = i
                self.tensor_args += 1
            if self.args[i].kind == ARG_DEVICE:
                self.device_arg = i
        if self.positional and self.args[self.positional - 1].kind == ARG_INT_LIST and self.positional <= 2:
            self.varargs = self.positional - 1
        self.names = tuple([sys.intern(a.name) for a in schema.arguments])
        self.kwnames = self.names[self.positional:] or None
        self.defaults = tuple([runtime_default(a) for a in schema.arguments])
        self.required = sum([value is NO_DEFAULT for value in self.defaults])

cdef object NO_DEFAULT = object()


cdef ArgSpec arg_spec(object type):
    cdef ArgSpec spec
    text = str(type)
    spec.list_size = 0
    spec.symbolic = text.startswith("SymInt")
    spec.refuses_bool = spec.is_factor = False
    spec.optional = text.endswith("?")
    if spec.optional:
        text = text.removesuffix("?")
    if text.endswith("]"):
        element, _, size = text.removesuffix("]").rpartition("[")
        spec.kind = LIST_KINDS.get(element, ARG_ANY)
        spec.list_size = int(size) if size else 0
    else:
        spec.kind = ARG_KINDS.get(text, ARG_ANY)
    return spec


# Identifiers that schemas use as defaults, by the value a kernel gets.
cdef dict NAMED_DEFAULTS = {"Mean": 1, "None": 0, "Sum": 2, "long": dtype_i64, "float": dtype_f32, "double": dtype_f64}


cdef object runtime_default(object argument):
    if not argument.has_default:
        return NO_DEFAULT
    value = argument.default_value
    name = getattr(value, "name", None)
    if name is not None:
        value = NAMED_DEFAULTS.get(name)
        return dtypes.get(name, name) if value is None else value
    if isinstance(value, str) and str(argument.type).startswith("Device"):
        return device(value)
    if isinstance(value, int) and not isinstance(value, bool) and str(argument.type).startswith("float"):
        return float(value)
    return value


cdef inline bint matches(int kind, PyObject* value) noexcept:
    """Whether a value is of a kind as it stands (the common case, no conversion)."""
    if kind == ARG_TENSOR:
        return is_tensor(value)
    if kind == ARG_INT:
        return PyLong_Check(<object>value)
    if kind == ARG_FLOAT:
        return PyFloat_Check(<object>value)
    if kind == ARG_SCALAR:
        return PyFloat_Check(<object>value) or PyLong_Check(<object>value) or PyComplex_Check(<object>value)
    if kind == ARG_BOOL:
        return PyBool_Check(<object>value)
    if kind == ARG_STR:
        return PyUnicode_Check(<object>value)
    if kind == ARG_DTYPE:
        return Py_TYPE(value) == <PyTypeObject*>dtype and (<dtype>value).code != MT_QUANTIZED
    if kind == ARG_DEVICE:
        return Py_TYPE(value) == <PyTypeObject*>device
    if kind == ARG_STORAGE:
        return isinstance(<object>value, UntypedStorage)
    return kind == ARG_ANY


cdef enum:                     # what `fit` found
    MISFIT, FITS, TOO_WIDE


cdef inline bint is_wide(PyObject* number) noexcept:
    """Whether a Python int needs more than 64 bits."""
    cdef int overflow = 0
    PyLong_AsLongLongAndOverflow(<object>number, &overflow)
    return overflow != 0


cdef inline bint is_long(PyObject* number) noexcept:
    """Whether a Python int may have more digits than a double."""
    cdef int overflow = 0
    cdef int64_t found = PyLong_AsLongLongAndOverflow(<object>number, &overflow)
    return overflow != 0 or not -((<int64_t>1) << 53) <= found <= (<int64_t>1) << 53


cdef inline int fit_number(int kind, PyObject** slot, Bound* bound) except -1:
    """As `fit`, for a number where an int or a Scalar is wanted: there must be 64 bits for it."""
    cdef PyObject* value = slot[0]
    if kind == ARG_INT and PyBool_Check(<object>value):
        if not bound.mode & BIND_CAST:
            return MISFIT                                    # of a function's ints none is a bool
        slot[0] = keep(bound, 1 if <object>value else 0)
        return FITS
    if not PyLong_Check(<object>value) or not is_wide(value):
        return FITS
    if kind == ARG_INT:
        return TOO_WIDE
    dtype_of_integer(<object>value)          # uint64, or OverflowError
    return FITS


cdef int fit(ArgSpec* spec, PyObject** slot, Bound* bound) except -1:
    """Whether the value fits its argument; it is converted in place where needed."""
    cdef PyObject* value = slot[0]
    cdef int element
    if matches(spec.kind, value):
        return fit_number(spec.kind, slot, bound) if spec.kind == ARG_INT or spec.kind == ARG_SCALAR else FITS
    if value == <PyObject*>None:
        if spec.optional:
            return FITS
        if not (spec.kind == ARG_BOOL and bound.mode & BIND_CAST):          # where None is False
            return MISFIT
    element = element_kind(spec.kind)
    if element != ARG_ANY:
        return fit_list(spec, element, slot, bound)
    converted = convert(spec.kind, <object>value, bound.mode | (BIND_SYMBOLIC if spec.symbolic else 0))
    if converted is NO_DEFAULT:
        return MISFIT
    slot[0] = keep(bound, converted)
    return fit_number(spec.kind, slot, bound) if spec.kind == ARG_INT or spec.kind == ARG_SCALAR else FITS


cdef int fit_list(ArgSpec* spec, int element, PyObject** slot, Bound* bound) except -1:
    cdef object value = <object>slot[0]
    cdef bint as_given = True
    if not (PyTuple_Check(value) or PyList_Check(value)):
        if spec.list_size and matches(element, slot[0]):     # `int[2]` takes one int for both
            found = fit_number(element, slot, bound) if element == ARG_INT else FITS
            slot[0] = keep(bound, [<object>slot[0]] * spec.list_size)
            return found
        if spec.list_size and element == ARG_INT and not bound.mode & BIND_CAST:
            return fit_one(spec, slot, bound)
        if not bound.mode & BIND_CAST or element == ARG_TENSOR or not is_sequence(value, spec.symbolic):
            return MISFIT
        return fit_items(spec, element, value, slot, bound)
    if bound.mode & BIND_CAST and not (PyTuple_CheckExact(value) or PyList_CheckExact(value) or type(value) is Size):
        return fit_items(spec, element, value, slot, bound)  # of a class of the caller's: what it says its items are
    if PyList_Check(value) and not (bound.made_count and bound.made[bound.made_count - 1] == slot[0]):
        # A copy, which nothing else can change: converting an element or another argument runs code of the caller's.
        value = PyList_GetSlice(value, 0, PyList_GET_SIZE(value))
        slot[0] = keep(bound, value)
    for item in value:
        if matches(element, <PyObject*>item):
            if element == ARG_INT:
                if PyBool_Check(item):
                    as_given = False
                    break
                if is_wide(<PyObject*>item):
                    return TOO_WIDE
        elif item is not None or spec.kind != ARG_OPT_TENSOR_LIST:
            as_given = False
            break
    return FITS if as_given else convert_list(spec, element, value, slot, bound)


cdef int fit_one(ArgSpec* spec, PyObject** slot, Bound* bound) except -1:
    """As `fit_list`, for `int[2]` and what may stand for one int: a number of NumPy's, a tensor of one element."""
    cdef object value = <object>slot[0]
    if not isinstance(value, Tensor) and not is_numpy_scalar(value):
        return MISFIT
    number = convert(ARG_INT, value, bound.mode | BIND_ITEM)
    if number is NO_DEFAULT or PyBool_Check(number) and not isinstance(value, Tensor):
        return MISFIT
    slot[0] = keep(bound, [number + 0] * spec.list_size)
    return FITS


cdef int fit_items(ArgSpec* spec, int element, object value, PyObject** slot, Bound* bound) except -1:
    """As `fit_list`, where the items come from an object of the caller's."""
    items = guarded_items(value)
    return MISFIT if items is None else convert_list(spec, element, items, slot, bound)


cdef int convert_list(ArgSpec* spec, int element, object value, PyObject** slot, Bound* bound) except -1:
    """As `fit_list`, where some element does not fit as it stands."""
    cdef list converted = []
    for item in value:
        if not matches(element, <PyObject*>item):
            if element == ARG_TENSOR:
                if item is not None or spec.kind != ARG_OPT_TENSOR_LIST:
                    return MISFIT
            else:
                if spec.symbolic and isinstance(item, Tensor) and (<Tensor>item).dt.category != CATEGORY_INT:
                    return MISFIT
                item = convert(element, item, bound.mode | BIND_ITEM | (BIND_SYMBOLIC if spec.symbolic else 0))
            if item is NO_DEFAULT:
                return MISFIT
        elif element == ARG_INT and PyBool_Check(item):
            if not converted and not bound.mode & BIND_CAST:
                return MISFIT                                # PyTorch's functions look at the first item
            item = 1 if item else 0
        if element == ARG_INT and is_wide(<PyObject*>item):
            return TOO_WIDE
        converted.append(item)
    slot[0] = keep(bound, converted)
    return FITS


cdef inline bint fits_as_given(ArgSpec* spec, PyObject* value) noexcept:
    """Whether `fit` has nothing to do, as in nearly all calls."""
    if not matches(spec.kind, value):
        return False
    if spec.kind == ARG_INT:
        return PyLong_CheckExact(<object>value) and not is_wide(value)       # bools are a kind of int
    if spec.kind == ARG_SCALAR and PyLong_Check(<object>value):
        return not is_wide(value) and not (spec.refuses_bool and (PyBool_Check(<object>value) or spec.is_factor and is_long(value)))
    return not spec.is_factor


cdef inline bint reads_tensor(ArgSpec* spec, PyObject* value, int mode) noexcept:
    """Whether a number is to be taken from a tensor."""
    return not mode & BIND_EXACT and (spec.kind == ARG_SCALAR or spec.kind == ARG_FLOAT or spec.kind == ARG_INT) \
        and is_tensor(value) and (<Tensor>value).nelem == 1


cdef int accept(Signature sig, int at, Bound* bound, bint explain) except -1:
    """1 where what was given for an argument fits it, 0 where it does not; raises as `bind` does.

    A tensor that stands for a number is read by `read_numbers`, once all others fit: on meta there is nothing to read, which
    is no error of a call that does not fit, and elsewhere to read waits for a device.
    """
    if reads_tensor(&sig.args[at], bound.slots[at], bound.mode):
        bound.unread |= <uint64_t>1 << at
        return 1
    return accept_converted(sig, at, bound, explain)


cdef int read_numbers(Signature sig, Bound* bound, bint explain) except -1:
    """As `accept`, for the tensors that stand for numbers."""
    cdef int at
    for at in range(sig.count):
        if bound.unread >> at & 1 and not accept_converted(sig, at, bound, explain):
            return 0
    return 1


cdef int accept_converted(Signature sig, int at, Bound* bound, bint explain) except -1:
    cdef int found = fit(&sig.args[at], &bound.slots[at], bound)
    if found == FITS:
        if sig.args[at].refuses_bool:
            check_factor(sig, at, bound)
        return 1
    if <object>bound.slots[at] is None and bound.mode & BIND_NAMED and <object>PyTuple_GET_ITEM(sig.defaults, at) == []:
        bound.slots[at] = PyTuple_GET_ITEM(sig.defaults, at)     # to functions and methods None is no dimensions, no stride
        return 1
    if found == TOO_WIDE:
        raise IntegerOverflow(f"{sig.qualname}(): argument '{sig.names[at]}' (position {at + 1}): Overflow when unpacking long long: "
                              f"{<object>bound.slots[at]} needs more than 64 bits")
    if explain:
        raise cold.wrong_type(sig, at, <object>bound.slots[at])
    return 0


cdef int bind(Signature sig, PyObject** args, Py_ssize_t nargs, PyObject* kwnames, Bound* bound, int mode) except -1:
    """Fills bound.slots; 1 on success. Where the call does not fit: raises TypeError if `mode` has EXPLAIN, else returns 0."""
    cdef bint explain = mode & BIND_EXPLAIN
    cdef Py_ssize_t i, keywords = 0 if kwnames == NULL else PyTuple_GET_SIZE(<object>kwnames)
    cdef Py_ssize_t placed = nargs
    bound.made_count = 0
    bound.unread = 0
    bound.mode = mode
    if nargs >= sig.positional:
        placed = take_positional(sig, args, nargs, bound)
        if placed < 0:
            if explain:
                raise cold.too_many(sig, nargs)
            return 0
    else:
        for i in range(nargs):
            bound.slots[i] = args[i]
    if keywords == 0:
        if placed < sig.required and not explain:         # not for the conversion of what was given to fail
            return 0
        for i in range(placed):
            if not fits_as_given(&sig.args[i], bound.slots[i]) and not accept(sig, i, bound, explain):
                return 0
        if placed == sig.count:
            return 1 if bound.unread == 0 else read_numbers(sig, bound, explain)
    for i in range(placed, sig.count):
        bound.slots[i] = NULL
    for i in range(keywords):
        if not place_keyword(sig, <object>PyTuple_GET_ITEM(<object>kwnames, i), args[nargs + i], placed, bound, explain):
            return 0
    for i in range(0 if keywords else placed, sig.count):        # names first: of two mistakes PyTorch tells that of a name
        if bound.slots[i] == NULL:
            bound.slots[i] = <PyObject*>PyTuple_GET_ITEM(sig.defaults, i)
            if bound.slots[i] == <PyObject*>NO_DEFAULT:
                if explain:
                    raise cold.missing(sig, bound)
                return 0
        elif not fits_as_given(&sig.args[i], bound.slots[i]) and not accept(sig, i, bound, explain):
            return 0
    return 1 if bound.unread == 0 else read_numbers(sig, bound, explain)


cdef inline bint is_int_like(PyObject* value):
    """An int, or what stands for one: it has an ``__index__``, or is a tensor of one element."""
    if PyLong_Check(<object>value):
        return True
    return (<Tensor>value).nelem == 1 if PyObject_TypeCheck(value, TensorType) else PyIndex_Check(<object>value)


cdef Py_ssize_t take_positional(Signature sig, PyObject** args, Py_ssize_t nargs, Bound* bound) except -2:
    """As many positional arguments as there are places; `x.view(2, 3)` gives the rest to the int list. -1: too many."""
    cdef Py_ssize_t i
    if sig.varargs >= 0 and bound.mode & BIND_PARTS and nargs > sig.varargs and is_int_like(args[sig.varargs]) \
            and (nargs > sig.positional or sig.args[sig.varargs].list_size == 0):
        for i in range(sig.varargs):
            bound.slots[i] = args[i]
        bound.slots[sig.varargs] = keep(bound, [<object>args[i] for i in range(sig.varargs, nargs)])
        return sig.positional
    if nargs > sig.positional:
        return -1
    for i in range(nargs):
        bound.slots[i] = args[i]
    return nargs


# What functions call "input", and what they and methods take by the names of NumPy too, as PyTorch does.
cdef dict OTHER_NAMES = {"input": "self", "axis": "dim", "keepdims": "keepdim", "x": "self", "a": "self", "x1": "self", "x2": "other"}


cdef int place_keyword(Signature sig, object name, PyObject* value, Py_ssize_t placed, Bound* bound, bint explain) except -1:
    cdef int i, at = -1
    for i in range(sig.count):
        if PyTuple_GET_ITEM(sig.names, i) == <PyObject*>name:          # interned: nearly always the same object
            at = i
            break
    if at < 0:
        for i in range(sig.count):
            if <object>PyTuple_GET_ITEM(sig.names, i) == name:
                at = i
                break
    if at < 0 and bound.mode & BIND_NAMED and OTHER_NAMES.get(name) in sig.names:
        return place_keyword(sig, OTHER_NAMES[name], value, placed, bound, explain)
    if at < 0 or bound.slots[at] != NULL or at < placed:
        if explain:
            raise cold.unexpected_keyword(sig, name, at)
        return 0
    bound.slots[at] = value
    return 1


class ArgumentError(TypeError, RuntimeError):
    """A call does not fit an operator's schema. PyTorch raises TypeError from functions, RuntimeError from torch.ops."""


cdef bint is_stranger(object value):
    """Whether a value stands for a tensor without being one of ours: it defines ``__torch_function__``."""
    return not isinstance(value, Tensor) and hasattr(type(value), "__torch_function__")


cdef bint answers_for_itself(object value):
    """Whether a value is a stranger, or a tensor of a class that defines ``__torch_function__``."""
    return is_stranger(value) or isinstance(value, Tensor) and type(value).__torch_function__ != Tensor.__torch_function__


cdef tuple items_shown(object value):
    """The items of a list or tuple, whatever a class of the caller's makes of `len` and `iter`."""
    if PyList_Check(value):
        return PyList_AsTuple(value)
    return PyTuple_GetSlice(value, 0, PyTuple_GET_SIZE(value)) if PyTuple_Check(value) else ()
