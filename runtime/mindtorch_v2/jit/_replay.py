"""Running a graph again, on other inputs: it is made a list of steps over numbered slots once, and that list is run."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from .. import _core
from .._argument_types import names_wrong_types
from .._ops import ops
from ._graph import Graph, Node, TensorType, Value
from ._tracer import TracerWarning

__all__ = ["run_graph"]

Run = Callable[[list[Any]], Sequence[Any]]


@dataclass(frozen=True)
class _Step:
    """One node: from which slots to which, and what nothing takes afterwards."""

    run: Run
    takes: tuple[int, ...]
    makes: tuple[int, ...]
    frees: tuple[int, ...]
    checked: tuple[tuple[int, Value], ...]


@dataclass(frozen=True)
class _Plan:
    slots: list[Any]  # constants in their places, None elsewhere
    inputs: tuple[int, ...]
    checked: tuple[tuple[int, Value], ...]
    steps: tuple[_Step, ...]
    outputs: tuple[int, ...]


@names_wrong_types
def run_graph(graph: Graph, inputs: Sequence[Any]) -> Any:
    """What the traced function returned, computed from ``inputs``: one an input of the graph, the module included.

    Raises TypeError for another number of inputs. Where Python code had read a shape that is another one now, a
    `TracerWarning` says so.
    """
    if len(inputs) != len(graph.parameters):
        names = ", ".join(value.name for value in graph.parameters)
        raise TypeError(f"the graph takes {len(graph.parameters)} inputs ({names}), got {len(inputs)}")
    plan: _Plan = graph.plan(_planned)
    slots = plan.slots.copy()
    for slot, given in zip(plan.inputs, inputs, strict=True):
        slots[slot] = given
    for slot, value in plan.checked:
        _check_shape(graph, value, slots[slot])
    for step in plan.steps:
        made = step.run([slots[slot] for slot in step.takes])
        for slot, result in zip(step.makes, made, strict=True):
            slots[slot] = result
        for slot, value in step.checked:
            _check_shape(graph, value, slots[slot])
        for slot in step.frees:
            slots[slot] = None  # memory is freed as soon as the function itself would free it
    results = tuple(slots[slot] for slot in plan.outputs)
    return results[0] if len(results) == 1 else results


def _planned(graph: Graph) -> _Plan:
    numbers: dict[Value, int] = {}
    for value in (*graph.parameters, *(value for node in graph.steps for value in node.results)):
        numbers[value] = len(numbers)
    slots: list[Any] = [None] * len(numbers)
    last_uses = {value: node for node in graph.steps for value in (*node.results, *node.arguments)}
    kept = set(graph.returned)
    steps = []
    for node in graph.steps:
        if node.name == "prim::Constant":
            slots[numbers[node.output()]] = node.attribute
            kept.add(node.output())
            continue
        touched = dict.fromkeys((*node.arguments, *node.results))
        steps.append(
            _Step(
                _STEPS.get(node.name, _call)(node),
                tuple(numbers[value] for value in node.arguments),
                tuple(numbers[value] for value in node.results),
                tuple(numbers[value] for value in touched if last_uses[value] is node and value not in kept),
                _checked(graph, node.results, numbers),
            )
        )
    return _Plan(
        slots,
        tuple(numbers[value] for value in graph.parameters),
        _checked(graph, graph.parameters, numbers),
        tuple(steps),
        tuple(numbers[value] for value in graph.returned),
    )


def _checked(graph: Graph, values: Sequence[Value], numbers: dict[Value, int]) -> tuple[tuple[int, Value], ...]:
    return tuple((numbers[value], value) for value in values if value in graph.shape_reads)


def _check_shape(graph: Graph, value: Value, given: Any) -> None:
    if isinstance(value.kind, TensorType) and tuple(given.shape) != value.kind.shape:
        warnings.warn(
            f"the trace has the shape {list(value.kind.shape)} of %{value.name}, read at {graph.shape_reads[value]}, "
            f"as a constant, but the shape is {list(given.shape)} now: the results may be wrong. Trace again with such "
            "an input.",
            TracerWarning,
            stacklevel=2,
        )


def _call(node: Node) -> Run:
    """An operator's call: arguments as its schema has them."""
    op = node.op
    if op is None:
        return _apply(node)
    arguments = op._schema.arguments
    split = sum(not a.kwarg_only for a in arguments)
    names = [a.name for a in arguments[split:]]
    count = len(op._schema.returns)

    def run(taken: list[Any]) -> Sequence[Any]:
        result = op(*taken[:split], **dict(zip(names, taken[split:], strict=True))) if names else op(*taken)
        return result if count > 1 else (result,) if count else ()

    return run


def _apply(node: Node) -> Run:
    """``apply`` of an `autograd.Function`."""
    cls, plain = node.attribute

    def run(taken: list[Any]) -> Sequence[Any]:
        tensors = iter(taken)
        result = cls.apply(*(next(tensors) if item is None else item[0] for item in plain))
        return result if isinstance(result, tuple) else (result,)

    return run


def _attribute(node: Node) -> Run:
    """A parameter or buffer as the module has it now."""
    get = attrgetter(node.attribute)
    return lambda taken: (get(taken[0]),)


def _construct(kind: type) -> Callable[[Node], Run]:
    def step(node: Node) -> Run:
        named = node.attribute
        return lambda taken: (named(*taken) if named else kind(taken),)

    return step


_STEPS: dict[str, Callable[[Node], Run]] = {
    "prim::GetAttr": _attribute,
    "prim::ListConstruct": _construct(list),
    "prim::TupleConstruct": _construct(tuple),
    "prim::DictConstruct": lambda node: lambda taken: (dict(zip(node.attribute, taken, strict=True)),),
    "aten::size": lambda node: lambda taken: (taken[0].size(taken[1]),),
    "aten::numel": lambda node: lambda taken: (taken[0].numel(),),
    "aten::Int": lambda node: lambda taken: (taken[0].item(),),
    "prim::NumToTensor": lambda node: lambda taken: (ops.aten.scalar_tensor(taken[0], dtype=_core.dtypes["int64"]),),
    "prim::ListUnpack": lambda node: lambda taken: taken[0],
}
