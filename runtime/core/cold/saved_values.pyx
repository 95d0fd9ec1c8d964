# cython: language_level=3, boundscheck=False, binding=False, cdivision=True, initializedcheck=False
# cython: nonecheck=False, auto_pickle=False, embedsignature=True, embedsignature.format=clinic
"""What a node keeps, looked at or changed from outside: hooks of saved tensors, anomaly mode, and what was saved, by name.

Operators' nodes have what they saved under PyTorch's names: ``_saved_self``, ``_saved_result``, ``_saved_dim``, ``_raw_saved_self``.
There are those that a formula reads: of a call whose gradient is that of another argument a tensor may be None. Looked up when
asked for, in what the node's formula says of the values that it saves; nodes keep nothing for it.
"""
cimport cython
from libc.stdint cimport uint64_t

from mindtorch_v2._core cimport (
    CATEGORY_FLOAT, KEY_BATCHED, FunctionCtx, Node, OpOverload, RareState, Tensor, anomaly_enabled, cold, gradient_names, gradient_node, graph_freed,
    needs_grad, said_by_setup, saved_alias, saved_by_formula, saved_tensor_hooks, thread_state, unpack_at,
)

from mindtorch_v2._core import _type_name, current_pass

cdef extern from "cpython_glue.h":      # for tracebacks without frames of the core
    pass


# ---------------------------------------------------------------- hooks of saved tensors
cdef int record_hooked(FunctionCtx ctx) except -1:
    """What the flag stands for: called once a node's saved tensors are settled."""
    cdef int outside
    if anomaly_enabled:
        import traceback
        ctx.rarely().recorded_at = "".join(traceback.format_stack()), running_node_recorded()
    if saved_tensor_hooks.pairs and ctx.saved is not None:
        pack, unpack = saved_tensor_hooks.pairs[-1]
        ctx.rarely().unpack = tuple([None if t is None else unpack for t in ctx.saved])
        ctx.rare.histories = tuple([None if t is None else history_of(<Tensor>t) for t in ctx.saved])
        outside = thread_state().grad_off
        thread_state().grad_off = True                          # what pack does is no part of the graph
        try:
            ctx.saved = tuple([None if t is None else packed(pack, <Tensor>t) for t in ctx.saved])
        finally:
            thread_state().grad_off = outside
    return 0


cdef tuple history_of(Tensor t):
    """What pack may lose of a tensor. The alias of a node's own output has no node: that would be a cycle."""
    cdef Node node = gradient_node(t)
    return node, t.output_nr_, t.tangents


cdef Tensor with_history(FunctionCtx ctx, Tensor value, Py_ssize_t at):
    """What unpack returned, as backward sees it: in the place of what was saved, whatever pack and unpack computed."""
    cdef Tensor t
    node, output, tangents = ctx.rare.histories[at]
    if node is None and not ctx.saved_outputs >> at & 1 and tangents is value.tangents and not needs_grad(value):
        return value                                       # as it was: backward may ask whether it is the same object
    t = saved_alias(value)
    t.output_nr_, t.tangents = output, tangents
    t.grad_fn_ = ctx if ctx.saved_outputs >> at & 1 else node
    return t


cdef object packed(object pack, Tensor t):
    cdef uint64_t before = t.storage.version
    result = pack(t)
    if t.storage.version != before:
        raise RuntimeError("A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be "
                           "modified by in-place operations as this can lead to unexpected side-effects. Change a clone instead.")
    return result


cdef Tensor unpack_hooked(FunctionCtx ctx, Py_ssize_t at):
    value = ctx.rare.unpack[at](ctx.saved[at])
    if not isinstance(value, Tensor):
        raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {_type_name(value)}")
    return with_history(ctx, <Tensor>value, at)


# ---------------------------------------------------------------- anomaly mode
cdef tuple running_node_recorded():
    """In anomaly mode: the name of the node whose backward records another one, and where it was itself recorded."""
    this = current_pass()
    node = None if this is None else this.node
    cdef RareState rare = (<FunctionCtx>node).rare if isinstance(node, FunctionCtx) else None
    return None if rare is None or rare.recorded_at is None else (node.name(), rare.recorded_at)


