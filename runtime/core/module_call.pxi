"""Calls of modules: `forward`, with the hooks around it where there are any."""

cdef extern from "module_call.h":
    object mt_called_type(const char* name, const char* doc, PyObject* (*call)(PyObject*, PyObject*, PyObject*) except NULL)

cdef extern from *:
    object PyObject_GenericGetAttr(object owner, object name)
    object PyObject_Call(object callable, object args, PyObject* kwargs)


cdef PyObject* call_module(PyObject* module, PyObject* args, PyObject* kwargs) except NULL:
    if PyObject_GenericGetAttr(<object>module, "_hooks") is None and not hook.hooks_of_all_modules:
        result = PyObject_Call((<object>module).forward, <object>args, kwargs)
    else:
        result = hook.call_with_hooks(<object>module, <object>args, {} if kwargs == NULL else <object>kwargs)
    Py_INCREF(result)
    return <PyObject*>result


CallsForward = mt_called_type(
    "mindtorch_v2._core.CallsForward", "Runs ``forward`` when it is called, with the hooks in ``_hooks`` around it.", call_module)
