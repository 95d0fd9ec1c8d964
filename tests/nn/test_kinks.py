"""Gradients where functions have a kink, or no slope at all: where PyTorch says 0, or takes a side, so do we."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.runtime.both import agree

KINKS: dict[str, tuple[Callable[[Any, Any], Any], list[float]]] = {
    "hardtanh": (lambda t, x: t.nn.functional.hardtanh(x), [-1.0, 1.0, 0.0]),
    "relu6": (lambda t, x: t.nn.functional.relu6(x), [0.0, 6.0]),
    "hardsigmoid": (lambda t, x: t.nn.functional.hardsigmoid(x), [-3.0, 3.0]),
    "hardswish": (lambda t, x: t.nn.functional.hardswish(x), [-3.0, 3.0]),
    "elu": (lambda t, x: t.nn.functional.elu(x), [0.0, -1.0]),
    "softplus": (lambda t, x: t.nn.functional.softplus(x), [20.0, 30.0, -100.0]),
    "norm": (lambda t, x: x.norm(), [0.0, 0.0]),
    "a norm of order 3": (lambda t, x: x.norm(3), [0.0, 0.0]),
    "a norm of order 1/2": (lambda t, x: x.norm(0.5), [0.0, 1.0]),
    "the largest magnitude": (lambda t, x: x.norm(float("inf")), [1.0, -1.0]),
    "std": (lambda t, x: x.std(), [1.0, 1.0]),
    "std_mean": (lambda t, x: t.std_mean(x)[0], [1.0, 1.0]),
    "normalize": (lambda t, x: t.nn.functional.normalize(x, dim=0), [0.0, 0.0]),
    "renorm": (lambda t, x: t.renorm(x[None], 2, 0, 1.0), [0.0, 0.0]),
    "dist": (lambda t, x: t.dist(x, x.detach()), [1.0, 2.0]),
    "atan2": (lambda t, x: t.atan2(x, x), [0.0, 1.0]),
    "cdist of the largest": (lambda t, x: t.cdist(x[None], t.zeros(1, 2), p=float("inf")), [2.0, 2.0]),
    "clamp_min by a tensor": (lambda t, x: t.clamp_min(x, t.zeros(2)), [0.0, 1.0]),
    "clamp_max by a tensor": (lambda t, x: t.clamp_max(x, t.zeros(2)), [0.0, 1.0]),
}


@pytest.mark.parametrize("name", KINKS)
def test_the_gradient_at_a_kink(name: str) -> None:
    function, point = KINKS[name]

    def case(t: Any) -> Any:
        x = t.tensor(point, requires_grad=True)
        (slope,) = t.autograd.grad(function(t, x).sum(), x, create_graph=True)
        return slope.detach()

    agree(case)


IN_PLACE = ("relu6", "elu", "selu", "celu", "silu", "mish", "hardtanh", "hardsigmoid", "hardswish")


@pytest.mark.parametrize("name", IN_PLACE)
def test_activations_in_place(name: str) -> None:
    def case(t: Any) -> Any:
        x = t.tensor([-4.0, -1.0, 0.5, 3.5], dtype=t.float64, requires_grad=True)
        y = x * 1
        getattr(t.nn.functional, name)(y, inplace=True).sum().backward()
        return [round(value, 9) for value in [*y.tolist(), *x.grad.tolist()]]

    agree(case)


@pytest.mark.parametrize("change", ["clamp_min_", "clamp_max_", "xlogy_", "cumprod_"])
def test_composed_operators_in_place(change: str) -> None:
    def case(t: Any) -> Any:
        x = t.tensor([0.5, 2.0], requires_grad=True)
        (getattr(x * 1, change)(0 if change == "cumprod_" else 1.0)).sum().backward()
        return x.grad

    agree(case)
