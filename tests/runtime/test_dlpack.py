"""DLPack: memory that two libraries share, who keeps it, and what has no form there."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest
import torch as pytorch

import mindtorch_v2 as ours
from mindtorch_v2.utils import dlpack

TENSORS: dict[str, Any] = {
    "rows": lambda torch: torch.arange(12.0).reshape(3, 4),
    "transposed": lambda torch: torch.arange(12.0).reshape(3, 4).t(),
    "a part": lambda torch: torch.arange(12).reshape(3, 4)[1:, ::2],
    "bfloat16": lambda torch: torch.ones(2, dtype=torch.bfloat16),
    "a truth value": lambda torch: torch.tensor(True),
    "complex": lambda torch: torch.tensor([1 + 2j]),
    "nothing": lambda torch: torch.zeros(0, 3),
}


@pytest.mark.parametrize("name", TENSORS)
def test_memory_is_shared_both_ways(name: str) -> None:
    for giver, taker in ((ours, pytorch), (pytorch, ours)):
        given = TENSORS[name](giver)
        taken = taker.from_dlpack(given)
        assert taken.data_ptr() == given.data_ptr()
        assert (str(taken.dtype), tuple(taken.shape)) == (str(given.dtype), tuple(given.shape))
        assert taken.stride() == given.stride() or not given.numel()
        assert taken.tolist() == given.tolist()


def test_numpy_reads_and_is_read() -> None:
    array = np.arange(4.0)
    tensor = ours.from_dlpack(array)
    tensor[0] = 7
    assert np.from_dlpack(tensor)[0] == array[0] == 7


def test_memory_lives_as_long_as_either() -> None:
    tensor = ours.ones(3)
    before = sys.getrefcount(tensor)
    taken = pytorch.from_dlpack(tensor)
    assert sys.getrefcount(tensor) > before
    del taken
    ours.to_dlpack(tensor)  # which nobody takes
    gc.collect()
    assert sys.getrefcount(tensor) == before
    kept = ours.from_dlpack(pytorch.full((1000,), 3.0))
    gc.collect()
    assert kept.sum().item() == 3000


def test_a_capsule_is_taken_once() -> None:
    capsule = dlpack.to_dlpack(ours.ones(2))
    assert ours.from_dlpack(capsule).tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="consumed only once"):
        ours.from_dlpack(capsule)


def test_copies_and_devices() -> None:
    tensor = ours.ones(2)
    assert ours.from_dlpack(tensor, copy=True).data_ptr() != tensor.data_ptr()
    assert tensor.__dlpack_device__() == (dlpack.DLDeviceType.kDLCPU, 0)
    with pytest.raises(ValueError, match="without copying"):
        ours.from_dlpack(tensor, device="meta", copy=False)


REFUSED: dict[str, tuple[type[Exception], str, Any]] = {
    "a gradient": (BufferError, "require gradient", lambda: ours.ones(2).requires_grad_().__dlpack__()),
    "no memory": (BufferError, "meta", lambda: ours.ones(2, device="meta").__dlpack__()),
    "another device": (BufferError, "not on", lambda: ours.ones(2).__dlpack__(dl_device=(2, 0))),
    "a stream that is none": (TypeError, "stream must be", lambda: ours.ones(2).__dlpack__(stream="a")),
    "no array": (TypeError, "__dlpack__", lambda: ours.from_dlpack(3)),
    "no tensor": (TypeError, "must be Tensor", lambda: ours.to_dlpack(3)),
    "read-only memory": (
        BufferError,
        "readonly|read-only",
        lambda: ours.from_dlpack(np.broadcast_to(np.ones(1), (3,))),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    error, words, call = REFUSED[name]
    with pytest.raises(error, match=words):
        call()
