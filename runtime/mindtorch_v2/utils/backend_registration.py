"""A device type's name on tensors, modules and storages: ``x.slate()``, ``x.is_slate``."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor, UntypedStorage, device
from .._tensor_protocols import bytes_of
from ..backends import _copies
from ..backends._registration import private_use1_name, rename_private_use1
from ..nn import Module
from ..overrides import overridable_property

__all__ = ["generate_methods", "generate_methods_for_privateuse1_backend", "rename_privateuse1_backend"]


def rename_privateuse1_backend(backend_name: str) -> None:
    """Makes PrivateUse1 the key of a device type of that name, for the life of the process.

    Raises RuntimeError where the name is taken, PrivateUse1 has another name already, or the NPU, whose key it is until
    then, is in use.
    """
    rename_private_use1(backend_name)


def generate_methods_for_privateuse1_backend(
    for_tensor: bool = True,
    for_module: bool = True,
    for_packed_sequence: bool = True,
    for_storage: bool = False,
    unsupported_dtype: list[Any] | None = None,
) -> None:
    """`generate_methods` for the device type that has the key PrivateUse1.

    There are no packed sequences and no storages of one dtype here, so that ``for_packed_sequence`` and
    ``unsupported_dtype`` say nothing.
    """
    generate_methods(private_use1_name(), for_tensor=for_tensor, for_module=for_module, for_storage=for_storage)


def generate_methods(name: str, *, for_tensor: bool = True, for_module: bool = True, for_storage: bool = False) -> None:
    """Gives tensors, modules and storages a method ``<name>()`` that moves them to a device type, and tensors and
    storages ``is_<name>``. Raises RuntimeError where there is something of that name, or no such device type.
    """
    if not isinstance(name, str):
        raise TypeError(f"generate_methods(): the name of a device type must be a str, not {type(name).__name__}")
    if device(name).type != name:
        raise RuntimeError(f"generate_methods(): {name!r} is a device, not the name of a device type")
    where = _Place(name)
    if for_tensor:
        _require_free(Tensor, f"is_{name}")
        _require_free(Tensor, name)
        _core.install_method(f"is_{name}", overridable_property(f"is_{name}", where.holds))
        _core.install_method(name, _core.overridable(where.named(where.moved)))
    if for_module:
        if not hasattr(Tensor, name):
            raise RuntimeError(
                f"Can not automatically generate {name}() method for torch.nn.Module. Because torch.Tensor doesn't has "
                f"the method {name}(). For this error, you can try setting for_tensor=True."
            )
        _require_free(Module, name)
        setattr(Module, name, where.named(where.module_moved))
    if for_storage:
        _require_free(UntypedStorage, f"is_{name}")
        _require_free(UntypedStorage, name)
        _core.install_storage_method(f"is_{name}", property(where.holds))
        _core.install_storage_method(name, where.named(where.storage_moved))


def _require_free(owner: type, name: str) -> None:
    if hasattr(owner, name):
        raise RuntimeError(f"The custom device module of {owner} has already been registered with {name}")


class _Place:
    """A device type, as methods that are given its name."""

    def __init__(self, name: str) -> None:
        self.name = name
        type_ = name

        def holds(self: Any) -> bool:
            return bool(self.device.type == type_)

        def moved(self: Tensor, device: Any = None, non_blocking: bool = False, **kwargs: Any) -> Tensor:
            result: Tensor = self.to(device=place(device), non_blocking=non_blocking, **kwargs)
            return result

        def module_moved(self: Module, device: Any = None) -> Module:
            result: Module = self._apply(lambda tensor: getattr(tensor, type_)(device))
            return result

        def storage_moved(self: UntypedStorage, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
            wanted = place(device)
            if self.device == wanted:
                return self
            made = UntypedStorage(self.nbytes(), device=wanted)
            if self.nbytes():
                _copies.copy_(bytes_of(made), bytes_of(self))
            return made

        place = self.place
        self.holds, self.moved, self.module_moved, self.storage_moved = holds, moved, module_moved, storage_moved

    def place(self, wanted: Any) -> device:
        """The device that a method's argument means: by default the current one of the type."""
        if isinstance(wanted, int):
            return device(self.name, wanted)
        found = device(self.name) if wanted is None else device(wanted)
        if found.type != self.name:
            raise RuntimeError(f"Invalid device, must be {self.name} device")
        return _core.concrete(found)

    def named(self, method: Any) -> Any:
        method.__name__ = method.__qualname__ = self.name
        method.__doc__ = f"On a {self.name} device, the current one unless one is given."
        return method


def __getattr__(name: str) -> Any:
    if name == "_privateuse1_backend_name":
        return private_use1_name()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
