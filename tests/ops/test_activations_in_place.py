"""Gradients of activations in place are those of their results: none where a negative slope hides what x was."""

from __future__ import annotations

import pytest
import torch as pytorch

import mindtorch_v2 as ours

CALLS = {
    "elu_": lambda f, x, slope: f.elu_(x, slope),
    "celu_": lambda f, x, slope: f.celu_(x, slope),
    "leaky_relu_": lambda f, x, slope: f.leaky_relu_(x, slope),
    "leaky_relu": lambda f, x, slope: f.leaky_relu(x, slope, inplace=True),
    "rrelu_": lambda f, x, slope: f.rrelu_(x, slope - 0.5, slope + 0.5),
}


def gradient(t, name, slope):
    x = t.tensor([-1.5, -0.25, 0.0, 2.0], requires_grad=True)
    CALLS[name](t.nn.functional, x * 1, slope).backward(t.tensor([1.0, 2.0, 3.0, 4.0]))
    return x.grad.tolist()


@pytest.mark.parametrize("slope", [0.75, 2.0])
@pytest.mark.parametrize("name", CALLS)
def test_by_the_result(name, slope):
    assert gradient(ours, name, slope) == pytest.approx(gradient(pytorch, name, slope))


@pytest.mark.parametrize("t", [ours, pytorch], ids=["ours", "pytorch"])
@pytest.mark.parametrize("name", CALLS)
def test_a_negative_slope_is_refused_by_backward(t, name):
    with pytest.raises(RuntimeError, match="call out-of-place version"):
        gradient(t, name, -2.0)


@pytest.mark.parametrize("is_result", [False, True])
def test_the_gradients_as_operators(is_result):
    def computed(t):
        grad, x = t.tensor([1.0, 2.0]), t.tensor([-0.5, 3.0])
        elu = t.ops.aten.elu_backward(grad, 2.0, 3.0, 0.5, is_result, x)
        return [*elu.tolist(), *t.ops.aten.leaky_relu_backward(grad, x, 0.25, is_result).tolist()]

    assert computed(ours) == pytest.approx(computed(pytorch))


def test_training_with_random_slopes():
    x = ours.tensor([-1.0, 1.0], requires_grad=True)
    y = ours.nn.functional.rrelu_(x * 1, -5.0, -4.0, training=True)
    y.backward(ours.ones(2))
    assert x.grad.tolist() == pytest.approx([-y[0].item(), 1.0])
