"""A graph of calls, in the order in which they run, and the Python code that it stands for."""

from __future__ import annotations

import builtins
import keyword
import operator
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import _core
from .._core import Tensor
from .node import Node, map_arg

__all__ = ["Graph"]


class Graph:
    """Inputs, calls and one output; names are made, and told apart by numbers."""

    def __init__(self) -> None:
        self._nodes: list[Node] = []
        self._names: dict[str, int] = {}
        self._before: Node | None = None

    @property
    def nodes(self) -> list[Node]:
        """The nodes in their order."""
        return self._nodes

    def placeholder(self, name: str) -> Node:
        """An input."""
        return self.create_node("placeholder", name, name=name)

    def get_attr(self, name: str) -> Node:
        """An attribute of the module."""
        return self.create_node("get_attr", name, name=name)

    def call_function(self, target: Callable[..., Any], args: tuple[Any, ...] = (), kwargs: Any = None) -> Node:
        """A call of a function or an operator."""
        return self.create_node("call_function", target, args, kwargs)

    def output(self, result: Any) -> Node:
        """What is returned."""
        return self.create_node("output", "output", (result,), name="output")

    def create_node(
        self, op: str, target: Any, args: tuple[Any, ...] = (), kwargs: Any = None, name: str | None = None
    ) -> Node:
        """A node at the end, or where `inserting_before` says."""
        wanted = name or getattr(target, "_opname", None) or getattr(target, "__name__", "call")
        node = Node(self, self._free_name(str(wanted)), op, target, tuple(args), kwargs)
        at = len(self._nodes) if self._before is None else self._nodes.index(self._before)
        self._nodes.insert(at, node)
        return node

    @contextmanager
    def inserting_before(self, node: Node) -> Iterator[None]:
        """Inside, nodes are made before another one."""
        outside, self._before = self._before, node
        try:
            yield
        finally:
            self._before = outside

    def _free_name(self, wanted: str) -> str:
        base = re.sub(r"\W", "_", wanted) or "_"
        if keyword.iskeyword(base) or hasattr(builtins, base):
            self._names.setdefault(base, 0)  # which is taken
        count = self._names.get(base)
        self._names[base] = 0 if count is None else count + 1
        name = base if count is None else f"{base}_{count + 1}"
        if count is not None:
            self._names.setdefault(name, 0)
        return name

    def erase_node(self, node: Node) -> None:
        """Takes a node out. Raises RuntimeError where another takes it."""
        if node.users:
            raise RuntimeError(f"Tried to erase Node {node} but it still had {len(node.users)} users in the graph")
        self._nodes.remove(node)

    def eliminate_dead_code(self) -> bool:
        """Takes out calls that nothing takes and that write to nothing; whether there were any."""
        before = len(self._nodes)
        for node in reversed(list(self._nodes)):
            schema = getattr(node.target, "_schema", None)
            writes = schema is None or any(a.is_write for a in schema.arguments)
            if node.op == "call_function" and not node.users and (node.target is operator.getitem or not writes):
                self.erase_node(node)
        return len(self._nodes) < before

    def lint(self) -> None:
        """Raises RuntimeError for a node that takes one that is not before it, or a name that two have."""
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self._nodes:
            for taken in node.all_input_nodes:
                if taken not in seen:
                    raise RuntimeError(f"Argument '{taken}' of Node '{node}' was used before it has been defined")
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen.add(node)
            names.add(node.name)

    def code(self) -> str:
        """The graph as a method ``forward``: a line a node, which lets go of what no later one takes."""
        inputs = [node.name for node in self._nodes if node.op == "placeholder"]
        last = {taken: node for node in self._nodes for taken in node.all_input_nodes}
        lines = []
        for node in self._nodes:
            if node.op == "placeholder":
                continue
            freed = [one.name for one in node.all_input_nodes if last[one] is node]
            if node.op == "output":
                lines.append(f"return {_text(node.args[0])}")
                continue
            taken = freed if node in last else [*freed, node.name]
            drop = f";  {' = '.join(taken)} = None" if taken else ""
            lines.append(f"{node.name} = {_call(node)}{drop}")
        body = "".join(f"    {line}\n" for line in lines)
        return f"\n\n\ndef forward({', '.join(['self', *inputs])}):\n{body}    "

    def __str__(self) -> str:
        return "\n".join(["graph():", *(f"    {node.format_node()}" for node in self._nodes)])

    def print_tabular(self) -> None:
        """Prints the nodes as a table."""
        rows = [("opcode", "name", "target", "args", "kwargs")]
        rows += [(n.op, n.name, str(n.target), str(n.args), str(n.kwargs)) for n in self._nodes]
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        for row in rows:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _call(node: Node) -> str:
    if node.op == "get_attr":
        return f"self.{node.target}"
    if node.target is operator.getitem:
        return f"{_text(node.args[0])}[{_text(node.args[1])}]"
    arguments = [*map(_text, node.args), *(f"{name} = {_text(value)}" for name, value in node.kwargs.items())]
    return f"torch.ops.{node.target}({', '.join(arguments)})"


def _text(value: Any) -> str:
    if isinstance(value, Tensor):
        raise TypeError("a tensor in a graph is an attribute of the module: get_attr")
    if isinstance(value, _core.device):
        return f"device(type='{value.type}'{'' if value.index is None else f', index={value.index}'})"
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return repr(map_arg(value, lambda node: node))
