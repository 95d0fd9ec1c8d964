"""Streams and events: order, overlap, and faults that surface late."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from mindtorch_v2 import _core, npu
from tests.npu.conftest import on, simulator_only, values


def message(call, kind):
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


# ---------------------------------------------------------------- devices
def test_devices():
    assert npu.is_available()
    assert npu.device_count() >= 2
    assert npu.get_device_name().startswith("Ascend")
    assert npu.is_simulated() == npu.get_device_name().endswith("-sim")
    properties = npu.get_device_properties("npu:1")
    assert properties.name == npu.get_device_name(1)
    assert properties.total_memory == npu.mem_get_info(1)[1]


def test_the_current_device():
    assert npu.current_device() == 0
    with npu.device(1):
        assert npu.current_device() == 1
        assert npu.alloc((2,), _core.dtypes["float32"], "npu").device == _core.device("npu:1")
        with npu.device("npu:0"):
            assert npu.current_device() == 0
        assert npu.current_device() == 1
    assert npu.current_device() == 0


def test_each_thread_has_its_own_current_device():
    seen = []
    with npu.device(1):
        thread = threading.Thread(target=lambda: seen.append(npu.current_device()))
        thread.start()
        thread.join()
    assert seen == [0]


@pytest.mark.parametrize(
    ("device", "kind", "expected"),
    [
        (7, RuntimeError, "npu:7 does not exist: there are 2 NPUs, npu:0 to npu:1"),
        ("npu:-1", RuntimeError, "Invalid device string: 'npu:-1'"),
        ("cpu", ValueError, "expected an npu device, got cpu"),
    ],
)
def test_a_device_that_is_not_there(device, kind, expected):
    if npu.device_count() != 2:
        pytest.skip("the message has the simulator's count")
    assert message(lambda: npu.set_device(device), kind) == expected


# ---------------------------------------------------------------- streams
def test_a_launch_does_not_wait(gate):
    assert not gate.stream.query()
    gate.open()
    gate.stream.synchronize()
    assert gate.stream.query()


def test_streams_run_side_by_side(gate, scale):
    x = on("npu", [1], np.float32)
    scale(1, x, x, 2.0, 1)
    npu.current_stream().synchronize()
    assert not gate.stream.query()
    assert values(x)[0] == 2


def test_the_current_stream(gate, scale):
    assert npu.current_stream() == npu.default_stream()
    x = on("npu", [1], np.float32)
    with npu.stream(gate.stream):
        assert npu.current_stream() == gate.stream
        scale(1, x, x, 2.0, 1)
    assert npu.current_stream() == npu.default_stream()
    assert values(x)[0] == 1  # read on the default stream: the gated launch has not run
    gate.open()
    gate.stream.synchronize()
    assert values(x)[0] == 2


def test_a_stream_waits_for_another(gate, scale):
    x = on("npu", [1], np.float32)
    other = npu.Stream()
    other.wait_stream(gate.stream)
    with npu.stream(other):
        scale(1, x, x, 3.0, 1)
    assert not other.query()
    gate.open()
    other.synchronize()
    assert values(x)[0] == 3


def test_a_stream_of_another_device_becomes_current_with_its_device(scale):
    stream = npu.Stream("npu:1")
    with npu.stream(stream):
        assert npu.current_device() == 1
        x = on("npu", [1], np.float32)
        assert x.device == _core.device("npu:1")
        scale(1, x, x, 2.0, 1)
        assert values(x)[0] == 2
    assert npu.current_device() == 0


def test_streams_come_from_a_pool():
    streams = [npu.Stream() for _ in range(100)]
    assert len({stream.npu_stream for stream in streams}) == 32
    assert npu.default_stream() not in streams


def test_each_thread_has_its_own_current_stream(gate):
    seen = []
    with npu.stream(gate.stream):
        thread = threading.Thread(target=lambda: seen.append(npu.current_stream() == npu.default_stream()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_threads_launch_on_streams_of_their_own(scale):
    results = {}

    def work(index):
        with npu.stream(npu.Stream(index % 2)):
            x = on("npu", np.full(64, index), np.float32)
            for _ in range(50):
                doubled = npu.alloc_like(x)
                scale(2, x, doubled, 2.0, 64)
                scale(2, doubled, x, 0.5, 64)
            results[index] = values(x)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for index in range(4):
        np.testing.assert_array_equal(results[index], np.full(64, index))


# ---------------------------------------------------------------- events
def test_an_event(gate):
    event = gate.stream.record_event()
    assert not event.query()
    gate.open()
    event.synchronize()
    assert event.query()


def test_an_event_that_was_never_recorded_is_done():
    event = npu.Event()
    event.wait()
    event.synchronize()
    assert event.query()


def test_a_wait_takes_the_latest_record(gate):
    event = npu.Event()
    event.record()
    event.record(gate.stream)
    other = npu.Stream()
    event.wait(other)
    assert not other.query()
    gate.open()
    other.synchronize()


def test_elapsed_time(gate):
    start, end = npu.Event(enable_timing=True), npu.Event(enable_timing=True)
    start.record(gate.stream)
    end.record(gate.stream)
    gate.open()
    end.synchronize()
    assert start.elapsed_time(end) >= 0


def test_what_events_refuse():
    timed, plain = npu.Event(enable_timing=True), npu.Event()
    assert message(lambda: timed.elapsed_time(plain), ValueError) == (
        "elapsed_time needs events made with enable_timing=True"
    )
    assert message(lambda: timed.elapsed_time(npu.Event(enable_timing=True)), ValueError) == (
        "elapsed_time needs both events to have been recorded"
    )
    plain.record()
    assert message(lambda: plain.record(npu.Stream("npu:1")), RuntimeError) == (
        "an event of npu:0 cannot be recorded on a stream of npu:1"
    )


# ---------------------------------------------------------------- faults
FAULT = """
from pathlib import Path
import numpy as np
from mindtorch_v2 import npu
from tests.npu.conftest import on
kernels = npu.ascendc_load("launcher_tests", Path("tests/npu/kernels.cpp"))
x = on("npu", [1], np.float32)
good = kernels.bind("scale", (npu.ptr, npu.ptr, npu.f32, npu.u32))
bad = kernels.bind("too_large", (npu.ptr,))
good(1, x, x, 2.0, 1)
where = "launch"
try:
    bad(1, x)
    good(1, x, x, 2.0, 1)
    where = "synchronize"
    npu.current_stream().synchronize()
