/* A class whose objects are called by a C function. A class of Python's that is derived from it inherits the slot itself,
   unless it has a `__call__` of its own; Cython's own `__call__` would make a dict for keywords in every call. */
#ifndef MT_MODULE_CALL_H
#define MT_MODULE_CALL_H

#include <Python.h>

static PyObject* mt_called_type(const char* name, const char* doc, ternaryfunc call) {
    PyType_Slot slots[] = {{Py_tp_doc, (void*)doc}, {Py_tp_call, (void*)call}, {0, NULL}};
    PyType_Spec spec = {name, 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
    return PyType_FromSpec(&spec);
}

#endif
