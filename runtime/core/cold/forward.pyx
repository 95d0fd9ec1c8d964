# cython: language_level=3, boundscheck=False, binding=False, cdivision=True, initializedcheck=False
# cython: nonecheck=False, auto_pickle=False, embedsignature=True, embedsignature.format=clinic
"""Forward-mode AD: tangents by level, and the one question calls ask while a level is open.

Levels are numbers that rise: an inner transform has the higher one. A call whose arguments have tangents goes to Python's
`call_with_tangents` for the highest of their levels, which runs it again with that level and those above it hidden.
"""
cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t

from mindtorch_v2._core cimport (
    ARG_OPT_TENSOR_LIST, ARG_TENSOR, ARG_TENSOR_LIST, KEY_BATCHED, MADE_FOR_TRANSFORM, AccumulateGrad, Bound, FunctionCtx, Node,
    OpOverload, Tangents, Tensor, align_gradients, aten, backward_callable, bind_python, call_setup, cold, forward_levels,
    gradient_node, is_all_of, mt_highest_bit, needs_grad, place_in_base, release_bound, same_value, set_requires_grad, shown_at,
    tangents_of, tensor_list_lengths, thread_state,
)

cdef extern from "cpython_glue.h":      # for tracebacks without frames of the core
    pass

cdef uint64_t BATCHED = <uint64_t>1 << KEY_BATCHED
cdef int64_t LATER_THAN_ANY = (<int64_t>1 << 62)


@cython.final
cdef class TangentView:
    """In place of a view's tangent: that of what it is a view of, seen as the view sees it, whatever that one is by now."""
    cdef Tensor source
    cdef object look                     # callable(tangent of source): what the view shows of it
    cdef object whole, part              # of source, when last seen, and what was shown of it

    cdef object at(self, int64_t level):
        whole = find_tangent(self.source, level)
        if whole is not None and whole is not self.whole:
            self.whole, self.part = whole, self.look(whole)
        return self.part


cdef object find_tangent(Tensor t, int64_t level):
    """A tensor's tangent, of a view also that part of its base's; None where it has none at this level."""
    cdef Tensor base = t.base_
    if t.tangents is not None and level in t.tangents.by_level:
        own = t.tangents.by_level[level]
        return (<TangentView>own).at(level) if type(own) is TangentView else own
    if base is None or base.tangents is None:
        return None
    whole = base.tangents.by_level.get(level)
    if whole is None or is_all_of(t, base):
        return whole
    return shown_at(place_in_base(t, base), whole)


cdef int64_t level_of_tensor(Tensor t) except -1:
    """The highest visible level at which a tensor has a tangent; 0: none."""
    cdef int64_t best = 0, level
    if t.tangents is not None:
        for level, value in t.tangents.by_level.items():
            if best < level < thread_state().forward_hidden and value is not None:
                best = level
    if t.base_ is not None and t.base_.tangents is not None:
        for level, value in t.base_.tangents.by_level.items():
            if best < level < thread_state().forward_hidden and value is not None \
                    and not (t.tangents is not None and level in t.tangents.by_level):
                best = level
    return best


cdef int64_t level_of_call(OpOverload op, Bound* bound) except -1:
    cdef int64_t best = 0
    cdef int i, kind
    for i in range(op.sig.count):
        kind = op.sig.args[i].kind
        if bound.slots[i] == <PyObject*>None:
            continue
        if kind == ARG_TENSOR:
            best = max(best, level_of_tensor(<Tensor>bound.slots[i]))
        elif kind == ARG_TENSOR_LIST or kind == ARG_OPT_TENSOR_LIST:
            for item in <object>bound.slots[i]:
                if item is not None:
                    best = max(best, level_of_tensor(<Tensor>item))
    return best


