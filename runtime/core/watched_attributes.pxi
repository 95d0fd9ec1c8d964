"""Attributes and methods of tensors that ``__torch_function__`` sees: ``x.shape``, ``x.grad = g``, ``x.size()``, ``x.to(...)``.

Programs without a mode or a subclass that overrides pay nothing: getters and methods of the core are exchanged for ones
that look the first time there is such a mode or tensor. Operators need none of this: dispatch finds them by their key.
"""

cdef extern from *:
    """
    typedef struct { getter get; setter set; void* closure; PyObject* descriptor; } mt_watched_getset;
    static PyGetSetDef* mt_getset_of(PyObject* descriptor) { return ((PyGetSetDescrObject*)descriptor)->d_getset; }
    static int mt_is_getset(PyObject* value) { return Py_TYPE(value) == &PyGetSetDescr_Type; }
    /* Where an object keeps the function that is called for it; NULL where it has none. */
    static vectorcallfunc* mt_vectorcall_place(PyObject* callable) {
        Py_ssize_t offset = Py_TYPE(callable)->tp_vectorcall_offset;
        return offset > 0 ? (vectorcallfunc*)((char*)callable + offset) : NULL;
    }
    """
    ctypedef PyObject* (*getter)(PyObject*, void*) except NULL
    ctypedef int (*setter)(PyObject*, PyObject*, void*) except -1
    ctypedef struct PyGetSetDef:
        getter get
        setter set
        void* closure
    ctypedef struct mt_watched_getset:
        getter get
        setter set
        void* closure
        PyObject* descriptor
    PyGetSetDef* mt_getset_of(object descriptor)
    bint mt_is_getset(object value)
    vectorcallfunc* mt_vectorcall_place(PyObject* callable)

cdef enum:
    MAX_WATCHED = 64
cdef struct WatchedMethod:
    PyObject* method
    vectorcallfunc call

cdef bint attributes_watched = False
cdef WatchedMethod watched_methods[MAX_WATCHED]
cdef int watched_count = 0
cdef object NOT_WATCHED = frozenset(["__dict__", "__weakref__"])


cdef bint is_method(object value):
    """Whether an attribute of Tensor is a method that is called through a pointer of its own."""
    return type(value).__name__ == "cython_function_or_method"


cdef int check_self_of_methods() except -1:
    """``Tensor.dim(3)`` is a TypeError, as it is of Python's own types."""
    for value in Tensor.__dict__.values():
        if is_method(value):
            mt_check_self(TensorType, mt_vectorcall_place(<PyObject*>value))
    return 0


check_self_of_methods()


def watch_attributes():
    """From now on ``__torch_function__`` sees attributes; called for the first tensor or mode that overrides it."""
    global attributes_watched, watched_count
    cdef vectorcallfunc* place
    if attributes_watched:
        return
    attributes_watched = True
    for name, value in Tensor.__dict__.items():
        if name in NOT_WATCHED:
            continue
        if mt_is_getset(value):
            watch_getset(value)
        elif is_method(value) and watched_count < MAX_WATCHED:
            place = mt_vectorcall_place(<PyObject*>value)
            watched_methods[watched_count].method = <PyObject*>value
            watched_methods[watched_count].call = place[0]
            place[0] = <vectorcallfunc>call_watched
            watched_count += 1


cdef int watch_getset(object descriptor) except -1:
    cdef PyGetSetDef* definition = mt_getset_of(descriptor)
    cdef mt_watched_getset* watched = <mt_watched_getset*>malloc(sizeof(mt_watched_getset))
    if watched == NULL:
        raise MemoryError()
    watched.get, watched.set, watched.closure = definition.get, definition.set, definition.closure
    watched.descriptor = <PyObject*>descriptor           # both live as long as the type
    definition.closure = watched
    definition.get = <getter>watched_get
    if definition.set != NULL:
        definition.set = <setter>watched_set
    return 0


cdef PyObject* watched_get(PyObject* t, void* closure) except NULL:
    cdef mt_watched_getset* watched = <mt_watched_getset*>closure
    if not is_overridden(<Tensor>t):
        if is_asked(<Tensor>t):
            result = hook.asked_attribute(<object>t, (<object>watched.descriptor).__name__, (), {})
            if result is not NotImplemented:
                return new_pointer(result)
        return watched.get(t, watched.closure)
    result = hook.overridden_attribute((<object>watched.descriptor).__get__, <object>t)
    Py_INCREF(result)
    return <PyObject*>result


cdef int watched_set(PyObject* t, PyObject* value, void* closure) except -1:
    cdef mt_watched_getset* watched = <mt_watched_getset*>closure
    if not is_overridden(<Tensor>t):
        return watched.set(t, value, watched.closure)
    if value == NULL:
        hook.overridden_attribute((<object>watched.descriptor).__delete__, <object>t)
    else:
        hook.overridden_attribute((<object>watched.descriptor).__set__, <object>t, <object>value)
    return 0


