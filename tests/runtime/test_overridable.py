"""What ``torch.overrides`` tells of what can be overridden, and that methods and functions of Python are."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import pytest
import torch as pytorch

import mindtorch_v2 as torch
from mindtorch_v2 import overrides
from tests.runtime.both import agree


class Answer:
    """No tensor, and answers every function by its name."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> str:
        return str(func.__name__)


CALLS = {
    "an operator": lambda t, x: t.add(x, 2),
    "linalg": lambda t, x: t.linalg.norm(x),
    "of Python": lambda t, x: t.nn.functional.dropout(x),
    "of several": lambda t, x: t.einsum("i,i->i", x, x),
    "in a list": lambda t, x: t.nn.functional.pad(t.ones(1), [1, 1], value=x),
    "a question": lambda t, x: t.is_nonzero(x),
    "a creation": lambda t, x: t.zeros_like(x),
    "initialized": lambda t, x: t.nn.init.normal_(x),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_function_is_overridden_by_its_own_name(call: Any) -> None:
    agree(lambda t: call(t, Answer()))


def heard(t: Any, call: Any) -> list[str]:
    """What handlers hear of a call on a tensor of a subclass: names, and which function of which it is."""
    found = []

    class Heard(t.Tensor):  # type: ignore[misc,name-defined]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            found.append((func.__name__, func == t.Tensor.add, func == t.add, func is t.nn.functional.relu6))
            return super().__torch_function__(func, types, args, kwargs)

    call(t, t.ones(3).as_subclass(Heard))
    return [str(one) for one in found[:1]]


@pytest.mark.parametrize(
    "call",
    [
        lambda t, x: x.add(x),
        lambda t, x: t.add(x, x),
        lambda t, x: x + x,
        lambda t, x: x + 1,
        lambda t, x: 1 + x,
        lambda t, x: t.nn.functional.relu6(x),
        lambda t, x: x.unbind(),
        lambda t, x: t.Tensor.add(x, x),
    ],
)
def test_methods_and_functions_are_told_apart(call: Any) -> None:
    agree(lambda t: heard(t, call))


def test_methods_are_pickled_as_methods() -> None:
    for function in (torch.Tensor.add, torch.add, torch.ops.aten.add):
        assert pickle.loads(pickle.dumps(function)) == function
    assert torch.Tensor.add != torch.add
    assert torch.Tensor.add.is_method  # type: ignore[attr-defined]


def test_what_can_be_overridden_takes_what_its_override_takes() -> None:
    found = overrides.get_testing_overrides()
    assert len(found) > 1200
    assert torch.add in found
    assert torch.Tensor.add in found
    assert torch.zeros not in found
    for function in (torch.add, torch.Tensor.__mul__, torch.nn.functional.linear, torch.einsum):
        assert found[function](1, 2) == -1
    assert [*inspect.signature(found[torch.clamp]).parameters] == ["self", "min", "max"]
    assert torch.tensor in overrides.get_ignored_functions()


def test_names_of_functions_are_pytorchs() -> None:
    names = {overrides.resolve_name(function) for function in overrides.get_testing_overrides()}
    theirs = {pytorch.overrides.resolve_name(function) for function in pytorch.overrides.get_testing_overrides()}
    assert len(names & theirs) > 1100
    by_owner = overrides.get_overridable_functions()
    assert torch.Tensor.add in by_owner[torch.Tensor]
    assert torch.linalg.norm in by_owner[torch.linalg]
    agree(lambda t: [t.overrides.resolve_name(f) for f in (t.Tensor.add, t.nn.functional.relu6, t.linalg.norm, len)])


def test_a_class_goes_on_to_tensors_own_dispatch() -> None:
    def case(t: Any) -> Any:
        called = []

        class Goes(t.Tensor):  # type: ignore[misc,name-defined]
            @classmethod
            def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                called.append(str(func))
                return super().__torch_dispatch__(func, types, args, kwargs)

        x = t.Tensor._make_subclass(Goes, t.ones(2))
        return t.neg(x).sum().item(), called[0]

    agree(case)


@pytest.mark.parametrize("name", ["TorchFunctionMode", "utils._python_dispatch.TorchDispatchMode"])
def test_a_mode_whose_handler_is_a_class_method_is_refused(name: str) -> None:
    def case(t: Any) -> Any:
        __import__(f"{t.__name__}.utils._python_dispatch")
        base = t.overrides.TorchFunctionMode if "." not in name else t.utils._python_dispatch.TorchDispatchMode
        handler = "__torch_function__" if "." not in name else "__torch_dispatch__"
        mode = type("Mode", (base,), {handler: classmethod(lambda cls, func, types, args=(), kwargs=None: None)})
        with mode():
            return t.ones(2) + 1

    agree(case, "classmethod is not supported, please make it a plain method")


def test_switched_on_again() -> None:
    def case(t: Any) -> Any:
        x = t.ones(2).as_subclass(type("Sub", (t.Tensor,), {}))
        with t._C.DisableTorchFunctionSubclass():
            guard = t._C._EnableTorchFunction()
            inside = type(t.sum(x)).__name__
            del guard
            return inside, type(t.sum(x)).__name__

    agree(case)


def test_kernels_run_without_grad_mode_where_a_call_is_recorded() -> None:
    def case(t: Any) -> Any:
        seen = []

        def kernel(x: Any) -> Any:
            seen.append((t.is_grad_enabled(), x.requires_grad))
            return t.from_numpy(x.numpy() * 2)  # which a tensor that requires grad refuses in grad mode

        with t.library._scoped_library("overridable_grad", "FRAGMENT") as lib:
            lib.define("twice(Tensor x) -> Tensor")
            lib.impl("twice", kernel, "CPU")
            t.library.register_autograd("overridable_grad::twice", lambda ctx, grad: grad * 2, lib=lib)
            x = t.ones(2, requires_grad=True)
            t.ops.overridable_grad.twice(x).sum().backward()
            return seen, x.grad

    agree(case)
