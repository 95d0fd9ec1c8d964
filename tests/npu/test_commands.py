"""Command buffers and contexts: what kernels are told, and where commits and waits fall, in both ways of knowing."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn, npu
from mindtorch_v2.npu import ExecutionPlan, Operation, PlanError
from tests.npu import scheduled
from tests.npu.conftest import Gate, simulator_only
from tests.npu.scheduled import CPU, DELEGATE, END, KERNEL, NPU, UNKNOWN, told

OPS = torch.ops.scheduled_tests
COMMIT, WAIT = ("commit", "npu:0", ""), ("wait", "npu:0", "")


def encode(name):
    return ("encode", "npu:0", name)


def numbers(n=16, device="npu"):
    return torch.arange(float(n)).to(device)


class Block(nn.Module):
    """What is lowered to a delegate: a few operators that have NPU kernels."""

    def __init__(self, n=16):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, n))

    def forward(self, x):
        return (x * self.weight).relu() + x


def lowered(name, n=16):
    block = Block(n).to("npu").requires_grad_(False)
    return torch.npu.lower(block, numbers(n), delegate="npu_graph", name=name)


class Proposal(nn.Module):
    """Delegate, kernel, kernel, delegate, CPU, CPU, kernel, end."""

    def __init__(self):
        super().__init__()
        self.first, self.second = lowered("first"), lowered("second")

    def forward(self, x):
        x = OPS.softshrink(OPS.softshrink(self.first(x)))
        host = self.second(x).cpu()
        return OPS.softshrink(((host + 1) * 2).npu())


class MobileNetLike(nn.Module):
    """Delegate, softshrink, softshrink, an addition on the CPU."""

    def __init__(self):
        super().__init__()
        self.body = lowered("body")

    def forward(self, x):
        return OPS.softshrink(OPS.softshrink(self.body(x))).cpu() + 1


def knowing(way, module, *inputs, log=None):
    """The block in which a module is run, in either way of knowing what comes next."""
    return torch.npu.lookahead(log) if way == "lookahead" else torch.npu.plan(module, *inputs).follow(log)


BOTH = pytest.mark.parametrize("way", ["lookahead", "plan"])


# ---------------------------------------------------------------- the proposal's sequences
@BOTH
def test_delegate_kernel_kernel_delegate_cpu_cpu_kernel_end(way):
    module, x, log = Proposal(), numbers(), []
    expected = module(x).cpu()
    with torch.no_grad(), knowing(way, module, x, log=log):
        result = module(x)
    assert log == [
        encode("lowered::first"),
        encode("scheduled_tests::softshrink"),
        encode("scheduled_tests::softshrink"),
        encode("lowered::second"),
        COMMIT,
        WAIT,
        encode("scheduled_tests::softshrink"),
        COMMIT,
        WAIT,
    ]
    np.testing.assert_array_equal(result.cpu().numpy(), expected.numpy())


@BOTH
def test_delegate_softshrink_softshrink_cpu_add(way):
    module, x, log = MobileNetLike(), numbers(), []
    expected = module(x)
    with torch.no_grad(), knowing(way, module, x, log=log):
        result = module(x)
    shrink = encode("scheduled_tests::softshrink")
    assert log == [encode("lowered::body"), shrink, shrink, COMMIT, WAIT]
    np.testing.assert_array_equal(result.numpy(), expected.numpy())


@BOTH
def test_work_of_the_cpu_alone_commits_and_does_not_wait(way):
    """A commit where the device changes; a wait only where the host reads."""
    x, y, log = numbers(), numbers(device="cpu"), []

    def both(x, y):
        first = OPS.softshrink(x)
        return OPS.softshrink(first), y + 1

    def between(x, y):
        first = OPS.softshrink(x)
        other = y + 1
        return OPS.softshrink(first), other

    shrink = encode("scheduled_tests::softshrink")
    with knowing(way, both, x, y, log=log):
        both(x, y)
    assert log == [shrink, shrink, COMMIT, WAIT]
    log.clear()
    with knowing(way, between, x, y, log=log):
        between(x, y)
    assert log == [shrink, COMMIT, shrink, COMMIT, WAIT]


@BOTH
def test_another_npu_is_another_buffer(way):
    if npu.device_count() < 2:
        pytest.skip("needs two NPUs")
    x, y, log = numbers(), numbers(device="npu:1"), []

    def on_both(x, y):
        return OPS.softshrink(x), OPS.softshrink(y)

    with knowing(way, on_both, x, y, log=log):
        on_both(x, y)
    name = "scheduled_tests::softshrink"
    assert log == [
        ("encode", "npu:0", name), ("commit", "npu:0", ""),
        ("encode", "npu:1", name), ("wait", "npu:0", ""), ("commit", "npu:1", ""), ("wait", "npu:1", ""),
    ]  # fmt: skip


# ---------------------------------------------------------------- what kernels are told
def chain(x):
    first = OPS.tell(x)
    second = OPS.tell(first)
    host = second.cpu()
    last = OPS.tell(host.npu())
    return first, second, last


@BOTH
def test_a_kernel_is_told_of_its_next(way):
    x = numbers()
    with knowing(way, chain, x):
        first, second, last = chain(x)
    first, second, last = told(first), told(second), told(last)
    count = 5 if way == "plan" else -1
    assert (first["next"], first["next_device"], first["commit_and_continue"]) == (KERNEL, NPU, 1)
    assert (second["next"], second["next_device"], second["commit_and_continue"]) == (KERNEL, CPU, 0)
    assert (last["next"], last["next_device"], last["commit_and_continue"]) == (END, 0, 0)
    assert [each["position"] for each in (first, second, last)] == [0, 1, 4]
    assert {each["device"] for each in (first, second, last)} == {NPU}
    assert {each["index"] for each in (first, second, last)} == {0}
    assert {each["operations"] for each in (first, second, last)} == {count}


def test_a_kernel_outside_of_any_run_knows_where_it_is_and_nothing_else():
    unknown = {
        "next": UNKNOWN,
        "next_device": 0,
        "next_index": -1,
        "commit_and_continue": 1,
        "position": -1,
        "operations": -1,
    }
    for device, code, index in (("npu", NPU, 0), ("cpu", CPU, -1)):
        found = told(OPS.tell(numbers(device=device)))
        assert found == {**unknown, "size": 48, "device": code, "index": index}


def test_a_cpu_kernel_is_told_by_a_plan_and_not_held_back_without_one():
    x = numbers(device="cpu")

    def two(x):
        return OPS.tell(x), OPS.tell(x)

    with torch.npu.plan(two, x).follow():
        first, second = (told(each) for each in two(x))
    assert (first["next"], first["next_device"], second["next"]) == (KERNEL, CPU, END)
    with torch.npu.lookahead():
        first = told(OPS.tell(x))
    assert (first["next"], first["position"], first["device"]) == (UNKNOWN, 0, CPU)


def test_a_delegate_is_seen_coming():
    body, x = lowered("coming"), numbers()

    def two(x):
        told_first = OPS.tell(x)
        return told_first, body(x)

    for block in (torch.npu.lookahead(), torch.npu.plan(two, x).follow()):
        with torch.no_grad(), block:
            first, _ = two(x)
        assert told(first)["next"] == DELEGATE


def test_a_python_kernel_takes_a_context():
    x = numbers()

    def two(x):
        return OPS.python_tell(OPS.python_tell(x))

    scheduled.seen.clear()
    plan = torch.npu.plan(two, x)
    with plan.follow():
        two(x)
    first, second = scheduled.seen
    assert (first.next_kind, str(first.next_device), first.position, first.commit_and_continue) == (
        "kernel",
        "npu:0",
        0,
        True,
    )
    assert (second.next_kind, second.next_device, second.commit_and_continue) == ("end", None, False)
    assert first.plan is plan
    assert str(first.device) == "npu:0"
    scheduled.seen.clear()
    OPS.python_tell(x)
    assert (scheduled.seen[0].next_kind, scheduled.seen[0].plan, scheduled.seen[0].position) == ("unknown", None, -1)


def test_the_header_and_the_core_number_devices_alike():
    for name, code in (("cpu", CPU), ("npu", NPU), ("cuda", 2), ("mps", 3)):
        assert torch._core.device_code(name) == code


def test_a_struct_of_a_newer_header_is_refused():
    kernel = scheduled._ascendc.bind("newer", (npu.ptr, npu.context))
    with pytest.raises(
        RuntimeError, match=r"kernel newer, argument 2: compiled with an mt_context of 56 bytes.*has 48"
    ):
        kernel(1, numbers(1), None)


def test_a_context_is_what_the_runtime_says():
    kernel = scheduled._ascendc.bind("tell", (npu.ptr, npu.ptr, npu.u32, npu.context))
    x, out = numbers(), torch.zeros(16, device="npu")
    kernel(1, x, out, 16, None)
    assert told(out)["device"] == NPU
    with pytest.raises(TypeError, match=r"argument 4 \(npu\.context\): expected None, as the runtime says"):
        kernel(1, x, out, 16, 3)


def test_a_launch_by_hand_is_an_operation_too():
    kernel = scheduled._ascendc.bind("tell", (npu.ptr, npu.ptr, npu.u32, npu.context))
    x, outs, log = numbers(), [torch.zeros(16, device="npu") for _ in range(2)], []
    with torch.npu.lookahead(log):
        for out in outs:
            kernel(1, x, out, 16, None)
    assert log == [encode("tell"), encode("tell"), COMMIT, WAIT]
    assert [told(out)["next"] for out in outs] == [KERNEL, END]


# ---------------------------------------------------------------- nobody finds work held back
def test_whoever_asks_for_the_stream_finds_all_work_on_it(kernels):
    x = numbers()
    for ask in (
        npu.synchronize,
        lambda: npu.current_stream().synchronize(),
        lambda: npu.current_stream().record_event().synchronize(),
        lambda: npu.default_stream().synchronize(),
        lambda: npu.set_stream(npu.default_stream()),
        lambda: npu.copy_(torch.empty(16), x),
        lambda: x.sum().item(),
    ):
        log = []
        with torch.npu.lookahead(log):
            OPS.softshrink(x)
            assert log == []  # held back
            ask()
            assert log[0] == encode("scheduled_tests::softshrink")


def test_what_is_held_back_keeps_its_arguments():
    """Memory that is freed meanwhile is not another tensor's before the launch."""
    with torch.npu.lookahead():
        source = numbers(4096) + 0
        result = OPS.softshrink(source, 0.0)
        del source
        others = [torch.npu.alloc((4096,), torch.float32, "npu") for _ in range(4)]
        for other in others:
            other.fill_(-1.0)
    np.testing.assert_array_equal(result.cpu().numpy(), np.arange(4096, dtype=np.float32))


