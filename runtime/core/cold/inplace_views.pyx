# cython: language_level=3, boundscheck=False, binding=False, cdivision=True, initializedcheck=False
# cython: nonecheck=False, auto_pickle=False, embedsignature=True, embedsignature.format=clinic
"""In-place operations on views: the base's history takes them in, and every view of it is looked up anew.

Source of the scheme: PyTorch's notes on in-place operations on views (a node that replaces a slice of the base's
gradient, and view gradients made again from the base).
"""
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_SET_ITEM
from libc.stdint cimport int64_t, uint64_t

from mindtorch_v2._core cimport (
    KEY_AD_INPLACE_OR_VIEW, KEY_BATCHED, MADE_BY_FUNCTION, MADE_BY_OPERATOR, MADE_FOR_TRANSFORM, MADE_IN_INFERENCE, MADE_IN_NO_GRAD,
    MADE_WITH_OTHERS,
    FunctionCtx, Node, PlaceInBase, RareState, Tensor, aten, bump_version, check_writable, cold, copy_geometry_at, make_size,
    named_type, needs_grad, next_sequence, place_in_base, record_meta, refuse_inference_tensor, set_history, shown_at, thread_state,
    zeros_for,
)

cdef extern from "cpython_glue.h":      # for tracebacks without frames of the core
    pass

cdef extern from "node_types.h":
    void mt_become(PyObject* node, PyTypeObject* type)
    void mt_without_module(PyTypeObject* type, const char* name)

cdef uint64_t BATCHED = <uint64_t>1 << KEY_BATCHED
cdef uint64_t INPLACE_OR_VIEW = <uint64_t>1 << KEY_AD_INPLACE_OR_VIEW


cdef int number_node(Node node) except -1:
    """In the order of recording, in which a backward pass runs from the last to the first."""
    global next_sequence
    node.sequence = next_sequence
    next_sequence += 1
    return 0


cdef object zeros_laid_out(object like, tuple size, tuple stride, object dtype):
    """Zeros with these strides: what is a view of a base that has them is a view of the zeros too."""
    cdef int64_t last = 0
    for length, step in zip(size, stride):
        last += (length - 1) * step
    return aten("as_strided")(aten("new_zeros")(like, (0 if 0 in size else last + 1,), dtype=dtype), size, stride, 0)


cdef tuple layout_of(Tensor base):
    """Shape and strides of a base that is not contiguous, else None."""
    return None if base.contig else (tuple(make_size(base.nd, base.sizes)), base.stride())


cdef class CopySlices(Node):
    """An in-place operation seen from the base: of the base's gradient it replaces the part that the view covers."""
    cdef Node operation                    # the recorded in-place operation on the view
    cdef int output
    cdef int at                            # which of the operation's inputs the view is
    cdef PlaceInBase place                 # of the view
    cdef tuple layout                      # shape and strides of the base; None: it is contiguous

    def name(self):
        return "torch::autograd::CopySlices"              # PyTorch's, whose `repr` has the class alone

    cdef object apply(self, list grads):
        if grads[0] is None:
            return [None] * self.next_count
        if self.layout is None:
            # a copy that lies as the base does, however the gradient lies
            whole = aten("clone" if (<Tensor>grads[0]).contig else "contiguous")(grads[0])
        else:
            whole = zeros_laid_out(grads[0], self.layout[0], self.layout[1], None)
            aten("copy_")(whole, grads[0])
        part = shown_at(self.place, whole)
        inner = [None] * self.operation.output_count
        inner[self.output] = aten("clone")(part)
        result = self.run_operation(inner)
        if result[self.at] is None:
            aten("zero_")(part)
        else:
            if (<Tensor>result[self.at]).keys & BATCHED:      # as the whole becomes, for the part to be copied into it
                whole = self.as_batch(whole, result[self.at])
                part = shown_at(self.place, whole)
            aten("copy_")(part, result[self.at])
        result[self.at] = whole
        return result

    cdef list run_operation(self, list grads):
        """The operation's own gradients; its result is part of the base for it, and has the history of that."""
        cdef RareState rare
        if not isinstance(self.operation, FunctionCtx):
            return list(self.operation.apply(grads))
        rare = (<FunctionCtx>self.operation).rarely()
        rare.change = self
        try:
            return list(self.operation.apply(grads))
        finally:
            rare.change = None

    cdef object as_batch(self, object whole, object part):
        """The base's gradient with what the part is a batch of."""
        size = tuple(make_size((<Tensor>whole).nd, (<Tensor>whole).sizes))
        batch = aten("add")(aten("new_zeros")(part, size, dtype=(<Tensor>whole).dt), whole)
        if self.layout is None:
            return batch
        laid_out = zeros_laid_out(batch, self.layout[0], self.layout[1], None)
        aten("copy_")(laid_out, batch)
        return laid_out

    cdef int release_saved(self) except -1:
        return self.operation.release_saved()


