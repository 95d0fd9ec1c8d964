"""``Timer``: how long a statement takes."""

from __future__ import annotations

import enum
import textwrap
import timeit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import mindtorch_v2

from ... import accelerator
from ...backends._threads import get_num_threads, set_num_threads
from ._measurement import Measurement, TaskSpec

__all__ = ["Language", "Timer", "set_torch_threads", "timer"]

_OVERHEAD = 1e-4  # of a block's time that reading the clock may take
_SHORTEST = 1000  # blocks within the time asked for
_ENOUGH = 3  # times, to judge how far apart they are


class Language(enum.Enum):
    """What a statement is written in."""

    PYTHON = 0
    CPP = 1


def timer() -> float:
    """The time in seconds, when the accelerator, where there is one, has done what it was given."""
    if accelerator.is_available():
        accelerator.synchronize()
    return timeit.default_timer()


@contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Inside, operators run on ``n`` threads."""
    before = get_num_threads()
    set_num_threads(n)
    try:
        yield
    finally:
        set_num_threads(before)


class Timer:
    """Times a statement, after ``setup`` and on ``num_threads`` threads; ``globals`` are the names that both know.

    The statement can use ``torch`` without importing it. Of label, sub-label, description and surroundings (``env``)
    see `Compare`. Raises ValueError for statements that are no text, or in C++, and SyntaxError.
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language not in (Language.PYTHON, "py", "python"):
            raise ValueError(f"statements are in Python here, not in {language}")
        if global_setup:
            raise ValueError(f"global_setup is of statements in C++, got {global_setup!r}")
        stmt, setup = (textwrap.dedent(text).strip() for text in (stmt, setup))
        known = dict(globals or {})
        known.setdefault("torch", mindtorch_v2)
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)
        self._timer = timeit.Timer(stmt, setup, timer, known)

    def timeit(self, number: int = 1000000) -> Measurement:
        """One time, of ``number`` runs, after a hundredth of them to warm up."""
        with set_torch_threads(self._task_spec.num_threads):
            self._timer.timeit(max(number // 100, 2))
            return self._measured(number, [self._timer.timeit(number)])

    def blocked_autorange(
        self, callback: Callable[[int, float], NoReturn] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Times of blocks that take ``min_run_time`` seconds together; a block is long beside reading the clock."""
        return self._repeated(lambda times: sum(times) < min_run_time, min_run_time, callback)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], NoReturn] | None = None,
    ) -> Measurement:
        """The same, until the middle half of the times is within ``threshold`` of the median, or time is up."""

        def goes_on(times: list[float]) -> bool:
            if sum(times) >= max_run_time:
                return False
            if len(times) <= _ENOUGH or sum(times) <= min_run_time:
                return True
            return not self._measured(1, times).meets_confidence(threshold)

        return self._repeated(goes_on, min_run_time, callback)

    def _repeated(
        self, goes_on: Callable[[list[float]], bool], shortest: float, callback: Callable[[int, float], Any] | None
    ) -> Measurement:
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block(shortest / _SHORTEST)
            times: list[float] = []
            while goes_on(times):
                times.append(self._timer.timeit(number))
                if callback is not None:
                    callback(number, times[-1])
        return self._measured(number, times)

    def _block(self, shortest: float) -> int:
        """How many runs take so long that reading the clock does not count; running them warms up."""
        overhead = sorted(self._timer.timeit(0) for _ in range(5))[2]
        number = 1
        while True:
            taken = self._timer.timeit(number)
            if taken >= shortest and overhead <= taken * _OVERHEAD:
                return number
            number *= 10

    def _measured(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, times, self._task_spec)
