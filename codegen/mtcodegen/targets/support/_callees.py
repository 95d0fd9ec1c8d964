"""``torch.ops`` in definitions: operators may be named before they are defined, and calls of them are symbols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._symbols import operands_of, running

__all__ = ["Callee", "Operators"]

Find = Callable[[str, str], Any]  # a namespace's operator of a name; raises AttributeError where there is none


class Callee:
    """An operator that a definition names."""

    def __init__(self, find: Find, namespace: str, name: str, overload: str = "") -> None:
        self._find, self._namespace, self.__name__, self._overload = find, namespace, name, overload

    @property
    def found(self) -> Any:
        """The operator, once it is there."""
        packet = self._find(self._namespace, self.__name__)
        return getattr(packet, self._overload) if self._overload else packet

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Callee(self._find, self._namespace, self.__name__, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        symbol = next(operands_of((args, tuple(kwargs.values()))), None)
        of = running.tracer if symbol is None else symbol.of
        if of is None:
            return self.found(*args, **kwargs)
        return of.call(self.found if of.has_values else self, args, kwargs)


class _Space:
    """``torch.ops.<namespace>``: in definitions callees, else the operators themselves."""

    def __init__(self, find: Find, namespace: str) -> None:
        self._find, self._namespace = find, namespace

    def __getattr__(self, name: str) -> Any:
        if running.tracer is not None:
            return Callee(self._find, self._namespace, name)
        return self._find(self._namespace, name)


class Operators:
    """``torch.ops``."""

    def __init__(self, find: Find) -> None:
        self._find = find

    def __getattr__(self, namespace: str) -> _Space:
        return _Space(self._find, namespace)
