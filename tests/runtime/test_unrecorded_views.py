"""Views made where nothing is recorded, and views of a view that a Function returned, changed in place."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")

from tests.runtime.semantics import Entry, check, function, leaf


def view_in(t: Any, mode: str, base: Any) -> Any:
    with getattr(t, mode)():
        return base[:1]


def by_a_variable(t: Any) -> Any:
    return view_in(t, "no_grad", t.ones(2)).mul_(leaf(t, 3.0))


def in_the_block(t: Any) -> Any:
    x = leaf(t)
    base = x * 1
    with t.no_grad():
        base[:1].mul_(5)
    base.sum().backward()
    return base, x.grad


def without_gradients(t: Any) -> Any:
    base = t.ones(2)
    view = view_in(t, "no_grad", base)
    view.add_(1)
    return base, view.requires_grad


def detached(t: Any) -> Any:
    base = leaf(t) * 1
    view_in(t, "no_grad", base.detach()).add_(1)
    return base


def data(t: Any) -> Any:
    x = leaf(t)
    x.data[:1].add_(1)
    return x


def gradients(t: Any) -> Any:
    x = t.ones(2, 2, requires_grad=True)
    (x.t() * t.arange(4.0).view(2, 2)).sum().backward()
    x.grad.mul_(2)
    x.grad[0].add_(1)
    return x.grad


def view_of_a_functions_view(t: Any) -> Any:
    y = function(t, lambda ctx, x: x, lambda ctx, g: g).apply(leaf(t) * 1)
    return y[:1].add_(1)


TABLE: dict[str, Entry] = {
    "of a result": (
        lambda t: view_in(t, "no_grad", leaf(t) * 1).mul_(5),
        "A view was created in no_grad mode and is being modified inplace with grad mode enabled",
    ),
    "of a leaf": (
        lambda t: view_in(t, "no_grad", leaf(t)).mul_(5),
        "A view was created in no_grad mode and is being modified inplace with grad mode enabled",
    ),
    "by a variable": (
        by_a_variable,
        "A view was created in no_grad mode and is being modified inplace with grad mode enabled",
    ),
    "of such a view": (
        lambda t: view_in(t, "no_grad", leaf(t) * 1).view(1).add_(1),
        "created in no_grad mode and is being modified inplace with grad mode enabled",
    ),
    "in inference mode": (
        lambda t: view_in(t, "inference_mode", leaf(t) * 1).add_(1),
        "A view was created in inference mode and is being modified inplace in normal mode",
    ),
    "of a function's view": (view_of_a_functions_view, "This view was created inside a custom Function"),
    "in the block": in_the_block,
    "without gradients": without_gradients,
    "detached": detached,
    "data": data,
    "gradients": gradients,
}


@pytest.mark.parametrize("name", TABLE)
def test_unrecorded_views(name: str) -> None:
    check(TABLE[name])
