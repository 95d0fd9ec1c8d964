"""`torch.utils.swap_tensors`, and modules that swap their parameters; beside PyTorch."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import pytest

from tests.runtime.both import agree


def swapped(t: Any) -> Any:
    first, second = t.arange(3.0), t.ones(2, 2, 2, 2, 2, dtype=t.int64)
    first.label, numbers = "first", (id(first), id(second))
    holder = [first]
    t.utils.swap_tensors(first, second)
    return (
        holder[0] is first,
        (id(first), id(second)) == numbers,
        hasattr(first, "label"),
        second.label,
        first,
        second,
        first.stride(),
        first.fill_(2) is first,
    )


def of_classes(t: Any) -> Any:
    class Mine(t.Tensor):  # type: ignore[misc]
        __slots__ = ("a", "b")

    class Other(t.Tensor):  # type: ignore[misc]
        __slots__ = ("b", "a")  # noqa: RUF023  (the order is what differs)

    plain, parameter = t.ones(2), t.nn.Parameter(t.zeros(3))
    t.utils.swap_tensors(plain, parameter)
    first, second = Mine(t.ones(2)), Other(t.zeros(1))
    first.a, second.b = 1, 2
    t.utils.swap_tensors(first, second)
    return (
        (type(plain) is t.nn.Parameter, plain.requires_grad, type(parameter) is t.Tensor, parameter),
        (type(first) is Other, type(second) is Mine, first.b, second.a, hasattr(first, "a"), second.tolist()),
    )


def gradients(t: Any) -> Any:
    leaf, other = t.ones(2, requires_grad=True), t.zeros(3, requires_grad=True)
    (leaf * 2).sum().backward()
    t.utils.swap_tensors(leaf, other)
    (leaf * 3).sum().backward()
    (other * 3).sum().backward()
    return leaf.grad, other.grad


def message_of(run: Callable[[], Any], part: str) -> bool:
    with pytest.raises(RuntimeError) as error:
        run()
    return part in str(error.value)


def poisoned(t: Any) -> Any:
    leaf, other = t.ones(2, requires_grad=True), t.zeros(3)
    out = (leaf * 2).sum()
    t.utils.swap_tensors(leaf, other)
    return message_of(out.backward, "AccumulateGrad node that was poisoned by swap_tensors"), leaf.grad, other.grad


def a_gradient_elsewhere(t: Any) -> Any:
    leaf, other, kept = t.ones(2, requires_grad=True), t.zeros(3), t.ones(2, requires_grad=True)
    out = (leaf * 2 + kept * 3).sum()
    t.utils.swap_tensors(leaf, other)
    return t.autograd.grad(out, [kept])


def refused(t: Any) -> Any:
    class Mine(t.Tensor):  # type: ignore[misc]
        __slots__ = ("a",)

    first, second = t.ones(2), t.ones(3)
    reference = weakref.ref(first)
    weak = message_of(lambda: t.utils.swap_tensors(first, second), "has weakref"), reference() is first
    return weak, message_of(lambda: t.utils.swap_tensors(second, Mine(t.ones(1))), "if they have different slots")


def converted(t: Any) -> Any:
    setting = t.__future__
    setting.set_swap_module_params_on_conversion(True)
    try:
        module = t.nn.Linear(2, 3)
        weight = module.weight
        out = module(t.ones(1, 2)).sum()
        module.double()
        broken = message_of(out.backward, "poisoned by swap_tensors")
        module(t.ones(1, 2, dtype=t.float64)).sum().backward()
        grad = module.weight.grad
        module.float()
        return (
            broken,
            weight is module.weight,
            str(weight.dtype),
            str(weight.grad.dtype),
            grad is weight.grad,
            type(weight) is t.nn.Parameter,
            weight.requires_grad,
        )
    finally:
        setting.set_swap_module_params_on_conversion(False)


def loaded(t: Any) -> Any:
    setting = t.__future__
    setting.set_swap_module_params_on_conversion(True)
    try:
        module = t.nn.Linear(2, 2, bias=False)
        weight = module.weight
        module.load_state_dict({"weight": t.ones(2, 2)})
        found = weight is module.weight, weight.detach(), type(weight) is t.nn.Parameter, weight.requires_grad
        module.load_state_dict({"weight": t.zeros(2, 2, dtype=t.float64)}, assign=True)
        return found, weight is module.weight, str(weight.dtype), weight.requires_grad
    finally:
        setting.set_swap_module_params_on_conversion(False)


def no_tensor(t: Any) -> Any:
    class Mine(t.nn.Parameter):  # type: ignore[misc]
        def module_load(self, other: Any, assign: bool = False) -> Any:
            return other

    setting = t.__future__
    setting.set_swap_module_params_on_conversion(True)
    try:
        module = t.nn.Module()
        module.weight = Mine(t.ones(2))
        return message_of(lambda: module.load_state_dict({"weight": t.zeros(2)}), "returned one of self or other")
    finally:
        setting.set_swap_module_params_on_conversion(False)


CASES = [
    swapped, of_classes, gradients, poisoned, a_gradient_elsewhere, refused, converted, loaded, no_tensor,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda one: one.__name__)
def test_swapping_beside_pytorch(case: Callable[[Any], Any]) -> None:
    agree(case)


def test_what_a_graph_saved_of_a_swapped_tensor_is_refused() -> None:
    import mindtorch_v2 as t  # PyTorch refuses to swap it

    leaf, saved = t.ones(2, requires_grad=True), t.full((2,), 3.0)
    out = (leaf * saved).sum()
    t.utils.swap_tensors(saved, t.zeros(2))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward()


def test_swapped_with_itself() -> None:
    import mindtorch_v2 as t

    one = t.ones(2)
    t.utils.swap_tensors(one, one)
    assert one.tolist() == [1.0, 1.0]
