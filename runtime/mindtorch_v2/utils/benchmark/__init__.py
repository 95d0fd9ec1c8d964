"""PyTorch's ``torch.utils.benchmark``: how long statements take, how sure that is, and tables of it."""

from __future__ import annotations

from ._compare import Colorize, Compare
from ._measurement import Measurement, TaskSpec, ordered_unique, select_unit, trim_sigfig, unit_to_english
from ._timer import Language, Timer, set_torch_threads, timer

__all__ = [
    "Colorize",
    "Compare",
    "Language",
    "Measurement",
    "TaskSpec",
    "Timer",
    "ordered_unique",
    "select_unit",
    "set_torch_threads",
    "timer",
    "trim_sigfig",
    "unit_to_english",
]
