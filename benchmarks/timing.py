"""How figures are taken: rounds of all contestants in turn, so that what disturbs one disturbs the others."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping


def thread_time_per_call(run: Callable[[], object], calls: int) -> float:
    """CPU seconds of this thread that one call takes, over ``calls`` of them with the garbage collector off."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        started = time.thread_time_ns()
        for _ in range(calls):
            run()
        return (time.thread_time_ns() - started) / calls / 1e9
    finally:
        if collecting:
            gc.enable()


def interleaved(contestants: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """The median of what each contestant returns, a figure in seconds, over ``rounds`` in which each has its turn."""
    figures: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, measure in contestants.items():
            figures[name].append(measure())
    return {name: statistics.median(values) for name, values in figures.items()}


def paired(rounds: int, ours: Callable[[], float], peer: Callable[[], float]) -> tuple[float, float]:
    """Both figures, in seconds, of the round whose ratio is the median of ``rounds``.

    A machine that others use has slow spells, in which all figures double. A round is short and meets one spell on both
    sides, so its ratio holds; the medians of the two sides may come from different spells.
    """
    pairs = [(ours(), peer()) for _ in range(rounds)]
    return sorted(pairs, key=lambda pair: pair[0] / pair[1])[rounds // 2]
