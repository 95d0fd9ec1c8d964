"""Functions of Python that are called without a frame before them, and results of several outputs."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import mindtorch_v2
from tests.ops.test_usual_launches import numbers, slopes
from tests.runtime.both import Case, agree, agree_or_raise, fresh_namespace


# ---------------------------------------------------------------- results of several outputs
def test_outputs_that_share_memory_are_refused() -> None:
    torch = mindtorch_v2
    lib = torch.library.Library(fresh_namespace(), "DEF")
    lib.define("same(Tensor x) -> (Tensor, Tensor)")
    lib.define("given(Tensor x) -> (Tensor, Tensor)")
    lib.define("numbers(Tensor x) -> (Tensor, Tensor)")
    lib.impl("same", lambda x: (y := x + 1, y.view(-1)), "CPU")
    lib.impl("given", lambda x: (x + 1, x), "CPU")
    lib.impl("numbers", lambda x: (x + 1, 2), "CPU")
    x = torch.ones(2, requires_grad=True)
    calls = getattr(torch.ops, lib.ns)
    with pytest.raises(RuntimeError, match="two outputs share memory"):
        calls.same(x)
    with pytest.raises(RuntimeError, match="output 1 shares memory with argument 'x'"):
        calls.given(x)
    with pytest.raises(RuntimeError, match="declares that output 1 is a Tensor"):
        calls.numbers(x)


OUTPUTS: dict[str, Case] = {
    "sort": lambda torch: torch.sort(numbers(torch, 2, 3).requires_grad_()),
    "max_pool2d": lambda torch: torch.nn.functional.max_pool2d(
        numbers(torch, 1, 4, 4).requires_grad_(), 2, return_indices=True
    ),
    "cummax": lambda torch: torch.cummax(numbers(torch, 2, 3).requires_grad_(), 0),
    "mode": lambda torch: torch.mode(numbers(torch, 2, 3).requires_grad_()),
    "solve": lambda torch: torch.linalg.inv_ex(numbers(torch, 3, 3).add(torch.eye(3) * 9).requires_grad_()),
    "lu": lambda torch: torch.linalg.lu(numbers(torch, 3, 3).add(torch.eye(3) * 9).requires_grad_()),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_which_outputs_have_gradients(name: str) -> None:
    agree(lambda torch: [(t.requires_grad, t.grad_fn is None, t.is_leaf) for t in OUTPUTS[name](torch)])


@pytest.mark.parametrize("name", ["sort", "max_pool2d", "cummax"])
def test_outputs_without_gradients_back(name: str) -> None:
    def case(torch: Any) -> Any:
        shape = (1, 4, 4) if name == "max_pool2d" else (2, 3)
        x = numbers(torch, *shape).requires_grad_()
        call = {
            "sort": lambda t: torch.sort(t),
            "max_pool2d": lambda t: torch.nn.functional.max_pool2d(t, 2, return_indices=True),
            "cummax": lambda t: torch.cummax(t, 0),
        }[name]
        values, places = call(x)
        hooked = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t: (hooked.append(t.shape), t)[1], lambda t: t):
            again = torch.autograd.grad(call(x)[0].square().sum(), x)
        saved = [a for a in dir(values.grad_fn) if a.startswith("_saved") and not a.startswith("_saved_tensors")]
        found = slopes(torch, values, x)
        return (
            found,
            places,
            again,
            len(hooked),
            saved,
            torch.func.jvp(lambda t: call(t)[0], (x.detach(),), (x.detach(),)),
        )

    agree(lambda torch: case(torch)[:3])
    assert case(mindtorch_v2)[3] > 0


# ---------------------------------------------------------------- functions of nn
def test_functions_are_called_directly() -> None:
    torch = mindtorch_v2
    relu6 = torch.nn.functional.relu6
    assert pickle.loads(pickle.dumps(relu6)) is relu6
    assert repr(relu6).startswith("<function relu6")

    class Layer:
        bend = relu6  # a method, as of a function

    assert Layer.bend is relu6
    with pytest.raises(TypeError, match=r"argument 'input' \(position 1\) must be Tensor, not Layer"):
        Layer().bend()


FUNCTIONS: dict[str, Case] = {
    "by name": lambda torch: torch.nn.functional.relu6(input=numbers(torch, 3)),
    "nothing": lambda torch: torch.nn.functional.relu6(),
    "too much": lambda torch: torch.nn.functional.relu6(numbers(torch, 3), False, 1),
    "another name": lambda torch: torch.nn.functional.relu6(numbers(torch, 3), other=1),
    "a number": lambda torch: torch.nn.functional.relu6(3),
    "in a mode": lambda torch: in_mode(torch, lambda: torch.nn.functional.relu6(numbers(torch, 3))),
    "of a class": lambda torch: of_a_class(torch, torch.nn.functional.relu6),
    "of a class in a list": lambda torch: of_a_class(
        torch, lambda x: torch.functional.broadcast_tensors(x, torch.ones(3))
    ),
    "of a class by name": lambda torch: of_a_class(torch, lambda x: torch.nn.functional.relu6(input=x)),
    "of no tensor": lambda torch: torch.nn.functional.relu6(Stranger()),
    "std": lambda torch: [
        torch.std(numbers(torch, 2, 3), 0),
        numbers(torch, 2, 3).std((0, 1)),
        torch.std(numbers(torch, 3), dim=[0], keepdim=True),
    ],
    "std of text": lambda torch: torch.std(numbers(torch, 3), "a"),
    "std by text": lambda torch: torch.std(numbers(torch, 3), 0, "a"),
    "std of a list": lambda torch: torch.std([1.0]),
}


class Stranger:
    """What answers for itself."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> str:
        return func.__name__


def in_mode(torch: Any, call: Any) -> list[str]:
    seen: list[str] = []

    class Mode(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(getattr(func, "__name__", ""))
            return func(*args, **(kwargs or {}))

    with Mode():
        call()
    return seen[:1]


def of_a_class(torch: Any, call: Any) -> Any:
    seen: list[str] = []

    class Watched(torch.Tensor):  # type: ignore[misc]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(getattr(func, "__name__", ""))
            return super().__torch_function__(func, types, args, kwargs or {})

    result = call(torch.ones(3).as_subclass(Watched))
    return seen[:1], type(result[0] if isinstance(result, (tuple, list)) else result).__name__


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    agree_or_raise(FUNCTIONS[name])
