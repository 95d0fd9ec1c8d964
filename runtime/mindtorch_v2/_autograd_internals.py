"""What PyTorch's tests and tools ask of its engine by inner names: ``torch._C._autograd``, ``torch._C._functions``."""

from __future__ import annotations

import heapq
import itertools
import types
import weakref
from typing import Any

from . import _core
from ._core import Node, SavedTensor, Tensor
from .autograd import Function, is_multithreading_enabled
from .autograd.function import DelayedError
from .autograd.graph import saved_tensors_hooks_disabled

__all__ = [
    "WeakTensorRef", "current_autograd_node", "current_graph_task_execution_order", "current_graph_task_id",
    "functions", "internals", "will_engine_execute_node",
]  # fmt: skip


class WeakTensorRef:
    """A tensor that is not kept alive."""

    def __init__(self, tensor: Tensor) -> None:
        self._ref = weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether it is gone."""
        return self._ref() is None


def current_autograd_node() -> Node | None:
    """The node that the backward pass of this thread runs now, or None."""
    this = _core.current_pass()
    return None if this is None else this.node


def current_graph_task_id() -> int:
    """The number of the backward pass that this thread is in; -1 outside of one."""
    this = _core.current_pass()
    return -1 if this is None else this.number


def current_graph_task_execution_order() -> list[Node]:
    """The nodes that the backward pass of this thread runs, in their order; to be asked before the first has run.

    Raises RuntimeError outside of one, or where several threads may run it.
    """
    this = _core.current_pass()
    if this is None:
        raise RuntimeError("_current_graph_task_execution_order should only be called during the backward pass")
    if is_multithreading_enabled():
        raise RuntimeError(
            "_current_graph_task_execution_order expects the current backward to be executed with multithreading "
            "disabled, e.g. by running: with torch.autograd.set_multithreading_enabled(False): loss.backward()"
        )
    waits_for: dict[Node, int] = dict.fromkeys(this.root_nodes, 0)
    seen = list(waits_for)
    for node in seen:
        for after, _ in node.next_functions:
            if after is not None:
                seen += [] if after in waits_for else [after]
                waits_for[after] = waits_for.get(after, 0) + 1
    number = itertools.count()  # of those that may run at once the newest goes first, then who waits longest
    ready = [(-node._sequence_nr(), next(number), node) for node in seen if waits_for[node] == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        node = heapq.heappop(ready)[2]
        order += [node] if _core.will_run(node) else []
        for after, _ in node.next_functions:
            if after is not None:
                waits_for[after] -= 1
                if waits_for[after] == 0:
                    heapq.heappush(ready, (-after._sequence_nr(), next(number), after))
    return order


def will_engine_execute_node(node: Node) -> bool:
    """Whether the backward pass of this thread gets to a node.

    Raises RuntimeError for what is no node, outside of a pass, and for a leaf's whose gradient `grad` returns.
    """
    if not isinstance(node, Node):
        raise RuntimeError(f"_will_engine_execute_node expects an grad_fn, but got {type(node).__name__}")
    this = _core.current_pass()
    if this is None:
        raise RuntimeError("_get_should_execute_nodes should only be called during the backward pass")
    if this.gives(node) and isinstance(node, _core.AccumulateGrad):
        raise RuntimeError(
            "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). This is "
            "currently not supported."
        )
    return _core.will_run(node)


def _keeps_graph() -> bool:
    this = _core.current_pass()
    return this is None or this.retain_graph


def _set_version(tensors: Any, versions: Any) -> None:
    """Sets the version of a tensor, or of several."""
    one = isinstance(tensors, Tensor)
    for tensor, version in [(tensors, versions)] if one else zip(tensors, versions, strict=True):
        if version < 0:
            raise RuntimeError(f"Cannot set a version_counter to a value below 0: {version}")
        _core.set_version_(tensor, version)


class UndefinedGrad:
    """``UndefinedGrad()(x)`` is ``x``, whose gradient never comes: None."""

    def __call__(self, *tensors: Tensor) -> Any:
        """The tensors as they are: one alone, several as a tuple."""
        return _Undefined.apply(*tensors)


class _Undefined(Function):
    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> Any:
        return tuple(t.view_as(t) for t in tensors) if len(tensors) > 1 else tensors[0].view_as(tensors[0])

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None,) * len(grads)


internals = types.ModuleType("torch._C._autograd")
internals.__dict__.update(
    SavedTensor=SavedTensor,
    _get_current_graph_task_keep_graph=_keeps_graph,
    _saved_tensors_hooks_is_enabled=lambda: not saved_tensors_hooks_disabled(),
    _unsafe_set_version_counter=_set_version,
)
functions = types.ModuleType("torch._C._functions")
functions.__dict__.update(AccumulateGrad=_core.AccumulateGrad, DelayedError=DelayedError, UndefinedGrad=UndefinedGrad)
