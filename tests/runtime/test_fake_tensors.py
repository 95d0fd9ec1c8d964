"""Fake tensors: shapes, histories and devices of a run that has no memory, beside PyTorch's of one that has."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

import mindtorch_v2
from mindtorch_v2 import nn
from mindtorch_v2._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorDeviceMismatchError,
    FakeTensorMode,
    is_fake,
    unset_fake_temporarily,
)


def trained(t: Any) -> list[Any]:
    """The shapes of a step of training."""
    nn, functional = (importlib.import_module(f"{t.__name__}.{name}") for name in ("nn", "nn.functional"))
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(2048, 10)
    )
    out = net(t.randn(4, 3, 32, 32))
    loss = functional.cross_entropy(out, t.zeros(4, dtype=t.int64))
    loss.backward()
    shown = [out, loss, *net.parameters(), *(p.grad for p in net.parameters())]
    return [(tuple(x.shape), x.stride(), str(x.dtype), x.requires_grad) for x in shown]


def test_a_step_of_training_has_the_shapes_of_a_real_one() -> None:
    with FakeTensorMode():
        found = trained(mindtorch_v2)
    assert found == trained(torch)


def test_a_model_of_any_size_is_built_and_stepped() -> None:
    with FakeTensorMode():
        layer = nn.TransformerEncoderLayer(16384, 64, 65536, batch_first=True)
        optimizer = mindtorch_v2.optim.Adam(layer.parameters())
        out = layer(mindtorch_v2.randn(64, 2048, 16384))
        out.sum().backward()
        optimizer.step()
    assert is_fake(out)
    assert out.shape == (64, 2048, 16384)
    assert sum(p.numel() for p in layer.parameters()) > 3e9
    assert all(isinstance(p, nn.Parameter) and is_fake(p.grad) for p in layer.parameters())


def test_what_stands_for_real_tensors() -> None:
    mode, x = FakeTensorMode(), nn.Parameter(mindtorch_v2.ones(4, 4))
    fake, part = mode.from_tensor(x), mode.from_tensor(x.detach()[1:])
    assert mode.from_tensor(x) is fake
    assert isinstance(fake, nn.Parameter)
    assert isinstance(fake, FakeTensor)
    assert fake.requires_grad
    assert fake.is_leaf
    assert repr(fake) == "Parameter(FakeTensor(..., size=(4, 4), requires_grad=True))"
    assert part.storage_offset() == 4
    assert part.elem.untyped_storage() is fake.elem.untyped_storage()
    assert repr(fake @ fake.t()) == "FakeTensor(..., size=(4, 4), grad_fn=<MmBackward0>)"
    with pytest.raises(AssertionError, match="allow_non_fake_inputs"):
        fake + x
    assert (FakeTensorMode(allow_non_fake_inputs=True).from_tensor(x) + x).shape == (4, 4)
    del x, part
    assert not mode._fakes
    assert not mode._memories


def test_where_results_say_they_are() -> None:
    with FakeTensorMode():
        there = mindtorch_v2.ones(3, device="cuda:0")
        assert there.device == (there * 2 + mindtorch_v2.tensor(1.0)).device == mindtorch_v2.device("cuda:0")
        assert there.cpu().device.type == "cpu"
        assert mindtorch_v2.zeros_like(there).device == there.device
        with pytest.raises(FakeTensorDeviceMismatchError):
            there + mindtorch_v2.ones(3)


def test_what_depends_on_values_is_refused_unless_they_are_known() -> None:
    with FakeTensorMode():
        x = mindtorch_v2.ones(3)
        for call in (lambda: x.sum().item(), lambda: bool(x.sum() > 0), x.tolist):
            with pytest.raises(DataDependentOutputException):
                call()
        with pytest.raises(DynamicOutputShapeException):
            mindtorch_v2.nonzero(x)
        step = mindtorch_v2.tensor(0.0)
        step += 2
        assert (step * 3).item() == 6
        step.copy_(x.sum())
        with pytest.raises(DataDependentOutputException):
            step.item()
        with unset_fake_temporarily():
            assert mindtorch_v2.ones(2).tolist() == [1, 1]


def test_views_and_changes_in_place() -> None:
    with FakeTensorMode():
        x = mindtorch_v2.ones(2, 3)
        part = x[0]
        assert x.mul_(2) is x
        x[1] = 5
        assert part.untyped_storage() is x.untyped_storage()
        assert x.t_() is x
        assert x.shape == (3, 2)
        assert (x + 1).shape == (3, 2)
