"""Sizes inside a trace: what is computed from them is recorded, so that a run on other shapes is right."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

import torch as pytorch

import mindtorch_v2 as torch
from tests.runtime.both import agree

Function = Callable[[Any, Any], Any]
FUNCTIONS: dict[str, Function] = {
    "view": lambda t, x: x.view(x.shape[0], -1),
    "view by size()": lambda t, x: x.view(x.size(0), x.size(1) * x.size(2)),
    "view by a negative dim": lambda t, x: x.view(-1, x.size(-1)),
    "view by a whole shape": lambda t, x: (x * 2).view(x.shape),
    "view by part of a shape": lambda t, x: x.view(*x.shape[:-1], 1, x.shape[-1]),
    "reshape by a list": lambda t, x: x.reshape([x.shape[0] * x.shape[1], -1]),
    "reshape by numel()": lambda t, x: x.reshape(x.numel()),
    "expand": lambda t, x: x.expand(2, *x.shape),
    "unpacked": lambda t, x: next(x.reshape(c, a * b) for a, b, c in [x.shape]),
    "slice": lambda t, x: x[: x.shape[0] // 2, 1 : x.shape[1]],
    "narrow": lambda t, x: x.narrow(0, 0, x.shape[0] - 1),
    "zeros": lambda t, x: t.zeros(x.shape[0]) + t.ones(x.shape[0], 1)[:, 0] + t.full((x.shape[0],), 2.0),
    "new_zeros": lambda t, x: x.new_zeros(x.size(0), x.size(1) + 1),
    "arange": lambda t, x: t.arange(x.shape[0]) * x[:, 0, 0],
    "repeat": lambda t, x: x[:, 0].repeat(x.shape[1], 1),
    "mean": lambda t, x: x.sum() / x.numel() + x.sum() / x.shape[0],
    "times": lambda t, x: x * x.shape[0] - (2 * x.shape[1]),
    "of a result": lambda t, x: (x @ t.ones(x.shape[-1], 2)).flatten(1).view(x.shape[0], -1, 2),
    "in a chain": lambda t, x: x.view(-1, (x.shape[1] * x.shape[2]) // x.shape[2]).sum(0),
    "softmax": lambda t, x: t.nn.functional.softmax(x.reshape(x.shape[0], -1), -1),
    "chunk of a chunk": lambda t, x: t.cat(x.chunk(2)).view(x.size(dim=0), -1),
    "a shape that is returned": lambda t, x: x.shape[0] * t.ones(1),
}


def run_again(t: Any, function: Function) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = t.jit.trace(lambda x: function(t, x), t.arange(24.0).view(4, 2, 3), check_trace=False)
    first = traced(t.arange(24.0).view(4, 2, 3) + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error" if t is torch else "ignore")
        return first, traced(t.arange(90.0).view(6, 3, 5))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_another_shape(name: str) -> None:
    agree(lambda t: run_again(t, FUNCTIONS[name]))


def kinds(t: Any, function: Function) -> list[str]:
    traced = t.jit.trace(lambda x: function(t, x), t.ones(4, 2, 3), check_trace=False)
    return [n.kind() for n in traced.graph.nodes() if n.kind() not in ("prim::Constant", "prim::device")]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["view", "view by size()", "reshape by numel()", "expand", "new_zeros", "mean"])
def test_the_graph_is_pytorchs(name: str) -> None:
    """The same steps; where in between a number is unpacked is not compared."""
    ours, theirs = kinds(torch, FUNCTIONS[name]), kinds(pytorch, FUNCTIONS[name])
    assert sorted(ours) == sorted(theirs)
    assert "prim::NumToTensor" in ours


def types(t: Any) -> Any:
    seen: list[Any] = []

    def function(x: Any) -> Any:
        seen.extend(type(v).__name__ for v in (x.shape, x.shape[0], x.size(1), x.numel(), x.dim(), len(x), x.stride(0)))
        return x * 1

    t.jit.trace(function, t.ones(2, 3), check_trace=False)
    return seen


def test_what_user_code_sees() -> None:
    agree(types)


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (lambda x: x * float(x.shape[0]), "Converting a tensor to a Python float"),
        (lambda x: x * int(x.shape[0]), "Converting a tensor to a Python integer"),
        (lambda x: x * (2 if x.shape[0] > 1 else 3), "Converting a tensor to a Python boolean"),
    ],
)
def test_what_leaves_the_trace_warns(read: Callable[[Any], Any], text: str) -> None:
    for t in (torch, pytorch):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            traced = t.jit.trace(read, t.ones(2), check_trace=False)
        assert any(re.match(text, str(w.message)) for w in found)
        assert traced(t.ones(2)).shape == (2,)


def test_sizes_that_nothing_takes_leave_no_step() -> None:
    def function(x: Any) -> Any:
        _ = x.shape, x.numel()
        return x * 2

    assert [node.kind() for node in torch.jit.trace(function, torch.ones(2)).graph.nodes()][-1] == "aten::mul"
    assert not torch.jit.trace(function, torch.ones(2)).graph.findAllNodes("aten::size")


def test_modules_of_users() -> None:
    def make(t: Any) -> Any:
        class Net(t.nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.linear = t.nn.Linear(6, 4)
                with t.no_grad():
                    self.linear.weight.copy_(t.arange(24.0).view(4, 6) / 24)
                    self.linear.bias.zero_()

            def forward(self, x: Any) -> Any:
                batch, length, width = x.shape
                heads = self.linear(x).view(batch, length, 2, width // 3).transpose(1, 2)
                return heads.reshape(batch, -1), heads.size(1) * x.mean()

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            traced = t.jit.trace(Net(), t.ones(2, 3, 6), check_trace=False)
        return traced(t.arange(150.0).view(5, 5, 6))

    agree(make)


def test_sizes_on_another_device() -> None:
    traced = torch.jit.trace(lambda x: x.view(x.shape[0], -1) * x.shape[0], torch.ones(2, 3, 2, device="npu"))
    assert traced(torch.ones(3, 1, 2, device="npu")).tolist() == [[3, 3]] * 3
