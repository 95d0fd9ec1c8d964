"""Hooks, gradients that never arrive, retained ones, saved tensors: what backward does, the same in both libraries."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from tests.runtime.semantics import Entry, check, function, leaf, make, raises, table


def retained(*, change: Any, view: bool = False) -> Entry:
    """The gradient that a tensor keeps, once it was changed in place."""

    def run(t: Any) -> Any:
        x = leaf(t)
        y = x * 1
        kept = y[:1] if view else y
        kept.retain_grad()
        change(t, kept, y)
        (y * 5).sum().backward()
        return kept.grad, kept.retains_grad, x.grad

    return run


def retained_twice(t: Any) -> Any:
    x = leaf(t)
    y = x * 1
    y.retain_grad()
    y.mul_(2)
    y.mul_(3)
    y.sum().backward()
    return y.grad, x.grad


def retained_stale(t: Any) -> Any:
    """A view asked for its gradient after its base has changed."""
    y = leaf(t) * 1
    view = y[:1]
    y.mul_(2)
    view.retain_grad()
    view.register_hook(lambda g: g * 10)
    view.sum().backward()
    return view.grad


RETAINED: dict[str, Entry] = {
    "changed": retained(change=lambda t, kept, y: kept.mul_(2)),
    "a view changed": retained(change=lambda t, kept, y: kept.mul_(2), view=True),
    "a view, its base changed": retained(change=lambda t, kept, y: y.mul_(2), view=True),
    "changed unrecorded": retained(change=lambda t, kept, y: t.no_grad()(kept.mul_)(2), view=True),
    "changed twice": retained_twice,
    "of a stale view": retained_stale,
}


def several(t: Any, seen: list[Any]) -> Any:
    """Two outputs of one operator, the second with hooks that tell what they get."""
    first, second = (leaf(t) * 1).unbind(0)
    second.register_hook(lambda g: seen.append(g))
    first.grad_fn.register_prehook(lambda grads: seen.append(list(grads)))
    first.grad_fn.register_hook(lambda inputs, outputs: seen.append([list(inputs), list(outputs)]))
    return first, second


def hook_of_an_unused_output(t: Any) -> Any:
    seen: list[Any] = []
    first, second = several(t, seen)
    first.backward(retain_graph=True)
    (second * 0).backward()
    return seen


def below_a_none(t: Any, function_between: bool = False, operator_between: bool = False) -> Any:
    """What gets to hooks and leaves below a Function whose backward returns None."""
    seen: list[Any] = []
    x = leaf(t)
    middle = x.exp()
    middle.register_hook(lambda g: seen.append(g))
    middle.grad_fn.register_prehook(lambda grads: seen.append(list(grads)))
    middle.grad_fn.register_hook(lambda inputs, outputs: seen.append([list(inputs), list(outputs)]))
    x.register_hook(lambda g: seen.append(["leaf", g]))
    x.register_post_accumulate_grad_hook(lambda _: seen.append("accumulated"))
    inner = middle
    if function_between:
        inner = function(t, lambda ctx, a: a * 3, lambda ctx, g: (seen.append(["function", g]), g * 3)[1]).apply(middle)
    if operator_between:
        op = make(t, lambda a: a * 3)
        op.register_autograd(lambda ctx, g: (seen.append(["operator", g]), g * 3)[1])
        inner = op(middle)
    function(t, lambda ctx, a: a * 1, lambda ctx, g: None).apply(inner).sum().backward()
    return seen, x.grad


def not_materialised(t: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, a: Any) -> Any:
        ctx.set_materialize_grads(False)
        return a * 1

    inner = function(t, forward, lambda ctx, g: seen.append(g)).apply(leaf(t))
    function(t, lambda ctx, a: a * 1, lambda ctx, g: None).apply(inner).sum().backward()
    return seen


def not_differentiable(t: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, a: Any) -> Any:
        other = a * 2
        ctx.mark_non_differentiable(other)
        ctx._materialize_non_diff_grads = False
        return a * 1, other

    first, _ = function(t, forward, lambda ctx, g, h: (seen.append(h), g)[1]).apply(leaf(t))
    first.sum().backward()
    return seen


def one_branch(t: Any) -> Any:
    """A diamond one side of which gives nothing."""
    x = leaf(t)
    y = x * 2
    (function(t, lambda ctx, a: a * 1, lambda ctx, g: None).apply(y) + y * 3).sum().backward()
    return x.grad


def into_a_view(t: Any) -> Any:
    """Nothing arrives at a base that was changed through a view."""
    x = leaf(t)
    y = x * 1
    y[:1].mul_(2)
    function(t, lambda ctx, a: a * 1, lambda ctx, g: None).apply(y).sum().backward()
    return x.grad


def unused(t: Any) -> Any:
    x = leaf(t)
    y = function(t, lambda ctx, a: a * 1, lambda ctx, g: None).apply(x * 2)
    return [g is None for g in t.autograd.grad(y.sum(), (x,), allow_unused=True)]


UNDEFINED: dict[str, Entry] = {
    "an unused output": hook_of_an_unused_output,
    "below a None": below_a_none,
    "below a None, a Function": lambda t: below_a_none(t, function_between=True),
    "below a None, an operator of the user's": lambda t: below_a_none(t, operator_between=True),
    "not materialised": not_materialised,
    "not differentiable": not_differentiable,
    "one branch": one_branch,
    "into a view": into_a_view,
    "unused": unused,
}


def ordered(t: Any, run: Any) -> Any:
    """The order in which all hooks of a result and a leaf run, and what each sees."""
    seen: list[Any] = []
    a = leaf(t, 3.0)
    b = a.clone()
    b.grad_fn.register_prehook(lambda g: (seen.append(["b pre", g[0]]), (g[0] * 2,))[1])
    b.register_hook(lambda g: (seen.append(["b tensor", g]), g * 3)[1])
    b.grad_fn.register_hook(lambda i, o: seen.append(["b post", list(i), list(o)]))
    accumulator = b.grad_fn.next_functions[0][0]
    accumulator.register_hook(lambda i, o: seen.append(["a post", len(i), o[0]]))
    accumulator.register_prehook(lambda g: (seen.append(["a pre", g[0]]), (g[0] + 1,))[1])
    a.register_post_accumulate_grad_hook(lambda x: seen.append(["a accumulated", x.grad.clone()]))
    a.register_hook(lambda g: (seen.append(["a tensor", g]), g * 5)[1])
    result = run(t, a, b)
    return seen, result, a.grad, b.retains_grad, b.grad if b.retains_grad else None


def changed_after_accumulation(t: Any) -> Any:
    x = leaf(t)
    accumulator = x.view_as(x).grad_fn.next_functions[0][0]
    x.register_hook(lambda g: g.sub(2.0))
    accumulator.register_prehook(lambda grads: (grads[0].div(5.0),))
    x.register_post_accumulate_grad_hook(lambda tensor: (tensor.grad.add_(0.5), None)[1])
    accumulator.register_hook(lambda inputs, outputs: setattr(x, "grad", outputs[0].mul(10)))
    x.sum().backward()
    return x.grad


def fitted(t: Any) -> Any:
    """What hooks after a node see of a gradient that is still to be summed down."""
    seen: list[Any] = []
    x = leaf(t)
    y = function(t, lambda ctx, a: a * 1, lambda ctx, g: g.expand(3, 2)).apply(x)
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append(list(inputs[0].shape)))
    y.sum().backward()
    return seen, x.grad


def added_meanwhile(t: Any) -> Any:
    """A hook that adds hooks to what its node made."""
    seen: list[Any] = []
    first, second = (leaf(t) * 1).unbind(0)
    first.register_hook(lambda g: second.register_hook(seen.append) and None)
    (first + second).backward()
    return len(seen)


def replaced(by: Any) -> Any:
    def run(t: Any) -> Any:
        y = leaf(t) * 1
        y.register_hook(lambda g: by(t, g))
        y.sum().backward()

    return run


def replaced_by_a_nodes(by: Any, before: bool) -> Any:
    def run(t: Any) -> Any:
        y = leaf(t) * 1
        if before:
            y.grad_fn.register_prehook(lambda grads: (by(t, grads[0]),))
        else:
            y.grad_fn.register_hook(lambda inputs, outputs: (by(t, inputs[0]), *inputs[1:]))
        y.sum().backward()

    return run


def none_replaced(t: Any) -> Any:
    first, second = (leaf(t) * 1).unbind(0)
    second.register_hook(lambda g: t.ones(()))
    first.backward()


HOOKS: dict[str, Entry] = {
    "backward": lambda t: ordered(t, lambda t, a, b: b.sum().backward(retain_graph=True)),
    "gradient of a leaf": lambda t: ordered(t, lambda t, a, b: t.autograd.grad(b.sum(), (a,))),
    "gradient of a result": lambda t: ordered(t, lambda t, a, b: t.autograd.grad((b * 2).sum(), (b,))),
    "gradients of both": lambda t: ordered(t, lambda t, a, b: t.autograd.grad((b * 2).sum(), (b, a))),
    "backward to a leaf": lambda t: ordered(t, lambda t, a, b: b.sum().backward(inputs=(a,))),
    "backward to a result": lambda t: ordered(t, lambda t, a, b: (b * 2).sum().backward(inputs=(b,))),
    "backward to both": lambda t: ordered(t, lambda t, a, b: (b * 2).sum().backward(inputs=(a, b, b))),
    "backward to both, with a graph": lambda t: ordered(
        t, lambda t, a, b: (b * 2).sum().backward(inputs=(a, b), create_graph=True)),
    "changed after accumulation": changed_after_accumulation,
    "fitted": fitted,
    "added meanwhile": added_meanwhile,
    "another size": (replaced(lambda t, g: g.sum()), "has changed the size of value"),
    "another dtype": (replaced(lambda t, g: g.double()), "has changed the type of value"),
    "no tensor": (replaced(lambda t, g: 3), "expected Variable, but hook returned 'int'"),
    "instead of None": (none_replaced, "can't replace a None gradient with a non-None value"),
    "another size before a node": (replaced_by_a_nodes(lambda t, g: g.sum(), True), "has changed the size of value"),
    "another size after a node": (replaced_by_a_nodes(lambda t, g: g.sum(), False), "has changed the size of value"),
    "another dtype after a node": (
        replaced_by_a_nodes(lambda t, g: g.double(), False), "has changed the type of value"),
    "no tensor after a node": (
        replaced_by_a_nodes(lambda t, g: 3, False), "expected Variable, but hook returned 'int'"),
}  # fmt: skip


def multi(mode: str, error: bool = False) -> Any:
    """A hook on several gradients, two of which a pass reaches, in several passes."""

    def run(t: Any) -> Any:
        seen: list[Any] = []
        leaves = [leaf(t, float(i)) for i in range(1, 5)]
        a, b, c, d = (leaves[0] * 2, leaves[1] * 1, leaves[2], leaves[3])

        def told(grads: Any) -> None:
            seen.append([g is not None for g in grads] if mode == "all" else grads)

        handle = t.autograd.graph.register_multi_grad_hook((a, b, c, d), told, mode=mode)

        def backward(ctx: Any, g: Any) -> Any:
            if error:
                raise RuntimeError("stop")
            return g

        failing = function(t, lambda ctx, x: x * 1, backward)
        out = (failing.apply(b) * c).sum()
        for _ in range(2):
            seen.append(raises(lambda: out.backward(inputs=(b, c), retain_graph=True)))
        (b * c).sum().backward(inputs=(b, c), retain_graph=True)
        t.autograd.grad((a * b).sum(), (a, b), retain_graph=True)
        handle.remove()
        (a * b).sum().backward()
        return seen

    return run


MULTI: dict[str, Entry] = {
    "all": multi("all"), "any": multi("any"),
    "all, with errors": multi("all", error=True), "any, with errors": multi("any", error=True),
}  # fmt: skip


def doubled(t: Any) -> Any:
    """Saved tensors that pack doubles: gradients of gradients start at what was saved, not at what pack made of it."""
    with t.autograd.graph.saved_tensors_hooks(lambda x: 2 * x, lambda x: x):
        a = leaf(t)
        s = (a**3).sum()
    (g,) = t.autograd.grad(s, (a,), create_graph=True)
    g.sum().backward()
    return g, a.grad


def doubled_results(t: Any) -> Any:
    """The same of results, one of them the operator's own."""
    x = leaf(t)
    with t.autograd.graph.saved_tensors_hooks(lambda v: 2 * v, lambda v: v):
        h = x * 1
        s = (h * h * h.exp()).sum()
    (g,) = t.autograd.grad(s, (x,), create_graph=True)
    g.sum().backward()
    return g, x.grad


