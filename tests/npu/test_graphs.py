"""Graphs: what is captured and replayed, whose memory it is, and what a capture refuses."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _core, npu
from tests.npu.conftest import Gate, on, simulator_only, values

F32 = _core.dtypes["float32"]


def refused(call, kind=npu.NpuError):
    with pytest.raises(kind) as caught:
        call()
    return caught.value


@pytest.fixture
def scaled(scale):
    """``scaled(x, factor)``: a new tensor, by one launch."""

    def launch(x, factor, out=None):
        out = npu.alloc_like(x) if out is None else out
        scale(1, x, out, factor, x.numel())
        return out

    return launch


@pytest.fixture
def x():
    return on("npu", np.arange(6, dtype=np.float32))


# ---------------------------------------------------------------- capture and replay
def test_captured_work_runs_when_it_is_replayed(scaled, x):
    graph = npu.NPUGraph()
    out = on("npu", np.zeros(6, np.float32))
    with npu.graph(graph):
        assert npu.is_current_stream_capturing()
        scaled(scaled(x, 3.0), 2.0, out)
    assert not npu.is_current_stream_capturing()
    assert not values(out).any()
    graph.replay()
    np.testing.assert_array_equal(values(out), 6 * np.arange(6))
    npu.copy_(x, on("cpu", np.ones(6, np.float32)))
    graph.replay()
    np.testing.assert_array_equal(values(out), np.full(6, 6))


def training_step(w, x, target, rate):
    """A step of gradient descent whose every operator has an NPU kernel; returns the loss."""
    w.grad = None
    distance = (x * w).relu() - target
    loss = (distance * distance).sum()
    loss.backward()
    with torch.no_grad():
        w.add_(w.grad, alpha=-rate)
    return loss


def test_a_training_step_replayed_with_new_data_is_the_eager_one():
    rng = np.random.default_rng(3)
    start = rng.standard_normal(3000).astype(np.float32)
    batches = [rng.standard_normal((2, 3000)).astype(np.float32) for _ in range(4)]

    def run(step, x, w, target):
        losses = []
        for batch in batches:
            npu.copy_(x, torch.from_numpy(batch[0]))
            npu.copy_(target, torch.from_numpy(batch[1]))
            losses.append(float(step()))
        return losses, w.detach().cpu().numpy().copy()

    def tensors():
        parts = [torch.from_numpy(array.copy()).npu() for array in (batches[0][0], start, batches[0][1])]
        parts[1].requires_grad_(True)
        return parts

    x, w, target = tensors()
    expected = run(lambda: training_step(w, x, target, 0.01), x, w, target)
    x, w, target = tensors()
    graph = npu.NPUGraph()
    with npu.graph(graph):
        loss = training_step(w, x, target, 0.01)

    def replayed():
        graph.replay()
        return loss

    actual = run(replayed, x, w, target)
    np.testing.assert_array_equal(actual[0], expected[0])
    np.testing.assert_array_equal(actual[1], expected[1])
    assert len(set(expected[0])) == 4


def test_a_stream_that_forks_and_joins_is_captured_too(scaled, x):
    graph, side, out = npu.NPUGraph(), npu.Stream(), npu.alloc_like(x)
    with npu.graph(graph):
        main = npu.current_stream()
        first = scaled(x, 2.0)
        side.wait_stream(main)
        with npu.stream(side):
            assert npu.is_current_stream_capturing()
            other = scaled(first, 5.0)
        main.wait_stream(side)
        scaled(other, 0.5, out)
    graph.replay()
    np.testing.assert_array_equal(values(out), 5 * np.arange(6))


def test_a_graph_is_replayed_on_any_stream(kernels, scaled, x):
    graph, out = npu.NPUGraph(), on("npu", np.zeros(6, np.float32))
    with npu.graph(graph, stream=npu.Stream()):
        scaled(x, 2.0, out)
    gate = Gate(kernels)  # only now, as a capture begins with a synchronisation
    with npu.stream(gate.stream):
        graph.replay()
    assert not values(out).any()
    gate.open()
    gate.stream.synchronize()
    np.testing.assert_array_equal(values(out), 2 * np.arange(6))


def test_tiling_that_is_uploaded_in_a_capture_goes_along(kernels):
    tiling = npu.struct(("n", npu.u32), ("negate", npu.bool_), ("offset", npu.f64))
    iota = kernels.bind("iota_global", (npu.ptr, npu.ptr))
    graph, out = npu.NPUGraph(), npu.alloc((4,), F32, "npu")
    with npu.graph(graph):
        iota(1, out, npu.upload(tiling(4, False, 10.0)))
    gc.collect()
    for _ in range(2):
        graph.replay()
        np.testing.assert_array_equal(values(out), [10, 11, 12, 13])


def test_what_was_captured_can_be_drawn(scaled, x, tmp_path):
    graph = npu.NPUGraph()
    assert str(refused(lambda: graph.debug_dump(tmp_path / "g.dot"), RuntimeError)) == (
        "NPUGraph.debug_dump: call enable_debug_mode() before the capture"
    )
    graph.enable_debug_mode()
    with npu.graph(graph):
        scaled(scaled(x, 3.0), 2.0)
    graph.debug_dump(str(tmp_path / "g.dot"))
    lines = (tmp_path / "g.dot").read_text().splitlines()
    stream = npu.graph.default_capture_stream[0].npu_stream
    assert lines[2:-1] == [
        '  n0 [label="scale"];',
        '  n1 [label="scale"];',
        f'  n0 -> n1 [label="stream {stream:#x}"];',
    ]


# ---------------------------------------------------------------- memory
def test_memory_of_a_capture_is_the_graphs_until_it_is_reset(scaled, x):
    graph, out = npu.NPUGraph(), on("npu", np.zeros(6, np.float32))
    stream = npu.Stream()
    with npu.graph(graph, stream=stream):
        temporary = scaled(x, 2.0)
        address = temporary.data_ptr()
        scaled(temporary, 1.0, out)
        del temporary
        assert scaled(x, 7.0).data_ptr() == address  # within the capture it is reused
        again = scaled(out, 1.0)
    with npu.stream(stream):  # outside of it nobody gets it
        others = [npu.alloc_like(x) for _ in range(8)]
        assert address not in {other.data_ptr() for other in others}
        kept = again.data_ptr()
        del again
        assert npu.alloc_like(x).data_ptr() not in (address, kept)
    npu.empty_cache()
    graph.replay()
    np.testing.assert_array_equal(values(out), 2 * np.arange(6))
    graph.reset()
    with npu.stream(stream):
        more = [npu.alloc_like(x) for _ in range(8)]
        assert {address, kept} <= {other.data_ptr() for other in more}


def test_a_dropped_graph_gives_its_memory_back(scaled, x):
    npu.synchronize()
    npu.empty_cache()
    before = npu.memory_reserved()
    for _ in range(3):
        graph = npu.NPUGraph()
        with npu.graph(graph):
            scaled(x, 2.0)
        assert npu.memory_reserved() > before
        graph.replay()
        npu.synchronize()
        del graph
        npu.empty_cache()
        assert npu.memory_reserved() == before


def test_a_graph_that_runs_when_it_is_dropped_keeps_its_memory_until_it_ends(kernels, scaled, x):
    graph, out = npu.NPUGraph(), on("npu", np.zeros(6, np.float32))
    stream = npu.Stream()
    with npu.graph(graph, stream=stream):
        temporary = scaled(x, 2.0)
        address = temporary.data_ptr()
        scaled(temporary, 1.0, out)
        del temporary
    gate = Gate(kernels)
    with npu.stream(gate.stream):
        graph.replay()
    del graph
    with npu.stream(stream):
        assert npu.alloc_like(x).data_ptr() != address
    gate.open()
    gate.stream.synchronize()
    np.testing.assert_array_equal(values(out), 2 * np.arange(6))
    npu.NPUGraph().reset()
    other = npu.NPUGraph()
    with npu.graph(other):  # whoever comes next sweeps up
        scaled(x, 1.0)
    other.reset()
    with npu.stream(stream):
        assert address in {block.data_ptr() for block in [npu.alloc_like(x) for _ in range(8)]}


def test_graphs_share_a_pool(scaled, x):
    first, second, token = npu.NPUGraph(), npu.NPUGraph(), npu.graph_pool_handle()
    with npu.graph(first, pool=token):
        address = scaled(x, 2.0).data_ptr()
    assert first.pool() == token
    with npu.graph(second, pool=first.pool()):
        assert scaled(x, 2.0).data_ptr() == address
    first.reset()
    with npu.stream(npu.graph.default_capture_stream[0]):  # the second one still needs it
        assert npu.alloc_like(x).data_ptr() != address
    second.reset()


def test_a_block_used_on_a_captured_stream_may_be_freed_during_the_capture(scaled, x):
    """Its own stream would have to wait for the captured one, which the default stream cannot."""
    early = on("npu", np.ones(6, np.float32))
    graph, out = npu.NPUGraph(), npu.alloc_like(x)
    with npu.graph(graph):
        scaled(early, 2.0, out)
        del early
        scaled(out, 2.0, out)
    graph.replay()
    np.testing.assert_array_equal(values(out), np.full(6, 4))


def test_out_of_memory_in_a_capture_does_not_spoil_it(scaled, x):
    total = npu.mem_get_info()[1]
    graph, out = npu.NPUGraph(), npu.alloc_like(x)
    with npu.graph(graph):
        scaled(x, 2.0, out)
        error = refused(lambda: npu.alloc((total + 1,), _core.dtypes["uint8"], "npu"), npu.OutOfMemoryError)
    assert str(error).endswith("(the cache cannot be emptied while a graph is captured)")
    graph.replay()
    np.testing.assert_array_equal(values(out), 2 * np.arange(6))


# ---------------------------------------------------------------- what a capture refuses
ILLEGAL = {
    "synchronise the stream": (lambda x: npu.current_stream().synchronize(), 107027),
    "synchronise the device": (lambda x: npu.synchronize(), 107027),
    "query the stream": (lambda x: npu.current_stream().query(), 107027),
    "copy to the host": (lambda x: x.cpu(), 107027),
    "copy from the host": (lambda x: npu.copy_(x, on("cpu", np.zeros(6, np.float32))), 107027),
    "query an event": (lambda x: npu.current_stream().record_event().query(), 107028),
    "wait for an event from outside": (lambda x: OUTSIDE.wait(), 107024),
}
OUTSIDE = npu.Event()


@pytest.mark.parametrize("what", ILLEGAL)
def test_illegal_calls_name_their_code_and_spoil_the_capture(what, scaled, x):
    call, code = ILLEGAL[what]
    OUTSIDE.record()
    graph, out = npu.NPUGraph(), npu.alloc_like(x)
    errors = []

    def capture():
        with npu.graph(graph):
            scaled(x, 2.0, out)
            errors.append(refused(lambda: call(x)))

    ended = refused(capture)
    assert errors[0].code == code
    assert str(code) in str(errors[0])
    assert ended.code == 507903
    if npu.is_simulated():
        assert "the capture was invalidated before by" in str(ended)
    usable(scaled, x)


def usable(scaled, x):
    """Nothing of a failed capture is left behind."""
    assert npu.current_stream() == npu.default_stream()
    assert not _core.npu_recording()
    graph, out = npu.NPUGraph(), npu.alloc_like(x)
    with npu.graph(graph):
        scaled(x, 2.0, out)
    graph.replay()
    np.testing.assert_array_equal(values(out), 2 * values(x))
    npu.synchronize()


def test_the_default_stream_cannot_be_captured(scaled, x):
    graph = npu.NPUGraph()
    error = refused(lambda: npu.graph(graph, stream=npu.default_stream()).__enter__())
    assert error.code == 107031
    assert "the default stream cannot be captured" in str(error)
    usable(scaled, x)


def test_a_stream_that_never_came_back(scaled, x):
    main, side = npu.Stream(), npu.Stream()  # two of the pool, not the same twice

    def capture():
        with npu.graph(npu.NPUGraph(), stream=main):
            side.wait_stream(npu.current_stream())
            with npu.stream(side):
                scaled(x, 2.0)

    error = refused(capture)
    assert error.code == 107025
    assert "make the stream where the capture began wait for it" in str(error)
    usable(scaled, x)


def test_a_capture_inside_of_another(scaled, x):
    inner, outer, out = npu.NPUGraph(), npu.NPUGraph(), npu.alloc_like(x)
    with npu.graph(outer):
        scaled(x, 2.0, out)
        error = refused(lambda: npu.graph(inner).__enter__())
        assert refused(lambda: inner.capture_begin()).code == 107027
    assert error.code == 107027
    outer.replay()  # neither harmed it
    np.testing.assert_array_equal(values(out), 2 * np.arange(6))


def test_a_capture_that_ends_on_another_thread(scaled, x):
    graph, out, errors = npu.NPUGraph(), npu.alloc_like(x), []
    with npu.graph(graph):
        scaled(x, 2.0, out)
        thread = threading.Thread(target=lambda: errors.append(refused(graph.capture_end)))
        thread.start()
        thread.join()
    assert errors[0].code == 107038
    graph.replay()  # the capture went on
    np.testing.assert_array_equal(values(out), 2 * np.arange(6))


def test_another_thread_is_not_captured(scaled, x):
    graph, seen = npu.NPUGraph(), []

    def work():
        out = scaled(x, 5.0)
        npu.current_stream().synchronize()
        seen.append(out)

    with npu.graph(graph, capture_error_mode="thread_local"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        scaled(x, 2.0)
    np.testing.assert_array_equal(values(seen[0]), 5 * np.arange(6))


@pytest.mark.parametrize(("mode", "code"), [("global", 107030), ("thread_local", None), ("relaxed", None)])
def test_whose_synchronous_calls_a_mode_refuses(mode, code, scaled, x):
    """In another thread, on another stream: refused or not, the capture goes on."""
    other, errors = on("npu", np.ones(6, np.float32)), []
    streams = [npu.Stream(), npu.Stream()]  # which come from a pool: one may be the one that is captured

    def elsewhere(stream):
        try:
            with npu.stream(stream):
                other.cpu()
        except npu.NpuError as error:
            errors.append(error.code)

    graph, out = npu.NPUGraph(), npu.alloc_like(x)

    with npu.graph(graph, capture_error_mode=mode):
        scaled(x, 2.0, out)
        another = next(stream for stream in streams if stream != npu.current_stream())
        thread = threading.Thread(target=elsewhere, args=(another,))
        thread.start()
        thread.join()
    assert errors == ([] if code is None else [code])
    graph.replay()
    np.testing.assert_array_equal(values(out), 2 * np.arange(6))
    usable(scaled, x)


def test_an_operator_without_a_kernel(scaled, x):
    with npu.graph(npu.NPUGraph()):
        error = refused(lambda: torch.erf(x))
    assert error.code == 107027
    assert str(error) == (
        "aten::erf has no NPU kernel for these arguments, and running it on the CPU copies them, which waits for the "
        "stream: that is not allowed while it is captured"
    )


def test_an_exception_in_the_block_ends_the_capture(scaled, x):
    graph = npu.NPUGraph()
    with pytest.raises(ZeroDivisionError), npu.graph(graph):
        scaled(x, 1 / 0)
    assert str(refused(graph.replay, RuntimeError)) == "NPUGraph.replay: there is no captured graph; capture one first"
    usable(scaled, x)


def test_a_graph_dropped_during_its_capture(scaled, x):
    with npu.stream(npu.Stream()):
        graph = npu.NPUGraph()
        graph.capture_begin()
        scaled(x, 2.0)
        del graph
    usable(scaled, x)


def test_what_a_graph_refuses(scaled, x):
    graph = npu.NPUGraph()
    assert str(refused(graph.capture_end, RuntimeError)) == (
        "NPUGraph.capture_end: no capture is under way; capture_begin starts one"
    )
    assert str(refused(graph.pool, RuntimeError)) == "NPUGraph.pool: nothing was captured yet"
    assert str(refused(lambda: graph.capture_begin(capture_error_mode="some"), RuntimeError)) == (
        "capture_error_mode must be one of 'global', 'thread_local', 'relaxed', got 'some'"
    )
    with npu.graph(graph):
        scaled(x, 2.0)
    assert str(refused(graph.capture_begin, RuntimeError)).startswith(
        "this NPUGraph instance already owns a captured graph"
    )


@simulator_only
def test_a_fault_in_a_replay(kernels, x):
    graph = npu.NPUGraph()
    with npu.graph(graph):
        kernels.launch("too_large", block_dim=1, args=[x])
    stream = npu.Stream()
    with npu.stream(stream):
        graph.replay()
    error = refused(stream.synchronize)
    assert error.code == 507011
    assert "last launches there: a captured graph" in str(error)
    assert "kernel too_large, block 0 of 1" in str(error)


def test_kernels_of_a_capture_are_not_waited_for(child_env):
    code = (
        "import numpy as np; from mindtorch_v2 import npu; from tests.npu.conftest import on, values\n"
        f"kernels = npu.ascendc_load('launcher_tests', {str(Path(__file__).with_name('kernels.cpp'))!r})\n"
        "x = on('npu', np.ones(4, np.float32)); graph = npu.NPUGraph()\n"
        "with npu.graph(graph): kernels.launch('scale', block_dim=1, args=[x, x, npu.f32(2), npu.u32(4)])\n"
        "graph.replay(); print(values(x).tolist())"
    )
    root = Path(__file__).resolve().parents[2]
    env = {**child_env, "MINDTORCH_LAUNCH_BLOCKING": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, cwd=root, check=False)
    assert (done.stderr, done.stdout) == ("", "[2.0, 2.0, 2.0, 2.0]\n")


def test_ordinary_memory_is_no_pool_to_give_up() -> None:
    """Cached blocks beside one another, which are merged when they are freed, ended in a loop without end."""
    tensors = [torch.ones(n).to("npu") for n in (1, 1000, 100_000)]
    del tensors
    _core.npu_give_up_pool(0)
    assert torch.ones(1000).to("npu").sum().item() == 1000


def test_a_graph_that_could_not_be_made_is_dropped_in_silence() -> None:
    with pytest.raises(TypeError):
        npu.NPUGraph(1)
    gc.collect()  # an error in `__del__` would be a warning, which fails the test
