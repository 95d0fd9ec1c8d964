"""Several results of a call as PyTorch's functions and methods return them: tuples whose parts have names.

An operator itself, ``torch.ops.aten.max(x, 1)``, returns a plain tuple; what is published for it, ``x.max(1)``, names its parts.
"""

cdef extern from "Python.h":
    ctypedef struct PyStructSequence_Field:
        const char* name
        const char* doc
    ctypedef struct PyStructSequence_Desc:
        const char* name
        const char* doc
        PyStructSequence_Field* fields
        int n_in_sequence
    PyTypeObject* PyStructSequence_NewType(PyStructSequence_Desc* description) except NULL
    PyObject* PyStructSequence_New(PyTypeObject* type) except NULL
    void PyStructSequence_SetItem(PyObject* sequence, Py_ssize_t at, PyObject* value)    # takes the reference
    void PyObject_GC_Track(PyObject* made)
    const char* PyUnicode_AsUTF8(object text) except NULL

cdef dict result_types = {}              # type -> (its name, names of its fields): the texts that it points into


def named_result_type(str name not None, tuple fields not None):
    """A new type of results, ``"package.module.name"``: a struct sequence with these fields."""
    cdef PyStructSequence_Field[MAX_ARGS + 1] described
    cdef PyStructSequence_Desc description
    cdef int i
    if not 1 < len(fields) <= MAX_ARGS:
        raise ValueError(f"{name}: a type of 2 to {MAX_ARGS} results, got {len(fields)}")
    for i in range(len(fields)):
        described[i].name = PyUnicode_AsUTF8(fields[i])
        described[i].doc = NULL
    described[len(fields)].name = NULL
    description.name, description.fields, description.n_in_sequence = PyUnicode_AsUTF8(name), described, len(fields)
    description.doc = NULL
    made = mt_new_reference(<PyObject*>PyStructSequence_NewType(&description))
    result_types[made] = name, fields
    return made


cdef object call_published(OpOverload op, Bound* bound):
    """A call of an operator whose results have names; what overrides it, as a function, has named them itself."""
    cdef uint64_t keys = call_keys(op, bound)
    result = dispatch(op, bound, keys)
    if keys & TORCH_FUNCTION:
        return result
    results = tuple(result)
    if PyTuple_GET_SIZE(results) != op.returns:
        check_each_type(op, results)                      # says so
    return named_results(<PyTypeObject*>op.result_type, results)


cdef object named_results(PyTypeObject* type, tuple results):
    """The results as parts of an object of a type, which has as many fields."""
    cdef PyObject* made = PyStructSequence_New(type)
    cdef PyObject* value
    cdef Py_ssize_t i
    for i in range(PyTuple_GET_SIZE(results)):
        value = PyTuple_GET_ITEM(results, i)
        Py_INCREF(<object>value)
        PyStructSequence_SetItem(made, i, value)
    PyObject_GC_Track(made)
    return mt_new_reference(made)
