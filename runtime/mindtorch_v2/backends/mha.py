"""``torch.backends.mha``: whether attention may be answered as PyTorch's fused path does, where that differs."""

from __future__ import annotations

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]

_enabled = True


def get_fastpath_enabled() -> bool:
    """Whether `MultiheadAttention` and encoders may take the fused path."""
    return _enabled


def set_fastpath_enabled(value: bool) -> None:
    """Lets `MultiheadAttention` and encoders take the fused path, or not."""
    global _enabled
    _enabled = value
