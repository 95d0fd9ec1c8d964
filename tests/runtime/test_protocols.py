"""Tensors copy, pickle, format and answer `in` as PyTorch's do."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import mindtorch_v2
from tests.runtime.both import agree


def test_a_copy_has_its_own_memory_flags_gradient_and_attributes():
    def case(torch):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        (x * x).sum().backward()
        x.label = ["a"]
        y = copy.deepcopy(x)
        with torch.no_grad():
            x.zero_()
        x.label.append("b")
        return y, y.grad, y.requires_grad, y.label, type(y).__name__, (y * 2).sum()

    agree(case)


def test_what_an_operation_made_is_not_copied():
    def case(torch):
        copy.deepcopy(torch.ones(2, requires_grad=True) * 2)

    agree(case, "Only Tensors created explicitly by the user")


def test_a_module_is_copied_with_its_parameters():
    def case(torch):
        layer = torch.nn.Linear(2, 1)
        with torch.no_grad():
            layer.weight.fill_(2.0)
            layer.bias.zero_()
        twin = copy.deepcopy(layer)
        with torch.no_grad():
            layer.weight.zero_()
        return twin(torch.ones(1, 2)), type(twin.weight).__name__, twin.weight.requires_grad

    agree(case)


@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
@pytest.mark.parametrize("name", ["float32", "int64", "bool", "float16"])
def test_pickling_gives_an_equal_tensor(shape, name):
    x = mindtorch_v2.ones(shape, dtype=getattr(mindtorch_v2, name))
    y = pickle.loads(pickle.dumps(x))
    assert y.dtype is x.dtype
    assert y.shape == x.shape
    assert np.array_equal(y.numpy(), x.numpy())
    assert y.data_ptr() != x.data_ptr() or x.numel() == 0


def test_pickling_keeps_flags_attributes_and_device():
    x = mindtorch_v2.ones(3, device="npu", requires_grad=True)
    x.label = "weights"
    y = pickle.loads(pickle.dumps(x))
    assert (y.device, y.requires_grad, y.label, y.tolist()) == (x.device, True, "weights", [1.0, 1.0, 1.0])


@pytest.mark.parametrize("value", [2.0, 3.0])
def test_membership(value):
    agree(lambda torch: value in torch.tensor([1.0, 2.0]))


def test_membership_of_something_else():
    agree(lambda torch: "a" in torch.tensor([1.0]), "only supports Tensor or scalar")


def test_formatting():
    agree(lambda torch: (f"{torch.tensor(1.25):.1f}", f"{torch.tensor([1.0])}"))


def test_numpy_shares_the_memory():
    x = mindtorch_v2.zeros(3)
    array = np.asarray(x)
    array[1] = 5.0
    assert x.tolist() == [0.0, 5.0, 0.0]
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
