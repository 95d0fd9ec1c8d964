"""In-place operators whose gradients read what they overwrite, beside PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.runtime.both import agree

CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "mul_": lambda x, y: x.mul_(y),
    "abs_": lambda x, y: x.abs_(),
    "log_": lambda x, y: x.log_(),
    "sin_": lambda x, y: x.sin_(),
    "a chain": lambda x, y: x.sin_().mul_(y).abs_().add_(1).log_(),
    "of a view": lambda x, y: (x[1:].mul_(y[1:]), x)[1],
    "of a view of a view": lambda x, y: (x.view(1, 3)[:, :2].cos_(), x)[1],
    "by what is broadcast": lambda x, y: x.mul_(y[:1]),
    "by what came of it": lambda x, y: x.mul_(x + 1),
    "lerp_": lambda x, y: x.lerp_(y, x.sigmoid()),
    "addcdiv_": lambda x, y: x.addcdiv_(x + 2, y),
    "remainder_": lambda x, y: x.remainder_(y),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("wanted", [(0,), (1,), (0, 1)])
def test_gradients_of_both_orders(change: str, wanted: tuple[int, ...]) -> None:
    def case(t: Any) -> Any:
        given = [t.tensor([1.5, 2.0, 3.0]), t.tensor([0.7, -1.3, 0.4])]
        leaves = [given[i].requires_grad_() for i in wanted]
        changed = CHANGES[change](given[0] * 1, given[1] * 1)
        if not changed.requires_grad:
            return changed
        first = t.autograd.grad((changed * changed).sum(), leaves, create_graph=True, allow_unused=True)
        total = sum((g * g).sum() for g in first if g is not None)
        return changed, first, t.autograd.grad(total, leaves, allow_unused=True) if total.requires_grad else None

    agree(case)


ALIASED: dict[str, Callable[[Any], Any]] = {
    "mul_ by itself": lambda x: x.mul_(x),
    "div_ by itself": lambda x: x.div_(x),
    "addcmul_ of itself": lambda x: x.addcmul_(x, x),
    "a view by itself": lambda x: x[:2].mul_(x[:2]),
    "by a view of the same memory": lambda x: x[:1].mul_(x[1:2]),
    "lerp_ by itself": lambda x: x.lerp_(x * 2, x),
}


@pytest.mark.parametrize("name", ALIASED)
def test_what_is_saved_of_memory_that_the_call_overwrites_is_refused_in_backward(name: str) -> None:
    agree(
        lambda t: ALIASED[name](t.tensor([1.5, 2.0, 3.0], requires_grad=True) * 1).sum().backward(),
        "has been modified by an inplace operation",
    )


@pytest.mark.parametrize("transform", ["vmap", "grad", "jvp", "functionalize", "vmap(grad)", "jvp(grad)"])
def test_under_transforms(transform: str) -> None:
    def changed(t: Any, x: Any) -> Any:
        y = x.clone()
        y.mul_(x.cos()).abs_()
        y[1:].sin_()
        return y

    def case(t: Any) -> Any:
        x, f = t.tensor([[1.5, -2.0, 3.0], [0.5, 0.25, -1.0]]), t.func
        total = lambda a: changed(t, a).sum()  # noqa: E731
        return {
            "vmap": lambda: f.vmap(lambda a: changed(t, a))(x),
            "grad": lambda: f.grad(total)(x),
            "jvp": lambda: f.jvp(lambda a: changed(t, a), (x,), (x.sin(),)),
            "functionalize": lambda: f.functionalize(lambda a: changed(t, a))(x),
            "vmap(grad)": lambda: f.vmap(f.grad(total))(x),
            "jvp(grad)": lambda: f.jvp(f.grad(total), (x,), (x.sin(),)),
        }[transform]()

    agree(case)
