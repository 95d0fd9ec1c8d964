"""Threads: each has its own modes, keys and versions of what it changed; together they give what one gives."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.autograd import Function
from mindtorch_v2.library import Library
from mindtorch_v2.utils._python_dispatch import TorchDispatchMode
from tests.runtime.both import fresh_namespace
from tests.runtime.on_threads import gradients, together

# ---------------------------------------------------------------- changes in place by another thread


class Rendezvous:
    """Stops a kernel until another thread has done something."""

    def __init__(self) -> None:
        self.inside, self.done = threading.Event(), threading.Event()

    def wait(self) -> None:
        self.inside.set()
        assert self.done.wait(timeout=60)


def operator(schema: str, kernel: Callable[..., Any]) -> Any:
    lib = Library(fresh_namespace(), "FRAGMENT")
    lib.define(f"op{schema}")
    lib.impl("op", kernel, "CPU")
    op = getattr(torch.ops, lib.ns).op.default
    op.keeps = lib
    return op


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("busy", [False, True], ids=["only reads", "changes its own"])
def test_anothers_change_is_not_the_operators(requires_grad: bool, busy: bool) -> None:
    meeting = Rendezvous()

    def kernel(x: Any) -> Any:
        own = torch.zeros(2)
        if busy:
            own.add_(1)
        meeting.wait()
        if busy:
            own.add_(1)
        return x + own

    op = operator("(Tensor x) -> Tensor", kernel)
    shared = torch.ones(2, requires_grad=requires_grad)

    def change() -> None:
        assert meeting.inside.wait(timeout=60)
        with torch.no_grad():
            for _ in range(3):
                shared.mul_(2)
        meeting.done.set()

    version = shared._version
    result, _ = together(lambda: op(shared), change)
    assert result.tolist() == ([10.0, 10.0] if busy else [8.0, 8.0])
    assert shared._version == version + 3


@pytest.mark.parametrize("order", ["before the other", "after the other"])
def test_an_operators_own_change_is_still_found(order: str) -> None:
    """Unless another thread changed the same memory last: then nobody is accused."""
    meeting = Rendezvous()

    def kernel(x: Any) -> Any:
        if order == "before the other":
            x.add_(1)
        meeting.wait()
        if order == "after the other":
            x.add_(1)
        return x.clone()

    op = operator("(Tensor x) -> Tensor", kernel)
    shared = torch.ones(2)

    def change() -> None:
        assert meeting.inside.wait(timeout=60)
        shared.mul_(2)
        meeting.done.set()

    if order == "before the other":
        together(lambda: op(shared), change)
        return
    with pytest.raises(RuntimeError, match="the kernel changed argument 'x' in place"):
        together(lambda: op(shared), change)


def test_a_declared_change_counts_once_whoever_else_changes() -> None:
    """A thread's operator counts its own change, and takes no other thread's for it."""
    meeting = Rendezvous()
    op = operator("(Tensor(a!) x) -> ()", lambda x: meeting.wait())
    shared = torch.ones(2)

    def change() -> None:
        assert meeting.inside.wait(timeout=60)
        shared.mul_(2)
        meeting.done.set()

    together(lambda: op(shared), change)
    assert shared._version == 2


def test_a_thread_that_takes_over_a_dead_ones_state_is_not_blamed() -> None:
    shared = torch.ones(2)
    together(lambda: [shared.add_(1) for _ in range(100)])

    def kernel(x: Any) -> Any:
        torch.zeros(1).add_(1)
        return x.clone()

    op = operator("(Tensor x) -> Tensor", kernel)
    for _ in range(20):
        together(lambda: op(shared))


# ---------------------------------------------------------------- two models


def custom_operator() -> Any:
    op = operator("(Tensor x, float scale) -> Tensor", lambda x, scale: x.tanh() * scale)

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.scale = inputs[1]

    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad * ctx.scale * (1 - x.tanh() ** 2), None

    op.keeps.register_autograd("op", backward, setup_context=setup)
    torch.library.register_autocast(op.name(), "cpu", torch.float32, lib=op.keeps)
    return op


class Squash(Function):
    """``x / (1 + x * x)``, written by hand."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x / (1 + x * x)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad * (1 - x * x) / ((1 + x * x) ** 2)


class Counting(TorchDispatchMode):
    """Counts the operators that its thread calls."""

    def __init__(self) -> None:
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        return func(*args, **(kwargs or {}))


def train(op: Any, seed: int, dtype: Any) -> Any:
    """Trains a model of every kind of part; its weights, its losses, and how many operators ran."""
    weights = [torch.linspace(-1.0, 1.0, 12).reshape(3, 4) * seed, torch.linspace(1.0, -1.0, 4).reshape(4, 1)]
    weights = [w.clone().requires_grad_() for w in weights]
    x = torch.linspace(0.0, 1.0, 15).reshape(5, 3) + seed
    optimizer = torch.optim.SGD(weights, lr=0.05)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    losses, hooked, counting = [], [], Counting()
    weights[0].register_hook(lambda grad: hooked.append(tuple(grad.shape)))
    for step in range(6):
        optimizer.zero_grad()
        with counting, torch.autocast("cpu", dtype=dtype, enabled=step % 2 == 0):
            hidden = Squash.apply(op((x @ weights[0]).float(), float(seed)))
            loss = ((hidden @ weights[1]).float() - x.sum(1, keepdim=True)).pow(2).mean()
        with torch.no_grad():
            loss.detach().clone().mul_(2)  # a change in place, of nothing that backward reads
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return [w.tolist() for w in weights], losses, hooked, counting.count, scaler.get_scale(), torch.is_grad_enabled()


def test_two_threads_training_two_models_agree_with_one() -> None:
    op = custom_operator()
    jobs = [lambda: train(op, 1, torch.bfloat16), lambda: train(op, 2, torch.float16)]
    alone = [job() for job in jobs]
    for _ in range(4):
        assert together(*jobs) == alone
    assert not torch.is_autocast_enabled("cpu")


def test_modes_and_guards_are_of_one_thread() -> None:
    inside, leave = threading.Event(), threading.Event()
    x = torch.ones(2, requires_grad=True)

    def hold() -> Any:
        with torch.no_grad(), Counting() as counting, torch.autocast("cpu"), torch.inference_mode():
            inside.set()
            assert leave.wait(timeout=60)
        return counting.count

    def call() -> Any:
        assert inside.wait(timeout=60)
        y = x * 2
        leave.set()
        return y.requires_grad, str(torch.mm(torch.ones(1, 1), torch.ones(1, 1)).dtype), y.is_inference()

    assert together(hold, call) == [0, (True, "torch.float32", False)]


def test_passes_that_end_in_one_leaf_lose_nothing() -> None:
    """Large gradients are added without the interpreter's lock; each leaf has one of its own for that."""
    gradients()


def test_a_device_is_one_object_whoever_names_it_first() -> None:
    """Tensors' devices are compared by identity, and asking whether there is such a device lets other threads in."""
    code = """
import threading
import mindtorch_v2 as torch
from mindtorch_v2.backends import Backend, register
asked, made = threading.Barrier(2), []
register(Backend("brick", key="PrivateUse3", check_index=lambda index: asked.wait(timeout=60) and None))
threads = [threading.Thread(target=lambda: made.append(torch._core.concrete(torch.device("brick:1")))) for _ in "ab"]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert made[0] is made[1] is torch._core.concrete(torch.device("brick:1"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
