"""``torch.profiler`` and ``torch.autograd.profiler``: the same code under PyTorch and here, times aside."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch as theirs

import mindtorch_v2 as ours
from mindtorch_v2 import _core
from tests.runtime.both import agree, agree_or_raise

BOTH = (theirs, ours)


@pytest.fixture(autouse=True)
def _nothing_is_recorded_afterwards() -> Iterator[None]:
    yield
    _core.profiler_begin(None, False, False, False, 10)  # raises where a recording was left running
    _core.profiler_forget()


def cpu(torch: Any, **options: Any) -> Any:
    """A profiler of the CPU alone, under either import."""
    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], **options)


def names(events: Any) -> list[str]:
    return [event.name for event in events if event.name != "[memory]"]


def outermost(events: Any) -> list[str]:
    """What a program called itself: what an operator calls in turn is each library's own affair."""
    return [event.name for event in events if event.cpu_parent is None and event.name != "[memory]"]


# ---------------------------------------------------------------- what is recorded
def test_calls_of_a_program() -> None:
    def case(torch: Any) -> Any:
        x, w = torch.ones(4, 5), torch.ones(3, 5)
        with cpu(torch) as p:
            y = torch.nn.functional.linear(x, w).relu()
            y[0]
            y.view(-1)
            y.to(torch.float64)
            y.double()
            y.to(torch.float32)
            torch.cat([x, x])
            torch.zeros(3)
            (y * y).sum()
            y.add_(1)
            y @ w
        return outermost(p.events())

    agree(case)


def test_calls_nest_as_composites_call() -> None:
    def case(torch: Any) -> Any:
        with cpu(torch) as p:
            torch.nn.functional.linear(torch.ones(4, 5), torch.ones(3, 5))
        events = {event.name: event for event in p.events()}
        return [
            events["aten::t"].cpu_parent.name,
            events["aten::mm" if "aten::mm" in events else "aten::addmm"].cpu_parent.name in events,
            "aten::t" in [child.name for child in events["aten::linear"].cpu_children],
        ]

    agree(case)


def backward_events(torch: Any, p: Any) -> list[tuple[str, str | None, int]]:
    return [
        (event.name, event.cpu_parent.name if event.cpu_parent else None, event.scope)
        for event in p.events()
        if "ackward" in event.name or "autograd::" in event.name
        if not event.name.startswith("aten::")
    ]


def test_nodes_of_backward_and_their_order() -> None:
    def case(torch: Any) -> Any:
        x, w = torch.ones(4, 5, requires_grad=True), torch.ones(3, 5, requires_grad=True)
        loss = (torch.nn.functional.linear(x, w).relu() * 2).sum()
        with cpu(torch) as p:
            loss.backward()
        return backward_events(torch, p)

    agree(case)


def test_backward_has_the_sequence_number_of_the_call_and_its_thread() -> None:
    def case(torch: Any) -> Any:
        x = torch.ones(3, requires_grad=True)
        with cpu(torch) as p:
            (x.exp() * x).sum().backward()
        forward = {
            event.sequence_nr: event.name for event in p.events() if event.cpu_parent is None and event.scope == 0
        }
        del forward[-1]
        return [
            (event.name, forward[event.sequence_nr], event.fwd_thread)
            for event in p.events()
            if event.scope == 1 and event.sequence_nr >= 0
        ]

    for torch in BOTH:
        assert case(torch) == [
            ("SumBackward0", "aten::sum", 1),
            ("MulBackward0", "aten::mul", 1),
            ("ExpBackward0", "aten::exp", 1),
        ] or [name for name, _, _ in case(torch)] == ["SumBackward0", "MulBackward0", "ExpBackward0"]
    agree(lambda torch: [(name, thread) for name, _, thread in case(torch)])


def test_a_function_of_ones_own() -> None:
    def case(torch: Any) -> Any:
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad * ctx.saved_tensors[0] * 2

        x = torch.ones(3, requires_grad=True)
        with cpu(torch) as p:
            y = Square.apply(x)
            y.backward(torch.ones(3))
        tops = [name for name in outermost(p.events()) if not name.startswith("aten::")]
        return tops, backward_events(torch, p)

    agree(case)


