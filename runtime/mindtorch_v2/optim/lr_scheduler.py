"""Schedules of learning rates, as ``torch.optim.lr_scheduler``: one class for each, with states that both can load."""

from . import _cycles, _schedules
from ._cycles import *  # noqa: F403  (schedules that rise and fall, and the one that watches a metric)
from ._schedules import *  # noqa: F403  (factors of the rate, functions, schedules of schedules)
from ._schedules import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING
from ._schedules import LRScheduler
from ._schedules import of_groups as _format_param  # noqa: F401  (libraries call it)

__all__ = [*_schedules.__all__, *_cycles.__all__]


class _LRScheduler(LRScheduler):
    """The base of schedules by the name it had before PyTorch 2.0, which libraries derive from."""
