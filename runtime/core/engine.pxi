"""Backward passes: where they start, what they are for, and the state of the thread while they run."""

cdef bint warned_of_cycles = False


cdef int warn_of_cycle() except -1:
    """Once, as in PyTorch: gradients with a graph, kept by the leaves of that graph."""
    global warned_of_cycles
    if not warned_of_cycles:
        warned_of_cycles = True
        import warnings
        warnings.warn("Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
                      "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you "
                      "have to use this function, make sure to reset the .grad fields of your parameters to None after use to break "
                      "the cycle and avoid the leak.", UserWarning)
    return 0


def run_backward(tuple tensors not None, tuple grad_tensors not None, retain_graph, create_graph, inputs=None,
                 allow_unused=True, bint accumulate_inputs=False):
    """Runs backward from `tensors`, or gradient edges, with the gradients `grad_tensors` (None: ones, for one element).

    Without `inputs`, leaves accumulate into ``grad``. With `inputs`, returns their gradients (with `allow_unused` None where
    unreached) and leaves others alone; with `accumulate_inputs` they are added to the inputs' ``grad`` instead. Grad mode is
    `create_graph` while it runs and is restored whatever happens, as is the graph.
    """
    cdef list starts = starts_of(tensors, grad_tensors)
    cdef bint retain = to_flag(retain_graph, "retain_graph"), create = to_flag(create_graph, "create_graph")
    cdef bint unused = to_flag(allow_unused, "allow_unused")
    found = backward_pass(<PyObject**>&(<PyTupleObject*>tensors).ob_item[0], <PyObject**>(<PyListObject*>starts).ob_item, len(tensors),
                          retain, create, inputs, accumulate_inputs)
    if not unused and found is not None and None in found:
        raise RuntimeError(f"The differentiated Tensor at index {found.index(None)} appears to not have been used in the graph. Set "
                           "allow_unused=True if this is the desired behavior.")
    return found


cdef enum:
    MOST_PASSES = 60           # one inside another on a thread, whose stack, and Python's limit, they take up


@cython.final
cdef class PassElsewhere:
    """A backward pass for another thread to run, in this one's state, while this one waits."""
    cdef tuple tensors, inputs
    cdef list starts, pairs
    cdef bint retain_graph, create_graph, accumulate_inputs
    cdef mt_state_t state

    def __call__(self):
        cdef mt_state_t own = mt_state
        try:
            set_state(&self.state)
            saved_tensor_hooks.pairs = self.pairs
            return backward_pass(<PyObject**>&(<PyTupleObject*>self.tensors).ob_item[0], <PyObject**>(<PyListObject*>self.starts).ob_item,
                                 len(self.tensors), self.retain_graph, self.create_graph, self.inputs, self.accumulate_inputs)
        finally:
            set_state(&own)


cdef void set_state(const mt_state_t* state) noexcept:
    memcpy(&mt_state, state, sizeof(mt_state_t))


cdef object pass_elsewhere(PyObject** tensors, PyObject** starts, Py_ssize_t count, bint retain_graph, bint create_graph, object inputs,
                           bint accumulate_inputs):
    cdef PassElsewhere elsewhere = PassElsewhere.__new__(PassElsewhere)
    elsewhere.tensors, elsewhere.starts = tuple_of(tensors, count), [<object>starts[i] for i in range(count)]
    elsewhere.retain_graph, elsewhere.create_graph, elsewhere.inputs = retain_graph, create_graph, inputs
    elsewhere.accumulate_inputs, elsewhere.pairs = accumulate_inputs, list(saved_tensor_hooks.pairs)
    elsewhere.state = mt_state
    elsewhere.state.passes, elsewhere.state.run = 0, NULL
    return hook.on_another_thread(elsewhere)


