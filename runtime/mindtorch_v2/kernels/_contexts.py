"""What a function that sets a context up says of itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["constants", "saves"]

_Setup = TypeVar("_Setup", bound=Callable[..., None])


def constants(*names: str) -> Callable[[_Setup], _Setup]:
    """These arguments have no gradient, and calls in which one requires it are refused."""
    return _saying("constants", names)


def saves(**places: int | slice | str) -> Callable[[_Setup], _Setup]:
    """PyTorch's names of what it keeps: of saved tensors by their places, of attributes of the context by their names.

    A node has them as ``_saved_name``.
    """
    return _saying("saves", places)


def _saying(attribute: str, value: Any) -> Callable[[_Setup], _Setup]:
    def said(setup: _Setup) -> _Setup:
        setattr(setup, attribute, value)
        return setup

    return said
