"""``Tensor.backward`` as nearly every program calls it: nothing of Python's between the call and the pass."""

cdef class BackwardMethod(overridable):
    """As `overridable`; from a plain tensor, with at most a gradient, the pass starts at once."""

    def __init__(self, function not None):
        overridable.__init__(self, function)
        self.vectorcall = <vectorcallfunc>call_backward


cdef BackwardMethod _backward_probe = BackwardMethod.__new__(BackwardMethod)
mt_enable_vectorcall(<PyTypeObject*>BackwardMethod,
                     <char*>&_backward_probe.vectorcall - <char*><PyObject*>_backward_probe, 1)


cdef PyObject* call_backward(PyObject* method, PyObject** args, size_t nargsf, PyObject* kwnames) except NULL:
    cdef Py_ssize_t n = PyVectorcall_NARGS(nargsf)
    cdef PyObject* first
    if kwnames != NULL or not 1 <= n <= 2 or mt_state.transform or not is_tensor(args[0]) or is_overridden(<Tensor>args[0]) \
            or n == 2 and args[1] != <PyObject*>None and not is_tensor(args[1]):
        return call_overridable(method, args, nargsf, kwnames)
    start = start_at(<object>args[0], None if n == 1 else <object>args[1], 0)
    first = <PyObject*>start
    backward_pass(args, &first, 1, False, False, None, False)
    Py_INCREF(None)
    return <PyObject*>None
