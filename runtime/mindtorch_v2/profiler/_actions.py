"""What a profiler does at each step, and what it records."""

from __future__ import annotations

import enum
import warnings
from collections.abc import Callable

from .. import backends

__all__ = ["ProfilerAction", "ProfilerActivity", "Schedule", "record_always", "schedule", "supported_activities"]


class ProfilerActivity(enum.Enum):
    """What is recorded: what the CPU does, or a device. NPUs are PrivateUse1; ``NPU`` is another name of it."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5
    NPU = PrivateUse1

    @classmethod
    def _missing_(cls, value: object) -> ProfilerActivity:
        if isinstance(value, int):
            raise ValueError(f"{value} is not a valid ProfilerActivity: they are numbered from 0 to {len(cls) - 1}")
        raise TypeError(f"ProfilerActivity(): expected the number of an activity, got {type(value).__name__}")


class ProfilerAction(enum.Enum):
    """What a profiler does in a step: nothing, get ready, record, or record and then hand the trace over."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4  # PyTorch's own; no schedule may give it


Schedule = Callable[[int], ProfilerAction]


def supported_activities() -> set[ProfilerActivity]:
    """What can be recorded here: the CPU, and NPUs, real or simulated."""
    found = {ProfilerActivity.CPU}
    if backends.backend_of("npu").key == "NPU":
        found.add(ProfilerActivity.PrivateUse1)
    return found


def record_always(step: int) -> ProfilerAction:
    """The schedule of a profiler without one."""
    return ProfilerAction.RECORD


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Schedule:
    """A schedule in cycles: ``wait`` steps without recording, ``warmup`` steps, ``active`` steps that are recorded.

    ``repeat`` is how many cycles there are, 0 for as many as fit; ``skip_first`` steps go before the first one, which
    with ``skip_first_wait`` begins at its warm-up. Raises AssertionError for a negative number, or no active step.
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        cycle, place = divmod(step - skip_first + (wait if skip_first_wait else 0), length)
        if place < wait or (repeat > 0 and cycle >= repeat):
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if place == length - 1 else ProfilerAction.RECORD

    return action
