"""The backward graph: nodes, edges by input slot, and what each node knows of its outputs."""

cdef uint64_t next_sequence = 0
cdef uint64_t LAST_SEQUENCE = <uint64_t>-1         # of AccumulateGrad: runs as soon as it can, as in PyTorch


cdef inline int64_t* sizes_in(OutputMeta* meta) noexcept:
    return &meta.sizes.here[0] if meta.nd <= INLINE_META_DIMS else meta.sizes.apart


cdef inline dtype dtype_in(OutputMeta* meta):
    return <dtype>dtype_by_code[meta.dt]


cdef inline void forget_meta(OutputMeta* meta) noexcept:
    if meta.known and meta.nd > INLINE_META_DIMS:
        free(meta.sizes.apart)
    meta.known = META_UNKNOWN


cdef int record_meta(OutputMeta* meta, Tensor t) except -1:
    forget_meta(meta)
    if t.nd > INLINE_META_DIMS:
        meta.sizes.apart = <int64_t*>malloc(t.nd * sizeof(int64_t))
        if meta.sizes.apart == NULL:
            raise MemoryError()
        memcpy(meta.sizes.apart, t.sizes, t.nd * sizeof(int64_t))
    else:                                          # all of them, for which no function is called: a tensor has as much room
        memcpy(&meta.sizes.here[0], t.sizes, INLINE_META_DIMS * sizeof(int64_t))
    meta.known, meta.nd, meta.dt, meta.dev = META_KNOWN, t.nd, t.dt.code, <PyObject*>t.dev
    return 0


cdef int record_leaf(AccumulateGrad node, Tensor t) except -1:
    """What a leaf's node takes: gradients of another dtype where the leaf was told one."""
    record_meta(&node.first_meta, t)
    if t.grad_dtype_ == GRAD_OF_ANY_DTYPE:
        node.first_meta.known = META_ANY_DTYPE
    elif t.grad_dtype_ != GRAD_OF_OWN_DTYPE:
        node.first_meta.dt = t.grad_dtype_ - GRAD_OF_DTYPE
    return 0


@cython.final
cdef class NodeHooks:
    """What runs with a node; apart from it, because most nodes have none and memory a node counts."""

    def __cinit__(self):
        self.tensor, self.retained, self.before, self.after = {}, {}, {}, {}


