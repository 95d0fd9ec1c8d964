"""Tensors of another library, and objects whose ``__torch_function__`` only calls the function again."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch as pytorch

import mindtorch_v2 as torch


class Echo:
    """Its ``__torch_function__`` calls what it was called for: PyTorch recurses until Python stops it."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


CALLS = {
    "rsqrt": (lambda t: torch.rsqrt(t), "argument 'self' (position 1) must be Tensor"),
    "an overload": (lambda t: torch.ops.aten.rsqrt.default(t), "argument 'self' (position 1) must be Tensor"),
    "a list": (lambda t: torch.cat([torch.ones(3), t]), "argument 'tensors' (position 1) must be tuple of Tensors"),
    "a layer": (lambda t: torch.nn.Linear(3, 1)(t), "argument 'input' (position 1) must be Tensor"),
    "in place": (lambda t: torch.ones(3).copy_(t), "argument 'src' (position 2) must be Tensor"),
    "by keyword": (lambda t: torch.ops.aten.copy_(torch.ones(3), src=t), "must be Tensor"),
    "one of several overloads": (lambda t: torch.add(torch.ones(3), t), "got (Tensor, "),
    "the first of them": (lambda t: torch.add(t, torch.ones(3)), "aten::add() received an invalid combination"),
    "an operator": (lambda t: torch.ones(3) + t, "got (Tensor, "),
    "a method": (lambda t: torch.ones(3).mul(other=t), "other="),
    "a comparison": (lambda t: torch.ones(3) == t, "aten::eq() received"),
}


@pytest.mark.parametrize("elements", [1, 3])
@pytest.mark.parametrize("name", CALLS)
def test_a_tensor_of_pytorch(name: str, elements: int) -> None:
    call, quoted = CALLS[name]
    with pytest.raises(TypeError, match=re.escape(quoted)) as caught:
        call(pytorch.ones(elements))
    assert "torch.Tensor" in str(caught.value)
    assert "from_numpy(numpy.asarray(t))" in str(caught.value)


@pytest.mark.parametrize("name", CALLS)
def test_an_object_that_calls_back(name: str) -> None:
    call, quoted = CALLS[name]
    with pytest.raises(TypeError, match=re.escape(quoted)) as caught:
        call(Echo())
    assert "test_foreign_tensors.Echo" in str(caught.value)


@pytest.mark.parametrize("call", [lambda t: pytorch.rsqrt(t), lambda t: pytorch.add(pytorch.ones(3), t)])
def test_a_tensor_of_ours_given_to_pytorch(call: Any) -> None:
    with pytest.raises(TypeError, match="all __torch_function__ handlers returned NotImplemented"):
        call(torch.ones(3))


def test_the_advice_works() -> None:
    theirs = pytorch.ones(3)
    ours = torch.from_numpy(np.asarray(theirs))
    theirs[0] = 4.0
    assert torch.rsqrt(ours).tolist() == [0.5, 1.0, 1.0]


def test_the_same_call_again_after_one_that_failed() -> None:
    echo = Echo()
    for _ in range(2):
        with pytest.raises(TypeError, match="must be Tensor"):
            torch.rsqrt(echo)


def test_a_handler_that_gives_something_else_is_asked_each_time() -> None:
    class Boxed:
        def __init__(self, value: Any) -> None:
            self.value = value

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*[a.value if isinstance(a, cls) else a for a in args])

    nested = Boxed(Boxed(torch.full((2,), 4.0)))
    assert [torch.rsqrt(nested).tolist() for _ in range(2)] == [[0.5, 0.5]] * 2


def test_a_mode_hands_the_call_on() -> None:
    """What the mode calls is the same call once more, and still the object's to answer."""

    class Answers:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return "answer"

    with torch.overrides.BaseTorchFunctionMode(), torch.overrides.BaseTorchFunctionMode():
        assert torch.rsqrt(Answers()) == "answer"
        with pytest.raises(TypeError, match="must be Tensor"):
            torch.rsqrt(Echo())
