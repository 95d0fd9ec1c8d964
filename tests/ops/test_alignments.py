"""The loss of connectionist temporal classification and its gradient, beside PyTorch's in float64."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import mindtorch_v2


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    """Samples, of which some have no alignment or no target."""
    steps, batch, classes = draw(st.integers(1, 9)), draw(st.integers(1, 4)), draw(st.integers(2, 6))
    blank = draw(st.integers(0, classes - 1))
    lengths = [draw(st.integers(0, 5)) for _ in range(batch)]
    labels = [label for label in range(classes) if label != blank]
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    scores = rng.standard_normal((batch, steps, classes)) * draw(st.sampled_from([1, 30]))
    return {
        "scores": scores - np.log(np.exp(scores).sum(-1, keepdims=True)),
        "rows": [[draw(st.sampled_from(labels)) for _ in range(n)] for n in lengths],
        "inputs": [draw(st.integers(0, steps)) for _ in range(batch)],
        "lengths": lengths,
        "blank": blank,
        "narrow": draw(st.booleans()),
        "in_one_row": draw(st.booleans()),
        "zero_infinity": draw(st.booleans()),
    }


def _found(t: Any, problem: dict[str, Any], dtype: str) -> list[np.ndarray]:
    """Losses, and the gradient of their weighted sum; of scores that lie in another order in memory."""
    rows, most = problem["rows"], max(problem["lengths"])
    kind = t.int32 if problem["narrow"] else t.int64
    wide = [row + [problem["blank"]] * (most - len(row)) for row in rows]
    targets = t.tensor(list(itertools.chain(*rows)) if problem["in_one_row"] else wide, dtype=kind).reshape(
        (-1,) if problem["in_one_row"] else (len(rows), most)
    )
    leaf = t.tensor(problem["scores"], dtype=getattr(t, dtype), requires_grad=True)
    losses = t.ops.aten._ctc_loss(
        leaf.transpose(0, 1), targets, problem["inputs"], problem["lengths"], problem["blank"], problem["zero_infinity"]
    )[0]
    weights = t.arange(1, len(rows) + 1).to(losses.dtype)
    (slope,) = t.autograd.grad(losses, leaf, weights)
    return [each.detach().double().numpy() for each in (losses, slope)]


@given(problems())
def test_losses_and_gradients_are_pytorchs(problem: dict[str, Any]) -> None:
    for ours, theirs in zip(_found(mindtorch_v2, problem, "float64"), _found(torch, problem, "float64"), strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-9, 1e-12)
    for ours, theirs in zip(_found(mindtorch_v2, problem, "float32"), _found(torch, problem, "float64"), strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-4, 3e-4)


def test_a_long_target_of_many_classes() -> None:
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((3, 150, 40))
    problem = {
        "scores": scores - np.log(np.exp(scores).sum(-1, keepdims=True)),
        "rows": [rng.integers(1, 40, n).tolist() for n in (60, 70, 1)],
        "inputs": [150, 140, 150],
        "lengths": [60, 70, 1],
        "blank": 0,
        "narrow": False,
        "in_one_row": True,
        "zero_infinity": False,
    }
    for ours, theirs in zip(_found(mindtorch_v2, problem, "float64"), _found(torch, problem, "float64"), strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-9, 1e-10)


@pytest.mark.parametrize("wrong", [-1, 4])
def test_a_target_that_is_no_class_is_refused(wrong: int) -> None:
    scores = mindtorch_v2.zeros(3, 2, 4)
    with pytest.raises(RuntimeError, match="classes"):
        mindtorch_v2.ops.aten._ctc_loss(scores, mindtorch_v2.tensor([[1, 2], [3, wrong]]), [3, 3], [2, 2])
    # Beyond a target's length nothing is read.
    mindtorch_v2.ops.aten._ctc_loss(scores, mindtorch_v2.tensor([[1, 2], [3, wrong]]), [3, 3], [2, 1])


def test_a_class_of_no_probability_has_no_gradient() -> None:
    raw = [[[-math.inf, 1.0, -math.inf]], *[[[0.0, 1.0, -math.inf]]] * 3]
    scores = mindtorch_v2.tensor(raw).log_softmax(2).requires_grad_()
    targets = mindtorch_v2.tensor([[1, 2]])
    alone = mindtorch_v2.ops.aten._ctc_loss(scores, targets, [4], [1])[0]
    (slope,) = mindtorch_v2.autograd.grad(alone, scores)
    assert bool(slope.isfinite().all())
    assert slope[..., 2].tolist() == [[0.0]] * 4
    assert slope[0, 0, 0].item() == 0
    both = mindtorch_v2.ops.aten._ctc_loss(scores, targets, [4], [2], 0, True)[0]
    assert both.tolist() == [math.inf]
    assert not mindtorch_v2.autograd.grad(both, scores)[0].any()
