"""The backward pass: dependencies counted over the reachable graph, then nodes run from newest to oldest."""

cdef bint node_fields_taken = False        # one pass at a time keeps its states in the nodes; others use a dict


cdef class GraphTask:
    """One backward pass."""
    cdef list nodes                        # everything reached; keeps it alive while the pass runs
    cdef bint in_nodes
    cdef dict states                       # node -> address of its NodeState, where the nodes' own field is taken
    cdef NodeState** heap
    cdef Py_ssize_t heap_size, heap_room
    cdef dict captures                     # node -> [(output number, position in `captured`)]
    cdef list captured
    cdef bint retain_graph
    cdef object __weakref__

    def __cinit__(self):
        global node_fields_taken
        self.nodes = []
        self.in_nodes = not node_fields_taken
        if self.in_nodes:
            node_fields_taken = True
        else:
            self.states = {}

    def __dealloc__(self):
        free(self.heap)

    cdef int close(self) except -1:
        """Frees all states; runs whether the pass ended well or not."""
        global node_fields_taken
        cdef NodeState* state
        cdef Node node
        cdef int i
        for node in self.nodes:
            state = self.find(node)
            if state == NULL:
                continue
            for i in range(state.outputs):
                Py_XDECREF(state.grads[i])
            free(state)
            if self.in_nodes:
                node.state = NULL
        if self.in_nodes:
            node_fields_taken = False
        return 0

    cdef NodeState* find(self, Node node) noexcept:
        if self.in_nodes:
            return node.state
        address = self.states.get(node)
        if address is None:
            return NULL
        return <NodeState*><uintptr_t>address

    cdef NodeState* reach(self, Node node) except NULL:
        """The node's state, made on first sight."""
        cdef NodeState* state = self.find(node)
        if state != NULL:
            return state
        state = <NodeState*>malloc(sizeof(NodeState) + node.output_count * sizeof(PyObject*))
        if state == NULL:
            raise MemoryError()
        memset(state, 0, sizeof(NodeState) + node.output_count * sizeof(PyObject*))
        state.node, state.needed, state.visited, state.outputs = <PyObject*>node, True, -1, node.output_count
        if self.in_nodes:
            node.state = state
        else:
            self.states[node] = <uintptr_t>state
        self.nodes.append(node)
        return state

    cdef int count_dependencies(self) except -1:
        """Walks the graph without recursion; `nodes` grows while it is walked."""
        cdef Py_ssize_t at = 0
        cdef Node node, after
        cdef int i
        while at < len(self.nodes):
            node = <Node>self.nodes[at]
            at += 1
            for i in range(node.next_count):
                after = <Node>node.next_nodes[i]
                if after is not None:
                    self.reach(after).dependencies += 1
        return 0

    cdef int mark_needed(self, list roots) except -1:
        """With chosen inputs only nodes on a path to one run: a depth-first walk, without recursion."""
        cdef NodeState** stack = <NodeState**>malloc((len(self.nodes) + 1) * sizeof(NodeState*))
        cdef Py_ssize_t depth
        cdef NodeState* state
        cdef NodeState* reached
        cdef Node node, after
        if stack == NULL:
            raise MemoryError()
        for node in roots:
            state = self.find(node)
            if state.visited >= 0:
                continue
            stack[0], depth = state, 1
            state.visited, state.needed = 0, state.wanted
            while depth > 0:
                state = stack[depth - 1]
                node = <Node>state.node
                if state.visited == node.next_count:
                    depth -= 1
                    if depth > 0 and state.needed:
                        stack[depth - 1].needed = True
                    continue
                after = <Node>node.next_nodes[state.visited]
                state.visited += 1
                if after is None:
                    continue
                reached = self.find(after)
                if reached.visited < 0:
                    reached.visited, reached.needed = 0, reached.wanted
                    stack[depth] = reached
                    depth += 1
                elif reached.needed:
                    state.needed = True
        free(stack)
        return 0

    cdef int push(self, NodeState* state) except -1:
        cdef Py_ssize_t at = self.heap_size, parent
        cdef NodeState** room
        if state.queued:
            return 0
        state.queued = True
        if self.heap_size == self.heap_room:
            self.heap_room = 2 * self.heap_room + 64
            room = <NodeState**>realloc(self.heap, self.heap_room * sizeof(NodeState*))
            if room == NULL:
                raise MemoryError()
            self.heap = room
        self.heap_size += 1
        while at > 0:
            parent = (at - 1) // 2
            if (<Node>self.heap[parent].node).sequence >= (<Node>state.node).sequence:
                break
            self.heap[at] = self.heap[parent]
            at = parent
        self.heap[at] = state
        return 0

    cdef NodeState* pop(self) noexcept:
        cdef NodeState* top = self.heap[0]
        cdef NodeState* last
        cdef Py_ssize_t at = 0, child
        self.heap_size -= 1
        last = self.heap[self.heap_size]
        while True:
            child = 2 * at + 1
            if child >= self.heap_size:
                break
            if child + 1 < self.heap_size and \
                    (<Node>self.heap[child + 1].node).sequence > (<Node>self.heap[child].node).sequence:
                child += 1
            if (<Node>last.node).sequence >= (<Node>self.heap[child].node).sequence:
                break
            self.heap[at] = self.heap[child]
            at = child
        self.heap[at] = last
        return top

    cdef int receive(self, Node target, int output, object grad, Node source, int slot) except -1:
        """Adds a gradient to what has arrived at an output of a node."""
        cdef NodeState* state = self.find(target)
        cdef PyObject* held
        grad = fit_gradient(target.meta(output), grad, source, slot)
        held = state.grads[output]
        if held != NULL:
            grad = binary(OP_ADD, <object>held, grad)
            Py_DECREF(<object>held)
        Py_INCREF(grad)
        state.grads[output] = <PyObject*>grad
        return 0

    cdef int run(self) except -1:
        cdef NodeState* state
        while self.heap_size > 0:
            state = self.pop()
            if state.needed:
                self.run_node(state)
        return 0

    cdef int run_node(self, NodeState* state) except -1:
        cdef Node node = <Node>state.node
        cdef list grads
        cdef int i
        if node.hooks is None and not state.captured and not anomaly_enabled:
            if is_plan_node(node):
                return run_plan_node(self, <PlanNode>node, state)
            if node.sequence == LAST_SEQUENCE and (<AccumulateGrad>node).variable.hooks is None:
                return run_accumulate(<AccumulateGrad>node, state)
        grads = take_gradients(state)
        if state.captured and self.capture(node, grads):
            return 0
        if node.hooks is not None or node.sequence == LAST_SEQUENCE:
            run_tensor_hooks(node, grads)
            if node.hooks is not None and node.hooks.before:
                grads = list(replaced_by_hooks(node.hooks.before, tuple(grads), None))
        kept = tuple(grads) if node.hooks is not None and node.hooks.after else None
        result = apply_explained(node, grads) if anomaly_enabled else node.apply(grads)
        if kept is not None:
            result = replaced_by_hooks(node.hooks.after, self.fitted(node, result), kept)
        if not self.retain_graph:
            node.release_saved()
        for i in range(node.next_count):
            self.send(node, i, result[i])
        return 0

    cdef inline int send(self, Node node, int slot, object grad) except -1:
        """What a node gave for an input goes to the node that made it, which runs once it has heard from all."""
        cdef Node after = <Node>PyTuple_GET_ITEM(node.next_nodes, slot)
        cdef NodeState* reached
        if after is None:
            return 0
        reached = self.find(after)
        if grad is not None and reached.needed:
            self.receive(after, node.next_outputs[slot], grad, node, slot)
        reached.dependencies -= 1
        if reached.dependencies == 0:
            self.push(reached)
        return 0

    cdef tuple fitted(self, Node node, object result):
        """What a node gave, in the form of what it goes to, as the hooks that run after the node see it.

        As in PyTorch, a built-in operator gives None where nothing needs its gradient, other nodes what they want.
        """
        cdef list values = list(result)
        cdef Node after
        cdef int i
        for i in range(node.next_count):
            after = <Node>node.next_nodes[i]
            if after is None or values[i] is None:
                continue
            if is_builtin_call(node) and not self.find(after).needed:
                values[i] = None
            else:
                values[i] = fit_gradient(after.meta(node.next_outputs[i]), values[i], node, i)
        return tuple(values)

    cdef bint capture(self, Node node, list grads) except -1:
        """Takes the gradients that were asked for; whether the pass ends here.

        As in PyTorch, they are taken after the tensors' hooks where it does, and before them where the node runs, too.
        """
        cdef bint ends = not leads_on(self, node)
        if ends:
            run_tensor_hooks(node, grads)
        for output, position in self.captures[node]:
            self.captured[position] = grads[output]
        return ends