cdef object backward_pass(PyObject** tensors, PyObject** starts, Py_ssize_t count, bint retain_graph, bint create_graph, object inputs,
                          bint accumulate_inputs):
    if mt_state.passes >= MOST_PASSES:
        return pass_elsewhere(tensors, starts, count, retain_graph, create_graph, inputs, accumulate_inputs)
    cdef PassMemory memory
    cdef GraphTask task = GraphTask.__new__(GraphTask)
    cdef int outside = mt_state.grad_off
    cdef uint64_t outside_keys = mt_state.excluded
    cdef void* outside_task = mt_state.graph_task
    cdef list pairs = list(saved_tensor_hooks.pairs) if recording_hooked else None
    cdef Root* roots
    cdef Py_ssize_t i
    task.retain_graph = retain_graph
    if create_graph and (inputs is None or accumulate_inputs):
        warn_of_cycle()
    task.open(&memory)
    mt_state.grad_off = not create_graph
    mt_state.excluded = outside_keys & ~BELOW_AUTOGRAD
    mt_state.graph_task = <void*>task
    mt_state.passes += 1
    try:
        roots = <Root*>task.cut(count * sizeof(Root))
        for i in range(count):
            roots[i].state = task.reach(root_of(<object>tensors[i], i, &roots[i].output))
        task.roots, task.root_count = roots, count
        task.count_dependencies()
        if inputs is not None:
            seek_inputs(task, inputs, accumulate_inputs)
            task.mark_needed(roots, count)
        if leaves_swapped:
            task.refuse_swapped()
        for i in range(count):
            task.receive(<Node>roots[i].state.node, roots[i].output, <object>starts[i], None, i)
        for i in range(count):
            if roots[i].state.dependencies == 0:
                task.push(roots[i].state)
        task.run()
    finally:
        mt_state.passes -= 1
        mt_state.grad_off, mt_state.excluded, mt_state.graph_task = outside, outside_keys, outside_task
        if pairs is not None:
            count_hooks(len(pairs) - len(saved_tensor_hooks.pairs))
            saved_tensor_hooks.pairs[:] = pairs           # what unpacking left behind
        task.close()
    return None if inputs is None or accumulate_inputs else tuple(task.captured)


cdef bint to_flag(object value, str name) except -1:
    """A flag, for which PyTorch takes small ints, too."""
    cdef int64_t number
    if value is True or value is False:
        return value is True
    number = to_int64(value, name)
    if number < 0 or number > 255:
        raise OverflowError(f"{name} must be True or False, got {number}")
    return number != 0


def current_pass():
    """What stands for the backward pass that this thread is in, as long as it runs; None outside of one."""
    return None if mt_state.graph_task == NULL else <object>mt_state.graph_task


def will_run(Node node not None):
    """Whether the backward pass that this thread is in gets to a node. Raises RuntimeError outside of one."""
    cdef NodeState* state
    if mt_state.graph_task == NULL:
        raise RuntimeError("will_run() is for hooks: no backward pass runs on this thread")
    state = (<GraphTask>mt_state.graph_task).find(node)
    return state != NULL and state.needed


cdef Node root_of(object value, Py_ssize_t at, int* output):
    """The node that a pass starts from, and which of its outputs that is."""
    cdef Node node
    if not isinstance(value, Tensor):
        node, number = edge_of(value, at)
        node_output(node, number)
        output[0] = number
        return node
    node = gradient_node(<Tensor>value)
    if node is None:
        raise RuntimeError(f"element {at} of tensors does not require grad and does not have a grad_fn")
    output[0] = (<Tensor>value).output_nr_
    return node


cdef OutputMeta* node_output(Node node, int64_t number) except NULL:
    """What a node knows of one of its outputs."""
    if not 0 <= number < node.output_count:
        raise IndexError(f"GradientEdge's second object must be the number of an output of {node.name()}, from 0 to "
                         f"{node.output_count - 1}, but got {number}")
    return node.meta(<int>number)


cdef list starts_of(tuple tensors, tuple grad_tensors):
    """The gradients that a pass starts with, one for each tensor. What is no gradient is told before their number."""
    cdef list starts = [start_at(tensors[i], grad_tensors[i], i) for i in range(min(len(tensors), len(grad_tensors)))]
    if len(grad_tensors) != len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(grad_tensors)} gradients")
    return starts


class RootError(AssertionError, RuntimeError):
    """A backward pass is to start from what is no tensor. PyTorch asserts that it does not."""


