"""Public functions in Python with arguments of wrong types: PyTorch's class of error, and the argument's name."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as ours
from tests.ops.both import raised


def root(torch: Any) -> Any:
    """A number that requires grad, and is no leaf."""
    return torch.ones((), requires_grad=True).exp()


CALLS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "isclose": (lambda t: t.isclose(t.ones(3), 2), "other"),
    "allclose": (lambda t: t.allclose(1, t.ones(3)), "input"),
    "a method": (lambda t: t.ones(3).allclose([1]), "other"),
    "var": (lambda t: t.var([1.0]), "input"),
    "var of a dimension": (lambda t: t.var(t.ones(3), 1.5), ""),
    "std of a dimension": (lambda t: t.std(t.ones(3), object()), ""),
    "norm": (lambda t: t.norm(t.ones(3), [1, 2]), "p"),
    "squeeze": (lambda t: t.ones(2, 1).squeeze((1, -1)), "appears multiple times"),
    "norm of a dimension": (lambda t: t.norm(t.ones(3), dim="x"), "dim"),
    "norm kept": (lambda t: t.norm(t.ones(3), 2, 0, "x"), "keepdim"),
    "a flag": (lambda t: t.allclose(t.ones(3), t.ones(3), equal_nan="x"), "equal_nan"),
    "backward": (lambda t: root(t).backward(3), "grad_tensors"),
    "backward of a list": (lambda t: root(t).backward([3]), ""),
    "backward to no tensor": (lambda t: root(t).backward(inputs=3), "inputs"),
    "backward to no tensors": (lambda t: root(t).backward(inputs=[3]), "inputs"),
    "autograd.backward": (lambda t: t.autograd.backward(None), "tensors"),
    "autograd.backward of numbers": (lambda t: t.autograd.backward([root(t), 3]), "element 1"),
    "autograd.grad": (lambda t: t.autograd.grad(3, root(t)), "outputs"),
    "autograd.grad to a number": (lambda t: t.autograd.grad(root(t), 3), "inputs"),
    "autograd.grad to numbers": (lambda t: t.autograd.grad(root(t), [3]), "inputs"),
    "autograd.grad from a number": (lambda t: t.autograd.grad(root(t), root(t), 3), "grad_outputs"),
    "numel": (lambda t: t.numel(3), "input"),
    "is_floating_point": (lambda t: t.is_floating_point(3), "input"),
    "is_complex": (lambda t: t.is_complex("x"), "input"),
    "can_cast": (lambda t: t.can_cast(1, t.float32), ""),
    "broadcast_tensors": (lambda t: t.broadcast_tensors(t.ones(1), 3), "tensors"),
    "relu": (lambda t: t.nn.functional.relu(3), ""),
    "softmax": (lambda t: t.nn.functional.softmax("x", 0), ""),
    "cross_entropy": (lambda t: t.nn.functional.cross_entropy(t.ones(2, 2), 3), "target"),
    "nll_loss": (lambda t: t.nn.functional.nll_loss(1, t.ones(3)), "input"),
    "l1_loss": (lambda t: t.nn.functional.l1_loss(t.ones(3), None), "target"),
    "embedding": (lambda t: t.nn.functional.embedding(t.tensor([0]), 3), "weight"),
    "a size": (lambda t: t.ones(3).size("x"), ""),
    "a stride": (lambda t: t.ones(3).stride([1]), ""),
    "a generator": (lambda t: t.ones(3).normal_(generator=3), "generator"),
}
FOREIGN = re.compile(
    r"Cannot convert|object has no attribute|'\w+' object|not iterable|float\(\) argument|not supported|tuple index"
)


@pytest.mark.parametrize("name", CALLS)
def test_wrong_types(name: str) -> None:
    call, argument = CALLS[name]
    with pytest.raises((TypeError, RuntimeError, ValueError)) as caught:
        call(ours)
    assert not FOREIGN.search(str(caught.value))
    assert argument in str(caught.value)


ERRORS_OF_PYTHON = {
    "l1_loss",
    "allclose",
    "autograd.backward of numbers",
    "broadcast_tensors",
    "embedding",
    "norm",
    "softmax",
}  # in PyTorch's functions


@pytest.mark.parametrize("name", sorted(CALLS.keys() - ERRORS_OF_PYTHON))
def test_the_class_is_pytorchs(name: str) -> None:
    mine, theirs = raised(CALLS[name][0])
    assert isinstance(mine, type(theirs)), f"{mine!r}, not {theirs!r}"


def test_an_error_inside_stays_what_it_is() -> None:
    class Broken(ours.Tensor):
        @classmethod
        def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise AttributeError("of the user's own")

    with pytest.raises(AttributeError, match="of the user's own"):
        ours.isclose(ours.ones(2).as_subclass(Broken), ours.ones(2))