cdef object apply_explained(Node node, list grads):
    try:
        result = node.apply(grads)
        if anomaly_checks_nan:
            refuse_nan(node, result)
    except BaseException:
        explain_failure(node)
        raise
    return result


cdef bint leads_on(GraphTask task, Node node):
    cdef int i
    for i in range(node.next_count):
        if node.next_nodes[i] is not None and task.find(<Node>node.next_nodes[i]).needed:
            return True
    return False


cdef list take_gradients(NodeState* state):
    """The gradients that arrived, None where none did; the state forgets them."""
    cdef list grads = []
    cdef int i
    for i in range(state.outputs):
        if state.grads[i] == NULL:
            grads.append(None)
        else:
            grads.append(<object>state.grads[i])
            Py_DECREF(<object>state.grads[i])
            state.grads[i] = NULL
    return grads


cdef int run_accumulate(AccumulateGrad node, NodeState* state) except -1:
    """As `AccumulateGrad.apply`, where no hook looks at the gradient before."""
    cdef object grad
    if state.grads[0] != NULL and node.variable.wants_grad:
        grad = <object>state.grads[0]
        Py_DECREF(grad)
        state.grads[0] = NULL
        accumulate(node.variable, grad)
    if node.variable.post_hooks:
        run_post_accumulate_hooks(node.variable)
    return 0


