"""Updates of captured operators: generated ones, with real kernels, whose launch arguments change between replays."""

from __future__ import annotations

import copy
import gc
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _core, library, npu
from tests.codegen.support import load
from tests.npu.conftest import on, values
from tests.runtime.both import fresh_namespace

OPERATORS = """\
namespace: graph_update
ops:
- func: scale_first(Tensor x, int[] lens, *, float factor=1.0) -> Tensor
  doc: Returns the first ``lens[0]`` elements of ``x``, scaled; the others are as in memory.
  fake: {like: x}
  graph: {update: [lens, factor]}
  kernels:
  - {device: npu, source: KERNELS, symbol: scale, block_dim: 1, args: [x, out, f32(factor), 'u32(lens[0])']}
  backward: not_differentiable
- func: ramp(Tensor like, float offset) -> Tensor
  doc: Counts up from an offset.
  fake: {like: like}
  graph: {update: offset}
  kernels:
  - device: npu
    source: KERNELS
    symbol: iota_global
    block_dim: 1
    tiling: {n: u32(like.numel()), negate: bool(False), offset: f64(offset)}
    args: [out, upload(tiling)]
  backward: not_differentiable
"""


@pytest.fixture(scope="module")
def ops(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graph_update")
    return load(folder, OPERATORS.replace("KERNELS", str(Path(__file__).with_name("kernels.cpp"))))


@pytest.fixture
def x():
    return on("npu", np.arange(1, 5, dtype=np.float32))


def refused(call, kind=ValueError):
    with pytest.raises(kind) as caught:
        call()
    return caught.value


def captured(run):
    graph = npu.NPUGraph()
    with npu.graph(graph, auto_dispatch_capture=True):
        result = run()
    return graph, result


def test_a_replay_has_the_values_of_its_update(ops, x):
    graph, out = captured(lambda: ops.scale_first(ops.scale_first(x, [4], factor=2.0), [4], factor=10.0))
    for factor, lens in ((3.0, [4]), (0.5, [4]), (-1.0, [4])):
        graph.update(cpu_update_input=[{"factor": factor, "lens": lens}])
        graph.replay()
        np.testing.assert_array_equal(values(out), factor * factor * np.arange(1, 5))


def test_one_mapping_for_each_operator(ops, x):
    graph, out = captured(lambda: ops.scale_first(ops.scale_first(x, [4], factor=2.0), [4], factor=10.0))
    graph.update([{"factor": 3.0}, {}])
    graph.replay()
    np.testing.assert_array_equal(values(out), 30 * np.arange(1, 5))
    graph.update([{}, {"lens": [2], "factor": 100.0}])  # what was updated before stays so
    graph.replay()
    np.testing.assert_array_equal(values(out), [300, 600, 90, 120])


def test_an_update_is_what_the_eager_operator_does(ops, x):
    graph, out = captured(lambda: ops.ramp(x, 0.0) + ops.scale_first(x, [4], factor=1.0))
    rng = np.random.default_rng(5)
    for _ in range(20):
        offset, factor = (float(value) for value in rng.integers(-100, 100, 2))
        graph.update([{"offset": offset, "factor": factor}])
        graph.replay()
        eager = ops.ramp(x, offset) + ops.scale_first(x, [4], factor=factor)
        np.testing.assert_array_equal(values(out), values(eager))


def test_a_replay_waits_for_its_update(ops, x):
    graph, out = captured(lambda: ops.scale_first(x, [4], factor=2.0))
    stream = npu.Stream()
    with npu.stream(stream):
        for factor in (3.0, 5.0):
            graph.replay()
            assert not stream.query()
            graph.update([{"factor": factor}])
            stream.synchronize()
            np.testing.assert_array_equal(values(out), factor * np.arange(1, 5))
        graph.replay()
        assert not stream.query()
        graph.update([{}])  # the same values again
        stream.synchronize()
    np.testing.assert_array_equal(values(out), 5 * np.arange(1, 5))


def test_updates_and_replays_run_ahead_of_the_device(ops, x):
    graph, out = captured(lambda: ops.scale_first(x, [4], factor=2.0))
    results = [npu.alloc_like(x) for _ in range(20)]
    for i in range(20):
        if i < 10:
            graph.update([{"factor": 100.0}])
            graph.update([{"factor": float(i)}])  # for the same replay
        graph.replay()
        npu.copy_(results[i], out)
    for i in range(10, 20):
        graph.update([{"factor": float(i)}])
    for i, result in enumerate(results):
        np.testing.assert_array_equal(values(result), i * np.arange(1, 5))


def test_updates_keep_memory_flat(ops, x):
    graph, _ = captured(lambda: ops.ramp(ops.scale_first(x, [4]), 1.0))
    before = npu.memory_stats()
    for offset in range(50):
        graph.update([{"offset": float(offset), "factor": 2.0}])
        graph.replay()
    npu.synchronize()
    after = npu.memory_stats()
    assert after["allocation.all.allocated"] == before["allocation.all.allocated"]
    assert after["reserved_bytes.all.current"] == before["reserved_bytes.all.current"]


def test_a_record_keeps_no_tensor_alive_and_copies_the_rest(ops, x):
    lens = [4]
    gc.collect()
    before = npu.memory_allocated()
    graph, out = captured(lambda: ops.scale_first(ops.scale_first(x, lens, factor=2.0), lens, factor=2.0))
    assert npu.memory_allocated() - before == 512  # the temporary between the two is free
    lens[0] = 1000000
    graph.update([{"factor": 3.0}])
    graph.replay()
    np.testing.assert_array_equal(values(out), 9 * np.arange(1, 5))


def test_without_it_a_handled_operator_is_captured_as_any_other(ops, x):
    graph = npu.NPUGraph()
    with npu.graph(graph):
        out = ops.scale_first(x, [4], factor=2.0)
    graph.replay()
    np.testing.assert_array_equal(values(out), 2 * np.arange(1, 5))
    assert str(refused(lambda: graph.update([{"factor": 2.0}]))) == (
        "NPUGraph.update: 'factor' cannot be updated; the arguments that can be are none "
        "(`graph: {update: [...]}` in YAML, `Library.register_graph`)"
    )


AT_EXIT = """
import sys
from pathlib import Path
from tests.npu import test_graph_update as t
ops = t.load(Path(sys.argv[1]), t.OPERATORS.replace("KERNELS", sys.argv[2]))
x = t.on("npu", [1, 2, 3, 4], t.np.float32)
graph, out = t.captured(lambda: ops.scale_first(ops.scale_first(x, [4]), [4]))
for _ in range(3):
    graph.replay()
print("done")
"""


def test_a_process_may_end_while_replays_wait(child_env, tmp_path):
    here = Path(__file__)
    command = [sys.executable, "-c", AT_EXIT, tmp_path, here.with_name("kernels.cpp")]
    root = here.resolve().parents[2]
    done = subprocess.run(command, capture_output=True, text=True, env=child_env, cwd=root, check=False, timeout=120)
    assert (done.stderr, done.stdout, done.returncode) == ("", "done\n", 0)


# ---------------------------------------------------------------- refusals
def test_what_an_update_refuses(ops, x):
    graph, out = captured(lambda: ops.scale_first(ops.scale_first(x, [4]), [4]))
    assert str(refused(lambda: graph.update([{}, {}, {}]))) == (
        "NPUGraph.update: expected 1 mapping for all 2 updatable operators of the graph, or one for each, got 3"
    )
    assert str(refused(lambda: graph.update([{"factr": 1.0}]))) == (
        "NPUGraph.update: 'factr' cannot be updated; the arguments that can be are lens, factor of "
        "graph_update::scale_first (records 0, 1) (`graph: {update: [...]}` in YAML, `Library.register_graph`)"
    )
    message = str(refused(lambda: graph.update([{}, {"x": x}])))
    assert "the arguments that can be are lens, factor of graph_update::scale_first (record 1) " in message
    assert str(refused(lambda: graph.update({"factor": 1.0}), TypeError)) == (
        "NPUGraph.update: expected a list of mappings of argument names to values, got 'factor'"
    )
    assert str(refused(lambda: npu.NPUGraph().update([]), RuntimeError)) == (
        "NPUGraph.update: there is no captured graph; capture one first"
    )
    works(graph, out, 9)


def works(graph, out, by):
    """The graph can be updated and replayed as if nothing had happened."""
    assert not _core.npu_recording()
    graph.update([{"factor": 3.0}])
    graph.replay()
    np.testing.assert_array_equal(values(out), by * np.arange(1, 5))


def test_a_value_that_the_operator_refuses(ops, x):
    graph, out = captured(lambda: ops.scale_first(x, [4], factor=2.0))
    assert "factor" in str(refused(lambda: graph.update([{"factor": "two"}]), RuntimeError))
    assert "expected 0 to 4294967295, got -1" in str(refused(lambda: graph.update([{"lens": [-1]}]), OverflowError))
    works(graph, out, 3)


@pytest.fixture
def growing(scale):
    """An operator whose launches and memory depend on updatable arguments, which no capture can follow."""
    lib = library.Library(fresh_namespace(), "FRAGMENT")
    lib.define("grow(Tensor x, int launches, int elements) -> Tensor")

    def kernel(x, launches, elements):
        out = _core.alloc((elements,), x.dtype, x.device)
        for _ in range(launches):
            scale(1, x, out, 2.0, 4)
        return out

    lib.impl("grow", kernel, "NPU")
    lib.register_graph("grow", update=("launches", "elements"))
    yield getattr(torch.ops, lib.ns).grow.default
    lib._destroy()


def test_an_update_that_queues_another_number_of_tasks(growing, x):
    graph, out = captured(lambda: growing(x, 2, 4))
    for launches in (1, 3):
        error = refused(lambda n=launches: graph.update([{"launches": n}]), npu.NpuError)
        assert error.code == 107033
        assert f"NPUGraph.update of {growing.name()}: " in str(error)
    assert "the same tasks as the group" in str(error)
    graph.update([{"launches": 2}])
    graph.replay()
    np.testing.assert_array_equal(values(out), 2 * np.arange(1, 5))


def test_an_update_that_needs_more_memory(growing, x):
    graph, out = captured(lambda: growing(x, 1, 1000))
    assert str(refused(lambda: graph.update([{"elements": 2000}]), RuntimeError)) == (
        f"NPUGraph.update of {growing.name()}: record 0, `elements`: allocation 1 of the operator needs 8000 bytes, "
        "and there are 4096 for it since it was captured: capture with the largest values"
    )
    graph.update([{"elements": 4}])
    graph.replay()
    np.testing.assert_array_equal(values(out)[:4], 2 * np.arange(1, 5))


def test_an_operator_that_fails_in_its_capture(ops, x):
    graph = npu.NPUGraph()

    def capture():
        with npu.graph(graph, auto_dispatch_capture=True):
            refused(lambda: ops.scale_first(x, [-1]), OverflowError)

    assert str(refused(capture, RuntimeError)).startswith(
        "the capture of graph_update::scale_first failed: graph_update::scale_first: argument 'lens[0]': kernel scale"
    )
    again, out = captured(lambda: ops.scale_first(x, [4], factor=2.0))
    works(again, out, 3)


def test_task_groups_by_hand(scale, x):
    """What the handlers do, with torch_npu's own functions."""
    graph, event, out = npu.NPUGraph(), npu.ExternalEvent(), npu.alloc_like(x)
    with npu.graph(graph):
        stream = npu.current_stream()
        event.wait(stream)
        event.reset(stream)
        npu.graph_task_group_begin(stream)
        scale(1, x, out, 2.0, 4)
        handle = npu.graph_task_group_end(stream)
    updates = npu.Stream()
    for factor in (3.0, 4.0):
        with npu.stream(updates):
            npu.graph_task_update_begin(updates, handle)
            scale(1, x, out, factor, 4)
            npu.graph_task_update_end(updates)
            event.record(updates)
        graph.replay()
        np.testing.assert_array_equal(values(out), factor * np.arange(1, 5))
    assert refused(lambda: npu.graph_task_group_begin(updates), npu.NpuError).code == 107029
    assert refused(lambda: npu.graph_task_group_end(updates), npu.NpuError).code == 107029
    assert refused(lambda: npu.graph_task_update_end(updates), npu.NpuError).code == 107033
    assert not _core.npu_recording()
    assert copy.copy(handle) == handle
