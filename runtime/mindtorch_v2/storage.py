"""``torch.storage``: storages of bytes, and storages with a dtype, as checkpoints name them."""

from __future__ import annotations

from ._core import UntypedStorage
from ._storage_contents import dtype_names as _dtype_to_storage_type_map  # noqa: F401
from ._storage_deprecation import Removal as _Removal
from ._storages import LegacyStorage as _LegacyStorage  # noqa: F401
from ._storages import TypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]


def _get_always_warn_typed_storage_removal() -> bool:
    """Whether every use of a storage with a dtype warns, or the first alone."""
    return _Removal.always


def _set_always_warn_typed_storage_removal(always_warn: bool) -> None:
    """Sets whether every use of a storage with a dtype warns."""
    _Removal.always = always_warn


def _reset_warn_typed_storage_removal() -> None:
    """The next use of a storage with a dtype is the first again."""
    _Removal.warned = False