def test_values_read_inside_are_those_of_the_work_before():
    with torch.npu.lookahead():
        result = OPS.softshrink(numbers())
        np.testing.assert_array_equal(result.cpu().numpy(), np.maximum(np.arange(16) - np.float32(0.5), 0))


# ---------------------------------------------------------------- the buffer itself
def test_a_buffer_by_hand():
    buffer = torch.npu.command_buffer()
    x = numbers()
    commits, waits = buffer.commits, buffer.waits
    buffer.commit()
    buffer.commit_and_wait()
    assert (buffer.commits, buffer.waits) == (commits, waits)
    out = buffer.encode(OPS.softshrink, x)
    assert (buffer.encoded, buffer.pending) == (1, False)
    buffer.commit()
    assert (buffer.encoded, buffer.pending, buffer.commits, buffer.waits) == (0, True, commits + 1, waits)
    buffer.commit_and_wait()
    assert (buffer.pending, buffer.commits, buffer.waits) == (False, commits + 1, waits + 1)
    assert told(out) is not None
    assert torch.npu.command_buffer("npu:0") is buffer
    with pytest.raises(TypeError, match="belongs to a thread"):
        type(buffer)()


def fill_one(buffer, x):
    """Encodes until the buffer commits by itself; returns how many that took."""
    count = 0
    commits = buffer.commits
    while buffer.commits == commits:
        buffer.encode(OPS.softshrink, x)
        count += 1
    return count


