"""Attributes that a module finds in its registries, in every forward one for each parameter and submodule.

Python asks only once there is no attribute of that name elsewhere; it has made an AttributeError by then, which costs as much
again as what is here.
"""

cdef extern from *:
    object PyObject_GenericGetDict(object owner, void* context)
    PyObject* PyDict_GetItemWithError(object registry, object name) except? NULL


@cython.binding(True)                    # a method of the class that takes it for its ``__getattr__``
def registered_attribute(self, name):
    """The parameter, buffer or submodule of that name. Raises AttributeError where there is none."""
    cdef dict own = <dict>PyObject_GenericGetDict(self, NULL)
    cdef PyObject* found
    for kind in ("_parameters", "_buffers", "_modules"):
        registry = own.get(kind)
        if type(registry) is dict:
            found = PyDict_GetItemWithError(registry, name)
            if found != NULL:
                return <object>found
        elif registry is not None and name in registry:     # a program's own kind of dict
            return registry[name]
    raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
