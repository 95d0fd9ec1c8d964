"""Parameters, buffers and modules by the paths of their names, read and exchanged: ``NamedMemberAccessor``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._core import Tensor
from .module import Module

__all__ = ["NamedMemberAccessor", "set_tensor", "swap_submodule", "swap_tensor"]


class _Missing:
    """Stands for the tensor of a name that there is none of."""


_MISSING: Any = _Missing()


def _plain(name: str, what: str) -> str:
    """A name of a member, not a path. Raises KeyError."""
    if "." in name:
        raise KeyError(f'{what} name can\'t contain "."')
    if name == "":
        raise KeyError(f'{what} name can\'t be empty string ""')
    return name


def swap_submodule(module: Module, name: str, submodule: Module) -> Module:
    """Puts another module in a child's place, and returns the child.

    Raises TypeError for what is no module, KeyError for a path and where there is no such child.
    """
    for given in (module, submodule):
        if not isinstance(given, Module):
            raise TypeError(f"{given} is not an instance of torch.nn.Module")
    before = module._modules.get(_plain(name, "submodule"))
    if before is None:
        raise KeyError(f"submodule {name} does not exist in {module._get_name()}")
    module._modules[name] = submodule
    return before


def set_tensor(module: Module, name: str, tensor: Tensor) -> None:
    """Makes a tensor the parameter or buffer of a name, or a plain attribute where there is neither."""
    swap_tensor(module, name, tensor, allow_missing=True)


def swap_tensor(module: Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Puts another tensor in the place of a parameter, buffer or attribute, and returns what was there.

    Where nothing was, what is returned with ``allow_missing`` stands for that: put in a place, it takes the name away.
    Raises TypeError for what is neither module nor tensor, KeyError for a path, AttributeError for no such member.
    """
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if tensor is not _MISSING and not isinstance(tensor, Tensor) and tensor is not None:
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    _plain(name, "tensor")
    for registry in (module._parameters, module._buffers):
        if name in registry:
            before: Any = registry[name]
            if tensor is _MISSING:
                del registry[name]
            else:
                registry[name] = tensor
            return before
    before = getattr(module, name, _MISSING)
    if before is _MISSING and not allow_missing:
        raise AttributeError(f"{module._get_name()} object has no attribute {name!r}")
    if before is not _MISSING and not isinstance(before, Tensor):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    if tensor is not _MISSING:
        setattr(module, name, tensor)
    elif before is not _MISSING:
        delattr(module, name)
    return before


class NamedMemberAccessor:
    """A module's members by paths, ``"layer1.conv1.weight"``; modules on the way are looked up once.

    Every method raises AttributeError for a path that leads nowhere.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self._found: dict[str, Module] = {"": module}

    # ---------------------------------------------------------------- modules
    def get_submodule(self, name: str) -> Module:
        """The module of a path."""
        if name not in self._found:
            above, _, last = name.rpartition(".")
            owner = self.get_submodule(above)
            child = getattr(owner, last, None)
            if child is None:
                raise AttributeError(f"{owner._get_name()} has no attribute `{last}`")
            if not isinstance(child, Module):
                raise TypeError(f"submodule `{name}`: {child} is not an instance of torch.nn.Module")
            self._found[name] = child
        return self._found[name]

    def swap_submodule(self, path: str, value: Module) -> Module:
        """Puts another module at a path, and returns the one that was there."""
        above, _, last = path.rpartition(".")
        before = swap_submodule(self.get_submodule(above), last, value)
        self._found = {
            name: found for name, found in self._found.items() if name != path and not name.startswith(f"{path}.")
        }
        return before

    # ---------------------------------------------------------------- a tensor
    def _place(self, name: str) -> tuple[Module, str]:
        above, _, last = name.rpartition(".")
        return self.get_submodule(above), last

    def get_tensor(self, name: str) -> Tensor:
        """The tensor of a path. Raises TypeError where something else is there."""
        module, last = self._place(name)
        found = getattr(module, last, _MISSING)
        if found is _MISSING:
            raise AttributeError(f"{module._get_name()} has no attribute `{last}`")
        if not isinstance(found, Tensor) and found is not None:
            raise TypeError(f"attribute `{last}`: {found} is not an instance of torch.Tensor")
        return found  # type: ignore[return-value]

    def set_tensor(self, name: str, value: Tensor) -> None:
        """Puts a tensor at a path."""
        set_tensor(*self._place(name), value)

    def del_tensor(self, name: str) -> None:
        """Takes away what is at a path."""
        swap_tensor(*self._place(name), _MISSING)

    def swap_tensor(self, name: str, value: Tensor, allow_missing: bool = False) -> Tensor:
        """Puts a tensor at a path, and returns the one that was there; see `swap_tensor`."""
        before: Tensor = swap_tensor(*self._place(name), value, allow_missing=allow_missing)
        return before

    # ---------------------------------------------------------------- several tensors
    def get_tensors(self, names: Iterable[str]) -> list[Tensor]:
        """The tensors of paths."""
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names: Iterable[str], values: Iterable[Tensor]) -> None:
        """Puts tensors at paths. Raises ValueError where they are not as many."""
        for name, value in _pairs(names, values):
            self.set_tensor(name, value)

    def set_tensors_dict(self, named_tensors: dict[str, Tensor]) -> None:
        """Puts tensors at the paths they are named by."""
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def del_tensors(self, names: Iterable[str]) -> None:
        """Takes away what is at paths."""
        for name in names:
            self.del_tensor(name)

    def swap_tensors(self, names: Iterable[str], values: Iterable[Tensor], allow_missing: bool = False) -> list[Tensor]:
        """Puts tensors at paths, and returns those that were there."""
        return [self.swap_tensor(name, value, allow_missing) for name, value in _pairs(names, values)]

    def swap_tensors_dict(
        self, named_tensors: dict[str, Tensor], allow_missing: bool = False
    ) -> tuple[dict[str, Tensor], list[str]]:
        """Puts tensors at the paths they are named by: those that were there, and the paths where nothing was.

        Raises RuntimeError where nothing was, unless ``allow_missing``. Where one cannot be put, none is.
        """
        before: dict[str, Tensor] = {}
        try:
            for name, value in named_tensors.items():
                before[name] = self.swap_tensor(name, value, True)
            missing = [name for name, value in before.items() if value is _MISSING]
            if missing and not allow_missing:
                raise RuntimeError(f"Missing key(s): {', '.join(map(repr, missing))}.")
        except (AttributeError, KeyError, RuntimeError, TypeError):
            for name, value in before.items():
                self.swap_tensor(name, value, True)
            raise
        return before, missing

    # ---------------------------------------------------------------- names
    def check_keys(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """The names of tensors that are not among the keys, and the keys that name none, both sorted."""
        given, valid = set(keys), {name for name, _ in self.named_tensors(remove_duplicate=False)}
        return sorted(valid - given), sorted(given - valid)

    def named_parameters(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Tensor]]:
        """All parameters, by path."""
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Tensor]]:
        """All buffers, by path."""
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Tensor]]:
        """All parameters, and all buffers behind them."""
        yield from self.named_parameters(remove_duplicate)
        yield from self.named_buffers(remove_duplicate)

    def named_modules(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Module]]:
        """All modules, by path; the module itself by the empty one."""
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)


def _pairs(names: Iterable[str], values: Iterable[Tensor]) -> list[tuple[str, Tensor]]:
    names, values = list(names), list(values)
    if len(names) != len(values):
        raise ValueError(f"expected as many tensors as names, {len(names)}, got {len(values)}")
    return list(zip(names, values, strict=True))
