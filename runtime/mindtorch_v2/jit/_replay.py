"""Running a graph again, on other inputs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from .._core import Tensor
from ._graph import Graph, Node, TensorType, Value
from ._tracer import TracerWarning

__all__ = ["run_graph"]


def run_graph(graph: Graph, inputs: Sequence[Any]) -> Any:
    """What the traced function returned, computed from ``inputs``: one an input of the graph, the module included.

    Raises TypeError for another number of inputs. Where Python code had read a shape that is another one now, a
    `TracerWarning` says so.
    """
    if len(inputs) != len(graph.parameters):
        names = ", ".join(value.name for value in graph.parameters)
        raise TypeError(f"the graph takes {len(graph.parameters)} inputs ({names}), got {len(inputs)}")
    values: dict[Value, Any] = {}
    for value, given in zip(graph.parameters, inputs, strict=True):
        values[value] = _checked(graph, value, given)
    last_uses = graph.last_uses()
    for number, node in enumerate(graph.steps):
        taken = [values[value] for value in node.arguments]
        made = _STEPS.get(node.name, _run_call)(node, taken)
        for value, result in zip(node.results, made, strict=True):
            values[value] = _checked(graph, value, result)
        for value in {*node.arguments, *node.results}:
            if last_uses.get(value, number) <= number:
                del values[value]  # memory is freed as soon as the function itself would free it
    results = tuple(values[value] for value in graph.returned)
    return results[0] if len(results) == 1 else results


def _checked(graph: Graph, value: Value, given: Any) -> Any:
    where = graph.shape_reads.get(value)
    if where is not None and isinstance(value.kind, TensorType) and tuple(given.shape) != value.kind.shape:
        warnings.warn(
            f"the trace has the shape {list(value.kind.shape)} of %{value.name}, read at {where}, as a constant, but "
            f"the shape is {list(given.shape)} now: the results may be wrong. Trace again with such an input.",
            TracerWarning,
            stacklevel=2,
        )
    return given


def _run_call(node: Node, taken: list[Any]) -> Sequence[Any]:
    """An operator's call: arguments as its schema has them."""
    if node.op is None:
        return _run_function(node, taken)
    arguments = node.op._schema.arguments
    positional = [v for v, a in zip(taken, arguments, strict=True) if not a.kwarg_only]
    keywords = {a.name: v for v, a in zip(taken, arguments, strict=True) if a.kwarg_only}
    result = node.op(*positional, **keywords)
    return result if len(node.results) > 1 else (result,) if node.results else ()


def _run_function(node: Node, taken: list[Any]) -> Sequence[Any]:
    """``apply`` of an `autograd.Function`."""
    cls, plain = node.attribute
    tensors = iter(taken)
    result = cls.apply(*(next(tensors) if item is None else item[0] for item in plain))
    return result if isinstance(result, tuple) else (result,)


def _construct(kind: type) -> Callable[[Node, list[Any]], Sequence[Any]]:
    def step(node: Node, taken: list[Any]) -> Sequence[Any]:
        return (node.attribute(*taken) if node.attribute else kind(taken),)

    return step


def _attribute(node: Node, taken: list[Any]) -> Sequence[Tensor]:
    return (attrgetter(node.attribute)(taken[0]),)


_STEPS: dict[str, Callable[[Node, list[Any]], Sequence[Any]]] = {
    "prim::Constant": lambda node, taken: (node.attribute,),
    "prim::GetAttr": _attribute,
    "prim::ListConstruct": _construct(list),
    "prim::TupleConstruct": _construct(tuple),
    "prim::DictConstruct": lambda node, taken: (dict(zip(node.attribute, taken, strict=True)),),
    "prim::ListUnpack": lambda node, taken: taken[0],
}
