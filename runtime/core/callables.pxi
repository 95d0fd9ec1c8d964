"""Callables that stand before others, so that a call through them has no frame of Python's."""

@cython.final
cdef class LateFunction:
    """A function that ``find()`` is asked for at the first call."""
    cdef vectorcallfunc vectorcall
    cdef object find, found
    cdef readonly str __name__, __doc__
    cdef object __weakref__

    def __init__(self, find not None, str name not None, str doc not None):
        self.vectorcall = <vectorcallfunc>call_late
        self.find, self.__name__, self.__doc__ = find, name, doc

    def __repr__(self):
        return f"<function {self.__name__}: {self.__doc__}>"


cdef LateFunction _late_probe = LateFunction.__new__(LateFunction)
mt_enable_vectorcall(<PyTypeObject*>LateFunction, <char*>&_late_probe.vectorcall - <char*><PyObject*>_late_probe, 0)
mt_whole_late_function_install(<PyTypeObject*>LateFunction)


cdef object call_late(object callable, PyObject** args, size_t nargsf, PyObject* kwnames):
    cdef LateFunction self = <LateFunction>callable
    if self.found is None:
        self.found = self.find()
    return PyObject_Vectorcall(self.found, args, nargsf, kwnames)


@cython.final
cdef class TupleForm:
    """What calls a packet whose operators return lists, and returns tuples: its function and method."""
    cdef vectorcallfunc vectorcall
    cdef readonly OpOverloadPacket packet
    cdef object __weakref__

    def __init__(self, OpOverloadPacket packet not None):
        self.vectorcall = <vectorcallfunc>call_for_tuple
        self.packet = packet

    @property
    def __name__(self):
        return self.packet.__name__

    @property
    def __qualname__(self):
        return self.packet.__name__

    @property
    def __module__(self):
        return "torch"

    @property
    def __doc__(self):
        return self.packet.__doc__

    def __get__(self, instance, owner):
        return self if instance is None else PyMethod_New(self, instance)

    def __repr__(self):
        return f"<function {self.packet.__name__}>"


cdef TupleForm _form_probe = TupleForm.__new__(TupleForm)
mt_enable_vectorcall(<PyTypeObject*>TupleForm, <char*>&_form_probe.vectorcall - <char*><PyObject*>_form_probe, 1)
mt_whole_tuple_form_install(<PyTypeObject*>TupleForm)


cdef object call_for_tuple(object callable, PyObject** args, size_t nargsf, PyObject* kwnames):
    result = PyObject_Vectorcall((<TupleForm>callable).packet, args, nargsf, kwnames)
    return PyList_AsTuple(result) if PyList_CheckExact(result) else result
