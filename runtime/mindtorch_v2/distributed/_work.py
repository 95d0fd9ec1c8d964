"""What was begun and may not have ended: handles of communication, and the errors that they raise."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from typing import Any

__all__ = ["DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "Work"]

_SPIN = 0.02  # seconds in which a process asks without rest: what is short is not made longer by sleep
_REST = 5e-5  # seconds of sleep between questions after that


class DistError(RuntimeError):
    """Communication between processes failed."""


class DistBackendError(DistError):
    """The engine failed, or did not end in time."""


class DistNetworkError(DistError):
    """Processes could not be reached."""


class DistStoreError(DistError):
    """A store failed."""


class Work:
    """A call that was begun with ``async_op=True``. Its tensors are neither read nor written until `wait` has returned.

    ``completed`` asks the engine once, without waiting; ``finish`` runs once when it is done, in the thread that asks;
    ``late`` says who is waited for.
    """

    def __init__(
        self,
        name: str,
        timeout: datetime.timedelta,
        completed: Callable[[], bool],
        finish: Callable[[], None],
        late: Callable[[], str],
        source: Callable[[], int] | None = None,
        result: Any = None,
    ) -> None:
        self._name, self._timeout, self._completed, self._late = name, timeout, completed, late
        self._finish: Callable[[], None] | None = finish
        self._source, self._result = source, result
        self._error: Exception | None = None

    def is_completed(self) -> bool:
        """Whether it is done; engines that work only while they are asked do a part of it meanwhile."""
        if self._finish is None:
            return True
        if not self._completed():
            return False
        finish, self._finish = self._finish, None
        finish()
        return True

    def wait(self, timeout: datetime.timedelta | None = None) -> bool:
        """Waits until it is done: True.

        Raises DistBackendError after ``timeout``, or the group's: it says which call waited, how long, and for whom.
        """
        seconds = (timeout or self._timeout).total_seconds()
        begun = time.monotonic()
        while not self.is_completed():
            waited = time.monotonic() - begun
            if waited > seconds:
                self._error = DistBackendError(f"{self._name}: not done after {waited:.1f} s: {self._late()}")
                raise self._error
            if waited > _SPIN:
                time.sleep(_REST)
        return True

    def is_success(self) -> bool:
        """Whether it is done, and did not fail."""
        return self.is_completed() and self._error is None

    def exception(self) -> Exception | None:
        """What `wait` raised."""
        return self._error

    def source_rank(self) -> int:
        """Whose message was received, by its number among all processes."""
        if self._source is None:
            raise RuntimeError(f"{self._name}: sourceRank() may only be called on work objects that correspond to recv")
        return self._source()

    def result(self) -> Any:
        """The tensors that were written."""
        return self._result

    def synchronize(self) -> None:
        """The same as `wait`."""
        self.wait()
