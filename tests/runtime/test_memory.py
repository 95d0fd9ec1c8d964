"""What training leaves behind: nothing. The garbage collector is off, and finds nothing when it is asked."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import mindtorch_v2 as torch
from tests.runtime.both import agree, fresh_namespace

Step = Callable[[], Any]


@pytest.fixture(autouse=True)
def without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def leaf(*values: float) -> Any:
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


# ---------------------------------------------------------------- steps, each over a model that lives on


class Scaled(torch.autograd.Function):  # type: ignore[misc]
    """Saves an input, an output and an attribute; new style, with two outputs."""

    @staticmethod
    def forward(x: Any, factor: float) -> Any:
        return x * factor, x.exp()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0], output[1])
        ctx.factor = inputs[1]
        ctx.owner = ctx.needs_input_grad

    @staticmethod
    def backward(ctx: Any, grad: Any, other: Any) -> Any:
        _x, exp = ctx.saved_tensors
        return grad * ctx.factor + other * exp, None


class Doubled(torch.autograd.Function):  # type: ignore[misc]
    """In place, old style."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2


def functions() -> Step:
    w = leaf()

    def step() -> None:
        a, b = Scaled.apply(w, 3.0)
        (Doubled.apply(a * 1) + b).sum().backward()
        w.grad = None

    return step


def hooks() -> Step:
    w, seen = leaf(), []

    def step() -> None:
        h = w * 2
        h.register_hook(lambda g: g * 2)
        h.retain_grad()
        h.grad_fn.register_hook(lambda i, o: None)
        h.grad_fn.register_prehook(lambda g: None)
        with w.register_hook(lambda g: seen.append(1)), w.register_post_accumulate_grad_hook(lambda t: None):
            (h * h).sum().backward()
        seen.clear()
        w.grad = None

    return step


def double_backward() -> Step:
    w = leaf()

    def step() -> None:
        y = (w * w).sin().sum()
        (g,) = torch.autograd.grad(y, w, create_graph=True)
        (g * g).sum().backward()
        w.grad = None

    return step


def graph_that_is_never_run() -> Step:
    w = leaf()

    def step() -> None:
        y = (w.exp() * w).sum()
        torch.autograd.grad(y, w, create_graph=True)

    return step


def views_in_place() -> Step:
    w = leaf(1.0, 2.0, 3.0)

    def step() -> None:
        h = w * 1
        head, tail = h[:1], h[1:]
        head.mul_(2)
        tail += head
        h.add_(1)
        (h.view(3, 1) * tail.sum()).sum().backward()
        w.grad.zero_()

    return step


def operator() -> Step:
    name = f"{fresh_namespace()}::f"
    torch.library.define(name, "(Tensor x, Tensor[] ys, *, float k=2.0) -> (Tensor, Tensor)")
    torch.library.impl(name, "cpu", lambda x, ys, *, k: (x * k + ys[0], x.exp()))

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(output[1])
        ctx.k = inputs[2]

    torch.library.register_autograd(
        name, lambda ctx, a, b: (a * ctx.k + b * ctx.saved_tensors[0], [a, None], None), setup_context=setup
    )
    op = getattr(torch.ops, name.split("::")[0]).f
    w, v = leaf(), leaf()

    def step() -> None:
        a, b = op(w, [v, w], k=3.0)
        (a * b).sum().backward()
        w.grad = v.grad = None

    return step


def saved_tensor_hooks() -> Step:
    w = leaf()

    def step() -> None:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach() * 1, lambda t: t):
            y = (w.sin() * w.exp()).sum()
        y.backward()
        w.grad = None

    return step


def module() -> Step:
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    x, y = torch.ones(5, 3), torch.zeros(5, dtype=torch.int64)

    def step() -> None:
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimiser.step()

    return step


