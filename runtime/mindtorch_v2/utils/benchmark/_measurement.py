"""``Measurement``: the times that a statement took, and what they say."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

__all__ = ["Measurement", "TaskSpec", "ordered_unique", "select_unit", "trim_sigfig", "unit_to_english"]

T = TypeVar("T")
_UNITS = {"ns": ("nanosecond", 1e-9), "us": ("microsecond", 1e-6), "ms": ("millisecond", 1e-3), "s": ("second", 1)}
_BY_THOUSANDS = {-3: "ns", -2: "us", -1: "ms"}
_WIDE, _VERY_WIDE = 0.1, 0.25  # the middle half of the times, by their median
_CONFIDENCE = 1.645  # deviations to either side of a mean that hold nine of ten
_CLOCK = 25e-9  # what no time is known better than
_MOST_FIGURES = 4
_INFLUENCE, _FLUCTUATION = "suggests significant environmental influence", "could indicate system fluctuation"


@dataclass(frozen=True)
class TaskSpec:
    """What was timed, and the names under which a program wants to see it."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement where there is none."""
        name = self.label if self.label is not None else self.stmt
        if self.label is not None or "\n" not in name:
            return f"{name}: {self.sub_label}" if self.sub_label else name
        return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n{textwrap.indent(self.stmt, '  ')}"

    def setup_str(self) -> str:
        """The setup with that word before it; nothing where it does nothing."""
        if self.setup in ("", "pass"):
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Title, description and setup, each on lines of its own."""
        parts = [self.title, self.description or "", self.setup_str()]
        return "\n".join(f"{part}\n" if "\n" in part else part for part in parts if part)


@dataclass(repr=False)
class Measurement:
    """Times in seconds of ``number_per_run`` runs each. What a `TaskSpec` has can be read of it, too."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "task_spec":  # which a copy has not yet
            raise AttributeError(name)
        return getattr(self.task_spec, name)

    @property
    def times(self) -> list[float]:
        """Of one run each."""
        return [time / self.number_per_run for time in self.raw_times]

    def _quartiles(self) -> tuple[float, float, float]:
        import numpy as np

        low, middle, high = np.percentile(self.times, (25, 50, 75)).tolist()
        return low, middle, high

    @property
    def mean(self) -> float:
        """Of the times."""
        import numpy as np

        return float(np.mean(self.times))

    @property
    def median(self) -> float:
        """The time in the middle, which a few slow runs do not change."""
        return self._quartiles()[1]

    @property
    def iqr(self) -> float:
        """How far the middle half of the times reaches."""
        low, _, high = self._quartiles()
        return high - low

    @property
    def significant_figures(self) -> int:
        """How many digits of the median mean anything, from 1 to 4, judged by the middle half of the times."""
        import numpy as np

        times = sorted(self.times)
        apart = len(times) // 4
        middle = times[apart : len(times) - apart]
        unsure = max(_CONFIDENCE * float(np.std(middle)) / math.sqrt(len(middle)), _CLOCK)
        return min(max(math.floor(math.log10(self.median / unsure)), 1), _MOST_FIGURES)

    @property
    def has_warnings(self) -> bool:
        """Whether the middle half of the times reaches over more than a tenth of the median."""
        return not self.meets_confidence(_WIDE)

    def meets_confidence(self, threshold: float = _WIDE) -> bool:
        """Whether the middle half of the times reaches over less than this part of the median."""
        return self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        """See `TaskSpec.title`."""
        return self.task_spec.title

    @property
    def env(self) -> str | None:
        """What the program calls the surroundings it was timed in."""
        return self.task_spec.env

    @property
    def as_row_name(self) -> str:
        """By what a table calls it."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def __repr__(self) -> str:
        low, median, high = self._quartiles()
        unit, scale = select_unit(median)
        count, runs, threads = len(self.raw_times), self.number_per_run, self.task_spec.num_threads
        value = f"{median / scale:.2f} {unit}"
        lines = [super().__repr__(), self.task_spec.summarize(), f"  {'Median: ' if count > 1 else ''}{value}"]
        if count > 3:
            lines.append(f"  IQR:    {(high - low) / scale:.2f} {unit} ({low / scale:.2f} to {high / scale:.2f})")
        plural, each = ("s", "per measurement") if count > 1 else ("", "")
        lines.append(f"  {count} measurement{plural}, {runs} runs {each}, {threads} thread{'s' if threads > 1 else ''}")
        if self.has_warnings:
            cause = _INFLUENCE if self.iqr / median > _VERY_WIDE else _FLUCTUATION
            lines.append(f"  WARNING: Interquartile range is {self.iqr / median * 100:.1f}% of the median measurement.")
            lines.append(f"           This {cause}.")
        return "\n".join(lines)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One measurement for each `TaskSpec`, of all its times."""
        grouped: dict[TaskSpec, list[float]] = {}
        for measurement in measurements:
            grouped.setdefault(measurement.task_spec, []).extend(measurement.times)
        return [Measurement(1, times, spec) for spec, times in grouped.items()]


def select_unit(t: float) -> tuple[str, float]:
    """In which unit a time in seconds is best shown, and how long that is."""
    unit = _BY_THOUSANDS.get(math.floor(math.log10(t) / 3), "s")
    return unit, _UNITS[unit][1]


def unit_to_english(u: str) -> str:
    """A unit in full."""
    return _UNITS[u][0]


def trim_sigfig(x: float, n: int) -> float:
    """A number with its first ``n`` digits."""
    return float(f"{x:.{n - 1}e}")


def ordered_unique(elements: Iterable[T]) -> list[T]:
    """Each of them once, in the order in which they come."""
    return list(dict.fromkeys(elements))
