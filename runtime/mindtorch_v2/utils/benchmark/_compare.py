"""``Compare``: measurements in tables."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable

from ._measurement import Measurement, ordered_unique, select_unit, trim_sigfig, unit_to_english

__all__ = ["Colorize", "Compare"]

_OFF = "\033[0m\033[0m"
_BEST, _GOOD, _BAD, _WORST = "\033[92m\033[1m", "\033[34m\033[1m", "\033[2m\033[91m", "\033[31m\033[1m"
_NO_DIFFERENCE = 100e-9  # of times that are shown as equally good
_INDENT = 6  # of rows whose surroundings all are the same
_KIND = "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n"


class Colorize(enum.Enum):
    """Beside which others a time is coloured."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """A table for each label: a row for each sub-label, a column for each description, numbers of threads apart.

    Measurements of one and the same task are merged. ``str`` is the text of the tables.
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim, self._warn, self._colorize = False, False, Colorize.NONE

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Adds measurements. Raises ValueError for what is none."""
        results = list(results)
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(result)} instead.")
        self._results += results

    def trim_significant_figures(self) -> None:
        """From now on times are shown by the digits that mean anything."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """From now on good and bad times are coloured, beside the best of the column or of the row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """From now on times that differ much from run to run are marked."""
        self._warn = True

    def print(self) -> None:
        """Prints the tables."""
        print(self)

    def __str__(self) -> str:
        groups: dict[str | None, list[Measurement]] = {}
        for result in Measurement.merge(self._results):
            groups.setdefault(result.task_spec.label, []).append(result)
        return "\n".join(self._table(label or "", results) for label, results in groups.items())

    def _table(self, label: str, results: list[Measurement]) -> str:
        unit, scale = select_unit(min(result.median for result in results))
        rows = sorted(ordered_unique(_row(result) for result in results), key=lambda row: row[:2])
        columns = ordered_unique(result.task_spec.description or "" for result in results)
        cells = {(_row(result), result.task_spec.description or ""): result for result in results}
        texts = {column: self._texts([cells.get((row, column)) for row in rows], column, scale) for column in columns}
        envs = ordered_unique(env for _, env, _ in rows)
        shown = max(map(len, envs)) + 6 if len(envs) > 1 else _INDENT
        names = max(len(name) for *_, name in rows)
        head = "  |  ".join([" " * (shown + names), *(texts[column][0] for column in columns)])
        lines = [f"[{f' {label} '.center(len(head) - 2, '-')}]", head]
        before: tuple[int, str] | None = None
        for number, row in enumerate(rows, 1):
            threads, env, name = row
            if before is None or before[0] != threads:
                lines.append(f"{threads} threads: ".ljust(len(head), "-"))
            first = f"  ({env})" if env and len(envs) > 1 and before != row[:2] else ""
            before = row[:2]
            values = [
                self._colored(texts[column][number], cells.get((row, column)), self._beside(cells, row, column))
                for column in columns
            ]
            lines.append("  |  ".join([f"{first:<{shown}}{name:<{names}}", *values]))
        marked = self._warn and any(result.has_warnings for result in results)
        return "\n".join([*lines, "", f"Times are in {unit_to_english(unit)}s ({unit}).", _KIND if marked else ""])

    def _texts(self, results: list[Measurement | None], title: str, scale: float) -> list[str]:
        """The title of a column and what is below it, all of one width."""
        figures = {id(r): r.significant_figures if self._trim else 0 for r in results if r is not None}
        digits = 1
        if self._trim:
            digits = min(figures[id(r)] - math.ceil(math.log10(r.median / scale)) for r in results if r is not None)
        numbers = []
        for result in results:
            value = None if result is None else result.median / scale
            if value is not None and result is not None and self._trim:
                value = trim_sigfig(value, figures[id(result)])
            numbers.append("" if value is None else f"{value:.{max(digits, 0)}f}")
        widest = max(len(number) for number in numbers)
        marks = [_mark(result) if self._warn and result is not None else "" for result in results]
        room = max(len(mark) for mark in marks)
        cells = [
            f"{number:>{widest}}{mark or ' ' * max(room - 1, 0)}" for number, mark in zip(numbers, marks, strict=True)
        ]
        width = max(map(len, [title, *cells]))
        return [text.center(width) for text in [title, *cells]]

    def _beside(
        self,
        cells: dict[tuple[tuple[int, str, str], str], Measurement],
        row: tuple[int, str, str],
        column: str,
    ) -> list[Measurement]:
        if self._colorize is Colorize.ROWWISE:
            return [result for (of, _), result in cells.items() if of == row]
        return [result for (of, its), result in cells.items() if its == column and of[0] == row[0]]

    def _colored(self, text: str, result: Measurement | None, beside: list[Measurement]) -> str:
        if result is None or self._colorize is Colorize.NONE:
            return text
        best, value = min(other.median for other in beside), result.median
        if value <= best * 1.01 or value - best <= _NO_DIFFERENCE:
            color = _BEST
        elif value <= best * 1.1:
            color = _GOOD
        else:
            color = _WORST if value >= best * 5 else _BAD if value >= best * 2 else ""
        return f"{color}{text}{_OFF}" if color else text


def _row(result: Measurement) -> tuple[int, str, str]:
    return result.task_spec.num_threads, result.env or "", result.as_row_name


def _mark(result: Measurement) -> str:
    return f" (! {result.iqr / result.median * 100:.0f}%)" if result.has_warnings else ""
