"""The backward pass: dependencies counted over the reachable graph, then nodes run from newest to oldest."""

cdef uint64_t passes_begun = 0
cdef bint node_fields_taken = False        # one pass at a time keeps its states in the nodes; others use a dict

cdef enum:
    FIRST_STATES = 1024                    # bytes for the states of a small graph, on the caller's stack
    MORE_STATES = 1 << 15
    FIRST_QUEUED = 16


cdef struct StateBlock:
    StateBlock* before


cdef struct Root:              # where a pass starts
    NodeState* state
    int output


cdef struct PassMemory:        # what a pass over a small graph needs
    char states[FIRST_STATES]
    NodeState* queue[FIRST_QUEUED]


@cython.final
cdef class GraphTask:
    """One backward pass. What it keeps of nodes is cut from blocks, the first of which is `PassMemory` of its caller."""
    cdef NodeState* first                  # of everything reached, which it keeps alive while the pass runs
    cdef NodeState* last
    cdef char* free_at
    cdef char* free_end
    cdef StateBlock* blocks
    cdef Py_ssize_t reached
    cdef bint in_nodes
    cdef dict states                       # node -> address of its NodeState, where the nodes' own field is taken
    cdef NodeState** heap
    cdef Py_ssize_t heap_size, heap_room
    cdef bint heap_is_own
    cdef dict captures                     # node -> [(output number, position in `captured`)]
    cdef list captured
    cdef readonly bint retain_graph
    cdef readonly uint64_t number          # of the passes of this process
    cdef Root* roots
    cdef Py_ssize_t root_count
    cdef NodeState* running                # the node that runs now
    cdef list callbacks                    # what is to run when the pass has ended well
    cdef object __weakref__

    cdef int open(self, PassMemory* memory) except -1:
        global node_fields_taken, passes_begun
        self.number = passes_begun
        passes_begun += 1
        self.free_at, self.free_end = &memory.states[0], &memory.states[0] + FIRST_STATES
        self.heap, self.heap_room = memory.queue, FIRST_QUEUED
        self.in_nodes = not node_fields_taken
        if self.in_nodes:
            node_fields_taken = True
        else:
            self.states = {}
        return 0

    cdef int close(self) except -1:
        """Frees all states; runs whether the pass ended well or not."""
        global node_fields_taken
        cdef NodeState* state = self.first
        cdef NodeState* after
        cdef StateBlock* block
        cdef int i
        self.first = NULL
        while state != NULL:
            after = state.after
            for i in range(state.outputs):
                Py_XDECREF(state.grads[i])
            if self.in_nodes:
                (<Node>state.node).state = NULL
            Py_DECREF(<object>state.node)
            state = after
        while self.blocks != NULL:
            block, self.blocks = self.blocks, self.blocks.before
            free(block)
        if self.heap_is_own:
            free(self.heap)
        self.states = None
        if self.in_nodes:                                      # last: what is freed above may run a pass of its own
            node_fields_taken = False
        return 0

    cdef NodeState* find(self, Node node) noexcept:
        if self.in_nodes:
            return node.state
        if self.states is None:                                # the pass is over
            return NULL
        address = self.states.get(node)
        if address is None:
            return NULL
        return <NodeState*><uintptr_t>address

    cdef void* cut(self, Py_ssize_t size) except NULL:
        """Memory until the pass ends, all zeros."""
        cdef StateBlock* block
        cdef char* place = self.free_at
        if self.free_end - place < size:
            block = <StateBlock*>malloc(sizeof(StateBlock) + max(size, MORE_STATES))
            if block == NULL:
                raise MemoryError()
            block.before, self.blocks = self.blocks, block
            place = <char*>(block + 1)
            self.free_end = place + max(size, MORE_STATES)
        self.free_at = place + size
        memset(place, 0, size)
        return place

    cdef NodeState* reach(self, Node node) except NULL:
        """The node's state, made on first sight."""
        cdef NodeState* state = self.find(node)
        if state != NULL:
            return state
        state = <NodeState*>self.cut(sizeof(NodeState) + node.output_count * sizeof(PyObject*))
        state.needed, state.visited = True, -1
        if self.in_nodes:
            node.state = state
        else:
            self.states[node] = <uintptr_t>state
        Py_INCREF(node)
        state.node, state.outputs = <PyObject*>node, node.output_count
        if self.first == NULL:
            self.first = state
        else:
            self.last.after = state
        self.last = state
        self.reached += 1
        return state

    cdef int count_dependencies(self) except -1:
        """Walks the graph without recursion: what it reaches comes after what it has walked."""
        cdef NodeState* state = self.first
        cdef Node node, after
        cdef int i
        while state != NULL:
            node = <Node>state.node
            for i in range(node.next_count):
                after = <Node>PyTuple_GET_ITEM(node.next_nodes, i)
                if after is not None:
                    self.reach(after).dependencies += 1
            state = state.after
        return 0

    cdef int mark_needed(self, Root* roots, Py_ssize_t count) except -1:
        """With chosen inputs only nodes on a path to one run: a depth-first walk, without recursion."""
        cdef NodeState** stack = <NodeState**>malloc((self.reached + 1) * sizeof(NodeState*))
        cdef Py_ssize_t i
        cdef Py_ssize_t depth
        cdef NodeState* state
        cdef NodeState* reached
        cdef Node node, after
        if stack == NULL:
            raise MemoryError()
        for i in range(count):
            state = roots[i].state
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

    cdef int refuse_swapped(self) except -1:
        """Raises for a pass that would add a gradient to a leaf that is another tensor by now."""
        cdef NodeState* state = self.first
        while state != NULL:
            if state.needed and (<Node>state.node).sequence == LAST_SEQUENCE and (<AccumulateGrad>state.node).swapped:
                raise RuntimeError("Trying to execute AccumulateGrad node that was poisoned by swap_tensors: the leaf of this graph is "
                                   "another tensor by now. Run backward before tensors are swapped, as a module's conversion may do, "
                                   "or forward again after it")
            state = state.after
        return 0

    cdef int push(self, NodeState* state) except -1:
        cdef Py_ssize_t at = self.heap_size, parent
        cdef NodeState** room
        if state.queued:
            return 0
        state.queued = True
        if self.heap_size == self.heap_room:
            room = <NodeState**>realloc(self.heap if self.heap_is_own else NULL, 2 * self.heap_room * sizeof(NodeState*))
            if room == NULL:
                raise MemoryError()
            if not self.heap_is_own:
                memcpy(room, self.heap, self.heap_size * sizeof(NodeState*))
            self.heap, self.heap_room, self.heap_is_own = room, 2 * self.heap_room, True
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
            grad = pair(OP_ADD, <object>held, grad)
            Py_DECREF(<object>held)
        Py_INCREF(grad)
        state.grads[output] = <PyObject*>grad
        return 0

    cdef int run(self) except -1:
        cdef NodeState* state
        while self.heap_size > 0:
            state = self.pop()
            self.running = state
            if state.needed and watched & WATCH_PROFILE:
                self.run_profiled(state)
            elif state.needed:
                self.run_node(state)
        self.running = NULL
        while self.callbacks:
            self.callbacks.pop(0)()
        return 0

    @property
    def root_nodes(self):
        """The nodes that the pass starts from."""
        return [<object>self.roots[i].state.node for i in range(self.root_count)]

    @property
    def node(self):
        """The node that runs now, or None."""
        return None if self.running == NULL else <object>self.running.node

    def gives(self, Node node not None):
        """Whether the gradient of this node is asked for, and returned."""
        return self.captures is not None and node in self.captures

    def call_at_end(self, function):
        """Calls a function when all nodes have run, after those that wait already; it may add others."""
        if self.callbacks is None:
            self.callbacks = []
        self.callbacks.append(function)

    cdef int run_profiled(self, NodeState* state) except -1:
        cdef int64_t span = cold.open_node(<Node>state.node, None)
        try:
            return self.run_node(state)
        finally:
            cold.close_span(span)

    cdef int run_node(self, NodeState* state) except -1:
        cdef Node node = <Node>state.node
        cdef list grads
        cdef int i
        if node.hooks is None and not state.captured and not watched | anomaly_enabled:
            if is_plan_node(node) and (<FunctionCtx>node).rare is None:      # else unpacking may give it hooks
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
        result = apply_watched(node, grads) if watched | anomaly_enabled else node.apply(grads)
        if node.hooks is not None and node.hooks.after:
            if kept is None:                              # they came as the node ran: what it was given is gone
                kept = ()
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


