"""``x.to(...)`` and ``x.double()`` as nearly every program calls them; other forms are for `_tensor_methods.py`."""

cdef enum:
    MANY_NAMES = 64


cdef class ConversionMethod(overridable):
    """As `overridable`; of a plain tensor and one argument (with ``copy=``), or a method's own dtype, what is wanted is settled here."""
    cdef dtype target              # of ``x.double()``; None: the argument says what is wanted
    cdef device place              # of ``x.cpu()``
    cdef bint takes_tensors        # alone, as ``x.type_as(y)``

    def __init__(self, function not None, target=None, bint takes_tensors=False, place=None):
        overridable.__init__(self, function)
        self.vectorcall, self.takes_tensors = <vectorcallfunc>call_conversion, takes_tensors
        self.target = <dtype?>target if target is not None else None
        self.place = <device?>place if place is not None else None


cdef ConversionMethod _conversion_probe = ConversionMethod.__new__(ConversionMethod)
mt_enable_vectorcall(<PyTypeObject*>ConversionMethod,
                     <char*>&_conversion_probe.vectorcall - <char*><PyObject*>_conversion_probe, 1)
cdef tuple BOTH_NAMES = ("dtype", "device")
cdef tuple COPY_NAME = (sys.intern("copy"),)


cdef PyObject* call_conversion(PyObject* method, PyObject** args, size_t nargsf, PyObject* kwnames) except NULL:
    cdef Py_ssize_t n = PyVectorcall_NARGS(nargsf)
    cdef dtype target = (<ConversionMethod>method).target
    cdef device place = (<ConversionMethod>method).place
    cdef PyObject* wanted = NULL
    cdef device where
    cdef Tensor t
    cdef PyObject* given_names = kwnames
    cdef bint copy = False
    if n > 1 and target is None and place is None:
        wanted = args[1]
        if kwnames != NULL and not (<ConversionMethod>method).takes_tensors and PyTuple_GET_SIZE(<object>kwnames) == 1 and PyBool_Check(<object>args[2]) \
                and <object>kwnames == COPY_NAME and n == 2:
            copy = <object>args[2] is True
            kwnames = NULL
    if kwnames != NULL or n != (2 if target is None and place is None else 1) or not is_tensor(args[0]) or is_overridden(<Tensor>args[0]) \
            or wanted != NULL and not (is_like_any(wanted) or not (<ConversionMethod>method).takes_tensors and says_where(wanted)):
        if n > 1 and attributes_watched and is_tensor(args[1]) and is_overridden(<Tensor>args[1]):
            return ask_overrides(method, args, nargsf, given_names)
        return call_overridable(method, args, nargsf, given_names)
    t = <Tensor>args[0]
    where = t.dev
    if wanted != NULL and Py_TYPE(wanted) == <PyTypeObject*>dtype:
        target = <dtype>wanted
    elif wanted != NULL and is_tensor(wanted):
        target, where = (<Tensor>wanted).dt, (<Tensor>wanted).dev
    elif place is not None:
        where = t.dev if place.type_code == t.dev.type_code else place
    elif wanted != NULL:
        where = named_device(<object>wanted)
        if where.type_code == t.dev.type_code and (where.index_code < 0 or where.index_code == t.dev.index_code):
            where = t.dev
    if target is None:
        target = t.dt
    if watched & WATCH_PROFILE:
        result = converted_for_profiler(t, target, where, copy)
    else:
        result = t if target is t.dt and where is t.dev and not copy else converted(t, target, where)
    Py_INCREF(result)
    return <PyObject*>result


cdef inline bint says_where(PyObject* value) noexcept:
    """Whether an argument is a dtype, a device, or a device's name."""
    return Py_TYPE(value) == <PyTypeObject*>dtype or Py_TYPE(value) == <PyTypeObject*>device or PyUnicode_CheckExact(<object>value)


cdef inline bint is_like_any(PyObject* value) noexcept:
    """Whether an argument is a tensor whose class does not answer for itself."""
    return is_tensor(value) and (<Tensor>value).keys & (TORCH_FUNCTION | ASKED) == 0


cdef dict devices_by_name = {"cpu": device_cpu, "meta": device_meta}


cdef device named_device(object value):
    """A device, with an index only where one is given; the same object as before for a name that is common."""
    found = devices_by_name.get(value) if PyUnicode_CheckExact(value) else value
    if found is None:
        found = device(value)
        if len(devices_by_name) < MANY_NAMES:
            devices_by_name[value] = found
    return <device>found


cdef object converted_for_profiler(Tensor t, dtype target, device where, bint copy):
    """With the operator whose call this is, of which nothing is left but what it calls."""
    cdef int64_t span = cold.open_span("cpu_op", "aten::to")
    try:
        return t if target is t.dt and where is t.dev and not copy else converted(t, target, where)
    finally:
        cold.close_span(span)


cdef object converted(Tensor t, dtype target, device where):
    cdef PyObject* args[3]
    args[0], args[1], args[2] = <PyObject*>t, <PyObject*>target, <PyObject*>where
    return PyObject_Vectorcall((<OpOverloadPacket>aten("_to_copy")).ops[0], args, 1, <PyObject*>BOTH_NAMES)
