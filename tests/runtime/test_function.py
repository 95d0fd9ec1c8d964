"""`autograd.Function` in both styles, beside PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2
from tests.runtime.both import agree


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def function(torch: Any, forward: Callable[..., Any], backward: Callable[..., Any] = lambda ctx, *grads: grads) -> Any:
    """An old-style Function class."""
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("F", (torch.autograd.Function,), members)


def new_style(torch: Any, forward: Callable[..., Any], setup: Callable[..., Any], backward: Callable[..., Any]) -> Any:
    members = {
        "forward": staticmethod(forward),
        "setup_context": staticmethod(setup),
        "backward": staticmethod(backward),
    }
    return type("F", (torch.autograd.Function,), members)


def double(ctx: Any, x: Any) -> Any:
    return x * 2


# ---------------------------------------------------------------- styles and arguments


def test_old_style() -> None:
    def case(torch: Any) -> Any:
        def forward(ctx: Any, x: Any, y: Any, k: Any) -> Any:
            ctx.save_for_backward(x, y)
            ctx.k = k
            return x * y * k

        def backward(ctx: Any, grad: Any) -> Any:
            x, y = ctx.saved_tensors
            return grad * y * ctx.k, grad * x * ctx.k, None

        x, y = leaf(torch), leaf(torch)
        function(torch, forward, backward).apply(x, y, 3).sum().backward()
        return x.grad, y.grad

    agree(case)


@pytest.mark.parametrize(
    "call",
    [
        lambda f, x: f.apply(x, 5),
        lambda f, x: f.apply(x),
        lambda f, x: f.apply(x, k=5),
        lambda f, x: f.apply(k=5, x=x),
    ],
)
def test_new_style_sees_every_argument(call: Callable[[Any, Any], Any]) -> None:
    def case(torch: Any) -> Any:
        seen: list[Any] = []

        def setup(ctx: Any, inputs: Any, output: Any) -> None:
            _, k = inputs
            seen.append(k)
            ctx.k = k

        f = new_style(torch, lambda x, k=2: x * k, setup, lambda ctx, grad: (grad * ctx.k, None))
        x = leaf(torch)
        call(f, x).sum().backward()
        return seen, x.grad

    agree(case)


def test_new_style_with_varargs() -> None:
    def case(torch: Any) -> Any:
        def forward(*xs: Any) -> Any:
            return xs[0] + xs[1] * 2 + xs[2] * 3

        def setup(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.n = len(inputs)

        f = new_style(torch, forward, setup, lambda ctx, grad: tuple(grad * (i + 1) for i in range(ctx.n)))
        xs = [leaf(torch) for _ in range(3)]
        f.apply(*xs).sum().backward()
        return [x.grad for x in xs]

    agree(case)


def test_old_style_keywords() -> None:
    def case(torch: Any) -> Any:
        needs: list[Any] = []

        def forward(ctx: Any, x: Any, k: Any = 2) -> Any:
            needs.append(ctx.needs_input_grad)
            return x * k

        f = function(torch, forward, lambda ctx, grad: (grad, None))
        x = leaf(torch)
        f.apply(x, k=3).sum().backward()
        return needs, x.grad

    agree(case)


def test_subclasses_keep_the_style() -> None:
    def case(torch: Any) -> Any:
        base = new_style(torch, lambda x: x * 2, lambda ctx, inputs, output: None, lambda ctx, grad: grad * 2)
        derived = type("Derived", (base,), {"backward": staticmethod(lambda ctx, grad: grad * 20)})
        x = leaf(torch)
        derived.apply(x).sum().backward()
        return x.grad

    agree(case)


def test_vjp_is_backward() -> None:
    def case(torch: Any) -> Any:
        members = {"forward": staticmethod(double), "vjp": staticmethod(lambda ctx, grad: grad * 2)}
        x = leaf(torch)
        type("F", (torch.autograd.Function,), members).apply(x).sum().backward()
        return x.grad

    agree(case)


@pytest.mark.parametrize("needed", [(a, b) for a in (False, True) for b in (False, True)])
def test_needs_input_grad(needed: tuple[bool, bool]) -> None:
    def case(torch: Any) -> Any:
        seen: list[Any] = []

        def forward(ctx: Any, x: Any, n: Any, y: Any, xs: Any) -> Any:
            seen.append(ctx.needs_input_grad)
            return x * n + y

        def backward(ctx: Any, grad: Any) -> Any:
            seen.append(ctx.needs_input_grad)
            return grad * 2, None, grad, None

        x, y = (leaf(torch) if need else torch.ones(3) for need in needed)
        out = function(torch, forward, backward).apply(x, 2, y, [x])
        if out.requires_grad:
            out.sum().backward()
        return seen, out, x.grad, y.grad

    agree(case)


# ---------------------------------------------------------------- outputs


OUTPUTS: dict[str, Callable[..., Any]] = {
    "an int": lambda ctx, x: 3,
    "None": lambda ctx, x: None,
    "a list": lambda ctx, x: [x * 2],
    "tensors and others": lambda ctx, x: (x * 2, 3, None, "s"),
    "one in a tuple": lambda ctx, x: (x * 2,),
    "integers": lambda ctx, x: (x * 2, x > 1),
    "nested": lambda ctx, x: ([x * 2], x * 3),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs(name: str) -> None:
    agree(lambda torch: function(torch, OUTPUTS[name]).apply(leaf(torch)))


def test_several_outputs_run_backward_once() -> None:
    def case(torch: Any) -> Any:
        seen: list[Any] = []

        def backward(ctx: Any, a: Any, b: Any) -> Any:
            seen.append((a, b))
            return a * 2 + b * 3

        x = leaf(torch)
        a, b = function(torch, lambda ctx, x: (x * 2, x * 3), backward).apply(x)
        (a * b).sum().backward()
        return seen, x.grad, a.grad_fn is b.grad_fn, (a.output_nr, b.output_nr)

    agree(case)


@pytest.mark.parametrize("materialize", [True, False])
def test_materialize_grads(materialize: bool) -> None:
    def case(torch: Any) -> Any:
        seen: list[Any] = []

        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(materialize)
            return x * 2, x * 3

        def backward(ctx: Any, *grads: Any) -> Any:
            seen.append(grads)
            return grads[1]

        function(torch, forward, backward).apply(leaf(torch))[1].sum().backward()
        return seen

    agree(case)


def test_non_differentiable_outputs() -> None:
    def case(torch: Any) -> Any:
        seen: list[Any] = []

        def forward(ctx: Any, x: Any) -> Any:
            out = x * 3
            ctx.mark_non_differentiable(out)
            return x * 2, out

        def backward(ctx: Any, *grads: Any) -> Any:
            seen.append(grads)
            return grads[0]

        a, b = function(torch, forward, backward).apply(leaf(torch))
        a.sum().backward()
        return seen, a.requires_grad, b.requires_grad

    agree(case)


def test_integer_outputs_get_zeros() -> None:
    def case(torch: Any) -> Any:
        seen: list[Any] = []

        def backward(ctx: Any, *grads: Any) -> Any:
            seen.append(grads)
            return grads[0]

        a, b = function(torch, lambda ctx, x: (x * 2, x.long()), backward).apply(leaf(torch))
        a.sum().backward()
        return seen, b.requires_grad

    agree(case)


def test_an_input_returned_as_it_is_is_a_view() -> None:
    def case(torch: Any) -> Any:
        x = leaf(torch) * 1
        y = function(torch, lambda ctx, x: x, lambda ctx, grad: grad * 5).apply(x)
        return y is x, y._base is x, y

    agree(case)


def change_identity(torch: Any) -> None:
    x = leaf(torch) * 1
    function(torch, lambda ctx, x: x).apply(x).mul_(2)


def change_one_of_several_views(torch: Any) -> None:
    x = leaf(torch) * 1
    function(torch, lambda ctx, x: (x[0:1], x[1:2])).apply(x)[0].mul_(2)


@pytest.mark.parametrize(
    ("case", "quoted"),
    [
        (change_identity, "created inside a custom Function"),
        (change_one_of_several_views, "returns multiple views"),
    ],
)
def test_views_may_not_be_changed(case: Callable[[Any], Any], quoted: str) -> None:
    agree(case, quoted)


# ---------------------------------------------------------------- in place


def test_mark_dirty() -> None:
    def case(torch: Any) -> Any:
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2)

        w = leaf(torch)
        x = w * 1
        before = x._version
        y = function(torch, forward, lambda ctx, grad: grad * 2).apply(x)
        y.sum().backward()
        return y is x, x._version > before, w.grad, x

    agree(case)


def dirty(
    torch: Any, mark: Callable[[Any, Any], Any], returns: Callable[[Any], Any], make: Callable[[Any], Any]
) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(mark(torch, x))
        return returns(x)

    function(torch, forward).apply(make(leaf(torch)))


@pytest.mark.parametrize(
    ("case", "quoted"),
    [
        (lambda torch: dirty(torch, lambda t, x: x, lambda x: x * 2, lambda x: x * 1), "Some elements marked as dirty"),
        (
            lambda torch: dirty(torch, lambda t, x: t.ones(1), lambda x: x * 2, lambda x: x * 1),
            "Some elements marked as dirty",
        ),
        (
            lambda torch: dirty(torch, lambda t, x: x, lambda x: x, lambda x: x),
            "has been used in an in-place operation",
        ),
    ],
)
def test_mark_dirty_mistakes(case: Callable[[Any], Any], quoted: str) -> None:
    agree(case, quoted)


# ---------------------------------------------------------------- saving


def saved(torch: Any, save: Callable[[Any, Any], Any]) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        save(ctx, x)
        return x * 2

    def backward(ctx: Any, grad: Any) -> Any:
        seen.append(ctx.saved_tensors)
        return grad

    function(torch, forward, backward).apply(leaf(torch)).sum().backward()
    return seen


@pytest.mark.parametrize(
    "save",
    [
        lambda ctx, x: None,
        lambda ctx, x: ctx.save_for_backward(x),
        lambda ctx, x: ctx.save_for_backward(None, x),
        lambda ctx, x: (ctx.save_for_backward(x), ctx.save_for_backward(None)),
        lambda ctx, x: ctx.save_for_backward(),
    ],
)
def test_save_for_backward(save: Callable[[Any, Any], Any]) -> None:
    agree(lambda torch: saved(torch, save))


def test_save_something_else() -> None:
    agree(
        lambda torch: saved(torch, lambda ctx, x: ctx.save_for_backward(3)),
        "can only save variables, but argument 0 is of type int",
    )


def test_save_an_output() -> None:
    def case(torch: Any) -> Any:
        def forward(ctx: Any, x: Any) -> Any:
            out = x.exp()
            ctx.save_for_backward(out)
            return out

        x = leaf(torch)
        y = function(torch, forward, lambda ctx, grad: grad * ctx.saved_tensors[0]).apply(x)
        y.sum().backward()
        return x.grad

    agree(case)


def save_input(ctx: Any, x: Any) -> Any:
    ctx.save_for_backward(x)
    return x * 2


def read_saved(ctx: Any, grad: Any) -> Any:
    (_,) = ctx.saved_tensors
    return grad


def change_saved(torch: Any) -> None:
    x = leaf(torch) * 1
    y = function(torch, save_input, read_saved).apply(x)
    x.add_(1)
    y.sum().backward()


def backward_twice(torch: Any) -> None:
    y = function(torch, save_input, read_saved).apply(leaf(torch)).sum()
    y.backward()
    y.backward()


@pytest.mark.parametrize(
    ("case", "quoted"),
    [
        (change_saved, "modified by an inplace operation"),
        (change_saved, "is at version 1; expected version 0"),
        (backward_twice, "Trying to backward through the graph a second time"),
    ],
)
def test_saved_tensors_mistakes(case: Callable[[Any], Any], quoted: str) -> None:
    agree(case, quoted)


def test_backward_twice_with_retain_graph() -> None:
    def case(torch: Any) -> Any:
        x = leaf(torch)
        y = function(torch, save_input, read_saved).apply(x).sum()
        y.backward(retain_graph=True)
        y.backward()
        return x.grad

    agree(case)


def test_attributes_of_ctx() -> None:
    agree(
        lambda torch: function(torch, double, lambda ctx, grad: ctx.nope).apply(leaf(torch)).sum().backward(),
        "has no attribute 'nope'",
    )


# ---------------------------------------------------------------- gradients


GRADIENTS: dict[str, tuple[Callable[[Any, Any], Any], str | None]] = {
    "too few": (
        lambda torch, grad: grad,
        "function FBackward returned an incorrect number of gradients (expected 2, got 1)",
    ),
    "none": (lambda torch, grad: (), "returned an incorrect number of gradients (expected 2, got 0)"),
    "trailing None": (lambda torch, grad: (grad, grad, None, None), None),
    "too many": (
        lambda torch, grad: (grad, grad, grad),
        "returned an incorrect number of gradients (expected 2, got 3)",
    ),
    "None": (lambda torch, grad: (None, grad), None),
    "another shape": (
        lambda torch, grad: (torch.ones(5), None),
        "invalid gradient at index 0 - got [5] but expected shape compatible with [3]",
    ),
    "a larger shape": (lambda torch, grad: (torch.ones(4, 3), None), None),
    "a float": (lambda torch, grad: (2.0, None), "expected Variable or None (got float)"),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_what_backward_returns(name: str) -> None:
    returned, quoted = GRADIENTS[name]

    def case(torch: Any) -> Any:
        x, y = leaf(torch), leaf(torch)
        f = function(torch, lambda ctx, x, y: x * y, lambda ctx, grad: returned(torch, grad))
        f.apply(x, y).sum().backward()
        return x.grad, y.grad

    agree(case, quoted)


def test_a_gradient_for_something_else_than_a_tensor() -> None:
    def case(torch: Any) -> Any:
        f = function(torch, lambda ctx, x, k: x * k, lambda ctx, grad: (grad, grad))
        f.apply(leaf(torch), 2).sum().backward()

    agree(case, "different than None at position 2")


def test_grad_mode_in_forward_and_backward() -> None:
    def case(torch: Any) -> Any:
        modes: list[bool] = []

        def forward(ctx: Any, x: Any) -> Any:
            modes.append(torch.is_grad_enabled())
            return x * 2

        def backward(ctx: Any, grad: Any) -> Any:
            modes.append(torch.is_grad_enabled())
            return grad * 2

        for create_graph in (False, True):
            x = leaf(torch)
            f = function(torch, forward, backward)
            torch.autograd.grad(f.apply(x).sum(), x, create_graph=create_graph)
        return modes, torch.is_grad_enabled()

    agree(case)


def test_double_backward() -> None:
    def case(torch: Any) -> Any:
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x * x

        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * 3 * x * x

        x = leaf(torch)
        (first,) = torch.autograd.grad(function(torch, forward, backward).apply(x).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x)
        return first, second

    agree(case)


def square_once(torch: Any) -> Any:
    backward = torch.autograd.function.once_differentiable(lambda ctx, grad: grad * 2)
    return function(torch, lambda ctx, x: x * x, backward)


def test_once_differentiable_detaches() -> None:
    def case(torch: Any) -> Any:
        x = leaf(torch)
        (grad,) = torch.autograd.grad(square_once(torch).apply(x).sum(), x, create_graph=True)
        return grad

    agree(case)


def test_once_differentiable_twice() -> None:
    def case(torch: Any) -> Any:
        x, start = leaf(torch), leaf(torch)
        (grad,) = torch.autograd.grad(square_once(torch).apply(x), x, start, create_graph=True)
        assert grad.requires_grad
        grad.sum().backward()

    agree(case, "marked with @once_differentiable")


# ---------------------------------------------------------------- mistakes


def both_backward_and_vjp(torch: Any) -> None:
    f = type("G", (function(torch, double),), {"vjp": staticmethod(lambda ctx, grad: grad)})
    f.apply(leaf(torch)).sum().backward()


@pytest.mark.parametrize(
    ("case", "quoted"),
    [
        (lambda torch: function(torch, double)()(leaf(torch)), "Legacy autograd function"),
        (
            lambda torch: (
                type("F", (torch.autograd.Function,), {"forward": staticmethod(double)})
                .apply(leaf(torch))
                .sum()
                .backward()
            ),
            "either the backward or vjp method",
        ),
        (
            lambda torch: type("F", (torch.autograd.Function,), {}).apply(leaf(torch)),
            "You must implement the forward function for custom autograd.Function.",
        ),
        (both_backward_and_vjp, "Implementing both 'backward' and 'vjp' for a custom Function is not allowed"),
    ],
)
def test_class_mistakes(case: Callable[[Any], Any], quoted: str) -> None:
    agree(case, quoted)


@pytest.mark.parametrize("where", ["forward", "backward"])
def test_an_exception_leaves_grad_mode_and_graph_as_they_were(where: str) -> None:
    def fail(ctx: Any, value: Any) -> Any:
        raise KeyError(where)

    torch = mindtorch_v2
    f = function(torch, fail if where == "forward" else double, fail)
    x = leaf(torch)
    y = x * 3
    with pytest.raises(KeyError, match=where):
        (f.apply(y) + y).sum().backward()
    assert torch.is_grad_enabled()
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0, 3.0]


def test_tangents_are_no_business_of_forward() -> None:
    def case(torch: Any) -> Any:
        dual = torch.autograd.forward_ad
        seen: list[Any] = []

        class Square(torch.autograd.Function):  # type: ignore[misc]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                seen.append(dual._is_fwd_grad_enabled())
                return x * x

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad

        Square.apply(torch.ones(2, requires_grad=True))
        return seen, dual._is_fwd_grad_enabled()

    agree(case)


def test_tensors_by_keyword_alone_inside_vmap() -> None:
    def case(torch: Any) -> Any:
        class Keyword(torch.autograd.Function):  # type: ignore[misc]
            @staticmethod
            def forward(x: Any, *, y: Any) -> Any:
                return x + y

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                pass

            @staticmethod
            def vmap(info: Any, in_dims: Any, x: Any, *, y: Any) -> Any:
                return x + y, 0

        torch.func.vmap(Keyword.apply)(torch.ones(2), y=torch.ones(2))

    agree(case, "kwarg-only Tensor")