def errors() -> Step:
    """Exceptions in forward, in a kernel's check and in backward."""
    w = leaf()

    class Failing(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            raise KeyError("backward")

    def step() -> None:
        with pytest.raises(RuntimeError):
            w + torch.ones(3)
        with pytest.raises(KeyError):
            (Failing.apply(w * 2) * w).sum().backward()
        with pytest.raises(TypeError):
            torch.ops.aten.add(w, None)

    return step


STEPS = (
    functions, hooks, double_backward, graph_that_is_never_run, views_in_place, operator, saved_tensor_hooks, module,
    errors,
)  # fmt: skip


@pytest.mark.parametrize("make", STEPS, ids=lambda make: make.__name__)
def test_memory_stays_flat_without_the_collector(make: Callable[[], Step]) -> None:
    step = make()
    for _ in range(40):  # caches and free lists fill
        step()
    gc.collect()  # what set-up and warm-up left is theirs
    before = sys.getallocatedblocks()
    for _ in range(500):
        step()
    assert gc.collect() == 0  # and empties the interpreter's free lists, so that blocks can be compared
    grown = sys.getallocatedblocks() - before
    # The core's own free lists hold up to 256 objects of a type; one object a step would be 500 more.
    assert grown < 400, f"{grown} objects more after 500 steps"


# ---------------------------------------------------------------- what lives how long


def test_a_tensor_that_no_gradient_reads_is_not_kept() -> None:
    """``h * c`` reads h only for c's gradient, which nobody wants."""

    def case(torch: Any) -> Any:
        w, c = torch.ones(2, requires_grad=True), torch.ones(2)
        h = w * 1
        kept = weakref.ref(h)
        y = h * c
        del h
        gone = kept() is None
        y.sum().backward()
        return gone, w.grad

    agree(case)


def test_attributes_of_tensors_and_contexts() -> None:
    def case(torch: Any) -> Any:
        class F(torch.autograd.Function):  # type: ignore[misc]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.kept = "forward"
                return x * 2

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                seen.append((ctx.kept, hasattr(ctx, "missing"), sorted(vars(ctx))))
                return grad

        seen: list[Any] = []
        x = torch.ones(1, requires_grad=True)
        before = vars(x).copy()
        x.note = [1]
        F.apply(x).sum().backward()
        return before, x.note, vars(x), seen, getattr(x, "missing", 3)

    agree(case)


@pytest.mark.parametrize("what", ["tensor", "context"])
def test_a_cycle_that_the_user_made_is_collected(what: str) -> None:
    def case(torch: Any) -> Any:
        class F(torch.autograd.Function):  # type: ignore[misc]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.me = ctx if what == "context" else None
                return x * 2

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad

        x = torch.ones(1, requires_grad=True)
        y = F.apply(x)
        marker = type("Marker", (), {})()
        if what == "tensor":
            y.me, y.marker = y, marker
        else:
            y.grad_fn.marker = marker
        gone = weakref.ref(marker)
        del x, y, marker
        before = gone() is None
        gc.collect()
        return before, gone() is None

    agree(case)


def test_a_graph_a_million_nodes_deep() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(1_000_000):
        y = y + 1.0
    y.backward()
    assert x.grad.tolist() == [1.0]
    del y  # freed without recursion, too


def test_a_deep_graph_of_functions_in_a_thread_with_a_small_stack() -> None:
    import threading

    class Same(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    results = []

    def work() -> None:
        x = leaf(1.0)
        y = x
        for _ in range(100_000):
            y = Same.apply(y)
        y.backward(retain_graph=True)
        results.append(x.grad.item())
        del y

    size = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
    assert results == [1.0]


def test_memory_that_is_kept_makes_room_for_more(child_env: dict[str, str]) -> None:
    """160 MiB that were freed, then 240 at once: the process never has both."""
    code = (
        "import mindtorch_v2 as torch\n"
        "def memory(field):\n"
        "    lines = open('/proc/self/status').read().splitlines()\n"
        "    return next(int(line.split()[1]) for line in lines if line.startswith(field)) >> 10\n"
        "started = memory('VmRSS')\n"
        "several = [torch.ones(10 << 20) for _ in range(4)]\n"
        "del several\n"
        "whole = torch.ones(60 << 20)\n"
        "assert memory('VmHWM') - started < 300, memory('VmHWM') - started\n"
    )
    subprocess.run([sys.executable, "-c", code], env=child_env, check=True)


def test_large_memory_is_not_kept_in_larger_blocks(child_env: dict[str, str]) -> None:
    """150 MiB that were freed, 3.75 at a time, then as much, 2.25 at a time, which does not lie in those blocks."""
    code = (
        "import mindtorch_v2 as torch\n"
        "def memory():\n"
        "    lines = open('/proc/self/status').read().splitlines()\n"
        "    return next(int(line.split()[1]) for line in lines if line.startswith('VmRSS')) >> 10\n"
        "started = memory()\n"
        "larger = [torch.ones(15 << 16) for _ in range(40)]\n"
        "del larger\n"
        "smaller = [torch.ones(9 << 16) for _ in range(66)]\n"
        "assert memory() - started < 180, memory() - started\n"
    )
    plain = child_env | {"LD_PRELOAD": ""}  # a sanitizer keeps what was freed, to see who reads it
    subprocess.run([sys.executable, "-c", code], env=plain, check=True)


def test_large_memory_begins_with_a_huge_page() -> None:
    """So that the system can give all of it in such, where one costs less than 512 small ones."""
    large = torch.zeros((65 << 20) + 3, dtype=torch.uint8)
    assert large.data_ptr() % (2 << 20) == 0
    assert large[-1].item() == 0
