"""``torch.futures``: results that are not there yet, and what is to be done with them when they are."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, NoReturn, TypeVar, cast

__all__ = ["Future", "collect_all", "wait_all"]

_T = TypeVar("_T")
_S = TypeVar("_S")


class Future(Generic[_T]):
    """A result that a thread sets once, and that others wait for.

    Callbacks get the future; they run in the order in which they were added, in the thread that sets the result, or at
    once where it is there. ``devices`` are those of the result's tensors; nothing here waits for a device.
    """

    def __init__(self, *, devices: Sequence[Any] | None = None) -> None:
        self._devices = list(devices or ())
        self._state = threading.Condition()
        self._is_done = False
        self._result: Any = None
        self._error: Exception | None = None
        self._callbacks: list[Callable[[Future[_T]], None]] = []

    def done(self) -> bool:
        """Whether there is a result, or an error."""
        return self._is_done

    def wait(self) -> _T:
        """The result, once it is there; raises the error that was set instead."""
        with self._state:
            self._state.wait_for(self.done)
        return self.value()

    def value(self) -> _T:
        """The result, which has to be there: RuntimeError if not. Raises the error that was set instead."""
        if not self._is_done:
            raise RuntimeError("Future.value(): the future is not completed: wait() waits for it")
        if self._error is not None:
            raise self._error
        return cast("_T", self._result)

    def then(self, callback: Callable[[Future[_T]], _S]) -> Future[_S]:
        """A future of what ``callback`` returns for this one when it is done, whether by a result or an error.

        What the callback raises is the new future's error: a RuntimeError that names it.
        """
        _check_callable("then", callback)
        following: Future[_S] = Future(devices=self._devices)

        def run(done: Future[_T]) -> None:
            try:
                found = callback(done)
            except Exception as error:  # whatever a callback raises is the result of it
                following._complete(None, RuntimeError(_failure(error)))
            else:
                following._complete(found, None)

        self._add(run)
        return following

    def add_done_callback(self, callback: Callable[[Future[_T]], None]) -> None:
        """Calls ``callback`` with this future when it is done. What it raises is printed, and changes nothing."""
        _check_callable("add_done_callback", callback)

        def run(done: Future[_T]) -> None:
            try:
                callback(done)
            except Exception as error:  # as above; nobody waits for this one
                sys.stderr.write(f"{_failure(error)}\n")

        self._add(run)

    def set_result(self, result: _T) -> None:
        """Sets the result. Raises RuntimeError where there is one, or an error."""
        self._complete(result, None)

    def set_exception(self, result: Exception) -> None:
        """Sets an error, which those raise who ask for the result. Raises AssertionError for what is no exception."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._complete(None, result)

    def _add(self, run: Callable[[Future[_T]], None]) -> None:
        with self._state:
            if not self._is_done:
                self._callbacks.append(run)
                return
        run(self)

    def _complete(self, result: Any, error: Exception | None) -> None:
        with self._state:
            if self._is_done:
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future can only be marked "
                    "completed once."
                )
            self._result, self._error, self._is_done = result, error, True
            waiting, self._callbacks = self._callbacks, []
            self._state.notify_all()
        for run in waiting:
            run(self)

    def __reduce__(self) -> NoReturn:
        raise RuntimeError("Can not pickle torch.futures.Future")


def _check_callable(name: str, callback: Any) -> None:
    if not callable(callback):
        raise TypeError(f"{name}(): expected a callable, not {type(callback).__name__}")


def _failure(error: Exception) -> str:
    """What a callback raised, and where."""
    frames = traceback.extract_tb(error.__traceback__)[1:]
    places = "".join(f"\n  {frame.filename}({frame.lineno}): {frame.name}" for frame in reversed(frames))
    return f"Got the following error when running the callback: {type(error).__name__}: {error}\n\nAt:{places}\n"


def collect_all(futures: Iterable[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of the list of these, done when all are; where some have errors, its error is the first of these."""
    listed = list(futures)
    for one in listed:
        if not isinstance(one, Future):
            raise TypeError(f"collect_all(): expected futures, not {type(one).__name__}")
    every: Future[list[Future[Any]]] = Future()
    lock, missing = threading.Lock(), len(listed)
    if not listed:
        every.set_result(listed)

    def ended(one: Future[Any]) -> None:
        nonlocal missing
        with lock:
            missing -= 1
            is_last = missing == 0
        if is_last:
            error = next((each._error for each in listed if each._error is not None), None)
            every._complete(listed if error is None else None, error)

    for one in listed:
        one.add_done_callback(ended)
    return every


def wait_all(futures: Iterable[Future[Any]]) -> list[Any]:
    """The results of all, once they are there; raises the first error."""
    return [one.wait() for one in collect_all(futures).wait()]
