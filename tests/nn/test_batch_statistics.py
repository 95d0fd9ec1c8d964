"""Batch normalization in forward mode, and statistics of batches without normalization, beside PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest
import torch as pytorch

import mindtorch_v2 as ours

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # of PyTorch's own
RNG = np.random.default_rng(0)
SHAPES = {"input": (3, 2, 5), "running_mean": (2,), "running_var": (2,), "weight": (2,), "bias": (2,)}
VALUES = {name: RNG.random(shape) + 0.5 for name, shape in SHAPES.items()}
TANGENTS = {name: RNG.standard_normal(shape) for name, shape in SHAPES.items()}


def tangent(t, training, names):
    """The output's tangent, where what these names mean has one."""
    ad = t.autograd.forward_ad
    with ad.dual_level():
        given = {name: t.tensor(value) for name, value in VALUES.items()}
        given |= {name: ad.make_dual(given[name], t.tensor(TANGENTS[name])) for name in names}
        found = ad.unpack_dual(t.nn.functional.batch_norm(**given, training=training)).tangent
        return None if found is None else found.numpy()


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    "names", [("input",), ("weight",), ("bias",), ("input", "weight", "bias"), ("running_mean",), ("running_var",)]
)
def test_tangents(training, names):
    expected, found = tangent(pytorch, training, names), tangent(ours, training, names)
    assert (found is None) is (expected is None)
    if found is not None:
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("t", [ours, pytorch], ids=["ours", "pytorch"])
@pytest.mark.parametrize("names", [("input", "running_mean"), ("weight", "running_var")])
def test_running_statistics_that_are_used_have_no_tangents(t, names):
    with pytest.raises(RuntimeError, match="batch_norm is not differentiable wrt running_mean and running_var"):
        tangent(t, False, names)
    assert tangent(t, True, names) is not None  # while training they are not used


@pytest.mark.parametrize("shape", [(3, 2), (3, 2, 5), (1, 2, 4, 4)])
def test_statistics_without_normalization(shape):
    def moved(t):
        running = t.zeros(2), t.ones(2)
        x = (t.arange(float(np.prod(shape))).reshape(shape) % 7).sin()
        return [r.tolist() for r in (*t.batch_norm_update_stats(x, *running, 0.25), *running)]

    for got, expected in zip(moved(ours), moved(pytorch), strict=True):
        assert got == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("t", [ours, pytorch], ids=["ours", "pytorch"])
def test_of_no_elements_there_are_none(t):
    with pytest.raises(RuntimeError, match=r"at least one element, but got input_sizes = \[0, 1\]"):
        t.batch_norm_update_stats(t.ones(0, 1), None, None, 0.5)
