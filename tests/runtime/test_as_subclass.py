"""``as_subclass``: a view of the whole tensor, of another class, beside PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

from tests.runtime.both import agree

Case = Callable[[Any, Any], Any]


def as_subclass(torch: Any, tensor: Any) -> Any:
    return tensor.as_subclass(type("Sub", (torch.Tensor,), {}))


AS_SUBCLASS: dict[str, Case] = {
    "it is a view": lambda torch, x: [
        as_subclass(torch, x)._is_view(), as_subclass(torch, x)._base is x, as_subclass(torch, x[:1])._base is x,
    ],
    "its views are the tensor's": lambda torch, x: [
        as_subclass(torch, x)[:1]._base is x, type(as_subclass(torch, x)[:1]._base) is torch.Tensor
    ],
    "results are views": lambda torch, x: [(as_subclass(torch, x) + 1)._is_view(), as_subclass(torch, x).clone().grad],
    "of a leaf it is none": lambda torch, x: [
        as_subclass(torch, x.requires_grad_()).is_leaf, as_subclass(torch, x).requires_grad
    ],
    "memory and versions are shared": lambda torch, x: [
        as_subclass(torch, x).add_(1)._version, x._version, x.tolist(), as_subclass(torch, x)._version
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", AS_SUBCLASS)
def test_as_subclass_is_a_view(name: str) -> None:
    agree(lambda torch: AS_SUBCLASS[name](torch, torch.tensor([1.0, 2.0])))


def test_a_change_of_a_subclass_is_in_the_tensors_history() -> None:
    def case(torch: Any) -> Any:
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        y = w * 1
        as_subclass(torch, y).mul_(2)
        y.sum().backward()
        return w.grad

    agree(case)


def test_a_leaf_gets_its_gradient_through_a_subclass() -> None:
    def case(torch: Any) -> Any:
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        (as_subclass(torch, w) * 3).sum().backward()
        return w.grad

    agree(case)


def test_detach_is_refused_as_of_any_view() -> None:
    agree(lambda torch: as_subclass(torch, torch.tensor([1.0])).requires_grad_().detach_(), "Can't detach views")
