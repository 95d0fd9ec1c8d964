"""What operators' nodes saved, by PyTorch's names: ``_saved_self``, ``_saved_result``, ``_saved_dim``, ``_raw_saved_self``.

There are those that a formula reads: of a call whose gradient is that of another argument a tensor may be None. Looked up when
asked for, in what the node's formula says of the values that it saves; nodes keep nothing for it.
"""

cdef class OperatorCtx(FunctionCtx):
    """The node of an operator whose gradient is a function, or that writes to an argument."""

    def __getattr__(self, str name):
        return saved_by_name(self, name)

    def __dir__(self):
        return [*object.__dir__(self), *saved_attributes(self)]


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
        cdef int outside = mt_state.grad_off
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
        mt_state.grad_off = True                          # what pack does is no part of the graph
        try:
            kept = packed(pack_hook, <Tensor>kept)
        finally:
            mt_state.grad_off = outside
        none, rare = (None,) * len(node.saved), node.rarely()
        rare.unpack = replaced_at(rare.unpack or none, self.at, unpack_hook)
        rare.histories = replaced_at(rare.histories or none, self.at, history)
        node.saved = replaced_at(node.saved, self.at, kept)


cdef tuple replaced_at(tuple values, Py_ssize_t at, object value):
    return values[:at] + (value,) + values[at + 1:]


cdef SavedTensor saved_tensor(FunctionCtx node, Py_ssize_t at):
    cdef SavedTensor made = SavedTensor.__new__(SavedTensor)
    made.node, made.at = node, at
    return made


cdef Formula formula_of_node(FunctionCtx node):
    """The formula of an operator's node, or None."""
    if isinstance(node, PlanNode):
        return (<PlanNode>node).formula
    plan = vars(node).get("plan") if node.is_operator else None
    return None if plan is None else <Formula?>plan[0]


cdef object saved_at(FunctionCtx node, Py_ssize_t at):
    """One of what a node saved, by its place; None at -1."""
    if node.freed:
        raise graph_freed()
    if at < 0:
        return None
    if isinstance(node, PlanNode):
        plain = (<PlanNode>node).plain
    else:
        plan = vars(node).get("plan")
        plain = None if plan is None else plan[1]
    if plain is not None and plain[at] is not None:
        return plain[at]
    return None if node.saved is None else unpack_at(node, at)


# Where nodes like one keep what PyTorch names: at a place of what was saved, several of them, in an attribute of the context, or,
# of another call than this one, nowhere (-1).

cdef dict saved_places(FunctionCtx node):
    """``{name: where}``."""
    cdef OpOverload op = <OpOverload>node.function
    cdef Formula formula = formula_of_node(node)
    cdef dict places
    if formula is None:
        return said_by_setup(op, "saves", {})
    places = {name: -1 for name, tensor in (<Gradient>op.gradient).names().items() if tensor or is_optional(op, name)}
    for at, name in enumerate(formula.names):
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
    return isinstance(where, int) and (formula_of_node(node) is None or (<Gradient>op.gradient).names().get(name, False))


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
