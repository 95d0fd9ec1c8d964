"""`make_fx`: the operators that a function calls, below autograd, as a graph."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from ... import _core
from ..._core import OpOverload, Tensor
from ..._subclasses import FakeTensor, FakeTensorMode
from ...library._fake import dynamic_sizes
from ...overrides import TorchDispatchMode
from ...utils._pytree import tree_flatten, tree_map, tree_unflatten
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node

__all__ = ["make_fx"]

_MODES = ("real", "fake", "symbolic")


class _Recorder(TorchDispatchMode):
    """Notes every operator, and which node made which tensor."""

    def __init__(self, graph: Graph, decompositions: Mapping[OpOverload, Callable[..., Any]]) -> None:
        super().__init__()
        self.graph, self.decompositions = graph, decompositions
        self.nodes: dict[int, tuple[Tensor, Node]] = {}  # the tensor is held, so that its identity stays its own
        self.shown: dict[tuple[Any, ...], Node] = {}  # by what of which memory a tensor shows
        self.constants: dict[str, Tensor] = {}

    def note(self, tensor: Tensor, node: Node) -> None:
        """The node that a tensor comes from."""
        node.meta.setdefault("val", tensor)
        self.nodes[id(tensor)] = tensor, node
        self.shown.setdefault(_part(tensor), node)

    def node_of(self, value: Any) -> Any:
        """The node of a tensor, an attribute of the module if no node made it; other values as they are.

        Function transforms and autograd make tensors of their own over the same memory, which no mode sees: they show
        what the first one shows.
        """
        if not isinstance(value, Tensor):
            return value
        if id(value) not in self.nodes:
            if (known := self.shown.get(_part(value))) is not None:
                self.note(value, known)
                return known
            name = f"_tensor_constant{len(self.constants)}"
            self.constants[name] = value
            self.note(value, self.graph.get_attr(name))
        return self.nodes[id(value)][1]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = {} if kwargs is None else kwargs
        if any(_core.defines_dispatch(kind) and not issubclass(kind, FakeTensor) for kind in types):
            return NotImplemented  # what wraps others calls this mode with those
        if func in self.decompositions:
            with self:
                return self.decompositions[func](*args, **kwargs)
        given, named = tree_map(self.node_of, ([_listed(arg) for arg in args], dict(kwargs)))
        result = func(*args, **kwargs)
        node = self.graph.call_function(func, tuple(given), named)
        if isinstance(result, Tensor):
            self.note(result, node)
        elif isinstance(result, (tuple, list)):
            for at, one in enumerate(result):
                if isinstance(one, Tensor):
                    self.note(one, self.graph.call_function(operator.getitem, (node, at)))
        return result


def _listed(value: Any) -> Any:
    """A list for a tuple, which is what PyTorch's graphs have."""
    return list(value) if isinstance(value, tuple) else value


def _part(tensor: Tensor) -> tuple[Any, ...]:
    """Which memory a tensor shows, and which part of it."""
    geometry = tuple(tensor.shape), tensor.stride(), tensor.storage_offset()
    return id(tensor.untyped_storage()), *geometry, tensor.dtype, tensor.is_conj(), tensor.is_neg()


def make_fx(
    f: Callable[..., Any],
    decomposition_table: Mapping[OpOverload, Callable[..., Any]] | None = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_module_stack: bool = False,
    _allow_fake_constant: bool = False,
    _error_on_data_dependent_ops: bool = True,
) -> Callable[..., GraphModule]:
    """A function that calls ``f``, and gives the operators that ran as a `GraphModule`, which computes what ``f`` did.

    ``tracing_mode``: with "real" they compute, with "fake" and "symbolic" on tensors without values; sizes are noted as
    numbers in each. ``decomposition_table`` says for operators what to run in their place. Raises AssertionError for
    another mode.
    """
    if tracing_mode not in _MODES:
        raise AssertionError(f"tracing_mode must be one of {', '.join(_MODES)}, not {tracing_mode!r}")

    def record(*args: Any) -> GraphModule:
        graph = Graph()
        recorder = _Recorder(graph, decomposition_table or {})
        fake = FakeTensorMode(allow_non_fake_inputs=True) if tracing_mode != "real" else None
        flat, structure = tree_flatten(list(args))
        given = []
        for name, value in zip(_names(f, args, len(flat)), flat, strict=True):
            node = graph.placeholder(name)
            one = fake.from_tensor(value) if fake is not None and isinstance(value, Tensor) else value
            if isinstance(one, Tensor):
                recorder.note(one, node)
            given.append(one)
        with ExitStack() as inside:
            if fake is not None:
                inside.enter_context(dynamic_sizes())  # those that only values tell are a number each
                inside.enter_context(fake)
            inside.enter_context(recorder)
            result = f(*tree_unflatten(given, structure))
        graph.output(tree_map(recorder.node_of, result))
        name = getattr(f, "__name__", type(f).__name__)
        return GraphModule(recorder.constants, graph, name if name.isidentifier() else "GraphModule")

    return record


def _names(f: Callable[..., Any], args: tuple[Any, ...], count: int) -> list[str]:
    """What inputs are called: after the function's parameters where each is one value."""
    try:
        names = [
            name
            for name, p in inspect.signature(f).parameters.items()
            if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]
    except (TypeError, ValueError):
        names = []
    if len(args) == count <= len(names):
        return [f"{name}_1" for name in names[:count]]
    return [f"arg{at}_1" for at in range(count)]
