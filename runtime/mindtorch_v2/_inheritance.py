"""Work that another thread does for this one, which waits: it finds what this one has, modes and the like."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from . import _core

__all__ = ["inherited", "on_another_thread"]

_State = TypeVar("_State", bound=threading.local)
_states: list[threading.local] = []


def inherited(state: _State) -> _State:
    """Makes what each thread has in ``state`` what a thread that goes on for another begins with; returns it."""
    _states.append(state)
    return state


def on_another_thread(function: Callable[[], Any]) -> Any:
    """What ``function()`` returns, or raises, on a thread of its own, with a stack of its own."""
    found: list[Any] = []
    failed: list[BaseException] = []
    mine = [dict(vars(state)) for state in _states]

    def run() -> None:
        for state, values in zip(_states, mine, strict=True):
            vars(state).update(values)
        try:
            found.append(function())
        except BaseException as error:  # whoever waits gets it, an interrupt, too
            failed.append(error)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(run,))
    thread.start()
    thread.join()
    if failed:
        raise failed.pop()
    return found.pop()


_core.hooks.fill(on_another_thread=on_another_thread)
