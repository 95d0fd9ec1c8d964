"""``torch.npu.profile``: one file with what the host did and what ran on which stream."""

from __future__ import annotations

import ctypes
import gzip
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _core, npu
from mindtorch_v2.autograd import _chrome_trace
from mindtorch_v2.autograd._recording import Recording, Span
from mindtorch_v2.npu import timeline
from tests.npu.conftest import on, simulator_only

Event = dict[str, Any]
pytestmark = simulator_only


def traced(path: Path) -> list[Event]:
    return list(json.loads(path.read_text())["traceEvents"])


def slices(events: list[Event], *categories: str) -> list[Event]:
    return [event for event in events if event["ph"] == "X" and event["cat"] in categories]


def inside(inner: Event, outer: Event) -> bool:
    begin, end = inner["ts"], inner["ts"] + inner["dur"]
    return outer["ts"] <= begin + 1e-3 and end <= outer["ts"] + outer["dur"] + 1e-3


def lanes(events: list[Event]) -> dict[tuple[int, int], str]:
    return {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}


def fails_after(call: Callable[[], Any], message: str = "inside") -> None:
    call()
    raise ValueError(message)


@pytest.fixture
def x() -> torch.Tensor:
    return on("npu", np.ones(1000, np.float32))


def test_launches_and_kernels_with_an_arrow_from_one_to_the_other(tmp_path: Path, x: torch.Tensor) -> None:
    x.exp()
    npu.synchronize()
    with npu.profile(tmp_path / "trace.json") as p:
        y = x.exp() * x
    events = traced(tmp_path / "trace.json")
    launches, kernels = slices(events, "launch"), slices(events, "kernel")
    assert (
        [e["name"] for e in launches]
        == [f"launch {e['name']}" for e in kernels]
        == ["launch exp_f32", "launch mul_f32"]
    )
    calls = {e["name"]: e for e in slices(events, "cpu_op")}
    starts = {e["id"]: e for e in events if e["ph"] == "s" and e["cat"] == "ac2g"}
    ends = {e["id"]: e for e in events if e["ph"] == "f" and e["cat"] == "ac2g"}
    assert starts.keys() == ends.keys() == {e["args"]["correlation"] for e in kernels}
    for launch, kernel, name in zip(launches, kernels, ("aten::exp", "aten::mul"), strict=True):
        assert inside(launch, calls[name])
        start, end = starts[kernel["args"]["correlation"]], ends[kernel["args"]["correlation"]]
        assert launch["ts"] <= start["ts"] <= launch["ts"] + launch["dur"]
        assert (start["pid"], start["tid"]) == (launch["pid"], launch["tid"])
        assert (end["pid"], end["tid"], end["ts"]) == (kernel["pid"], kernel["tid"], kernel["ts"])
        assert kernel["ts"] >= start["ts"]
        assert kernel["args"]["External id"] == launch["args"]["External id"]
    assert y.sum().item() > 0
    assert p.recording is not None
    assert p.recording.notes == ()


def test_streams_and_threads_are_lanes(tmp_path: Path, x: torch.Tensor) -> None:
    side = npu.Stream()

    def work() -> None:
        with torch.profiler.record_function("in the thread"):
            x.exp()

    with npu.profile(tmp_path / "trace.json"):
        y = x * x
        side.wait_stream(npu.current_stream())
        with npu.stream(side):
            y.exp()
        npu.current_stream().wait_stream(side)
        thread = threading.Thread(target=work, name="worker")
        thread.start()
        thread.join()
    events = traced(tmp_path / "trace.json")
    kernels = {e["name"]: e for e in slices(events, "kernel")}
    labels = slices(events, "user_annotation")
    assert [e["name"] for e in labels] == ["in the thread"]
    assert labels[0]["tid"] != threading.get_native_id()
    named = lanes(events)
    assert "MainThread" in named[os.getpid(), threading.get_native_id()]
    mine = {e["tid"] for e in slices(events, "kernel")}
    assert len(mine) == 2
    assert all(named[kernels["mul_f32"]["pid"], lane].startswith("stream ") for lane in mine)
    for lane in mine:  # on a stream one thing runs after the other
        own = sorted((e for e in slices(events, "kernel", "event wait") if e["tid"] == lane), key=lambda e: e["ts"])
        assert all(a["ts"] + a["dur"] <= b["ts"] + 1e-3 for a, b in pairwise(own))