cdef class ViewOfBase(Node):
    """A view's gradient, placed where the view lies in its base."""
    cdef PlaceInBase place
    cdef object dtype                      # of the base
    cdef tuple layout

    cdef object apply(self, list grads):
        if grads[0] is None or self.next_nodes[0] is None:
            return [None]
        if self.layout is None:
            base = zeros_for((<Node>self.next_nodes[0]).meta(self.next_outputs[0]))
            if type(grads[0]) is not Tensor:             # of a batch, say: zeros like that, to copy it into
                base = aten("new_zeros")(grads[0], make_size((<Tensor>base).nd, (<Tensor>base).sizes), dtype=self.dtype)
        else:
            base = zeros_laid_out(grads[0], self.layout[0], self.layout[1], self.dtype)
        part = shown_at(self.place, base)
        aten("copy_")(part, grads[0])
        return [base]


cdef PyTypeObject* view_of_base_type = named_type(<PyTypeObject*>ViewOfBase, "AsStridedBackward0")
mt_without_module(<PyTypeObject*>CopySlices, "CopySlices")


cdef int rebase_view(Tensor view, FunctionCtx operation, int output, int at) except -1:
    """Records an in-place operation on `view` in its base's history; `operation` keeps the view's own edges."""
    cdef Tensor base = view.base_
    cdef CopySlices node = CopySlices.__new__(CopySlices)
    cdef int i
    if view.made != MADE_BY_OPERATOR:
        raise forbidden_on_view(view, "is being")
    record_meta(operation.meta(output), view)
    node.operation, node.output, node.node_name = operation, output, "CopySlices"
    node.place, node.layout = place_in_base(view, base), layout_of(base)
    number_node(node)
    node.set_edge_count(operation.next_count)
    node.at = at
    node.set_edge(at, base)                               # instead of the view's own
    for i in range(operation.next_count):
        if i == at:
            continue
        after = <object>operation.next_nodes[i]
        node.next_outputs[i] = operation.next_outputs[i]
        Py_INCREF(after)
        PyTuple_SET_ITEM(node.next_nodes, i, after)
    node.set_output_count(1)
    set_history(base, node, 0)
    refresh_view(view)
    return 0


cdef str operation_of(Node node):
    """A node's name without what says that it runs backward: ``Unbind`` of ``UnbindBackward0``."""
    return node.name().rpartition("Backward")[0] or node.name()


cdef object forbidden_on_view(Tensor view, str happened):
    """What to say where a view that is none of a recorded operator's own was changed in place, or what it is a view of."""
    cdef Node made_by = view.grad_fn_
    if view.made == MADE_FOR_TRANSFORM:
        return RuntimeError(f"a leaf Variable that requires grad {happened} used in an in-place operation: a transform differentiates "
                            "by it. Change a clone of it.")
    if made_by is not None and view.made < MADE_IN_NO_GRAD:
        where = f"Output {view.output_nr_} of {operation_of(made_by)} is a view and {happened} modified inplace. "
    else:
        which = "A view was" if made_by is None else f"Output {view.output_nr_} of {operation_of(made_by)} is a view of a view which was"
        mode, now = ("inference", "in normal mode") if view.made == MADE_IN_INFERENCE else ("no_grad", "with grad mode enabled")
        where = f"{which} created in {mode} mode and {happened} modified inplace {now}. "
    if view.made == MADE_BY_FUNCTION:
        return RuntimeError(where + "This view was created inside a custom Function (or because an input was returned as-is), and its "
                            "backward would not see the change. Return a clone from the custom Function, or use the out-of-place "
                            "operation.")
    if view.made == MADE_WITH_OTHERS:
        return RuntimeError(where + "This view is the output of a function that returns multiple views. Such functions do not allow the "
                            "output views to be modified inplace. You should replace the inplace operation by an out-of-place one.")
    block = "inference_mode" if view.made == MADE_IN_INFERENCE else "no_grad"
    return RuntimeError(where + "What it is a view of would not learn of that. Move the view and the change either both inside the "
                        f"{block} block, or both out of it.")