cdef int explain_failure(Node node) except -1:
    """In anomaly mode: warnings that say where the operation that failed in backward was recorded, and what led to that."""
    cdef RareState rare = (<FunctionCtx>node).rare if isinstance(node, FunctionCtx) else None
    if rare is None or rare.recorded_at is None:
        return tell(f"Error detected in {node.name()}. No forward pass information available. Enable detect anomaly during "
                    "forward pass for more information.")
    stack, caller = rare.recorded_at
    tell(f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{stack}")
    while caller is not None:
        name, (stack, caller) = caller
        tell(f"Previous calculation was induced by {name}. Traceback of forward call that induced the previous calculation:\n{stack}")
    return 0


cdef int tell(str text) except -1:
    """Warns beside an error, in whose place the warning never comes: where warnings are errors, it is printed."""
    import sys
    import warnings
    try:
        warnings.warn(text, UserWarning)
    except UserWarning as refused:
        print(f"UserWarning: {refused}", file=sys.stderr)
    return 0


cdef int refuse_nan(Node node, object grads) except -1:
    cdef int at = 0
    for g in grads:
        while isinstance(g, Tensor) and (<Tensor>g).keys >> KEY_BATCHED & 1:      # of all samples of a `vmap`
            g = g.value
        if isinstance(g, Tensor) and (<Tensor>g).dt.category >= CATEGORY_FLOAT and bool(g.isnan().any().item()):
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {at}th output.")
        at += 1
    return 0


# ---------------------------------------------------------------- what was saved, by name
@cython.final
cdef class SavedTensor:
    """A tensor where a node keeps it."""
    cdef FunctionCtx node
    cdef Py_ssize_t at                      # in what the node saved; -1: it saved none

    def __init__(self):
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")

    def unpack(self):
        """The tensor, or None. Raises RuntimeError where it was changed in place since, or after the graph was freed."""
        return saved_at(self.node, self.at)

    @property
    def data(self):
        """What is kept: the tensor, or what a pack hook made of it; None after the graph was freed."""
        return None if self.at < 0 or self.node.saved is None else self.node.saved[self.at] if self.unpack_hook is not None \
            else self.unpack()

    @property
    def unpack_hook(self):
        """The hook that makes the tensor of what is kept, or None."""
        cdef RareState rare = self.node.rare
        return None if self.at < 0 or rare is None or rare.unpack is None else rare.unpack[self.at]

    def register_hooks(self, *hooks):
        """``register_hooks(pack_hook, unpack_hook)``: from now on ``pack_hook(tensor)`` is kept, of which the other makes the tensor.

        Raises RuntimeError where there is no tensor, the graph was freed, or there are hooks already.
        """
        cdef FunctionCtx node = self.node
        cdef RareState rare
        cdef int outside = thread_state().grad_off
        if len(hooks) != 2 or not callable(hooks[0]) or not callable(hooks[1]):
            raise TypeError("register_hooks(): incompatible function arguments: expected (pack_hook, unpack_hook), two callables, got "
                            f"({', '.join([_type_name(given) for given in hooks])})")
        pack_hook, unpack_hook = hooks
        if self.at < 0 or not node.freed and saved_at(node, self.at) is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        if node.freed:
            raise RuntimeError("Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the "
                               "graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need "
                               "to backward through the graph a second time or if you need to access saved variables after calling "
                               "backward.")
        if self.unpack_hook is not None:
            raise RuntimeError("Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of "
                               "hooks is allowed at a time.")
        kept = node.saved[self.at]
        history = history_of(<Tensor>kept)
        thread_state().grad_off = True                          # what pack does is no part of the graph
        try:
            kept = packed(pack_hook, <Tensor>kept)
        finally:
            thread_state().grad_off = outside
        none, rare = (None,) * len(node.saved), node.rarely()
        rare.unpack = replaced_at(rare.unpack or none, self.at, unpack_hook)
        rare.histories = replaced_at(rare.histories or none, self.at, history)
        node.saved = replaced_at(node.saved, self.at, kept)


cdef tuple replaced_at(tuple values, Py_ssize_t at, object value):
    return values[:at] + (value,) + values[at + 1:]


cdef object saved_tensor(FunctionCtx node, Py_ssize_t at):
    cdef SavedTensor made = SavedTensor.__new__(SavedTensor)
    made.node, made.at = node, at
    return made


cdef object saved_at(FunctionCtx node, Py_ssize_t at):
    """One of what a node saved, by its place; None at -1."""
    if node.freed:
        raise graph_freed()
    if at < 0:
        return None
    kept = saved_by_formula(node)
    if kept is not None and kept[1] is not None and kept[1][at] is not None:
        return kept[1][at]
    return None if node.saved is None else unpack_at(node, at)


# Where nodes like one keep what PyTorch names: at a place of what was saved, several of them, in an attribute of the context, or,
# of another call than this one, nowhere (-1).

cdef dict saved_places(FunctionCtx node):
    """``{name: where}``."""
    cdef OpOverload op = <OpOverload>node.function
    cdef tuple kept = saved_by_formula(node)
    cdef dict places
    if kept is None:
        return said_by_setup(op, "saves", {})
    places = {name: -1 for name, tensor in gradient_names(op).items() if tensor or is_optional(op, name)}
    for at, name in enumerate(kept[0]):
        if name is not None:
            places[name] = at
    return places


cdef bint is_optional(OpOverload op, str name) except -1:
    """Whether it is an argument that may be None, as it is where it is not read."""
    return name in op.sig.names and op.sig.args[<int>op.sig.names.index(name)].optional


cdef bint keeps_tensor(FunctionCtx node, str name, object where) except -1:
    cdef OpOverload op = <OpOverload>node.function
    if isinstance(where, slice):
        return True
    return isinstance(where, int) and (saved_by_formula(node) is None or gradient_names(op).get(name, False))


cdef list saved_attributes(FunctionCtx node):
    cdef dict places = saved_places(node)
    return [f"_saved_{name}" for name in places] + [f"_raw_saved_{name}" for name, at in places.items() if keeps_tensor(node, name, at)]


cdef object saved_by_name(FunctionCtx node, str name):
    """The value of an attribute that is none of the class's own. Raises AttributeError where nodes like this save nothing so called."""
    cdef bint raw = name.startswith("_raw_saved_")
    cdef str wanted = name[11:] if raw else name[7:] if name.startswith("_saved_") else None
    where = None if wanted is None else saved_places(node).get(wanted)
    if where is None or raw and not keeps_tensor(node, wanted, where):
        raise AttributeError(f"'{_type_name(node)}' object has no attribute '{name}'")
    if raw and isinstance(where, slice):
        return tuple([saved_tensor(node, at) for at in range(*where.indices(len(node.saved or ())))])
    if raw:
        return saved_tensor(node, where)
    if isinstance(where, slice):
        return node.saved_values()[where]
    return saved_at(node, where) if isinstance(where, int) else vars(node).get(where)


cold.record_hooked = record_hooked
cold.unpack_hooked = unpack_hooked
cold.explain_failure = explain_failure
cold.refuse_nan = refuse_nan
cold.saved_tensor = saved_tensor
cold.saved_by_name = saved_by_name
cold.saved_attributes = saved_attributes