def test_labels_nest_and_decorate() -> None:
    def case(torch: Any) -> Any:
        @torch.profiler.record_function("inner")
        def double(x: Any) -> Any:
            return x * 2

        with cpu(torch) as p:
            with torch.profiler.record_function("outer") as label:
                double(double(torch.ones(3)))
            with pytest.raises(ValueError, match="inside"), torch.autograd.profiler.record_function("fails"):
                raise ValueError("inside")
        labels = [event for event in p.events() if event.is_user_annotation]
        shown = [(event.name, event.cpu_parent and event.cpu_parent.name, event.count) for event in labels]
        averages = [(event.key, event.count) for event in p.key_averages() if event.is_user_annotation]
        return shown, averages, double.__name__, label.name

    agree(case)


def test_a_label_costs_nothing_where_nothing_is_recorded() -> None:
    def case(torch: Any) -> Any:
        with torch.profiler.record_function("alone"):
            return torch.ones(2) + 1

    agree(case)


@pytest.mark.parametrize(
    "call",
    [
        lambda torch: torch.ones(2, 3) + torch.ones(3),
        lambda torch: torch.ones(2, 3).sum(0),
        lambda torch: torch.cat([torch.ones(2, 3), torch.ones(1, 3)]),
        lambda torch: torch.nn.functional.linear(torch.ones(2, 3), torch.ones(4, 3)),
        lambda torch: torch.ones(2, 3).view(3, 2),
    ],
)
def test_shapes_of_arguments(call: Callable[[Any], Any]) -> None:
    def case(torch: Any) -> Any:
        with cpu(torch, record_shapes=True) as p:
            call(torch)
        return [(event.name, event.input_shapes) for event in p.events() if event.cpu_parent is None][-1]

    agree(case)


def test_averages_by_shape() -> None:
    def case(torch: Any) -> Any:
        a, b = torch.ones(2, 3), torch.ones(4, 3)
        with cpu(torch, record_shapes=True) as p:
            for x in (a, b, a):
                x.exp()
        by_shape = {
            (event.key, str(event.input_shapes)): event.count
            for event in p.key_averages(group_by_input_shape=True)
            if event.key == "aten::exp"
        }
        return by_shape, [(event.key, event.count, event.input_shapes) for event in p.key_averages()]

    agree(case)


def test_memory_of_calls() -> None:
    def case(torch: Any) -> Any:
        with cpu(torch, profile_memory=True) as p:
            a = torch.zeros(100)
            b = a.exp()
            del a
            c = torch.nn.functional.linear(b.view(10, 10), torch.ones(5, 10))
        del b, c
        found = [(event.name, event.cpu_memory_usage) for event in p.events() if event.cpu_parent is None]
        return found, sum(event.self_cpu_memory_usage for event in p.key_averages())

    agree(case)


def test_own_times_add_up_to_the_whole() -> None:
    with cpu(ours) as p, ours.profiler.record_function("all"):
        x = ours.ones(8, 8, requires_grad=True)
        (x @ x).relu().sum().backward()
    events = p.events()
    (whole,) = [event for event in events if event.name == "all"]
    assert sum(event.self_cpu_time_total for event in events) == pytest.approx(whole.cpu_time_total)
    for event in events:
        assert event.self_cpu_time_total >= 0
        for child in event.cpu_children:
            assert event.time_range.start <= child.time_range.start <= child.time_range.end <= event.time_range.end
    averages = p.key_averages()
    assert sum(event.self_cpu_time_total for event in averages) == pytest.approx(whole.cpu_time_total)
    assert averages.total_average().count == len(events)


def test_other_threads_are_left_out_and_devices_of_none() -> None:
    def case(torch: Any) -> Any:
        with cpu(torch) as p:
            thread = threading.Thread(target=lambda: torch.ones(2) + 1)
            thread.start()
            thread.join()
            torch.ones(3)
        return outermost(p.events()), {event.thread for event in p.events()}

    agree(case)


def test_stacks_lead_to_the_line(tmp_path: Path) -> None:
    with cpu(ours, with_stack=True) as p:
        (ours.ones(300, 300) @ ours.ones(300, 300)).exp()
    (event,) = [event for event in p.events() if event.name == "aten::exp"]
    assert re.fullmatch(rf"{re.escape(__file__)}\(\d+\): test_stacks_lead_to_the_line", event.stack[0])
    rows = p.key_averages(group_by_stack_n=2).table().splitlines()
    assert "Source Location" in rows[1]
    p.export_stacks(str(tmp_path / "stacks.txt"))
    lines = (tmp_path / "stacks.txt").read_text().splitlines()
    assert all(re.fullmatch(r"[^ ]+ \d+", line) for line in lines)
    assert any("test_stacks_lead_to_the_line" in line.split(";")[-1] for line in lines)


