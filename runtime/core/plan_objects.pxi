"""Steps that make objects: outputs, parts of results, what Python functions return, and words and shapes as Python has them."""

cdef int object_step(Program p, Frame* f, Step* s) except -1:
    cdef int code = s.code
    cdef Word* w = f.words
    if code == STEP_LIKE_AS:
        put_room(p, f, s.made, like_of(<Tensor>f.objects[s.a], <dtype>dtype_by_code[w[s.b].i]))
    elif code == STEP_EMPTY:
        put_room(p, f, s.made, alloc_sizes(f.shapes[s.a].nd, f.shapes[s.a].sizes, <dtype>dtype_by_code[w[s.b].i], device_in(f.objects[s.c])))
    elif code == STEP_ITEM:
        put(f, s.made, (<object>f.objects[s.a])[s.b])
    elif code == STEP_PYTHON:
        python_step(p, f, s)
    elif code == STEP_DEVICE:
        put(f, s.made, (<Tensor>f.objects[s.a]).dev)
    elif code == STEP_BOX_INT:
        put(f, s.made, w[s.a].i)
    elif code == STEP_BOX_FLOAT:
        put(f, s.made, w[s.a].d)
    elif code == STEP_BOX_BOOL:
        put(f, s.made, True if w[s.a].i else False)
    elif code == STEP_BOX_DTYPE:
        put(f, s.made, dtype_by_code[w[s.a].i])
    else:
        put(f, s.made, make_size(f.shapes[s.a].nd, f.shapes[s.a].sizes))
    return 0


cdef device device_in(PyObject* value):
    """A tensor's device, or a device itself."""
    return (<Tensor>value).dev if is_tensor(value) else as_device(<object>value)


cdef int python_step(Program p, Frame* f, Step* s) except -1:
    """A call of ``(function, names of the last arguments, which go by keyword)``."""
    cdef PyObject* args[2 * MAX_ARGS]
    cdef int i
    function, names = <object>s.what
    for i in range(s.b):
        args[i] = f.objects[p.pool[s.a + i]]
    try:
        result = PyObject_Vectorcall(function, args, s.b - len(names), <PyObject*>names if names else NULL)
    except (KernelError, KernelArgumentError, KernelOverflowError) as error:      # of a launch in it
        return explained(p, f, error)
    put(f, s.made, result)
    return 0
