"""Modules that hold others: Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

from __future__ import annotations

import itertools
import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .._core import Tensor
from .module import Module
from .parameter import Parameter

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


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


def _delete(owner: Module, at: int | slice) -> None:
    """Takes the modules at positions out; those behind move up, and all are called by their positions."""
    left = list(owner._modules.values())
    del left[at if isinstance(at, slice) else _position(at, len(left))]
    object.__setattr__(owner, "_modules", {str(i): module for i, module in enumerate(left)})


def _insert(owner: Module, index: int, module: Module) -> None:
    """Puts a module before the one at a position; it and those behind it move down."""
    names = list(owner._modules)
    values = list(owner._modules.values())
    values.insert(index, module)
    object.__setattr__(owner, "_modules", dict(zip([*names, str(len(names))], values, strict=True)))


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

    def __delitem__(self, idx: int | slice) -> None:
        _delete(self, idx)

    def pop(self, key: int | slice) -> Module:
        """Takes a module out and gives it back; of a slice a `Sequential`."""
        found: Module = self[key]
        del self[key]
        return found

    def append(self, module: Module) -> Sequential:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, sequential: Iterable[Module]) -> Sequential:
        """Adds modules at the end."""
        for module in list(sequential):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Sequential:
        """Adds a module before the one at ``index``."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}, got {type(module).__name__}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        _insert(self, index, module)
        return self

    def __add__(self, other: Sequential) -> Sequential:
        return Sequential(*self, *_other_modules(other))

    def __iadd__(self, other: Sequential) -> Sequential:
        return self.extend(_other_modules(other))

    def __mul__(self, other: int) -> Sequential:
        return Sequential(*[module for _ in range(_times(self, other)) for module in self])

    def __rmul__(self, other: int) -> Sequential:
        return self * other

    def __imul__(self, other: int) -> Sequential:
        own = list(self)
        return self.extend([module for _ in range(_times(self, other) - 1) for module in own])


def _other_modules(other: Any) -> Iterable[Module]:
    if not isinstance(other, Sequential):
        raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
    return other


def _times(owner: Sequential, count: Any) -> int:
    if not isinstance(count, int):
        raise TypeError(f"unsupported operand type(s) for *: {type(owner)} and {type(count)}")
    if count <= 0:
        raise ValueError(f"Non-positive multiplication factor {count} for {type(owner)}")
    return count


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

    def __delitem__(self, idx: int | slice) -> None:
        _delete(self, idx)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def insert(self, index: int, module: Module) -> None:
        """Adds a module before the one at ``index``."""
        _insert(self, index, module)

    def pop(self, key: int | slice) -> Module:
        """Takes a module out and gives it back; of a slice a list of them."""
        found: Module = self[key]
        del self[key]
        return found


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

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def clear(self) -> None:
        """Takes all modules out."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Takes a module out and gives it back."""
        found: Module = self[key]
        del self[key]
        return found

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


def _pair(position: int, item: Any, owner: str = "ModuleDict") -> Any:
    """An element of a sequence of names with their modules. Raises for one that is no pair."""
    if not isinstance(item, Iterable):
        raise TypeError(f"{owner} update sequence element #{position} should be Iterable; is {type(item).__name__}")
    found = list(item)
    if len(found) != 2:
        raise ValueError(f"{owner} update sequence element #{position} has length {len(found)}; 2 is required")
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

    def extra_repr(self) -> str:
        """A line for each."""
        return "\n".join(
            f"  ({at}): {_described(value, getattr(value, 'dtype', None))}" for at, value in enumerate(self)
        )


class ParameterDict(Module):
    """A dict of parameters by name; tensors become parameters, anything else is kept as it is."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, _attribute(key))

    def __setitem__(self, key: str, value: Any) -> None:
        name = _attribute(key)
        self._keys[name] = None
        wrapped = Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value
        setattr(self, name, wrapped)

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, _attribute(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def __or__(self, other: ParameterDict) -> ParameterDict:
        merged = self.copy()
        merged.update(other)
        return merged

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        merged = other.copy()
        merged.update(self)
        return merged

    def __ior__(self, other: ParameterDict) -> ParameterDict:
        self.update(other)
        return self

    def __call__(self, input: Any) -> Any:
        """Raises RuntimeError: a dict computes nothing."""
        raise RuntimeError("ParameterDict should not be called.")

    def copy(self) -> ParameterDict:
        """Another dict of the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """What is there by a name; where nothing is, ``default``, which is put there."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Takes everything out."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Takes one out and gives it back."""
        found = self[key]
        del self[key]
        return found

    def popitem(self) -> tuple[str, Any]:
        """Takes the last one out, and gives its name and itself back."""
        if not self._keys:
            raise KeyError("popitem(): dictionary is empty")
        key = next(reversed(self))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """What is there by a name, else ``default``."""
        return self[key] if key in self else default  # noqa: SIM401  (this is that `get`)

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Another dict, of ``default`` under every name."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Any:
        """The names."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Names and what is there."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """What is there."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Adds those of a mapping, by name in order unless the mapping has one; or of pairs of a name and a tensor."""
        if not isinstance(parameters, Iterable):
            raise TypeError(
                "ParametersDict.update should be called with an iterable of key/value pairs, but got "
                f"{type(parameters).__name__}"
            )
        if isinstance(parameters, (OrderedDict, ParameterDict)):
            pairs: Iterable[Any] = parameters.items()
        elif isinstance(parameters, Mapping):
            pairs = sorted(parameters.items())
        else:
            pairs = (_pair(position, item, "ParameterDict") for position, item in enumerate(parameters))
        for key, parameter in pairs:
            self[key] = parameter

    def extra_repr(self) -> str:
        """A line for each."""
        return "\n".join(
            f"  ({key}): {_described(value, value.type() if isinstance(value, Tensor) else None)}"
            for key, value in self.items()
        )


def _attribute(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(
            "Index given to ParameterDict cannot be used as a key as it is not a string (type is "
            f"'{type(key).__name__}'). Use a dict and a ParameterList, or names."
        )
    return key


def _described(value: Any, kind_of_numbers: Any) -> str:
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    where = "" if value.device.type in ("cpu", "meta") else f" ({value.device})"
    return f"{kind} containing: [{kind_of_numbers} of size {'x'.join(map(str, value.shape))}{where}]"