def test_backward_has_the_stack_of_the_call_that_recorded_it() -> None:
    def forward(x: Any) -> Any:
        return x.exp()

    x = ours.ones(3, requires_grad=True)
    with cpu(ours, with_stack=True) as p:
        forward(x).backward(ours.ones(3))
    stacks = {event.name: event.stack for event in p.events()}
    assert stacks["ExpBackward0"][0].endswith(": forward")
    assert stacks["ExpBackward0"] == stacks["aten::exp"]


def test_operations_in_floating_point() -> None:
    def case(torch: Any) -> Any:
        a = torch.ones(8, 4)
        with cpu(torch, with_flops=True) as p:
            a @ a.t()
            a * a
        return sum(event.flops or 0 for event in p.events() if event.name in ("aten::mm", "aten::mul"))

    agree(case)


# ---------------------------------------------------------------- tables
@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({}, {}),
        ({}, {"sort_by": "cpu_time_total", "row_limit": 3}),
        ({"record_shapes": True}, {"row_limit": 2}),
        ({"profile_memory": True}, {"sort_by": "self_cpu_memory_usage", "time_unit": "ms"}),
        ({}, {"header": "mine", "top_level_events_only": True}),
        ({}, {"max_name_column_width": 14, "row_limit": -1}),
        ({"record_shapes": True, "with_flops": True}, {"max_shapes_column_width": 10}),
    ],
)
def test_tables_have_the_same_columns_and_widths(options: dict[str, Any], shown: dict[str, Any]) -> None:
    def case(torch: Any) -> Any:
        x = torch.ones(4, 5)
        with cpu(torch, **options) as p:
            with torch.profiler.record_function("a label that is rather long, and longer than a column may become"):
                x.exp()
            x.neg()
        averages = p.key_averages(group_by_input_shape="record_shapes" in options)
        lines = averages.table(**shown).splitlines()
        figures = re.compile(r"-?[\d.]+(us|ms|s|%)| +")
        return (
            [len(line) for line in lines[:6]],
            [figures.sub(" ", line) for line in lines[:3]],
            lines[-1].split(":")[0],
        )

    agree(case)


def test_an_empty_profile() -> None:
    def case(torch: Any) -> Any:
        with cpu(torch) as p:
            pass
        return p.key_averages().table(), str(p.key_averages()), len(p.events())

    agree(case)


@pytest.mark.parametrize("us", [0, 0.5, 999.9994, 1000, 123456.7, 1e6, 98765432.1])
def test_times_in_words(us: float) -> None:
    from mindtorch_v2.autograd._profiler_table import format_memory, format_time

    assert format_time(us) == theirs.autograd.profiler_util._format_time(us)
    assert format_memory(int(us) - 1000) == theirs.autograd.profiler_util._format_memory(int(us) - 1000)


# ---------------------------------------------------------------- schedules
@pytest.mark.parametrize(
    "options",
    [
        {"wait": 1, "warmup": 1, "active": 2, "repeat": 1},
        {"wait": 0, "warmup": 1, "active": 1},
        {"wait": 2, "warmup": 0, "active": 3, "repeat": 2, "skip_first": 1},
        {"wait": 3, "warmup": 1, "active": 1, "repeat": 2, "skip_first": 2, "skip_first_wait": 1},
        {"wait": -1, "warmup": 1, "active": 1},
        {"wait": 0, "warmup": 0, "active": 0},
    ],
)
def test_schedules(options: dict[str, Any]) -> None:
    agree_or_raise(lambda torch: [torch.profiler.schedule(**options)(step).name for step in range(20)])


def test_a_scheduled_profile() -> None:
    def case(torch: Any) -> Any:
        told: list[Any] = []
        x = torch.ones(3)

        def ready(p: Any) -> None:
            told.append((p.step_num, sorted(event.key for event in p.key_averages() if "ten::t" not in event.key)))

        plan = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=2)
        with cpu(torch, schedule=plan, on_trace_ready=ready) as p:
            for _ in range(9):
                x.exp()
                p.step()
        return told, p.step_num, outermost(p.events()), p.current_action.name

    agree(case)


