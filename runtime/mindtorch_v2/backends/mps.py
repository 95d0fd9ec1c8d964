"""MPS devices, which programs may name: operators can have kernels for them, and nothing allocates memory there."""

from __future__ import annotations

from ._backend import Backend

__all__ = ["is_available", "is_built"]

backend = Backend("mps", key="MPS")


def is_available() -> bool:
    """Whether there is such a device: no."""
    return False


def is_built() -> bool:
    """Whether one could be used here: no."""
    return False
