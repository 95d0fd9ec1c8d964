"""What a `DataLoader` is made of, under PyTorch's names: how samples become a batch, what runs in a worker, pinning."""

from __future__ import annotations

from . import collate, pin_memory, worker
from .worker import MP_STATUS_CHECK_INTERVAL

__all__ = ["MP_STATUS_CHECK_INTERVAL", "collate", "pin_memory", "worker"]
