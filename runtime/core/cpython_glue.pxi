"""The few pieces of CPython's C API that Cython does not declare."""

cdef extern from "cpython_glue.h":
    ctypedef struct PyTupleObject:
        PyObject** ob_item
    ctypedef struct PyListObject:
        PyObject** ob_item
    ctypedef struct PySliceObject:
        PyObject* start
        PyObject* stop
        PyObject* step
    PyTypeObject PySlice_Type
    void mt_enable_vectorcall(PyTypeObject* type, Py_ssize_t offset, int method_descriptor)
    int mt_install_attribute(PyTypeObject* type, object name, object value) except -1
    int mt_tensor_dict_install(PyTypeObject* type, Py_ssize_t offset) except -1
    int mt_storage_dict_install(PyTypeObject* type, Py_ssize_t offset) except -1
    void mt_watched_storages_install(PyTypeObject* type)
    void mt_trade_bodies(PyObject* a, PyObject* b)
    int mt_context_dict_install(PyTypeObject* type, Py_ssize_t offset) except -1
    int mt_remove_attribute(PyTypeObject* type, object name) except -1
    void mt_install_parking(PyTypeObject* type, int (*park)(PyObject*) noexcept)
    void mt_tensor_release_install(PyTypeObject* type, bint (*plain)(PyObject*) noexcept, void (*rest)(PyObject*) noexcept)
    void mt_storage_release_install(PyTypeObject* type, bint (*plain)(PyObject*) noexcept, void (*rest)(PyObject*) noexcept)
    PyObject* mt_tuple_subclass_new(PyTypeObject* type, Py_ssize_t n) except NULL
    int mt_whole_storage_install(PyTypeObject* type) except -1
    int mt_whole_overload_install(PyTypeObject* type) except -1
    int mt_whole_scalar_install(PyTypeObject* type) except -1
    int mt_whole_kernel_install(PyTypeObject* type) except -1
    int mt_whole_plan_install(PyTypeObject* type) except -1
    int mt_whole_program_install(PyTypeObject* type) except -1
    int mt_whole_formula_install(PyTypeObject* type) except -1
    int mt_whole_gradient_install(PyTypeObject* type) except -1
    int mt_whole_late_function_install(PyTypeObject* type) except -1
    int mt_whole_tuple_form_install(PyTypeObject* type) except -1
    int mt_check_self(PyTypeObject* type, vectorcallfunc* place) except -1
    void mt_complete_tensors(PyTypeObject* type, PyObject* (*complete)(PyTypeObject*, PyObject*, PyObject*, PyObject*) except NULL)
    Py_ssize_t PyVectorcall_NARGS(size_t nargsf) nogil
    object PyObject_Vectorcall(object callable, PyObject** args, size_t nargsf, PyObject* kwnames)
    PyObject* mt_vectorcall(PyObject* callable, PyObject** args, size_t nargsf, PyObject* kwnames)
    object mt_new_reference(PyObject* value)
    object PyMethod_New(object func, object instance)
    void raw_tuple_set "PyTuple_SET_ITEM"(PyObject* tuple, Py_ssize_t index, PyObject* value)
    object PyLong_FromLongLong(long long value)
    long long PyLong_AsLongLong(object value) except? -1
    long long PyLong_AsLongLongAndOverflow(object value, int* overflow) except? -1
    object PyNumber_Index(object value)
    object PyList_GetSlice(object value, Py_ssize_t first, Py_ssize_t end)
    Py_ssize_t PyList_GET_SIZE(object value)
    PyObject* PyList_GET_ITEM(object value, Py_ssize_t index)
    bint PyLong_Check(object value)
    bint PyFloat_CheckExact(object value)
    bint PyLong_CheckExact(object value)
    bint PyFloat_Check(object value)
    bint PyFloat_CheckExact(object value)
    bint PyBool_Check(object value)
    bint PyComplex_Check(object value)
    bint PyIndex_Check(object value)
    bint PyTuple_Check(object value)
    bint PyList_Check(object value)
    bint PyTuple_CheckExact(object value)
    bint PyList_CheckExact(object value)
    tuple PyList_AsTuple(object value)
    tuple PyTuple_GetSlice(object value, Py_ssize_t first, Py_ssize_t end)
    bint PyNumber_Check(object value)
    bint PyUnicode_Check(object value)
    bint PyUnicode_CheckExact(object value)
    int PyObject_TypeCheck(PyObject* value, PyTypeObject* type)
    PyTypeObject* Py_TYPE(PyObject* value)
    Py_ssize_t Py_REFCNT(PyObject* value)


cdef tuple tuple_of(PyObject** values, Py_ssize_t n):
    """References to values that lie behind one another, as a tuple."""
    cdef tuple made = PyTuple_New(n)
    cdef Py_ssize_t i
    for i in range(n):
        Py_INCREF(<object>values[i])
        PyTuple_SET_ITEM(made, i, <object>values[i])
    return made
