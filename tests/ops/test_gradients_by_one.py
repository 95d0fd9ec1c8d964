"""Gradients that a formula multiplies by 1, as `alpha` and `beta` are when nobody gives them, are not multiplied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch as pytorch

import mindtorch_v2 as ours

CALLS: dict[str, Callable[..., Any]] = {
    "add": lambda t, x, y, z, **factors: t.add(x, y, alpha=factors.get("alpha", 1)),
    "add_": lambda t, x, y, z, **factors: x.clone().add_(y, alpha=factors.get("alpha", 1)),
    "sub": lambda t, x, y, z, **factors: t.sub(x, y, alpha=factors.get("alpha", 1)),
    "rsub": lambda t, x, y, z, **factors: t.rsub(x, y, alpha=factors.get("alpha", 1)),
    "addmm": lambda t, x, y, z, **factors: t.addmm(x, y, z, **factors),
    "index_add": lambda t, x, y, z, **factors: x.index_add(0, t.tensor([1, 0, 1]), y, alpha=factors.get("alpha", 1)),
}


def gradients(torch: Any, name: str, dtype: str, **factors: float) -> tuple[set[str], list[Any]]:
    """The names of what ran backward, and the gradients."""
    torch.manual_seed(0)
    given = [torch.randn(3, 3, dtype=getattr(torch, dtype)).requires_grad_() for _ in range(3)]
    result = CALLS[name](torch, *given, **factors)
    grad = torch.full_like(result, 0.5)
    with torch.profiler.profile() as profile:
        result.backward(grad)
    grads = [t.grad if t.grad is None else t.grad.tolist() for t in given]
    return {row.key for row in profile.key_averages()}, grads


def agree(found: list[Any], expected: list[Any]) -> None:
    assert [grad is None for grad in found] == [grad is None for grad in expected]
    for got, wanted in zip(found, expected, strict=True):
        if got is not None:
            ours.testing.assert_close(ours.tensor(got), ours.tensor(wanted))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_multiplied_by_one(name: str, dtype: str) -> None:
    ran, found = gradients(ours, name, dtype)
    assert "aten::mul" not in ran or dtype == "complex128"
    agree(found, gradients(pytorch, name, dtype)[1])


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", CALLS)
def test_other_factors_are(name: str, dtype: str) -> None:
    factors = {"alpha": 3.0, "beta": 0.5} if name == "addmm" else {"alpha": 3.0}
    agree(gradients(ours, name, dtype, **factors)[1], gradients(pytorch, name, dtype, **factors)[1])