@cython.trashcan(True)       # a graph a million nodes deep is freed without recursion
cdef class Node:
    """A step of the backward pass. Edges are aligned with the forward's inputs: slot i goes to input i's node."""

    def __cinit__(self):
        self.next_outputs = self.inline_next

    def __init__(self):
        raise TypeError("Node is an abstract class: nodes are made by calls that autograd records")

    def __dealloc__(self):
        cdef int i
        if self.next_outputs != self.inline_next:
            free(self.next_outputs)
        forget_meta(&self.first_meta)
        if self.more_meta != NULL:
            for i in range(self.output_count - 1):
                forget_meta(&self.more_meta[i])
            free(self.more_meta)
        if self.versions != NULL:
            free(self.versions)
        Py_XDECREF(self.attributes)

    cdef object apply(self, list grads):
        """Gradients of the outputs to gradients of the inputs, one per edge (or more; the rest must be None)."""
        raise NotImplementedError(f"{self.node_name}.apply")

    cdef int release_saved(self) except -1:
        return 0

    cdef int set_edge_count(self, int count) except -1:
        """Makes room for one edge per input slot; `set_edge` fills every one of them."""
        self.next_count = count
        self.next_nodes = PyTuple_New(count)
        if count > INLINE_EDGES:
            self.next_outputs = <int*>malloc(count * sizeof(int))
            if self.next_outputs == NULL:
                self.next_outputs = self.inline_next
                raise MemoryError()
        return 0

    cdef int set_edge(self, int slot, object tensor) except -1:
        """The edge of an input; None and tensors that need no gradient get an empty one."""
        cdef Node node = None if tensor is None else gradient_node(<Tensor>tensor)
        self.next_outputs[slot] = 0 if node is None else (<Tensor>tensor).output_nr_
        Py_INCREF(node)
        PyTuple_SET_ITEM(self.next_nodes, slot, node)
        return 0

    cdef int set_output_count(self, int count) except -1:
        self.output_count = count
        if count > 1 and self.more_meta == NULL:
            self.more_meta = <OutputMeta*>malloc((count - 1) * sizeof(OutputMeta))
            if self.more_meta == NULL:
                raise MemoryError()
            memset(self.more_meta, 0, (count - 1) * sizeof(OutputMeta))
        return 0

    cdef OutputMeta* meta(self, int output) noexcept:
        return &self.first_meta if output == 0 else &self.more_meta[output - 1]

    cdef NodeHooks hooked(self):
        if self.hooks is None:
            self.hooks = NodeHooks()
        return self.hooks

    cdef int retain(self, Tensor t) except -1:
        import weakref
        self.hooked().retained[t.output_nr_] = weakref.ref(t)
        return 0

    cdef object add_tensor_hook(self, int output, hook):
        return RemovableHandle(self.hooked().tensor.setdefault(output, {}), hook)

    def register_prehook(self, fn):
        """Calls ``fn(grad_outputs)`` before the node runs; a returned tuple replaces them."""
        return RemovableHandle(self.hooked().before, fn)

    def register_hook(self, fn):
        """Calls ``fn(grad_inputs, grad_outputs)`` after the node ran; a returned tuple replaces grad_inputs."""
        return RemovableHandle(self.hooked().after, fn)

    @property
    def metadata(self):
        """A dict for whatever is to be known of this node."""
        if self.hooks is None or self.hooks.metadata is None:
            self.hooked().metadata = {}
        return self.hooks.metadata

    @property
    def next_functions(self):
        """A ``(node, output number)`` pair per input slot; ``(None, 0)`` where the input needs no gradient."""
        if self.next_nodes is None:
            return ()
        found = tuple([(self.next_nodes[i], self.next_outputs[i]) for i in range(self.next_count)])
        return found + ((None, 0),) if takes_number_for_tensor(self) else found

    def name(self):
        return self.node_name

    def _sequence_nr(self):
        return self.sequence

    def _set_sequence_nr(self, uint64_t number):
        """Of the nodes that can run, backward takes the one with the highest number first."""
        if self.sequence == LAST_SEQUENCE or number == LAST_SEQUENCE:
            raise RuntimeError(f"{_type_name(self)}: {LAST_SEQUENCE} is the number of AccumulateGrad, and of no other node")
        self.sequence = number

    def __call__(self, *grads, **options):
        """What the node makes of the gradients of its outputs (None: of one that has none): those of its inputs, alone or in a tuple."""
        if isinstance(self, FunctionCtx) and not (<FunctionCtx>self).is_operator:
            raise TypeError(f"'{_type_name(self)}' object is not callable")
        if options:
            raise TypeError("keyword arguments are not supported")
        if len(grads) != self.output_count:
            raise TypeError(f"expected {self.output_count} arguments, got {len(grads)} instead")
        for i, grad in enumerate(grads):
            if grad is not None and not isinstance(grad, Tensor):
                raise TypeError(f"argument {i} is not a Variable")
        found = tuple(self.apply(list(grads)))[:self.next_count] + ((None,) if takes_number_for_tensor(self) else ())
        return found[0] if len(found) == 1 else found

    def __repr__(self):
        return f"<{_type_name(self)} object at {<uintptr_t><PyObject*>self:#x}>"

    def __reduce_ex__(self, protocol):
        raise TypeError(f"cannot pickle '{_type_name(self)}' object")


cdef object PAIRS_WITH_NUMBERS = frozenset(("add", "sub", "mul", "div"))


cdef bint takes_number_for_tensor(Node node) except -1:
    """Whether it is the node of ``x + 2``, which PyTorch makes a sum of two tensors: the number has an edge that leads nowhere."""
    if not isinstance(node, FunctionCtx) or not (<FunctionCtx>node).is_operator:
        return False
    schema = (<OpOverload>(<FunctionCtx>node).function)._schema
    return is_builtin_call(node) and schema.overload == "Scalar" and schema.name.rstrip("_") in PAIRS_WITH_NUMBERS


@cython.final
@cython.no_gc_clear          # __dealloc__ must still see the variable
cdef class AccumulateGrad(Node):
    """Adds what arrives to a leaf's ``grad``."""

    def __dealloc__(self):
        if self.variable is not None and self.variable.accumulator == <PyObject*>self:
            self.variable.accumulator = NULL

    def name(self):
        return "torch::autograd::AccumulateGrad"          # PyTorch's, whose `repr` has the class alone

    cdef object apply(self, list grads):
        if grads[0] is not None and self.variable.wants_grad:
            grad = grads[0]
            grads[0] = None                        # so that a fresh gradient can be kept without a copy
            accumulate_at(self, grad, 3 if self.hooks is not None and self.hooks.after else 2)
        if self.variable.post_hooks:
            run_post_accumulate_hooks(self.variable)
        return ()

mt_without_module(<PyTypeObject*>AccumulateGrad, "AccumulateGrad")


cdef int forget_retained(Tensor t) except -1:
    """Takes back what `retain` did, before a change in place gives the tensor another node."""
    cdef NodeHooks hooks = None if t.grad_fn_ is None else t.grad_fn_.hooks
    if hooks is not None and t.output_nr_ in hooks.retained and hooks.retained[t.output_nr_]() is t:
        del hooks.retained[t.output_nr_]
    return 0


cdef int run_post_accumulate_hooks(Tensor variable) except -1:
    for hook in list(variable.post_hooks.values()):
        if hook(variable) is not None:
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")
    return 0