def packed_mode(t: Any) -> Any:
    seen: list[Any] = []
    with t.autograd.graph.saved_tensors_hooks(lambda x: (seen.append(t.is_grad_enabled()), x)[1], lambda x: x):
        leaf(t).exp().sum().backward()
    return seen, t.is_grad_enabled()


def entered_meanwhile(t: Any) -> Any:
    """Hooks that unpack opens or closes are forgotten once backward is done."""
    gc.disable()
    try:
        found = []
        for name in ("__enter__", "__exit__"):
            hooks = [t.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x)]
            outer = weakref.ref(hooks[0])

            def unpack(x: Any, name: str = name, outer: Any = outer) -> Any:
                getattr(outer(), name)()
                return x

            hooks[0].unpack_hook = unpack
            with hooks[0]:
                leaf(t).sin().sum().backward()
            kept = weakref.ref(unpack)
            del hooks[0], unpack
            found.append(kept() is None)
        return found
    finally:
        gc.enable()


def detached_afterwards(of: str) -> Any:
    def run(t: Any) -> Any:
        x = leaf(t)
        a = x.clone()
        b = a.sin() if of == "an input" else a.exp()
        (a if of == "an input" else b).detach_()
        out = b if of == "an input" else (a * 2)
        out.sum().backward()
        return x.grad

    return run


