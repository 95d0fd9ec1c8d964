"""``torch`` and ``torch.ops`` in definitions: operators that may be defined later; a call becomes a symbol."""

from __future__ import annotations

from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any

from ._language import operands_of, running

__all__ = ["Callee", "Names", "resolved"]

Find = Callable[[str, str], Any]  # a namespace's operator of a name; raises AttributeError where there is none


class Callee:
    """An operator that a definition names, which may be defined later. Called in a definition it becomes a symbol."""

    def __init__(self, find: Find, namespace: str, name: str, overload: str = "") -> None:
        self._find, self._namespace, self.__name__, self._overload = find, namespace, name, overload

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Callee(self._find, self._namespace, self.__name__, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        symbol = next(operands_of((args, tuple(kwargs.values()))), None)
        of = running.tracer if symbol is None else symbol.of
        return resolved(self)(*args, **kwargs) if of is None else of.call(self, args, kwargs)


def resolved(callee: Any) -> Any:
    """What is called: an operator that a definition names, once it is there, or a function as it is."""
    if not isinstance(callee, Callee):
        return callee
    packet = callee._find(callee._namespace, callee.__name__)
    return getattr(packet, callee._overload) if callee._overload else packet


class _Space:
    """``torch.ops.<namespace>``: in definitions callees, else the operators themselves."""

    def __init__(self, find: Find, namespace: str) -> None:
        self._find, self._namespace = find, namespace

    def __getattr__(self, name: str) -> Any:
        if running.tracer is not None:
            return Callee(self._find, self._namespace, name)
        return self._find(self._namespace, name)


class _Operators:
    """``torch.ops``."""

    def __init__(self, find: Find) -> None:
        self._find = find

    def __getattr__(self, namespace: str) -> _Space:
        return _Space(self._find, namespace)


class Names:
    """``torch`` in definitions: a module's names, under which its functions may be called with symbols or without."""

    def __init__(self, module: Any, find: Find, **others: Any) -> None:
        self.ops, self._module = _Operators(find), module
        self.__dict__.update(others)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if running.tracer is None or not isinstance(found, (FunctionType, BuiltinFunctionType)):
            return found
        return Callee(lambda _, name: getattr(self._module, name), "", name)