def test_copies_and_waits(tmp_path: Path, x: torch.Tensor) -> None:
    with npu.profile(tmp_path / "trace.json"):
        x.cpu()
        torch.ones(10).to("npu")
        npu.synchronize()
    events = traced(tmp_path / "trace.json")
    assert [e["name"] for e in slices(events, "gpu_memcpy")] == ["Memcpy DtoH", "Memcpy HtoD"]
    assert [e["args"]["bytes"] for e in slices(events, "gpu_memcpy")] == [4000, 40]
    assert {e["name"] for e in slices(events, "wait")} >= {"wait aclrtSynchronizeStream", "wait aclrtSynchronizeDevice"}
    assert [e["name"] for e in slices(events, "copy")] == ["copy aclrtMemcpy"] * 2


def test_a_replay_is_a_span_around_its_kernels(tmp_path: Path, x: torch.Tensor) -> None:
    graph = npu.NPUGraph()
    with npu.profile(tmp_path / "trace.json"):
        with npu.graph(graph):
            x.exp() * x
        graph.replay()
    events = traced(tmp_path / "trace.json")
    (capture,) = slices(events, "capture")
    launches = slices(events, "launch")
    assert [e["name"] for e in launches] == ["launch exp_f32", "launch mul_f32"]
    assert all(inside(launch, capture) for launch in launches)
    (replay,), (run,) = slices(events, "replay"), slices(events, "graph")
    kernels = slices(events, "kernel")
    assert [e["name"] for e in kernels] == ["exp_f32", "mul_f32"]
    assert all(inside(kernel, run) and kernel["tid"] == run["tid"] for kernel in kernels)
    (start,) = [e for e in events if e["ph"] == "s" and e["cat"] == "ac2g"]  # to the graph, not to each of its kernels
    assert replay["ts"] <= start["ts"] <= replay["ts"] + replay["dur"]


def test_memory_of_both_sides_and_shapes(tmp_path: Path, x: torch.Tensor) -> None:
    with npu.profile(tmp_path / "trace.json", profile_memory=True, record_shapes=True):
        y = x.exp()
        del y
        torch.ones(100)
    events = traced(tmp_path / "trace.json")
    changes = [(e["args"]["Device"], e["args"]["Bytes"]) for e in events if e["name"] == "[memory]"]
    assert changes[:2] == [("npu:0", 4000), ("npu:0", -4000)]
    assert ("cpu", 400) in changes
    (exp,) = [e for e in slices(events, "cpu_op") if e["name"] == "aten::exp"]
    assert exp["args"]["Input Dims"] == [[1000]]


def test_times_of_kernels_are_those_of_their_calls(x: torch.Tensor) -> None:
    with torch.profiler.profile(profile_memory=True) as p:
        (x.exp() * x).sum()
    averages = {event.key: event for event in p.key_averages()}
    exp, kernel = averages["aten::exp"], averages["exp_f32"]
    assert 0 < exp.device_time_total == pytest.approx(kernel.device_time_total)
    assert kernel.device_time_total == kernel.self_device_time_total
    assert (kernel.self_cpu_time_total, kernel.count) == (0, 1)
    assert exp.self_device_memory_usage == 4000
    (event,) = [event for event in p.events() if event.name == "aten::exp"]
    assert [name for name, _, _ in event.kernels] == ["exp_f32"]
    table = p.key_averages().table(sort_by="self_device_time_total")
    assert {"Self NPU", "NPU total", "NPU Mem"} <= set(
        table.splitlines()[1].split("  ") + table.splitlines()[1].split("   ")
    ) or ("Self NPU" in table and "NPU total" in table and "NPU Mem" in table)
    assert "Self NPU time total:" in table


def test_without_the_devices_activity_there_are_no_kernels(x: torch.Tensor) -> None:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as p:
        x.exp()
    assert "exp_f32" not in {event.name for event in p.events()}
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.NPU]) as p:
        x.exp()
    assert {event.name for event in p.events()} == {"exp_f32"}


def test_an_exception_inside_leaves_a_whole_trace(tmp_path: Path, x: torch.Tensor) -> None:
    with pytest.raises(ValueError, match="inside"), npu.profile(tmp_path / "trace.json"):
        fails_after(x.exp)
    assert [e["name"] for e in slices(traced(tmp_path / "trace.json"), "kernel")] == ["exp_f32"]
    assert [path.name for path in tmp_path.iterdir()] == ["trace.json"]


