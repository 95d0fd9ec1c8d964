"""Gradients of definitions: what a call saves is made by one program, its gradient by another.

Both belong to one way through the definition and one set of inputs that require grad. A call that autograd records leaves
a `PlanNode`; where a transform runs the call, a hook sees what it saves, or it writes to an argument, the same programs are
called as ``setup_context`` and ``backward``.
"""

@cython.final
cdef class Formula:
    """The gradient on one way, for one set of inputs.

    ``prepare`` makes what is saved of the arguments and outputs (None: nothing is), ``program`` the gradients of the tensor
    arguments of those of the outputs and what was saved. Bit i of `reads`: the gradient of output i is read. ``given``: of what
    is saved, the number of the argument that it is, -1 of anything else. ``names``: of what is saved, what PyTorch calls it, or None.
    """
    cdef Program prepare, program
    cdef bint picks                # what is saved are arguments and outputs themselves: nothing is computed for it
    cdef int outputs
    cdef uint64_t reads
    cdef tuple needs, given, names

    def __init__(self, prepare, Program program not None, int outputs, uint64_t reads, tuple needs not None, tuple given not None,
                 tuple names not None):
        self.prepare = None if prepare is None else <Program?>prepare
        self.program, self.outputs, self.reads, self.needs, self.given, self.names = program, outputs, reads, needs, given, names
        self.picks = self.prepare is not None and self.prepare.steps[0].code == STEP_RETURN
        if self.program.inputs < outputs:
            raise ValueError("a gradient's program takes the gradients of all outputs")


mt_whole_formula_install(<PyTypeObject*>Formula)


@cython.final
cdef class Gradient:
    """What `Library.register_autograd` gets of a definition; also callable as its ``backward``.

    ``make(way, mask)`` makes a Formula, asked for once each; ``way(*inputs)`` tells which way a call goes, None: there is one.
    ``names()`` are those of what is saved on any way, with whether it is a tensor. ``differentiable`` says of each output
    whether it has a gradient; none given: all have.
    """
    cdef OpOverload op
    cdef uint64_t constant         # the outputs without a gradient, as bits
    cdef object make, way, names
    cdef dict formulas
    cdef Formula last
    cdef uint64_t last_mask
    cdef int last_way
    cdef object __weakref__

    def __init__(self, OpOverload op not None, make not None, way, names not None, differentiable=()):
        self.op, self.make, self.way, self.names, self.formulas = op, make, way, names, {}
        self.constant = sum([1 << i for i, has_gradient in enumerate(differentiable) if not has_gradient])

    def __call__(self, FunctionCtx ctx not None, *grads):
        cdef Formula formula
        formula, plain = vars(ctx)["plan"]
        tensors = ctx.saved_tensors or (None,) * len(plain)
        saved = tuple([plain[i] if tensors[i] is None else tensors[i] for i in range(len(plain))])
        gradients = iter(run_formula(formula, saved, list(grads)))
        return tuple([next(gradients) if self.op.sig.args[i].kind == ARG_TENSOR else None for i in range(self.op.sig.count)])

    cdef Formula formula_for(self, tuple inputs, needs):
        """The formula of a call: ``needs`` says which inputs require grad."""
        cdef uint64_t mask = 0
        cdef int i
        for i in range(self.op.sig.count):
            if self.op.sig.args[i].kind == ARG_TENSOR and needs[i]:
                mask |= <uint64_t>1 << i
        return formula_of(self, 0 if self.way is None else self.way(*inputs), mask)

    def setup_context(self, FunctionCtx ctx not None, tuple inputs not None, output):
        """Saves what the gradient reads."""
        cdef Formula formula = self.formula_for(inputs, ctx.needs_input_grad)
        cdef tuple outputs = output if isinstance(output, tuple) else (output,)
        values = () if formula.prepare is None else formula.prepare(*inputs, *outputs)[1]
        tensors = [v if isinstance(v, Tensor) else None for v in values]
        if any([t is not None for t in tensors]):   # a node that saves none is not freed by the first backward pass
            ctx.save_for_backward(*tensors)
        vars(ctx)["plan"] = formula, tuple([None if isinstance(v, Tensor) else v for v in values])
        if self.constant:
            ctx.mark_non_differentiable(*[outputs[i] for i in range(len(outputs)) if self.constant >> i & 1])


