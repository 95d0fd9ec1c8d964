"""The context that forward and backward share: what it saves, how that is read again, and what backward returned."""


@cython.final
cdef class RareState:
    """What few calls set on their context; apart from it, because memory a node counts."""


cdef class FunctionCtx(Node):
    """The context that forward, ``setup_context`` and ``backward`` share; it is also the node in the graph."""

    def __cinit__(self):
        self.materialize = self.materialize_others = True

    def __init__(self, *args, **kwargs):
        # Of one that no call made. As in PyTorch a Function's class is made of anything, its base of nothing.
        if (args or kwargs) and not hasattr(type(self), "_forward_cls"):
            raise TypeError(f"{type(self).__name__}() takes no arguments")
        self.node_name = type(self).__name__

    def save_for_backward(self, *tensors):
        """Keeps tensors (or None) for backward, where ``saved_tensors`` returns them; the last call wins."""
        cdef int i = 0
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(f"save_for_backward can only save variables, but argument {i} is of type {_type_name(t)}")
            i += 1
        self.to_save = tensors

    def save_for_forward(self, *tensors):
        """Keeps tensors (or None) for ``jvp``, which finds them in ``saved_tensors``."""
        for i, t in enumerate(tensors):
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(f"save_for_forward can only save variables, but argument {i} is of type {_type_name(t)}")
        self.rarely().to_save_forward = tensors

    @property
    def saved_tensors(self):
        """What was saved. Raises RuntimeError where one was changed in place since, or after the graph was freed."""
        return self.saved_values()

    cdef tuple saved_values(self):
        """See `saved_tensors`; of a plan's node numbers and shapes, too."""
        if self.rare is not None and self.rare.to_save_forward is not None:
            return self.rare.to_save_forward
        if self.freed:
            raise graph_freed()
        if self.saved is None:
            # Nothing until a Function's forward is done, as in PyTorch; an operator's formulas of forward mode run sooner.
            return self.to_save if self.is_operator and self.to_save is not None else ()
        return unpack_saved(self)

    @property
    def saved_variables(self):
        """The obsolete name of ``saved_tensors``."""
        import warnings
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self):
        """What was saved, as `SavedTensor`s. Raises RuntimeError after the graph was freed."""
        if self.freed:
            raise graph_freed()
        return tuple([cold.saved_tensor(self, i) for i in range(len(self.saved or ()))])

    def name(self):
        return self.node_name or self.function.__name__ + "Backward"

    def __repr__(self):
        where = "" if self.is_operator else "torch.autograd.function."
        return f"<{where}{self.name()} object at {<uintptr_t><PyObject*>self:#x}>"

    def mark_dirty(self, *tensors):
        """Declares inputs that forward changed in place; they must be returned."""
        self.rarely().dirty = tensors

    def mark_non_differentiable(self, *tensors):
        """Declares outputs that get no gradient."""
        self.rarely().non_differentiable = tensors

    def set_materialize_grads(self, bint value):
        """Whether backward sees zeros (default) or None for outputs without a gradient."""
        self.materialize = value

    @property
    def _materialize_non_diff_grads(self):
        """Whether backward sees zeros (default) or None for outputs that are not differentiable."""
        return <bint>self.materialize_others

    @_materialize_non_diff_grads.setter
    def _materialize_non_diff_grads(self, bint value):
        self.materialize_others = value

    cdef int without_history(self, Tensor output, int number) except -1:
        """An output that gets no gradient: backward sees zeros for it, of its shape."""
        return record_meta(self.meta(number), output) if self.materialize_others else 0

    cdef RareState rarely(self):
        if self.rare is None:
            self.rare = RareState()
        return self.rare

    cdef int finish_saving(self) except -1:
        """After the outputs have their history: fixes versions (in-place bumps included) and breaks cycles."""
        cdef Py_ssize_t i, n
        cdef PyObject* t
        cdef PyObject* values = <PyObject*>self.to_save
        cdef int64_t* versions = &self.inline_versions[0]
        if self.to_save is None:
            return cold.record_hooked(self) if recording_hooked else 0
        n = PyTuple_GET_SIZE(<object>values)
        while n > 0 and not is_tensor(PyTuple_GET_ITEM(<object>values, n - 1)):
            n -= 1
        if n > INLINE_SAVED:
            if n > 64:
                raise RuntimeError(f"save_for_backward: at most 64 tensors can be saved, got {n}")
            versions = self.versions = <int64_t*>malloc(n * sizeof(int64_t))
            if versions == NULL:
                raise MemoryError()
        self.saved = self.to_save
        for i in range(n):
            t = PyTuple_GET_ITEM(<object>values, i)
            if not is_tensor(t):
                continue
            if not (<Tensor>t).keys & INPLACE_OR_VIEW:
                raise RuntimeError("Inference tensors cannot be saved for backward. Please do not use Tensors created in inference "
                                   "mode in computation tracked by autograd. To work around this, you can make a clone to get a "
                                   "normal tensor and use it in autograd, or use `torch.no_grad()` instead of "
                                   "`torch.inference_mode()`.")
            versions[i] = (<Tensor>t).storage.version
            if (<Tensor>t).grad_fn_ is None:
                continue
            if is_made_by(<Tensor>t, self):
                self.saved_outputs |= <uint64_t>1 << i
            else:
                self.saved_results |= <uint64_t>1 << i
        if self.saved_outputs:
            self.saved = tuple([
                output_alias(self, self.to_save[i]) if i < n and self.saved_outputs >> i & 1 else self.to_save[i]
                for i in range(len(self.to_save))])
        self.to_save = None
        return cold.record_hooked(self) if recording_hooked else 0

    cdef int release_saved(self) except -1:
        if self.saved is not None:
            self.freed = True
            self.saved = None
        return 0

    cdef object apply(self, list grads):
        cdef PyObject* args[MAX_ARGS]
        cdef list arguments
        cdef int i, missing = 0, n = self.output_count
        for i in range(n):
            if grads[i] is None:
                missing += 1
        if missing:
            if missing == n and is_builtin_call(self):
                return [None] * self.next_count           # as in PyTorch, whose own formulas have nothing to say then
            if self.materialize:
                self.materialize_gradients(grads)
        if n >= MAX_ARGS:
            result = backward_callable(self)(self, *grads)
        else:
            args[0] = <PyObject*>self
            for i in range(n):
                args[i + 1] = <PyObject*>grads[i]
            result = PyObject_Vectorcall(backward_callable(self), args, n + 1, NULL)
        return align_gradients(self, result)

    cdef int materialize_gradients(self, list grads) except -1:
        cdef int i
        for i in range(self.output_count):
            if grads[i] is None and self.meta(i).known:
                grads[i] = zeros_for(self.meta(i))
        return 0

