"""The node that adds to a leaf's gradient: a leaf keeps it between graphs, and nobody notices but the clock."""

from __future__ import annotations

import gc
import subprocess
import sys
import warnings
import weakref
from typing import Any

import pytest

import mindtorch_v2 as torch
from tests.runtime.both import agree


def leaf_node(out: Any) -> Any:
    return out.grad_fn.next_functions[0][0]


def test_a_leaf_may_change_between_graphs() -> None:
    def case(torch: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        (x * 2).sum().backward()
        x.grad = None
        x.data = torch.ones(3, 5, 1, 1, 2)  # another shape, of more dimensions than a node keeps inside of itself
        (x * 3).sum().backward()
        shape = x.grad.shape
        x.grad = None
        x.requires_grad_(False)
        untracked = (x * 2).requires_grad
        x.requires_grad_(True)
        (x * 4).sum().backward()
        return tuple(shape), untracked, x.grad.sum()

    agree(case)


def test_a_leaf_is_freed_without_the_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        x = torch.ones(2, requires_grad=True)
        out = x * 2
        out.sum().backward(retain_graph=True)
        reference = weakref.ref(x)
        del x
        assert reference() is not None  # the graph holds it
        del out
        assert reference() is None
        y = torch.ones(2, requires_grad=True)
        (y * 2).sum().backward()
        reference = weakref.ref(y)
        del y
        assert reference() is None
    finally:
        gc.enable()


def test_a_node_that_is_watched_goes_with_its_graph() -> None:
    x = torch.ones(2, requires_grad=True)
    out = x * 2
    reference = weakref.ref(leaf_node(out))
    assert reference() is not None
    del out
    assert reference() is None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_what_hangs_on_a_node_goes_with_its_graph() -> None:
    seen = []
    x = torch.ones(2, requires_grad=True)
    out = x * 2
    leaf_node(out).register_prehook(lambda grads: seen.append(len(grads)))
    out.sum().backward()
    del out
    (x * 2).sum().backward()
    assert seen == [1]
    assert x.grad.tolist() == [4.0, 4.0]


def test_two_graphs_at_a_time_share_the_node() -> None:
    x = torch.ones(2, requires_grad=True)
    first, second = x * 2, x * 3
    assert leaf_node(first) is leaf_node(second)
    del first
    assert leaf_node(second).variable is x
    second.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_cycle_through_a_gradient_is_collected() -> None:
    x = torch.ones(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said once a process
        (x * x).sum().backward(create_graph=True)
    reference = weakref.ref(x)
    del x
    gc.collect()
    assert reference() is None


def test_a_cycle_through_a_gradient_is_warned_of_once() -> None:
    program = """
import warnings, mindtorch_v2 as torch
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(2):
        x = torch.ones(2, requires_grad=True)
        (x * x).sum().backward(create_graph=True)
print(len(caught), caught[0].category.__name__, "reference cycle" in str(caught[0].message))
"""
    found = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert found.stdout == "1 UserWarning True\n"


@pytest.mark.parametrize("layout", ["plain", "transposed", "expanded", "meta"])
def test_a_gradient_that_others_hold_is_copied(layout: str) -> None:
    def case(torch: Any) -> Any:
        device = "meta" if layout == "meta" else "cpu"
        x = torch.ones(2, 2, requires_grad=True, device=device)
        grad = torch.full((2, 2), 3.0, device=device)
        if layout == "transposed":
            grad = grad.t()
        elif layout == "expanded":
            grad = torch.full((2, 1), 3.0).expand(2, 2)
        x.clone().backward(grad)
        held = x.grad
        if layout != "expanded":
            grad.add_(1)
        return x.grad, held is grad, x.grad.stride() if layout == "plain" else None

    agree(case)


def test_the_ways_to_call_backward() -> None:
    def case(torch: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        (x * 2).sum().backward()
        (x * 2).backward(torch.ones(2))
        (x * 2).backward(gradient=torch.ones(2))
        (x * 2).sum().backward(None)
        torch.Tensor.backward((x * 2).sum())
        out = (x * 2).sum()
        out.backward(None, True)
        out.backward(retain_graph=True)
        out.backward(inputs=[x])
        return x.grad, torch.Tensor.backward.__name__

    agree(case)


@pytest.mark.parametrize(
    ("call", "quoted"),
    [
        (lambda torch, x: (x * 2).backward(), "grad can be implicitly created only for scalar outputs"),
        (lambda torch, x: (x * 2).backward(torch.ones(3)), "Mismatch in shape"),
        (lambda torch, x: x.detach().backward(), "does not require grad"),
        (lambda torch, x: (x * 2).backward(1.0), ""),
        (
            lambda torch, x: torch.func.grad(lambda y: (y * 2).sum().backward())(x),
            "backward() called inside a functorch",
        ),
    ],
)
def test_wrong_calls_of_backward(call: Any, quoted: str) -> None:
    agree(lambda torch: call(torch, torch.ones(2, requires_grad=True)), quoted)


@pytest.mark.parametrize("case", ["alone", "kept", "a view of it kept", "of a larger one"])
def test_a_view_that_nobody_else_refers_to_is_kept_as_gradient(case):
    kept, addresses = [], []

    class Transposed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, w):
            return w * 1

        @staticmethod
        def backward(ctx, grad):
            made = torch.ones(4 if case == "of a larger one" else 2, 3)
            addresses.append(made.data_ptr())
            if case == "kept":
                kept.append(made)
            if case == "a view of it kept":
                kept.append(made.view(6))
            return made[:2].t() if case == "of a larger one" else made.t()

    w = torch.empty_strided((3, 2), (1, 3)).fill_(2.0).requires_grad_()
    Transposed.apply(w).sum().backward()
    assert (w.grad.data_ptr() == addresses[0]) is (case == "alone")
    assert w.grad.stride() == w.stride()
    assert w.grad._base is None
    assert w.grad.tolist() == [[1.0] * 2] * 3
    w.grad.zero_()
    assert all((tensor == 1).all() for tensor in kept)


def test_the_gradient_of_a_linear_layers_weight_is_not_copied():
    layer = torch.nn.Linear(300, 200)
    with torch.profiler.profile() as profile:
        layer(torch.ones(3, 300)).sum().backward()
    assert layer.weight.grad.is_contiguous()
    assert "aten::copy_" not in {row.key for row in profile.key_averages()}