def test_a_fault_of_a_kernel_is_raised_and_the_trace_written(tmp_path: Path, child_env: dict[str, str]) -> None:
    code = """
import sys, ctypes
import mindtorch_v2 as torch
from mindtorch_v2 import npu
launcher = npu.ascendc_load("timeline_tests", sys.argv[1])
fail = launcher.bind("timeline_fault", (npu.u32,))
x = torch.ones(10, device="npu")
try:
    with npu.profile(sys.argv[2]):
        x.exp()
        fail(1, 3)
except npu.NpuError as error:
    print("raised", "timeline_fault" in str(error))
with npu.profile(sys.argv[2] + ".2"):
    x.exp()
"""
    (tmp_path / "fault.cpp").write_text(
        '#include "kernel_operator.h"\n#include <stdexcept>\n'
        'extern "C" __global__ __aicore__ void timeline_fault(uint32_t n) { throw std::runtime_error("broken"); }\n'
    )
    command = [sys.executable, "-c", code, str(tmp_path / "fault.cpp"), str(tmp_path / "trace.json")]
    done = subprocess.run(command, env=child_env, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "raised True", done.stderr
    assert [e["name"] for e in slices(traced(tmp_path / "trace.json"), "kernel")] == ["exp_f32", "timeline_fault"]


def test_mistakes(tmp_path: Path) -> None:
    with npu.profile(tmp_path / "trace.json") as p:
        with pytest.raises(RuntimeError, match="is not reentrant"), p:
            pass
        with pytest.raises(RuntimeError, match="a profiler runs already"), npu.profile(tmp_path / "other.json"):
            pass
        with pytest.raises(RuntimeError, match="a profiler runs already"), torch.profiler.profile():
            pass
    with pytest.raises(RuntimeError, match="is left without having been entered"):
        npu.profile(tmp_path / "trace.json").__exit__(None, None, None)
    ran = False
    with pytest.raises(FileNotFoundError, match="the trace cannot be written"), npu.profile(tmp_path / "no" / "t.json"):
        ran = True
    with pytest.raises(IsADirectoryError, match="the trace cannot be written"), npu.profile(tmp_path):
        ran = True
    assert not ran  # an hour's work is not done first
    assert [path.name for path in tmp_path.iterdir()] == ["trace.json"]


def test_a_folder_that_goes_while_the_block_runs(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(FileNotFoundError, match="the trace cannot be written"), npu.profile(folder / "trace.json"):
        folder.rmdir()
    with npu.profile(tmp_path / "trace.json"):
        pass  # the profiler is free again
    folder.mkdir()
    with pytest.raises(ValueError, match="says more"), npu.profile(folder / "trace.json"):
        fails_after(folder.rmdir, "says more")


def test_a_trace_replaces_an_older_one_whole(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text("older")
    with npu.profile(path):
        assert path.read_text() == "older"
    assert traced(path)
    assert path.stat().st_mode & 0o777 == 0o666 & ~_chrome_trace._umask()


def test_a_forked_child_writes_nothing(tmp_path: Path) -> None:
    with npu.profile(tmp_path / "trace.json") as p:
        torch.ones(3).exp()
        child = os.fork()
        if child == 0:
            try:
                torch.ones(3).exp()
                p.__exit__(None, None, None)
                os._exit(0 if not list(tmp_path.iterdir()) else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert [e["name"] for e in slices(traced(tmp_path / "trace.json"), "cpu_op")] == ["aten::ones", "aten::exp"]


def test_an_npu_that_is_opened_inside(tmp_path: Path, child_env: dict[str, str]) -> None:
    code = """
import sys, mindtorch_v2 as torch
with torch.npu.profile(sys.argv[1]):
    assert not torch.npu.is_initialized()
    torch.ones(10, device="npu").exp()
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "trace.json")], env=child_env, check=True)
    assert "exp_f32" in [e["name"] for e in slices(traced(tmp_path / "trace.json"), "kernel")]


def test_a_profile_that_ends_inside_a_capture_does_not_spoil_it(tmp_path: Path, x: torch.Tensor) -> None:
    graph = npu.NPUGraph()
    with npu.graph(graph), npu.profile(tmp_path / "trace.json") as p:
        y = x.exp()
    graph.replay()
    assert y.cpu()[0].item() == pytest.approx(np.e)
    assert p.recording is not None
    assert p.recording.notes == ("the profile ended while a graph was captured, so it did not wait for the NPUs",)


def test_on_hardware_times_of_kernels_are_absent_and_the_trace_says_so(
    tmp_path: Path, x: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    object.__setattr__(npu.runtime.opened(), "simulated", False)
    try:
        with npu.profile(tmp_path / "trace.json"):
            x.exp()
    finally:
        object.__setattr__(npu.runtime.opened(), "simulated", True)
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert [e["name"] for e in slices(trace["traceEvents"], "launch")] == ["launch exp_f32"]
    assert slices(trace["traceEvents"], "kernel") == []
    assert "kernels' times are absent" in trace["notes"][0]


def test_copies_within_an_npu(tmp_path: Path, x: torch.Tensor) -> None:
    """As a delegate makes them: asked for by the core itself."""
    y = torch.empty_like(x)
    with npu.profile(tmp_path / "trace.json"):
        torch._core.npu_copy_within(y, x, x.nbytes)
    events = traced(tmp_path / "trace.json")
    assert [event["name"] for event in slices(events, "copy")] == ["copy aclrtMemcpyAsync"]
    assert len(slices(events, "gpu_memcpy")) == 1


def test_command_buffers(tmp_path: Path, x: torch.Tensor) -> None:
    buffer = npu.command_buffer()
    buffer.commit_and_wait()
    with npu.profile(tmp_path / "trace.json"):
        buffer.encode(x.exp)
        buffer.encode(x.exp)
        buffer.commit()
        buffer.encode(x.neg)
        buffer.commit_and_wait()
    events = traced(tmp_path / "trace.json")
    encodes, commits = slices(events, "encode"), slices(events, "commit")
    assert [e["name"] for e in encodes] == ["encode exp on npu:0"] * 2 + ["encode neg on npu:0"]
    assert [e["name"] for e in commits] == ["commit 2 operations on npu:0", "commit 1 operations on npu:0"]
    waits = {e["name"]: e for e in slices(events, "wait")}
    assert inside(waits["wait aclrtSynchronizeStream"], waits["wait for what is committed on npu:0"])
    assert encodes[1]["ts"] <= commits[0]["ts"] <= encodes[2]["ts"] <= commits[1]["ts"]


def test_spans_of_ones_own_are_free_outside_and_shown_inside(tmp_path: Path) -> None:
    assert _core.span("commit", "a") is _core.span("commit", "b")
    with npu.profile(tmp_path / "trace.json"), _core.span("commit", "3 kernels"), _core.span("encode", "exp"):
        pass
    events = slices(traced(tmp_path / "trace.json"), "commit", "encode")
    assert [(e["cat"], e["name"]) for e in events] == [("commit", "commit 3 kernels"), ("encode", "encode exp")]


def test_a_profile_that_is_dropped_while_it_runs_is_over(tmp_path: Path, x: torch.Tensor) -> None:
    p = npu.profile(tmp_path / "dropped.json")
    p.__enter__()
    x.exp()
    del p
    npu.synchronize()
    with npu.profile(tmp_path / "trace.json"):
        x * x
    assert [e["name"] for e in slices(traced(tmp_path / "trace.json"), "kernel")] == ["mul_f32"]
    assert [path.name for path in tmp_path.iterdir()] == ["trace.json"]


def test_a_name_of_any_text_is_written(tmp_path: Path) -> None:
    label = 'a "quoted" \\ label\nof two lines \u2192 \x00'
    with npu.profile(tmp_path / "trace.json.gz"), torch.profiler.record_function(label):
        pass
    events = json.loads(gzip.decompress((tmp_path / "trace.json.gz").read_bytes()))["traceEvents"]
    assert [e["name"] for e in slices(events, "user_annotation")] == [label]


def test_the_layout_of_a_span_is_that_of_the_header() -> None:
    assert ctypes.sizeof(timeline.Timed) == 144


def test_a_recording_without_devices_is_a_trace() -> None:
    span = Span("cpu_op", "aten::add", "Tensor", 1_000, 3_500, 7, 7, -1, -1)
    trace = _chrome_trace.trace_of(Recording(0, 5_000, 0, (span,), (), (), {}), "name")
    (event,) = slices(trace["traceEvents"], "cpu_op")
    assert (event["ts"], event["dur"], event["tid"]) == (1.0, 2.5, 7)
