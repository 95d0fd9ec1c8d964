"""Where a checkpoint's storages go: where they were saved from, or where ``map_location`` says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import UntypedStorage
from .._storages import copy_to_device
from ..backends import backend_of

__all__ = ["Restore", "restore_function"]

Restore = Callable[[UntypedStorage, str], UntypedStorage]


def restored(storage: UntypedStorage, location: str) -> UntypedStorage:
    """A storage on the device that it was saved from. Raises RuntimeError where there is no such device."""
    kind = location.partition(":")[0]
    if kind == "cuda":
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are "
            "running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your "
            "storages to the CPU."
        )
    try:
        device = _core.device(location)
        backend_of(device)
    except RuntimeError:
        raise RuntimeError(
            f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with {location}): there "
            "is no such device; name another by map_location"
        ) from None
    return copy_to_device(storage, device)


def restore_function(map_location: Any) -> Restore:
    """What takes a storage, read to the CPU, to where it is to be."""
    if map_location is None:
        return restored
    if isinstance(map_location, dict):
        return lambda storage, location: restored(storage, str(map_location.get(location, location)))
    if isinstance(map_location, (str, bytes, _core.device)):
        name = map_location.decode("ascii") if isinstance(map_location, bytes) else str(map_location)
        return lambda storage, location: restored(storage, name)
    if not callable(map_location):
        raise TypeError(
            f"load(): map_location must be a device, its name, a dict of names or a function, got {map_location!r}"
        )

    def by_function(storage: UntypedStorage, location: str) -> UntypedStorage:
        found = map_location(storage, location)
        if found is None:
            return restored(storage, location)
        untyped: UntypedStorage = found.untyped() if hasattr(found, "untyped") else found
        return untyped

    return by_function
