"""Rarely used ways into recording: saved-tensor hooks and anomaly mode. Off, each costs one test of a flag."""

cdef bint recording_hooked = False       # some thread has saved-tensor hooks, or anomaly mode is on
cdef Py_ssize_t hooks_entered = 0        # saved-tensor hooks, of all threads
cdef bint anomaly_enabled = False
cdef bint anomaly_checks_nan = True


class SavedTensorHooks(threading.local):
    """This thread's (pack, unpack) pairs, innermost last."""

    def __init__(self):
        self.pairs = []


cdef object saved_tensor_hooks = SavedTensorHooks()


def push_saved_tensor_hooks(pack, unpack):
    """From now on tensors saved on this thread are stored as ``pack(t)`` and read back as ``unpack(stored)``."""
    saved_tensor_hooks.pairs.append((pack, unpack))
    count_hooks(1)


def pop_saved_tensor_hooks():
    """Takes the innermost pair back."""
    saved_tensor_hooks.pairs.pop()
    count_hooks(-1)


cdef int count_hooks(int more) except -1:
    global recording_hooked, hooks_entered
    hooks_entered += more
    recording_hooked = anomaly_enabled or hooks_entered > 0
    return 0


def count_saved_tensor_hooks():
    """How many pairs this thread has entered."""
    return len(saved_tensor_hooks.pairs)


def anomaly_mode():
    """Whether anomaly mode is on, and whether it looks for NaN."""
    return anomaly_enabled, anomaly_checks_nan


def set_anomaly_mode(bint enabled, bint check_nan=True):
    """Anomaly mode remembers where each node was recorded, names it when backward fails, and refuses NaN gradients."""
    global anomaly_enabled, anomaly_checks_nan
    anomaly_enabled, anomaly_checks_nan = enabled, check_nan
    count_hooks(0)


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
        outside = mt_state.grad_off
        mt_state.grad_off = True                          # what pack does is no part of the graph
        try:
            ctx.saved = tuple([None if t is None else packed(pack, <Tensor>t) for t in ctx.saved])
        finally:
            mt_state.grad_off = outside
    return 0


cdef tuple running_node_recorded():
    """In anomaly mode: the name of the node whose backward records another one, and where it was itself recorded."""
    this = current_pass()
    node = None if this is None else this.node
    cdef RareState rare = (<FunctionCtx>node).rare if isinstance(node, FunctionCtx) else None
    return None if rare is None or rare.recorded_at is None else (node.name(), rare.recorded_at)


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
        if isinstance(g, Tensor) and (<Tensor>g).dt.category >= CATEGORY_FLOAT and bool(g.isnan().any().item()):
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {at}th output.")
        at += 1
    return 0


cdef int warn_of_missing_gradient() except -1:
    import warnings
    warnings.warn("The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
                  "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, "
                  "use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access "
                  "the leaf Tensor instead.", UserWarning)
    return 0