cdef int refresh_view(Tensor view) except -1:
    """Gives a view a history that starts at its base's current one."""
    cdef ViewOfBase node
    cdef Tensor base = view.base_
    if view.made != MADE_BY_OPERATOR:
        raise forbidden_on_view(view, "its base or another view of its base has been")
    node = ViewOfBase.__new__(ViewOfBase)
    mt_become(<PyObject*>node, view_of_base_type)
    node.node_name = "AsStridedBackward0"
    node.place, node.dtype, node.layout = place_in_base(view, base), base.dt, layout_of(base)
    number_node(node)
    node.set_edge_count(1)
    node.set_edge(0, base)
    node.set_output_count(1)
    view.seen_version = <int>view.storage.version
    set_history(view, node, 0)
    return 0


cdef int give_history_of_change(Node change, Tensor t) except -1:
    """Gives what a change of a view saved as its result the history of that part of the base."""
    cdef CopySlices made_by = <CopySlices?>change
    cdef ViewOfBase node = ViewOfBase.__new__(ViewOfBase)
    mt_become(<PyObject*>node, view_of_base_type)
    node.node_name = "AsStridedBackward0"
    node.place, node.layout = made_by.place, made_by.layout
    number_node(node)
    node.set_edge_count(1)
    node.next_outputs[0] = 0
    Py_INCREF(change)
    PyTuple_SET_ITEM(node.next_nodes, 0, change)
    node.set_output_count(1)
    set_history(t, node, 0)
    return 0


cdef bint is_changed_by(Tensor view, FunctionCtx ctx) except -1:
    """Whether a node changed a view in place: the base's history is then that, and the view's starts there."""
    if not isinstance(view.base_.grad_fn_, CopySlices) or not isinstance(view.grad_fn_, ViewOfBase):
        return False
    return (<CopySlices>view.base_.grad_fn_).operation is ctx and view.grad_fn_.next_nodes[0] is view.base_.grad_fn_


cdef int output_of_change(Tensor view) except -1:
    """Which output of the operation that changed it in place a view is."""
    return (<CopySlices>view.base_.grad_fn_).output


def view_in_place(str name not None, Tensor self not None, operator not None, *args):
    """Makes self, in place, what a view operator makes of it: the geometry, and where it is recorded the history.

    The memory is as it was, so that the base's history and other views' are, too; its version counts up, for what was
    saved of self. Returns the view, for what else is to be taken of it. Raises RuntimeError for a leaf that
    requires grad, a view of one, a view that must not be changed, and an inference tensor outside of that mode.
    """
    cdef bint recorded = not thread_state().grad_off and needs_grad(self)
    cdef Tensor view
    refuse_inference_tensor(self)
    if recorded:
        check_writable(name, self)
    view = <Tensor?>operator(self, *args)
    self.offset = view.offset
    copy_geometry_at(<PyObject*>view, self)
    if type(self) is not Tensor:                          # what it wraps
        vars(self).update(vars(view))
    bump_version(self.storage)
    if recorded and view.grad_fn_ is not None:
        set_history(self, view.grad_fn_, view.output_nr_)
        self.seen_version = <int>self.storage.version
    return view


cold.rebase_view = rebase_view
cold.refresh_view = refresh_view
cold.forbidden_on_view = forbidden_on_view
cold.is_changed_by = is_changed_by
cold.output_of_change = output_of_change
cold.give_history_of_change = give_history_of_change


def increment_version(Tensor tensor not None):
    """Counts a change of a tensor that was made in ways unknown here; those of inference mode have no count."""
    if tensor.keys & INPLACE_OR_VIEW:
        bump_version(tensor.storage)
