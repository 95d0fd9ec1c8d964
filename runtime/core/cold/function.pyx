# cython: language_level=3, boundscheck=False, binding=False, cdivision=True, initializedcheck=False
# cython: nonecheck=False, auto_pickle=False, embedsignature=True, embedsignature.format=clinic
"""``autograd.Function.apply``: forward with grad off, then a node that calls the class's backward."""
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport int64_t, uint64_t

from mindtorch_v2._core cimport (
    CATEGORY_FLOAT, KEY_BATCHED, KEY_FUNCTIONALIZE, KEY_PYTHON, KEY_TORCH_FUNCTION, KEY_TRACING, MADE_BY_FUNCTION, MADE_WITH_OTHERS,
    MAX_ARGS, WATCH_PROFILE, FunctionCtx, RareState, Tensor, aten, bump_version, class_attribute, cold, forward_levels, function_context, holds,
    mt_state_t, needs_grad, next_sequence, same_value, set_history, thread_state, vectorcallfunc, watched,
)

from mindtorch_v2._core import ArgumentError, hooks as hook

cdef extern from "cpython_glue.h":
    void mt_enable_vectorcall(PyTypeObject* type, Py_ssize_t offset, int method_descriptor)
    Py_ssize_t PyVectorcall_NARGS(size_t nargsf) nogil
    object PyObject_Vectorcall(object callable, PyObject** args, size_t nargsf, PyObject* kwnames)
    object PyMethod_New(object func, object instance)
    bint PyTuple_Check(object value)

cdef uint64_t BATCHED = <uint64_t>1 << KEY_BATCHED
cdef uint64_t FUNCTIONALIZE = <uint64_t>1 << KEY_FUNCTIONALIZE
cdef uint64_t PYTHON = <uint64_t>1 << KEY_PYTHON
cdef uint64_t TORCH_FUNCTION = <uint64_t>1 << KEY_TORCH_FUNCTION
cdef uint64_t TRACING = <uint64_t>1 << KEY_TRACING


def base_setup_context(ctx, inputs, output):
    """What ``Function.setup_context`` is until a class defines its own: its presence tells new style from old."""
    raise NotImplementedError("setup_context is not implemented.")


cdef class FunctionApply:
    """``Function.apply``: a class method that gets the interpreter's stack as it is."""
    cdef vectorcallfunc vectorcall
    cdef dict __dict__

    def __cinit__(self):
        self.vectorcall = <vectorcallfunc>call_function

    def __get__(self, instance, owner):
        return PyMethod_New(self, owner)


cdef FunctionApply _apply_probe = FunctionApply.__new__(FunctionApply)
mt_enable_vectorcall(<PyTypeObject*>FunctionApply, <char*>&_apply_probe.vectorcall - <char*><PyObject*>_apply_probe, 0)
function_apply = FunctionApply()
function_apply.__name__ = "apply"
function_apply.__doc__ = "Runs forward and records the call where an input requires grad."


cdef object call_function(object callable, PyObject** args, size_t nargsf, PyObject* kwnames):
    """The class comes first, as in any class method."""
    cdef Py_ssize_t i, n = PyVectorcall_NARGS(nargsf)
    if n == 0:
        raise TypeError("apply() is called on a class derived from autograd.Function: `MyFunction.apply(...)`")
    cdef object cls = <object>args[0]
    cdef bint new_style = class_attribute(cls, "setup_context") is not base_setup_context
    cdef tuple given = PyTuple_New(n - 1)
    cdef dict keywords = None
    cdef uint64_t modes
    cdef int64_t span
    if not new_style and thread_state().transform:
        raise RuntimeError("In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
                           f"override the setup_context staticmethod: {cls.__name__} does not.")
    for i in range(1, n):
        value = <object>args[i]
        Py_INCREF(value)
        PyTuple_SET_ITEM(given, i - 1, value)
    if kwnames != NULL:
        keywords = {<object>PyTuple_GET_ITEM(<object>kwnames, i): <object>args[n + i]
                    for i in range(PyTuple_GET_SIZE(<object>kwnames))}
    given = bind_forward(cls, given, keywords, new_style)
    if any_transformed(given):
        return hook.apply_transformed(cls, given)
    modes = thread_state().included & ~thread_state().excluded
    if modes & TRACING and hook.value_read is not None:
        return hook.apply_traced(cls, given)
    if modes & FUNCTIONALIZE and hook.apply_functionalized is not None:
        result = hook.apply_functionalized(cls, given)
        if result is not NotImplemented:
            return result
    if not watched & WATCH_PROFILE:
        return apply_function(cls, function_context(cls), given, new_style, None)
    span = cold.open_span("cpu_op", cls.__name__)
    try:
        return apply_function(cls, function_context(cls), given, new_style, None)
    finally:
        cold.close_span(span)