except npu.NpuError as error:
    print(where, error.code)
    print(error)
"""


def run_fault(child_env, **variables):
    root = str(Path(__file__).resolve().parents[2])
    env = {**child_env, **variables}  # from the root, so that the script finds `tests`
    done = subprocess.run([sys.executable, "-c", FAULT], capture_output=True, text=True, env=env, cwd=root, check=False)
    assert done.stderr == ""
    return done.stdout.splitlines()


@simulator_only
def test_a_fault_surfaces_late_with_the_last_launches(child_env):
    lines = run_fault(child_env)
    assert lines[0] == "synchronize 507035"
    assert lines[1].startswith("Stream.synchronize on npu:0: error 507035 (a kernel faulted on an AI core: ")
    assert lines[2] == "last launches there: scale, too_large, scale; the fault may come from any of them"
    assert lines[3] == "to find the launch that faults, run again with MINDTORCH_LAUNCH_BLOCKING=1"
    assert "InitBuffer: 1 x 1048576 bytes do not fit" in "\n".join(lines[4:])


@simulator_only
def test_a_blocking_launch_raises_its_own_fault(child_env):
    lines = run_fault(child_env, MINDTORCH_LAUNCH_BLOCKING="1")
    assert lines[0] == "launch 507035"
    assert lines[1].startswith("kernel too_large: error 507035")


# ---------------------------------------------------------------- as PyTorch has them
def test_a_stream_is_a_context():
    first, second = npu.Stream(), npu.Stream("npu:1")
    with first as entered, second:
        assert entered is first
        assert npu.current_stream() == second
        with first:
            assert npu.current_stream(0) == first
        assert npu.current_device() == 1
    assert npu.current_stream(0) == npu.default_stream(0)
    assert npu.current_stream(1) == npu.default_stream(1)
    assert npu.current_device() == 0


def test_priorities():
    least, most = npu.Stream.priority_range()
    assert (least, most) == (0, -7)
    urgent = npu.Stream(priority=-3)
    assert (npu.Stream().priority, urgent.priority, npu.Stream(priority=-100).priority) == (0, -3, -7)
    assert npu.Stream(priority=5).priority == 0
    assert urgent.npu_stream not in {npu.Stream().npu_stream for _ in range(40)}
    urgent.synchronize()


def test_an_external_stream_is_used_by_its_handle(scale):
    own = npu.Stream("npu:1")
    stream = npu.ExternalStream(own.npu_stream, "npu:1")
    assert stream == own
    with npu.stream(stream):
        x = on("npu", [2], np.float32)
        scale(1, x, x, 4.0, 1)
    own.synchronize()
    assert values(x)[0] == 8


def test_an_external_event_is_a_flag():
    event, stream, other = npu.Event(external=True), npu.Stream(), npu.Stream()
    event.wait(stream)
    event.reset(stream)
    assert not stream.query()
    event.record(other)
    stream.synchronize()
    assert not event.query()
    assert isinstance(npu.ExternalEvent(), npu.Event)
    assert message(lambda: npu.Event().reset(), RuntimeError) == (
        "npu.Event.reset: only an event made with external=True is cleared"
    )
    assert message(lambda: npu.Event(interprocess=True), RuntimeError) == (
        "npu.Event: events shared between processes are not supported"
    )


def test_the_device_of_a_tensor():
    with npu.device_of(on("npu:1", [1.0])):
        assert npu.current_device() == 1
        with npu.device_of(on("cpu", [1.0])):
            assert npu.current_device() == 1
    assert npu.current_device() == 0
