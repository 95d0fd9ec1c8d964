"""Pools of graphs: what `memory_stats` says of them, two graphs in one, and tokens that are none."""

from __future__ import annotations

import gc
import json
from xml.etree import ElementTree

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import npu
from tests.npu.conftest import on, values


def sizes(kind="reserved_bytes"):
    """{pool: bytes} of all pools that there are."""
    return {
        name.split(".")[1]: value
        for name, value in npu.memory_stats().items()
        if name.startswith(f"{kind}.graph_pool_")
    }


def test_memory_stats_tell_each_pool():
    gc.collect()
    before = npu.memory_stats()["reserved_bytes.graph_pools.current"]
    x, token = on("npu", np.ones(1000, np.float32)), npu.graph_pool_handle()
    first, second, name = npu.NPUGraph(), npu.NPUGraph(), f"graph_pool_{token[1]}"
    with npu.graph(first, pool=token):
        out = x + x
    block = npu.memory_stats()[f"reserved_bytes.{name}.current"]
    assert block >= 4000
    assert sizes("allocated_bytes")[name] == block
    with npu.graph(second, pool=first.pool()):
        other = out + x
    assert sizes()[name] == 2 * block
    del other
    assert (sizes()[name], sizes("allocated_bytes")[name]) == (2 * block, block)
    assert npu.memory_stats()["reserved_bytes.graph_pools.current"] == before + 2 * block
    first.reset()
    assert sizes()[name] == 2 * block  # the other one has its memory there, too
    second.reset()
    assert name not in sizes()
    assert npu.memory_stats()["reserved_bytes.graph_pools.current"] == before


def test_two_graphs_in_one_pool_that_run_in_turn():
    """The second is captured while the results of the first are alive, and so has memory of its own for its own."""
    x, token = on("npu", np.arange(4, dtype=np.float32)), npu.graph_pool_handle()
    first, second = npu.NPUGraph(), npu.NPUGraph()
    with npu.graph(first, pool=token):
        middle = (x + x) * 3.0
    with npu.graph(second, pool=token):
        out = (middle + x) * 2.0
    for start in (0, 5, 9):
        npu.copy_(x, on("cpu", np.arange(start, start + 4, dtype=np.float32)))
        first.replay()
        second.replay()
        np.testing.assert_array_equal(values(out), 14 * np.arange(start, start + 4))


@pytest.mark.parametrize("token", [(0, 0), (1,), 3, "pool", (0, -1), (0, True)])
def test_what_is_no_token(token):
    with pytest.raises(TypeError, match="expected what graph_pool_handle"):
        npu.NPUGraph().capture_begin(pool=token)
    with pytest.raises(TypeError), npu.graph(npu.NPUGraph(), pool=token):
        pass
    assert npu.current_stream() == npu.default_stream()


# ---------------------------------------------------------------- a capture and the garbage collector
def test_what_the_garbage_collector_takes_in_a_capture_does_no_harm():
    """Graphs, events, streams and tensors in cycles, which nothing but a collection frees."""
    x = on("npu", np.ones(4, np.float32))

    def rubbish():
        graph = npu.NPUGraph()
        with npu.graph(graph):
            made = x + x
        graph.replay()
        event, stream = npu.Event(), npu.Stream()
        event.record(stream)
        cycle = [graph, made, event, stream, on("npu", np.ones(100, np.float32))]
        cycle.append(cycle)

    gc.disable()
    try:
        for _ in range(3):
            rubbish()
        graph = npu.NPUGraph()
        with npu.graph(graph):
            first = x * 2.0
            assert gc.collect() > 0
            out = first + x
    finally:
        gc.enable()
    graph.replay()
    np.testing.assert_array_equal(values(out), np.full(4, 3))


# ---------------------------------------------------------------- pictures
@pytest.fixture
def drawn():
    """A graph with two streams, and an operator that is updated."""
    q, side = torch.ones(1, 1, 8).npu(), npu.Stream()
    graph = npu.NPUGraph()
    graph.enable_debug_mode()
    with npu.graph(graph, auto_dispatch_capture=True):
        main = npu.current_stream()
        side.wait_stream(main)
        with npu.stream(side):
            torch.relu(q)
        torch.ops.npu.npu_fused_infer_attention_score(q, q, q, actual_seq_lengths_kv=[1])
        main.wait_stream(side)
    return graph


WAIT = "wait for an update of npu::npu_fused_infer_attention_score.out (actual_seq_lengths, actual_seq_lengths_kv)"


def test_a_graph_as_a_picture(drawn, tmp_path):
    drawn.debug_dump(str(tmp_path / "graph.svg"))
    root = ElementTree.parse(tmp_path / "graph.svg").getroot()
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[:2] == ["stream 0", "stream 1"]
    assert "relu_f32" in texts
    assert "attention_f32" in texts
    assert any(text.startswith("wait for an update of npu::npu") for text in texts)


def test_a_graph_as_a_track(drawn, tmp_path):
    drawn.debug_dump(tmp_path / "graph.json")
    events = json.loads((tmp_path / "graph.json").read_text())["traceEvents"]
    tasks = [event for event in events if event["ph"] == "X"]
    assert [event["name"] for event in tasks] == ["relu_f32", WAIT, "attention_f32"]
    assert [event["tid"] for event in tasks] == [0, 1, 1]
    assert [event["cat"] for event in tasks] == ["kernel", "wait", "kernel"]
    assert len([event for event in events if event["name"] == "thread_name"]) == 2


def test_a_graph_in_dot(drawn, tmp_path):
    drawn.debug_dump(str(tmp_path / "graph.dot"))
    assert json.dumps(WAIT) in (tmp_path / "graph.dot").read_text()