cdef bint any_transformed(tuple args) except -1:
    """Whether an argument is a batch of `vmap`, or has a tangent."""
    for value in args:
        if isinstance(value, Tensor) and ((<Tensor>value).keys & BATCHED or forward_levels and cold.level_of_tensor(<Tensor>value)):
            return True
    return False


def record_function(cls, tuple args not None, forward=None):
    """`Function.apply` outside transforms, with bound arguments: what it returns, and the context.

    With `forward`, that runs in place of a new-style function's own, and with the grad mode of the caller. What was marked
    and saved for ``jvp`` stays in the context until `forget_marks_`.
    """
    cdef FunctionCtx ctx = function_context(cls)
    ctx.rarely().keeps_marks = True
    return apply_function(cls, ctx, args, class_attribute(cls, "setup_context") is not base_setup_context, forward), ctx


def forget_marks_(FunctionCtx ctx not None):
    """Forgets what forward marked, which holds outputs whose node the context is."""
    if ctx.rare is not None:
        ctx.rare.dirty = ctx.rare.non_differentiable = ctx.rare.to_save_forward = None


cdef object apply_function(object cls, FunctionCtx ctx, tuple args, bint new_style, object forward):
    global next_sequence
    cdef int outside = thread_state().grad_off
    cdef int64_t hidden = thread_state().forward_hidden
    cdef bint record
    ctx.sequence = next_sequence
    next_sequence += 1
    record = prepare_function_inputs(ctx, args) and not outside
    thread_state().grad_off = outside if forward is not None else True
    if forward is None:
        thread_state().forward_hidden = 0                 # what forward computes is the Function's: `jvp` says what its tangents are
    try:
        if new_style:
            output = (cls.forward if forward is None else forward)(*args)
            thread_state().grad_off = True
            cls.setup_context(ctx, args, output)
            refuse_saved_inputs(ctx, args, output)
        else:
            output = call_with_context(class_attribute(cls, "forward"), ctx, args)
        if ctx.rare is None and not PyTuple_Check(output) and not holds(args, output):
            if record:                                    # else: nothing marked, nothing recorded, it is what it is
                record_output(ctx, output)
            if isinstance(output, Tensor) and (<Tensor>output).base_ is not None:
                (<Tensor>output).made = MADE_BY_FUNCTION
                (<Tensor>output).seen_version = <int>(<Tensor>output).storage.version     # what forward did is the Function's
        else:
            output = wrap_outputs(ctx, args, output, record)
        if ctx.rare is not None and not ctx.rare.keeps_marks:
            ctx.rare = None                               # the marks: they hold outputs, whose node this is
    finally:
        thread_state().grad_off, thread_state().forward_hidden = outside, hidden
    if record:
        ctx.finish_saving()
    return output


cdef int refuse_saved_inputs(FunctionCtx ctx, tuple args, object output) except -1:
    """Of an input that forward returned as it is ``setup_context`` has two names for one tensor: it cannot say which is saved."""
    cdef RareState marked = ctx.rare
    cdef tuple outputs = <tuple>output if PyTuple_Check(output) else (output,)
    for value in outputs:
        if isinstance(value, Tensor) and holds(args, value) and not (marked is not None and holds(marked.dirty, value)) \
                and (holds(ctx.to_save, value) or marked is not None and holds(marked.to_save_forward, value)):
            raise RuntimeError("An input that has been returned as-is as output is being saved for backward. This is not supported if "
                               "you override setup_context. You should return and save a view of the input instead, e.g. with "
                               "x.view_as(x) or setup ctx inside the forward function itself.")
    return 0


