"""The few pieces of CPython's C API that Cython does not declare."""

cdef extern from *:
    """
    #include <Python.h>

    /* A cdef class with __call__ goes through tp_call and builds a tuple and a dict. With a vectorcall pointer in
       the object the interpreter hands over its stack instead. METHOD_DESCRIPTOR lets `x.op(y)` skip the bound
       method object. */
    static void mt_enable_vectorcall(PyTypeObject* type, Py_ssize_t offset, int method_descriptor) {
        type->tp_vectorcall_offset = offset;
        type->tp_call = PyVectorcall_Call;
        type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
        if (method_descriptor) type->tp_flags |= Py_TPFLAGS_METHOD_DESCRIPTOR;
        PyType_Modified(type);
    }

    /* Operators are declared after the type is ready, so methods are added to the type's dict. Only plain names:
       special methods live in type slots and are written in the core. */
    static int mt_install_attribute(PyTypeObject* type, PyObject* name, PyObject* value) {
        if (PyDict_SetItem(type->tp_dict, name, value) < 0) return -1;
        PyType_Modified(type);
        return 0;
    }

    /* Attributes that Python code sets, in a dict made with the first of them: Cython's `cdef dict __dict__` makes one
       for every object, 64 bytes and two calls a tensor and a node. The field is a plain pointer, so the collector's
       view of it is added to what Cython generates; `__dealloc__` releases it. */
    #define MT_LAZY_DICT(NAME)                                                                     \
        static Py_ssize_t NAME##_offset;                                                           \
        static traverseproc NAME##_traverse_rest;                                                  \
        static inquiry NAME##_clear_rest;                                                          \
        static int NAME##_traverse(PyObject* self, visitproc visit, void* arg) {                   \
            Py_VISIT(*(PyObject**)((char*)self + NAME##_offset));                                  \
            return NAME##_traverse_rest(self, visit, arg);                                         \
        }                                                                                          \
        static int NAME##_clear(PyObject* self) {                                                  \
            Py_CLEAR(*(PyObject**)((char*)self + NAME##_offset));                                  \
            return NAME##_clear_rest(self);                                                        \
        }                                                                                          \
        static int NAME##_install(PyTypeObject* type, Py_ssize_t offset) {                         \
            static PyGetSetDef dict = {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL}; \
            PyObject* descriptor = PyDescr_NewGetSet(type, &dict);                                 \
            if (descriptor == NULL || PyDict_SetItemString(type->tp_dict, "__dict__", descriptor) < 0) return -1; \
            Py_DECREF(descriptor);                                                                 \
            NAME##_offset = type->tp_dictoffset = offset;                                          \
            NAME##_traverse_rest = type->tp_traverse;                                              \
            NAME##_clear_rest = type->tp_clear;                                                    \
            type->tp_traverse = NAME##_traverse;                                                   \
            type->tp_clear = NAME##_clear;                                                         \
            PyType_Modified(type);                                                                 \
            return 0;                                                                              \
        }
    MT_LAZY_DICT(mt_tensor_dict)
    MT_LAZY_DICT(mt_context_dict)

    static int mt_remove_attribute(PyTypeObject* type, PyObject* name) {
        if (PyDict_DelItem(type->tp_dict, name) < 0) return -1;
        PyType_Modified(type);
        return 0;
    }

    /* A call whose failure is looked at before it is passed on, and its result, which Cython then owns. */
    static inline PyObject* mt_vectorcall(PyObject* callable, PyObject** args, size_t nargsf, PyObject* kwnames) {
        return PyObject_Vectorcall(callable, args, nargsf, kwnames);
    }
    static inline PyObject* mt_new_reference(PyObject* value) { return value; }

    /* Tracebacks show the user's lines: frames of the core, whose source is not installed, only hide them. -DMT_CORE_FRAMES
       shows them again. An exception that is caught in the core then may have no traceback yet, and Cython releases the one
       it expects there without a look: hence the second definition. */
    #ifndef MT_CORE_FRAMES
    #define PyTraceBack_Here(frame) 0
    #undef Py_DECREF
    #define Py_DECREF(object) Py_XDECREF(object)
    #endif

    static PyObject* mt_tuple_subclass_new(PyTypeObject* type, Py_ssize_t n) { return type->tp_alloc(type, n); }
    """
    ctypedef PyObject* (*vectorcallfunc)(PyObject*, PyObject**, size_t, PyObject*)
    void mt_enable_vectorcall(PyTypeObject* type, Py_ssize_t offset, int method_descriptor)
    int mt_install_attribute(PyTypeObject* type, object name, object value) except -1
    int mt_tensor_dict_install(PyTypeObject* type, Py_ssize_t offset) except -1
    int mt_context_dict_install(PyTypeObject* type, Py_ssize_t offset) except -1
    int mt_remove_attribute(PyTypeObject* type, object name) except -1
    PyObject* mt_tuple_subclass_new(PyTypeObject* type, Py_ssize_t n) except NULL
    Py_ssize_t PyVectorcall_NARGS(size_t nargsf) nogil
    object PyObject_Vectorcall(object callable, PyObject** args, size_t nargsf, PyObject* kwnames)
    PyObject* mt_vectorcall(PyObject* callable, PyObject** args, size_t nargsf, PyObject* kwnames)
    object mt_new_reference(PyObject* value)
    object PyMethod_New(object func, object instance)
    void raw_tuple_set "PyTuple_SET_ITEM"(PyObject* tuple, Py_ssize_t index, PyObject* value)
    object PyLong_FromLongLong(long long value)
    long long PyLong_AsLongLong(object value) except? -1
    bint PyLong_Check(object value)
    bint PyFloat_Check(object value)
    bint PyBool_Check(object value)
    bint PyComplex_Check(object value)
    bint PyIndex_Check(object value)
    bint PyTuple_Check(object value)
    bint PyList_Check(object value)
    bint PyUnicode_Check(object value)
    int PyObject_TypeCheck(PyObject* value, PyTypeObject* type)
    PyTypeObject* Py_TYPE(PyObject* value)
    Py_ssize_t Py_REFCNT(PyObject* value)