cdef object start_at(object root, object grad, Py_ssize_t at):
    """The gradient that a pass starts with at a tensor or an edge: the given one, or a one. None where `root_of` refuses the root."""
    cdef OutputMeta* meta
    cdef Tensor t
    if grad is not None and not isinstance(grad, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {_type_name(grad)}")
    if isinstance(root, Tensor):
        t = <Tensor>root
        if grad is None and gradient_node(t) is None:
            return None
        if grad is None and t.keys & PYTHON and not t.keys & BATCHED and t.nelem == 1 and t.dt.category == CATEGORY_FLOAT:
            return aten("ones_like")(t)                    # of its class
        return first_gradient(<Tensor>grad, t.nd, t.sizes, t.dt, t.dev, at)
    if not isinstance(root, tuple):
        raise RootError(f"Expected output to be a torch.Tensor or a GradientEdge, but got {_type_name(root)} at index {at}")
    node, number = edge_of(root, at)
    meta = node_output(<Node>node, number)
    if not meta.known:
        if grad is None:
            raise RuntimeError(f"grad can be implicitly created only where its form is known: pass the gradient of output {number} of "
                               f"{node.name()}")
        return grad
    return first_gradient(<Tensor>grad, meta.nd, sizes_in(meta), dtype_in(meta), <device>meta.dev, at)


cdef object first_gradient(Tensor grad, int nd, int64_t* sizes, dtype dt, device dev, Py_ssize_t at):
    """A gradient of that shape, or a one."""
    cdef Py_ssize_t i
    cdef bint same, single = True
    if grad is not None:
        same = grad.nd == nd
        for i in range(nd if same else 0):
            same &= grad.sizes[i] == sizes[i]
        if not same:
            raise RuntimeError(f"Mismatch in shape: grad_output[{at}] has a shape of {grad.shape} and output[{at}] has a shape of "
                               f"{make_size(nd, sizes)}.")
        if (grad.dt.category == CATEGORY_COMPLEX) != (dt.category == CATEGORY_COMPLEX):
            raise RuntimeError("For complex Tensors, both grad_output[i] and output[i] are required to have the same dtype. Mismatch in "
                               f"dtype: grad_output[{at}] has a dtype of {grad.dt} and output[{at}] has a dtype of {dt}.")
        return grad
    for i in range(nd):
        single &= sizes[i] == 1
    if not single:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if dt.category != CATEGORY_FLOAT:
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {dt}")
    return aten("ones")(make_size(nd, sizes), dtype=dt, device=dev)


cdef tuple edge_of(object value, Py_ssize_t at):
    """The node of a `GradientEdge`, and which of its outputs it stands for."""
    if not isinstance(value, tuple) or len(value) < 2:
        raise RuntimeError(f"all inputs and outputs have to be Tensors or GradientEdges, but got {_type_name(value)} at index {at}")
    if not isinstance(value[0], Node):
        raise RuntimeError(f"GradientEdge's first object must be an autograd.graph.Node but got {_type_name(value[0])}")
    return value[0], to_int64(value[1], "GradientEdge's second object")


cdef int seek_inputs(GraphTask task, tuple inputs, bint accumulates) except -1:
    """Marks what the pass is for: gradients that are returned, or with `accumulates` added to the inputs' ``grad`` by their nodes."""
    cdef Node node
    cdef Tensor t
    cdef Py_ssize_t i
    cdef int number                # of the node's outputs
    cdef NodeState* state
    task.captures, task.captured = {}, [None] * len(inputs)
    for i in range(len(inputs)):
        if isinstance(inputs[i], Tensor):
            t = <Tensor>inputs[i]
            node = gradient_node(t)
            if node is None:
                raise RuntimeError("One of the differentiated Tensors does not require grad")
            if accumulates:
                t.retain_grad()
            number = t.output_nr_
        else:
            node, number = edge_of(inputs[i], i)
        state = task.find(node)
        if state == NULL:
            continue
        state.wanted = True
        if not accumulates:
            state.captured = True
            task.captures.setdefault(node, []).append((number, i))
    return 0
