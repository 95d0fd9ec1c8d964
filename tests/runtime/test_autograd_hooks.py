"""Hooks, saved tensors, anomaly mode, inference mode, threads, re-entrant and batched backward: beside PyTorch."""

from __future__ import annotations

import contextlib
import gc
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch

import mindtorch_v2
from tests.runtime.both import agree


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


# ---------------------------------------------------------------- hooks


def tensor_hooks(torch: Any) -> Any:
    x = leaf(torch)
    seen = []
    y = x * 2
    first = y.register_hook(lambda g: seen.append(g.tolist()))
    y.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: seen.append(g.tolist()))
    (y * 3).sum().backward(retain_graph=True)
    first.remove()
    (y * 3).sum().backward()
    return x.grad, seen


def post_accumulate(torch: Any) -> Any:
    x = leaf(torch)
    seen = []
    handle = x.register_post_accumulate_grad_hook(lambda t: seen.append((t is x, t.grad.tolist())))
    (x * 2).sum().backward()
    (x * 2).sum().backward(inputs=[x])
    torch.autograd.grad((x * 2).sum(), x)
    handle.remove()
    (x * 2).sum().backward()
    return seen, x.grad


def optimiser_in_backward(torch: Any) -> Any:
    x = leaf(torch)

    def step(t: Any) -> None:
        with torch.no_grad():
            t.add_(t.grad, alpha=-0.5)
        t.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * x).sum().backward()
    return x, x.grad


def node_hooks(torch: Any) -> Any:
    x = leaf(torch)
    y = (x * 2).sum()
    seen = []
    node = y.grad_fn.next_functions[0][0]
    node.register_prehook(lambda grads: seen.append([g.tolist() for g in grads]))
    node.register_hook(lambda inputs, outputs: seen.append((inputs[0].tolist(), outputs[0].tolist())))
    node.register_hook(lambda inputs, outputs: (inputs[0] * 100, *inputs[1:]))
    y.backward()
    return seen, x.grad


def several_gradients(torch: Any) -> Any:
    x, y = leaf(torch), leaf(torch)
    seen: list[Any] = []
    handle = torch.autograd.graph.register_multi_grad_hook(
        (x, y), lambda grads: seen.append([g.tolist() for g in grads])
    )
    (x * y).sum().backward()
    (x * y).sum().backward()
    handle.remove()
    (x * y).sum().backward()
    return seen


# ---------------------------------------------------------------- saved tensors


def saved_hooks(torch: Any) -> Any:
    x = leaf(torch)
    events = []

    def pack(t: Any) -> Any:
        events.append("pack")
        return t.detach() * 10

    def unpack(t: Any) -> Any:
        events.append("unpack")
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x.sin()
    z = x.cos()
    y.sum().backward()
    z.sum().backward()
    return x.grad, events


def saved_on_cpu(torch: Any) -> Any:
    x = leaf(torch)
    with torch.autograd.graph.save_on_cpu():
        y = x.exp() * x
    y.sum().backward()
    return x.grad


def unpack_gives_nothing(torch: Any) -> Any:
    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = x.sin()
    y.sum().backward()


# ---------------------------------------------------------------- modes


def inference(torch: Any) -> Any:
    x = leaf(torch)
    with torch.inference_mode():
        y = x * 2
        inside = torch.is_inference_mode_enabled(), torch.is_grad_enabled(), y.is_inference(), y.requires_grad
        view = x.view(-1).is_inference()
        with torch.inference_mode(False):
            off = (x * 2).requires_grad, torch.is_inference_mode_enabled()
        y.add_(1)
    return (
        inside,
        view,
        off,
        torch.is_inference_mode_enabled(),
        torch.is_grad_enabled(),
        y * 2,
        y.clone().is_inference(),
    )


def inference_decorators(torch: Any) -> Any:
    @torch.inference_mode()
    def one(x: Any) -> Any:
        return x * 2

    @torch.inference_mode
    def two(x: Any) -> Any:
        return x * 2

    return one(leaf(torch)).is_inference(), two(leaf(torch)).is_inference(), torch.is_grad_enabled()


def inference_saved(torch: Any) -> Any:
    with torch.inference_mode():
        y = torch.ones(2)
    return leaf(torch) * y


def inference_in_place(torch: Any) -> Any:
    with torch.inference_mode():
        y = torch.ones(2)
    return y.add_(1)


def inference_version(torch: Any) -> Any:
    with torch.inference_mode():
        return torch.ones(2)._version


def inference_requires_grad(torch: Any) -> Any:
    with torch.inference_mode():
        y = torch.ones(2)
    y.requires_grad_()


def nan_found(torch: Any) -> Any:
    x = leaf(torch, 0.0)
    with torch.autograd.detect_anomaly():
        (x.sqrt() * 0).sum().backward()


