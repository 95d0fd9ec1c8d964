"""The search for calls that are wrong finds faults that are planted, and makes them small; a part of it is run.

A planted operator is defined in both libraries' processes, broken in ours.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import sanitized
from benchmarks.fuzz.arguments import Pool, draw
from benchmarks.fuzz.faults import are_both_right
from benchmarks.fuzz.judge import Finding, judge
from benchmarks.fuzz.minimise import minimise
from benchmarks.fuzz.outcome import Died, Outcome, Raised, Returned
from benchmarks.fuzz.pair import Limits, Worker, WorkerError
from benchmarks.fuzz.program import Argument, Call
from benchmarks.fuzz.reasons import LEFT_OUT, REASONS
from benchmarks.fuzz.report import Totals, text_of
from benchmarks.fuzz.sameness import difference
from benchmarks.fuzz.search import Found, Lane
from benchmarks.fuzz.targets import Parameter, Target, find_targets
from benchmarks.fuzz.values import AliasValue, ListValue, PlainValue, TensorValue
from benchmarks.fuzz.worker import run_call

CALLS = 400

PLANTED = """
import ctypes, os
import {library} as torch
library = torch.library.Library("planted", "DEF")
def define(name, function):
    library.define(name + "(Tensor x, float scale=1.0, int[] dims=[]) -> Tensor")
    library.impl(name, function, "CPU")
def is_row(x):
    if x.dim() != 1:
        raise IndexError("x must have one dimension")
    return True
def is_float(x):
    if not x.is_floating_point():
        raise ValueError("x must have a dtype of floating-point numbers")
    return True
def fits(scale, error=ValueError):
    if scale < 0:
        raise error("scale must not be negative")
    return True
"""
SOUND = """
for name in ("value", "error", "accepts", "hang", "text", "dies", "overflow"):
    define(name, lambda x, scale=1.0, dims=(): x * scale)
library.define("refuses(Tensor x) -> Tensor")
def refuses(x):
    raise IndexError("never")
library.impl("refuses", refuses, "CPU")
define("order", lambda x, scale=1.0, dims=(): x * scale if is_row(x) and fits(scale) else None)
define("kind", lambda x, scale=1.0, dims=(): x * scale if is_row(x) and fits(scale) else None)
define("alone", lambda x, scale=1.0, dims=(): x * scale if is_row(x) else None)
define("tensor", lambda x, scale=1.0, dims=(): x * scale if is_row(x) and is_float(x) else None)
define("rule", lambda x, scale=1.0, dims=(): x * scale if fits(scale) else None)
define("strict", lambda x, scale=1.0, dims=(): x * scale)
for name in ("rule", "strict"):
    library.impl(name, lambda x, scale=1.0, dims=(): x * scale if fits(scale, KeyError) else None, "Meta")
define("lenient", lambda x, scale=1.0, dims=(): x * scale)
define("lax", lambda x, scale=1.0, dims=(): x * scale if fits(scale) else None)
for name in ("lenient", "lax"):
    library.impl(name, lambda x, scale=1.0, dims=(): x * scale if fits(scale) else None, "Meta")
"""
BROKEN = """
def fail(error):
    raise error
def forever(x, scale=1.0, dims=()):
    while True:
        pass
def overflow(x, scale=1.0, dims=()):
    ctypes.memset(x.data_ptr(), 0, x.nbytes + 64)
    return x.clone()
define("value", lambda x, scale=1.0, dims=(): x * scale + (x.numel() > 2))
define("error", lambda x, scale=1.0, dims=(): fail(KeyError("inside")) if x.dim() == 2 else x * scale)
define("hang", lambda x, scale=1.0, dims=(): forever(x) if x.dim() else x * scale)
define("dies", lambda x, scale=1.0, dims=(): os.abort())
define("overflow", overflow)
library.define("refuses(Tensor x) -> Tensor")
library.impl("refuses", lambda x: x.clone(), "CPU")
define("order", lambda x, scale=1.0, dims=(): x * scale if fits(scale) and is_row(x) else None)
define("kind", lambda x, scale=1.0, dims=(): x * scale if fits(scale, KeyError) and is_row(x) else None)
define("alone", lambda x, scale=1.0, dims=(): x * scale if fits(scale) and is_row(x) else None)
define("tensor", lambda x, scale=1.0, dims=(): x * scale if is_float(x) and is_row(x) else None)
for name in ("rule", "strict"):
    define(name, lambda x, scale=1.0, dims=(): x * scale if fits(scale) else None)
    library.impl(name, lambda x, scale=1.0, dims=(): x * scale if fits(scale) else None, "Meta")
