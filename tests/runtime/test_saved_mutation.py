"""Saved tensors that are changed before backward, and selective checkpoints; beside PyTorch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

import mindtorch_v2
from tests.runtime.both import agree


def start(torch: Any) -> Any:
    return torch.tensor([[0.1, -0.2], [0.3, 0.4]], requires_grad=True)


def changed_itself(torch: Any) -> Any:
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as saved:
        w = start(torch)
        h = w.clone()
        out = (h**2).sum()
        h.sin_()
        there = len(saved.cloned)
        out.backward()
        return w.grad, there, len(saved.cloned)


def changed_through_a_view(torch: Any) -> Any:
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        w = start(torch)
        h = w.clone()
        out = (h**2).sum()
        h[:1] *= 10
        out.backward()
        return w.grad


def copied_once(torch: Any) -> Any:
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as saved:
        h = start(torch).clone()
        outs = [h**2, h**2]
        h.sin_()
        once = len(saved.cloned)
        outs.append(h**2)
        h.sin_()
        twice = len(saved.cloned)
        outs.clear()
        return once, twice, len(saved.cloned)


def by_an_out_argument(torch: Any) -> Any:
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        w, b = start(torch), torch.ones(2, 2)
        out = w * b
        torch.sin(torch.ones(2, 2) * 2, out=b)
        out.sum().backward()
        return w.grad


def outside(torch: Any) -> Any:
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        out = (start(torch) ** 2).sum()
    out.backward()


def nested(torch: Any) -> Any:
    with torch.autograd.graph.allow_mutation_on_saved_tensors(), torch.autograd.graph.allow_mutation_on_saved_tensors():
        pass


def counting(torch: Any, policy: Any, function: Callable[[Any], Any], **options: Any) -> Any:
    """The gradient through a selective checkpoint, and the operators that ran in backward."""
    module = torch.utils.checkpoint
    names: list[str] = []

    class Names(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            names.append(func.name())
            return func(*args, **(kwargs or {}))

    contexts = functools.partial(module.create_selective_checkpoint_contexts, policy, **options)
    w = start(torch)
    out = module.checkpoint(function, w, use_reentrant=False, context_fn=contexts)
    with Names():
        out.sum().backward()
    return w.grad, [names.count(f"aten::{op}") for op in ("sin", "mm")]


def by_list(torch: Any) -> Any:
    return counting(torch, [torch.ops.aten.mm.default], lambda w: torch.mm(w.sin(), w).cos())


def by_policy(torch: Any) -> Any:
    policies = torch.utils.checkpoint.CheckpointPolicy

    def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
        return policies.MUST_SAVE if op == torch.ops.aten.sin.default else policies.PREFER_RECOMPUTE

    return counting(torch, policy, lambda w: torch.mm(w.sin(), w).cos())


def kept_and_changed(torch: Any) -> Any:
    return counting(torch, [torch.ops.aten.sin.default], lambda w: w.sin().mul_(2).cos().exp())


def kept_and_changed_by_leave(torch: Any) -> Any:
    counting(
        torch, [torch.ops.aten.sin.default], lambda w: w.sin().mul_(2).cos().exp(), allow_cache_entry_mutation=True
    )


def list_of_packets(torch: Any) -> Any:
    torch.utils.checkpoint.create_selective_checkpoint_contexts([torch.ops.aten.sin])


def neither_list_nor_function(torch: Any) -> Any:
    torch.utils.checkpoint.create_selective_checkpoint_contexts(2)


CASES = [
    changed_itself, changed_through_a_view, copied_once, by_an_out_argument, by_list, by_policy,
    kept_and_changed_by_leave,
]  # fmt: skip

ERRORS = {
    outside: "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context",
    nested: "allow_mutation_on_saved_tensors contexts cannot be nested",
    kept_and_changed: "has been mutated",
    list_of_packets: "update the OpOverloadPacket to a specific OpOverload",
    neither_list_nor_function: "either a function or a list of ops.",
}


@pytest.mark.parametrize("case", CASES)
def test_as_in_pytorch(case: Callable[[Any], Any]) -> None:
    agree(case)


@pytest.mark.parametrize(("case", "quoted"), ERRORS.items())
def test_errors_as_in_pytorch(case: Callable[[Any], Any], quoted: str) -> None:
    agree(case, quoted)


def test_a_view_with_another_address_is_seen() -> None:
    """PyTorch knows saved tensors by their first element's address, and misses this change."""
    torch = mindtorch_v2
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        w = start(torch)
        h = w.clone()
        out = (h**2).sum()
        h[1:] *= 10
        out.backward()
    assert torch.equal(w.grad, w.detach() * 2)
