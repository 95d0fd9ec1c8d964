"""Mistakes with the engine, and what one may learn of a graph, beside PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")

from tests.runtime.semantics import Entry, check, leaf


def hooked(t: Any, register: str, hook: Any) -> None:
    y = leaf(t) * 2
    getattr(y.grad_fn, register)(hook)
    y.sum().backward()


def packs_in_place(t: Any) -> None:
    with t.autograd.graph.saved_tensors_hooks(lambda x: x.mul_(2), lambda x: x):
        (leaf(t) * 1).exp()


def disabled_hooks(t: Any) -> None:
    graph = t.autograd.graph
    with graph.disable_saved_tensors_hooks("not here"), graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        pass


def enabled_again(t: Any) -> Any:
    log: list[str] = []
    with t.autograd.graph.disable_saved_tensors_hooks("outer"):
        with t.autograd.graph.disable_saved_tensors_hooks("inner"):
            pass
        with pytest.raises(RuntimeError, match="outer"), t.autograd.graph.saved_tensors_hooks(log.append, log.append):
            pass
    with t.autograd.graph.saved_tensors_hooks(lambda x: (log.append("packed"), x)[1], lambda x: x):
        leaf(t).exp()
    return log


def edges(t: Any) -> Any:
    x = leaf(t)
    y = x * 2
    of_result, of_leaf = t.autograd.graph.get_gradient_edge(y), t.autograd.graph.get_gradient_edge(x)
    same = of_result.node is y.grad_fn, of_leaf.node is y.grad_fn.next_functions[0][0]
    return same, of_result.output_nr, of_leaf.output_nr, type(of_leaf).__name__


def metadata(t: Any) -> Any:
    node = (leaf(t) * 2).grad_fn
    empty = dict(node.metadata)
    node.metadata["key"] = 3
    return empty, node.metadata


BATCHED = "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension."
TABLE: dict[str, Entry] = {
    "no inputs": (
        lambda t: t.autograd.grad(leaf(t).sum(), []),
        "`inputs` argument to `grad()` cannot be empty.",
    ),
    "unused, which": (
        lambda t: (lambda x: t.autograd.grad(x.sum(), [x, leaf(t)]))(leaf(t)),
        "The differentiated Tensor at index 1 appears to not have been used in the graph.",
    ),
    "shape of a gradient": (
        lambda t: (leaf(t) * 2).backward(t.ones(3)),
        "grad_output[0] has a shape of torch.Size([3]) and output[0] has a shape of torch.Size([2]).",
    ),
    "shape of a batch": (
        lambda t: (lambda x: t.autograd.grad(x * 2, x, t.ones(3, 5), is_grads_batched=True))(leaf(t)),
        BATCHED,
    ),
    "no batch": (
        lambda t: (lambda x: t.autograd.grad(x * 2, x, t.ones(2), is_grads_batched=True))(leaf(t)),
        BATCHED,
    ),
    "pre-hook returns an int": (
        lambda t: hooked(t, "register_prehook", lambda grads: 3),
        "expected tuple, but hook returned 'int'",
    ),
    "pre-hook returns too many": (
        lambda t: hooked(t, "register_prehook", lambda grads: (*grads, None)),
        "has returned an incorrect number of values (got 2, but expected 1)",
    ),
    "hook returns too many": (
        lambda t: hooked(t, "register_hook", lambda grads, outputs: (1, 2, 3)),
        "has returned an incorrect number of values (got 3, but expected",
    ),
    "pack hook changes its input": (packs_in_place, "A saved tensor pack hook is modifying its input in place."),
    "saved-tensor hooks are off": (disabled_hooks, "not here"),
    "saved-tensor hooks are on again": enabled_again,
    "gradient edges": edges,
    "no gradient edge": (
        lambda t: t.autograd.graph.get_gradient_edge(t.ones(2)),
        "It is not possible to get the gradient edge for a Tensor that does not require gradients",
    ),
    "metadata of a node": metadata,
}


@pytest.mark.parametrize("name", TABLE)
def test_engine(name: str) -> None:
    check(TABLE[name])
