"""``torch.storage``: storages of bytes, and storages with a dtype, as checkpoints name them."""

from __future__ import annotations

from ._core import UntypedStorage
from ._storage_contents import dtype_names as _dtype_to_storage_type_map  # noqa: F401
from ._storages import LegacyStorage as _LegacyStorage  # noqa: F401
from ._storages import TypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
