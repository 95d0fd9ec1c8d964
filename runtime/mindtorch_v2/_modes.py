"""This thread's stacks of modes, and guards that switch ``__torch_function__`` and ``__torch_dispatch__`` off."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from . import _core
from ._inheritance import inherited
from ._managers import not_entered

__all__ = [
    "BaseTorchFunctionMode",
    "DisableTorchDispatch",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "EnableTorchFunction",
    "TorchDispatchMode",
    "TorchFunctionMode",
    "follow_stacks",
    "stacks",
    "without_innermost",
]

_Mode = TypeVar("_Mode", bound="_ModeBase")
_PYTHON = _core.key_mask("Python")
_FUNCTION = _core.TORCH_FUNCTION_MASK


class _Stacks(threading.local):
    def __init__(self) -> None:
        self.dispatch: list[TorchDispatchMode] = []
        self.functional = False  # whether what is made is a wrapper of `functionalize`
        self.function: list[TorchFunctionMode] = []
        self.subclasses_off = False  # of __torch_function__: those of subclasses
        self.function_off = False  # modes, too
        self.handed_on: set[tuple[Any, ...]] = set()  # calls that a __torch_function__ has; see `handed_on`


stacks = inherited(_Stacks())


class _ModeBase:
    """A context manager that puts itself on its stack; may be entered more than once."""

    _no_mode: type[Exception] = RuntimeError  # what leaving one raises where there is none, as in PyTorch

    def _stack(self) -> list[Any]:
        raise NotImplementedError

    def __enter__(self: _Mode) -> _Mode:
        self._stack().append(self)
        follow_stacks()
        return self

    def __exit__(self, exc_type: object, exc_val: object, exc_tb: object) -> None:
        if not self._stack():
            raise not_entered(self, self._no_mode)
        self._stack().pop()
        follow_stacks()


class TorchDispatchMode(_ModeBase):
    """Subclasses define ``__torch_dispatch__(self, func, types, args=(), kwargs=None)``; ``func`` is an OpOverload.

    ``_dispatch_key`` is for PyTorch's own modes of other keys than Python, which there are none of here.
    """

    _no_mode = IndexError

    def __init__(self, _dispatch_key: Any = None) -> None:
        if _dispatch_key is not None:
            raise TypeError(f"TorchDispatchMode(): modes are called at the key Python alone, not at {_dispatch_key!r}")

    def _stack(self) -> list[Any]:
        return stacks.dispatch

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Whether the mode is part of how something is done, and not what a program asked for."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define __torch_dispatch__")


class TorchFunctionMode(_ModeBase):
    """Subclasses define ``__torch_function__(self, func, types, args=(), kwargs=None)``; ``func`` is a packet."""

    def __init__(self) -> None:
        pass

    def _stack(self) -> list[Any]:
        return stacks.function

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define __torch_function__")


class BaseTorchFunctionMode(TorchFunctionMode):
    """A function mode that changes nothing, to derive from."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **({} if kwargs is None else kwargs))


class _FunctionGuard:
    """Inside ``with``, less of ``__torch_function__`` is called."""

    def __init__(self) -> None:
        self._before: list[tuple[bool, bool]] = []

    def _now(self, subclasses_off: bool, function_off: bool) -> tuple[bool, bool]:
        raise NotImplementedError

    def __enter__(self) -> None:
        before = stacks.subclasses_off, stacks.function_off
        self._before.append(before)
        stacks.subclasses_off, stacks.function_off = self._now(*before)
        follow_stacks()

    def __exit__(self, *exc: object) -> None:
        if not self._before:
            raise not_entered(self)
        stacks.subclasses_off, stacks.function_off = self._before.pop()
        follow_stacks()


class DisableTorchFunctionSubclass(_FunctionGuard):
    """Inside, ``__torch_function__`` of subclasses is not called; modes are."""

    def _now(self, subclasses_off: bool, function_off: bool) -> tuple[bool, bool]:
        return True, function_off


class DisableTorchFunction(_FunctionGuard):
    """Inside, no ``__torch_function__`` is called, neither of subclasses nor of modes."""

    def _now(self, subclasses_off: bool, function_off: bool) -> tuple[bool, bool]:
        return subclasses_off, True


class EnableTorchFunction(_FunctionGuard):
    """Inside, ``__torch_function__`` is called, whatever switched it off outside."""

    def _now(self, subclasses_off: bool, function_off: bool) -> tuple[bool, bool]:
        return False, False


class DisableTorchDispatch:
    """No ``__torch_dispatch__`` is called, of modes or of subclasses, until it is deleted, or left as a context."""

    def __init__(self) -> None:
        included, excluded = _core.thread_keys()
        self._before: tuple[int, int] | None = (included & _PYTHON, excluded & _PYTHON)
        _core.set_thread_keys_(included & ~_PYTHON, excluded | _PYTHON)

    def _end(self) -> None:
        if self._before is None:
            return
        included, excluded = _core.thread_keys()
        was_included, was_excluded = self._before
        _core.set_thread_keys_(included & ~_PYTHON | was_included, excluded & ~_PYTHON | was_excluded)
        self._before = None

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        self._end()

    def __del__(self) -> None:
        self._end()


@contextmanager
def without_innermost(stack: list[Any]) -> Iterator[Any]:
    """Gives the innermost mode, which is off its stack inside ``with``, so that it may call operators itself."""
    mode = stack.pop()
    follow_stacks()
    try:
        yield mode
    finally:
        stack.append(mode)
        follow_stacks()


class handed_on:  # noqa: N801  (reads as a word: `with handed_on(...)`)
    """Inside, ``who`` has the call, to answer it by ``__torch_function__``; False where it has it already.

    Then the call came back as it was, and would for ever: another library's tensor calls the function itself.
    """

    __slots__ = ("_call", "_first")

    def __init__(self, who: Any, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> None:
        self._call = (who, func, *map(id, args), *[(name, id(value)) for name, value in (kwargs or {}).items()])

    def __enter__(self) -> bool:
        self._first = self._call not in stacks.handed_on
        stacks.handed_on.add(self._call)
        return self._first

    def __exit__(self, *exc: object) -> None:
        if self._first:
            stacks.handed_on.discard(self._call)


def follow_stacks() -> None:
    """The thread includes the keys of the stacks that have a mode, and skips what is switched off."""
    included, excluded = _core.thread_keys()
    included &= ~(_PYTHON | _FUNCTION)
    excluded &= ~_FUNCTION
    included |= _PYTHON if stacks.dispatch else 0
    if stacks.function:
        _core.watch_attributes()
        included |= _FUNCTION
    off = stacks.function_off or (stacks.subclasses_off and not stacks.function)
    _core.set_thread_keys_(included, excluded | _FUNCTION if off else excluded)