mt_whole_gradient_install(<PyTypeObject*>Gradient)


cdef Formula formula_of(Gradient gradient, int way, uint64_t mask):
    if gradient.last_mask == mask and gradient.last_way == way and gradient.last is not None:
        return gradient.last
    found = gradient.formulas.get((way, mask))
    if found is None:
        found = gradient.formulas[way, mask] = <Formula?>gradient.make(way, mask)
    gradient.last, gradient.last_mask, gradient.last_way = found, mask, way
    return found


cdef list run_formula(Formula formula, tuple saved, list grads):
    """Gradients of the tensor arguments."""
    cdef Frame f
    cdef PyObject* objects[PLAN_OBJECTS]
    cdef Program p = formula.program
    cdef int i
    if len(grads) != formula.outputs:
        raise RuntimeError(f"{p.op.sig.qualname}: the gradient takes those of {formula.outputs} outputs, got {len(grads)}")
    enter_frame(p, &f, objects, NULL)
    for i in range(formula.outputs):
        f.objects[i] = <PyObject*>grads[i]
    fill_saved(formula, &f, saved)
    try:
        run_program(p, &f)
        return [returned_value(p, &f, i) for i in range(f.returned)]
    finally:
        leave_frame(p, &f)


cdef int fill_saved(Formula formula, Frame* f, tuple saved) except -1:
    """What was saved into the registers behind the gradients."""
    cdef Py_ssize_t i, count = 0 if saved is None else PyTuple_GET_SIZE(saved)
    if formula.outputs + count != formula.program.inputs:
        raise RuntimeError(f"{formula.program.op.sig.qualname}: the gradient takes {formula.program.inputs - formula.outputs} saved "
                           f"values, got {count}")
    for i in range(count):
        f.objects[formula.outputs + i] = PyTuple_GET_ITEM(saved, i)
    return 0


# ---- operators that write to an argument: a formula that reads it means the value from before

cdef tuple inputs_before(OpOverload op, Bound* bound, FunctionCtx ctx):
    """Before the kernel runs, with autograd still on: a call's inputs, of what it overwrites and backward reads copies."""
    cdef list inputs = [<object>bound.slots[i] for i in range(op.sig.count)]
    cdef Formula formula = (<Gradient>op.gradient).formula_for(tuple(inputs), ctx.needs_input_grad)
    for at in formula.given:
        if at >= 0 and op.aliases[<int>at].written and inputs[at] is not None:
            copy = call1(aten("clone"), inputs[at])
            if forward_levels:                            # those that are hidden here are no call's own
                hook.copy_tangents(inputs[at], copy, mt_state.forward_hidden)
            inputs[at] = copy
    return tuple(inputs)


cdef int outdate_overwritten(OpOverload op, Bound* bound, FunctionCtx ctx) except -1:
    """What was saved of an argument that shares memory with what the operator wrote to: it has changed since the call began."""
    cdef Formula formula = vars(ctx)["plan"][0]
    cdef int position = 0, i
    for at in formula.given:
        if at >= 0 and not op.aliases[<int>at].written and bound.slots[<int>at] != <PyObject*>None:
            for i in range(op.sig.count):
                if op.aliases[i].written and op.sig.args[i].kind == ARG_TENSOR and bound.slots[i] != <PyObject*>None \
                        and (<Tensor>bound.slots[i]).storage is (<Tensor>bound.slots[<int>at]).storage:
                    versions_of(ctx)[position] = (<Tensor>bound.slots[i]).storage.version - 1
        position += 1
    return 0


