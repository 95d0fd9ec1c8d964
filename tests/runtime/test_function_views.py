"""An `autograd.Function` that changes a view in place, and mistakes with its marks, beside PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")

from tests.runtime.semantics import Entry, check, function, leaf


def doubled(t: Any, *, also_returns: bool = False) -> Any:
    """The input, doubled in place."""

    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x.mul_(2))
        return (x, x * 1) if also_returns else x

    return function(t, forward, lambda ctx, g, *more: g * 2).apply


def multiplied(t: Any, at: int = 0) -> Any:
    """One of two inputs, multiplied in place by the other."""

    def forward(ctx: Any, *inputs: Any) -> Any:
        ctx.save_for_backward(inputs[1 - at])
        ctx.mark_dirty(inputs[at].mul_(inputs[1 - at]))
        return inputs[at]

    def backward(ctx: Any, g: Any) -> Any:
        gradients = g * ctx.saved_tensors[0], g * 7
        return gradients if at == 0 else gradients[::-1]

    return function(t, forward, backward).apply


def a_view(t: Any) -> Any:
    x = leaf(t, 1.0, 2.0, 3.0)
    base = x * 1
    view = base[1:]
    same = doubled(t)(view) is view
    base.sum().backward()
    return same, base, base._version, x.grad


def another_view(t: Any) -> Any:
    x = leaf(t, 1.0, 2.0, 3.0)
    base = x * 1
    changed, other = base[1:], base[:2]
    doubled(t)(changed)
    (other**2).sum().backward()
    return other, x.grad


def changed_again(t: Any) -> Any:
    x = leaf(t, 1.0, 2.0, 3.0)
    base = x * 1
    view = base[1:]
    doubled(t)(view)
    view.add_(1)
    base.mul_(3)
    (view * base[:2]).sum().backward()
    return view, x.grad


def by_another_input(t: Any) -> Any:
    x, y = leaf(t, 1.0, 2.0, 3.0), leaf(t, 5.0, 6.0)
    base = x * 1
    multiplied(t)(base[1:], y)
    (base * base).sum().backward()
    return x.grad, y.grad


def no_view_second(t: Any) -> Any:
    x, y = leaf(t, 1.0, 2.0, 3.0), leaf(t, 5.0, 6.0, 7.0)
    base = x * 1
    multiplied(t, at=1)(y, base)
    (base * base).sum().backward()
    return x.grad, y.grad


def a_base_without_gradient(t: Any) -> Any:
    base, y = t.ones(3), leaf(t, 5.0, 6.0)
    multiplied(t)(base[1:], y)
    (base**2).sum().backward()
    return base, y.grad


def marks(t: Any, *marked: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(*marked)
        return x * 1

    return function(t, forward, lambda ctx, g: g).apply(leaf(t))


def batched(t: Any) -> Any:
    methods = {"setup_context": lambda ctx, inputs, output: None, "vmap": lambda info, in_dims, x: x}
    return t.vmap(function(t, lambda x: x * 2, lambda ctx, g: g, **methods).apply)(t.ones(3, 2))


TABLE: dict[str, Entry] = {
    "a view": a_view,
    "another view": another_view,
    "changed again": changed_again,
    "by another input": by_another_input,
    "no view, second": no_view_second,
    "a base without gradient": a_base_without_gradient,
    "more outputs": (
        lambda t: doubled(t, also_returns=True)((leaf(t) * 1)[1:]),
        "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more "
        "than one Tensor",
    ),
    "view of a leaf": (
        lambda t: doubled(t)(leaf(t)[1:]),
        "a view of a leaf Variable that requires grad is being used in an in-place operation.",
    ),
    "an int is dirty": (lambda t: marks(t, 3), "mark_dirty can only accept variables, but argument"),
    "vmap without out_dims": (
        batched,
        "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible "
        "with the output.",
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_function(name: str) -> None:
    check(TABLE[name])


def test_a_view_that_comes_second() -> None:
    """PyTorch takes the second input's gradient for the first one's."""
    import mindtorch_v2 as t

    x, y = leaf(t, 1.0, 2.0, 3.0), leaf(t, 5.0, 6.0)
    base = x * 1
    multiplied(t, at=1)(y, base[1:])
    (base * base).sum().backward()
    assert x.grad.tolist() == [2, 100, 216]
    assert y.grad.tolist() == [140, 252]
