"""`reinplace`: functional operators of a graph become those in place, where nothing reads what they overwrite.

The graph is first run on tensors without memory, which tell what shares memory. What an operator may overwrite is a
tensor of the graph's own whose memory nothing reads later, but for views of it, and for inverses of views
(``slice_scatter``) that put what was written where it lies by then: these are taken out of the graph.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from ..._core import OpOverload, Tensor
from ..._ops import ops
from ..._subclasses import FakeTensorMode
from ...utils._pytree import tree_leaves, tree_map
from ..graph_module import GraphModule
from ..node import Node, map_arg

__all__ = ["reinplace"]

_VIEW_OF_SCATTER = {
    ops.aten.diagonal_scatter.default: ops.aten.diagonal.default,
    ops.aten.select_scatter.default: ops.aten.select.int,
    ops.aten.slice_scatter.default: ops.aten.slice.Tensor,
    ops.aten.as_strided_scatter.default: ops.aten.as_strided.default,
}


def reinplace(gm: GraphModule, *sample_args: Any) -> GraphModule:
    """Changes a graph of functional operators, which is to keep views as views, and gives it.

    ``sample_args``: arguments of the graph, of the shapes and dtypes that it is run with; they are not changed, nor
    does the new graph change what the old one did not.
    """
    graph = _Graph(gm, sample_args)
    for node in list(gm.graph.nodes):
        if node not in graph.removed:
            graph.put_in_place(node)
    for node in reversed(list(gm.graph.nodes)):
        if node in graph.removed:
            gm.graph.erase_node(node)
    gm.recompile()
    return gm


class _Graph:
    """A graph, and for each node a tensor without memory that shows of which memory it has which part."""

    def __init__(self, gm: GraphModule, sample_args: tuple[Any, ...]) -> None:
        self.module = gm
        self.mode = FakeTensorMode(allow_non_fake_inputs=True)
        self.removed: set[Node] = set()
        self.shown: dict[Node, Any] = {}
        given = iter(sample_args)
        self.outside: set[int] = set()  # memory that is not the graph's own
        for node in gm.graph.nodes:
            if node.op in ("placeholder", "get_attr"):
                value = next(given) if node.op == "placeholder" else getattr(gm, node.target)
                self.shown[node] = self._fake(value)
                self.outside |= _memory(self.shown[node])
            elif node.op == "call_function":
                self.shown[node] = self._run(node, self.shown)

    def _fake(self, value: Any) -> Any:
        return tree_map(lambda one: self.mode.from_tensor(one) if isinstance(one, Tensor) else one, value)

    def _run(self, node: Node, shown: dict[Node, Any]) -> Any:
        args, kwargs = map_arg((node.args, node.kwargs), shown.__getitem__)
        with self.mode:
            return node.target(*args, **kwargs)

    def put_in_place(self, node: Node) -> None:
        """Lets a node overwrite its first argument, where it may."""
        target = node.args[0] if node.args else None
        if not isinstance(node.target, OpOverload) or not isinstance(target, Node):
            return
        changed, result = self.shown[target], self.shown[node]
        view = _VIEW_OF_SCATTER.get(node.target)
        form = in_place_form(node.target)
        if (form is None and view is None) or not isinstance(changed, Tensor) or not isinstance(result, Tensor):
            return
        grows = node.target is ops.aten.resize.default  # into memory of its own, which has no other use
        if (not grows and not _may_hold(changed, result)) or _memory(changed) & self.outside:
            return
        if sum(one is target for one in tree_leaves((node.args, node.kwargs))) > 1:
            return
        found = self._after(node, changed, result if grows else changed)
        if found is None:
            return
        self.shown, gone = found
        if view is not None:  # its source is copied to where the view shows it
            self._write_source(node, target, view)
            gone.append(node)
        else:
            node.target = form
        for old in [node, *gone]:
            old.replace_all_uses_with(old.args[0])
        self.removed.update(gone)

    def _after(self, node: Node, changed: Tensor, result: Tensor) -> tuple[dict[Node, Any], list[Node]] | None:
        """What nodes show if this one is done in place, and those that are then without use; None: it must not be.

        ``fresh`` nodes are of the new value; those that are ``whole`` show all that the node writes.
        """
        memory, shown, gone = _memory(changed), dict(self.shown), list[Node]()
        shown[node] = result
        whole, fresh = {node}, {node}
        nodes = self.module.graph.nodes
        for later in nodes[nodes.index(node) + 1 :]:
            if later in self.removed:
                continue
            inputs = later.all_input_nodes
            if self._is_view(later):
                source = later.args[0]
                if source in fresh:
                    shown[later] = self._run(later, shown)
                    fresh.add(later)
                    if source in whole and _numel(shown[later]) == _numel(shown[source]):
                        whole.add(later)
                continue
            old = [one for one in inputs if _memory(self.shown.get(one)) & memory and one not in fresh]
            view = _VIEW_OF_SCATTER.get(later.target)
            if view is not None and old == [later.args[0]] and later.args[1] in whole:
                base = shown[later.args[0]]
                with self.mode:
                    part = view(base, *map_arg(later.args[2:], shown.__getitem__), **later.kwargs)
                if _same_place(part, shown[later.args[1]]):
                    gone.append(later)
                    shown[later] = base
                    fresh.add(later)
                    whole.add(later)
                    continue
            if old:
                return None
        return shown, gone

    def _is_view(self, node: Node) -> bool:
        if node.target is operator.getitem:
            return True
        schema = getattr(node.target, "_schema", None)
        writes = schema is not None and any(a.is_write for a in schema.arguments)
        return schema is not None and not writes and any(one.alias is not None for one in schema.returns)

    def _write_source(self, node: Node, target: Node, view: OpOverload) -> None:
        """Puts before a scatter what writes its source into its target."""
        graph = self.module.graph
        with graph.inserting_before(node):
            part = graph.call_function(view, (target, *node.args[2:]), node.kwargs)
            self.shown[part] = self._run(part, self.shown)
            written = graph.call_function(ops.aten.copy_.default, (part, node.args[1]))
            self.shown[written] = self.shown[part]


def in_place_form(op: OpOverload) -> OpOverload | None:
    """``add_.Tensor`` for ``add.Tensor``: the operator with the same arguments that writes to its first one, if any."""
    schema = op._schema
    if any(a.is_write for a in schema.arguments) or any(one.alias is not None for one in schema.returns):
        return None
    packet = getattr(getattr(ops, op.namespace), f"{schema.name}_", None)
    wanted = [(a.name, str(a.type)) for a in schema.arguments]
    for overload in [] if packet is None else packet.overloads():
        other: OpOverload = getattr(packet, overload)
        arguments = other._schema.arguments
        if [(a.name, str(a.type)) for a in arguments] == wanted and [a.is_write for a in arguments].index(True) == 0:
            return other
    return None


def _memory(value: Any) -> set[int]:
    """The storages of tensors."""
    return {id(one.untyped_storage()) for one in _tensors(value)}


def _tensors(value: Any) -> Iterable[Tensor]:
    return [one for one in tree_leaves(value) if isinstance(one, Tensor)]


def _numel(value: Any) -> int:
    return sum(one.numel() for one in _tensors(value))


def _may_hold(target: Tensor, result: Tensor) -> bool:
    """Whether a tensor has one place for each element of another."""
    stays = any(step == 0 and size > 1 for size, step in zip(target.shape, target.stride(), strict=True))
    return target.shape == result.shape and target.dtype is result.dtype and not stays


def _same_place(a: Tensor, b: Tensor) -> bool:
    geometry = [(one.shape, one.stride(), one.storage_offset()) for one in (a, b)]
    return a.untyped_storage() is b.untyped_storage() and geometry[0] == geometry[1]
