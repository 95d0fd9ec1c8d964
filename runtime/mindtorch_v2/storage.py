"""``torch.storage``: storages of bytes, and storages with a dtype, as checkpoints name them."""

from __future__ import annotations

from ._core import UntypedStorage
from ._storages import TypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
