"""Views inside `vmap` that are changed in place, where gradients are taken outside of it, beside PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

from tests.runtime.both import agree

Sample = Callable[[Any, Any], Any]


def changed(make: Callable[[Any], Any]) -> Sample:
    """A clone, one view of which is doubled and moved by the sample's first element."""

    def function(t: Any, a: Any) -> Any:
        b = a * 1
        make(b).mul_(2).add_(a.reshape(-1)[0])
        return b

    return function


def several_views(t: Any, a: Any) -> Any:
    b = a.clone()
    for part in (b[0], b[1:].t()):
        part.mul_(3)
    return b


def assigned(t: Any, a: Any) -> Any:
    b = a.clone()
    b.t()[0] = a.sum()
    b[:, 1:] += b[0, 0] * 2
    b[-1, -1] = 5
    return b


def view_of_a_view(t: Any, a: Any) -> Any:
    b = a.clone()
    v = b.view(-1)
    v[1:].add_(v[0].clone())
    return (b * a).sum()


def read_later(t: Any, a: Any) -> Any:
    b = a.clone()
    v = b[0]
    b.mul_(a)
    return v.exp() + b[1]


SAMPLES: dict[str, Sample] = {
    "select": changed(lambda b: b[0]),
    "select, last": changed(lambda b: b.select(-1, -1)),
    "slice": changed(lambda b: b[1:, ::2]),
    "narrow": changed(lambda b: b.narrow(1, 0, 2)),
    "transpose": changed(lambda b: b.transpose(0, 1)[0]),
    "t": changed(lambda b: b.t()[1]),
    "permute": changed(lambda b: b.permute(1, 0)[0]),
    "movedim": changed(lambda b: b.movedim(0, -1)[0]),
    "unsqueeze": changed(lambda b: b.unsqueeze(-1)[0]),
    "unsqueeze, first": changed(lambda b: b.unsqueeze(0)[:, 1]),
    "squeeze": changed(lambda b: b[:1].squeeze()),
    "squeeze, dim": changed(lambda b: b[:1].squeeze(0)),
    "view": changed(lambda b: b.view(-1)[2:4]),
    "reshape": changed(lambda b: b.reshape(1, 9)[:, 4:]),
    "flatten": changed(lambda b: b.flatten()[:3]),
    "expand": changed(lambda b: b[0].expand(1, 3)),
    "the whole": changed(lambda b: b),
    "several views": several_views,
    "assigned": assigned,
    "view of a view": view_of_a_view,
    "read later": read_later,
}


def data(t: Any) -> Any:
    return t.arange(18.0).view(2, 3, 3) / 10 + 0.5


ORDERS: dict[str, Callable[[Any, Sample], Any]] = {
    "grad(vmap)": lambda t, f: t.func.grad(lambda x: (t.vmap(lambda a: f(t, a))(x) ** 3).sum())(data(t)),
    "grad(vmap), dims": lambda t, f: t.func.grad(
        lambda x: (t.vmap(lambda a: f(t, a), in_dims=-3, out_dims=-1)(x) ** 3).sum()
    )(data(t)),
    "backward": lambda t, f: gradient(t, lambda x: (t.vmap(lambda a: f(t, a))(x) ** 2).sum()),
    "jacrev(vmap)": lambda t, f: t.func.jacrev(t.vmap(lambda a: f(t, a)))(data(t)),
    "vmap(grad)": lambda t, f: t.vmap(t.func.grad(lambda a: (f(t, a) ** 2).sum()))(data(t)),
    "grad(vmap(vmap))": lambda t, f: t.func.grad(
        lambda x: (t.vmap(t.vmap(lambda a: f(t, a)))(x.view(1, 2, 3, 3)) ** 2).sum()
    )(data(t)),
    "vmap": lambda t, f: t.vmap(lambda a: f(t, a))(data(t)),
}


def gradient(t: Any, function: Any) -> Any:
    x = data(t).requires_grad_()
    function(x).backward()
    return x.grad


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", SAMPLES)
def test_views_in_place(name: str, order: str) -> None:
    agree(lambda t: ORDERS[order](t, SAMPLES[name]))
