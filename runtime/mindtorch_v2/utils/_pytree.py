"""Nested containers, taken apart and put together: what subclasses and modes do with arguments.

What nests is what PyTorch nests by: tuples (named ones too, and results with names), lists, dicts, deques and sizes
(which become tuples), of these very types, and of classes that `register_pytree_node` was told of. Any other object
is a leaf. `tree_flatten` takes a tree apart into its leaves and a `TreeSpec`, which puts it together again.
"""

from __future__ import annotations

import types
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from .._core import Size
from ..return_types import all_return_types

__all__ = [
    "LeafSpec",
    "TreeSpec",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_structure",
    "tree_unflatten",
]

_MAPPINGS = frozenset((dict, OrderedDict, defaultdict))
_SEQUENCES = frozenset((tuple, list, Size, deque))

IsLeaf = Callable[[Any], bool] | None
FlattenFn = Callable[[Any], tuple[list[Any], Any]]
UnflattenFn = Callable[[Iterable[Any], Any], Any]


@dataclass(frozen=True)
class _Node:
    """How objects of a registered class are taken apart into children and a context, and put together."""

    flatten: FlattenFn
    unflatten: UnflattenFn


_registered: dict[type, _Node] = {}


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
    if kind in _registered:
        node = _registered[kind]
        children, context = node.flatten(tree)
        others = [node.flatten(other) if type(other) is kind else ((), None) for other in rests]
        for other, (parts, said) in zip(rests, others, strict=True):
            _require_alike(tree, other, type(other) is kind and len(parts) == len(children) and said == context)
        alike = zip(children, *(parts for parts, _ in others), strict=True)
        return node.unflatten([tree_map(func, *at, is_leaf=is_leaf) for at in alike], context)
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


# ---------------------------------------------------------------- trees without their leaves
class TreeSpec:
    """How a tree nests, without its leaves: the container's type, what else it takes to rebuild it, and its children.

    ``type`` is None for a leaf. Raises ValueError where leaves, or a tree, do not fit.
    """

    __slots__ = ("_children", "context", "num_children", "num_leaves", "num_nodes", "type")

    def __init__(self, type: Any, context: Any, children_specs: list[TreeSpec]) -> None:
        self.type, self.context, self._children = type, context, tuple(children_specs)
        self.num_children = len(children_specs)
        self.num_nodes: int = 1 + sum(child.num_nodes for child in children_specs)
        self.num_leaves: int = 1 if type is None else sum(child.num_leaves for child in children_specs)

    def is_leaf(self) -> bool:
        """Whether it stands for a leaf."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """Those of the container's items."""
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        """That of one of the container's items."""
        return self._children[index]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree with these leaves, from left to right."""
        given = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
        if len(given) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(given)} but the spec refers to a pytree that "
                f"holds {self.num_leaves} items ({self})."
            )
        return self._rebuilt(iter(given))

    def _rebuilt(self, leaves: Iterator[Any]) -> Any:
        if self.type is None:
            return next(leaves)
        items = [child._rebuilt(leaves) for child in self._children]
        kind, context = self.type, self.context
        if kind in _registered:
            return _registered[kind].unflatten(items, context)
        if kind is defaultdict:
            return defaultdict(context[0], zip(context[1], items, strict=True))
        if kind in _MAPPINGS:
            return kind(zip(context, items, strict=True))
        if kind is deque:
            return deque(items, context)
        if context is not None:  # the class of a named tuple, or of a result with names
            return context(*items) if hasattr(context, "_fields") else context(items)
        return kind(items)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """What a tree that nests at least as deeply has where this has leaves."""
        if self.type is None:
            return [tree]
        children, spec, context = _taken_apart(tree)
        if spec is not self.type:
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {spec or type(tree)!r}.")
        if len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        if self.type in (dict, OrderedDict):
            if set(context) != set(self.context):
                raise ValueError(f"Node keys mismatch; expected {self.context}, but got {context}.")
            children = [tree[key] for key in self.context]
        elif context != self.context:
            raise ValueError(f"Node context mismatch; expected {self.context!r}, but got {context!r}.")
        return [
            found for child, part in zip(self._children, children, strict=True) for found in child.flatten_up_to(part)
        ]

    def __repr__(self) -> str:
        return self._shown(0)

    def _shown(self, indent: int) -> str:
        if self.type is None:
            return "*"
        inside = indent + 2
        parts = [child._shown(inside) for child in self._children]
        name = getattr(self.type, "__name__", repr(self.type))
        return f"TreeSpec({name}, {self.context}, [" + (",\n" + " " * inside).join(parts) + "])"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (self.type, self.context, self._children) == (other.type, other.context, other._children)

    def __hash__(self) -> int:
        return hash((self.type, str(self.context), self._children))


_LEAF = TreeSpec(None, None, [])


def LeafSpec(*args: Any, **kwargs: Any) -> TreeSpec:  # noqa: N802  (PyTorch's name, a class there)
    """The spec of a leaf. Raises TypeError for arguments, which it takes none of."""
    if args or kwargs:
        raise TypeError("LeafSpec() takes no arguments")
    return _LEAF


def _taken_apart(tree: Any) -> tuple[list[Any], Any, Any]:
    """A container's items, its type as a spec has it, and what else rebuilds it; the type is None for a leaf."""
    kind: Any = type(tree)
    if kind in _registered:
        children, context = _registered[kind].flatten(tree)
        return list(children), kind, context
    if kind in _MAPPINGS:
        keys = list(tree)
        context = [tree.default_factory, keys] if kind is defaultdict else keys
        return [tree[key] for key in keys], kind, context
    if kind in _SEQUENCES:
        return list(tree), tuple if kind is Size else kind, tree.maxlen if kind is deque else None
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return list(tree), namedtuple, kind
    if isinstance(tree, tuple) and kind in all_return_types:
        return list(tree), structseq, kind
    return [], None, None


