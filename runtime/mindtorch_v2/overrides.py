"""``__torch_function__`` and ``__torch_dispatch__``: calls that go to Python code, for subclasses and inside modes.

``__torch_function__`` sees a call before autograd, ``__torch_dispatch__`` below it. A mode sees every operator called
while it is entered; while its handler runs it is out of the way, so that the handler may call operators itself.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from . import _core
from ._core import OpOverload, Tensor

__all__ = [
    "DisableTorchFunctionSubclass",
    "TorchDispatchMode",
    "TorchFunctionMode",
    "dispatch_rules",
    "handle_torch_function",
    "has_torch_function",
    "is_tensor_like",
    "is_traceable_wrapper_subclass",
]

# (operator, class of a mode or of tensors) -> what runs in place of its __torch_dispatch__
dispatch_rules: dict[tuple[OpOverload, type], Any] = {}

_Mode = TypeVar("_Mode", bound="_ModeBase")
_PYTHON = _core.key_mask("Python")


class _Stacks(threading.local):
    def __init__(self) -> None:
        self.dispatch: list[TorchDispatchMode] = []
        self.function: list[TorchFunctionMode] = []


_stacks = _Stacks()


class _ModeBase:
    """A context manager that puts itself on its stack; may be entered more than once."""

    def _stack(self) -> list[Any]:
        raise NotImplementedError

    def __enter__(self: _Mode) -> _Mode:
        self._stack().append(self)
        _follow_stacks()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack().pop()
        _follow_stacks()


class TorchDispatchMode(_ModeBase):
    """Subclasses define ``__torch_dispatch__(self, func, types, args=(), kwargs=None)``; ``func`` is an OpOverload."""

    def _stack(self) -> list[Any]:
        return _stacks.dispatch

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define __torch_dispatch__")


class TorchFunctionMode(_ModeBase):
    """Subclasses define ``__torch_function__(self, func, types, args=(), kwargs=None)``; ``func`` is a packet."""

    def _stack(self) -> list[Any]:
        return _stacks.function

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define __torch_function__")


class DisableTorchFunctionSubclass:
    """Inside, ``__torch_function__`` of subclasses is not called."""

    def __enter__(self) -> None:
        self._before = _core.thread_keys()
        included, excluded = self._before
        _core.set_thread_keys_(included, excluded | _core.TORCH_FUNCTION_MASK)

    def __exit__(self, *exc: object) -> None:
        _core.set_thread_keys_(*self._before)


def has_torch_function(relevant_args: Any) -> bool:
    """Whether a mode or any of the arguments overrides ``__torch_function__``."""
    return bool(_stacks.function or _overriding_types(tuple(relevant_args), {}, "__torch_function__"))


def handle_torch_function(public_api: Any, relevant_args: Any, *args: Any, **kwargs: Any) -> Any:
    """Calls the ``__torch_function__`` that a Python function's arguments, or a mode, bring with them."""
    types = _overriding_types(tuple(relevant_args), {}, "__torch_function__")
    if _stacks.function:
        with _without_innermost(_stacks.function) as mode:
            return mode.__torch_function__(public_api, types, args, kwargs)
    return _ask_types(str(public_api), types, "__torch_function__", public_api, args, kwargs)


def is_tensor_like(inp: Any) -> bool:
    """Whether a value is a tensor, or defines ``__torch_function__``."""
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether a tensor of a subclass says how it is taken apart and put together again."""
    return isinstance(t, Tensor) and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def _follow_stacks() -> None:
    """The thread includes the keys of the stacks that have a mode."""
    included, excluded = _core.thread_keys()
    included &= ~(_PYTHON | _core.TORCH_FUNCTION_MASK)
    included |= _PYTHON if _stacks.dispatch else 0
    included |= _core.TORCH_FUNCTION_MASK if _stacks.function else 0
    _core.set_thread_keys_(included, excluded)


@contextmanager
def _without_innermost(stack: list[Any]) -> Iterator[Any]:
    mode = stack.pop()
    _follow_stacks()
    try:
        yield mode
    finally:
        stack.append(mode)
        _follow_stacks()


def _dispatch(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the Python key runs: the innermost mode, else the ``__torch_dispatch__`` of the arguments' classes."""
    args, kwargs = _without_defaults(op, args, kwargs)
    types = _overriding_types(args, kwargs, "__torch_dispatch__")
    if _stacks.dispatch:
        with _without_innermost(_stacks.dispatch) as mode:
            rule = dispatch_rules.get((op, type(mode)))
            if rule is not None:
                return rule(mode, op, types, args, kwargs)
            return mode.__torch_dispatch__(op, types, args, kwargs)
    for cls in types:
        rule = dispatch_rules.get((op, cls))
        if rule is not None:
            return rule(cls, op, types, args, kwargs)
    return _ask_types(op.name(), types, "__torch_dispatch__", op, args, kwargs)


def _override(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What runs for ``__torch_function__``: the innermost mode, else that of the arguments' classes."""
    args, kwargs = _without_defaults(op, args, kwargs)
    func = getattr(_packets(op.namespace), op._schema.name)
    types = _overriding_types(args, kwargs, "__torch_function__")
    if _stacks.function:
        with _without_innermost(_stacks.function) as mode:
            return mode.__torch_function__(func, types, args, kwargs)
    return _ask_types(op.name(), types, "__torch_function__", func, args, kwargs)


def _packets(namespace: str) -> Any:
    from ._ops import ops

    return getattr(ops, namespace)


def _ask_types(
    name: str, types: tuple[type, ...], method: str, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    for cls in types:
        result = getattr(cls, method)(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    names = ", ".join(cls.__name__ for cls in types)
    raise TypeError(f"Multiple dispatch failed for '{name}'; all {method} handlers returned NotImplemented: {names}")


def _overriding_types(args: tuple[Any, ...], kwargs: dict[str, Any], method: str) -> tuple[type, ...]:
    """Classes of the tensor arguments that define a method, subclasses before their bases, each once."""
    found: list[type] = []
    for value in _flat((*args, *kwargs.values())):
        cls = type(value)
        handler = getattr(cls, method, None)
        if cls is Tensor or cls in found or handler is None or handler is _core.disabled_torch_function:
            continue
        at = next((i for i, other in enumerate(found) if issubclass(cls, other)), len(found))
        found.insert(at, cls)
    return tuple(found)


def _flat(values: tuple[Any, ...]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _flat(tuple(value))


def _without_defaults(
    op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments as a caller would write them: without those, at the end or by keyword, that equal their default."""
    schema = op._schema
    count = len(args)
    while count and _is_default(schema.arguments[count - 1], args[count - 1]):
        count -= 1
    keywords = {a.name: a for a in schema.kwarg_only}
    return args[:count], {name: value for name, value in kwargs.items() if not _is_default(keywords[name], value)}


def _is_default(argument: Any, value: Any) -> bool:
    if not argument.has_default or isinstance(value, Tensor):
        return False
    default = argument.default_value
    return type(default) is type(value) and bool(default == value)


def as_subclass(self: Tensor, cls: type) -> Any:
    """The same tensor, history included, as an object of ``cls``, a subclass of Tensor."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(f"as_subclass(): argument 'cls' must be a subclass of Tensor, not {cls!r}")
    return _core.change_class(self, cls)


_core.install_method("as_subclass", as_subclass)
_core.set_python_dispatchers(_dispatch, _override)