cdef bint goes_above_batch(OpOverload op, Bound* bound, uint64_t autograd_keys) except -1:
    """Whether a call on batches belongs to a transform inside the `vmap` that made them: it is recorded as a whole."""
    cdef int64_t batch = 0
    cdef int i, kind
    cdef list tensors = []
    if op.mutates and thread_state().captured:
        refuse_captured(op, bound)
    # A kernel that redispatches below autograd would leave the batch out: `vmap` comes first, as for `detach`.
    if autograd_keys == 0 or op.keyset_at >> mt_highest_bit(autograd_keys) & 1:
        return False
    if op.makes_views:                                     # a transform inside follows what is changed through a view
        return True
    for i in range(op.sig.count):
        kind = op.sig.args[i].kind
        if bound.slots[i] == <PyObject*>None:
            continue
        if kind == ARG_TENSOR:
            tensors.append(<object>bound.slots[i])
        elif kind == ARG_TENSOR_LIST or kind == ARG_OPT_TENSOR_LIST:
            tensors.extend([t for t in <object>bound.slots[i] if t is not None])
    for t in tensors:
        if (<Tensor>t).keys & BATCHED:
            batch = max(batch, <int64_t>t.level)
    for t in tensors:
        if forward_levels and level_of_tensor(<Tensor>t) > batch:
            return True
        if not thread_state().grad_off and (<Tensor>t).keys & BATCHED and needs_grad(<Tensor>t) and t.level == batch:
            return True
    return False


# ---- what the Python side builds on


cdef int refuse_captured(OpOverload op, Bound* bound) except -1:
    """Refuses to change what a function that is differentiated did not make: its derivative would not know of it."""
    cdef Tensor t
    if not op.sig.count or not op.aliases[0].written or op.sig.args[0].kind != ARG_TENSOR or bound.slots[0] == <PyObject*>None:
        return 0
    t = <Tensor>bound.slots[0]
    while t.keys & BATCHED and t.level > thread_state().captured:        # made by a `vmap` inside: of the whole batch
        t = t.value
    if t.born < thread_state().captured:
        raise RuntimeError(f"During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place "
                           f"operation ({op.sig.qualname}) that would mutate a captured Tensor. This is not supported; please "
                           "rewrite the function being transformed to explicitly accept the mutated Tensor(s) as inputs.")
    return 0


cdef object unsupported_in_transform(str method, str besides):
    return RuntimeError(f"You are attempting to call Tensor.{method}() {besides}inside of a function being transformed by a functorch "
                        "transform. This is unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, "
                        f"jacfwd, hessian) or call {method}() outside of a function being transformed instead.")


def set_transform_(int64_t number, captured=None):
    """Sets the number of the innermost transform of `func` on this thread, and below which nothing is changed in place.

    None leaves the latter as it is. Returns both as they were before.
    """
    before = thread_state().transform, thread_state().captured
    thread_state().transform, thread_state().captured = number, thread_state().captured if captured is None else captured
    return before


def running_transform():
    """The number of the innermost transform of `func` that runs on this thread; 0: none."""
    return thread_state().transform


def born(Tensor t not None):
    """The number of the transform that was the innermost when a tensor was made; 0: there was none."""
    return t.born


def adopt_(Tensor t not None):
    """Lets the innermost transform count a tensor as one that it made, so that it may be changed in place; returns it."""
    t.born = thread_state().transform
    return t


def adopt_input_(Tensor t not None):
    """As `adopt_`, for what the transform differentiates by: it and views of it may not be changed in place; returns it."""
    t.made = MADE_FOR_TRANSFORM
    return adopt_(t)


def retire_(Tensor t not None):
    """Says of a leaf that the transform that made it is done: no younger one has to differentiate by it."""
    t.born = LATER_THAN_ANY


def hidden_tangents():
    """The level at which, and above which, tangents are not seen on this thread."""
    return thread_state().forward_hidden


def hide_tangents_(int64_t level):
    """Hides tangents at this level and above from this thread's calls; returns what was hidden before."""
    cdef int64_t before = thread_state().forward_hidden
    thread_state().forward_hidden = level
    return before


def tangent(Tensor t not None, int64_t level):
    """The tensor's tangent at a level, or None."""
    return find_tangent(t, level)


def set_tangent_(Tensor t not None, int64_t level, value):
    """Gives a tensor a tangent (None: a known zero). Returns the holder, whose ``clear(level)`` takes it back."""
    cdef Tangents held = tangents_of(t)
    held.by_level[level] = value
    return held


