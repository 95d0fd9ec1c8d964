"""Calls with more than one mistake, or with one that is looked at late: PyTorch's class of error, or its value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.both import agree_or_raise


class Override:
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return args


def kinds(results: dict[str, Any]) -> dict[str, str]:
    """What a check gives for each test: its value, or the first of PyTorch's classes that an error is of."""
    classes = (TypeError, RuntimeError)
    return {
        name: next((c.__name__ for c in classes if isinstance(value, c)), value)
        if isinstance(value, Exception)
        else value
        for name, value in results.items()
    }


# A call a line: `v` is a vector of floats, `a` a matrix, `i` holds integers, `e` nothing.
CALLS = {
    "checks that come first": """
        torch.nn.functional.nll_loss(a, torch.tensor([0, 5]), torch.ones(3, requires_grad=True))
        torch.nn.functional.nll_loss(e, torch.zeros(0).long(), e.requires_grad_())
        torch.nn.functional.nll_loss(a, torch.tensor([0, 5]), torch.ones(3))
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
    "what is traced and checked": """
        torch.jit.trace(1, (v,), example_kwarg_inputs="cpu")
        torch.jit.trace(None, example_kwarg_inputs="cpu")
        torch.jit.trace(torch.nn.Linear(3, 3), example_kwarg_inputs="cpu")
        torch.jit.trace(torch.nn.Linear(3, 3), (v,), example_kwarg_inputs="cpu")(v).shape
        torch.jit.trace(torch.nn.Linear(3, 3), (v,), check_inputs=1)
        torch.jit.trace(torch.sin, torch.Size([2]), 2.5, True, True)
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
            "v": torch.arange(3.0),
            "a": torch.arange(6.0).reshape(2, 3),
            "i": torch.arange(3),
            "e": torch.zeros(0),
        }
        return eval(call, names)

    agree_or_raise(case)
