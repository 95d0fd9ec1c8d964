"""What programs ask of the engine by PyTorch's inner names, and what its own tests found; beside PyTorch."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

from tests.runtime.both import agree
from tests.runtime.semantics import leaf


def identity(torch: Any, backward: Callable[..., Any]) -> Any:
    class Identity(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, value: Any) -> Any:
            return value.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return backward(grad)

    return Identity.apply


def callbacks_of_a_pass(torch: Any) -> Any:
    seen: list[str] = []
    queue = torch.autograd.Variable._execution_engine.queue_callback

    def backward(grad: Any) -> Any:
        queue(lambda: seen.append("first") or queue(lambda: seen.append("second")))
        return grad

    identity(torch, backward)(leaf(torch)).sum().backward()
    return seen


def callback_outside_of_a_pass(torch: Any) -> Any:
    torch.autograd.Variable._execution_engine.queue_callback(lambda: None)


def numbers_and_nodes(torch: Any) -> Any:
    seen: list[Any] = []

    def hook(grad: Any) -> None:
        seen.append((torch._C._current_graph_task_id(), type(torch._C._current_autograd_node()).__name__))

    h = leaf(torch).clone()
    h.register_hook(hook)
    for _ in range(2):
        h.sum().backward(retain_graph=True)
    (first, name), (second, _) = seen
    return second - first, name, torch._C._current_graph_task_id()


def order_of_a_pass(torch: Any) -> Any:
    found: list[str] = []
    out = leaf(torch).sin() * leaf(torch).cos()
    out.register_hook(lambda g: found.extend(n.name() for n in torch._C._current_graph_task_execution_order()))
    with torch.autograd.set_multithreading_enabled(False):
        out.backward(torch.ones(out.shape))
    return found


def nodes_that_run(torch: Any) -> Any:
    w, v = leaf(torch), leaf(torch)
    out, seen = w * v, []
    ask = torch._C._will_engine_execute_node
    nodes = [node for node, _ in out.grad_fn.next_functions]
    out.register_hook(lambda g: seen.extend(ask(node) for node in nodes))
    out.sum().backward(inputs=[v])
    return seen


def a_leaf_that_grad_returns(torch: Any) -> Any:
    w = leaf(torch)
    out = w * 2
    out.register_hook(lambda g: torch._C._will_engine_execute_node(out.grad_fn.next_functions[0][0]) and None)
    torch.autograd.grad(out.sum(), w)


def nodes_called(torch: Any) -> Any:
    out = leaf(torch) * leaf(torch)
    return out.grad_fn(torch.ones(out.shape)), leaf(torch).sin().grad_fn(torch.ones(out.shape))


def node_called_with_too_many(torch: Any) -> Any:
    (leaf(torch) ** 2).grad_fn(torch.ones(1), torch.ones(1))


def delayed_errors(torch: Any) -> Any:
    one, other = torch._C._functions.DelayedError("not this way", 2)(leaf(torch), torch.ones(2))
    return one, type(one.grad_fn).__name__, other.requires_grad


def delayed_error_raised(torch: Any) -> Any:
    torch._C._functions.DelayedError("not this way", 1)(leaf(torch)).sum().backward()


def undefined_gradients(torch: Any) -> Any:
    seen: list[Any] = []
    w = leaf(torch)
    torch._C._functions.UndefinedGrad()(identity(torch, lambda g: seen.append(g) or g)(w)).sum().backward()
    return seen


def kept_graph(torch: Any) -> Any:
    seen: list[bool] = []
    keeps = torch._C._autograd._get_current_graph_task_keep_graph
    out = identity(torch, lambda g: seen.append(keeps()) or g)(leaf(torch)).sum()
    out.backward(retain_graph=True)
    out.backward()
    return seen


def versions(torch: Any) -> Any:
    a = torch.ones(2)
    torch.autograd.graph.increment_version(a)
    torch.autograd.graph.increment_version([a, a])
    counted = a._version
    with torch.autograd._unsafe_preserve_version_counter(a):
        a.mul_(2)
    torch._C._autograd._unsafe_set_version_counter((a,), (7,))
    return counted, a._version


def variables(torch: Any) -> Any:
    variable = torch.autograd.Variable
    data = leaf(torch) * 2
    made = variable(data, requires_grad=True)
    return isinstance(data, variable), made.is_leaf, made.requires_grad, made.data_ptr() == data.data_ptr()


def once_differentiable_graph(torch: Any) -> Any:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            return a + b

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2, grad * 3

    a, b = leaf(torch), leaf(torch)
    out = Twice.apply(a, b)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out.backward(leaf(torch), create_graph=True)
    node = a.grad.grad_fn
    error = node.next_functions[1][0]
    return type(node).__name__, type(error).__name__, len(error.next_functions)


def gradients_lie_as_leaves(torch: Any) -> Any:
    found = []
    for w in (
        torch.zeros(2, 3).t(),
        torch.zeros(2, 3),
        torch.zeros(4, 6)[::2, ::2],
        torch.zeros(2, 3, 4).permute(2, 0, 1),
    ):
        w = w.requires_grad_()
        (w * torch.ones(w.shape)).sum().backward()
        found.append(w.grad.stride())
        w.grad = None
        (w.t() if w.dim() == 2 else w.permute(1, 2, 0)).contiguous().sum().backward()
        found.append(w.grad.stride())
    return found


def set_gives_a_leaf_another_node(torch: Any) -> Any:
    w = leaf(torch)
    edge = torch.autograd.graph.get_gradient_edge(w)
    out = w.clone()
    with torch.no_grad():
        w.set_(torch.rand_like(w))
    (before,) = torch.autograd.grad(out.sum(), edge, retain_graph=True)
    return before, torch.autograd.grad(out.sum(), w, allow_unused=True)


def result_of_a_changed_view(torch: Any) -> Any:
    """The backward formula of relu reads its result, which here is a part of the base."""
    w = torch.tensor([[1.0, -2.0, 3.0]], requires_grad=True)
    base = w * w * w
    base.view(-1).relu_()
    (g,) = torch.autograd.grad(base.pow(2).sum(), w, create_graph=True)
    return g, torch.autograd.grad(g.sum(), w)


def memory_that_forward_changed(torch: Any) -> Any:
    class Part(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, value: Any) -> Any:
            part = value.clone()[:1]
            part += 2
            return part

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return torch.cat([grad, grad])

    w = torch.ones(2, requires_grad=True)
    out = Part.apply(w)
    return type(out.grad_fn).__name__, torch.autograd.grad(out.sum(), w)


def unsafe_splits_are_no_views(torch: Any) -> Any:
    w = leaf(torch)
    parts = (w * w).unsafe_split(1)
    parts[0].mul_(3)
    parts[0].sum().backward()
    return w.grad, parts[0]._is_view()


def out_of_what_requires_grad(torch: Any) -> Any:
    torch.mul(leaf(torch), leaf(torch), out=torch.zeros(2))


def out_without_a_gradient(torch: Any) -> Any:
    w = leaf(torch)
    with torch.no_grad():
        product = torch.mul(w, w, out=torch.zeros(w.shape))
    return product, torch.eq(w, w, out=torch.zeros(w.shape, dtype=torch.bool))


def extremes_of_nan(torch: Any) -> Any:
    found = []
    for f in (torch.min, torch.max):
        w = torch.full((3,), float("nan"), requires_grad=True)
        f(w).backward()
        found.append(w.grad)
    return found


def several_zeros_reduced(torch: Any) -> Any:
    src = torch.zeros(2, requires_grad=True)
    out = torch.ones(1).scatter_reduce(0, torch.tensor([0, 0]), src, "prod")
    (g,) = torch.autograd.grad(out, src, create_graph=True)
    torch.autograd.grad(g.sum(), src)


def complex_with_a_real_gradient(torch: Any) -> Any:
    out = leaf(torch) * 2
    torch.autograd.grad(torch.autograd.graph.get_gradient_edge(out), leaf(torch), torch.ones(2, dtype=torch.complex64))


CASES = [
    callbacks_of_a_pass, numbers_and_nodes, order_of_a_pass, nodes_that_run, nodes_called, delayed_errors,
    undefined_gradients, kept_graph, versions, variables, once_differentiable_graph, gradients_lie_as_leaves,
    set_gives_a_leaf_another_node, result_of_a_changed_view, memory_that_forward_changed, unsafe_splits_are_no_views,
    out_without_a_gradient, extremes_of_nan,
]  # fmt: skip

ERRORS = {
    callback_outside_of_a_pass: "Final callbacks can only be installed during backward pass",
    a_leaf_that_grad_returns: "A leaf node was passed to _will_engine_execute_node",
    node_called_with_too_many: "expected 1 arguments, got 2 instead",
    delayed_error_raised: "not this way",
    out_of_what_requires_grad: "out=... arguments don't support automatic differentiation",
    several_zeros_reduced: "Double backward is unsupported for",
    complex_with_a_real_gradient: "are required to have the same dtype",
}


@pytest.mark.parametrize("case", CASES)
def test_as_in_pytorch(case: Callable[[Any], Any]) -> None:
    agree(case)


@pytest.mark.parametrize(("case", "quoted"), ERRORS.items())
def test_errors_as_in_pytorch(case: Callable[[Any], Any], quoted: str) -> None:
    agree(case, quoted)


def test_a_hook_before_loading_does_not_keep_its_module() -> None:
    from mindtorch_v2 import nn

    gc.disable()
    try:
        module = nn.Linear(2, 2)
        module.register_load_state_dict_pre_hook(lambda *args: None)
        known = weakref.ref(module)
        del module
        assert known() is None
    finally:
        gc.enable()


def saved_sizes_of_a_bias(torch: Any) -> Any:
    x = torch.ones(1, 1, 3, 3, requires_grad=True)
    return [torch.nn.Conv2d(1, 1, 3, bias=bias)(x).grad_fn._saved_bias_sym_sizes_opt for bias in (True, False)]


def edges_of_numbers(torch: Any) -> Any:
    w = leaf(torch)
    return [[node is not None for node, _ in out.grad_fn.next_functions] for out in (w + 5, w * 2, w**2, w * w)]


@pytest.mark.parametrize("case", [saved_sizes_of_a_bias, edges_of_numbers])
def test_nodes_are_as_in_pytorch(case: Callable[[Any], Any]) -> None:
    agree(case)
