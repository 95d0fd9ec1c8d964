"""Calls with more than one mistake, or with one that is looked at late: PyTorch's class of error, or its value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mindtorch_v2
from tests.runtime.both import agree_or_raise


class Override:
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return args


def positional(*values: Any) -> int:
    return len(values)


def same(a: Any) -> Any:
    return a


def kinds(results: dict[str, Any]) -> dict[str, str]:
    """What a check gives for each test: its value, or the first of PyTorch's classes that an error is of."""
    classes = (TypeError, RuntimeError)
    return {
        name: next((c.__name__ for c in classes if isinstance(value, c)), value)
        if isinstance(value, Exception)
        else value
        for name, value in results.items()
    }


# A call a line: `v` is a vector of floats, `a` a matrix, `s` a number, `i` holds integers, `e` nothing.
CALLS = {
    "checks that come first": """
        torch.nn.functional.nll_loss(a, torch.tensor([0, 5]), torch.ones(3, requires_grad=True))
        torch.nn.functional.nll_loss(e, torch.zeros(0).long(), e.requires_grad_())
        torch.nn.functional.nll_loss(a, torch.tensor([0, 5]), torch.ones(3))
        torch.nn.functional.nll_loss(torch.zeros(0, 3), torch.zeros(0).long(), torch.ones(3, requires_grad=True))
        torch.ops.aten.nll_loss(a, torch.tensor([0, 5]), torch.ones(3, requires_grad=True))
        torch.ops.aten.nll_loss_backward(v, a, i, torch.ones(3, requires_grad=True), 1, -100, s)
        torch.nn.functional.embedding(torch.tensor(-2), torch.tensor([[1, 0], [2, 1]]), 1, True)
        torch.nn.functional.embedding(torch.tensor([5, 0]), torch.tensor([[1, 0], [2, 1]]), None, 1.0)
        torch.nn.functional.embedding(torch.tensor([5, 3]), torch.tensor([[1, 0], [2, 1]]), None, 1.0)
        torch.nn.functional.embedding(torch.tensor([-3, 0]), torch.tensor([[1, 0], [2, 1]]), None, 1.0)
        torch.nn.functional.embedding(torch.tensor(-2), a, None, 1.0)
        torch.nn.functional.embedding(i, torch.empty(2, 0))
        torch.nn.functional.embedding(i, torch.empty(2, 1))
        torch.nn.functional.embedding(v, v, 0, torch.ones(2))
        torch.nn.functional.embedding(v, v, 0, 1.0, "x")
        torch.nn.Embedding(None, 0, 3)
        torch.nn.Embedding("x", 3, padding_idx=1)
        torch.nn.Embedding(torch.tensor([1, 2]), 3, padding_idx=1)
        torch.nn.Embedding(torch.tensor([1, 2]), 3, padding_idx=0)
        torch.nn.Embedding(torch.tensor([3]), 3, padding_idx=-1).weight.shape
        torch.func.functionalize(torch.sin, remove=slice(None))
        torch.func.functionalize(torch.sin, remove=[])
        torch.autograd.backward(range(3))
        torch.autograd.backward([1], [v])
        torch.autograd.backward(("x", 1))
        torch.autograd.grad(v, [v], retain_graph=-1, allow_unused=0.5)
        torch.autograd.grad(v, [v], retain_graph=0.5, allow_unused=-1)
        torch.autograd.grad(v, [v], create_graph=300, allow_unused=0.5)
        torch.autograd.forward_ad.unpack_dual(v, level=v)
        torch.autograd.forward_ad.unpack_dual(v, level=torch.tensor([-1]))
        torch.autograd.forward_ad.unpack_dual(v, level="x")
        torch.autograd.forward_ad.unpack_dual(v, level=np.ones(3))
        torch.autograd.forward_ad.unpack_dual(v, level=-1.5)
        torch.autograd.forward_ad.unpack_dual(v, level=1.5)
        torch.overrides.handle_torch_function()
        torch.overrides.handle_torch_function(torch.add)
        torch.overrides.handle_torch_function(torch.add, ())
        torch.overrides.handle_torch_function(1, (Override(),), 2)
        torch.overrides.handle_torch_function("x", relevant_args=(Override(),))
    """,
    "devices and modes that are none": """
        torch.autograd.set_multithreading_enabled(1)
        torch.autograd.set_multithreading_enabled(None)
        torch.autograd.set_multithreading_enabled(torch.tensor(True))
        torch.autograd.set_multithreading_enabled(np.bool_(True))
        type(torch.autograd.set_multithreading_enabled(True)).__name__
        v.is_pinned("")
        v.is_pinned(-1)
        v.is_pinned("x")
        v.is_pinned(v)
        v.is_pinned(True)
        v.is_pinned(2**70)
        v.is_pinned(torch.Tensor)
        v.is_pinned(None)
        v.is_pinned("cpu:3")
        v.to("meta").is_pinned("")
        torch.get_device_module(2.5)
        torch.get_device_module(True)
        torch.get_device_module(np.int64(0))
        torch.get_device_module(0)
        torch.get_device_module(v)
        torch.get_device_module("x")
        torch.get_device_module("cpu") is torch.cpu
        torch.get_device_module(torch.device("cpu")) is torch.cpu
    """,
    "what is traced and checked": """
        torch.jit.trace(1, (v,), example_kwarg_inputs="cpu")
        torch.jit.trace(None, example_kwarg_inputs="cpu")
        torch.jit.trace(torch.nn.Linear(3, 3), example_kwarg_inputs="cpu")
        torch.jit.trace(torch.nn.Linear(3, 3), (v,), example_kwarg_inputs="cpu")(v).shape
        torch.jit.trace(torch.nn.Linear(3, 3), (v,), check_inputs=1)
        torch.jit.trace(torch.sin, torch.Size([2]), 2.5, True, True)
        torch.jit.trace(torch.add, [[1, 2], [3]], example_kwarg_inputs=slice(None))
        torch.jit.trace(torch.sin, v, example_kwarg_inputs="cpu")
        torch.jit.trace(torch.sin, [v], example_kwarg_inputs="cpu")
        torch.jit.trace(torch.sin, [v], example_kwarg_inputs=None)(v)
        torch.jit.trace(torch.nn.Linear(3, 3), [v], example_kwarg_inputs="cpu")(v).shape
        torch.jit.trace(positional, example_kwarg_inputs={"a": 1})
        torch.jit.trace(same, example_kwarg_inputs={"a": v, "b": 1})
        torch.jit.trace(same, example_kwarg_inputs={"a": 1})
        torch.jit.trace(positional, (1,))
        kinds(torch.library.opcheck(torch.ops.aten.sin.default, (v,), [], raise_exception=False))
        kinds(torch.library.opcheck(torch.ops.aten.sin.default, (v,), 1, raise_exception=False))
        kinds(torch.library.opcheck(torch.ops.aten.sin.default, None, raise_exception=False))
        kinds(torch.library.opcheck(torch.ops.aten.sin.default, [v]))
        kinds(torch.library.opcheck(torch.ops.aten.sin.default, (v.requires_grad_(),), "x", raise_exception=False))
        kinds(torch.library.opcheck(torch.ops.aten.sin.default, (v.requires_grad_(),), {1: 2}, raise_exception=False))
        kinds(torch.library.opcheck(torch.ops.aten.sin.default, (v,), {1: 2}, raise_exception=False))
        torch.library.opcheck(torch.ops.aten.sin.default, (v,), [], test_utils="test_autograd_registration")
    """,
}


