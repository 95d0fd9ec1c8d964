"""The Tracing key: while a trace is recorded every operator's call becomes a node, above autograd and composites."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import _core
from .._core import OpOverload, Tensor
from .._dispatch_keys import DispatchKeySet
from .._frames import user_line, user_stacklevel
from .._ops import ops
from ._graph import Graph, Node, TensorType, Value, type_of

__all__ = [
    "TracerWarning", "TracingState", "get_tracing_state", "paused", "set_tracing_state", "warn",
]  # fmt: skip

_TRACING = _core.key_mask("Tracing")


class TracerWarning(Warning):
    """What was recorded may not be what the function does for other inputs."""


class _Thread(threading.local):
    state: TracingState | None = None


_thread = _Thread()


def get_tracing_state() -> TracingState | None:
    """The trace that this thread records, or None."""
    return _thread.state


def set_tracing_state(state: TracingState | None) -> None:
    """Makes this thread record its operators' calls into ``state.graph``; None ends that."""
    included, excluded = _core.thread_keys()
    _thread.state = state
    _core.set_thread_keys_(included & ~_TRACING if state is None else included | _TRACING, excluded)


@contextmanager
def paused() -> Iterator[None]:
    """Inside, calls run without being recorded."""
    included, excluded = _core.thread_keys()
    _core.set_thread_keys_(included, excluded | _TRACING)
    try:
        yield
    finally:
        _core.set_thread_keys_(included, excluded)


class TracedInt(int):
    """A number that an operator takes, read from a tensor of the trace."""

    tensor: Tensor


