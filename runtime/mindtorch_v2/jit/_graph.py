"""What a trace is: values, the nodes that make them, and the graph, which prints like PyTorch's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .._argument_types import names_wrong_types
from .._core import OpOverload, Tensor, device, dtype, scalar_types

__all__ = ["Graph", "Node", "TensorType", "Value", "type_of"]


@dataclass(frozen=True)
class TensorType:
    """A tensor as it was while tracing."""

    dtype: dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: device
    requires_grad: bool

    @classmethod
    @names_wrong_types
    def of(cls, tensor: Tensor) -> TensorType:
        return cls(tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.device, tensor.requires_grad)

    def __str__(self) -> str:
        parts = [str(size) for size in self.shape]
        if self.shape:
            parts.append(f"strides={list(self.strides)}")
        parts += [f"requires_grad={int(self.requires_grad)}", f"device={self.device}"]
        return f"{scalar_types[self.dtype.name]}({', '.join(parts)})"


def type_of(value: Any) -> TensorType | str:
    """The type of a tensor or of a constant, as graphs print it."""
    if isinstance(value, Tensor):
        return TensorType.of(value)
    if value is None:
        return "NoneType"
    if isinstance(value, (list, tuple)):
        return f"{type_of(value[0]) if value else 'Tensor'}[]"
    return {"dtype": "ScalarType", "device": "Device"}.get(type(value).__name__, type(value).__name__)


class Value:
    """What a node makes and others take; of a list that was made of values, ``items`` are these."""

    __slots__ = ("__weakref__", "items", "kind", "name")

    def __init__(self, name: str, kind: TensorType | str, items: tuple[Value, ...] = ()) -> None:
        self.name, self.kind, self.items = name, kind, items

    def debugName(self) -> str:  # noqa: N802  (PyTorch's name)
        """The name it is printed by, without the ``%``."""
        return self.name

    def type(self) -> TensorType | str:
        """The tensor's dtype, shape, strides and device while tracing; of anything else the name of its type."""
        return self.kind

    def __repr__(self) -> str:
        return f"%{self.name} : {self.kind}"


@dataclass(frozen=True, eq=False)
class Node:
    """One step: an operator's call, or one of ``prim``: a constant, an attribute of the module, a container.

    Of an operator ``arguments`` has one value an argument of the schema, in its order. ``attribute`` is what else the
    step needs: a constant's value, an attribute's name, a dict's keys, an ``autograd.Function`` and its arguments.
    """

    name: str
    arguments: tuple[Value, ...] = ()
    op: OpOverload | None = None
    attribute: Any = None
    source: str = ""
    results: list[Value] = field(default_factory=list)

    def kind(self) -> str:
        """``aten::add``, ``prim::Constant``, ..."""
        return self.name

    def schema(self) -> str:
        """The operator's schema; "(no schema)" for a step that is no operator's call."""
        return "(no schema)" if self.op is None else str(self.op._schema)

    def inputs(self) -> Iterator[Value]:
        """The values it takes."""
        return iter(self.arguments)

    def outputs(self) -> Iterator[Value]:
        """The values it makes."""
        return iter(self.results)

    def output(self) -> Value:
        """The one value it makes."""
        if len(self.results) != 1:
            raise RuntimeError(f"{self.name} has {len(self.results)} outputs: ask for `outputs()`")
        return self.results[0]

    def sourceRange(self) -> str:  # noqa: N802  (PyTorch's name)
        """``file.py:12``: the line that made the call."""
        return self.source

    @property
    def device(self) -> device | None:
        """Where it ran: the device of its first tensor; None for a step without one."""
        for value in (*self.results, *self.arguments):
            for item in (value, *value.items):
                if isinstance(item.kind, TensorType):
                    return item.kind.device
        return None

    def __str__(self) -> str:
        made = ", ".join(repr(value) for value in self.results)
        taken = ", ".join(f"%{value.name}" for value in self.arguments)
        where = f" # {self.source}" if self.source else ""
        return f"{made + ' = ' if made else ''}{self.name}{self._attribute_text()}({taken}){where}"

    def _attribute_text(self) -> str:
        if self.name == "prim::GetAttr":
            return f'[name="{self.attribute}"]'
        if self.name == "prim::Constant" and self.attribute is not None:
            return f"[value={_constant_text(self.attribute)}]"
        if self.name == "prim::DictConstruct":
            return f"[keys={self.attribute}]"
        return ""