def set_tangent_view_(Tensor t not None, int64_t level, Tensor source not None, look, part):
    """Makes a view's tangent ``look(tangent of source)``, now and later; now that is `part`. See `set_tangent_`."""
    cdef TangentView view = TangentView.__new__(TangentView)
    cdef Tangents held = tangents_of(t)
    view.source, view.look, view.whole, view.part = source, look, find_tangent(source, level), part
    held.by_level[level] = view
    return held


def tangent_owner(Tensor t not None, int64_t level):
    """The tensor whose tangent at a level a tensor's is part of: itself, or what it is a view of."""
    while True:
        own = None if t.tangents is None else t.tangents.by_level.get(level)
        if own is None:
            return t if t.base_ is None else t.base_
        if type(own) is not TangentView:
            return t
        t = (<TangentView>own).source


def tangent_levels(Tensor t not None):
    """The visible levels at which the tensor itself has a tangent."""
    return [] if t.tangents is None else [n for n, value in t.tangents.by_level.items()
                                          if value is not None and n < thread_state().forward_hidden]


def highest_tangent_level(values):
    """The highest visible level at which any tensor in a sequence has a tangent; 0: none."""
    cdef int64_t best = 0
    if forward_levels:
        for value in values:
            if isinstance(value, Tensor):
                best = max(best, level_of_tensor(<Tensor>value))
    return best


def copy_tangents_(Tensor source not None, Tensor target not None):
    """Gives `target`, another object for the same value, the tangents of `source`, now and later."""
    if forward_levels:
        target.tangents = tangents_of(source)


def without_history(Tensor t not None):
    """Another object over the same memory, outside the graph, with the same tangents."""
    cdef Tensor result = same_value(t)
    if forward_levels:
        result.tangents = tangents_of(t)
    return result


def apart(Tensor t not None):
    """As `without_history`, but without tangents."""
    return same_value(t)


def leaf(Tensor t not None):
    """As `without_history`, but a leaf that requires grad, made in the innermost transform."""
    cdef Tensor result = without_history(t)
    set_requires_grad(result, True)
    result.born = thread_state().transform
    return result


def run_backward_formula(OpOverload op not None, tuple args not None, dict kwargs not None, output, tuple needs not None,
                         list grads not None):
    """An operator's gradient formula, called on a finished call: gradients by tensor slot (lists flattened).

    `needs` is what ``ctx.needs_input_grad`` says. Returns ``(gradients, tensors that the formula says have no gradient)``.
    """
    cdef FunctionCtx ctx = FunctionCtx.__new__(FunctionCtx)
    cdef Bound bound
    ctx.function, ctx.is_operator, ctx.node_name, ctx.needs_input_grad = op, True, op.node_name, needs
    bind_python(op.sig, args, kwargs, &bound)
    try:
        if op.sig.has_lists:
            ctx.list_lengths = tensor_list_lengths(op, &bound)
        if op.setup_function is not None:
            call_setup(op, &bound, ctx, output)
    finally:
        release_bound(&bound)
    without = () if ctx.rare is None else ctx.rare.non_differentiable or ()
    return align_gradients(ctx, backward_callable(ctx)(ctx, *grads)), without


def reaches_other_leaves(tensors, leaves, int64_t number):
    """Whether the graph of any of the tensors ends in a leaf that is not among `leaves`, nor made in transform `number`."""
    cdef set seen = set(), own = set([id(t) for t in leaves])
    cdef list stack = []
    cdef Node node, after
    cdef int i
    for t in tensors:
        node = gradient_node(<Tensor?>t)
        if node is not None:
            stack.append(node)
    while stack:
        node = <Node>stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, AccumulateGrad) and id((<AccumulateGrad>node).variable) not in own \
                and (<AccumulateGrad>node).variable.born < number:
            return True
        for i in range(node.next_count):
            after = <Node>node.next_nodes[i]
            if after is not None:
                stack.append(after)
    return False


cold.level_of_tensor = level_of_tensor
cold.level_of_call = level_of_call
cold.goes_above_batch = goes_above_batch
cold.refuse_captured = refuse_captured
cold.unsupported_in_transform = unsupported_in_transform