@pytest.mark.parametrize(
    "call", [line.strip() for lines in CALLS.values() for line in lines.split("\n") if line.strip()]
)
def test_a_call(call: str) -> None:
    def case(torch: Any) -> Any:
        names = {
            "torch": torch,
            "np": np,
            "Override": Override,
            "kinds": kinds,
            "positional": positional,
            "same": same,
            "v": torch.arange(3.0),
            "a": torch.arange(6.0).reshape(2, 3),
            "s": torch.tensor(2.5),
            "i": torch.arange(3),
            "e": torch.zeros(0),
        }
        return eval(call, names)

    agree_or_raise(case)


PRODUCTS = """
    torch.bmm(r(3), t(3))
    torch.bmm(t(), r())
    torch.bmm(r(2, 2, 2), t(2, 2))
    torch.bmm(r(2, 2, 2), t(2, 3, 2))
    torch.mm(r(3), t(3))
    torch.mm(r(2, 2), t(2))
    torch.addmm(r(), t(), t())
    torch.addmm(r(3), t(3, 3), t(3))
    torch.addmm(r(3, 3), t(3, 2), t(3, 2))
    torch.baddbmm(r(3), t(1, 1, 1, 1), t(1, 1, 1))
    torch.nn.functional.linear(t(3), t(3), r(3))
    torch.bmm(r(2, 2, 2), t(2, 2, 2)).shape
    torch.addmm(r(3), t(3, 3), t(3, 3)).shape
"""


@pytest.mark.parametrize("device", ["cpu", "npu", "meta"])
@pytest.mark.parametrize("call", [line.strip() for line in PRODUCTS.split("\n") if line.strip()])
def test_a_call_is_refused_before_its_gradient_is_prepared(call: str, device: str) -> None:
    def case(torch: Any) -> Any:
        there = "cpu" if device == "npu" and torch is not mindtorch_v2 else device

        def t(*shape: int) -> Any:
            return torch.ones(shape, device=there)

        return eval(call, {"torch": torch, "t": t, "r": lambda *shape: t(*shape).requires_grad_()})

    agree_or_raise(case)