def test_a_full_buffer_commits_and_follows_the_device(kernels):
    found = []

    def on_a_fresh_thread():
        buffer, x = torch.npu.command_buffer(), numbers()
        assert buffer.bound == fill_one(buffer, x) == 256  # nothing is known of the device yet
        npu.synchronize()  # it was drained before the next one is full
        found.append(fill_one(buffer, x))
        found.append(buffer.bound)
        npu.synchronize()
        gate = Gate(kernels)
        with npu.stream(gate.stream):  # held up: the first fence there is still to come
            for _ in range(2):
                fill_one(buffer, x)
            found.append(buffer.bound)
            gate.open()
            buffer.commit_and_wait()

    run_in_thread(on_a_fresh_thread)
    assert found == [256, 512, 512]


def run_in_thread(function):
    failed = []

    def run():
        try:
            function()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


def test_each_thread_has_its_own():
    logs = [[], []]
    start = threading.Barrier(2)

    def work(log):
        x = numbers()
        start.wait()
        for _ in range(50):
            with torch.npu.lookahead(log):
                for _ in range(5):
                    x = OPS.softshrink(x, 0.0)
        assert x.cpu().tolist() == list(range(16))

    threads = [threading.Thread(target=work, args=(log,)) for log in logs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = ([encode("scheduled_tests::softshrink")] * 5 + [COMMIT, WAIT]) * 50
    assert logs == [expected, expected]


def test_another_stream_is_another_commit():
    x, log = numbers(), []
    side = npu.Stream()
    side.wait_stream(npu.current_stream())
    with torch.npu.lookahead(log):
        OPS.softshrink(x)
        with npu.stream(side):
            OPS.softshrink(x)
    shrink = encode("scheduled_tests::softshrink")
    assert log == [shrink, COMMIT, shrink, COMMIT, WAIT]


def test_a_captured_stream_is_not_committed():
    x, log = numbers(), []
    OPS.softshrink(x)
    graph = npu.NPUGraph()
    with torch.npu.lookahead(log), npu.graph(graph):
        out = OPS.softshrink(x)
        OPS.softshrink(x)
    assert log == []
    graph.replay()
    np.testing.assert_array_equal(out.cpu().numpy(), np.maximum(np.arange(16) - np.float32(0.5), 0))


# ---------------------------------------------------------------- errors leave it usable
def test_a_kernel_that_raises_in_the_middle_leaves_the_rest():
    x, log = numbers(), []
    results = []

    def run():
        with torch.npu.lookahead(log):
            results.append(OPS.softshrink(x))
            OPS.fails(x)

    with pytest.raises(ValueError, match="always fails"):
        run()
    shrink = encode("scheduled_tests::softshrink")
    assert log == [shrink, COMMIT, WAIT]
    np.testing.assert_array_equal(results[0].cpu().numpy(), np.maximum(np.arange(16) - np.float32(0.5), 0))
    log.clear()
    with torch.npu.lookahead(log):
        with pytest.raises(ValueError, match="always fails"):
            OPS.fails(OPS.softshrink(x))
        OPS.softshrink(x)
    assert log == [shrink, shrink, COMMIT, WAIT]


@BOTH
def test_a_program_that_raises_leaves_the_run_in_order(way):
    """An operator whose kernel is a program notices itself: also where a check of it, or the plan, refuses the call."""
    x, log = numbers(), []

    def run(x):
        first = OPS.bounded(x, 0.5)
        with contextlib.suppress(RuntimeError):
            OPS.bounded(x, -1.0)
        return OPS.tell(OPS.bounded(first, 0.25))

    plan = ExecutionPlan(
        tuple(
            Operation(f"scheduled_tests::{name}", "npu:0", False, ((16,),), ((16,),))
            for name in (*3 * ["bounded"], "tell")
        )
    )
    for _ in range(2):
        with torch.npu.lookahead(log) if way == "lookahead" else plan.follow(log):
            result = run(x)
        found = told(result)
        assert (found["position"], found["next"], found["commit_and_continue"]) == (3, END, 0)
        assert log == [*2 * [encode("scheduled_tests::bounded")], encode("scheduled_tests::tell"), COMMIT, WAIT]
        log.clear()


def test_a_departure_of_a_program_leaves_the_run_in_order():
    x, log = numbers(), []
    plan = torch.npu.plan(lambda x: OPS.bounded(OPS.bounded(x, 0.5), 0.5), x)
    with plan.follow(log):
        first = OPS.bounded(x, 0.5)
        with pytest.raises(PlanError, match="another operator at operation 1"):
            torch.relu(first)
        with pytest.raises(RuntimeError, match="expected lambd to be at least 0"):  # the planned one, which fails
            OPS.bounded(first, -1.0)
        with pytest.raises(PlanError, match="the plan has 2 operations"):
            OPS.bounded(first, 0.5)
    assert log == [encode("scheduled_tests::bounded"), COMMIT, WAIT]
    assert not torch._core.in_run()
    assert told(OPS.tell(x))["position"] == -1


def test_what_fails_when_it_is_queued_is_told_by_the_next_operation():
    x, log = numbers(), []
    shrink = encode("scheduled_tests::softshrink")
    with torch.npu.lookahead(log):
        OPS.softshrink(x)
        OPS.fails_later(x)  # held back
        with pytest.raises(ValueError, match="always fails"):
            OPS.softshrink(x)
        result = OPS.softshrink(x)
    assert log == [shrink, shrink, COMMIT, WAIT]
    np.testing.assert_array_equal(result.cpu().numpy(), np.maximum(np.arange(16) - np.float32(0.5), 0))
    log.clear()

    def ends_with_it():
        with torch.npu.lookahead(log):
            OPS.softshrink(x)
            OPS.fails_later(x)

    with pytest.raises(ValueError, match="always fails"):
        ends_with_it()
    assert log == [shrink, COMMIT, WAIT]
    assert not torch._core.in_run()


@simulator_only
def test_a_fault_is_told_by_the_block_and_leaves_the_buffers_usable(kernels):
    x, log = numbers(), []

    def faults():
        with torch.npu.lookahead(log):
            OPS.softshrink(x)
            kernels.launch("too_large", block_dim=1, args=[x])

    with pytest.raises(npu.NpuError, match=r"CommandBuffer\.commit_and_wait on npu:0"):
        faults()
    with torch.npu.lookahead():
        result = OPS.softshrink(x)
    np.testing.assert_array_equal(result.cpu().numpy(), np.maximum(np.arange(16) - np.float32(0.5), 0))


def test_runs_end_where_they_began():
    outer, inner = torch.npu.lookahead(), torch.npu.lookahead()
    nobody = (None, None, None)
    with pytest.raises(RuntimeError, match="is left without having been entered"):
        outer.__exit__(*nobody)
    with outer as run:
        assert run is outer
        with pytest.raises(RuntimeError, match="begun already"):
            outer.__enter__()
        with inner, pytest.raises(RuntimeError, match="not the innermost one"):
            outer.__exit__(*nobody)

        def elsewhere():
            with pytest.raises(RuntimeError, match="not the innermost one of this thread"):
                outer.__exit__(*nobody)

        run_in_thread(elsewhere)
    with pytest.raises(RuntimeError, match="not the innermost one"):
        outer.__exit__(*nobody)
    with pytest.raises(RuntimeError, match="begun already"):
        outer.__enter__()
    assert not torch._core.in_run()


def test_an_operation_that_ends_its_run():
    run = torch.npu.lookahead()
    lib = torch.library.Library("ends_its_run", "DEF")
    lib.define("end(Tensor x) -> Tensor")

    def end(x):
        run.__exit__(None, None, None)
        return x + 1

    lib.impl("end", end, "CPU")
    run.__enter__()
    assert torch.ops.ends_its_run.end(torch.ones(2)).tolist() == [2, 2]
    assert not torch._core.in_run()


def test_a_run_inside_of_another():
    outer, inner, x = [], [], numbers()
    with torch.npu.lookahead(outer):
        OPS.softshrink(x)
        with torch.npu.lookahead(inner):
            OPS.softshrink(x)
        OPS.softshrink(x)
    shrink = encode("scheduled_tests::softshrink")
    assert inner == [shrink, COMMIT, WAIT]
    assert outer == [shrink, shrink, COMMIT, WAIT]


FORK = """
import os, sys
import mindtorch_v2 as torch
from tests.npu import scheduled

x = torch.arange(16.0).npu()
with torch.npu.lookahead():
    scheduled.softshrink(x)
    torch.npu.synchronize()
    child = os.fork()
    if child == 0:
        try:
            with torch.npu.lookahead():
                scheduled.softshrink(x)
        except RuntimeError as error:
            print(type(error).__name__, "forked" in str(error), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    y = scheduled.softshrink(x)
print(y.cpu().tolist()[:3])
"""


def test_a_forked_child_is_told(child_env, repo_root):
    env = {**child_env, "PYTHONPATH": f"{child_env.get('PYTHONPATH', '')}:{repo_root}"}
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=120, cwd=repo_root)
    assert (done.stdout.splitlines(), done.stderr) == (["NpuError True", "[0.0, 0.5, 1.5]"], "")
