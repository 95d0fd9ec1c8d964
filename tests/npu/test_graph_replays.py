"""Replays that wait for an update: until when, what the error says, and that the graph can be used afterwards."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.npu.conftest import simulator_only

PREPARE = """
import sys, gc, threading, time
import numpy as np
import mindtorch_v2 as torch
from mindtorch_v2 import npu, library
from tests.npu.conftest import on, values

lib = library.Library("waits", "FRAGMENT")
scale = npu.ascendc_load("launcher_tests", sys.argv[1]).bind("scale", (npu.ptr, npu.ptr, npu.f32, npu.u32))
lib.define("scaled(Tensor x, float factor) -> Tensor")

def kernel(x, factor):
    out = npu.alloc_like(x)
    scale(1, x, out, factor, x.numel())
    return out

lib.impl("scaled", kernel, "NPU")
lib.register_graph("scaled", update="factor")
x = on("npu", np.arange(1, 5, dtype=np.float32))

def captured(run, **options):
    graph = npu.NPUGraph()
    with npu.graph(graph, auto_dispatch_capture=True, **options):
        result = run()
    return graph, result

def twice():
    return torch.ops.waits.scaled(torch.ops.waits.scaled(x, 1.0), 1.0)

def told(wait):
    started = time.monotonic()
    try:
        wait()
    except npu.NpuError as error:
        return error, time.monotonic() - started
    raise SystemExit("no error")
"""

WAITS = {
    "the stream": "npu.current_stream().synchronize()",
    "the device": "npu.synchronize()",
    "a copy": "out.cpu()",
}


def run(child_env, script, **variables):
    here = Path(__file__)
    command = [sys.executable, "-c", PREPARE + script, here.with_name("kernels.cpp")]
    env = {**child_env, "MINDTORCH_SIM_TIMEOUT": "1", **variables}
    done = subprocess.run(
        command, capture_output=True, text=True, env=env, cwd=here.resolve().parents[2], check=False, timeout=120
    )
    assert (done.stderr, done.returncode) == ("", 0), done.stdout
    return done.stdout


@simulator_only
@pytest.mark.parametrize("what", WAITS)
def test_a_replay_without_its_update_is_an_error_in_time(child_env, what):
    script = f"""
graph, out = captured(twice)
graph.replay()
error, seconds = told(lambda: {WAITS[what]})
assert error.code == 507011, error
text = str(error)
assert "nobody recorded it for 1 s, as when a captured graph is replayed without an update" in text, text
assert "a captured graph, which waits for NPUGraph.update of waits::scaled (factor); waits::" in text, text
assert 0.9 < seconds < 20, seconds
for factor in (2.0, 3.0):  # it can be used as if nothing had happened
    graph.update([{{"factor": factor}}])
    graph.replay()
    np.testing.assert_array_equal(values(out), factor * factor * np.arange(1, 5))
print("done")
"""
    assert run(child_env, script) == "done\n"


@simulator_only
def test_every_replay_without_its_update_fails_and_none_of_the_others(child_env):
    script = """
graph, out = captured(twice)
graph.update([{"factor": 2.0}])
graph.replay()
graph.replay()
graph.replay()
error, seconds = told(npu.synchronize)
assert 1.8 < seconds < 30, seconds
np.testing.assert_array_equal(values(out), 4 * np.arange(1, 5))
for factor in (3.0, 5.0, 7.0):
    graph.update([{"factor": factor}])
    graph.replay()
    np.testing.assert_array_equal(values(out), factor * factor * np.arange(1, 5))
print("done")
"""
    assert run(child_env, script) == "done\n"


@simulator_only
def test_other_streams_and_graphs_go_on_meanwhile(child_env):
    script = """
graph, out = captured(twice)
other, result = captured(twice)
side = npu.Stream()
with npu.stream(side):
    graph.replay()
other.update([{"factor": 2.0}])
other.replay()
npu.current_stream().synchronize()
np.testing.assert_array_equal(values(result), 4 * np.arange(1, 5))
assert not side.query()
error, _ = told(side.synchronize)
assert error.code == 507011
print("done")
"""
    assert run(child_env, script) == "done\n"


@simulator_only
def test_an_update_that_another_thread_gives_in_time(child_env):
    script = """
graph, out = captured(twice)

def late():
    time.sleep(0.3)
    graph.update([{"factor": 2.0}])

thread = threading.Thread(target=late)
graph.replay()
thread.start()
npu.synchronize()
thread.join()
np.testing.assert_array_equal(values(out), 4 * np.arange(1, 5))
print("done")
"""
    assert run(child_env, script, MINDTORCH_SIM_TIMEOUT="20") == "done\n"


@simulator_only
def test_replays_that_fill_the_queue_wait_for_updates_of_another_thread(child_env):
    script = """
graph, out = captured(twice)
count = 1500  # more than the queue holds, with the end of each
replayed = threading.Semaphore(0)

def updates():
    time.sleep(0.5)  # by then the queue is full
    for step in range(count):
        replayed.acquire()  # of several updates before one replay the last counts: there is one for each
        graph.update([{"factor": float(step)}])

thread = threading.Thread(target=updates)
for step in range(count):
    if step == 500:
        thread.start()
    graph.replay()
    replayed.release()
thread.join()
npu.synchronize()
np.testing.assert_array_equal(values(out), float(count - 1) ** 2 * np.arange(1, 5))
print("done")
"""
    assert run(child_env, script, MINDTORCH_SIM_TIMEOUT="60") == "done\n"


@simulator_only
def test_a_graph_that_waits_when_it_is_dropped(child_env):
    script = """
for number in range(3):
    graph, out = captured(twice)
    graph.replay()
    if number == 2:
        graph.reset()
    del graph, out
npu.synchronize()
print("done")
"""
    assert run(child_env, script, MINDTORCH_SIM_TIMEOUT="0") == "done\n"


@simulator_only
def test_a_forked_child_is_told(child_env):
    script = """
import os, warnings
warnings.simplefilter("ignore")
graph, out = captured(twice)
npu.synchronize()
pid = os.fork()
if pid == 0:
    told_ = []
    for call in (graph.replay, lambda: graph.update([{"factor": 2.0}]), lambda: captured(twice)):
        try:
            call()
        except npu.NpuError as error:
            told_.append("forked" in str(error))
    os._exit(0 if told_ == [True] * 3 else 1)
assert os.waitpid(pid, 0)[1] == 0
graph.update([{"factor": 2.0}])
graph.replay()
np.testing.assert_array_equal(values(out), 4 * np.arange(1, 5))
print("done")
"""
    assert run(child_env, script) == "done\n"
