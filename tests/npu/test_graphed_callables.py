"""`make_graphed_callables`: forward and backward as a replay each, against the same without graphs."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch as pytorch

import mindtorch_v2 as torch
from mindtorch_v2 import npu
from tests.npu.conftest import on, values

make = torch.npu.make_graphed_callables
RNG = np.random.default_rng(5)


def normal(*shape, requires_grad=False):
    tensor = on("npu", RNG.standard_normal(shape).astype(np.float32))
    return tensor.requires_grad_() if requires_grad else tensor


class Scale(torch.nn.Module):
    """``relu(x * weight) + bias``, which has NPU kernels forward and backward."""

    def __init__(self, size=6):
        super().__init__()
        self.weight = torch.nn.Parameter(normal(size))
        self.bias = torch.nn.Parameter(normal(size))

    def forward(self, x):
        return torch.relu(x * self.weight) + self.bias


def test_it_is_called_as_pytorch_s():
    theirs = inspect.signature(pytorch.cuda.make_graphed_callables)
    ours = inspect.signature(make)
    assert [(p.name, p.default) for p in ours.parameters.values()] == [
        (p.name, p.default) for p in theirs.parameters.values()
    ]


def test_a_function_forward_and_backward():
    def function(x, y):
        return torch.relu(x * y) + x, x * 2.0

    graphed = make(function, (normal(5, requires_grad=True), normal(5)))
    for _ in range(4):
        x, y, grads = normal(5, requires_grad=True), normal(5), (normal(5), normal(5))
        twin = x.detach().clone().requires_grad_()
        outputs, expected = graphed(x, y), function(twin, y)
        for ours, theirs in zip(outputs, expected, strict=True):
            np.testing.assert_array_equal(values(ours.detach()), values(theirs.detach()))
        torch.autograd.backward(outputs, grads)
        torch.autograd.backward(expected, grads)
        np.testing.assert_array_equal(values(x.grad), values(twin.grad))


def test_a_module_trains_as_without_graphs():
    torch.manual_seed(0)
    module, twin = Scale(), Scale()
    twin.load_state_dict(module.state_dict())
    graphed = make(module, (normal(6),))
    assert graphed is module
    for _ in range(5):
        x, target = normal(6), normal(6)
        for each in (module, twin):
            distance = each(x) - target
            (distance * distance).sum().backward()
            with torch.no_grad():
                for parameter in each.parameters():
                    parameter.add_(parameter.grad, alpha=-0.1)
                    parameter.grad = None
    for ours, theirs in zip(module.parameters(), twin.parameters(), strict=True):
        np.testing.assert_array_equal(values(ours.detach()), values(theirs.detach()))


def test_a_module_in_its_other_mode_is_eager():
    module = make(Scale(), (normal(6),))
    x = normal(6)
    expected = values(torch.relu(x * module.weight) + module.bias)
    module.eval()
    first, second = module(x), module(normal(6))
    np.testing.assert_array_equal(values(first.detach()), expected)  # no graph wrote to it again
    assert first.data_ptr() != second.data_ptr()
    module.train()
    assert module(x).data_ptr() == module(x).data_ptr()


def test_several_share_a_pool_and_run_one_after_another():
    modules = Scale(), Scale()
    twins = Scale(), Scale()
    for module, twin in zip(modules, twins, strict=True):
        twin.load_state_dict(module.state_dict())
    first, second = make(modules, ((normal(6, requires_grad=True),), (normal(6, requires_grad=True),)))
    x = normal(6, requires_grad=True)
    twin = x.detach().clone().requires_grad_()
    second(first(x)).sum().backward()
    twins[1](twins[0](twin)).sum().backward()
    np.testing.assert_array_equal(values(x.grad), values(twin.grad))
    for module, other in zip(modules, twins, strict=True):
        for ours, theirs in zip(module.parameters(), other.parameters(), strict=True):
            np.testing.assert_array_equal(values(ours.grad), values(theirs.grad))


def test_without_gradients_there_is_no_backward():
    graphed = make(lambda x: torch.relu(x) + x, (normal(4),))
    x = normal(4)
    np.testing.assert_array_equal(values(graphed(x)), np.maximum(values(x), 0) + values(x))
    assert not graphed(x).requires_grad


def test_containers_keep_their_form():
    graphed = make(lambda pair: {"sum": pair[0] + pair[1], "others": [pair[0] * 2.0]}, ((normal(3), normal(3)),))
    x, y = normal(3), normal(3)
    result = graphed((x, y))
    np.testing.assert_array_equal(values(result["sum"]), values(x) + values(y))
    np.testing.assert_array_equal(values(result["others"][0]), 2 * values(x))


def test_an_input_that_is_not_used():
    sample = (normal(3, requires_grad=True), normal(3, requires_grad=True))
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        make(lambda x, y: x * 2.0, sample)
    graphed = make(lambda x, y: x * 2.0, sample, allow_unused_input=True)
    x, y = normal(3, requires_grad=True), normal(3, requires_grad=True)
    graphed(x, y).sum().backward()
    np.testing.assert_array_equal(values(x.grad), [2, 2, 2])
    assert y.grad is None


def test_double_backward_is_refused():
    graphed = make(lambda x: x * x, (normal(3, requires_grad=True),))
    x = normal(3, requires_grad=True)
    (grad,) = torch.autograd.grad(graphed(x), x, normal(3, requires_grad=True), create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.sum().backward()


def refused(*args, kind=RuntimeError, **options):
    with pytest.raises(kind) as caught:
        make(*args, **options)
    return str(caught.value)


def test_what_is_refused():
    hooked = Scale()
    hooked.register_forward_hook(lambda module, args, output: None)
    assert "Modules must not have hooks" in refused(hooked, (normal(6),))
    buffered = Scale()
    buffered.register_buffer("extra", normal(2, requires_grad=True))
    assert "only parameters may be trainable" in refused(buffered, (normal(6),))
    assert "only tensors on an NPU, got float" in refused(lambda x, y: x, (normal(2), 1.0), kind=TypeError)
    assert "only tensors on an NPU, got one on cpu" in refused(lambda x: x, (torch.ones(2),), kind=TypeError)
    assert "expected functions and modules, got int" in refused(3, (normal(2),), kind=TypeError)
    assert "for each of 2 callables, got 1" in refused((Scale(), Scale()), ((normal(6),),), kind=ValueError)
    graphed = make(lambda x: x * 2.0, (normal(3),))
    with pytest.raises(ValueError, match=r"argument 0 of a graphed callable: expected torch.float32 \(3,\)"):
        graphed(normal(4))
    with pytest.raises(ValueError, match="captured with 1 tensors, and is called with 2"):
        graphed(normal(3), normal(3))
    with pytest.raises(ValueError, match="requires a gradient, and its sample argument did not"):
        graphed(normal(3, requires_grad=True))


def test_an_error_in_the_function_leaves_all_usable():
    calls = []

    def failing(x):
        calls.append(x)
        if len(calls) == 4:  # after the warm-up, in the capture
            raise ZeroDivisionError
        return x * 2.0

    with pytest.raises(ZeroDivisionError):
        make(failing, (normal(3),))
    assert npu.current_stream() == npu.default_stream()
    x = normal(3)
    np.testing.assert_array_equal(values(make(lambda x: x * 2.0, (normal(3),))(x)), 2 * values(x))
