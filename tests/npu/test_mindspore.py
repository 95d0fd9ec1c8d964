"""Kernels on MindSpore's memory and stream: its CPU package as it is, and what it documents for Ascend."""

from __future__ import annotations

import gc
import sys
import types

import numpy as np
import pytest

from mindtorch_v2 import npu
from mindtorch_v2.npu import mindspore as interop
from tests.npu.conftest import Gate, on, values

mindspore = pytest.importorskip("mindspore")


# ---------------------------------------------------------------- the CPU package
def test_memory_is_shared_both_ways():
    theirs = mindspore.Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    ours = interop.tensor(theirs)
    assert (ours.data_ptr(), tuple(ours.shape), ours.device.type) == (theirs.data_ptr(), (2, 3), "cpu")
    ours.add_(1)
    np.testing.assert_array_equal(theirs.asnumpy(), np.arange(1, 7).reshape(2, 3))


def test_views_keep_their_strides_and_offset():
    theirs = mindspore.Tensor(np.arange(12, dtype=np.int32).reshape(3, 4))
    np.testing.assert_array_equal(interop.tensor(theirs[1:].T).numpy(), np.arange(4, 12).reshape(2, 4).T)


def test_the_memory_lives_as_long_as_our_tensor():
    ours = interop.tensor(mindspore.Tensor(np.full(1000, 7, np.float64)))
    gc.collect()
    others = [mindspore.Tensor(np.zeros(1000)) for _ in range(20)]
    np.testing.assert_array_equal(ours.numpy(), np.full(1000, 7))
    del others


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float64", "int8", "uint8", "int64", "uint16", "bool_"])
def test_dtypes(name):
    theirs = mindspore.Tensor([1, 0], getattr(mindspore, name))
    ours = interop.tensor(theirs)
    assert ours.dtype is getattr(__import__("mindtorch_v2"), name.rstrip("_"))
    assert [float(value) for value in ours.tolist()] == [1, 0]


@pytest.mark.parametrize("value", [None, np.zeros(3), on("cpu", [1.0])])
def test_what_is_no_mindspore_tensor(value):
    with pytest.raises(TypeError, match=r"^npu.mindspore.tensor: expected a MindSpore tensor on CPU or Ascend, got "):
        interop.tensor(value)


def test_a_cpu_target_has_no_stream():
    with pytest.raises(RuntimeError) as caught:
        interop.stream().__enter__()
    assert str(caught.value) == (
        "npu.mindspore.stream: MindSpore has no device streams here; its target is CPU, "
        "mindspore.set_device('Ascend') chooses NPUs"
    )


# ---------------------------------------------------------------- what MindSpore documents for Ascend
class AscendTensor:
    """The members of a MindSpore tensor on Ascend that are used, over memory of our NPU."""

    def __init__(self, memory):
        self._memory = memory
        self.device, self.dtype, self.shape = (
            str(memory.device).replace("npu", "Ascend"),
            "Float32",
            tuple(memory.shape),
        )
        self.waited = False

    def wait_pipeline(self):
        self.waited = True

    def data_ptr(self):
        assert self.waited
        return self._memory.data_ptr()

    def stride(self):
        return list(self._memory.stride())


@pytest.fixture
def ascend(monkeypatch):
    """MindSpore's current stream as it is on Ascend: one of ours, by its handle."""

    def choose(stream):
        context = {"device_target": "Ascend", "device_id": stream.device_index}
        handle = types.SimpleNamespace(stream_ptr=lambda: stream.npu_stream)
        monkeypatch.setattr(mindspore, "get_context", context.get)
        monkeypatch.setattr(mindspore.runtime, "current_stream", lambda: handle)

    return choose


def test_a_launch_goes_to_mindspores_stream_and_memory(ascend, kernels, scale):
    gate = Gate(kernels)
    ascend(gate.stream)
    x, out = (AscendTensor(on("npu", np.full(4, value, np.float32))) for value in (3, 0))
    with interop.stream() as stream:
        assert npu.current_stream() == stream == gate.stream
        scale(1, interop.tensor(x), interop.tensor(out), 2.0, 4)
    assert npu.current_stream() == npu.default_stream()
    assert not values(out._memory).any()
    gate.open()
    gate.stream.synchronize()
    np.testing.assert_array_equal(values(out._memory), [6, 6, 6, 6])


def test_tensors_are_kept_until_the_stream_has_passed(ascend, kernels, scale):
    x = AscendTensor(on("npu", np.ones(4, np.float32)))
    gate = Gate(kernels)
    ascend(gate.stream)
    with interop.stream():
        scale(1, interop.tensor(x), interop.tensor(x), 2.0, 4)
    assert sys_references(x) > 2
    gate.open()
    gate.stream.synchronize()
    with interop.stream():
        assert sys_references(x) == 2


def sys_references(thing):
    """What refers to a thing, but for this call."""
    return sys.getrefcount(thing) - 1
