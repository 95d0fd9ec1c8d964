"""What is remembered of a captured call, so that it can be made again: arguments that keep no device memory alive."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._core import OpOverload, Tensor, WeakTensor, call_again
from .streams import ExternalEvent

if TYPE_CHECKING:
    from .graph_handlers import NpuGraphOpHandler

__all__ = ["DispatchRecord", "Payload", "WeakTensor", "argument_names", "qualified", "tensor_names", "wrapped"]

_PLAIN = frozenset((int, float, bool, str, complex, type(None)))  # what no copy is made of


def wrapped(value: Any) -> Any:
    """A value as a record keeps it: NPU tensors weakly, alone or in a list or tuple, all else copied deeply."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Tensor):
        return WeakTensor(value) if value.is_npu else value.detach().clone()
    if isinstance(value, (list, tuple)):
        return _rebuilt(value, [wrapped(item) for item in value])
    return copy.deepcopy(value)


def _rebuilt(value: Any, parts: list[Any]) -> Any:
    """A list or tuple of the same type, a named tuple included, with other elements."""
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


def qualified(function: Callable[..., Any]) -> str:
    """An operator as errors name it, ``ns::name.overload``; a function by its name."""
    return function.name() if isinstance(function, OpOverload) else getattr(function, "__name__", repr(function))


def argument_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of an operator's arguments, in the order of its schema; none of what is no operator."""
    return tuple(argument.name for argument in function._schema.arguments) if isinstance(function, OpOverload) else ()


def tensor_names(function: Callable[..., Any]) -> list[str]:
    """The names of an operator's arguments that are tensors or have tensors in them."""
    if not isinstance(function, OpOverload):
        return []
    return [argument.name for argument in function._schema.arguments if "Tensor" in str(argument.type)]


@dataclass(eq=False)
class DispatchRecord:
    """A captured call: ``op_cache_entry(*args, **kwargs)``, in the tasks of one group of the graph.

    ``update_args`` of a handler assigns to ``args`` and ``kwargs``; what it leaves there is what the call gets.
    """

    number: int  # its place among the records of the graph
    op_cache_entry: Callable[..., Any]
    handler: type[NpuGraphOpHandler]
    args: list[Any]
    kwargs: dict[str, Any]
    event: ExternalEvent  # which a replay waits for before the group
    handle: int = 0  # of the task group
    allocations: list[tuple[int, int]] = field(default_factory=list)  # (address, bytes) that the call made
    needed: list[Any] = field(default_factory=list)  # what the newest tasks read from the host
    names: tuple[str, ...] = ()  # of the operator's arguments
    specs: tuple[tuple[str, int | str, str], ...] = ()  # what the handler's table says of the operator
    by_code: bool = False  # the handler has an `update_args` of its own

    def __post_init__(self) -> None:
        if not (isinstance(self.handler, type) and hasattr(self.handler, "get_update_specs")):
            raise TypeError(f"DispatchRecord: expected a handler's class, got {self.handler!r}")
        self.names, self.by_code = argument_names(self.op_cache_entry), self.handler.overrides_update_args()
        self.specs = tuple(self.handler.get_update_specs(getattr(self.op_cache_entry, "__name__", "")))

    @property
    def name(self) -> str:
        """The operator, as errors name it."""
        return qualified(self.op_cache_entry)

    def name_of(self, index: int) -> str:
        """The name of a positional argument."""
        return self.names[index] if index < len(self.names) else f"args[{index}]"

    def update_keys(self) -> tuple[str, ...]:
        """The keys of an update that the handler's table gives this operator."""
        return tuple(dict.fromkeys(key for _, _, key in self.specs))

    def trial(self) -> DispatchRecord:
        """A record of the same call whose arguments, and elements of lists, may be assigned to."""
        trial = copy.copy(self)
        trial.args = [list(value) if type(value) is list else value for value in self.args]
        trial.kwargs = {name: list(value) if type(value) is list else value for name, value in self.kwargs.items()}
        return trial

    def assign(self, args: list[Any], kwargs: dict[str, Any], where: int | str, value: Any) -> str:
        """Gives an argument of the call a value, as an entry of a handler's table says; returns the argument's name."""
        index = where if isinstance(where, int) else self.names.index(where) if where in self.names else len(args)
        if index < len(args):
            args[index] = value
            return self.name_of(index)
        if isinstance(where, int) and index >= len(self.names):
            raise IndexError(f"UPDATE_SPECS has argument {where}, and the call has {len(args)} positional ones")
        name = self.names[index] if isinstance(where, int) else where
        kwargs[name] = value
        return name

    def run(self, args: list[Any], kwargs: dict[str, Any]) -> None:
        """Makes the call. Raises RuntimeError where a tensor that it had was freed since it was captured."""
        call_again(self.op_cache_entry, args, kwargs, self._strong)

    def _strong(self, where: int | str, value: Any) -> Any:
        if isinstance(value, WeakTensor):
            tensor = value()
            if tensor is None:
                name = self.name_of(where) if isinstance(where, int) else where
                raise RuntimeError(
                    f"the tensor that `{name}` was at the capture has been freed; keep what a captured operator reads "
                    "alive for as long as the graph is updated and replayed"
                )
            return tensor
        if isinstance(value, (list, tuple)):
            parts = [item if type(item) in _PLAIN else self._strong(where, item) for item in value]
            return value if all(map(operator.is_, parts, value)) else _rebuilt(value, parts)
        return value


class Payload(dict[str, Any]):
    """The values of one update, which notes the keys that handlers look for: the others nobody knows."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.asked: set[str] = set()

    def __contains__(self, key: object) -> bool:
        self.asked.add(key)  # type: ignore[arg-type]
        return super().__contains__(key)

    def __getitem__(self, key: str) -> Any:
        self.asked.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """As of any dict."""
        self.asked.add(key)
        return super().get(key, default)

    def pop(self, key: str, *default: Any) -> Any:
        """As of any dict."""
        self.asked.add(key)
        return super().pop(key, *default)