cdef int record_output(FunctionCtx ctx, object output) except -1:
    """The common case of what follows: one new output, nothing marked."""
    cdef Tensor t
    ctx.set_output_count(1)
    if isinstance(output, Tensor):
        t = <Tensor>output
        if t.dt.category >= CATEGORY_FLOAT:
            set_history(t, ctx, 0)
        else:
            ctx.without_history(t, 0)
    return 0


cdef object call_with_context(object forward, FunctionCtx ctx, tuple args):
    cdef PyObject* flat[MAX_ARGS]
    cdef Py_ssize_t i, n = PyTuple_GET_SIZE(args)
    if n >= MAX_ARGS:
        return forward(ctx, *args)
    flat[0] = <PyObject*>ctx
    for i in range(n):
        flat[i + 1] = PyTuple_GET_ITEM(args, i)
    return PyObject_Vectorcall(forward, flat, n + 1, NULL)


cdef tuple bind_forward(object cls, tuple args, dict kwargs, bint new_style):
    """Keywords and defaults in forward's order, so that setup_context and backward see every argument."""
    if not kwargs and (not new_style or len(args) == getattr(getattr(cls.forward, "__code__", None), "co_argcount", -1)):
        return args
    import inspect
    signature = inspect.signature(cls.forward)
    if new_style:
        bound = signature.bind(*args, **kwargs or {})
        bound.apply_defaults()
        if thread_state().transform and any([isinstance(value, Tensor) for value in bound.kwargs.values()]):
            raise NotImplementedError(f"{cls.__name__}: Run vmap on autograd.Function with kwarg-only Tensor args, or another "
                                      "transform. Please do not pass kwarg-only Tensors.")
        return bound.args
    bound = signature.bind(None, *args, **kwargs)
    return bound.args[1:]


cdef bint prepare_function_inputs(FunctionCtx ctx, tuple args):
    """Edges by argument slot; whether any tensor argument requires grad."""
    cdef Py_ssize_t slot, n = PyTuple_GET_SIZE(args)
    cdef tuple needs = PyTuple_New(n)
    cdef bint any_needs = False, wants
    for slot in range(n):
        value = <object>PyTuple_GET_ITEM(args, slot)
        wants = isinstance(value, Tensor) and needs_grad(<Tensor>value)
        any_needs = any_needs or wants
        flag = True if wants else False
        Py_INCREF(flag)
        PyTuple_SET_ITEM(needs, slot, flag)
    ctx.needs_input_grad = needs
    if any_needs:
        ctx.set_edge_count(n)
        for slot in range(n):
            value = <object>PyTuple_GET_ITEM(args, slot)
            if isinstance(value, Tensor):
                ctx.set_edge(slot, value)
            else:
                ctx.set_edge(slot, None)
                ctx.plain_inputs |= <uint64_t>1 << (slot & 63) if slot < 64 else 0
    return any_needs


cdef object wrap_outputs(FunctionCtx ctx, tuple args, object output, bint record):
    """What forward returned, as the caller gets it: views of inputs for inputs, with history, or marked without."""
    cdef int number = 0
    cdef tuple outputs = <tuple>output if PyTuple_Check(output) else (output,)
    cdef tuple dirty = None if ctx.rare is None else ctx.rare.dirty
    check_dirty(dirty, args, outputs)
    ctx.set_output_count(len(outputs))
    wrapped = []
    for value in outputs:
        if isinstance(value, Tensor):
            value = wrap_output(ctx, args, <Tensor>value, number, record)
            if (<Tensor>value).base_ is not None and not holds(dirty, value):
                (<Tensor>value).made = MADE_WITH_OTHERS if len(outputs) > 1 else MADE_BY_FUNCTION
        wrapped.append(value)
        number += 1
    return tuple(wrapped) if PyTuple_Check(output) else wrapped[0]


