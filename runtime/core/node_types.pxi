"""Classes of nodes: one for each name, so that ``type(t.grad_fn).__name__`` is what PyTorch has there.

A class adds no field to that of the core which it refines. So a node is made as the core makes it and gets its class after
that, for the price of one store, and whatever holds of nodes of the core's class (how they are freed, what the collector sees)
holds of it.
"""

cdef extern from "node_types.h":
    object mt_named_type(PyTypeObject* base, const char* name)
    void mt_become(PyObject* node, PyTypeObject* type)
    bint mt_refines(PyObject* node, PyTypeObject* base)
    void mt_without_module(PyTypeObject* type, const char* name)
    void mt_adopt_class(PyTypeObject* type)
    int mt_become_counted(PyObject* node, object type) except -1
    object mt_class_attribute(object owner, object name)


cdef dict named_types = {}                         # (class of the core, name): class

# What PyTorch calls the nodes of its operators, where that is other than `node_name_of` makes of the operator's name.
cdef dict NODE_NAMES = {
    # The overloads of a name have gradients with a number each, in the order in which they are declared.
    "clamp": "ClampBackward1", "clamp_max.Tensor": "ClampMaxBackward1", "clamp_min.Tensor": "ClampMinBackward1",
    "fill.Tensor": "FillBackward1", "fill_.Scalar": "FillBackward2", "fill_.Tensor": "FillBackward3", "fmod.Tensor": "FmodBackward1",
    "index_fill.int_Tensor": "IndexFillBackward1", "lerp.Tensor": "LerpBackward1", "masked_fill.Tensor": "MaskedFillBackward1",
    "max": "MaxBackward1", "mean.dim": "MeanBackward1", "median.dim": "MedianBackward1", "min": "MinBackward1",
    "nanmedian.dim": "NanmedianBackward1", "pow.Scalar": "PowBackward2", "pow.Tensor_Tensor": "PowBackward1",
    "prod.dim_int": "ProdBackward1", "remainder.Tensor": "RemainderBackward1", "round.decimals": "RoundBackward1",
    "rsub.Scalar": "RsubBackward1", "sort.stable": "SortBackward1", "squeeze.dim": "SqueezeBackward1",
    "squeeze.dims": "SqueezeBackward2", "sum.dim_IntList": "SumBackward1",
    # Sums, products and quotients with a number have those of tensors: PyTorch's Python functions make a tensor of it.
    "div.Scalar_mode": "DivBackward2", "div.Tensor_mode": "DivBackward2",
    # What PyTorch does by another operator.
    "chunk": "SplitBackward0", "contiguous": "CloneBackward0", "movedim.int": "PermuteBackward0", "reshape": "ViewBackward0",
    "square": "PowBackward0",
    "copy_": "CopyBackwards",
}


cdef str node_name_of(str namespace, object schema):
    """``AddBackward0`` of ``add``; one that writes in place has the name of the one that does not.

    A view that is a copy has the view's, ``ViewBackward0_copy``.
    """
    cdef str view, name = schema.name, overload = f".{schema.overload}" if schema.overload else ""
    if namespace == "aten":
        written = name if name.startswith("__") else name.rstrip("_")
        known = NODE_NAMES.get(name + overload) or NODE_NAMES.get(written + overload)
        if known is not None:
            return known
        view = written.removesuffix("_copy")
        if view != written and written[0] != "_" and written not in ("index_copy", "detach_copy", "lift_fresh_copy"):
            return (NODE_NAMES.get(view + overload) or f"{view.title().replace('_', '')}Backward0") + "_copy"
        name = written.removesuffix("_forward")
    return name.title().replace("_", "") + "Backward0"


cdef PyTypeObject* named_type(PyTypeObject* base, str name) except NULL:
    """The class of this name below one of the core's."""
    known = named_types.get((<object>base, name))
    if known is None:
        known = named_types[<object>base, name] = mt_named_type(base, name.encode())
    return <PyTypeObject*>known


def function_node_class(cls):
    """The class of the contexts of a Function, which are its nodes: ``MyFunctionBackward``, or what ``_node_name`` says."""
    made = type(vars(cls).get("_node_name", f"{cls.__name__}Backward"), (FunctionCtx,),
                {"__slots__": (), "__module__": "torch.autograd.function", "_forward_cls": cls})
    mt_adopt_class(<PyTypeObject*>made)
    return made


cdef object class_attribute(object owner, str name):
    """See `mt_class_attribute`."""
    return mt_class_attribute(owner, name)


cdef FunctionCtx function_context(object cls):
    """A new context of a Function."""
    cdef FunctionCtx ctx = FunctionCtx.__new__(FunctionCtx)
    ctx.function = cls
    mt_become_counted(<PyObject*>ctx, mt_class_attribute(cls, "_backward_cls"))
    return ctx
