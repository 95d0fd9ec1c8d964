"""``torch.<device>`` of each device type, and pinned host memory."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2.backends import all_backends
from tests.runtime.both import agree


def test_each_device_type_that_has_memory_has_a_module() -> None:
    for backend in all_backends():
        if backend.name == "meta":
            continue
        module = torch.get_device_module(backend.name)
        assert module is getattr(torch, backend.name)
        for name in ("is_available", "device_count", "synchronize"):
            assert callable(getattr(module, name)), (backend.name, name)
        assert module.is_available() is (module.device_count() > 0)
    with pytest.raises(RuntimeError, match="it has no module"):
        torch.get_device_module("meta")
    assert torch.get_device_module() is torch.npu


@pytest.mark.parametrize("name", ["is_available", "device_count", "current_device", "synchronize", "is_initialized"])
def test_the_cpu_as_pytorch(name: str) -> None:
    agree(lambda torch: getattr(torch.cpu, name)())
    agree(lambda torch: torch.cpu.set_device("cpu"))


def test_what_is_not_there_as_pytorch() -> None:
    agree(lambda torch: (torch.mps.is_available(), torch.mps.device_count()))
    agree(lambda torch: torch.mps.synchronize(), "Cannot execute deviceSynchronize() without MPS backend.")
    assert not torch.cuda.is_available()
    for call in (torch.cuda.current_device, torch.cuda.synchronize):
        with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
            call()


# ---------------------------------------------------------------- pinned host memory
@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.arange(6.0).reshape(2, 3),
        lambda: torch.arange(6).reshape(2, 3).t(),
        lambda: torch.tensor(3, dtype=torch.int16),
        lambda: torch.zeros(2, 0),
    ],
)
def test_a_pinned_copy(make: Any) -> None:
    x = make()
    pinned = x.pin_memory()
    assert not x.is_pinned()
    assert pinned.is_pinned() is (x.numel() > 0)
    assert (pinned.tolist(), pinned.dtype, pinned.shape) == (x.tolist(), x.dtype, x.shape)
    assert pinned.device == x.device
    if x.numel():
        assert pinned.pin_memory() is pinned
        assert pinned.data_ptr() != x.data_ptr()
        assert pinned.npu().cpu().tolist() == x.tolist()
        assert not pinned.clone().is_pinned()
        assert pinned.detach().is_pinned()
        assert pinned.is_pinned("npu")
        assert not pinned.is_pinned("cuda")


def test_made_in_pinned_memory() -> None:
    assert torch.tensor([1.0, 2.0], pin_memory=True).is_pinned()
    assert torch.tensor(np.arange(3), pin_memory=True).tolist() == [0, 1, 2]
    made = torch.empty(3, dtype=torch.int64, pin_memory=True)
    assert made.is_pinned()
    assert made.fill_(4).tolist() == [4, 4, 4]
    assert torch.empty(3, 2, pin_memory=True).stride() == (2, 1)


def test_the_memory_goes_with_the_last_view() -> None:
    from mindtorch_v2.backends import _pinned

    gc.collect()
    before = len(_pinned._pinned)
    x = torch.ones(100).pin_memory()
    view = x[3:]
    del x
    assert len(_pinned._pinned) == before + 1
    assert view.sum().item() == 97
    del view
    assert len(_pinned._pinned) == before


def test_another_thread_drops_it() -> None:
    held = [torch.ones(100).pin_memory()]
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    assert held == []
    assert torch.ones(100).pin_memory().is_pinned()


@pytest.mark.parametrize("device", ["npu", "meta"])
def test_what_cannot_be_pinned(device: str) -> None:
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        torch.ones(2, device=device).pin_memory()
    assert not torch.ones(2, device=device).is_pinned()
    with pytest.raises(RuntimeError, match="no pinned memory allocator is available for cuda"):
        torch.ones(2).pin_memory("cuda")


def test_it_is_not_resized_away() -> None:
    pinned = torch.ones(2).pin_memory()
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        pinned.resize_(100)
    assert pinned.tolist() == [1, 1]


def test_gradients_go_through() -> None:
    x = torch.ones(3, requires_grad=True)
    (x * 2).pin_memory()
    pinned = x.detach().pin_memory().requires_grad_()
    (pinned * 3).sum().backward()
    assert pinned.grad.tolist() == [3, 3, 3]
