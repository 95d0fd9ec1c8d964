/* The few pieces of CPython's C API that Cython does not declare: cpython_glue.pxi declares them. */
#ifndef MT_CPYTHON_GLUE_H
#define MT_CPYTHON_GLUE_H

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
#define MT_LAZY_DICT(NAME, GET, SET)                                                           \
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
        static PyGetSetDef dict = {"__dict__", GET, SET, NULL, NULL};                          \
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
MT_LAZY_DICT(mt_tensor_dict, PyObject_GenericGetDict, PyObject_GenericSetDict)
MT_LAZY_DICT(mt_context_dict, PyObject_GenericGetDict, PyObject_GenericSetDict)

/* Storages are the collector's business only where Python code keeps something in them. All have room for its links; it
   is told of one with its first attribute, and of those of a subclass at once. */
static inline void mt_watch_storage(PyObject* self) {
    if (!PyObject_GC_IsTracked(self)) PyObject_GC_Track(self);
}
static PyObject* mt_storage_get_dict(PyObject* self, void* closure) {
    mt_watch_storage(self);
    return PyObject_GenericGetDict(self, closure);
}
static int mt_storage_set_dict(PyObject* self, PyObject* value, void* closure) {
    mt_watch_storage(self);
    return PyObject_GenericSetDict(self, value, closure);
}
MT_LAZY_DICT(mt_storage_dict, mt_storage_get_dict, mt_storage_set_dict)
static PyObject* mt_storage_alloc(PyTypeObject* type, Py_ssize_t n) {
    PyObject* self = PyType_GenericAlloc(type, n);
    if (self != NULL) PyObject_GC_UnTrack(self);
    return self;
}
static int mt_storage_setattr(PyObject* self, PyObject* name, PyObject* value) {
    int status = PyObject_GenericSetAttr(self, name, value);
    if (*(PyObject**)((char*)self + mt_storage_dict_offset) != NULL) mt_watch_storage(self);
    return status;
}
static int mt_storage_traverse(PyObject* self, visitproc visit, void* arg) { return 0; }    /* the dict's comes before */
static int mt_storage_clear(PyObject* self) {       /* what has no attributes any more is known to nobody */
    PyObject_GC_UnTrack(self);
    return 0;
}
static void mt_watched_storages_install(PyTypeObject* type) {      /* before the first of them is made */
    type->tp_flags |= Py_TPFLAGS_HAVE_GC;
    type->tp_alloc = mt_storage_alloc;
    type->tp_free = PyObject_GC_Del;
    type->tp_traverse = mt_storage_traverse;
    type->tp_clear = mt_storage_clear;
    type->tp_setattro = mt_storage_setattr;
    PyType_Modified(type);
}

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
#undef __PYX_MARK_ERR_POS       /* where in the core is then of no interest: a tenth of what compiles to machine code */
#define __PYX_MARK_ERR_POS(file, line) { __pyx_filename = __pyx_f[0]; __pyx_lineno = 1; }
#undef Py_DECREF
#define Py_DECREF(object) Py_XDECREF(object)
#endif

/* An object that nobody refers to any more may be kept by what it belongs to, which takes the one reference. An object
   with weak references is not: they are to see it go. */
static destructor mt_park_rest;
static int (*mt_park)(PyObject*);
static void mt_park_or_dealloc(PyObject* o) {
    PyObject** references = PyObject_GET_WEAKREFS_LISTPTR(o);
    if (*references == NULL) {
        Py_SET_REFCNT(o, 1);
        if (mt_park(o)) return;
        Py_SET_REFCNT(o, 0);
    }
    mt_park_rest(o);
}
static void mt_install_parking(PyTypeObject* type, int (*park)(PyObject*)) {
    mt_park = park;
    mt_park_rest = type->tp_dealloc;
    type->tp_dealloc = mt_park_or_dealloc;
}

/* Cython puts the pending exception aside around every `__dealloc__`, at the price of a third of freeing a tensor. Of
   these types `plain` frees what runs no code, and says whether `rest` has to free more; for most objects it has not. */
#define MT_RELEASE(NAME)                                                                       \
    static destructor NAME##_fields;                                                           \
    static int (*NAME##_plain)(PyObject*);                                                     \
    static void (*NAME##_rest)(PyObject*);                                                     \
    static void NAME##_dealloc(PyObject* o) {                                                  \
        if (NAME##_plain(o)) {                                                                 \
            PyObject *kind, *value, *traceback;                                                \
            if (PyObject_IS_GC(o)) PyObject_GC_UnTrack(o);                                     \
            if (*PyObject_GET_WEAKREFS_LISTPTR(o) != NULL) PyObject_ClearWeakRefs(o);          \
            Py_SET_REFCNT(o, 1);                                                               \
            PyErr_Fetch(&kind, &value, &traceback);                                            \
            NAME##_rest(o);                                                                    \
            PyErr_Restore(kind, value, traceback);                                             \
            Py_SET_REFCNT(o, 0);                                                               \
        }                                                                                      \
        NAME##_fields(o);                                                                      \
    }                                                                                          \
    static void NAME##_install(PyTypeObject* type, int (*plain)(PyObject*), void (*rest)(PyObject*)) {\
        NAME##_plain = plain;                                                                  \
        NAME##_rest = rest;                                                                    \
        NAME##_fields = type->tp_dealloc;                                                      \
        type->tp_dealloc = NAME##_dealloc;                                                     \
    }
MT_RELEASE(mt_tensor_release)
MT_RELEASE(mt_storage_release)

