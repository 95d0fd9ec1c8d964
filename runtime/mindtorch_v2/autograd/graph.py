"""What one may do to the recorded graph: hooks on saved tensors, and on several gradients at once."""

from __future__ import annotations

import abc
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from .. import _core
from .._argument_types import names_wrong_types
from .._core import (
    Tensor,
    count_saved_tensor_hooks,
    current_pass,
    pop_saved_tensor_hooks,
    push_saved_tensor_hooks,
    will_run,
)
from .._core_inplace_views import increment_version as count_change
from ._mutation import allow_mutation_on_saved_tensors
from .grad_mode import enable_grad

__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge",
    "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
    "saved_tensors_hooks_disabled",
]  # fmt: skip


class Node(abc.ABC):
    """A step of a recorded graph, for ``isinstance``: no node's class inherits it, and nobody makes one."""

    @abc.abstractmethod
    def name(self) -> str:
        """What the step is called, ``"MulBackward0"``."""

    @property
    @abc.abstractmethod
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """For each input the node that its gradient goes to, and which of that node's outputs it is."""

    @property
    @abc.abstractmethod
    def metadata(self) -> dict[Any, Any]:
        """What users note of the node."""

    @abc.abstractmethod
    def register_hook(self, fn: Callable[..., Any]) -> Any:
        """Has ``fn(grad_inputs, grad_outputs)`` called after the node has run; returns what removes it."""

    @abc.abstractmethod
    def register_prehook(self, fn: Callable[..., Any]) -> Any:
        """Has ``fn(grad_outputs)`` called before the node runs; returns what removes it."""


Node.register(_core.Node)


class GradientEdge(NamedTuple):
    """Where a gradient goes: a node, and which of its outputs it belongs to.

    ``ownership_token`` is for nodes that do not keep what is behind them alive; ours do, so that it may be None.
    """

    node: _core.Node
    output_nr: int
    ownership_token: _core.Node | None = None


@names_wrong_types
def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Where the gradient of a tensor goes: the node that made it, or what accumulates a leaf's.

    Raises RuntimeError where the tensor does not require grad.
    """
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(_node_of(tensor), tensor.output_nr)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Says that tensors were changed in ways unknown here: what was saved of them before can no longer be used.

    Raises RuntimeError for what is no tensor; those of inference mode have no version.
    """
    if not isinstance(tensor, (Tensor, Iterable)):
        raise RuntimeError(f"increment_version expect a Iterable[Tensor] as input, got {type(tensor).__name__}")
    for each in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if not isinstance(each, Tensor):
            raise RuntimeError(f"increment_version expects each element of the iterable to be a tensor, got {each!r}")
        count_change(each)


def _node_of(tensor: Tensor) -> _core.Node:
    node = tensor.grad_fn
    if node is None and tensor.requires_grad:  # a leaf's accumulator is what comes next after any view of it
        with enable_grad():
            view: Any = tensor.view_as(tensor)
        node = view.grad_fn.next_functions[0][0]
    if node is None:
        raise AssertionError("Expected gradient function to be set: a tensor does not require grad")
    return node


class _Hooks(threading.local):
    message: str | None = None  # why this thread may not enter `saved_tensors_hooks`


_hooks = _Hooks()


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Inside, `saved_tensors_hooks` raises RuntimeError with this message, on this thread; this does inside of one."""
    if count_saved_tensor_hooks():
        raise RuntimeError(error_message)
    before, _hooks.message = _hooks.message, error_message
    try:
        yield
    finally:
        _hooks.message = before


def saved_tensors_hooks_disabled() -> bool:
    """Whether `disable_saved_tensors_hooks` holds on this thread."""
    return _hooks.message is not None


class saved_tensors_hooks:  # noqa: N801  (PyTorch's name)
    """Inside, tensors saved for backward are stored as ``pack_hook(tensor)``, and read as ``unpack_hook(stored)``."""

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if _hooks.message is not None:
            raise RuntimeError(_hooks.message)
        push_saved_tensor_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *raised: object) -> None:
        pop_saved_tensor_hooks()


class save_on_cpu(saved_tensors_hooks):  # noqa: N801
    """Inside, tensors saved for backward are kept on the CPU, and copied to their device when backward needs them.

    ``pin_memory`` and ``device_type`` are taken for PyTorch's sake; memory is never pinned.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "npu") -> None:
        if not isinstance(device_type, str):
            raise TypeError(f"save_on_cpu(): argument 'device_type' must be str, not {type(device_type).__name__}")

        def pack(tensor: Tensor) -> tuple[Any, Tensor]:
            return tensor.device, tensor.detach().to("cpu")

        def unpack(packed: tuple[Any, Tensor]) -> Tensor:
            device, tensor = packed
            moved: Tensor = tensor.to(device)
            return moved

        super().__init__(pack, unpack)


class _Handles:
    def __init__(self, handles: Sequence[Any]) -> None:
        self._handles = handles

    def remove(self) -> None:
        """Takes all hooks back."""
        for handle in self._handles:
            handle.remove()


@dataclass
class _Arrivals:
    """The gradients that one backward pass has brought so far, and how many it will bring."""

    grads: list[Tensor | None]
    expected: int
    count: int = 0


@names_wrong_types
def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: str = "all") -> _Handles:
    """Calls ``fn(grads)`` in each backward pass, once it has brought all the tensors' gradients that it will bring.

    Others are None. With ``mode="any"`` it is ``fn(grad)``, at the first of them. Tensors must require grad. Returns a
    handle with ``remove()``.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    nodes = [_node_of(tensor) for tensor in tensors]
    lock = threading.Lock()
    passes: WeakKeyDictionary[Any, _Arrivals] = WeakKeyDictionary()  # whatever becomes of a pass, it ends here, too

    def at(index: int) -> Callable[[Tensor | None], None]:
        def hook(grad: Tensor | None) -> None:
            this = current_pass()
            with lock:
                if this not in passes:
                    passes[this] = _Arrivals([None] * len(tensors), sum(map(will_run, nodes)))
                arrived = passes[this]
                arrived.grads[index] = grad
                arrived.count += 1
                now = arrived.count == (1 if mode == "any" else arrived.expected)
            if now:
                fn(grad if mode == "any" else arrived.grads)

        return hook

    return _Handles([tensor.register_hook(at(i)) for i, tensor in enumerate(tensors)])