class TracingState:
    """A graph in the making, and which tensor is which of its values.

    A tensor that no recorded call made is captured by reference: as an attribute of the module where ``attributes``
    names it, else as a constant.
    """

    def __init__(
        self,
        attributes: dict[int, str] | None = None,
        module: str = "",
        *,
        on_read: Callable[[str], None] | None = None,
    ) -> None:
        self.graph = Graph()
        self._captured: list[tuple[Tensor, int]] = []  # with their versions
        self.on_read = on_read or _warn_of_read  # hears what Python type a tensor's value became
        self._attributes = attributes or {}
        self._self = self.graph.add_input(module, "self") if attributes is not None else None
        self._values: dict[int, Value] = {}  # by the tensor's id
        self._places: dict[tuple[Any, ...], Value] = {}  # by memory and geometry
        self._made_here: set[int] = set()  # ids of storages that are inputs or results
        self._kept: list[Any] = []  # so that ids stay theirs
        self._varying: set[Value] = set()  # inputs and results of calls: another run may have other shapes
        self._constants: dict[tuple[str, str], Value] = {}

    def add_input(self, tensor: Tensor, name: str = "") -> Value:
        """The tensor as an input of the graph."""
        value = self.graph.add_input(TensorType.of(tensor), name)
        self._made(tensor, value)
        return value

    def add_output(self, value: Any) -> Value:
        """A result of the graph: a tensor or nested tuples, lists and dicts of them."""
        with paused():
            found = self._structure(value)
        self.graph.add_output(found)
        return found

    def record(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], below: int) -> Any:
        """Calls the operator at the keys ``below``, and adds it to the graph."""
        arguments = op._schema.arguments
        given = [*args, *(kwargs[a.name] for a in arguments[len(args) :])]
        taken = tuple(self.value_of(value) for value in given)
        result = op.redispatch(below, *args, **kwargs)
        node = Node(f"{op.namespace}::{op._schema.name}", taken, op, None, user_line())
        self._add_results(node, result if len(op._schema.returns) > 1 else (result,) if op._schema.returns else ())
        return result

    def record_function(self, cls: Any, args: tuple[Any, ...]) -> Any:
        """``cls.apply`` as one node: its own backward is what a later run gets its gradients from."""
        taken = tuple(self.value_of(v) for v in args if isinstance(v, Tensor))
        plain = [None if isinstance(v, Tensor) else (v,) for v in args]
        result = cls.apply(*args)
        node = Node(f"^{cls.__name__}", taken, None, (cls, plain), user_line())
        self._add_results(node, result if isinstance(result, tuple) else (result,))
        return result

    def value_of(self, value: Any) -> Value:
        """The graph's value for an argument of a call."""
        if isinstance(value, Tensor):
            return self._known(value) or self._capture(value)
        if isinstance(value, (list, tuple)) and any(isinstance(item, Tensor) for item in value):
            items = tuple(self.value_of(item) for item in value)
            return self.graph.add(Node("prim::ListConstruct", items), "Tensor[]")[0]
        if isinstance(value, TracedInt):
            return self.graph.add(Node("aten::Int", (self.value_of(value.tensor),)), "int")[0]
        if isinstance(value, (list, tuple)) and any(isinstance(item, TracedInt) for item in value):
            items = tuple(self.value_of(item) for item in value)
            return self.graph.add(Node("prim::ListConstruct", items), "int[]")[0]
        key = type(value).__name__, repr(value)
        if key not in self._constants:
            self._kept.append(value)
            self._constants[key] = self.graph.add(Node("prim::Constant", attribute=value), type_of(value))[0]
        return self._constants[key]

    def read_shape(self, tensor: Tensor, where: str) -> None:
        """Python code learnt the shape of a tensor: from here on it is part of what was recorded."""
        value = self._known(tensor)
        if value is not None and value in self._varying:
            self.graph.shape_reads.setdefault(value, where)

    def varies(self, tensor: Tensor) -> bool:
        """Whether a tensor is an input or the result of a call: another run may have one of another shape."""
        return self._known(tensor) in self._varying

    def size_of(self, tensor: Tensor, dim: int) -> Tensor:
        """A size as a 0-d tensor of the trace: what is computed from it is recorded."""
        return self._number(Node("aten::size", (self.value_of(tensor), self.value_of(dim))), tensor.size(dim))

    def count_of(self, tensor: Tensor) -> Tensor:
        """``numel()`` as a 0-d tensor of the trace."""
        return self._number(Node("aten::numel", (self.value_of(tensor),)), tensor.numel())

    def as_number(self, tensor: Tensor, number: Any) -> Any:
        """The number that a tensor of the trace holds, as an operator's argument that `value_of` knows again."""
        if type(number) is not int or self._known(tensor) is None:
            return number
        traced = TracedInt(number)
        traced.tensor = tensor
        return traced

    def _number(self, node: Node, number: int) -> Tensor:
        tensor: Tensor = ops.aten.scalar_tensor(number, dtype=_core.dtypes["int64"])
        read = self.graph.add(Node(node.name, node.arguments, None, None, user_line()), "int")[0]
        self._made(tensor, self.graph.add(Node("prim::NumToTensor", (read,)), TensorType.of(tensor))[0])
        return tensor

    def captured_changed(self) -> bool:
        """Whether the recorded calls changed a captured tensor, such as a module's running mean, in place."""
        return any(not t.is_inference() and t._version != version for t, version in self._captured)

    def _add_results(self, node: Node, results: Any) -> None:
        kinds = ["Tensor[]" if isinstance(result, (list, tuple)) else type_of(result) for result in results]
        for result, value in zip(results, self.graph.add(node, *kinds), strict=True):
            if isinstance(result, Tensor):
                self._made(result, value)
            elif isinstance(result, (list, tuple)):
                items = self.graph.add(Node("prim::ListUnpack", (value,)), *(type_of(item) for item in result))
                for item, part in zip(result, items, strict=True):
                    self._made(item, part)

    def _made(self, tensor: Tensor, value: Value) -> None:
        self._made_here.add(id(tensor.untyped_storage()))
        self._varying.add(value)
        self._know(tensor, value)

    def _know(self, tensor: Tensor, value: Value) -> None:
        self._values[id(tensor)] = self._places[_place(tensor)] = value
        self._kept += (tensor, tensor.untyped_storage())

    def _known(self, tensor: Tensor) -> Value | None:
        """What a tensor is; one that lies just where a known one lies is an alias of it (a saved output, say)."""
        return self._values.get(id(tensor)) or self._places.get(_place(tensor))

    def _capture(self, tensor: Tensor) -> Value:
        name = self._attributes.get(id(tensor))
        if name is not None and self._self is not None:
            node, label = Node("prim::GetAttr", (self._self,), None, name), name
        elif id(tensor.untyped_storage()) in self._made_here:
            raise RuntimeError(
                f"cannot trace: a tensor of shape {list(tensor.shape)} shares memory with a value of the trace, but no "
                "operator made it, so what it is cannot be recorded. Make views by operators (`view`, ...)."
            )
        else:
            node, label = Node("prim::Constant", attribute=tensor), ""
        self._captured.append((tensor, tensor._version if not tensor.is_inference() else 0))
        value = self.graph.add(node, TensorType.of(tensor), name=label)[0]
        self._know(tensor, value)
        return value

    def _structure(self, value: Any) -> Value:
        if isinstance(value, Tensor):
            return self.value_of(value)
        if isinstance(value, dict):
            items = tuple(self._structure(item) for item in value.values())
            return self.graph.add(Node("prim::DictConstruct", items, None, list(value)), "Dict")[0]
        if isinstance(value, (list, tuple)):
            items = tuple(self._structure(item) for item in value)
            kind = "List" if isinstance(value, list) else "Tuple"
            of = type(value) if hasattr(value, "_fields") else None
            types = ", ".join(str(item.kind) for item in items)
            return self.graph.add(Node(f"prim::{kind}Construct", items, None, of), f"({types})")[0]
        raise RuntimeError(
            "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions, not "
            f"{type(value).__name__}"
        )


def _place(tensor: Tensor) -> tuple[Any, ...]:
    storage = id(tensor.untyped_storage())
    return storage, tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor.dtype.name


def _trace_call(keys: DispatchKeySet, op: OpOverload, *args: Any, **kwargs: Any) -> Any:
    """The fallback at the key Tracing."""
    state, below = _thread.state, keys.mask & ~_TRACING
    with paused():
        if state is None:
            return op.redispatch(below, *args, **kwargs)
        if op._schema.returns and not any("Tensor" in str(output.type) for output in op._schema.returns):
            state.on_read("number")
            return op.redispatch(below, *args, **kwargs)
        return state.record(op, args, kwargs, below)


def _warn_of_read(what: str) -> None:
    article = "a NumPy array" if what == "NumPy array" else f"a Python {what}"
    warn(
        f"Converting a tensor to {article} might cause the trace to be incorrect. We can't record the data flow of "
        "Python values, so this value will be treated as a constant in the future. This means that the trace might not "
        "generalize to other inputs!"
    )


def warn(text: str) -> None:
    """A `TracerWarning` at the user's line."""
    warnings.warn(text, TracerWarning, stacklevel=user_stacklevel())


_core.set_own_fallback("Tracing", _trace_call, f"{__name__}:record", with_keyset=True)
