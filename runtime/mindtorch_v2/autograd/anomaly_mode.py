"""Anomaly mode: backward names the forward line of a node that fails, and refuses NaN gradients."""

from __future__ import annotations

import warnings

from .._argument_types import check_flag
from .._core import anomaly_mode, set_anomaly_mode

__all__ = ["detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "set_detect_anomaly"]


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return bool(anomaly_mode()[0])


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode refuses NaN gradients."""
    return bool(anomaly_mode()[1])


class set_detect_anomaly:  # noqa: N801  (PyTorch's name)
    """Turns anomaly mode on or off at once; leaving it as a context manager restores what was."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = anomaly_mode()
        check_flag("set_anomaly_enabled", "enabled", mode)
        check_flag("set_anomaly_enabled", "check_nan", check_nan)
        set_anomaly_mode(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *args: object) -> None:
        set_anomaly_mode(*self._before)


class detect_anomaly:  # noqa: N801
    """Anomaly mode inside ``with``; ``check_nan=False`` lets NaN gradients pass. Slow: for debugging."""

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan
        self._before = anomaly_mode()
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        check_flag("set_anomaly_enabled", "check_nan", self._check_nan)
        set_anomaly_mode(True, self._check_nan)

    def __exit__(self, *args: object) -> None:
        set_anomaly_mode(*self._before)