def structseq(items: Iterable[Any], kind: Any) -> Any:
    """A result with names, which specs of such results have for a type."""
    return kind(items)


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves from left to right, and how the tree nests."""
    leaves: list[Any] = []

    def spec_of(part: Any) -> TreeSpec:
        children, kind, context = ([], None, None) if is_leaf is not None and is_leaf(part) else _taken_apart(part)
        if kind is None:
            leaves.append(part)
            return _LEAF
        return TreeSpec(kind, context, [spec_of(child) for child in children])

    return leaves, spec_of(tree)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The tree that nests as a spec says, with these leaves. Raises TypeError for what is no spec."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"tree_unflatten(): argument 'treespec' must be a TreeSpec, not {type(treespec).__name__}")
    return treespec.unflatten(leaves)


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> TreeSpec:
    """How a tree nests."""
    return tree_flatten(tree, is_leaf)[1]


def tree_iter(tree: Any, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves, one after another."""
    return iter(tree_leaves(tree, is_leaf))


def tree_is_leaf(tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether an object is a leaf."""
    return (is_leaf is not None and is_leaf(tree)) or _taken_apart(tree)[1] is None


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """Calls ``func`` on each leaf, and returns the tree as it is."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only_(type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None) -> Any:
    """As `tree_map_`, for the leaves that `tree_map_only` would replace."""
    tree_map_only(type_or_types_or_pred, func, tree, is_leaf)
    return tree


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate is true of every leaf."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate is true of some leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate is true of every leaf of a type, or of one of several."""
    return all(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def tree_any_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate is true of some leaf of a type, or of one of several."""
    return any(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def register_pytree_node(
    cls: type[Any],
    flatten_fn: FlattenFn,
    unflatten_fn: UnflattenFn,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Callable[[Any], Any] | None = None,
) -> None:
    """Makes objects of a class containers: ``flatten_fn`` gives children and context, ``unflatten_fn`` takes them.

    What is for specs written to files is taken and not used. Raises ValueError for a class that is known already.
    """
    if cls in _registered or cls in _MAPPINGS or cls in _SEQUENCES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _registered[cls] = _Node(flatten_fn, unflatten_fn)


def is_namedtuple_class(cls: type) -> bool:
    """Whether a class is one of named tuples."""
    fields = getattr(cls, "_fields", None)
    named = isinstance(fields, tuple) and all(isinstance(field, str) for field in fields)
    return isinstance(cls, type) and issubclass(cls, tuple) and named


def is_namedtuple_instance(obj: object) -> bool:
    """Whether an object is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: object | type) -> bool:
    """Whether an object is a named tuple, or a class of these."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))