define("lenient", lambda x, scale=1.0, dims=(): x * scale)
define("lax", lambda x, scale=1.0, dims=(): x * scale)
for name in ("lenient", "lax"):
    library.impl(name, lambda x, scale=1.0, dims=(): x * scale, "Meta")
"""


def planted(name: str) -> Call:
    """A call with more than the fault needs."""
    parameters = (Parameter("x", "Tensor"), Parameter("scale", "float", False), Parameter("dims", "int[]", False))
    arguments = (
        Argument(TensorValue((2, 3), layout="transposed", grad="nonleaf")),
        Argument(PlainValue("0.5", ("0", "1"))),
        Argument(ListValue((PlainValue("1"), PlainValue("2")))),
    )
    target = Target(f"torch.ops.planted.{name}.default", "function", "planted", parameters)
    return Call(target, arguments if name != "refuses" else arguments[:1])


@pytest.fixture(scope="module")
def lane() -> Iterator[Lane]:
    before = PLANTED.format(library="mindtorch_v2") + BROKEN
    made = Lane(Limits(seconds=2.0), before=before, before_torch=PLANTED.format(library="torch") + SOUND)
    yield made
    made.close()


def small(lane: Lane, name: str) -> tuple[Call, Finding]:
    call = planted(name)
    finding = lane.check(call)
    assert finding is not None
    return minimise(call, finding, lane.check)


@pytest.mark.parametrize(
    ("name", "kind", "tensor"),
    [
        ("value", "value", "torch.tensor([-1.0, 1.5, 4.0], dtype=torch.float32)"),
        ("error", "refused", "torch.tensor([[-1.0, 1.5], [4.0, 0.0]], dtype=torch.float32)"),
        ("refuses", "accepted", "torch.zeros((0,), dtype=torch.float32)"),
        ("dies", "crash", "torch.zeros((0,), dtype=torch.float32)"),
    ],
)
def test_a_planted_fault_is_found_and_made_small(lane: Lane, name: str, kind: str, tensor: str) -> None:
    call, finding = small(lane, name)
    assert finding.kind == kind
    assert call.source().splitlines() == [
        f"a = {tensor}",
        f"result = torch.ops.planted.{name}.default(a)",
    ]


def test_a_hang_is_found(lane: Lane) -> None:
    finding = lane.check(planted("hang"))
    assert finding is not None
    assert finding.kind == "hang"
    assert lane.check(Call(planted("hang").target, (Argument(TensorValue(())),))) is None  # and the search goes on


@pytest.fixture(scope="module")
def alone() -> Iterator[Lane]:
    made = Lane(Limits(), before=PLANTED.format(library="mindtorch_v2") + BROKEN, alone=True)
    yield made
    made.close()


def test_without_pytorch_the_end_of_a_process_is_found_and_no_value(alone: Lane) -> None:
    call, finding = small(alone, "dies")
    assert finding.kind == "crash"
    assert call.source().splitlines()[-1] == "result = torch.ops.planted.dies.default(a)"
    assert alone.check(planted("value")) is None


def test_a_long_call_is_stopped_and_is_a_finding_where_nothing_in_it_is_huge(alone: Lane) -> None:
    finding = alone.check(planted("hang"))
    assert finding is not None
    assert finding.group == "hang: torch.ops.planted.hang: until it was stopped"
    process = alone.ours[False].process_id
    huge = PlainValue("torch.tensor(1.0).expand(2**62)")
    assert alone.check(Call(planted("hang").target, (Argument(huge),))) is None
    assert alone.ours[False].process_id == process  # the call was stopped, not its process


def test_calls_that_change_the_process_share_a_child_until_one_ends_it(alone: Lane) -> None:
    worker = alone.ours[True]
    read = "result = torch._left"
    calls = list(enumerate(("result = 1", "torch._left = result = 2", read, "import os; os.abort()", read)))
    worker.send(calls)
    first, second, third, dead, after = worker.receive(calls)
    assert [first, second, third] == [Returned(value, {}) for value in (1, 2, 2)]
    assert isinstance(dead, Died)
    assert dead.signal == signal.SIGABRT
    assert isinstance(after, Raised)
    assert after.bases[0] == "AttributeError"


def test_a_question_is_asked_of_a_new_process_where_one_dies_of_what_was_done_in_it_before() -> None:
    worker = Worker("mindtorch_v2", Limits())
    worker.run("import os, benchmarks.fuzz.search as search\nsearch.has_name = lambda path: os.abort()\nresult = 0")
    assert worker.ask("benchmarks.fuzz.search has_name torch.no_such_name") is False
    with pytest.raises(WorkerError, match="'os abort' ended the worker"):
        worker.ask("os abort")
    worker.close()


@pytest.mark.parametrize(
    ("name", "shape", "scale", "found"),
    [
        ("order", (2, 2), "-1.0", None),  # both raise: IndexError for x there, ValueError for the scale here
        ("order", (2,), "-1.0", None),  # one fault, of one class
        ("kind", (2,), "-1.0", "error"),  # one fault, of two classes
        ("kind", (2, 2), "-1.0", "error"),  # beside another one
        ("alone", (2,), "-1.0", "refused"),
        ("alone", (2, 2), "-1.0", "error"),  # a fault that only ours sees, beside one
    ],
)
def test_of_two_faults_another_may_be_told_first_if_it_is_one_for_pytorch_too(
    lane: Lane, name: str, shape: tuple[int, ...], scale: str, found: str | None
) -> None:
    arguments = (Argument(TensorValue(shape)), Argument(PlainValue(scale)))
    call = Call(planted(name).target, arguments)
    finding = lane.found(0, call, *lane.outcomes(call), set())
    assert (finding and finding.finding.kind) == found


@pytest.mark.parametrize(("name", "found"), [("rule", None), ("strict", "error")])
def test_a_meta_call_may_raise_what_pytorchs_kernel_raises(lane: Lane, name: str, found: str | None) -> None:
    call = Call(planted(name).target, (Argument(TensorValue((2,), device="meta")), Argument(PlainValue("-1.0"))))
    finding = lane.found(0, call, *lane.outcomes(call), set())
    assert (finding and finding.finding.kind) == found


@pytest.mark.parametrize(("name", "found"), [("lenient", None), ("lax", "accepted")])
def test_a_meta_call_may_be_taken_where_pytorchs_kernel_takes_it(lane: Lane, name: str, found: str | None) -> None:
    call = Call(planted(name).target, (Argument(TensorValue((2,), device="meta")), Argument(PlainValue("-1.0"))))
    finding = lane.found(0, call, *lane.outcomes(call), set())
    assert (finding and finding.finding.kind) == found


def test_a_tensor_may_have_two_faults(lane: Lane) -> None:
    call = Call(planted("tensor").target, (Argument(TensorValue((2, 2), "int64")),))
    assert lane.check(call) is not None
    assert lane.found(0, call, *lane.outcomes(call), set()) is None


def test_the_same_two_faults_are_judged_alike_again(lane: Lane) -> None:
    call = Call(planted("order").target, (Argument(TensorValue((2, 2))), Argument(PlainValue("-1.0"))))
    ours, theirs = lane.outcomes(call)
    asked: list[list[str]] = []

    def make(calls: Sequence[Call]) -> list[tuple[Outcome, Outcome | None]]:
        asked[-1] += [other.source() for other in calls]
        return [lane.outcomes(other) for other in calls]

    for _ in range(2):
        asked.append([])
        assert are_both_right(call, ours, theirs, make)
    assert asked[0] == asked[1]
    assert len(asked[0]) < 100


def test_a_finding_is_printed_as_lines_that_reproduce_it(lane: Lane) -> None:
    call, finding = small(lane, "dies")
    text = PLANTED.format(library="mindtorch_v2") + BROKEN + text_of(Found(7, call, finding))
    assert "# 7: crash: torch.ops.planted.dies: signal 6" in text
    assert subprocess.run([sys.executable, "-c", text], check=False, capture_output=True).returncode == -6


@pytest.mark.slow
@pytest.mark.skipif(sanitized.missing_tool() is not None, reason="needs cmake, ninja and gcc")
def test_a_write_out_of_bounds_is_found_under_the_sanitizer(repo_root: Path) -> None:
    before, before_torch = PLANTED.format(library="mindtorch_v2") + BROKEN, PLANTED.format(library="torch") + SOUND
    lane = Lane(Limits(), sanitized.build(repo_root), before=before, before_torch=before_torch)
    try:
        finding = lane.check(planted("overflow"))
    finally:
        lane.close()
    assert finding is not None
    assert finding.kind == "crash"
    assert "heap-buffer-overflow" in finding.group


def test_a_few_hundred_calls_end_no_process(lane: Lane) -> None:
    """As ``python -m benchmarks.fuzz``, which makes two hundred thousand."""
    targets = [target for target in lane.find_targets() if "planted" not in target.path]
    lane.tries = 0
    found = [f for f in lane.run(Pool(targets), 0, range(CALLS), set()) if f.finding.kind in ("crash", "hang")]
    assert not found, "\n\n".join(map(text_of, found))


def test_a_call_depends_on_seed_and_number_alone() -> None:
    targets = find_targets("mindtorch_v2")
    assert targets == find_targets("mindtorch_v2")
    pool = Pool(targets)
    first = [draw(pool, 0, number).source() for number in range(50)]
    assert [draw(pool, 0, number).source() for number in reversed(range(50))] == first[::-1]
    assert [draw(pool, 1, number).source() for number in range(50)] != first


def test_a_new_target_changes_only_the_calls_that_draw_it() -> None:
    targets = find_targets("mindtorch_v2")
    operator = next(target for target in targets if target.group == "operators")
    new = [replace(operator, path=f"torch.new_{number}") for number in range(20)]
    before, after = Pool(targets), Pool([*targets, *new])
    changed = [n for n in range(2000) if before.target(0, n) != after.target(0, n)]
    assert 0 < len(changed) < 100
    assert all(after.target(0, n) in new for n in changed)


def test_every_operator_method_and_function_is_a_target() -> None:
    paths = {target.path for target in find_targets("mindtorch_v2")}
    assert {"torch.ops.aten.add.Tensor", "torch.add", "add", "__add__", "T", "torch.nn.functional.softmax"} <= paths
    assert {
        "torch.vmap",
        "torch.func.jvp",
        "torch.library.define",
        "torch.npu.synchronize",
        "torch._core.resize_",
    } <= paths
    assert not paths & set(LEFT_OUT)


def tensor(elements: list[Any], dtype: str = "float32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": (len(elements),), "device": "cpu", "grad": False, "elements": elements}


WINDOW = Argument(TensorValue((2, 2), layout="window"))
ALPHA = Argument(PlainValue("-2**63"), "alpha")


@pytest.mark.parametrize(
    ("target", "arguments", "ours", "theirs", "meant"),
    [
        ("torch.sub", (ALPHA,), tensor([1.5, -2.0]), tensor([-1.5, 2.0]), True),
        ("torch.sub", (ALPHA,), tensor([1.5, -2.0]), tensor([-1.5, 3.0]), False),
        ("torch.sub", (ALPHA,), tensor([1, 2], "int64"), tensor([-1, 2], "int64"), False),
        ("torch.func.jvp", (WINDOW,), [tensor([1.0]), tensor([2.0])], [tensor([1.0]), tensor([3.0])], True),
        ("torch.func.jvp", (WINDOW,), [tensor([1.0]), tensor([2.0])], [tensor([4.0]), tensor([2.0])], False),
        ("torch.func.jacfwd", (WINDOW,), tensor([1.0]), tensor([2.0]), True),
        ("torch.func.jacfwd", (WINDOW,), [tensor([1.0]), tensor([1.0])], [tensor([2.0]), tensor([3.0])], False),
        ("torch.Tensor.__ne__", (Argument(PlainValue("numpy.ones(3)")),), tensor([True], "bool"), "object", True),
        ("torch.Tensor.__ne__", (Argument(PlainValue("numpy.ones(3)")),), True, "object", False),
        ("torch.as_strided_scatter", (Argument(PlainValue("[3, 3], [1, 1]")),), tensor([1.0]), tensor([2.0]), True),
        ("torch.as_strided_scatter", (Argument(PlainValue("[3, 3], [3, 1]")),), tensor([1.0]), tensor([2.0]), False),
        ("torch.Tensor", (Argument(PlainValue("2")),), tensor([1.0, 2.0]), tensor([0.0, 0.0]), True),
        ("torch.Tensor", (Argument(PlainValue("[1, 2]")),), tensor([1.0, 2.0]), tensor([0.0, 0.0]), False),
    ],
)
def test_a_reason_covers_only_what_may_differ(
    target: str, arguments: tuple[Argument, ...], ours: Any, theirs: Any, meant: bool
) -> None:
    call = Call(Target(target, "function", "functions", ()), arguments)
    assert (judge(call, Returned(ours, {}), Returned(theirs, {})) is None) == meant


def test_every_reason_and_omission_says_why() -> None:
    assert all(" " in reason.name and reason.kinds for reason in REASONS)
    assert all(LEFT_OUT.values())


def test_arguments_that_share_memory_are_windows_of_one_tensor() -> None:
    target = Target("torch.add", "function", "functions", ())
    call = Call(target, (Argument(TensorValue((3,))), Argument(AliasValue(0, "[1:]"))))
    assert call.source().splitlines()[1:] == ["v1 = a[1:]", "result = torch.add(a, v1)"]


def test_what_is_compared() -> None:
    tensor = {"dtype": "float32", "shape": (1,), "device": "cpu", "grad": False, "elements": [1.0]}
    assert difference(tensor, tensor) is None
    assert difference({**tensor, "dtype": "int64"}, tensor) == "dtype int64 for float32"
    assert difference({**tensor, "shape": (1, 1)}, tensor) == "shape"
    assert difference({**tensor, "elements": [1.1]}, tensor) == "elements"
    assert difference({**tensor, "elements": [float("nan")]}, {**tensor, "elements": [float("nan")]}) is None
    assert difference([1, 2], [1]) == "length"
    assert difference(1, 1.0) == "int for float"
    assert difference(True, 1) == "bool for int"


def test_an_argument_that_cannot_be_made_is_told_from_the_call(lane: Lane) -> None:
    import mindtorch_v2

    outcome = run_call(mindtorch_v2, "a = torch.tensor(['x'])\nresult = torch.sin(a)")
    assert isinstance(outcome, Raised)
    assert outcome.making
    outcome = run_call(mindtorch_v2, "a = torch.tensor([1.0])\nresult = torch.sin(a, 1, 2)")
    assert isinstance(outcome, Raised)
    assert not outcome.making
    outcome = run_call(mindtorch_v2, "a = torch.tensor([1.0])\nresult = a.fill_(2)")
    assert isinstance(outcome, Returned)
    assert outcome.tensors["a"]["elements"] == [2.0]


NO_SIZE = ("AttributeError", "'int' object has no attribute 'size'")


def raising(kind: str, message: str) -> Raised:
    return Raised((kind, "Exception"), message, ())


@pytest.mark.parametrize(
    ("theirs", "ours", "found"),
    [
        (NO_SIZE, ("TypeError", "f(): x must be Tensor"), None),
        (NO_SIZE, ("TypeError", "'int' object is not iterable"), "error"),
        (NO_SIZE, ("KeyError", "x"), "error"),
        (("IndexError", "index 3 is out of range"), ("TypeError", "f(): x must be Tensor"), "error"),
        (("AssertionError", "eps must be positive"), ("AssertionError", "eps must be positive"), None),
        (("ValueError", "eps must be positive"), ("AssertionError", "eps must be positive"), "error"),
        (None, ("AssertionError", "eps must be positive"), "text"),
        (None, ("TypeError", "f(): x must be Tensor, not numpy.ndarray"), None),
        (None, ("TypeError", "numpy has no such thing"), "text"),
    ],
)  # fmt: skip
def test_an_error_is_pytorchs_or_says_more_than_the_interpreter(theirs: Any, ours: Any, found: str | None) -> None:
    finding = judge(planted("error"), raising(*ours), None if theirs is None else raising(*theirs))
    assert (finding and finding.kind) == found


def test_findings_are_counted_by_group() -> None:
    totals = Totals()
    found = Found(1, planted("value"), Finding("value", "value: f: elements", ""))
    assert [totals.add(found), totals.add(found)] == [True, False]
    assert totals.by_kind()["value"] == (2, 1)
    assert list(totals.lines()) == ["     2 value: f: elements"]


@pytest.mark.parametrize(
    ("arguments", "status"), [(["--help"], 0), (["--count", "x"], 2), (["--match", "no such name"], 2)]
)
def test_the_command(repo_root: Path, child_env: dict[str, str], arguments: list[str], status: int) -> None:
    command = [sys.executable, "-m", "benchmarks.fuzz", *arguments]
    result = subprocess.run(command, env=child_env, cwd=repo_root, capture_output=True, text=True, check=False)
    assert result.returncode == status
    assert arguments != ["--help"] or "examples:" in result.stdout
