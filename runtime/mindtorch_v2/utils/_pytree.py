"""Nested containers, taken apart and put together, as ``torch.utils._pytree``.

What nests is what a registry says: tuples (named ones too, and results with names), lists, dicts, deques and sizes, of
these very types, and what programs register. Any other object is a leaf. A `TreeSpec` is a tree without its leaves.
"""

from __future__ import annotations

import dataclasses
import types
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

from .._core import Size
from ..return_types import all_return_types

__all__ = [
    "GetAttrKey",
    "MappingKey",
    "SequenceKey",
    "TreeSpec",
    "key_get",
    "keystr",
    "register_constant",
    "register_dataclass",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
]

IsLeaf = Callable[[Any], bool] | None


# ---------------------------------------------------------------- the way to a leaf
@dataclass(frozen=True)
class SequenceKey:
    """A place in a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """What is there."""
        return sequence[self.idx]


@dataclass(frozen=True)
class MappingKey:
    """A key of a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """What is there."""
        return mapping[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """An attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """What it is."""
        return getattr(obj, self.name)


KeyPath = tuple[Any, ...]


# ---------------------------------------------------------------- what nests
class NodeDef(NamedTuple):
    """How objects of a type are taken apart, into children and a context, and put together."""

    type: Any
    flatten_fn: Callable[[Any], tuple[list[Any], Any]]
    unflatten_fn: Callable[[Iterable[Any], Any], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None


SUPPORTED_NODES: dict[Any, NodeDef] = {}


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[list[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Makes objects of a class nodes, whose children are looked into; subclasses stay leaves.

    ``flatten_fn(obj)`` gives the children and what else there is to know, ``unflatten_fn(children, context)`` an object
    again; ``flatten_with_keys_fn`` as the first, with a key beside each child. Specs are not written to files: what is
    said for that is taken, and not used. Raises ValueError for a class that is registered.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


_register_pytree_node = register_pytree_node  # the name of PyTorch 2.1 and before, which libraries still ask for


def register_dataclass(
    cls: type,
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Makes objects of a dataclass nodes, whose children are the fields that its constructor takes.

    Raises ValueError where the fields of another class are not named, or names and fields do not agree.
    """
    dropped = drop_field_names or []
    if field_names is None:
        if not dataclasses.is_dataclass(cls):
            raise ValueError(f"field_names must be given for {cls}: it is not a dataclass")
        field_names = [f.name for f in dataclasses.fields(cls) if f.init and f.name not in dropped]
    elif dataclasses.is_dataclass(cls):
        wanted = {f.name for f in dataclasses.fields(cls) if f.init} - set(dropped)
        if wanted != set(field_names):
            raise ValueError(f"field_names of {cls} must be {sorted(wanted)}, got {sorted(field_names)}")
    names = list(field_names)

    def parts(obj: Any) -> tuple[list[Any], list[list[str]]]:
        there = [name for name in names if getattr(obj, name) is not None]
        return there, [there, [name for name in names if name not in there]]  # what is None is no child

    def flatten(obj: Any) -> tuple[list[Any], Any]:
        there, context = parts(obj)
        return [getattr(obj, name) for name in there], context

    def flatten_with_keys(obj: Any) -> tuple[list[tuple[Any, Any]], Any]:
        there, context = parts(obj)
        return [(GetAttrKey(name), getattr(obj, name)) for name in there], context

    def unflatten(children: Iterable[Any], context: Any) -> Any:
        return cls(**dict(zip(context[0], children, strict=True)), **dict.fromkeys(context[1]))

    register_pytree_node(cls, flatten, unflatten, flatten_with_keys_fn=flatten_with_keys)


@dataclass(frozen=True)
class ConstantNode:
    """The context of a constant: itself."""

    value: Any


def register_constant(cls: type) -> None:
    """Makes objects of a class part of the spec: nodes without children. TypeError unless they compare and hash."""
    for method in ("__eq__", "__hash__"):
        if getattr(cls, method) in (None, getattr(object, method)):
            raise TypeError(f"register_constant(cls) expects `cls` to have a non-default `{method}` implementation.")
    register_pytree_node(
        cls,
        lambda obj: ([], ConstantNode(obj)),
        lambda children, context: context.value,
        flatten_with_keys_fn=lambda obj: ([], ConstantNode(obj)),
    )


def _sequence(kind: type, put_together: Callable[..., Any], context: Callable[[Any], Any]) -> None:
    register_pytree_node(
        kind,
        lambda tree: (list(tree), context(tree)),
        put_together,
        flatten_with_keys_fn=lambda tree: ([(SequenceKey(i), child) for i, child in enumerate(tree)], context(tree)),
    )


def _mapping(kind: type, put_together: Callable[..., Any], context: Callable[[Any], Any]) -> None:
    register_pytree_node(
        kind,
        lambda tree: (list(tree.values()), context(tree)),
        put_together,
        flatten_with_keys_fn=lambda tree: ([(MappingKey(key), child) for key, child in tree.items()], context(tree)),
    )


def _nothing(tree: Any) -> None:
    return None


_sequence(tuple, lambda children, context: tuple(children), _nothing)
_sequence(list, lambda children, context: list(children), _nothing)
_sequence(Size, lambda children, context: tuple(children), _nothing)  # whose leaves need not be ints any more
_sequence(deque, lambda children, context: deque(children, maxlen=context), lambda tree: tree.maxlen)
_mapping(dict, lambda children, context: dict(zip(context, children, strict=True)), list)
_mapping(OrderedDict, lambda children, context: OrderedDict(zip(context, children, strict=True)), list)
_mapping(
    defaultdict,
    lambda children, context: defaultdict(context[0], zip(context[1], children, strict=True)),
    lambda tree: [tree.default_factory, list(tree)],
)
# PyTorch's own names of these, by which libraries register what looks like a dict.
_dict_flatten, _dict_unflatten, _dict_flatten_with_keys = SUPPORTED_NODES[dict][1:4]
_NAMED = NodeDef(
    namedtuple,
    lambda tree: (list(tree), type(tree)),
    lambda children, context: context(*children),
    lambda tree: ([(GetAttrKey(name), getattr(tree, name)) for name in tree._fields], type(tree)),
)
SUPPORTED_NODES[namedtuple] = _NAMED
_RESULT = NodeDef(
    "structseq",
    lambda tree: (list(tree), type(tree)),
    lambda children, context: context(children),
    lambda tree: ([(SequenceKey(i), child) for i, child in enumerate(tree)], type(tree)),
)


def _node_of(tree: Any) -> NodeDef | None:
    """How ``tree`` is taken apart; None of a leaf."""
    kind = type(tree)
    node = SUPPORTED_NODES.get(kind)
    if node is None and isinstance(tree, tuple):
        if kind in all_return_types:
            return _RESULT
        if isinstance(getattr(tree, "_fields", None), tuple):
            return _NAMED
    return node


# ---------------------------------------------------------------- what remains without the leaves
@dataclass(frozen=True, eq=True, repr=False)
class TreeSpec:
    """A tree without its leaves: what each node is, what its type says of it, and the specs of its children.

    ``type`` is None of a leaf. Counts (``num_leaves``, ``num_nodes``, ``num_children``) are of this tree.
    """

    type: Any
    context: Any
    children_specs: list[TreeSpec]
    num_leaves: int = field(init=False, compare=False)
    num_nodes: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        leaves = 1 if self.type is None else sum(child.num_leaves for child in self.children_specs)
        object.__setattr__(self, "num_leaves", leaves)
        object.__setattr__(self, "num_nodes", 1 + sum(child.num_nodes for child in self.children_specs))

    def __hash__(self) -> int:
        context = tuple(self.context) if isinstance(self.context, list) and self.type is not defaultdict else None
        return hash((self.type, context, tuple(self.children_specs)))

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        separator = ",\n" + " " * (indent + 2)
        children = separator.join(child.__repr__(indent + 2) for child in self.children_specs)
        name = self.type if isinstance(self.type, str) else self.type.__name__
        return f"TreeSpec({name}, {self.context}, [{children}])"

    @property
    def num_children(self) -> int:
        """How many children the root has."""
        return len(self.children_specs)

    def is_leaf(self) -> bool:
        """Whether the tree is one leaf."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """The specs of the root's children."""
        return list(self.children_specs)

    def child(self, index: int) -> TreeSpec:
        """The spec of one of them."""
        return self.children_specs[index]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree with these leaves, from left to right. ValueError unless there are as many as it has."""
        leaves = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that "
                f"holds {self.num_leaves} items ({self})."
            )
        return self._filled(iter(leaves))

    def _filled(self, leaves: Iterator[Any]) -> Any:
        if self.type is None:
            return next(leaves)
        return _definition(self).unflatten_fn([child._filled(leaves) for child in self.children_specs], self.context)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """What of ``tree`` stands at the places of the leaves. ValueError where it nests otherwise."""
        if self.type is None:
            return [tree]
        found: list[Any] = []
        for child, spec in zip(self._children_of(tree), self.children_specs, strict=True):
            found += spec.flatten_up_to(child)
        return found

    def _children_of(self, tree: Any) -> list[Any]:
        """The children of another tree's root, in this one's order."""
        node = _node_of(tree)
        if _is_mapping(self.type) and _is_mapping(type(tree)):  # a dict is as good as another
            keys = self.context[1] if self.type is defaultdict else self.context
            if tree.keys() != set(keys):
                missing, extra = set(keys) - tree.keys(), tree.keys() - set(keys)
                raise ValueError(f"Node keys mismatch; missing key(s): {missing}; extra key(s): {extra}.")
            return [tree[key] for key in keys]
        if node is None or node.type != self.type:
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {type(tree)!r}.")
        children, context = node.flatten_fn(tree)
        if len(children) != len(self.children_specs):
            raise ValueError(f"Node arity mismatch; expected {len(self.children_specs)}, but got {len(children)}.")
        if context != self.context and self.type is not deque:  # however many those may hold
            raise ValueError(f"Node context mismatch for {self.type!r}: expected {self.context}, but got {context}.")
        return list(children)


PyTreeSpec = TreeSpec
_LEAF = TreeSpec(None, None, [])


def _is_mapping(kind: Any) -> bool:
    return kind in (dict, OrderedDict, defaultdict)


def _definition(spec: TreeSpec) -> NodeDef:
    return _RESULT if spec.type == "structseq" else SUPPORTED_NODES[spec.type]


def _require_spec(treespec: Any) -> None:
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"expected `treespec` to be a TreeSpec, got an object of type {type(treespec)}")


def treespec_leaf() -> TreeSpec:
    """The spec of one leaf."""
    return _LEAF


LeafSpec = treespec_leaf  # a class in PyTorch, which is called for one


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """The spec of a tuple of trees of these specs."""
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(mapping: Any = (), /, **kwargs: TreeSpec) -> TreeSpec:
    """The spec of a dict of trees of these specs."""
    specs: dict[Any, TreeSpec] = dict(mapping, **kwargs)
    return TreeSpec(dict, list(specs), list(specs.values()))


# ---------------------------------------------------------------- apart and together
def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves, from left to right, and the spec. ``is_leaf(node)`` says of what else is to be taken whole."""
    _require_callable(is_leaf)
    leaves: list[Any] = []
    return leaves, _flattened(tree, leaves, is_leaf)


def _flattened(tree: Any, leaves: list[Any], is_leaf: IsLeaf) -> TreeSpec:
    node = None if is_leaf is not None and is_leaf(tree) else _node_of(tree)
    if node is None:
        leaves.append(tree)
        return _LEAF
    children, context = node.flatten_fn(tree)
    return TreeSpec(node.type, context, [_flattened(child, leaves, is_leaf) for child in children])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The tree of a spec with these leaves. ValueError unless there are as many as it has."""
    _require_spec(treespec)
    return treespec.unflatten(leaves)


def tree_iter(tree: Any, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves, from left to right, one by one."""
    node = None if is_leaf is not None and is_leaf(tree) else _node_of(tree)
    if node is None:
        yield tree
        return
    for child in node.flatten_fn(tree)[0]:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves, from left to right."""
    return list(tree_iter(tree, is_leaf))


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """The leaves of all arguments of a call."""
    return [*tree_iter(args), *tree_iter(kwargs)]


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> TreeSpec:
    """The spec."""
    return tree_flatten(tree, is_leaf)[1]


def tree_is_leaf(tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether a tree is one leaf."""
    return (is_leaf is not None and is_leaf(tree)) or _node_of(tree) is None


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """``tree`` with ``func`` of each leaf (and of what is at the same place in ``rests``) in place of it.

    ``is_leaf(node)`` says of what else is to be taken whole. Raises ValueError where the others nest otherwise.
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten([func(*at) for at in zip(leaves, *map(spec.flatten_up_to, rests), strict=True)])


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """Calls ``func`` with each leaf (and what is at the same place in ``rests``), and gives ``tree``."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for at in zip(leaves, *map(spec.flatten_up_to, rests), strict=True):
        func(*at)
    return tree


def _chooser(chosen: Any, function: str) -> Callable[[Any], bool]:
    if isinstance(chosen, (type, tuple, types.UnionType)):
        return lambda leaf: isinstance(leaf, chosen)
    if not callable(chosen):
        raise TypeError(f"{function}(): the first argument must be a type, a tuple of types, or a callable")
    return lambda leaf: bool(chosen(leaf))


def _require_callable(is_leaf: Any) -> None:
    if is_leaf is not None and not callable(is_leaf):
        raise TypeError(f"argument 'is_leaf' must be callable, not {type(is_leaf).__name__}")


def tree_map_only(type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None) -> Any:
    """As `tree_map`, for the leaves of a type, of one of several, or of which a predicate is true; others stay."""
    wanted = _chooser(type_or_types_or_pred, "tree_map_only")
    return tree_map(lambda leaf: func(leaf) if wanted(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None) -> Any:
    """As `tree_map_`, for such leaves only."""
    wanted = _chooser(type_or_types_or_pred, "tree_map_only_")
    return tree_map_(lambda leaf: func(leaf) if wanted(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether ``pred`` is true of each leaf."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether ``pred`` is true of a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether ``pred`` is true of each leaf of a type, or of one of several."""
    return all(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def tree_any_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether ``pred`` is true of a leaf of a type, or of one of several."""
    return any(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def _broadcast_to_and_flatten(tree: Any, treespec: TreeSpec, is_leaf: IsLeaf = None) -> list[Any] | None:
    """A leaf for each leaf of a spec, of a tree that may end above it; None where it nests otherwise."""
    _require_spec(treespec)
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf():
        return None
    try:
        children = treespec._children_of(tree)
    except ValueError:
        return None
    found: list[Any] = []
    for child, spec in zip(children, treespec.children_specs, strict=True):
        part = _broadcast_to_and_flatten(child, spec, is_leaf)
        if part is None:
            return None
        found += part
    return found


# ---------------------------------------------------------------- with the way to each leaf
def tree_leaves_with_path(tree: Any, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """Each leaf with the keys that lead to it. ValueError for a node registered without ``flatten_with_keys_fn``."""
    return list(_with_paths((), tree, is_leaf))


def _with_paths(path: KeyPath, tree: Any, is_leaf: IsLeaf) -> Iterator[tuple[KeyPath, Any]]:
    node = None if is_leaf is not None and is_leaf(tree) else _node_of(tree)
    if node is None:
        yield path, tree
        return
    if node.flatten_with_keys_fn is None:
        _refuse_keys(tree)
    for key, child in node.flatten_with_keys_fn(tree)[0]:
        yield from _with_paths((*path, key), child, is_leaf)


def _refuse_keys(tree: Any) -> NoReturn:
    raise ValueError(
        f"Did not find a flatten_with_keys_fn for type: {type(tree)}. Please pass a flatten_with_keys_fn argument to "
        "register_pytree_node."
    )


def tree_flatten_with_path(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """Each leaf with the keys that lead to it, and the spec."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """As `tree_map`, with the keys that lead to a leaf before it."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [[path for path, _ in pairs], [leaf for _, leaf in pairs], *map(spec.flatten_up_to, rests)]
    return spec.unflatten([func(*at) for at in zip(*columns, strict=True)])


def keystr(kp: KeyPath) -> str:
    """Keys as Python writes what they ask for: ``['a'][0].x``."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What these keys lead to in a tree."""
    for key in kp:
        obj = key.get(obj)
    return obj


def treespec_pprint(treespec: TreeSpec) -> str:
    """The tree of a spec with ``*`` for each leaf."""
    _require_spec(treespec)
    return repr(treespec.unflatten([_Star()] * treespec.num_leaves))


class _Star:
    def __repr__(self) -> str:
        return "*"


def is_namedtuple(obj: object) -> bool:
    """Whether this is a named tuple, or the class of one."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_class(cls: Any) -> bool:
    """Whether this is the class of named tuples."""
    fields = getattr(cls, "_fields", None)
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(fields, tuple)


def is_namedtuple_instance(obj: object) -> bool:
    """Whether this is a named tuple."""
    return is_namedtuple_class(type(obj))