/* Two objects of one size become one another: what each is, its class and slots included, goes to the other's place. */
static void mt_trade_bodies(PyObject* a, PyObject* b) {
    PyTypeObject* type = Py_TYPE(a);
    char *left = (char*)a + sizeof(PyObject), *right = (char*)b + sizeof(PyObject), *end = (char*)a + type->tp_basicsize;
    Py_SET_TYPE(a, Py_TYPE(b));
    Py_SET_TYPE(b, type);
    for (char kept; left < end; ++left, ++right) kept = *left, *left = *right, *right = kept;
}

static PyObject* mt_tuple_subclass_new(PyTypeObject* type, Py_ssize_t n) { return type->tp_alloc(type, n); }

/* Cython's functions with a binding, unlike CPython's method descriptors, take anything for `self`. Their vectorcall
   pointers, of which there is one for each calling convention, are exchanged for ones that look first. */
enum { MT_CONVENTIONS = 8 };
static vectorcallfunc mt_method_calls[MT_CONVENTIONS];
static PyTypeObject* mt_method_self;
static int mt_refuse_self(PyObject* method) {
    PyErr_Format(PyExc_TypeError, "%S is a method of '%s' objects: it is called on one", method, mt_method_self->tp_name);
    return 0;
}
static inline int mt_self_fits(PyObject* method, PyObject* const* args, size_t nargsf) {
    if (PyVectorcall_NARGS(nargsf) > 0 && PyObject_TypeCheck(args[0], mt_method_self)) return 1;
    return mt_refuse_self(method);
}
#define MT_CHECKED(N)                                                                                                 \
    static PyObject* mt_checked_##N(PyObject* method, PyObject* const* args, size_t nargsf, PyObject* kwnames) {      \
        return mt_self_fits(method, args, nargsf) ? mt_method_calls[N](method, args, nargsf, kwnames) : NULL;         \
    }
MT_CHECKED(0) MT_CHECKED(1) MT_CHECKED(2) MT_CHECKED(3) MT_CHECKED(4) MT_CHECKED(5) MT_CHECKED(6) MT_CHECKED(7)
static const vectorcallfunc mt_checked[MT_CONVENTIONS] = {mt_checked_0, mt_checked_1, mt_checked_2, mt_checked_3,
                                                          mt_checked_4, mt_checked_5, mt_checked_6, mt_checked_7};
static int mt_check_self(PyTypeObject* type, vectorcallfunc* place) {
    int i = 0;
    mt_method_self = type;
    while (i < MT_CONVENTIONS && mt_method_calls[i] != NULL && mt_method_calls[i] != *place) ++i;
    if (i == MT_CONVENTIONS) {
        PyErr_SetString(PyExc_SystemError, "methods of tensors have more calling conventions than are known");
        return -1;
    }
    mt_method_calls[i] = *place;
    *place = mt_checked[i];
    return 0;
}

/* `__init__` becomes part of `__new__`: Python code never has an object whose fields were not set, and cannot set those
   of a live one anew. The core's own `X.__new__(X)`, a direct call of what Cython generated, still fills them itself. */
#define MT_MADE_WHOLE(NAME)                                                                    \
    static newfunc NAME##_new_bare;                                                            \
    static initproc NAME##_init;                                                               \
    static PyObject* NAME##_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {        \
        PyObject* self = NAME##_new_bare(type, args, kwargs);                                  \
        if (self != NULL && NAME##_init(self, args, kwargs) < 0) Py_CLEAR(self);               \
        return self;                                                                           \
    }                                                                                          \
    static int NAME##_initialised(PyObject* self, PyObject* args, PyObject* kwargs) { return 0; } \
    static int NAME##_install(PyTypeObject* type) {                                            \
        NAME##_new_bare = type->tp_new;                                                        \
        NAME##_init = type->tp_init;                                                           \
        type->tp_new = NAME##_new;                                                             \
        type->tp_init = NAME##_initialised;                                                    \
        if (PyDict_DelItemString(type->tp_dict, "__init__") < 0) return -1;                    \
        PyType_Modified(type);                                                                 \
        return 0;                                                                              \
    }
MT_MADE_WHOLE(mt_whole_storage)
MT_MADE_WHOLE(mt_whole_overload)
MT_MADE_WHOLE(mt_whole_scalar)
MT_MADE_WHOLE(mt_whole_kernel)
MT_MADE_WHOLE(mt_whole_plan)
MT_MADE_WHOLE(mt_whole_program)
MT_MADE_WHOLE(mt_whole_formula)
MT_MADE_WHOLE(mt_whole_gradient)
MT_MADE_WHOLE(mt_whole_late_function)
MT_MADE_WHOLE(mt_whole_tuple_form)

/* What Python code makes by calling a class is complete before it sees it. The core's own `Tensor.__new__(Tensor)` is
   a direct call of what Cython generated, and fills the fields itself. */
static newfunc mt_tensor_new_bare;
static PyObject* (*mt_tensor_complete)(PyTypeObject*, PyObject*, PyObject*, PyObject*);
static PyObject* mt_tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    PyObject* result;
    PyObject* bare = NULL;                  /* of what is made of arguments something else makes the object */
    if (PyTuple_GET_SIZE(args) == 0 && kwargs == NULL && (bare = mt_tensor_new_bare(type, args, NULL)) == NULL) return NULL;
    result = mt_tensor_complete(type, bare, args, kwargs ? kwargs : Py_None);
    Py_XDECREF(bare);
    return result;
}
static void mt_complete_tensors(PyTypeObject* type, PyObject* (*complete)(PyTypeObject*, PyObject*, PyObject*, PyObject*)) {
    mt_tensor_new_bare = type->tp_new;
    mt_tensor_complete = complete;
    type->tp_new = mt_tensor_new;
}

#endif
