"""Every kind of tensor and view, changed in place in every mode: what is left of histories, beside PyTorch."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

import mindtorch_v2
from tests.runtime.both import close

BASES: dict[str, Callable[[Any, Any], Any]] = {
    "plain": lambda t, leaf: t.ones(4),
    "leaf": lambda t, leaf: leaf,
    "result": lambda t, leaf: leaf * 1,
    "detached": lambda t, leaf: (leaf * 1).detach(),
    "inference": lambda t, leaf: inference(t),
}
VIEWS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda x: x,
    "slice": lambda x: x[:2],
    "view of a view": lambda x: x.view(2, 2)[0],
    "one of several": lambda x: x.view(2, 2).unbind(0)[0],
    "part of one of several": lambda x: x.view(2, 2).unbind(0)[0][:1],
    "detached": lambda x: x.detach()[:2],
}
MODES: dict[str, Callable[[Any], Any]] = {
    "grad": lambda t: nullcontext(),
    "no_grad": lambda t: t.no_grad(),
    "inference": lambda t: t.inference_mode(),
}
CHANGES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "nothing": lambda t, x, leaf: None,
    "a number": lambda t, x, leaf: x.mul_(2),
    "a variable": lambda t, x, leaf: x.mul_(leaf[1] * 3),
    "requires_grad_": lambda t, x, leaf: x.requires_grad_(),
    "detach_": lambda t, x, leaf: x.detach_(),
}


def inference(t: Any) -> Any:
    with t.inference_mode():
        return t.ones(4)


def attempt(run: Callable[[], Any]) -> Any:
    """What a call gives, or the builtin class of what it raises."""
    try:
        return run()
    except Exception as error:  # whatever it is, its class is compared
        return next(c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins")


def state(x: Any) -> list[Any]:
    """What one sees of a tensor's history; a name stands for its node."""
    node = attempt(lambda: x.grad_fn)
    return [
        attempt(lambda: x._version), x.requires_grad, attempt(lambda: x.is_leaf), x.is_inference(), x._is_view(),
        kind(node) if hasattr(node, "name") else node,
    ]  # fmt: skip


def kind(node: Any) -> str:
    """A node's name, if it belongs to views; which operators others consist of is not compared."""
    name = str(node.name()).removeprefix("torch::autograd::")
    return name if name in ("AsStridedBackward0", "CopySlices") else "an operator"


def gradient(t: Any, x: Any, leaf: Any) -> Any:
    """The gradient that reaches the leaf through a tensor, its own where it is one, and whether both did."""
    leaf.grad = None
    (x * x * 3).sum().backward(retain_graph=True)
    return [None if g is None else g.tolist() for g in (leaf.grad, x.grad if x.is_leaf else None)]


def story(t: Any, base: str, view: str, made_in: str, target: str, steps: tuple[tuple[str, str], ...]) -> Any:
    """Makes a view of a base, changes one of them in place step by step, and tells what is seen after each."""
    leaf = t.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    whole = BASES[base](t, leaf)
    with MODES[made_in](t):
        part, sibling = VIEWS[view](whole), whole[1:3]
    told: list[Any] = [state(whole), state(part)]
    for change, mode in steps:
        with MODES[mode](t):
            changed = attempt(lambda: CHANGES[change](t, whole if target == "base" else part, leaf))  # noqa: B023
        told.append(changed if isinstance(changed, str) else "done")
        told.append([state(whole), state(part), state(sibling)])
    told.append([attempt(lambda: gradient(t, x, leaf)) for x in (part, sibling, whole)])  # noqa: B023
    return told


def stories(base: str) -> Iterator[tuple[str, str, str, str, tuple[tuple[str, str], ...]]]:
    steps = list(itertools.product(CHANGES, MODES))
    for view, made_in, target in itertools.product(VIEWS, MODES, ("base", "view")):
        for first in steps:
            yield base, view, made_in, target, (first,)
        for first in steps:
            if first[0] in ("a variable", "requires_grad_", "detach_"):
                yield base, view, made_in, target, (first, ("a number", "no_grad"))
                yield base, view, made_in, target, (first, ("a number", "grad"))


@pytest.mark.parametrize("base", BASES)
def test_histories(base: str) -> None:
    different = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for which in stories(base):
            theirs, ours = story(torch, *which), story(mindtorch_v2, *which)
            if not close(theirs, ours):
                different.append(f"{which}\n  PyTorch:      {theirs}\n  mindtorch_v2: {ours}")
    assert not different, f"{len(different)} differ:\n" + "\n".join(different[:20])