def nan_allowed(torch: Any) -> Any:
    x = leaf(torch, 0.0)
    with torch.autograd.detect_anomaly(check_nan=False):
        (x.sqrt() * 0).sum().backward()
    return x.grad, torch.is_anomaly_enabled() if hasattr(torch, "is_anomaly_enabled") else False


# ---------------------------------------------------------------- passes


def batched_grads(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0, 3.0)
    y = x * x
    (jacobian,) = torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True, retain_graph=True)
    unused = torch.autograd.grad(y, (x, leaf(torch)), torch.eye(3), is_grads_batched=True, allow_unused=True)
    return jacobian, unused


def reentrant(torch: Any) -> Any:
    class Checkpoint(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return (x * x).sin()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            with torch.enable_grad():
                again = x.detach().requires_grad_()
                torch.autograd.backward((again * again).sin(), grad)
            return again.grad

    x = leaf(torch)
    (Checkpoint.apply(Checkpoint.apply(x * 2)) * 3).sum().backward()
    return x.grad


def from_several_threads(torch: Any) -> Any:
    x = leaf(torch)
    results: list[Any] = [None] * 4

    def work(i: int) -> None:
        y = leaf(torch, 1.0 + i)
        z = y
        for _ in range(50):
            z = z * 1.01
        (z.sum() * x.detach().sum()).backward()
        results[i] = y.grad.tolist()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def raising_hook(torch: Any) -> Any:
    x = leaf(torch)
    y = (x * x).sum()

    def fail(grad: Any) -> None:
        raise ValueError("in the hook")

    handle = x.register_hook(fail)
    with contextlib.suppress(ValueError):
        y.backward(retain_graph=True)
    handle.remove()
    enabled = torch.is_grad_enabled()
    y.backward()
    return enabled, x.grad


def double_check(torch: Any) -> Any:
    x = torch.tensor([0.3, 0.7], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([1.3, 0.2], dtype=torch.float64, requires_grad=True)
    return torch.autograd.gradgradcheck(lambda a, b: (a * b).sin() * a, (x, y))


def double_check_fails(torch: Any) -> Any:
    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * 2 * x.detach()

    x = torch.tensor([0.3, 0.7], dtype=torch.float64, requires_grad=True)
    return torch.autograd.gradgradcheck(Once.apply, (x,), raise_exception=False)


def undefined_gradient(torch: Any) -> Any:
    class Product(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return torch.ones(2, dtype=torch.float64) if grad is None else grad * 2

    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    off = torch.autograd.gradcheck(Product.apply, (x,), check_undefined_grad=False)
    return off, torch.autograd.gradcheck(Product.apply, (x,), raise_exception=False)


def another_gradient_each_time(torch: Any) -> Any:
    calls = []

    class Drifting(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            calls.append(1)
            return grad * (2 + len(calls) * 1e-9)

    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    strict = torch.autograd.gradcheck(Drifting.apply, (x,), raise_exception=False)
    return strict, torch.autograd.gradcheck(Drifting.apply, (x,), nondet_tol=1e-4)


AGREE = (
    tensor_hooks, post_accumulate, optimiser_in_backward, node_hooks, several_gradients, saved_hooks, saved_on_cpu,
    inference, inference_decorators, nan_allowed, batched_grads, reentrant, from_several_threads, raising_hook,
    double_check, double_check_fails, undefined_gradient, another_gradient_each_time,
)  # fmt: skip


@pytest.mark.parametrize("case", AGREE, ids=lambda case: case.__name__)
def test_autograd(case: Callable[[Any], Any]) -> None:
    agree(case)


@pytest.mark.parametrize(
    ("case", "quoted"),
    [
        (unpack_gives_nothing, "unpack_hook expected to be a Tensor"),
        (inference_saved, "Inference tensors cannot be saved for backward"),
        (inference_in_place, "Inplace update to inference tensor outside InferenceMode is not allowed"),
        (inference_version, "Inference tensors do not track version counter"),
        (
            inference_requires_grad,
            "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed",
        ),
        (nan_found, "returned nan values in its 0th output"),
        (
            lambda t: leaf(t).mul(2).register_post_accumulate_grad_hook(print),
            "cannot be registered on non-leaf tensors",
        ),
        (lambda t: t.ones(2).register_post_accumulate_grad_hook(print), "that doesn't require gradient"),
    ],
)
def test_mistakes(case: Callable[[Any], Any], quoted: str) -> None:
    agree(case, quoted)


def test_anomaly_mode_names_the_forward_line() -> None:
    for library in (torch, mindtorch_v2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with pytest.raises(RuntimeError, match="returned nan values"):
                nan_found(library)
        assert any("(x.sqrt() * 0).sum().backward()" in str(w.message) for w in caught)


def test_hooks_that_unpacking_leaves_or_ends() -> None:
    def case(torch: Any) -> Any:
        hooks = torch.autograd.graph.saved_tensors_hooks
        seen: list[Any] = []
        inner = hooks(lambda x: x, lambda x: inner.__exit__() or x)
        with hooks(lambda x: x, lambda x: x):
            inner.__enter__()
            leaf(torch).sin().sum().backward()
            inner.__exit__()
        with hooks(lambda x: seen.append("packed") or x, lambda x: x):
            leaf(torch).cos()
        return seen

    agree(case)


def test_a_hook_that_comes_as_its_node_runs() -> None:
    def case(torch: Any, function: Any) -> Any:
        def unpack(x: Any) -> Any:
            torch._C._current_autograd_node().register_hook(
                lambda outputs, inputs: (seen.append(inputs), tuple(o if o is None else o / 2 for o in outputs))[1]
            )
            return x

        x, seen = leaf(torch), []
        with torch.autograd.graph.saved_tensors_hooks(lambda x: x, unpack):
            function(torch, x).sum().backward()
        return x.grad, seen

    agree(lambda torch: case(torch, lambda torch, x: x.sin()))
    agree(lambda torch: case(torch, lambda torch, x: sum(torch.var_mean(x, 0))))


def test_anomaly_mode_tells_what_led_to_a_node() -> None:
    def warned(torch: Any, outside: bool) -> list[str]:
        class Outer(torch.autograd.Function):  # type: ignore[misc]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 1

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return Inner.apply(grad)

        class Inner(torch.autograd.Function):  # type: ignore[misc]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 1

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad / 0 * 0

        x = leaf(torch)
        with warnings.catch_warnings(record=True) as caught, contextlib.ExitStack() as mode:
            warnings.simplefilter("always")
            if outside:
                mode.enter_context(torch.autograd.detect_anomaly())
            (found,) = torch.autograd.grad(Outer.apply(x), x, torch.ones(2, requires_grad=True), create_graph=True)
            mode.enter_context(torch.autograd.detect_anomaly())
            with pytest.raises(RuntimeError, match="InnerBackward' returned nan values in its 0th output"):
                found.sum().backward()
        return [str(one.message) for one in caught if "Anomaly Detection" not in str(one.message)]

    for library in (torch, mindtorch_v2):
        error, origin = warned(library, outside=True)
        assert "Error detected in InnerBackward" in error
        assert "return Inner.apply(grad)" in error
        assert "Previous calculation was induced by OuterBackward" in origin
        assert "Outer.apply(x)" in origin
        (error,) = warned(library, outside=False)
        assert "No forward pass information available" in error


def test_anomaly_mode_where_warnings_are_errors(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with mindtorch_v2.autograd.detect_anomaly():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeError, match="returned nan values"):
                (leaf(mindtorch_v2, 0.0).sqrt() * 0).sum().backward()
    assert "Error detected in SqrtBackward0" in capsys.readouterr().err


def test_inference_mode_belongs_to_its_thread() -> None:
    seen = []
    with mindtorch_v2.inference_mode():
        thread = threading.Thread(target=lambda: seen.append(mindtorch_v2.is_inference_mode_enabled()))
        thread.start()
        thread.join()
    assert seen == [False]


def trained(seed: int) -> list[float]:
    """The weights of a small model after some steps."""
    t = mindtorch_v2
    w = t.tensor([0.1 * seed, 0.2, -0.3], requires_grad=True)
    x = t.tensor([[1.0, 2.0, 3.0], [0.5, -1.0, 0.25]]) * seed
    for _ in range(100):
        loss = ((x @ w).tanh() - 0.5).square().sum()
        loss.backward()
        with t.no_grad():
            w -= 0.01 * w.grad
        w.grad = None
    return w.tolist()


def test_two_threads_training_two_models_agree_with_one() -> None:
    alone = [trained(1), trained(2)]
    together: list[Any] = [None, None]

    def work(i: int) -> None:
        together[i] = trained(i + 1)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone


@pytest.mark.parametrize("hook", ["tensor", "leaf", "post accumulate", "node"])
def test_hooks_leave_no_cycles(hook: str) -> None:
    """A graph with hooks is freed by reference counts alone."""
    gc.collect()
    gc.disable()
    try:
        x = leaf(mindtorch_v2)
        y = x * 2
        seen: list[Any] = []
        if hook == "tensor":
            y.register_hook(seen.append)
        elif hook == "leaf":
            x.register_hook(seen.append)
        elif hook == "post accumulate":
            x.register_post_accumulate_grad_hook(lambda t: seen.append(1))
        else:
            y.grad_fn.register_hook(lambda a, b: seen.append(1))
        y.sum().backward()
        assert len(seen) == 1
        gone = weakref.ref(x), weakref.ref(y), weakref.ref(y.grad_fn)
        del x, y
        assert [r() for r in gone] == [None] * 3
    finally:
        gc.enable()
