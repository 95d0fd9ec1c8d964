"""A model's graph: the operators that `torch.jit.trace` records, each in the module that calls it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.step_stats_pb2 import DeviceStepStats, StepStats
from tensorboard.compat.proto.versions_pb2 import VersionDef

from ...jit import Graph, Node, TensorType, Value, trace
from ...jit._tracer import get_tracing_state
from ...nn import Module
from ._protos import shape_proto

__all__ = ["graph_of"]

_PRODUCER = 22  # the version of TensorFlow's graphs whose form this is
_ENDS = "IO Node"


def graph_of(model: Any, inputs: Any, strict: bool, verbose: bool) -> tuple[Any, Any]:
    """The graph that calling the model with the inputs makes, and what TensorBoard has to know of where it ran."""
    scopes: dict[Node, str] = {}
    with _scopes_noted(model, scopes):
        graph = trace(model, inputs, strict=strict, check_trace=False).graph
    if verbose:
        print(graph)
    top = type(model).__name__ if isinstance(model, Module) else getattr(model, "__name__", type(model).__name__)
    where = StepStats(dev_stats=[DeviceStepStats(device="/device:CPU:0")])
    nodes = GraphDef(node=_nodes(graph, scopes, top), versions=VersionDef(producer=_PRODUCER))
    return nodes, RunMetadata(step_stats=where)


@contextmanager
def _scopes_noted(model: Any, scopes: dict[Node, str]) -> Iterator[None]:
    """Inside, each node that a module's call records is noted with where that is: ``Net/Sequential[c]/ReLU[0]``."""
    handles = []
    if isinstance(model, Module):
        for name, module in model.named_modules():
            before, after = _notes(_scope(model, name), scopes)
            handles += [module.register_forward_pre_hook(before), module.register_forward_hook(after, always_call=True)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _scope(model: Module, name: str) -> str:
    parts, path = [type(model).__name__], ""
    for part in filter(None, name.split(".")):
        path = f"{path}.{part}".lstrip(".")
        parts.append(f"{type(model.get_submodule(path)).__name__}[{part}]")
    return "/".join(parts)


def _notes(scope: str, scopes: dict[Node, str]) -> tuple[Callable[..., None], Callable[..., None]]:
    started: list[int] = []  # for each call of the module that runs, how many steps there were

    def before(*_: Any) -> None:
        state = get_tracing_state()
        started.append(0 if state is None else len(state.graph.steps))

    def after(*_: Any) -> None:
        state, start = get_tracing_state(), started.pop()
        for node in () if state is None else state.graph.steps[start:]:
            scopes.setdefault(node, scope)  # modules inside return earlier

    return before, after


def _nodes(graph: Graph, scopes: dict[Node, str], top: str) -> Iterator[Any]:
    names: dict[Value, str] = {}
    for value in graph.inputs():
        if isinstance(value.kind, TensorType):  # the module itself is none
            names[value] = f"input/{value.name}"
            yield _node(names[value], _ENDS, value, [], "")
    made = [(node, value) for node in graph.nodes() for value in node.outputs()]
    for node, value in made:
        scope = scopes.get(node, top)
        if node.kind() == "prim::GetAttr":
            scope = f"{scope}/{str(node.attribute).rpartition('.')[2]}"
        names[value] = f"{scope}/{value.name}"
    for number, value in enumerate(graph.outputs(), 1):
        yield _node(f"output/output.{number}", _ENDS, value, [names[value]], "")
    for node, value in made:
        taken = [names[each] for each in node.inputs() if each in names]
        yield _node(names[value], node.kind(), value, taken, _attribute(node))


def _node(name: str, kind: str, value: Value, taken: list[str], attribute: str) -> Any:
    described = {"attr": AttrValue(s=attribute.encode())}
    if isinstance(value.kind, TensorType):
        shapes = AttrValue.ListValue(shape=[shape_proto(value.kind.shape)])
        described["_output_shapes"] = AttrValue(list=shapes)
    return NodeDef(name=name, op=kind, input=taken, attr=described)


def _attribute(node: Node) -> str:
    if node.attribute is None:
        return "{}"
    word = "name" if node.kind() == "prim::GetAttr" else "value"
    return f"{{ {word} : {node.attribute}}}"
