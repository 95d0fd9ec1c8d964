/* Classes of nodes, one for each name: see node_types.pxi. */
#ifndef MT_NODE_TYPES_H
#define MT_NODE_TYPES_H

#include <Python.h>

/* Of an operator's nodes. It lives as long as the process, as in PyTorch: no node counts a reference to it. */
static PyObject* mt_named_type(PyTypeObject* base, const char* name) {
    static const PyTypeObject blank = {PyVarObject_HEAD_INIT(NULL, 0)};
    size_t length = strlen(name) + 1;
    char* own_name = (char*)PyMem_Malloc(length);
    PyTypeObject* type = (PyTypeObject*)PyMem_Malloc(sizeof(PyTypeObject));
    if (type == NULL || own_name == NULL) {
        PyMem_Free(type);
        PyMem_Free(own_name);
        return PyErr_NoMemory();
    }
    memcpy(own_name, name, length);
    *type = blank;
    type->tp_name = own_name;
    type->tp_basicsize = base->tp_basicsize;
    type->tp_base = base;
    type->tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    return PyType_Ready(type) < 0 ? NULL : (PyObject*)type;
}

static inline void mt_become(PyObject* node, PyTypeObject* type) { Py_SET_TYPE(node, type); }
static inline int mt_refines(PyObject* node, PyTypeObject* base) { return Py_TYPE(node)->tp_base == base; }

/* A class that PyTorch has in C, and Python therefore shows without a module. */
static void mt_without_module(PyTypeObject* type, const char* name) { type->tp_name = name; }

/* Of a Function's nodes: a class made by Python, which goes with the Function. Its nodes are freed as the core frees its
   own, other than Python would: without a second trip through the trashcan. The last step lets go of the class. */
static void mt_free_with_class(void* node) {
    PyTypeObject* type = Py_TYPE((PyObject*)node);
    PyObject_GC_Del(node);
    Py_DECREF(type);
}
static void mt_adopt_class(PyTypeObject* type) {
    type->tp_dealloc = type->tp_base->tp_dealloc;
    type->tp_free = mt_free_with_class;
    type->tp_flags &= ~Py_TPFLAGS_BASETYPE;       /* of a class below it nothing would let go */
}
static inline int mt_become_counted(PyObject* node, PyObject* type) {
    if (!PyType_Check(type) || ((PyTypeObject*)type)->tp_free != mt_free_with_class) {
        PyErr_SetString(PyExc_TypeError, "_backward_cls of an autograd.Function is made with the Function and cannot be another");
        return -1;
    }
    Py_INCREF(type);
    Py_SET_TYPE(node, (PyTypeObject*)type);
    return 0;
}

/* An attribute of a class, for which the metaclass, that has another of the name at most by mistake, is not searched first. */
static inline PyObject* mt_class_attribute(PyObject* owner, PyObject* name) {
    PyObject* found = PyType_Check(owner) ? _PyType_Lookup((PyTypeObject*)owner, name) : NULL;
    descrgetfunc get;
    if (found == NULL) return PyObject_GetAttr(owner, name);
    Py_INCREF(found);
    get = Py_TYPE(found)->tp_descr_get;
    if (get != NULL) {
        PyObject* value = get(found, NULL, owner);
        Py_DECREF(found);
        return value;
    }
    return found;
}

#endif