@cython.final
cdef class PlanNode(FunctionCtx):
    """The node of a call that has a formula. `saved` has what its gradient reads: tensors first, then numbers and shapes."""
    cdef Formula formula
    cdef tuple plain               # what was saved if none of it is a tensor: the first backward pass does not free it

    @property
    def saved_tensors(self):
        """As of other nodes; None for what is no tensor."""
        return tuple([value if isinstance(value, Tensor) else None for value in self.saved_values() or self.plain or ()])

    def __getattr__(self, str name):
        return cold.saved_by_name(self, name)

    def __dir__(self):
        return [*object.__dir__(self), *cold.saved_attributes(self)]

    cdef object apply(self, list grads):
        cdef int i, missing = 0
        for i in range(self.output_count):
            missing += grads[i] is None
        if missing == self.output_count and is_builtin_call(self):
            return [None] * self.next_count
        for i in range(self.output_count):
            if grads[i] is None and self.formula.reads >> i & 1:
                grads[i] = zeros_for(self.meta(i))
        return run_formula(self.formula, self.values(), grads)

    cdef tuple values(self):
        """What was saved, or None. Raises where a tensor of it was changed, or the graph was freed."""
        return self.saved_values() if self.saved is not None or self.freed else self.plain


cdef inline bint is_plan_node(Node node) noexcept:
    """Every one has an operator's class."""
    return mt_refines(<PyObject*>node, <PyTypeObject*>PlanNode)


cdef int run_plan_node(GraphTask task, PlanNode node, NodeState* state) except -1:
    """As `GraphTask.run_node`, with the gradients straight from the pass into the program, and from there to the next nodes."""
    cdef Frame f
    cdef PyObject* objects[PLAN_OBJECTS]
    cdef Formula formula = node.formula
    cdef Program p = formula.program
    cdef tuple saved
    cdef int i
    cdef bint any_arrived = False
    for i in range(state.outputs):
        if state.grads[i] != NULL:
            any_arrived = True
    if not any_arrived and is_builtin_call(node):
        for i in range(node.next_count):
            task.send(node, i, None)
        return 0
    for i in range(state.outputs):
        if state.grads[i] == NULL and formula.reads >> i & 1:
            zeros = zeros_for(node.meta(i))
            Py_INCREF(zeros)
            state.grads[i] = <PyObject*>zeros
    saved = node.values()
    enter_frame(p, &f, objects, NULL)
    for i in range(formula.outputs):
        f.objects[i] = <PyObject*>None if state.grads[i] == NULL else state.grads[i]
    fill_saved(formula, &f, saved)
    try:
        run_program(p, &f)
        if f.returned != node.next_count:
            raise RuntimeError(f"{p.op.sig.qualname}: {f.returned} gradients for {node.next_count} inputs")
        if not task.retain_graph:
            node.release_saved()
        for i in range(node.next_count):
            task.send(node, i, returned_value(p, &f, i))
    finally:
        leave_frame(p, &f)
        for i in range(state.outputs):
            Py_XDECREF(state.grads[i])
            state.grads[i] = NULL
    return 0


cdef int record_plan(OpOverload op, Program p, Frame* f, uint64_t mask) except -1:
    """The node of a call that ran as a plan. `mask`: the arguments that require grad."""
    cdef PlanNode node = new_plan_node(op, f.objects)
    cdef PyObject* outputs[PLAN_OBJECTS]
    cdef Tensor output
    cdef Gradient gradient = <Gradient>op.gradient
    cdef int i
    set_formula(node, gradient, f.way, mask)
    node.set_output_count(f.returned)
    for i in range(f.returned):
        output = <Tensor?>returned_value(p, f, i)
        outputs[i] = <PyObject*>output
        if output is None:                                # it was not asked for
            continue
        if output.dt.category >= CATEGORY_FLOAT and not gradient.constant >> i & 1:
            set_history(output, node, i)
        else:
            node.without_history(output, i)
    if node.formula.prepare is not None:
        save_for(node, op, f.objects, outputs, f.returned, f.bound)
        return node.finish_saving()
    return 0


cdef PlanNode new_plan_node(OpOverload op, PyObject** arguments):
    """The node of a call with its edges. Its formula is set once the call has been made, which refuses what it does not take."""
    global next_sequence
    cdef PlanNode node = PlanNode.__new__(PlanNode)
    cdef int i
    if op.plan_node_type == NULL:
        op.plan_node_type = named_type(<PyTypeObject*>PlanNode, op.node_name)
    mt_become(<PyObject*>node, op.plan_node_type)
    node.function, node.is_operator, node.node_name = op, True, op.node_name
    node.sequence = next_sequence
    next_sequence += 1
    node.set_edge_count(op.sig.tensor_args)
    for i in range(op.sig.tensor_args):
        node.set_edge(i, <object>arguments[op.sig.tensor_at[i]])
    return node


