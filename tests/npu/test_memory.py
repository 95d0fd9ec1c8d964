"""The caching allocator: what is counted, what is reused and when, and running out."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

from mindtorch_v2 import _core, npu
from tests.npu.conftest import Gate, on, simulator_only, values

U8 = _core.dtypes["uint8"]


@pytest.fixture(autouse=True)
def empty():
    npu.synchronize()
    npu.empty_cache()


def test_counters():
    before = npu.memory_allocated()
    npu.reset_peak_memory_stats()
    tensors = [npu.alloc((1000,), U8, "npu") for _ in range(3)]
    assert npu.memory_allocated() == before + 3 * 1024
    del tensors
    assert npu.memory_allocated() == before
    assert npu.max_memory_allocated() == before + 3 * 1024
    assert npu.memory_reserved() >= before + 3 * 1024
    npu.empty_cache()
    assert npu.memory_reserved() == before


def test_npus_are_counted_apart():
    before = npu.memory_allocated(0), npu.memory_allocated(1)
    held = npu.alloc((4096,), U8, "npu:1")
    assert (npu.memory_allocated(0), npu.memory_allocated(1)) == (before[0], before[1] + 4096)
    del held


@pytest.mark.parametrize("nbytes", [1, 511, 512, 513, 5000, 10**6, 10**7 + 1])
def test_a_block_is_at_most_an_eighth_too_large(nbytes):
    before = npu.memory_allocated()
    held = npu.alloc((nbytes,), U8, "npu")
    size = npu.memory_allocated() - before
    assert nbytes <= size <= max(512 * -(-nbytes // 512), nbytes * 9 / 8)
    del held


def test_a_freed_block_is_reused():
    first = npu.alloc((1000,), U8, "npu")
    address = first.data_ptr()
    del first
    assert npu.alloc((900,), U8, "npu").data_ptr() == address


def test_a_block_is_not_reused_on_another_stream():
    first = npu.alloc((1000,), U8, "npu")
    address = first.data_ptr()
    del first
    with npu.stream(npu.Stream()):
        second = npu.alloc((1000,), U8, "npu")
    assert second.data_ptr() != address


def test_a_temporary_lives_until_its_stream_has_passed_it(gate, scale):
    """Its memory is handed out at once on its own stream, where whatever uses it next is queued behind."""
    ones = on("npu", np.ones(4, np.float32))
    with npu.stream(gate.stream):
        temporary, out = npu.alloc_like(ones), npu.alloc_like(ones)
        scale(1, ones, temporary, 7.0, 4)
        scale(1, temporary, out, 1.0, 4)
        address = temporary.data_ptr()
        del temporary
        reused = npu.alloc_like(ones)
        assert reused.data_ptr() == address
        scale(1, ones, reused, 0.0, 4)
    gate.open()
    gate.stream.synchronize()
    np.testing.assert_array_equal(values(out), [7, 7, 7, 7])


def test_a_block_used_on_another_stream_is_not_overwritten_before_that_stream_is_done(gate, scale):
    """The tensor belongs to the default stream; a held-up one reads it after it was freed and its memory reused."""
    x, ones = on("npu", np.full(4, 5, np.float32)), on("npu", np.ones(4, np.float32))
    address = x.data_ptr()
    with npu.stream(gate.stream):
        out = npu.alloc_like(x)
        scale(1, x, out, 1.0, 4)
    del x
    reused = npu.alloc_like(ones)
    assert reused.data_ptr() == address
    scale(1, ones, reused, 0.0, 4)
    gate.open()
    gate.stream.synchronize()
    np.testing.assert_array_equal(values(out), [5, 5, 5, 5])


def test_many_launches_keep_memory_flat(scale):
    x = on("npu", np.ones(100, np.float32))
    streams = [npu.Stream() for _ in range(4)]

    def burst():
        for i in range(400):
            with npu.stream(streams[i % 4]):
                out = npu.alloc_like(x)
                scale(1, x, out, 2.0, 100)
                del out
        for stream in streams:
            stream.synchronize()

    burst()
    reserved = npu.memory_reserved()
    burst()
    assert npu.memory_reserved() == reserved


OUT_OF_MEMORY = """
from mindtorch_v2 import _core, npu
half = npu.mem_get_info()[0] // 2
u8 = _core.dtypes["uint8"]
cached = [npu.alloc((half // 2,), u8, "npu") for _ in range(2)]
del cached
big = npu.alloc((half + half // 2,), u8, "npu")     # fits only once the cache is emptied
try:
    npu.alloc((half,), u8, "npu")
except npu.OutOfMemoryError as error:
    print(isinstance(error, RuntimeError), error.requested >= half, error.free < half, error.reserved > half)
    print(error)
"""


def test_running_out_empties_the_cache_then_says_what_there_is(child_env):
    done = subprocess.run(
        [sys.executable, "-c", OUT_OF_MEMORY], capture_output=True, text=True, env=child_env, check=False
    )
    assert done.stderr == ""
    flags, text = done.stdout.splitlines()
    assert flags == "True True True True"
    assert re.fullmatch(
        r"npu:0 is out of memory: tried to allocate [\d.]+ MiB, [\d.]+ MiB of [\d.]+ MiB are free; [\d.]+ MiB are "
        r"reserved here, [\d.]+ MiB of them in live tensors \(the cache was emptied\)",
        text,
    )


def test_an_empty_tensor_takes_no_memory():
    before = npu.memory_allocated()
    held = npu.alloc((0, 3), U8, "npu")
    assert (npu.memory_allocated(), held.data_ptr()) == (before, 0)


@simulator_only
def test_device_memory_faults_on_the_host(child_env):
    code = "import ctypes; from mindtorch_v2 import npu; ctypes.string_at(npu.upload(b'x').data_ptr(), 1)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=child_env, check=False)
    assert done.returncode < 0


def test_a_gate_on_each_npu(kernels):
    gates = [Gate(kernels, f"npu:{index}") for index in range(2)]
    assert not any(gate.stream.query() for gate in gates)
    for gate in gates:
        gate.open()
        gate.stream.synchronize()


# ---------------------------------------------------------------- counters
def test_stats_follow_what_is_allocated():
    npu.reset_peak_memory_stats()
    npu.reset_accumulated_memory_stats()
    before = npu.memory_stats()
    held = [npu.alloc((1000,), U8, "npu") for _ in range(3)]
    del held[1:]
    after = npu.memory_stats()

    def grown(name):
        return after[name] - before[name]

    for what in ("allocation", "active"):
        assert [grown(f"{what}.all.{m}") for m in ("current", "peak", "allocated", "freed")] == [1, 3, 3, 2]
    for what, size in (("allocated_bytes", 1024), ("active_bytes", 1024), ("requested_bytes", 1000)):
        metrics = [grown(f"{what}.all.{m}") for m in ("current", "peak", "allocated", "freed")]
        assert metrics == [size, 3 * size, 3 * size, 2 * size]
    assert [grown(f"segment.all.{m}") for m in ("current", "allocated", "freed")] == [3, 3, 0]
    assert grown("reserved_bytes.all.current") == 3 * 1024
    assert (grown("num_device_alloc"), grown("num_ooms")) == (3, 0)
    assert npu.max_memory_reserved() == npu.memory_reserved()
    npu.empty_cache()
    assert npu.memory_stats()["num_device_free"] == before["num_device_free"] + 2
    del held


def test_a_summary_to_read():
    held = npu.alloc((3 << 20,), U8, "npu")
    rows = [line.split("|") for line in npu.memory_summary().splitlines()]
    cells = {row[1].strip(): [cell.strip() for cell in row[2:-1]] for row in rows if len(row) == 7}
    assert cells["Metric"] == ["Cur Usage", "Peak Usage", "Tot Alloc", "Tot Freed"]
    assert cells["Allocated memory"][0] == f"{npu.memory_allocated() >> 20} MiB"
    assert set(cells) == {"Metric", "Allocated memory", "Requested memory", "Reserved memory", "Allocations",
                          "Reserved segments"}  # fmt: skip
    assert len(npu.memory_summary(abbreviated=True)) < len(npu.memory_summary())
    del held


def test_a_limit_for_the_process():
    total = npu.mem_get_info()[1]
    assert npu.get_per_process_memory_fraction() == 1.0
    npu.set_per_process_memory_fraction(0.25)
    try:
        cached = npu.alloc((total // 8,), U8, "npu")
        del cached
        fits = npu.alloc((total // 5,), U8, "npu")  # once the cache is emptied
        with pytest.raises(npu.OutOfMemoryError) as caught:
            npu.alloc((total // 10,), U8, "npu")
        assert str(caught.value).endswith(
            f"(the cache was emptied; the process may reserve {total / 4 / 2**20:.2f} MiB)"
        )
        assert npu.get_per_process_memory_fraction() == 0.25
        npu.alloc((total // 2,), U8, "npu:1")
        del fits
    finally:
        npu.set_per_process_memory_fraction(1.0)
    npu.alloc((total // 2,), U8, "npu")


@pytest.mark.parametrize(
    ("fraction", "kind", "expected"),
    [
        (1, TypeError, "Invalid type for fraction argument, must be `float`"),
        (1.5, ValueError, "Invalid fraction value: 1.5. Allowed range: 0~1"),
    ],
)
def test_a_limit_that_is_none(fraction, kind, expected):
    with pytest.raises(kind) as caught:
        npu.set_per_process_memory_fraction(fraction)
    assert str(caught.value) == expected


def test_record_stream(gate, scale):
    """As when a kernel gets the address another way: the tensor says itself which stream uses it."""
    x, ones = on("npu", np.full(4, 5, np.float32)), on("npu", np.ones(4, np.float32))
    out, address = npu.alloc_like(x), npu.tensor_ptr(x)
    with npu.stream(gate.stream):
        scale(1, address, out, 1.0, 4)
    x.record_stream(gate.stream)
    del x
    reused = npu.alloc_like(ones)
    assert reused.data_ptr() == address
    scale(1, ones, reused, 0.0, 4)
    gate.open()
    gate.stream.synchronize()
    np.testing.assert_array_equal(values(out), [5, 5, 5, 5])


def test_record_stream_is_no_change():
    """Which its schema says it is; in PyTorch nothing counts it either."""
    x = on("npu", [2.0, 3.0]).requires_grad_()
    y = x * x
    for tensor in (x, y):
        before = tensor._version, tensor.grad_fn
        assert tensor.record_stream(npu.current_stream()) is None
        assert (tensor._version, tensor.grad_fn) == before
    y.sum().backward()
    np.testing.assert_array_equal(values(x.grad), [4, 6])


def test_what_record_stream_refuses():
    with pytest.raises(TypeError, match=r"argument 's' .* must be npu.Stream, not int"):
        on("npu", [1.0]).record_stream(1)
    with pytest.raises(
        RuntimeError, match=r"expected a stream of npu:0, the tensor's device, got <npu.Stream device=npu:1"
    ):
        on("npu", [1.0]).record_stream(npu.default_stream(1))
