"""``torch.utils.benchmark`` beside PyTorch's: what measurements say, tables, and how often a timer runs a statement."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2
from mindtorch_v2.utils import benchmark as ours
from tests.needs import needed

theirs = needed("torch.utils.benchmark")
NUMBERS = random.Random(0)


def measurement(of: Any, times: list[float], runs: int = 1, **names: Any) -> Any:
    spec = {"stmt": "x + 1", "setup": "pass", "label": "l", "description": "d", **names}
    return of.Measurement(runs, times, of.TaskSpec(**spec))


def spread(middle: float, by: float, count: int = 9) -> list[float]:
    return [middle * (1 + by * NUMBERS.random()) for _ in range(count)]


MEASURED: list[tuple[list[float], int, dict[str, Any]]] = [
    ([1.0], 10, {"label": None}),
    ([1e-5, 2e-5], 10, {"label": None, "description": None, "sub_label": "s"}),
    ([3e-9] * 4, 1, {}),
    ([100.0] * 5, 1, {"setup": "y = 1", "sub_label": "s", "env": "e"}),
    ([1.0, 2, 3, 4, 30], 7, {"stmt": "a\nb", "label": None, "sub_label": "s", "setup": "import x\ny = 1"}),
    ([10.0, 10.5, 11, 11.5, 12.5], 7, {"stmt": "a\nb", "label": None, "num_threads": 4}),
    *((spread(10**power, by, count), 3, {}) for power in (-6, -3, 0) for by in (0.01, 0.3) for count in (3, 4, 12)),
]


@pytest.mark.parametrize("case", MEASURED, ids=range(len(MEASURED)))
def test_a_measurement_says_what_pytorch_says(case: Any) -> None:
    times, runs, names = case
    mine, its = (measurement(of, times, runs, **names) for of in (ours, theirs))
    assert repr(mine).partition("\n")[2] == repr(its).partition("\n")[2]
    for name in ("times", "mean", "median", "iqr"):
        assert getattr(mine, name) == pytest.approx(getattr(its, name), rel=1e-12, abs=0)
    for name in ("significant_figures", "has_warnings", "title", "env", "as_row_name", "label", "num_threads"):
        assert getattr(mine, name) == getattr(its, name)
    assert [mine.meets_confidence(part) for part in (0.05, 0.5)] == [its.meets_confidence(part) for part in (0.05, 0.5)]
    assert mine.task_spec.summarize() == its.task_spec.summarize()
    assert pickle.loads(pickle.dumps(mine)).times == mine.times


def test_measurements_of_one_task_are_merged() -> None:
    cases = [([1.0, 2.0], 2, {}), ([3.0], 1, {}), ([4.0], 1, {"env": "e"})]
    merged = [
        of.Measurement.merge([measurement(of, times, runs, **names) for times, runs, names in cases])
        for of in (ours, theirs)
    ]
    assert [(m.number_per_run, m.raw_times, m.env) for m in merged[0]] == [
        (m.number_per_run, m.raw_times, m.env) for m in merged[1]
    ]


NEAR = (1, 1.01, 1.04, 1.06, 1.09, 1.11, 1.5, 1.9, 2, 2.1, 4.9, 5, 9)
GRID = [
    (spread(1e-6, 0.3), {"description": column, "sub_label": row, "env": env, "num_threads": threads})
    for env in ("A", "BCD")
    for column in ("n=1", "n=10000000000")
    for row in ("first", "2nd")
    for threads in (1, 4)
]
TABLES: dict[str, list[tuple[list[float], dict[str, Any]]]] = {
    "grid": GRID,
    "one surrounding": GRID[:8],
    "missing cells": GRID[:3],
    "near, us": [([1e-6 * f] * 3, {"sub_label": str(f)}) for f in NEAR],
    "near, 50 us": [([5e-5 * f] * 3, {"sub_label": str(f)}) for f in NEAR],
    "near in a row": [([5e-5 * f] * 3, {"description": str(f)}) for f in NEAR],
    "digits": [
        (spread(v, by), {"sub_label": f"{v}", "description": f"{by}"}) for v in (1e-6, 3e-4, 2) for by in (1e-3, 0.3)
    ],
    "figures": [([1.23456e-3 * (1 + by * i) for i in range(9)], {"sub_label": str(by)}) for by in (1e-5, 1e-3, 1e-1)],
    "merged": [([1e-6], {}), ([3e-6], {})],
    "labels": [([1e-6], {"label": "a"}), ([3e-3], {"label": None}), ([3e-5], {"label": "a", "description": "other"})],
}


@pytest.mark.parametrize("calls", ["", "trim", "warn", "color", "color rows", "trim warn color"])
@pytest.mark.parametrize("table", TABLES)
def test_a_table_is_pytorchs(table: str, calls: str, capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for of in (ours, theirs):
        compare = of.Compare([measurement(of, times, **names) for times, names in TABLES[table]])
        if "trim" in calls:
            compare.trim_significant_figures()
        if "warn" in calls:
            compare.highlight_warnings()
        if "color" in calls:
            compare.colorize("rows" in calls)
        texts.append(str(compare))
    assert texts[0] == texts[1]


def test_what_is_no_measurement_is_refused() -> None:
    for of in (ours, theirs):
        with pytest.raises(ValueError, match="Measurement"):
            of.Compare([]).extend_results([3])


class Clock:
    """A clock that a statement moves on by 3 us, and being read by 0.1 us."""

    def __init__(self) -> None:
        self.now, self.runs = 0.0, 0

    def __call__(self) -> float:
        self.now += 1e-7
        return self.now

    def work(self) -> None:
        self.now += 3e-6 * (1 + self.runs % 2)
        self.runs += 1


WAYS: dict[str, Callable[[Any], Any]] = {
    "timeit": lambda timer: timer.timeit(7),
    "timeit of many": lambda timer: timer.timeit(1000),
    "blocked": lambda timer: timer.blocked_autorange(min_run_time=0.02),
    "adaptive": lambda timer: timer.adaptive_autorange(),
    "adaptive, longer": lambda timer: timer.adaptive_autorange(min_run_time=0.05),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_timer_runs_a_statement_as_often(way: str) -> None:
    found = []
    for of in (ours, theirs):
        clock = Clock()
        timer = of.Timer("work()", globals={"work": clock.work}, timer=clock, label="l", num_threads=2)
        result = WAYS[way](timer)
        found.append((result.number_per_run, result.raw_times, clock.runs, result.label, result.num_threads))
    assert found[0] == found[1]


def test_a_statement_runs_on_the_threads_asked_for() -> None:
    before = mindtorch_v2.get_num_threads()
    seen: list[int] = []
    ours.Timer("seen.append(torch.get_num_threads())", globals={"seen": seen}, num_threads=before + 1).timeit(1)
    assert {*seen} == {before + 1}
    assert mindtorch_v2.get_num_threads() == before
    assert ours.Timer("x + 1", setup="x = torch.ones(3)").blocked_autorange(min_run_time=0.001).median > 0


@pytest.mark.parametrize(
    ("make", "error"), [(lambda of: of.Timer(3), ValueError), (lambda of: of.Timer("1 +"), SyntaxError)]
)
def test_what_is_no_statement_is_refused(make: Any, error: Any) -> None:
    for of in (ours, theirs):
        with pytest.raises(error):
            make(of)


def test_small_functions() -> None:
    for of in (ours, theirs):
        assert [of.select_unit(t) for t in (2e-9, 1e-7, 3e-5, 0.5, 2, 60)] == [
            ("ns", 1e-9), ("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1), ("s", 1),
        ]  # fmt: skip
        assert of.unit_to_english("us") == "microsecond"
        assert [of.trim_sigfig(123.456, n) for n in (1, 2, 4)] == [100, 120, 123.5]
        assert of.ordered_unique([3, 1, 3]) == [3, 1]