cdef FunctionCtx _context_probe = FunctionCtx.__new__(FunctionCtx)
mt_context_dict_install(<PyTypeObject*>FunctionCtx, <char*>&_context_probe.attributes - <char*><PyObject*>_context_probe)


cdef Tensor saved_alias(Tensor t):
    """A detached alias; of a class with ``__torch_dispatch__`` made by the operator, so that it sees it."""
    if t.keys & PYTHON and not t.keys & BATCHED:
        return <Tensor?>call1(aten("detach"), t)
    return same_value(t)


cdef object output_alias(FunctionCtx ctx, Tensor t):
    cdef Tensor alias = saved_alias(t)
    alias.output_nr_ = t.output_nr_ if t.grad_fn_ is ctx else cold.output_of_change(t)
    if forward_levels:
        alias.tangents = tangents_of(t)                   # they are set once the operator is done
    return alias


cdef inline int64_t* versions_of(FunctionCtx ctx) noexcept:
    """Of what was saved, the versions when it was."""
    return &ctx.inline_versions[0] if ctx.versions == NULL else ctx.versions


cdef tuple unpack_saved(FunctionCtx ctx):
    cdef Py_ssize_t i, n = PyTuple_GET_SIZE(ctx.saved)
    if ctx.rare is not None and ctx.rare.unpack is not None:
        return tuple([unpack_at(ctx, i) for i in range(n)])
    for i in range(n):
        if is_tensor(PyTuple_GET_ITEM(ctx.saved, i)):
            check_unchanged_since(ctx, i)
    if not ctx.saved_outputs:
        return ctx.saved
    values = list(ctx.saved)
    for i in range(n):
        if ctx.saved_outputs >> i & 1:
            values[i] = as_own_output(ctx, <Tensor>values[i], (<Tensor>values[i]).output_nr_)
    return tuple(values)


cdef inline int check_unchanged_since(FunctionCtx ctx, Py_ssize_t i) except -1:
    """That a saved tensor is what it was when it was saved."""
    cdef Tensor t = <Tensor>ctx.saved[i]
    cdef int64_t version = versions_of(ctx)[i]
    if t.storage.version != version:
        raise modified_in_place(ctx, t, version)
    if ctx.saved_results >> i & 1 and t.grad_fn_ is None:
        raise RuntimeError(f"Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(), since {ctx.name()} "
                           "saved it. Use out-of-place .detach() instead.")
    return 0


cdef object unpack_at(FunctionCtx ctx, Py_ssize_t i):
    """One of what was saved, as backward sees it."""
    if ctx.rare is not None and ctx.rare.unpack is not None and ctx.rare.unpack[i] is not None:
        return cold.unpack_hooked(ctx, i)
    value = ctx.saved[i]
    if not isinstance(value, Tensor):
        return value
    check_unchanged_since(ctx, i)
    return as_own_output(ctx, <Tensor>value, (<Tensor>value).output_nr_) if ctx.saved_outputs >> i & 1 else value


cdef object graph_freed():
    return RuntimeError("Trying to backward through the graph a second time (or directly access saved tensors after they have already "
                        "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
                        "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
                        "saved tensors after calling backward.")


