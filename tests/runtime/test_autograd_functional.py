"""`torch.autograd.functional` beside PyTorch: values, forms, graphs and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch
from tests.runtime.both import agree, agree_or_raise


def x(t: Any) -> Any:
    return t.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]], dtype=t.float64)


def y(t: Any) -> Any:
    return t.tensor([2.0, -1.0, 0.5], dtype=t.float64)


def product(t: Any, a: Any, b: Any) -> Any:
    return (a * a).sin() * b


def total(t: Any, a: Any, b: Any) -> Any:
    return product(t, a, b).sum() * b.sum()


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "vjp": lambda t, f: f.vjp(lambda a: (a * a).sin(), x(t), x(t) + 1),
    "vjp, tuples": lambda t, f: f.vjp(lambda a, b: (product(t, a, b), b * 2), (x(t), y(t)), (x(t) + 1, y(t))),
    "vjp, without v": lambda t, f: f.vjp(lambda a: (a**3).sum(), x(t)),
    "vjp, an input that is not read": lambda t, f: f.vjp(lambda a, b: a * 2, (x(t), y(t)), x(t)),
    "vjp, an input that is not read, strict": lambda t, f: f.vjp(lambda a, b: a * 2, (x(t), y(t)), x(t), strict=True),
    "vjp, a constant": lambda t, f: f.vjp(lambda a: t.ones(2), x(t), t.ones(2)),
    "vjp, a constant, strict": lambda t, f: f.vjp(lambda a: t.ones(2), x(t), t.ones(2), strict=True),
    "vjp, without v, of infinity": lambda t, f: f.vjp(lambda a: a[0], t.tensor([float("inf"), 1.0])),
    "vjp, inputs in a list": lambda t, f: f.vjp(lambda a: a * 2, [x(t)], x(t)),
    "hessian, no output, strict and together": lambda t, f: f.hessian(
        lambda a: None, x(t), strict=True, vectorize=True
    ),
    "hvp, no inputs": lambda t, f: f.hvp(lambda a: a, []),
    "hvp, integers, and no vector": lambda t, f: f.hvp(lambda a: a, t.tensor(2), 1),
    "jvp, integers, and no vector": lambda t, f: f.jvp(lambda a: a, t.tensor(2), 1),
    "vjp, v of another shape": lambda t, f: f.vjp(lambda a: a * 2, x(t), y(t)),
    "vjp, v of another length": lambda t, f: f.vjp(lambda a: (a, a * 2), x(t), x(t)),
    "vjp, v is missing": lambda t, f: f.vjp(lambda a: a * 2, x(t)),
    "vjp, an input that is no tensor": lambda t, f: f.vjp(lambda a: a * 2, 3.0),
    "vjp, an output that is no tensor": lambda t, f: f.vjp(lambda a: 3.0, x(t)),
    "jvp": lambda t, f: f.jvp(lambda a: (a * a).sin(), x(t), x(t) + 1),
    "jvp, tuples": lambda t, f: f.jvp(lambda a, b: (product(t, a, b), b * 2), (x(t), y(t)), (x(t) + 1, y(t))),
    "jvp, of one element": lambda t, f: f.jvp(lambda a: a * y(t), t.ones(1, dtype=t.float64)),
    "jvp, v is missing": lambda t, f: f.jvp(lambda a: a * 2, x(t)),
    "jvp, linear": lambda t, f: f.jvp(lambda a: a * 3, x(t), x(t)),
    "jvp, strict": lambda t, f: f.jvp(lambda a, b: (a * b, b * 1), (x(t), y(t)), (x(t), y(t)), strict=True),
    "jvp, a constant": lambda t, f: f.jvp(lambda a: t.ones(2), x(t), x(t)),
    "jacobian": lambda t, f: f.jacobian(lambda a: (a * a).sum(1), x(t)),
    "jacobian, tuples": lambda t, f: f.jacobian(lambda a, b: (product(t, a, b), b.exp()), (x(t), y(t))),
    "jacobian, a tuple of one": lambda t, f: f.jacobian(lambda a: (a * a,), (y(t),)),
    "jacobian, strict": lambda t, f: f.jacobian(lambda a, b: (a * 2, b * 2), (x(t), y(t)), strict=True),
    "jacobian, a constant, strict": lambda t, f: f.jacobian(lambda a: t.ones(2), x(t), strict=True),
    "jacobian, a constant": lambda t, f: f.jacobian(lambda a: t.ones(2, dtype=t.float64), x(t)),
    "jacobian, an element": lambda t, f: f.jacobian(lambda a: a.sum(), x(t)),
    "jacobian, of an element": lambda t, f: f.jacobian(lambda a: a * y(t), t.tensor(2.0, dtype=t.float64)),
    "jacobian, no dimensions": lambda t, f: f.jacobian(lambda a: a * a, t.tensor(2.0)),
    "jacobian, no dimensions, together": lambda t, f: f.jacobian(lambda a: a * a, t.tensor(2.0), vectorize=True),
    "hessian, no dimensions": lambda t, f: f.hessian(lambda a: a**3, t.tensor(2.0)),
    "jacobian, together": lambda t, f: f.jacobian(lambda a, b: product(t, a, b), (x(t), y(t)), vectorize=True),
    "jacobian, together, a gap": lambda t, f: f.jacobian(lambda a, b: a * 2, (x(t), y(t)), vectorize=True),
    "jacobian, together, several outputs": lambda t, f: f.jacobian(lambda a: (a.sin(), a.sum()), x(t), vectorize=True),
    "jacobian, together, strict": lambda t, f: f.jacobian(lambda a: a, x(t), strict=True, vectorize=True),
    "jacobian, forward": lambda t, f: f.jacobian(
        lambda a, b: (product(t, a, b), a.sum()), (x(t), y(t)), vectorize=True, strategy="forward-mode"
    ),
    "jacobian, forward, not together": lambda t, f: f.jacobian(lambda a: a, x(t), strategy="forward-mode"),
    "jacobian, forward, with a graph": lambda t, f: f.jacobian(lambda a: a, x(t), True, False, True, "forward-mode"),
    "hessian": lambda t, f: f.hessian(lambda a: (a**3).sum(), x(t)),
    "hessian, tuples": lambda t, f: f.hessian(lambda a, b: total(t, a, b), (x(t), y(t))),
    "hessian, together": lambda t, f: f.hessian(lambda a, b: total(t, a, b), (x(t), y(t)), vectorize=True),
    "hessian, linear": lambda t, f: f.hessian(lambda a: a.sum(), x(t)),
    "hessian, linear, strict": lambda t, f: f.hessian(lambda a: a.sum(), x(t), strict=True),
    "hessian, several elements": lambda t, f: f.hessian(lambda a: a * 2, x(t)),
    "hessian, several outputs": lambda t, f: f.hessian(lambda a: (a.sum(), a.sum()), x(t)),
    "vhp": lambda t, f: f.vhp(lambda a, b: total(t, a, b), (x(t), y(t)), (x(t) + 1, y(t))),
    "vhp, linear": lambda t, f: f.vhp(lambda a: a.sum(), x(t), x(t)),
    "vhp, linear, strict": lambda t, f: f.vhp(lambda a: a.sum(), x(t), x(t), strict=True),
    "vhp, several elements": lambda t, f: f.vhp(lambda a: a * 2, x(t), x(t)),
    "hvp": lambda t, f: f.hvp(lambda a, b: total(t, a, b), (x(t), y(t)), (x(t) + 1, y(t))),
    "hvp, linear": lambda t, f: f.hvp(lambda a: a.sum(), x(t), x(t)),
    "hvp, without v": lambda t, f: f.hvp(lambda a: (a**3).sum(), t.tensor([2.0])),
    "hvp, v is missing": lambda t, f: f.hvp(lambda a: (a**3).sum(), x(t)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_call(call: Callable[[Any, Any], Any]) -> None:
    agree_or_raise(lambda t: call(t, t.autograd.functional))


GRAPHS = ["vjp", "jvp", "jacobian", "hessian", "vhp", "hvp"]


@pytest.mark.parametrize("create_graph", [False, True], ids=["no graph", "graph"])
@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_is_kept_where_one_is_wanted(name: str, create_graph: bool) -> None:
    def seen(t: Any) -> Any:
        a = y(t).requires_grad_()
        call = getattr(t.autograd.functional, name)
        vector = () if name in ("jacobian", "hessian") else (y(t),)
        func = (
            (lambda b: (b**4) * b.sum()) if name in ("vjp", "jvp", "jacobian") else (lambda b: (b**4).sum() * b.sum())
        )
        result = call(func, a, *vector, create_graph=create_graph)
        parts = result if isinstance(result, tuple) else (result,)
        if not create_graph:
            return [part.requires_grad for part in parts], parts
        sum((part * part).sum() for part in parts).backward()
        return parts, a.grad

    agree(seen)


@pytest.mark.parametrize("name", ["vjp", "jvp", "jacobian"])
def test_gradients_off_outside_are_on_inside(name: str) -> None:
    def seen(t: Any) -> Any:
        call = getattr(t.autograd.functional, name)
        with t.no_grad():
            return call(lambda a: a * a, y(t), *(() if name == "jacobian" else (y(t),)))

    agree(seen)


@pytest.mark.parametrize("call", [torch.autograd.functional.jacobian, torch.autograd.functional.hessian])
def test_another_strategy(call: Callable[..., Any]) -> None:
    """PyTorch has an assertion there."""
    name = "strategy" if call is torch.autograd.functional.jacobian else "outer_jacobian_strategy"
    with pytest.raises(ValueError, match="Expected strategy to be either"):
        call(lambda a: a.sum(), torch.ones(2), **{name: "sideways"})