cdef PyObject* call_watched(PyObject* method, PyObject** args, size_t nargsf, PyObject* kwnames) except NULL:
    cdef int i = 0
    while watched_methods[i].method != method:
        i += 1
    if not overrides_first(args, nargsf):
        if PyVectorcall_NARGS(nargsf) > 0 and PyObject_TypeCheck(args[0], TensorType) and is_asked(<Tensor>args[0]):
            given, keywords = given_to(args, nargsf, kwnames)
            result = hook.asked_attribute(given[0], (<object>method).__name__, tuple(given[1:]), keywords)
            if result is not NotImplemented:
                return new_pointer(result)
        return watched_methods[i].call(method, args, nargsf, kwnames)
    return ask_overrides(method, args, nargsf, kwnames)


cdef inline bint overrides_first(PyObject** args, size_t nargsf):
    """Whether the first argument of a call is a tensor that is overridden."""
    return PyVectorcall_NARGS(nargsf) > 0 and PyObject_TypeCheck(args[0], TensorType) and is_overridden(<Tensor>args[0])


cdef inline PyObject* new_pointer(object value) noexcept:
    Py_INCREF(value)
    return <PyObject*>value


cdef tuple given_to(PyObject** args, size_t nargsf, PyObject* kwnames):
    """The arguments of a call, positional ones and by keyword."""
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf), i
    given = [<object>args[i] for i in range(count)]
    names = () if kwnames == NULL else <object>kwnames
    return given, {name: <object>args[count + n] for n, name in enumerate(names)}


cdef PyObject* ask_overrides(PyObject* method, PyObject** args, size_t nargsf, PyObject* kwnames) except NULL:
    given, keywords = given_to(args, nargsf, kwnames)
    result = hook.overridden_attribute(<object>method, *given, **keywords)
    Py_INCREF(result)
    return <PyObject*>result


cdef class overridable:
    """A Python function as a method of tensors that ``__torch_function__`` sees called."""
    cdef vectorcallfunc vectorcall
    cdef readonly object __wrapped__
    cdef dict __dict__

    def __init__(self, function not None):
        self.vectorcall = <vectorcallfunc>call_overridable
        self.__wrapped__ = function
        for name in ("__name__", "__qualname__", "__doc__", "__module__"):
            setattr(self, name, getattr(function, name, None))

    def __get__(self, instance, owner):
        return self if instance is None else PyMethod_New(self, instance)

    def __repr__(self):
        return f"<method '{self.__name__}' of 'torch.Tensor' objects>"


cdef overridable _overridable_probe = overridable.__new__(overridable)
mt_enable_vectorcall(<PyTypeObject*>overridable,
                     <char*>&_overridable_probe.vectorcall - <char*><PyObject*>_overridable_probe, 1)


cdef PyObject* call_overridable(PyObject* method, PyObject** args, size_t nargsf, PyObject* kwnames) except NULL:
    if attributes_watched and overrides_first(args, nargsf):
        return ask_overrides(method, args, nargsf, kwnames)
    result = PyObject_Vectorcall((<overridable>method).__wrapped__, args, nargsf, kwnames)
    Py_INCREF(result)
    return <PyObject*>result


def overridden(Tensor t not None):
    """Whether ``__torch_function__`` of the tensor's class or of a mode sees what is done with it."""
    return is_overridden(t)


def any_overridden(values not None):
    """Whether `overridden` holds for any tensor among these; quick where nothing ever overrode."""
    if not attributes_watched:
        return False
    for value in values:
        if isinstance(value, Tensor) and is_overridden(<Tensor>value):
            return True
    return False


def overrides_among(tuple args not None, dict kwargs not None):
    """Whether a mode, a tensor or anything else among a function's arguments, in lists too, brings ``__torch_function__``."""
    if mt_state.included & ~mt_state.excluded & TORCH_FUNCTION:
        return True
    return overriding_values(args) or len(kwargs) > 0 and overriding_values(tuple(kwargs.values()))


cdef bint overriding_values(values) except -1:
    for value in values:
        if overriding_value(value):
            return True
    return False


cdef bint overriding_value(value) except -1:
    if value is None or PyLong_Check(value) or PyFloat_Check(value) or isinstance(value, str):
        return False
    if isinstance(value, Tensor):
        return attributes_watched and is_overridden(<Tensor>value)
    if isinstance(value, (tuple, list)):
        return overriding_values(value)
    return getattr(type(value), "__torch_function__", disabled_torch_function) is not disabled_torch_function
