"""In-place changes of views where the base, or the gradient that comes to it, lies in memory in its own way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.runtime.both import agree

VIEWS: dict[str, Callable[[Any], Any]] = {
    "row": lambda v: v[0],
    "column": lambda v: v[:, 1],
    "transposed": lambda v: v.t(),
    "tail": lambda v: v[1:],
    "every second": lambda v: v[:, ::2],
}
CHANGES: dict[str, Callable[[Any], Any]] = {
    "mul_": lambda v: v.mul_(3.0),
    "add_ of itself": lambda v: v.add_(v * 2),
    "zero_": lambda v: v.zero_(),
    "copy_": lambda v: v.copy_(v.detach() * 0 + 1),
}


def turned(torch: Any, x: Any) -> Any:
    return x.detach().clone().t().detach()


def with_holes(torch: Any, x: Any) -> Any:
    room = torch.cat([x.detach().reshape(-1), x.detach().reshape(-1)])
    return torch.as_strided(room, x.shape, (8, 2), 1).detach()


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("layout", [turned, with_holes])
def test_as_in_pytorch(layout: Callable[[Any, Any], Any], view: str, change: str) -> None:
    def case(torch: Any) -> Any:
        class Base(torch.autograd.Function):  # type: ignore[misc]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return layout(torch, x)

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad.t() * 2 if layout is turned else grad * 2

        x = torch.arange(12.0).reshape(3, 4).requires_grad_()
        base = Base.apply(x)
        part = VIEWS[view](base)
        CHANGES[change](part)
        result = (base * base * base).sum() + (part * part).sum()
        (first,) = torch.autograd.grad(result, x, create_graph=True)
        second = torch.autograd.grad(first.sum(), x)[0].tolist() if first.requires_grad else None
        return base.tolist(), base.stride(), first.tolist(), second

    agree(case)


TURNS: dict[str, Callable[[Any], Any]] = {
    "transpose": lambda y: y.transpose(0, 1),
    "permute": lambda y: y.permute(1, 2, 0),
    "movedim": lambda y: y.movedim(0, -1),
    "expand": lambda y: y.expand(2, 2, 2, 2),
    "slice": lambda y: y[:, ::2],
}


@pytest.mark.parametrize("turn", TURNS)
def test_a_gradient_that_lies_otherwise_than_the_base(turn: str) -> None:
    def case(torch: Any) -> Any:
        x = torch.arange(8.0).view(2, 2, 2).requires_grad_()
        y = x * 1
        y[0].mul_(2)
        y.select(1, 1).add_(y.detach()[0].clone())
        z = TURNS[turn](y)
        (z * torch.arange(float(z.numel())).view(z.shape)).sum().backward()
        return y, x.grad

    agree(case)
