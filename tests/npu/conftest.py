"""Tensors made from NumPy arrays on any device, and the tests' own kernels, built once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mindtorch_v2 import _core, npu
from mindtorch_v2.backends._copies import copy_, to_cpu

# For what only the simulated NPU does: it checks more, words its messages its own way, and survives a kernel's fault.
simulator_only = pytest.mark.skipif(not npu.is_simulated(), reason="what the simulated NPU alone does")


def on(device, array, dtype=None):
    """A tensor on a device with an array's values."""
    array = np.asarray(array, dtype)
    host = _core.alloc(array.shape, _core.dtypes[array.dtype.name], "cpu")
    np.asarray(_core.as_memoryview(host))[...] = array
    target = _core.alloc(array.shape, host.dtype, device)
    return host if target.is_cpu else copy_(target, host)


def values(tensor):
    """A tensor's values as an array."""
    return np.asarray(_core.as_memoryview(to_cpu(tensor))).copy()


@pytest.fixture(scope="session")
def kernels():
    """The launcher of kernels.cpp."""
    return npu.ascendc_load("launcher_tests", Path(__file__).with_name("kernels.cpp"))


@pytest.fixture
def scale(kernels):
    """``scale(block_dim, x, out, factor, n)``."""
    return kernels.bind("scale", (npu.ptr, npu.ptr, npu.f32, npu.u32), dtypes=(_core.dtypes["float32"],))


class Gate:
    """A stream that is held up by a kernel until the gate is opened."""

    def __init__(self, kernels, device="npu:0"):
        self.stream = npu.Stream(device)
        self._opener = npu.Stream(device)
        self._flag, self._one = on(device, [0], np.int32), on("cpu", [1], np.int32)
        kernels.launch("wait_for", block_dim=1, args=[self._flag], stream=self.stream)

    def open(self):
        with npu.stream(self._opener):  # the current stream may wait for this one
            copy_(self._flag, self._one)


@pytest.fixture
def gate(kernels):
    """A held-up stream of npu:0; opened at the end where the test did not."""
    held = Gate(kernels)
    yield held
    held.open()
    held.stream.synchronize()
