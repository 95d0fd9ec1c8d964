"""What context managers have in common."""

from __future__ import annotations

__all__ = ["not_entered"]


def not_entered(manager: object, error: type[Exception] = RuntimeError) -> Exception:
    """The error of ``__exit__`` where no ``__enter__`` went before, so that there is nothing to restore."""
    return error(f"{type(manager).__name__} is left without having been entered")
