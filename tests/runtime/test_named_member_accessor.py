"""`NamedMemberAccessor`: tensors and modules by path, beside PyTorch's."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch
from tests.runtime.both import agree_or_raise


def made(torch: Any) -> tuple[Any, Any]:
    """A module with shared parameters, buffers, a plain tensor and a missing bias; and what reaches its members."""

    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
            self.second = torch.nn.Linear(3, 2, bias=False)
            self.tied = self.second
            self.plain = torch.ones(2)
            self.number = 3

    torch.manual_seed(0)
    net = Net()
    inner = importlib.import_module(f"{torch.__name__}.nn.utils._named_member_accessor")
    return net, inner.NamedMemberAccessor(net)


def named(found: Any) -> Any:
    return [name for name, _ in found]


def swapped_dict(t: Any, net: Any, a: Any, **options: Any) -> Any:
    given = {"second.weight": t.zeros(2, 3), "first.1.running_mean": t.ones(3), "more": t.ones(1)}
    before, missing = a.swap_tensors_dict(given, **options)
    return before["second.weight"], missing, net.second.weight, net.more


def failed_dict(t: Any, net: Any, a: Any, name: str) -> Any:
    kept = net.second.weight
    with pytest.raises((RuntimeError, TypeError)) as raised:
        a.swap_tensors_dict({"second.weight": t.zeros(2, 3), name: t.ones(1)})
    return net.second.weight is kept, hasattr(net, "missing"), type(raised.value).__name__


CASES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "submodule": lambda t, net, a: a.get_submodule("first.0") is net.first[0],
    "itself": lambda t, net, a: a.get_submodule("") is net,
    "no submodule": lambda t, net, a: a.get_submodule("first.7"),
    "no submodule on the way": lambda t, net, a: a.get_submodule("none.7"),
    "a number as a module": lambda t, net, a: a.get_submodule("number"),
    "module exchanged": lambda t, net, a: [
        a.get_tensor("first.0.weight"), before := net.first[0],
        a.swap_submodule("first.0", t.nn.Linear(2, 3)) is before, net.first[0] is before,
    ][2:],
    "no module to exchange": lambda t, net, a: a.swap_submodule("first.7", t.nn.Linear(1, 1)),
    "exchanged by no module": lambda t, net, a: a.swap_submodule("first.0", 3),
    "parameter": lambda t, net, a: a.get_tensor("first.0.weight"),
    "buffer": lambda t, net, a: a.get_tensor("first.1.running_var"),
    "plain": lambda t, net, a: a.get_tensor("plain"),
    "no bias": lambda t, net, a: a.get_tensor("second.bias"),
    "no tensor": lambda t, net, a: a.get_tensor("second.none"),
    "a number": lambda t, net, a: a.get_tensor("number"),
    "several": lambda t, net, a: a.get_tensors(["plain", "first.0.bias"]),
    "set": lambda t, net, a: [a.set_tensor("first.0.weight", t.ones(1)), net.first[0].weight][1:],
    "set a buffer": lambda t, net, a: [a.set_tensor("first.1.running_mean", t.ones(3)), named(net.named_buffers())][1:],
    "set plain": lambda t, net, a: [a.set_tensor("plain", t.zeros(1)), net.plain][1:],
    "set a new one": lambda t, net, a: [a.set_tensor("first.new", t.zeros(1)), net.first.new][1:],
    "set a number": lambda t, net, a: a.set_tensor("first.0.weight", 3),
    "set by the empty name": lambda t, net, a: a.set_tensor("first.", t.ones(1)),
    "set several": lambda t, net, a: [a.set_tensors(["plain", "x"], [t.ones(1), t.ones(2)]), net.plain, net.x][1:],
    "set by a dict": lambda t, net, a: [a.set_tensors_dict({"plain": t.ones(1)}), net.plain][1:],
    "delete": lambda t, net, a: [a.del_tensor("first.0.weight"), named(net.named_parameters())][1:],
    "delete a buffer": lambda t, net, a: [a.del_tensor("first.1.running_mean"), named(net.named_buffers())][1:],
    "delete plain": lambda t, net, a: [a.del_tensor("plain"), hasattr(net, "plain")][1:],
    "delete none": lambda t, net, a: a.del_tensor("none"),
    "delete several": lambda t, net, a: [a.del_tensors(["plain", "second.weight"]), named(net.named_parameters())][1:],
    "swap": lambda t, net, a: [a.swap_tensor("second.weight", t.ones(1)), net.second.weight],
    "swap none": lambda t, net, a: a.swap_tensor("none", t.ones(1)),
    "swap a number": lambda t, net, a: a.swap_tensor("number", t.ones(1)),
    "swap by a number": lambda t, net, a: a.swap_tensor("plain", 3),
    "swap several": lambda t, net, a: [a.swap_tensors(["plain", "second.weight"], [t.ones(1), t.ones(2)]), net.plain],
    "swap by a dict": lambda t, net, a: swapped_dict(t, net, a, allow_missing=True),
    "swap by a dict, one missing": lambda t, net, a: swapped_dict(t, net, a),
    "a swap that fails": lambda t, net, a: failed_dict(t, net, a, "missing"),
    "a swap of a number": lambda t, net, a: failed_dict(t, net, a, "number"),
    "keys": lambda t, net, a: a.check_keys(["plain", "second.weight", "first.0.bias", "z"]),
    "tensors": lambda t, net, a: [named(a.named_tensors()), named(a.named_tensors(remove_duplicate=False))],
    "parameters": lambda t, net, a: [named(a.named_parameters()), named(a.named_parameters(remove_duplicate=False))],
    "modules": lambda t, net, a: [named(a.named_modules()), named(a.named_modules(remove_duplicate=False))],
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_members(name: str) -> None:
    agree_or_raise(lambda torch: CASES[name](torch, *made(torch)))


def test_modules_that_were_exchanged_are_found() -> None:
    """PyTorch goes on finding the ones before."""
    net, accessor = made(torch)
    accessor.get_tensor("first.0.weight")
    accessor.swap_submodule("first.0", torch.nn.Linear(1, 1))
    assert accessor.get_submodule("first.0") is net.first[0]
    accessor.swap_submodule("first", torch.nn.Sequential(torch.nn.Linear(4, 4)))
    assert accessor.get_tensor("first.0.weight").shape == (4, 4)


def test_not_as_many_tensors_as_names() -> None:
    """PyTorch says so with an AssertionError."""
    _, accessor = made(torch)
    for call in (accessor.set_tensors, accessor.swap_tensors):
        with pytest.raises(ValueError, match="expected as many tensors as names, 1, got 2"):
            call(["plain"], [torch.ones(1), torch.ones(2)])