cdef int set_formula(PlanNode node, Gradient gradient, int way, uint64_t mask) except -1:
    node.formula = formula_of(gradient, way, mask)
    node.needs_input_grad = node.formula.needs
    return 0


cdef int save_result(PlanNode node, OpOverload op, Bound* bound, object result, uint64_t mask) except -1:
    """As `record_plan`, of a call whose kernel is no plan, once that has returned: which way the call went is asked."""
    cdef PyObject* outputs[PLAN_OBJECTS]
    cdef Gradient gradient = <Gradient>op.gradient
    cdef int i, way = 0
    if gradient.way is not None:
        way = gradient.way(*[<object>bound.slots[i] for i in range(op.sig.count)])
    set_formula(node, gradient, way, mask)
    if node.formula.prepare is None:
        return 0
    outputs[0] = <PyObject*>result
    if op.returns != 1:
        for i in range(op.returns):
            outputs[i] = PyList_GET_ITEM(result, i) if PyList_Check(result) else PyTuple_GET_ITEM(result, i)
    return save_for(node, op, bound.slots, outputs, op.returns, bound)


cdef int save_for(PlanNode node, OpOverload op, PyObject** arguments, PyObject** outputs, int returned, Bound* bound) except -1:
    """Keeps what the gradient reads of a call's arguments and outputs, in `to_save` where some of it is a tensor."""
    cdef Program prepare = node.formula.prepare
    cdef tuple values
    cdef Py_ssize_t i
    if prepare.inputs != op.sig.count + returned:
        raise RuntimeError(f"{op.sig.qualname}: what its gradient saves is of other outputs")
    if node.formula.picks:
        values = picked(prepare, arguments, outputs, op.sig.count)
    else:
        values = computed(prepare, arguments, outputs, op.sig.count, bound)
    for i in range(PyTuple_GET_SIZE(values)):
        if is_tensor(PyTuple_GET_ITEM(values, i)):
            node.to_save = values
            return 0
    node.plain = values
    return 0


cdef tuple picked(Program prepare, PyObject** arguments, PyObject** outputs, int count):
    """What a program returns that does nothing else."""
    cdef Step* s = prepare.steps
    cdef tuple values = PyTuple_New(s.b)
    cdef PyObject* value
    cdef int i, at
    for i in range(s.b):
        at = prepare.pool[s.a + i]
        if at < count:
            value = <PyObject*>None if at < 0 else arguments[at]
        elif at < prepare.inputs:
            value = outputs[at - count]
        else:
            value = PyTuple_GET_ITEM(prepare.constants, PLAN_OBJECTS - 1 - at)
        Py_INCREF(<object>value)
        PyTuple_SET_ITEM(values, i, <object>value)
    return values


cdef tuple computed(Program prepare, PyObject** arguments, PyObject** outputs, int count, Bound* bound):
    cdef Frame made
    cdef PyObject* objects[PLAN_OBJECTS]
    enter_frame(prepare, &made, objects, bound)
    memcpy(objects, arguments, count * sizeof(PyObject*))
    memcpy(objects + count, outputs, (prepare.inputs - count) * sizeof(PyObject*))
    try:
        run_program(prepare, &made)
        return returned_values(prepare, &made)
    finally:
        leave_frame(prepare, &made)


cdef class OperatorCtx(FunctionCtx):
    """The node of an operator whose gradient is a function, or that writes to an argument."""

    def __getattr__(self, str name):
        return cold.saved_by_name(self, name)

    def __dir__(self):
        return [*object.__dir__(self), *cold.saved_attributes(self)]


cdef tuple saved_by_formula(FunctionCtx node):
    """Of an operator's node with a formula, the names of what was saved, and itself where none of it is a tensor; None of others."""
    if isinstance(node, PlanNode):
        return (<PlanNode>node).formula.names, (<PlanNode>node).plain
    plan = vars(node).get("plan") if node.is_operator else None
    return None if plan is None else ((<Formula?>plan[0]).names, plan[1])


cdef dict gradient_names(OpOverload op):
    """The names of what is saved on any way of an operator's gradient, with whether it is a tensor."""
    return (<Gradient>op.gradient).names()