cdef Tensor as_own_output(FunctionCtx ctx, Tensor alias, int number):
    """A saved output as backward sees it: with this node as its history again."""
    cdef Tensor t = saved_alias(alias)
    t.grad_fn_, t.output_nr_, t.tangents = ctx, number, alias.tangents
    if ctx.rare is not None and ctx.rare.change is not None:
        cold.give_history_of_change(ctx.rare.change, t)
    return t


cdef object modified_in_place(FunctionCtx ctx, Tensor t, int64_t expected):
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{t.dt.name} {list(t.shape)}], saved by {ctx.name()}, is at version {t.storage.version}; expected version {expected} "
        "instead. Hint: use the out-of-place operation, or save a clone.")


cdef bint is_builtin_call(Node node):
    return isinstance(node, FunctionCtx) and (<FunctionCtx>node).is_operator and (<OpOverload>(<FunctionCtx>node).function).is_builtin


cdef object backward_callable(FunctionCtx ctx):
    if ctx.is_operator:
        function = (<OpOverload>ctx.function).backward_function
        if function is None:
            name = (<OpOverload>ctx.function).sig.qualname
            raise RuntimeError(f"derivative for {name} is not implemented: "
                               f"Trying to backward through {name} but no autograd formula was registered. "
                               f"Register one with `library.register_autograd(\"{name}\", ...)`, or give the operator a "
                               "`backward` in its YAML entry.")
        return function
    return ctx.function._backward_function(ctx)


cdef object zeros_for(OutputMeta* meta):
    return aten("zeros")(make_size(meta.nd, sizes_in(meta)), dtype=dtype_in(meta), device=<object>meta.dev)


cdef object align_gradients(FunctionCtx ctx, object result):
    """What backward returned, as one gradient per edge. Rule: gradients align with inputs by slot, none are filtered."""
    cdef Py_ssize_t given, expected
    if not PyTuple_Check(result):
        # Of an operator that takes a list of tensors, a list is the gradient of one argument.
        result = tuple(result) if PyList_Check(result) and not (ctx.is_operator and ctx.list_lengths is not None) else (result,)
    given, expected = len(result), len(ctx.needs_input_grad)
    if ctx.is_operator and given == (<OpOverload>ctx.function).sig.positional:
        result += (None,) * (expected - given)         # PyTorch has no gradients for keyword-only arguments
    elif ctx.is_operator and given < expected and left_out_by_default((<OpOverload>ctx.function).sig, given):
        result += (None,) * (expected - given)
    elif given > expected and not ctx.is_operator:
        extra = result[expected:]
        if any([g is not None for g in extra]):
            raise wrong_count(ctx, expected, given)
        result = result[:expected]
    elif given != expected:
        raise wrong_count(ctx, expected, given)
    return align_operator_gradients(ctx, <tuple>result) if ctx.is_operator else align_function_gradients(ctx, <tuple>result)


cdef bint left_out_by_default(Signature sig, Py_ssize_t given):
    """Whether the arguments from the one at `given` on are numbers that calls may leave out, which PyTorch then has no gradients for."""
    return all([a.has_default and "Tensor" not in str(a.type) for a in sig.schema.positional[given:]])


cdef object wrong_count(FunctionCtx ctx, Py_ssize_t expected, Py_ssize_t given):
    return RuntimeError(f"function {ctx.name()} returned an incorrect number of gradients (expected {expected}, got {given})")


cdef object align_operator_gradients(FunctionCtx ctx, tuple result):
    cdef OpOverload op = <OpOverload>ctx.function
    cdef int i, kind
    cdef list flat = []
    for i in range(op.sig.count):
        g = <object>PyTuple_GET_ITEM(result, i)
        kind = op.sig.args[i].kind
        if kind == ARG_TENSOR:
            flat.append(g)
        elif kind == ARG_TENSOR_LIST or kind == ARG_OPT_TENSOR_LIST:
            flat.extend(list_gradients(ctx, op, i, g))
        elif g is not None:
            raise not_a_tensor_input(ctx, i)
    return flat


cdef object list_gradients(FunctionCtx ctx, OpOverload op, int at, object g):
    length = ctx.list_lengths[at]
    if g is None:
        return [None] * length
    if not (PyTuple_Check(g) or PyList_Check(g)) or len(g) != length:
        got = f"{_type_name(g)} of length {len(g)}" if isinstance(g, (tuple, list)) else _type_name(g)
        raise RuntimeError(f"function {ctx.name()}: expected the gradient of the tensor list '{op.sig.names[at]}' (position {at}) "
                           f"to be None or a list of {length}, got {got}")
    return g


cdef object not_a_tensor_input(FunctionCtx ctx, int at):
    return RuntimeError(f"function {ctx.name()} returned a gradient different than None at position {at + 1}, but the corresponding "
                        "forward input was not a Variable")


cdef object align_function_gradients(FunctionCtx ctx, tuple result):
    cdef Py_ssize_t i
    for i in range(len(result)):
        if i < 64 and ctx.plain_inputs >> i & 1 and result[i] is not None:
            raise not_a_tensor_input(ctx, i)
    return result