cdef int run_tensor_hooks(Node node, list grads) except -1:
    """Hooks of the tensors whose gradients arrived, in a leaf those of its accumulator; then the tensors that keep theirs."""
    if node.sequence == LAST_SEQUENCE and (<AccumulateGrad>node).variable.hooks:
        grads[0] = run_hooks((<AccumulateGrad>node).variable.hooks, grads[0])
    if node.hooks is None:
        return 0
    for output, hooks in list(node.hooks.tensor.items()):         # a hook may add others, to outputs that had none
        grads[output] = run_hooks(hooks, grads[output])
    for output, reference in list(node.hooks.retained.items()):
        tensor = reference()
        if tensor is not None and grads[output] is not None:
            accumulate(<Tensor>tensor, grads[output])
    return 0


cdef object run_hooks(dict hooks, object grad):
    """A gradient, None where nothing arrived, as hooks leave it."""
    for hook in list(hooks.values()):
        replaced = hook(grad)
        if replaced is not None:
            check_replaced(grad, replaced, hook)
            grad = replaced
    return grad


cdef tuple replaced_by_hooks(dict hooks, tuple values, object grad_outputs):
    cdef Py_ssize_t i
    for hook in list(hooks.values()):
        replaced = hook(values) if grad_outputs is None else hook(values, grad_outputs)
        if replaced is None:
            continue
        if isinstance(replaced, Tensor):
            replaced = (replaced,)
        if not isinstance(replaced, tuple):
            raise TypeError(f"expected tuple, but hook returned '{_type_name(replaced)}': hook '{hook_name(hook)}' returns None, or one "
                            "gradient for each that it was given")
        if len(replaced) != len(values):
            raise RuntimeError(f"hook '{hook_name(hook)}' has returned an incorrect number of values (got {len(replaced)}, but expected "
                               f"{len(values)})")
        for i in range(len(values)):
            if replaced[i] is not None:
                check_replaced(values[i], replaced[i], hook)
        values = <tuple>replaced
    return values


cdef object hook_name(object hook):
    return getattr(hook, "__name__", hook)


cdef int check_replaced(object value, object replaced, object hook) except -1:
    """Refuses what a hook returns instead of a gradient that is another kind of thing."""
    cdef Tensor old, new
    if value is None:
        raise RuntimeError(f"can't replace a None gradient with a non-None value: hook '{hook_name(hook)}' was given None and returned "
                           f"'{_type_name(replaced)}'")
    if not isinstance(replaced, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{_type_name(replaced)}': hook '{hook_name(hook)}' must return None or a "
                        "Tensor")
    old, new = <Tensor>value, <Tensor>replaced
    if old.dt is not new.dt or old.dev.type_code != new.dev.type_code:
        raise RuntimeError(f"hook '{hook_name(hook)}' has changed the type of value (was {old.dt} on {old.dev}, got {new.dt} on "
                           f"{new.dev})")
    if not same_sizes(old, new):
        raise RuntimeError(f"hook '{hook_name(hook)}' has changed the size of value (was {list(old.shape)}, got {list(new.shape)})")
    return 0


cdef str name_of(Node source):
    """What an error calls the node that made a gradient; None: the caller of backward."""
    return "backward()" if source is None else source.name()


