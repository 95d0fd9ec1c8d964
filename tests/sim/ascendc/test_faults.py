"""Mistakes in a kernel surface at the next synchronisation, with the kernel, the block and what to change."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sim.ascendc.device import AsyncError

# What the checker says instead is in test_checker.py.
pytestmark = pytest.mark.parametrize("checker", ["0"], indirect=True)

EXCEPTION, TIMEOUT = 507035, 507034

FAULTS = [
    (
        "too_large",
        EXCEPTION,
        "InitBuffer: 1 x 66560 bytes do not fit the unified buffer: 131072 of 196352 bytes are taken; "
        "use smaller tiles or fewer buffers",
    ),
    ("too_many_buffers", EXCEPTION, "InitBuffer: 65 buffers, at most 64 fit a kernel"),
    ("too_many_queue_buffers", EXCEPTION, "InitBuffer: 9 queue buffers at one position, it has event ids for 8"),
    ("misaligned", EXCEPTION, "DataCopy: dst starts 12 bytes past a 32-byte boundary of local memory"),
    ("past_local_end", EXCEPTION, "Exp: dst needs 288 bytes, its buffer has 256 left"),
    ("past_global_end", EXCEPTION, "DataCopy: src reaches 3936 bytes past the end of its device memory"),
    ("never_freed", TIMEOUT, "AllocTensor: all 2 buffers of the queue are in use: a FreeTensor is missing"),
    ("empty_queue", TIMEOUT, "DeQue: the queue is empty: an EnQue is missing"),
    ("wait_without_set", TIMEOUT, "WaitFlag: event 3 was never set: the chip would wait for ever"),
    ("event_out_of_range", EXCEPTION, "SetFlag: event id 8, there are 0 to 7"),
    ("null_tensor", EXCEPTION, "Duplicate: dst has no memory: Alloc, DeQue or Get it first"),
]


@pytest.fixture
def library(kernel_library):
    return kernel_library("faults.cpp")


@pytest.mark.parametrize(("kernel", "code", "message"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_fault(npu, library, kernel, code, message):
    npu.launch(getattr(library, f"aclrtlaunch_{kernel}"), 1, npu.upload(np.zeros(32, np.float32)))
    with pytest.raises(AsyncError) as error:
        npu.synchronize()
    assert error.value.code == code
    assert f"kernel {kernel}, block 0 of 1: {message}" in error.value.message


def test_the_faulting_block_is_named(npu, library):
    npu.launch(library.aclrtlaunch_second_block_faults, 4, npu.upload(np.zeros(32, np.float32)))
    with pytest.raises(AsyncError, match="kernel second_block_faults, block 2 of 4: SetFlag: event id -1"):
        npu.synchronize()


def test_the_whole_unified_buffer_can_be_used(npu, library):
    npu.launch(library.aclrtlaunch_exactly_fits, 2, npu.upload(np.zeros(32, np.float32)))
    npu.synchronize()
