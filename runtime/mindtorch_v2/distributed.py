"""``torch.distributed``, as of a PyTorch that was built without it: programs ask, and are told that it is not there."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether processes can work together: no."""
    return False