cdef object fit_gradient(OutputMeta* meta, object grad, Node source, int slot):
    """The gradient in the shape, dtype and on the device of what it belongs to, or an error that says what is wrong."""
    cdef Tensor g
    cdef int i
    cdef bint same
    if not isinstance(grad, Tensor):
        raise RuntimeError(f"expected Variable or None (got {_type_name(grad)}) from {name_of(source)} at index {slot}")
    if not meta.known:
        return grad
    g = <Tensor>grad
    same = g.nd == meta.nd
    if same:
        for i in range(g.nd):
            if g.sizes[i] != meta.sizes[i]:
                same = False
                break
    if not same:
        if not expands_to(meta, g):
            raise RuntimeError(f"Function {name_of(source)} returned an invalid gradient at index {slot} - got {list(g.shape)} but expected "
                               f"shape compatible with {list(make_size(meta.nd, meta.sizes))}")
        grad = summed_down(meta, g)
        g = <Tensor>grad
    if <PyObject*>g.dev != meta.dev and g.nd == 0:
        grad = aten("_to_copy")(g, device=<object>meta.dev)      # of a number on the CPU among tensors elsewhere
        g = <Tensor>grad
    if <PyObject*>g.dev != meta.dev:
        raise RuntimeError(f"Function {name_of(source)} returned an invalid gradient at index {slot} - expected device "
                           f"{<object>meta.dev} but got {g.dev}")
    if <PyObject*>g.dt != meta.dt:
        grad = aten("_to_copy")(g, dtype=<object>meta.dt)
    return grad


cdef object summed_down(OutputMeta* meta, Tensor g):
    """Undoes broadcasting: sums over the dimensions that it added or stretched."""
    cdef int i, added = g.nd - meta.nd
    dims = [i for i in range(g.nd) if i < added or meta.sizes[i - added] != g.sizes[i]]
    total = aten("sum")(g, dims, keepdim=True)
    return call2(aten("reshape"), total, make_size(meta.nd, meta.sizes)) if added else total


cdef bint expands_to(OutputMeta* meta, Tensor g) noexcept:
    """Whether meta's shape broadcasts to g's."""
    cdef int i, shift = g.nd - meta.nd
    if shift < 0:
        return False
    for i in range(meta.nd):
        if meta.sizes[i] != 1 and meta.sizes[i] != g.sizes[i + shift]:
            return False
    return True


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
    found = backward_pass(tensors, starts, retain, create, inputs, accumulate_inputs)
    if not unused and found is not None and None in found:
        raise RuntimeError(f"The differentiated Tensor at index {found.index(None)} appears to not have been used in the graph. Set "
                           "allow_unused=True if this is the desired behavior.")
    return found


cdef object backward_pass(tuple tensors, list starts, bint retain_graph, bint create_graph, object inputs,
                          bint accumulate_inputs):
    cdef GraphTask task = GraphTask()
    cdef int outside = mt_state.grad_off
    cdef uint64_t outside_keys = mt_state.excluded
    cdef void* outside_task = mt_state.graph_task
    cdef list pairs = list(saved_tensor_hooks.pairs) if recording_hooked else None
    cdef Node node
    cdef Py_ssize_t i
    task.retain_graph = retain_graph
    if create_graph and (inputs is None or accumulate_inputs):
        warn_of_cycle()
    mt_state.grad_off = not create_graph
    mt_state.excluded = outside_keys & ~BELOW_AUTOGRAD
    mt_state.graph_task = <void*>task
    try:
        outputs = []
        roots = [root_of(tensors[i], i, outputs) for i in range(len(tensors))]
        for node in roots:
            task.reach(node)
        task.count_dependencies()
        if inputs is not None:
            seek_inputs(task, inputs, accumulate_inputs)
            task.mark_needed(roots)
        for i in range(len(roots)):
            task.receive(<Node>roots[i], outputs[i], starts[i], None, i)
        for node in roots:
            if task.find(node).dependencies == 0:
                task.push(task.find(node))
        task.run()
    finally:
        mt_state.grad_off, mt_state.excluded, mt_state.graph_task = outside, outside_keys, outside_task
        if pairs is not None:
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


cdef Node root_of(object value, Py_ssize_t at, list outputs):
    """The node that a pass starts from; which of its outputs that is goes to `outputs`."""
    cdef Node node
    if not isinstance(value, Tensor):
        node, number = edge_of(value, at)
        node_output(node, number)
        outputs.append(number)
        return node
    node = gradient_node(<Tensor>value)
    if node is None:
        raise RuntimeError(f"element {at} of tensors does not require grad and does not have a grad_fn")
    outputs.append((<Tensor>value).output_nr_)
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
    return first_gradient(<Tensor>grad, meta.nd, meta.sizes, <dtype>meta.dt, <device>meta.dev, at)


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
