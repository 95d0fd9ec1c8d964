"""``torch.nn.utils.prune`` beside PyTorch's."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.utils.prune

import mindtorch_v2 as ours
from tests.runtime.both import agree, agree_or_raise


def layer(t: Any) -> Any:
    made = t.nn.Conv2d(2, 3, 2)
    with t.no_grad():
        made.weight.copy_(((t.arange(24.0) * 7) % 25 - 11.6).reshape(3, 2, 2, 2))
        made.bias.copy_(t.tensor([0.1, -1.0, 2.0]))
    return made


def state(t: Any, module: Any) -> Any:
    x = t.arange(18.0).reshape(1, 2, 3, 3)
    names = sorted(module.state_dict()), sorted(n for n, _ in module.named_parameters())
    masks = [value for _, value in sorted(module.state_dict().items())]
    return module(x), names, masks, t.nn.utils.prune.is_pruned(module)


METHODS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "identity": lambda t, p, m: p.identity(m, "weight"),
    "l1": lambda t, p, m: p.l1_unstructured(m, "weight", 0.4),
    "l1 of a number": lambda t, p, m: p.l1_unstructured(m, "weight", 5),
    "l1 of none": lambda t, p, m: p.l1_unstructured(m, "weight", 0),
    "l1 by scores": lambda t, p, m: p.l1_unstructured(m, "bias", 1, importance_scores=t.tensor([3.0, 2.0, 1.0])),
    "random": lambda t, p, m: p.random_unstructured(m, "weight", 0.4),
    "slices by norm": lambda t, p, m: p.ln_structured(m, "weight", 1, 2, dim=0),
    "slices by another norm": lambda t, p, m: p.ln_structured(m, "weight", 0.5, float("inf"), dim=-1),
    "slices at random": lambda t, p, m: p.random_structured(m, "weight", 1, dim=0),
    "mask": lambda t, p, m: p.custom_from_mask(m, "bias", t.tensor([1, 0, 1])),
    "several": lambda t, p, m: (p.ln_structured(m, "weight", 1, 1, dim=1), p.l1_unstructured(m, "weight", 4))[1],
    "several with slices last": lambda t, p, m: (
        p.l1_unstructured(m, "weight", 4),
        p.ln_structured(m, "weight", 1, 2, dim=0),
    )[1],
    "three": lambda t, p, m: [p.l1_unstructured(m, "weight", 2) for _ in range(3)][-1],
    "removed": lambda t, p, m: p.remove(p.l1_unstructured(m, "weight", 0.4), "weight"),
    "of several modules": lambda t, p, m: (
        p.global_unstructured([(m, "weight"), (m, "bias")], p.L1Unstructured, amount=9),
        m,
    )[1],
}


@pytest.mark.parametrize("name", [*METHODS])
def test_masks(name: str) -> None:
    def case(t: Any) -> Any:
        t.manual_seed(2)
        return state(t, METHODS[name](t, t.nn.utils.prune, layer(t)))

    agree(case)


def test_training_keeps_what_is_pruned_at_0() -> None:
    def case(t: Any) -> Any:
        module = t.nn.utils.prune.l1_unstructured(layer(t), "weight", 0.5)
        optimizer = t.optim.SGD(module.parameters(), lr=0.01)
        for _ in range(3):
            optimizer.zero_grad()
            module(t.ones(1, 2, 3, 3)).square().sum().backward()
            optimizer.step()
        module(t.ones(1, 2, 3, 3))
        return module.weight, module.weight_orig

    agree(case)


WRONG: list[Callable[[Any, Any], Any]] = [
    lambda t, p: p.l1_unstructured(layer(t), "weight", 1.5),
    lambda t, p: p.l1_unstructured(layer(t), "weight", -1),
    lambda t, p: p.l1_unstructured(layer(t), "weight", "a"),
    lambda t, p: p.l1_unstructured(layer(t), "weight", 100),
    lambda t, p: p.ln_structured(layer(t), "bias", 1, 2, dim=0),
    lambda t, p: p.ln_structured(layer(t), "weight", 1, 2, dim=9),
    lambda t, p: p.remove(layer(t), "weight"),
    lambda t, p: p.global_unstructured(3, p.L1Unstructured, amount=1),
    lambda t, p: p.global_unstructured([(layer(t), "weight")], p.LnStructured, amount=1, n=2),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_errors(number: int) -> None:
    agree_or_raise(lambda t: WRONG[number](t, t.nn.utils.prune) and None)


SCHEDULES: list[Callable[[Any, Any], Any]] = [
    lambda s, o: s.SequentialLR(o, [s.ConstantLR(o), s.ReduceLROnPlateau(o)], [2]),
    lambda s, o: s.ChainedScheduler([s.ConstantLR(o), s.ReduceLROnPlateau(o)]),
    lambda s, o: s.SequentialLR(o, [3], []),
    lambda s, o: s.ChainedScheduler([]),
    lambda s, o: s.ChainedScheduler(3),
]


@pytest.mark.parametrize("number", range(len(SCHEDULES)))
def test_schedules_that_cannot_be_put_together(number: int) -> None:
    def case(t: Any) -> Any:
        optimizer = t.optim.SGD([t.nn.Parameter(t.ones(1))], lr=0.1)
        return SCHEDULES[number](t.optim.lr_scheduler, optimizer) and None

    agree_or_raise(case)


def test_masks_that_do_not_fit() -> None:
    module = layer(ours)
    with pytest.raises(ValueError, match="expected a mask of shape"):
        ours.nn.utils.prune.custom_from_mask(module, "bias", ours.ones(4))
    assert "bias" in dict(module.named_parameters())
    with pytest.raises(TypeError, match="BasePruningMethod"):
        ours.nn.utils.prune.PruningContainer(3)


def test_handles_of_hooks_are_pickled_with_what_they_are_of() -> None:
    for t in (torch, ours):
        module = t.nn.Linear(1, 1)
        handle = module.register_forward_hook(print)
        again, its = pickle.loads(pickle.dumps((module, handle)))
        later = again.register_forward_hook(repr)
        assert later.id > its.id
        later.remove()
        its.remove()
        handle.remove()
        assert again(t.ones(1)) is not None
        assert type(copy.deepcopy(t.ones(1, requires_grad=True).register_hook(print))) is type(handle)
