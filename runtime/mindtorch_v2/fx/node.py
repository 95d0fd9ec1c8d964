"""A node of a graph: an input, a call, an attribute of the module, or what is returned."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..utils._pytree import tree_leaves, tree_map

if TYPE_CHECKING:
    from .graph import Graph

__all__ = ["Node", "map_arg"]


class Node:
    """``op`` is placeholder, call_function, get_attr or output; ``target`` what is called, or a name."""

    def __init__(
        self, graph: Graph, name: str, op: str, target: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> None:
        self.graph, self.name, self.op, self.target = graph, name, op, target
        self.args: tuple[Any, ...] = args
        self.kwargs: dict[str, Any] = {} if kwargs is None else kwargs
        self.meta: dict[str, Any] = {}

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes that it takes, each once."""
        found = [one for one in tree_leaves((self.args, self.kwargs)) if isinstance(one, Node)]
        return list(dict.fromkeys(found))

    @property
    def users(self) -> dict[Node, None]:
        """The nodes that take it."""
        return {node: None for node in self.graph.nodes if self in node.all_input_nodes}

    def replace_all_uses_with(self, other: Node) -> list[Node]:
        """Makes all that take this node take another; gives these."""
        users = list(self.users)
        for user in users:
            user.args, user.kwargs = map_arg((user.args, user.kwargs), lambda n: other if n is self else n)
        return users

    def __repr__(self) -> str:
        return self.name

    def format_node(self) -> str:
        """The node as a line of the graph's text."""
        if self.op == "placeholder":
            return f"%{self.name} : [num_users={len(self.users)}] = placeholder[target={self.target}]"
        if self.op == "output":
            return f"return {_shown(self.args[0])}"
        name = self.target if isinstance(self.target, str) else _target_name(self.target)
        called = f"(args = {_shown(self.args)}, kwargs = {_shown(self.kwargs)})"
        return f"%{self.name} : [num_users={len(self.users)}] = {self.op}[target={name}]{called}"


def _target_name(target: Any) -> str:
    return f"torch.ops.{target}" if hasattr(target, "_schema") else f"{target.__module__}.{target.__name__}"


def _shown(value: Any) -> str:
    return str(map_arg(value, lambda node: _Shown(f"%{node.name}")))


class _Shown(str):
    __slots__ = ()
    __repr__ = str.__str__


def map_arg(value: Any, function: Callable[[Node], Any]) -> Any:
    """Arguments with every node in them replaced by what ``function`` makes of it."""
    return tree_map(lambda one: function(one) if isinstance(one, Node) else one, value)
