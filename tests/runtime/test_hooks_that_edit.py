"""Hooks that add and remove hooks while hooks run: as PyTorch, which calls those that there were."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime.both import agree


def edited(register: Any, run: Any) -> list[str]:
    """What is called in two runs: a hook that adds one, a hook that removes all there are, and a third."""
    log: list[str] = []
    handles: list[Any] = []

    def adds(*args: Any) -> None:
        log.append("adds")
        handles.append(register(lambda *args: log.append("added")))

    def removes(*args: Any) -> None:
        log.append("removes")
        for handle in handles:
            handle.remove()

    handles += [register(adds), register(removes), register(lambda *args: log.append("third"))]
    for _ in range(2):
        run()
        log.append("end")
    return log


def leaf(torch: Any) -> Any:
    return torch.ones(2, requires_grad=True)


def of_a_leaf(torch: Any) -> Any:
    x = leaf(torch)
    return x.register_hook, lambda: (x * 2).sum().backward()


def of_a_result(torch: Any) -> Any:
    y = leaf(torch) * 2
    return y.register_hook, lambda: y.sum().backward(retain_graph=True)


def after_accumulation(torch: Any) -> Any:
    x = leaf(torch)
    return x.register_post_accumulate_grad_hook, lambda: (x * 2).sum().backward()


def of_a_node(torch: Any) -> Any:
    y = leaf(torch) * 2
    return y.grad_fn.register_hook, lambda: y.sum().backward(retain_graph=True)


def before_a_node(torch: Any) -> Any:
    y = leaf(torch) * 2
    return y.grad_fn.register_prehook, lambda: y.sum().backward(retain_graph=True)


def of_an_accumulator(torch: Any) -> Any:
    y = leaf(torch) * 2
    return y.grad_fn.next_functions[0][0].register_hook, lambda: y.sum().backward(retain_graph=True)


def of_several_gradients(torch: Any) -> Any:
    x, y = leaf(torch), leaf(torch)
    register = torch.autograd.graph.register_multi_grad_hook
    return lambda hook: register([x, y], hook), lambda: (x * y).sum().backward()


OF_TENSORS = [
    of_a_leaf, of_a_result, after_accumulation, of_a_node, before_a_node, of_an_accumulator, of_several_gradients
]  # fmt: skip


@pytest.mark.parametrize("hooks", OF_TENSORS)
def test_hooks_of_the_graph(hooks: Any) -> None:
    agree(lambda torch: edited(*hooks(torch)))


KINDS = ["forward_pre_hook", "forward_hook", "full_backward_hook", "full_backward_pre_hook"]


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_hooks_of_modules(kind: str, everywhere: bool) -> None:
    def case(torch: Any) -> Any:
        layer, x = torch.nn.Linear(2, 2), leaf(torch)
        one, all_ = getattr(layer, f"register_{kind}"), getattr(torch.nn.modules.module, f"register_module_{kind}")
        return edited(all_ if everywhere else one, lambda: layer(x).sum().backward())

    agree(case)


def test_a_hook_on_another_output_of_the_node() -> None:
    def case(torch: Any) -> Any:
        log: list[str] = []
        a, b = (leaf(torch) * 2).unbind()

        def adds(grad: Any) -> None:
            log.append("a")
            b.register_hook(lambda grad: log.append("b"))

        a.register_hook(adds)
        for _ in range(2):
            (a + b).backward(retain_graph=True)
            log.append("end")
        return log

    agree(case)


def test_a_hook_that_retains_another_gradient() -> None:
    def case(torch: Any) -> Any:
        a, b = (leaf(torch) * 2).unbind()
        a.register_hook(lambda grad: b.retain_grad())
        b.register_hook(lambda grad: a.retain_grad())
        (a + b).backward()
        return a.grad, b.grad

    agree(case)


def test_a_hook_of_a_tensor_on_its_node_and_back() -> None:
    def case(torch: Any) -> Any:
        log: list[str] = []
        y = leaf(torch) * 2

        def adds(grad: Any) -> None:
            log.append("tensor")
            y.grad_fn.register_prehook(lambda grads: log.append("before"))
            y.grad_fn.register_hook(lambda grads, outputs: log.append("after"))

        handle = y.register_hook(adds)
        y.sum().backward(retain_graph=True)
        handle.remove()
        y.sum().backward()
        return log

    agree(case)