def _constant_text(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{{{value.tolist()}}}" if value.numel() <= 1 and not value.is_meta else "<Tensor>"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, (list, tuple)):
        return str(list(value))
    return f'"{value}"' if isinstance(value, (str, device)) else str(value)


class Graph:
    """The calls that a function made, in order. Runs again with ``graph.run(inputs)``; see `torch.jit.trace`."""

    def __init__(self) -> None:
        self.parameters: list[Value] = []
        self.steps: list[Node] = []
        self.returned: list[Value] = []
        self.shape_reads: dict[Value, str] = {}  # values whose shape Python code read, and where
        self._count = 0
        self._plan: Any = None

    def inputs(self) -> Iterator[Value]:
        """The tensors it is a function of."""
        return iter(self.parameters)

    def outputs(self) -> Iterator[Value]:
        """What it returns: one value, which may be a container."""
        return iter(self.returned)

    def nodes(self) -> Iterator[Node]:
        """The steps in the order of execution."""
        return iter(self.steps)

    def operators(self) -> list[tuple[str, device | None]]:
        """Name and device of each operator's call, in order."""
        return [(node.name, node.device) for node in self.steps if node.op is not None]

    def findAllNodes(self, kind: str) -> list[Node]:  # noqa: N802  (PyTorch's name)
        """The steps of one kind, by its name with its namespace: ``"aten::add"``. Raises RuntimeError without one."""
        if not isinstance(kind, str):
            raise TypeError(f"findAllNodes(): argument 'kind' must be str, not {type(kind).__name__}")
        if "::" not in kind:
            raise RuntimeError(f"all symbols must have a namespace, <namespace>::<string>, but found: {kind}")
        return [node for node in self.steps if node.name == kind]

    def add_input(self, kind: TensorType | str, name: str = "") -> Value:
        """A new input; it gets a number where it has no name."""
        value = Value(name or self._next_name(), kind)
        self.parameters.append(value)
        return value

    @names_wrong_types
    def add(self, node: Node, *kinds: TensorType | str, name: str = "") -> list[Value]:
        """Appends a step that makes values of these types, and returns them."""
        items = node.arguments if node.name == "prim::ListConstruct" else ()
        node.results.extend(Value(name or self._next_name(), kind, items) for kind in kinds)
        self.steps.append(node)
        self._plan = None
        return node.results

    def add_output(self, value: Value) -> None:
        """Returns a value, after those that are returned already."""
        self.returned.append(value)
        self._plan = None

    def drop_unused(self) -> None:
        """Leaves out constants, containers and sizes that nothing takes."""
        taken = set(self.returned)
        kept = []
        for node in reversed(self.steps):
            calls = node.op is not None or node.name.startswith("^")
            if calls or not node.results or taken.intersection(node.results):
                taken.update(node.arguments)
                kept.append(node)
        self.steps = kept[::-1]
        self._plan = None

    def plan(self, make: Callable[[Graph], Any]) -> Any:
        """What ``make`` makes of the graph, made once until the graph changes."""
        if self._plan is None:
            self._plan = make(self)
        return self._plan

    def _next_name(self) -> str:
        self._count += 1
        return str(self._count)

    def __str__(self) -> str:
        head = ",\n      ".join(repr(value) for value in self.parameters)
        body = "".join(f"  {node}\n" for node in self.steps)
        return f"graph({head}):\n{body}  return ({', '.join(f'%{value.name}' for value in self.returned)})\n"