def test_events_of_several_cycles_are_kept_where_asked_for() -> None:
    def case(torch: Any) -> Any:
        plan = torch.profiler.schedule(wait=1, warmup=1, active=1, repeat=2)
        with cpu(torch, schedule=plan, acc_events=True) as p:
            for _ in range(6):
                torch.ones(2).exp()
                p.step()
        return names(p.events()).count("aten::exp")

    agree(case)


def test_a_step_without_a_profile_only_counts() -> None:
    def case(torch: Any) -> Any:
        p = cpu(torch)
        p.step()
        return p.step_num

    agree(case)


# ---------------------------------------------------------------- traces
def test_a_trace_has_every_call(tmp_path: Path) -> None:
    def case(torch: Any) -> Any:
        x = torch.ones(3, requires_grad=True)
        with cpu(torch, record_shapes=True, profile_memory=True) as p, torch.profiler.record_function("label"):
            x.exp().sum().backward()
        p.add_metadata("key", "value")
        path = tmp_path / f"{torch.__name__}.json"
        p.export_chrome_trace(str(path))
        trace = json.loads(path.read_text())
        events = trace["traceEvents"]
        slices = [e for e in events if e["ph"] == "X" and e.get("cat") in ("cpu_op", "user_annotation")]
        exp = next(e for e in slices if e["name"] == "aten::exp")
        return (
            {e["name"] for e in slices} >= {"aten::exp", "aten::sum", "label", "ExpBackward0"},
            exp["args"]["Input Dims"],
            {key: trace[key] for key in ("schemaVersion", "displayTimeUnit", "record_shapes", "profile_memory")},
            sorted({e["cat"] for e in events if e["ph"] == "s"}),
            len([e for e in events if e["ph"] == "s"]) == len([e for e in events if e["ph"] == "f"]) > 0,
            {e["pid"] for e in slices} == {os.getpid()},
            {e["tid"] for e in slices} == {threading.get_native_id()},
            {e["name"] for e in events if e["ph"] == "M"},
            any(e["name"] == "[memory]" for e in events),
        )

    agree(case)


def test_events_alone_are_a_trace_too(tmp_path: Path) -> None:
    def case(torch: Any) -> Any:
        path = tmp_path / f"{torch.__name__}.events.json"
        with cpu(torch) as p, torch.profiler.record_function("label"):
            torch.ones(3).exp()
        p.events().export_chrome_trace(str(path))
        events = json.loads(path.read_text())
        return sorted({e["name"] for e in events} & {"label", "aten::exp"}), sorted(events[0]), events[0]["pid"]

    agree(case)


def test_a_compressed_trace_and_a_folder_of_them(tmp_path: Path) -> None:
    def case(torch: Any) -> Any:
        folder = tmp_path / torch.__name__ / "deep"
        handler = torch.profiler.tensorboard_trace_handler(str(folder), "worker", use_gzip=True)
        with cpu(torch, on_trace_ready=handler):
            torch.ones(3).exp()
        (path,) = folder.iterdir()
        found = json.loads(gzip.decompress(path.read_bytes()))
        return re.sub(r"\d+", "N", path.name), any(e["name"] == "aten::exp" for e in found["traceEvents"])

    agree(case)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    handler = ours.profiler.tensorboard_trace_handler(str(tmp_path / "file"))
    with pytest.raises(RuntimeError, match="Can't create directory"), cpu(ours, on_trace_ready=handler):
        pass