def detached_own(t: Any) -> Any:
    x = leaf(t)
    b = x.clone().exp()
    c = b * 1
    b.detach_()
    c.sum().backward()
    return x.grad


def detached_leaf(t: Any) -> Any:
    seen: list[Any] = []
    x = leaf(t)
    y = x * 2
    x.register_hook(lambda g: seen.append(g))
    x.register_post_accumulate_grad_hook(lambda tensor: seen.append(tensor.grad))
    x.detach_()
    y.sum().backward()
    return x.grad, seen


def saved_by_a_view(t: Any) -> Any:
    """A change of a view that saves what it made: gradients of gradients, and nothing that outlives it."""
    x = leaf(t)
    y = x.clone()
    y.view(2).exp_()
    (g,) = t.autograd.grad(y.sum(), (x,), create_graph=True)
    g.sum().backward()
    return g, x.grad


def freed_with_a_view(t: Any) -> Any:
    class Counted:
        def __call__(self, inputs: Any, outputs: Any) -> None: ...

    gc.disable()
    try:
        hook = Counted()
        kept = weakref.ref(hook)
        y = leaf(t).clone()
        y.grad_fn.register_hook(hook)
        y.view(2).exp_()
        del hook, y
        return kept() is None
    finally:
        gc.enable()


SAVED: dict[str, Entry] = {
    "doubled": doubled,
    "doubled results": doubled_results,
    "pack's grad mode": packed_mode,
    "entered meanwhile": entered_meanwhile,
    "an input detached": (detached_afterwards("an input"), "saved tensor that has been detached"),
    "another detached": detached_afterwards("an output"),
    "an output detached": detached_own,
    "a leaf detached": detached_leaf,
    "by a view": saved_by_a_view,
    "freed with a view": freed_with_a_view,
}


