"""`autograd.Function`'s behaviours, and what re-implementations get silently wrong: a case a statement."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from tests.runtime.both import Case
from tests.runtime.semantics import Entry, check, defined, function, leaf, make, raises, table


def run(torch: Any, forward: Any, backward: Any, *sizes: int) -> Any:
    inputs = [torch.ones(n, requires_grad=True) for n in sizes or (3,)]
    function(torch, forward, backward).apply(*inputs).sum().backward()
    return [x.grad for x in inputs]


def double(ctx: Any, *xs: Any) -> Any:
    return xs[0] * 2


# ---------------------------------------------------------------- what backward returns


def number_input(torch: Any) -> Any:
    f = function(torch, lambda ctx, x, n: x * n, lambda ctx, g: (g, g))
    f.apply(torch.ones(1, requires_grad=True), 2).backward()


GRADIENTS: dict[str, Entry] = {
    "too few": (
        lambda t: run(t, double, lambda ctx, g: g, 3, 3),
        "function FBackward returned an incorrect number of gradients (expected 2, got 1)"),
    "too many": (
        lambda t: run(t, double, lambda ctx, g: (g, g)),
        "function FBackward returned an incorrect number of gradients (expected 1, got 2)"),
    "extra None": lambda t: run(t, double, lambda ctx, g: (g, None, None)),
    "a bad shape": (
        lambda t: run(t, double, lambda ctx, g: t.ones(5)),
        "invalid gradient at index 0 - got [5] but expected shape compatible with [3]"),
    "an expandable gradient": lambda t: run(t, double, lambda ctx, g: t.ones(2, 3)),
    "a float": (lambda t: run(t, double, lambda ctx, g: 1.0), "expected Variable or None (got float)"),
    "a gradient for a number": (number_input, "different than None at position 2"),
}  # fmt: skip


# ---------------------------------------------------------------- save_for_backward


def saving(save: Any) -> Case:
    """What backward finds when forward called ``save(ctx, x, y)``."""

    def case(torch: Any) -> Any:
        seen = []

        def forward(ctx: Any, x: Any, y: Any) -> Any:
            save(ctx, x, y)
            return x * y

        def backward(ctx: Any, g: Any) -> Any:
            seen.append(ctx.saved_tensors)
            return g, g

        function(torch, forward, backward).apply(leaf(torch, 2.0), leaf(torch, 3.0)).sum().backward()
        return seen

    return case


def saved_product(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2

    return function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0])


def changed_after_saving(torch: Any) -> Any:
    h = leaf(torch) * 1
    y = saved_product(torch).apply(h)
    h.add_(1)
    y.sum().backward()


def backward_twice(torch: Any) -> Any:
    y = saved_product(torch).apply(leaf(torch)).sum()
    y.backward()
    y.backward()


SAVING: dict[str, Entry] = {
    "None": saving(lambda ctx, x, y: ctx.save_for_backward(x, None, y)),
    "nothing": saving(lambda ctx, x, y: None),
    "the last call wins": saving(lambda ctx, x, y: (ctx.save_for_backward(x, y), ctx.save_for_backward(y))),
    "an int": (
        saving(lambda ctx, x, y: ctx.save_for_backward(3)), "can only save variables, but argument 0 is of type int"),
    "changed after saving": (changed_after_saving, "modified by an inplace operation"),
    "which version": (changed_after_saving, "is at version 1; expected version 0"),
    "backward twice": (backward_twice, "Trying to backward through the graph a second time"),
}  # fmt: skip


# ---------------------------------------------------------------- in-place, views


def marking(forward: Any) -> Any:
    """Applies an old-style forward that marks and changes its input."""
    return lambda torch, x: function(torch, forward, lambda ctx, g: g * 3).apply(x)


def add_in_place(ctx: Any, x: Any) -> Any:
    ctx.mark_dirty(x)
    return x.add_(1)


def dirty(torch: Any) -> Any:
    w = leaf(torch)
    h = w * 1
    out = marking(add_in_place)(torch, h)
    out.sum().backward()
    return out is h, h.requires_grad, h._version, w.grad


def dirty_lost(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x * 2

    marking(forward)(torch, leaf(torch) * 1)


def dirty_stranger(torch: Any) -> Any:
    """An output that is no input: a warning."""

    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        ctx.mark_dirty(y)
        return y

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        marking(forward)(torch, leaf(torch) * 1)
    return [w.category.__name__ for w in caught]


def view_of_input(torch: Any) -> Any:
    x = leaf(torch) * 1
    y = function(torch, lambda ctx, t: t, lambda ctx, g: g).apply(x)
    return y is x, y._base is x, torch.equal(y, x)


def view_changed(torch: Any) -> Any:
    function(torch, lambda ctx, t: t, lambda ctx, g: g).apply(leaf(torch) * 1).add_(1)


def several_views_changed(torch: Any) -> Any:
    f = function(torch, lambda ctx, t: (t[:1], t[1:]), lambda ctx, a, b: torch.cat([a, b]))
    f.apply(leaf(torch) * 1)[0].add_(1)


IN_PLACE: dict[str, Entry] = {
    "mark_dirty": dirty,
    "mark_dirty of what is no input": dirty_stranger,
    "mark_dirty of what is not returned": (dirty_lost, "Some elements marked as dirty"),
    "mark_dirty of a leaf": (
        lambda t: marking(add_in_place)(t, leaf(t)), "has been used in an in-place operation"),
    "an input returned as it is": view_of_input,
    "in-place on an input returned as it is": (view_changed, "created inside a custom Function"),
    "in-place on one of several views": (several_views_changed, "returns multiple views"),
}  # fmt: skip


# ---------------------------------------------------------------- outputs and modes


def non_differentiable(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        index = x.argmax()
        values = x * 1
        ctx.mark_non_differentiable(values)
        return x * 2, values, index

    a, b, c = function(torch, forward, lambda ctx, *gs: gs[0] * 2).apply(leaf(torch))
    return a, b, c


def materialised(materialize: bool) -> Case:
    def case(torch: Any) -> Any:
        seen = []

        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(materialize)
            return x * 2, x * 3

        def backward(ctx: Any, a: Any, b: Any) -> Any:
            seen.append(b)
            return a

        function(torch, forward, backward).apply(leaf(torch))[0].sum().backward()
        return seen

    return case


def modes_seen(torch: Any) -> Any:
    seen = []

    def forward(ctx: Any, x: Any) -> Any:
        seen.append((torch.is_grad_enabled(), (x * 2).requires_grad))
        return x * 2

    def backward(ctx: Any, g: Any) -> Any:
        seen.append(torch.is_grad_enabled())
        return g * 2

    x = leaf(torch, 1.0)
    y = function(torch, forward, backward).apply(x)
    torch.autograd.grad(y, x, retain_graph=True)
    torch.autograd.grad(y, x, create_graph=True)
    return seen


def once(torch: Any, grad_requires_grad: bool) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2 * ctx.saved_tensors[0]

    x = leaf(torch)
    y = function(torch, forward, backward).apply(x)
    start = torch.ones(2, requires_grad=grad_requires_grad)
    (g,) = torch.autograd.grad(y, x, start, create_graph=True)
    return g


def double_backward(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    def backward(ctx: Any, g: Any) -> Any:
        return g * 3 * ctx.saved_tensors[0] ** 2

    x = leaf(torch)
    (g,) = torch.autograd.grad(function(torch, forward, backward).apply(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(g.sum(), x)
    return g, second


def vjp_name(torch: Any) -> Any:
    x = leaf(torch)
    function(torch, double, None, vjp=lambda ctx, g: g * 5).apply(x).sum().backward()
    return x.grad


def both_names(torch: Any) -> Any:
    function(torch, double, lambda ctx, g: g, vjp=lambda ctx, g: g).apply(leaf(torch)).sum().backward()


def new_style(torch: Any) -> Any:
    """Told by `setup_context`, also with ``*args``; keywords and defaults arrive bound."""
    seen = []

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        seen.append((len(inputs), inputs[1:], output.tolist()))
        ctx.k = inputs[1]

    bound = function(torch, lambda x, k, m=5: x * k, lambda ctx, g: (g * ctx.k, None, None), setup_context=setup)
    variadic = function(torch, lambda *xs: xs[0] * xs[1], lambda ctx, g: (g * ctx.k, None), setup_context=setup)
    x = leaf(torch)
    bound.apply(x, 3).sum().backward()
    variadic.apply(x, 4).sum().backward()
    return seen, x.grad


def nested_arguments(torch: Any) -> Any:
    """Tensors in a list are no inputs of the graph; what is in it passes through untouched."""
    seen = []

    def forward(ctx: Any, x: Any, parts: Any, options: Any) -> Any:
        seen.append((ctx.needs_input_grad, options))
        return x * parts[0] * options["scale"]

    x, part = leaf(torch), leaf(torch)
    function(torch, forward, lambda ctx, g: (g * 2, None, None)).apply(x, [part], {"scale": 3}).sum().backward()
    return x.grad, part.grad, seen


def needs(torch: Any) -> Any:
    seen = []

    def forward(ctx: Any, x: Any, n: Any, y: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return x * y

    f = function(torch, forward, lambda ctx, g: (g, None, g))
    for a in (leaf(torch), torch.ones(2)):
        for b in (leaf(torch), torch.ones(2)):
            f.apply(a, 3, b)
    with torch.no_grad():
        f.apply(leaf(torch), 3, leaf(torch))
    return seen


def failed_backward(torch: Any) -> Any:
    """An exception in backward leaves grad mode, and a graph that can be run again."""
    attempts = []

    def backward(ctx: Any, g: Any) -> Any:
        attempts.append(1)
        if len(attempts) == 1:
            raise KeyError("first")
        return g * 2

    x = leaf(torch)
    y = (function(torch, double, backward).apply(x * 1) * x).sum()
    first = raises(lambda: y.backward(retain_graph=True))
    y.backward()
    return first, torch.is_grad_enabled(), x.grad


OUTPUTS: dict[str, Entry] = {
    "mark_non_differentiable, and an integer output": non_differentiable,
    "gradients are materialised": materialised(True),
    "gradients are not materialised": materialised(False),
    "grad mode in forward and backward": modes_seen,
    "once_differentiable, detached": lambda t: once(t, grad_requires_grad=False),
    "once_differentiable, differentiated": (
        lambda t: once(t, grad_requires_grad=True).sum().backward(),
        "trying to differentiate twice a function that was marked with @once_differentiable"),
    "double backward": double_backward,
    "vjp for backward": vjp_name,
    "vjp and backward": (both_names, "Implementing both 'backward' and 'vjp'"),
    "new style": new_style,
    "nested arguments": nested_arguments,
    "needs_input_grad": needs,
    "an exception in backward": failed_backward,
    "an instance call": (lambda t: function(t, double)()(t.ones(1)), "Legacy autograd function"),
    "no backward": (lambda t: run(t, double, None), "either the backward or vjp method"),
    "no forward": (
        lambda t: type("F", (t.autograd.Function,), {}).apply(t.ones(1)), "You must implement the forward function"),
}  # fmt: skip


# ---------------------------------------------------------------- silently wrong elsewhere


def second_only(torch: Any) -> Any:
    x, y = torch.ones(2), leaf(torch)
    function(torch, lambda ctx, a, b: a * b * 3, lambda ctx, g: (None, g * 3)).apply(x, y).sum().backward()
    return x.grad, y.grad


def diamond_with_none(torch: Any) -> Any:
    x = leaf(torch)
    h = x * 2
    dead = function(torch, lambda ctx, a: a * 1, lambda ctx, g: None).apply(h)
    (dead + h * 3).sum().backward()
    return x.grad


def in_place_sum(torch: Any) -> Any:
    w, c = leaf(torch), leaf(torch)
    h = w + 1
    h += c
    h.sum().backward()
    return w.grad, c.grad


def several_outputs(torch: Any) -> Any:
    calls = []

    def backward(ctx: Any, *gs: Any) -> Any:
        calls.append(len(gs))
        return gs[0] + gs[1] * 2

    x = leaf(torch)
    a, b = function(torch, lambda ctx, x: (x * 1, x * 2), backward).apply(x)
    (a * b).sum().backward()
    return calls, x.grad


def freed_without_the_collector(torch: Any) -> Any:
    import gc
    import weakref

    gc.collect()
    gc.disable()
    try:

        def forward(ctx: Any, x: Any) -> Any:
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        y = function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(leaf(torch))
        node, tensor = weakref.ref(y.grad_fn), weakref.ref(y)
        del y
        return node() is None, tensor() is None
    finally:
        gc.enable()


def by_keyword_and_in_lists(torch: Any) -> Any:
    schema = "(Tensor x, Tensor[] ys, Tensor z, int n=2, *, float k=3.0) -> Tensor"
    op, lib = defined(torch, schema, CPU=lambda x, ys, z, n=2, *, k=3.0: x * n + ys[0] * k + z)
    seen = []

    def setup(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
        ctx.n, ctx.k = inputs[3] if len(inputs) > 3 else 2, keyword_only_inputs["k"]
        seen.append((len(inputs), keyword_only_inputs))

    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.n, [g * ctx.k], g, None

    torch.library.register_autograd(op.name(), backward, setup_context=setup, lib=lib)
    x, y, z = leaf(torch), leaf(torch), leaf(torch)
    op(z=z, ys=[y], x=x, n=5).sum().backward()
    op(x, [y], z=z, n=4, k=7.0).sum().backward()
    return x.grad, y.grad, z.grad, seen


def kernel_without_autograd(torch: Any) -> Any:
    inside = []

    def kernel(x):  # type: ignore[no-untyped-def]
        h = x * 2
        inside.append(h.requires_grad)
        return h

    f = make(torch, kernel)
    f.register_autograd(lambda ctx, g: g * 10)
    x = leaf(torch)
    f(x).sum().backward()
    return inside, x.grad


def missing_overload(torch: Any) -> Any:
    op, _lib = defined(torch, "(Tensor x) -> Tensor")
    return getattr(torch.ops, op.namespace).f.nothing


SILENT: dict[str, Entry] = {
    "only the second input requires grad": second_only,
    "None on one branch of a diamond": diamond_with_none,
    "in-place addition of a leaf": in_place_sum,
    "several outputs": several_outputs,
    "a cycle between output and node": freed_without_the_collector,
    "by keyword and in lists; defaults and keywords in setup_context": by_keyword_and_in_lists,
    "kernels record nothing": kernel_without_autograd,
    "a missing overload": (missing_overload, "nothing"),
}


TABLE = table({
    "gradients": GRADIENTS, "saving": SAVING, "in-place": IN_PLACE, "outputs": OUTPUTS, "silent": SILENT,
})  # fmt: skip


@pytest.mark.parametrize("statement", TABLE)
def test_semantics(statement: str) -> None:
    check(TABLE[statement])