def test_a_trace_that_cannot_be_written_leaves_what_was_there(tmp_path: Path) -> None:
    with cpu(ours) as p:
        ours.ones(3)
    with pytest.raises(FileNotFoundError, match="the trace cannot be written"):
        p.export_chrome_trace(tmp_path / "nowhere" / "trace.json")
    with pytest.raises(IsADirectoryError, match="the trace cannot be written"):
        p.export_chrome_trace(tmp_path)
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- mistakes
@pytest.mark.parametrize(
    "case",
    [
        lambda torch: torch.profiler.profile().events(),
        lambda torch: torch.profiler.profile().key_averages(),
        lambda torch: torch.profiler.profile().export_chrome_trace("trace.json"),
        lambda torch: torch.profiler.profile().export_stacks("stacks.txt"),
        lambda torch: torch.profiler.profile().__exit__(None, None, None),
        lambda torch: torch.profiler.profile().stop(),
        lambda torch: torch.profiler.profile(activities=[]),
        lambda torch: torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU] * 2),
        lambda torch: torch.profiler.profile(schedule=lambda step: torch.profiler.ProfilerAction.DEVICE_STOPPED),
        lambda torch: torch.autograd.profiler.record_function("never entered").__exit__(None, None, None),
        lambda torch: torch.autograd.profiler.record_function(1).__enter__(),
        lambda torch: torch.autograd.profiler.profile(use_cpu=False),
        lambda torch: torch.autograd.profiler.emit_nvtx().__enter__(),
        lambda torch: torch.autograd.profiler.EventList().key_averages(),
        lambda torch: torch.autograd.profiler.EventList().export_stacks("stacks.txt", "no metric"),
    ],
)
def test_errors_are_pytorchs(case: Callable[[Any], Any]) -> None:
    agree_or_raise(case)


def test_a_column_that_there_is_not() -> None:
    def case(torch: Any) -> Any:
        with cpu(torch) as p:
            torch.ones(2)
        return p.key_averages().table(sort_by="nothing")

    agree(case, "has no attribute 'nothing'")


def test_stacks_that_were_not_recorded() -> None:
    def case(torch: Any) -> Any:
        with cpu(torch) as p:
            torch.ones(2)
        return p.export_stacks("stacks.txt")

    agree(case, r"export_stacks() requires with_stack=True")


def test_two_profilers_at_once_and_one_twice() -> None:
    with cpu(ours) as p:
        with pytest.raises(RuntimeError, match="a profiler runs already"), cpu(ours):
            pass
        with pytest.raises(RuntimeError, match="is not reentrant"), p:
            pass
        ours.ones(3)
    assert outermost(p.events()) == ["aten::ones"]
    with p:  # again, after the block: PyTorch's too
        ours.ones(3).exp()
    assert outermost(p.events()) == ["aten::ones", "aten::exp"]


def test_pytorchs_older_profile_is_entered_once() -> None:
    def case(torch: Any) -> Any:
        p = torch.autograd.profiler.profile()
        unfinished = repr(p)
        with p:
            torch.ones(2).exp()
        try:
            p.__enter__()
        except RuntimeError as error:
            return unfinished, outermost(p.function_events), str(error)
        raise AssertionError

    agree(case)


def test_an_exception_ends_the_profile() -> None:
    def case(torch: Any) -> Any:
        p = cpu(torch)
        with pytest.raises(IndexError), p:
            torch.ones(2)[5]
        return outermost(p.events())

    agree(case)


def test_an_error_of_an_operator_ends_its_span() -> None:
    with cpu(ours) as p:
        with pytest.raises(RuntimeError):
            ours.ones(2) @ ours.ones(3, 3)
        ours.ones(4)
    assert outermost(p.events())[-1] == "aten::ones"


def test_labels_that_overlap_and_outlive_the_profile() -> None:
    first, second, late = (ours.profiler.record_function(name) for name in ("first", "second", "late"))
    with cpu(ours) as p:
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        ours.ones(2)
        second.__exit__(None, None, None)
        late.__enter__()
    with cpu(ours) as q:
        late.__exit__(None, None, None)  # of the recording before: nothing to end here
        ours.ones(3)
    assert {"first", "second", "late"} <= set(names(p.events()))
    assert names(q.events()) == ["aten::ones"]


def test_a_label_that_another_thread_ends_is_around_nothing_that_comes_later() -> None:
    label = ours.profiler.record_function("passed on")
    with cpu(ours) as p:
        label.__enter__()
        ours.ones(2)
        thread = threading.Thread(target=label.__exit__, args=(None, None, None))
        thread.start()
        thread.join()
        ours.ones(3)
    (event,) = [event for event in p.events() if event.is_user_annotation]
    assert event.is_async
    assert (event.self_cpu_time_total, event.cpu_children) == (0, [])
    recorded = p.profiler._recording.spans
    assert [span.parent for span in recorded] == [-1, 0, -1]


