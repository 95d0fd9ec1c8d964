"""``torch.multiprocessing.reductions``: how tensors travel between processes, and references to storages."""

from __future__ import annotations

import weakref
from typing import Any

from .._core import UntypedStorage

__all__ = ["StorageWeakRef"]


class StorageWeakRef:
    """A weak reference to a storage, equal to another of the same one: tensors that share memory have equal ones."""

    __slots__ = ("_id", "_ref")

    def __init__(self, storage: Any) -> None:
        of: UntypedStorage = storage if isinstance(storage, UntypedStorage) else storage._untyped_storage
        self._ref, self._id = weakref.ref(of), id(of)

    def expired(self) -> bool:
        """Whether the storage is gone."""
        return self._ref() is None

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StorageWeakRef):
            return NotImplemented
        return self is other or (self._ref() is not None and self._ref() is other._ref())