cdef int accumulate_at(AccumulateGrad node, object grad, Py_ssize_t references=2) except -1:
    """As `accumulate`, of a leaf, whose gradient the passes of several threads may add to at once: one after another.

    A copy or a sum that nobody lets another thread in for needs no lock.
    """
    if node.lock is None:
        if is_plain_copy(<Tensor>grad):
            return accumulate(node.variable, grad, references)
        lock = threading.RLock()
        if node.lock is None:                             # making it may have let another thread in
            node.lock = lock
    with node.lock:
        return accumulate(node.variable, grad, references)


cdef int accumulate(Tensor variable, object grad, Py_ssize_t references=2) except -1:
    """variable.grad += grad, keeping a gradient that nobody else refers to instead of copying it."""
    cdef Tensor g = <Tensor>grad
    cdef Tensor held
    cdef bint fits
    if variable.grad_ is None:
        # The caller's variable and `g` are two references, what hooks will be given is a third: with no other, and none to
        # its memory, it can be kept.
        fits = mt_state.grad_off and lies_as(g, variable)
        if fits and g.base_ is None and Py_REFCNT(<PyObject*>g.storage) == 1 and Py_REFCNT(<PyObject*>g) <= references:
            variable.grad_ = g
        elif fits and is_only_view(g, references):
            variable.grad_ = same_value(g)
        elif fits and is_plain_copy(g):
            variable.grad_ = plain_copy(g)
        elif fits:
            variable.grad_ = call1(aten("clone"), g if mt_state.included & PYTHON else same_value(g))    # modes know `g`
        else:
            variable.grad_ = laid_out_as(same_value(g) if mt_state.grad_off else g, variable)
        return 0
    held = <Tensor>variable.grad_
    if mt_state.grad_off and not needs_grad(held):
        pair(OP_IADD, held, g)
    else:
        variable.grad_ = pair(OP_ADD, held, g)
    return 0


cdef inline bint is_only_view(Tensor g, Py_ssize_t references) noexcept:
    """Whether a gradient is a view of all of a tensor that nobody else refers to, as the transpose of a product is."""
    return g.base_ is not None and Py_REFCNT(<PyObject*>g) <= references and Py_REFCNT(<PyObject*>g.base_) == 1 \
        and Py_REFCNT(<PyObject*>g.storage) == 2 and (<Tensor>g.base_).nelem == g.nelem \
        and not (g.keys | mt_state.included) & ~mt_state.excluded & (OVERRIDES | TRACING | LAZY)


cdef inline bint lies_as(Tensor g, Tensor variable) noexcept:
    """Whether a gradient lies in memory as its leaf does, or in rows where that leaves gaps, as PyTorch's layout contract asks."""
    return g.contig if variable.contig or not is_dense(variable) else same_steps(g, variable)


cdef object laid_out_as(Tensor g, Tensor variable):
    """A copy of a gradient that `lies_as` its leaf asks; of what stands for others, whatever its `clone` is."""
    if (g.keys | variable.keys) & OVERRIDES or g.nd != variable.nd:
        return call1(aten("clone"), g)
    if not is_dense(variable):
        return aten("clone")(g, memory_format="contiguous_format")
    made = aten("new_empty_strided")(g, make_size(g.nd, g.sizes), variable.stride())
    return call2(aten("copy_"), made, g)


cdef inline bint is_plain_copy(Tensor g) noexcept:
    """Whether `clone` would copy a little memory of the CPU, and nobody could see it do so."""
    return g.contig and g.dev.type_code == KEY_CPU and 0 < g.nelem < RELEASE_GIL_FROM and g.storage.data != NULL \
        and g.keys & INPLACE_OR_VIEW and not (g.keys | mt_state.included) & ~mt_state.excluded & (OVERRIDES | TRACING | LAZY) \
        and not forward_levels and not watched


cdef Tensor plain_copy(Tensor g):
    cdef Tensor t = like_of(g, g.dt)
    memcpy(t.storage.data, tensor_data(g), g.nelem * g.dt.itemsize)
    return t


cdef Node gradient_node(Tensor t):
    """Where a tensor's gradient goes: the node that made it, a leaf's accumulator, or None."""
    cdef AccumulateGrad node
    cdef Node made_by = current_grad_fn(t)
    if made_by is not None:
        return made_by
    if not t.wants_grad:
        return None
    if t.accumulator != NULL:
        return <AccumulateGrad>t.accumulator
    if t.parked != NULL:
        return unpark_accumulator(t)
    node = AccumulateGrad.__new__(AccumulateGrad)
    node.variable, node.sequence, node.node_name = t, LAST_SEQUENCE, "AccumulateGrad"
    node.next_nodes, node.next_count = (), 0
    node.set_output_count(1)
    record_leaf(node, t)
    t.accumulator = <PyObject*>node
    return node