def test_a_forked_child_records_nothing(tmp_path: Path) -> None:
    with cpu(ours) as p:
        ours.ones(2)
        child = os.fork()
        if child == 0:
            try:
                ours.ones(2).exp()
                p.stop()
                alone = len(p.events()) == 0
                with cpu(ours) as q:
                    ours.ones(3)
                os._exit(0 if alone and names(q.events()) == ["aten::ones"] else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        ours.ones(3).exp()
    assert outermost(p.events()) == ["aten::ones", "aten::ones", "aten::exp"]


def test_no_more_is_kept_than_there_is_room_for() -> None:
    _core.profiler_begin(None, False, False, False, 5)
    for _ in range(8):
        with _core.span("test", "span"):
            pass
    _core.profiler_end()
    spans, _ = _core.profiler_records()
    assert (len(spans), _core.profiler_dropped()) == (5, 3)
    _core.profiler_forget()
    assert _core.profiler_records() == ([], [])


def test_a_profile_that_is_dropped_while_it_runs_is_over() -> None:
    p = cpu(ours)
    p.start()
    ours.ones(2)
    del p
    with cpu(ours) as q:
        ours.ones(3).exp()
    assert outermost(q.events()) == ["aten::ones", "aten::exp"]


def test_threads_record_side_by_side() -> None:
    def work() -> None:
        for _ in range(200):
            with _core.span("test", "outer"), _core.span("test", "inner"):
                pass

    _core.profiler_begin(None, False, False, False, 1_000_000)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    _core.profiler_end()
    spans, _ = _core.profiler_records()
    _core.profiler_forget()
    assert len(spans) == 4 * 400
    for _, name, begin, end, thread, end_thread, parent, _, _ in spans:
        assert begin <= end
        assert thread == end_thread
        if name == "inner":
            around = spans[parent]
            assert (around[1], around[4]) == ("outer", thread)
            assert around[2] <= begin <= end <= around[3]


def test_public_names() -> None:
    left_out = {"ExecutionTraceObserver", "load_nvprof", "parse_nvprof_trace"}  # of files of other tools
    for module in ("profiler", "autograd.profiler"):
        wanted = set(sys.modules[f"torch.{module}"].__all__) - left_out
        assert wanted <= set(sys.modules[f"mindtorch_v2.{module}"].__all__)
    assert {action.name: action.value for action in ours.profiler.ProfilerAction} == {
        action.name: action.value for action in theirs.profiler.ProfilerAction
    }
    ours_activities = {name: a.value for name, a in ours.profiler.ProfilerActivity.__members__.items() if name != "NPU"}
    assert set(ours_activities) == set(theirs.profiler.ProfilerActivity.__members__)


def test_arguments_have_pytorchs_names() -> None:
    import inspect

    for path in ("profiler.schedule", "profiler.tensorboard_trace_handler", "autograd.profiler.record_function"):
        found = []
        for torch in BOTH:
            value = torch
            for part in path.split("."):
                value = getattr(value, part)
            found.append([(p.name, p.kind, p.default) for p in inspect.signature(value).parameters.values()])
        assert found[0] == found[1]


def test_pytorchs_profile_is_not_imported_before_it_is_used(child_env: dict[str, str]) -> None:
    code = "import sys, mindtorch_v2; print([m for m in sys.modules if 'profiler' in m and 'mindtorch_v2.' in m])"
    done = subprocess.run([sys.executable, "-c", code], env=child_env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_is_recorded_is_freed() -> None:
    import gc
    import weakref

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with cpu(ours, record_shapes=True) as p:
            x = ours.ones(3)
            kept = weakref.ref(x)
            x.exp()
            del x
            gc.collect()
            assert kept() is None  # a recording holds shapes, not tensors
    assert names(p.events())[0] == "aten::ones"


def test_labels_as_operators() -> None:
    def case(torch: Any) -> Any:
        with torch.autograd.profiler.profile() as p:
            record = torch.ops.profiler._record_function_enter("bar", None)
            torch.ones(3) * 2
            torch.ops.profiler._record_function_exit(record)
        return [event.count for event in p.function_events if event.name == "bar"]

    assert case(ours) == [1]
    ours.ops.profiler._record_function_exit(ours.tensor(1 << 40))  # the number of no label