cdef int check_dirty(tuple dirty, tuple args, tuple outputs) except -1:
    if dirty is None:
        return 0
    for t in dirty:
        if not isinstance(t, Tensor):
            raise ArgumentError("mark_dirty can only accept variables, but argument is of type "
                                f"{type(t).__name__}")
        if not holds(outputs, t):
            raise RuntimeError("Some elements marked as dirty during the forward method were not returned as output. The inputs "
                               "that are modified inplace must all be outputs of the Function.")
        if not holds(args, t):
            import warnings
            warnings.warn("ctx.mark_dirty() received a tensor that was not an input. Only inputs that forward changes in place "
                          "are to be marked.", UserWarning)
    return 0


cdef Tensor view_of_input(Tensor t):
    """An input that is an output too, as another object; its class, if it overrides calls, says of which class."""
    if t.keys & TORCH_FUNCTION and not t.keys & PYTHON:
        view = aten("view_as")(t, t)
        if isinstance(view, Tensor) and view is not t:
            return <Tensor>view
    return same_value(t)


cdef Tensor wrap_output(FunctionCtx ctx, tuple args, Tensor output, int number, bint record):
    cdef Tensor view
    cdef RareState marked = ctx.rare
    cdef bint is_dirty = marked is not None and holds(marked.dirty, output)
    cdef bint differentiable = output.dt.category >= CATEGORY_FLOAT and \
        not (marked is not None and holds(marked.non_differentiable, output))
    if is_dirty:
        if record and output.wants_grad:
            raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
        bump_version(output.storage)
    elif holds(args, output):
        view = view_of_input(output)
        view.base_ = output if output.base_ is None else output.base_
        view.seen_version = <int>view.storage.version
        output = view
    elif output.base_ is not None:
        output.seen_version = <int>output.storage.version
    if record and differentiable:
        if is_dirty and output.base_ is not None and holds(args, output):
            rebase_dirty_view(ctx, args, output, number)
        else:
            set_history(output, ctx, number)
    elif record:
        ctx.without_history(output, number)
    return output


cdef int rebase_dirty_view(FunctionCtx ctx, tuple args, Tensor view, int number) except -1:
    """A Function that changed a view in place: what the view is of learns of it, and so do other views of that."""
    cdef int at = 0
    if ctx.output_count > 1:
        raise RuntimeError("If your Function modifies inplace an input that is a view of another Tensor, your Function cannot "
                           "return more than one Tensor. Clone the view first, or return only that.")
    if view.base_.wants_grad and view.base_.grad_fn_ is None:
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    while args[at] is not view:
        at += 1
    return cold.rebase_view(view, ctx, number, at)


def function_tangents(FunctionCtx ctx not None, tuple inputs not None, tuple tangents not None):
    """Calls a Function's ``jvp`` on its arguments' tangents.

    A tensor without a tangent (None in `tangents`) gets zeros, unless the context was told not to materialise. What was saved
    for backward alone is not seen.
    """
    cdef list given = list(tangents)
    if ctx.materialize:
        for i, value in enumerate(inputs):
            if given[i] is None and isinstance(value, Tensor) and (<Tensor>value).dt.category >= CATEGORY_FLOAT:
                given[i] = aten("zeros_like")(value)
    if ctx.rarely().to_save_forward is None:
        ctx.rare.to_save_forward = ()
    try:
        return ctx.function.jvp(ctx, *given)
    finally:
        if ctx.rare is not None:
            ctx.rare.to_save_forward = None               # backward reads what was saved for it


def new_function_context(cls):
    """A context of a Function that no call has filled."""
    return function_context(cls)


def is_differentiable_output(FunctionCtx ctx not None, output):
    """Whether forward's output may have a gradient: a floating-point tensor that it did not mark otherwise."""
    return isinstance(output, Tensor) and (<Tensor>output).dt.category >= CATEGORY_FLOAT and \
        not (ctx.rare is not None and holds(ctx.rare.non_differentiable, output))