def as_strided(t: Any, *values: complex) -> Any:
    """Gradients of a view whose elements share memory, and theirs."""
    x = t.tensor(values, requires_grad=True)
    y = (x * x).as_strided((2, 2), (1, 1))
    start = t.arange(4).reshape(2, 2).to(x.dtype) * t.tensor(values[0]) + 1
    (g,) = t.autograd.grad(y * y, (x,), start, create_graph=True)
    return g, t.autograd.grad(g, (x,), t.ones_like(g))


def strided_only(t: Any) -> Any:
    x = t.tensor([1 + 2j, 3 - 1j, 0.5j], requires_grad=True)
    return t.autograd.grad(x.as_strided((2, 2), (1, 1)), (x,), t.tensor([[1 + 1j, 2], [3j, 4 - 2j]]))


def materialised(t: Any) -> Any:
    """Zeros for what was not reached are part of a graph where one is asked for."""
    x, y = leaf(t), leaf(t)
    (zeros,) = t.autograd.grad(x.sum(), (y,), create_graph=True, materialize_grads=True)
    return zeros, t.autograd.grad(zeros.sum(), (x,), materialize_grads=True)


def printed(t: Any) -> Any:
    x = leaf(t)
    with t.no_grad():
        view = x[:1]
        x.mul_(2)
    return repr(view)


VIEWS: dict[str, Entry] = {
    "as_strided": lambda t: as_strided(t, 1.0, 2.0, 3.0),
    "as_strided, complex": strided_only,
    "materialised": materialised,
    "printed": printed,
}

TABLE = table(
    {"retained": RETAINED, "undefined": UNDEFINED, "hooks": HOOKS, "several": MULTI, "saved": SAVED, "views": VIEWS}
)


@pytest.mark.parametrize("statement", TABLE)
def test_backward(statement: str) -> None:
    check(TABLE[statement])
