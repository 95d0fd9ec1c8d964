"""Delegates: what runs a whole module in place of its operators, registered by name."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from .._core import RuntimeContext, Tensor
from .errors import DelegateError
from .tracing import Function, Trace

__all__ = ["BackendInitContext", "Delegate", "RuntimeContext", "delegate_names", "find_delegate", "register_delegate"]


@dataclass(frozen=True)
class BackendInitContext:
    """What a delegate is told when a module is lowered to it.

    ``trace`` is what the module runs on its example inputs, operation by operation, on fake tensors. ``next_kind`` and
    ``next_device`` are what is known of the operation that will follow the lowered module, as in a ``RuntimeContext``.
    """

    name: str  # of the lowered module
    device: Any
    trace: Trace
    next_kind: str = "unknown"
    next_device: Any = None


class Delegate(ABC):
    """Runs one module. An object is made for each module that is lowered, by a call without arguments.

    Derive from it, and register the class by a name: ``@register_delegate("mine")``.
    """

    device_types: tuple[str, ...]  # on which the inputs may be

    @abstractmethod
    def init(
        self, context: BackendInitContext, module: Function, inputs: Sequence[Tensor], state: Sequence[Tensor]
    ) -> None:
        """Prepares to run a module on inputs like these. Raises ``DelegateError`` for what it cannot run."""

    @abstractmethod
    def execute(
        self, context: RuntimeContext, inputs: Sequence[Tensor], state: Sequence[Tensor], outputs: Sequence[Tensor]
    ) -> None:
        """Runs the module on inputs, and on its parameters and buffers, into outputs that are allocated.

        Work may stay encoded where ``context.commit_and_continue`` says so: nothing has to be waited for.
        """


_Class = TypeVar("_Class", bound=type[Delegate])
_delegates: dict[str, type[Delegate]] = {}


def register_delegate(name: str) -> Callable[[_Class], _Class]:
    """Decorator: registers a class of delegates by name. Raises ValueError for a name that is taken."""
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"register_delegate(): a delegate's name must be an identifier, got {name!r}")

    def register(cls: _Class) -> _Class:
        if not (isinstance(cls, type) and issubclass(cls, Delegate)):
            raise TypeError(f"register_delegate({name!r}): expected a subclass of Delegate, got {cls!r}")
        if name in _delegates:
            raise ValueError(
                f"register_delegate({name!r}): the name is taken by {_delegates[name].__module__}."
                f"{_delegates[name].__qualname__}; choose another one"
            )
        _delegates[name] = cls
        return cls

    return register


def delegate_names() -> list[str]:
    """The names of the delegates that are registered."""
    return sorted(_delegates)


def find_delegate(name: str) -> type[Delegate]:
    """The class registered by a name. Raises ``DelegateError``, with the names there are, for another one."""
    found = _delegates.get(name)
    if found is None:
        near = difflib.get_close_matches(str(name), _delegates, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise DelegateError(
            f"no delegate is registered by the name {name!r}{hint} There are {', '.join(map(repr, delegate_names()))}; "
            "register a class with torch.npu.register_delegate(name)"
        )
    return found