cdef object apply_watched(Node node, list grads):
    cdef int64_t span
    if not watched & WATCH_PROFILE:
        return apply_explained(node, grads) if anomaly_enabled else node.apply(grads)
    span = cold.open_node(node, grads)
    try:
        return apply_explained(node, grads) if anomaly_enabled else node.apply(grads)
    finally:
        cold.close_span(span)


cdef object apply_explained(Node node, list grads):
    try:
        result = node.apply(grads)
        if anomaly_checks_nan:
            cold.refuse_nan(node, result)
    except BaseException:
        cold.explain_failure(node)
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
        accumulate_at(node, grad)
    if node.variable.post_hooks:
        run_post_accumulate_hooks(node.variable)
    return 0


cdef str name_of(Node source):
    """What an error calls the node that made a gradient; None: the caller of backward."""
    return "backward()" if source is None else source.name()


cdef object fit_gradient(OutputMeta* meta, object grad, Node source, int slot):
    """The gradient in the shape, dtype and on the device of what it belongs to, or an error that says what is wrong."""
    cdef Tensor g
    cdef int64_t* sizes
    cdef int i
    cdef bint same
    if not isinstance(grad, Tensor):
        raise RuntimeError(f"expected Variable or None (got {_type_name(grad)}) from {name_of(source)} at index {slot}")
    if not meta.known:
        return grad
    g = <Tensor>grad
    sizes = sizes_in(meta)
    same = g.nd == meta.nd
    if same:
        for i in range(g.nd):
            if g.sizes[i] != sizes[i]:
                same = False
                break
    if not same:
        if not expands_to(meta, g):
            raise RuntimeError(f"Function {name_of(source)} returned an invalid gradient at index {slot} - got {list(g.shape)} but expected "
                               f"shape compatible with {list(make_size(meta.nd, sizes))}")
        grad = summed_down(meta, g)
        g = <Tensor>grad
    if <PyObject*>g.dev != meta.dev and g.nd == 0:
        grad = aten("_to_copy")(g, device=<object>meta.dev)      # of a number on the CPU among tensors elsewhere
        g = <Tensor>grad
    if <PyObject*>g.dev != meta.dev:
        raise RuntimeError(f"Function {name_of(source)} returned an invalid gradient at index {slot} - expected device "
                           f"{<object>meta.dev} but got {g.dev}")
    if g.dt.code != meta.dt and meta.known != META_ANY_DTYPE:
        grad = aten("_to_copy")(g, dtype=dtype_in(meta))
    return grad


cdef object summed_down(OutputMeta* meta, Tensor g):
    """Undoes broadcasting: sums over the dimensions that it added or stretched."""
    cdef int64_t* sizes = sizes_in(meta)
    cdef int i, added = g.nd - meta.nd
    dims = [i for i in range(g.nd) if i < added or sizes[i - added] != g.sizes[i]]
    total = aten("sum")(g, dims, keepdim=True)
    return call2(aten("reshape"), total, make_size(meta.nd, sizes)) if added else total


cdef bint expands_to(OutputMeta* meta, Tensor g) noexcept:
    """Whether meta's shape broadcasts to g's."""
    cdef int64_t* sizes = sizes_in(meta)
    cdef int i, shift = g.nd - meta.nd
    if shift < 0:
        return False
    for i in range(meta.nd):
        if sizes[i] != 1 and sizes[i] != g.sizes[i + shift]:
            return False
    return True
