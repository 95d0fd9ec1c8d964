"""Nested containers, taken apart and put together: what subclasses and modes do with arguments.

What nests is what PyTorch nests by: tuples (named ones too, and results with names), lists, dicts, deques and sizes
(which become tuples), of these very types. Any other object is a leaf.
"""

from __future__ import annotations

import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any

from .._core import Size
from ..return_types import all_return_types

__all__ = ["tree_leaves", "tree_map", "tree_map_only"]

_MAPPINGS = frozenset((dict, OrderedDict, defaultdict))
_SEQUENCES = frozenset((tuple, list, Size, deque))

IsLeaf = Callable[[Any], bool] | None


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """``tree`` with ``func`` of each leaf (and of what is at the same place in ``rests``) in place of it.

    ``is_leaf(node)`` says of what else is to be taken whole. Raises ValueError where the others nest otherwise.
    """
    kind: Any = type(tree)
    if is_leaf is not None and not callable(is_leaf):
        raise TypeError(f"tree_map(): argument 'is_leaf' must be callable, not {type(is_leaf).__name__}")
    if is_leaf is not None and is_leaf(tree):
        return func(tree, *rests)
    if kind in _MAPPINGS:
        for other in rests:
            _require_alike(tree, other, type(other) in _MAPPINGS and tree.keys() == other.keys())
        items = ((key, tree_map(func, tree[key], *(r[key] for r in rests), is_leaf=is_leaf)) for key in tree)
        return defaultdict(tree.default_factory, items) if kind is defaultdict else kind(items)
    if kind in _SEQUENCES or (isinstance(tree, tuple) and (hasattr(tree, "_fields") or kind in all_return_types)):
        for other in rests:
            _require_alike(tree, other, type(other) is kind and len(other) == len(tree))
        return _rebuilt(tree, [tree_map(func, *at, is_leaf=is_leaf) for at in zip(tree, *rests, strict=True)])
    return func(tree, *rests)


def tree_map_only(type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None) -> Any:
    """As `tree_map`, for the leaves of a type, of one of several, or of which a predicate is true; others stay."""
    chosen = type_or_types_or_pred
    if isinstance(chosen, (type, tuple, types.UnionType)):
        return tree_map(lambda leaf: func(leaf) if isinstance(leaf, chosen) else leaf, tree, is_leaf=is_leaf)
    if not callable(chosen):
        raise TypeError("tree_map_only(): the first argument must be a type, a tuple of types, or a callable")
    return tree_map(lambda leaf: func(leaf) if chosen(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves, from left to right."""
    found: list[Any] = []
    tree_map(found.append, tree, is_leaf=is_leaf)
    return found


def _rebuilt(tree: Any, items: Iterable[Any]) -> Any:
    if isinstance(tree, deque):
        return deque(items, tree.maxlen)
    if type(tree) in (tuple, Size):  # the leaves of a size need not be ints any more
        return tuple(items)
    return type(tree)(*items) if hasattr(tree, "_fields") else type(tree)(items)


def _require_alike(tree: Any, other: Any, alike: bool) -> None:
    if not alike:
        raise ValueError(f"tree_map(): the trees nest differently: {_shape(tree)} and {_shape(other)}")


def _shape(tree: Any) -> str:
    kind = type(tree)
    if kind in _MAPPINGS:
        return f"{kind.__name__} of {list(tree)}"
    return f"{kind.__name__} of {len(tree)}" if kind in _SEQUENCES else kind.__name__
