"""Modules that hold others: Sequential, ModuleList, ModuleDict, ParameterList."""

from __future__ import annotations

import itertools
import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .._core import Tensor
from .module import Module
from .parameter import Parameter

__all__ = ["ModuleDict", "ModuleList", "ParameterList", "Sequential"]


def _position(index: Any, length: int) -> int:
    """An index, counted from the end where it is negative."""
    found = operator.index(index)
    if not -length <= found < length:
        raise IndexError(f"index {found} is out of range")
    return found % length


def _require_iterable(owner: Module, given: Any, *, refused: tuple[type, ...] = ()) -> None:
    """Raises TypeError for what holds no modules or parameters."""
    if not isinstance(given, Iterable) or isinstance(given, refused):
        kind = type(owner).__name__
        raise TypeError(f"{kind}.extend should be called with an iterable, but got {type(given).__name__}")


class Sequential(Module):
    """Modules called one after the other; given in order, or as an ordered dict with their names."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], OrderedDict) else enumerate(args)
        for name, module in named:
            self.add_module(str(name), module)

    def forward(self, input: Any) -> Any:
        """The last module's output."""
        for module in self._modules.values():
            assert module is not None
            input = module(input)
        return input

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return list(self._modules.values())[_position(idx, len(self))]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, list(self._modules)[_position(idx, len(self))], module)

    def append(self, module: Module) -> Sequential:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self


class ModuleList(Module):
    """A list of modules."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def append(self, module: Module) -> ModuleList:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Adds modules at the end."""
        _require_iterable(self, modules)
        for module in list(modules):
            self.append(module)
        return self

    def __iadd__(self, modules: Iterable[Module]) -> ModuleList:
        return self.extend(modules)

    def __repr__(self) -> str:
        """Neighbours that look alike are shown once."""
        lines, first = [], 0
        for shown, alike in itertools.groupby(map(repr, self._modules.values())):
            count = sum(1 for _ in alike)
            which = f"({first}): " if count == 1 else f"({first}-{first + count - 1}): {count} x "
            lines.append(which + shown.replace("\n", "\n  "))
            first += count
        inside = "".join(f"\n  {line}" for line in lines)
        return f"{self._get_name()}({inside}\n)" if lines else f"{self._get_name()}()"

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(list(self._modules.values())[idx])  # type: ignore[arg-type]
        return self._modules[str(_position(idx, len(self)))]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, str(_position(idx, len(self))), module)


class ModuleDict(Module):
    """A dict of modules."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def update(self, modules: Mapping[str, Module]) -> None:
        """Adds the modules of a mapping, or of pairs of a name and a module."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"ModuleDict.update should be called with an iterable of key/value pairs, but got "
                f"{type(modules).__name__}"
            )
        if isinstance(modules, (Mapping, ModuleDict)):
            pairs: Iterable[Any] = modules.items()
        else:
            pairs = (_pair(position, item) for position, item in enumerate(modules))
        for key, module in pairs:
            self[key] = module

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._modules.keys()

    def values(self) -> Iterable[Any]:
        """The modules."""
        return self._modules.values()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Names and modules."""
        return self._modules.items()


def _pair(position: int, item: Any) -> Any:
    """An element of a sequence of names with their modules. Raises for one that is no pair."""
    if not isinstance(item, Iterable):
        raise TypeError(f"ModuleDict update sequence element #{position} should be Iterable; is {type(item).__name__}")
    found = list(item)
    if len(found) != 2:
        raise ValueError(f"ModuleDict update sequence element #{position} has length {len(found)}; 2 is required")
    return found


class ParameterList(Module):
    """A list of parameters; tensors become parameters, anything else is kept as it is."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def append(self, value: Any) -> ParameterList:
        """Adds a parameter at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Adds parameters at the end."""
        _require_iterable(self, values, refused=(Tensor,))
        for value in values:
            self.append(value)
        return self

    def __iadd__(self, parameters: Iterable[Any]) -> ParameterList:
        return self.extend(parameters)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raises RuntimeError: a list computes nothing."""
        raise RuntimeError("ParameterList should not be called.")

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(self[i] for i in range(*idx.indices(len(self))))
        return getattr(self, str(_position(idx, len(self))))

    def __setitem__(self, idx: int, param: Any) -> None:
        name = str(_position(idx, len(self)))
        wrapped = Parameter(param) if isinstance(param, Tensor) and not isinstance(param, Parameter) else param
        setattr(self, name, wrapped)
