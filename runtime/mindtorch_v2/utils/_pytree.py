"""Nested tuples, lists and dicts, taken apart and put together: what subclasses and modes do with arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core import Size

__all__ = ["tree_leaves", "tree_map", "tree_map_only"]


def tree_map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """``tree`` with ``function`` of each leaf (and of the leaves of ``others`` at the same place) in place of it."""
    if isinstance(tree, dict):
        return type(tree)((key, tree_map(function, tree[key], *(other[key] for other in others))) for key in tree)
    if isinstance(tree, (tuple, list)):
        items = [tree_map(function, *at) for at in zip(tree, *others, strict=True)]
        if isinstance(tree, Size):  # whose leaves need not be ints any more
            return tuple(items)
        return type(tree)(*items) if hasattr(tree, "_fields") else type(tree)(items)
    return function(tree, *others)


def tree_map_only(kind: Any, function: Callable[[Any], Any], tree: Any) -> Any:
    """As `tree_map`, for the leaves of a type (or one of several); others stay."""
    return tree_map(lambda leaf: function(leaf) if isinstance(leaf, kind) else leaf, tree)


def tree_leaves(tree: Any) -> list[Any]:
    """The leaves, from left to right."""
    found: list[Any] = []
    tree_map(found.append, tree)
    return found
