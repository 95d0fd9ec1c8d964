"""What one may do to the recorded graph: hooks on saved tensors, and on several gradients at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NamedTuple

from .._core import Node, Tensor, pop_saved_tensor_hooks, push_saved_tensor_hooks
from .grad_mode import enable_grad

__all__ = [
    "GradientEdge", "Node", "disable_saved_tensors_hooks", "get_gradient_edge", "register_multi_grad_hook",
    "save_on_cpu", "saved_tensors_hooks",
]  # fmt: skip


class GradientEdge(NamedTuple):
    """Where a gradient goes: a node, and which of its outputs it belongs to."""

    node: Node
    output_nr: int


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Where the gradient of a tensor goes: the node that made it, or what accumulates a leaf's.

    Raises RuntimeError where the tensor does not require grad.
    """
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    node = tensor.grad_fn
    if node is None:  # a leaf's accumulator is what comes next after any view of it
        with enable_grad():
            view: Any = tensor.view_as(tensor)
        return GradientEdge(view.grad_fn.next_functions[0][0], 0)
    return GradientEdge(node, tensor.output_nr)


class _Hooks(threading.local):
    entered = 0  # how many `saved_tensors_hooks` this thread is in
    message: str | None = None  # why it may not enter one


_hooks = _Hooks()


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Inside, `saved_tensors_hooks` raises RuntimeError with this message, on this thread; this does inside of one."""
    if _hooks.entered:
        raise RuntimeError(error_message)
    before, _hooks.message = _hooks.message, error_message
    try:
        yield
    finally:
        _hooks.message = before


class saved_tensors_hooks:  # noqa: N801  (PyTorch's name)
    """Inside, tensors saved for backward are stored as ``pack_hook(tensor)``, and read as ``unpack_hook(stored)``."""

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if _hooks.message is not None:
            raise RuntimeError(_hooks.message)
        push_saved_tensor_hooks(self.pack_hook, self.unpack_hook)
        _hooks.entered += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _hooks.entered -= 1
        pop_saved_tensor_hooks()


class save_on_cpu(saved_tensors_hooks):  # noqa: N801
    """Inside, tensors saved for backward are kept on the CPU, and copied to their device when backward needs them.

    ``pin_memory`` and ``device_type`` are taken for PyTorch's sake; memory is never pinned.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "npu") -> None:
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


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: str = "all") -> _Handles:
    """Calls ``fn(grads)`` once all tensors have their gradient, or with ``mode="any"`` ``fn(grad)`` at the first one.

    Tensors must require grad. Returns a handle with ``remove()``.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    grads: list[Tensor | None] = [None] * len(tensors)
    lock, seen = threading.Lock(), [0]

    def at(index: int) -> Callable[[Tensor], None]:
        def hook(grad: Tensor) -> None:
            with lock:
                first = seen[0] == 0
                seen[0] = (seen[0] + 1) % len(tensors)
                grads[index] = grad
                complete = list(grads) if seen[0] == 0 else None
                if complete is not None:
                    grads[:] = [None] * len(tensors)
            if mode == "any" and first:
                fn(grad)
            elif mode == "all" and complete is not None:
                fn(complete)

        return hook

    return _Handles([tensor.register_hook(at(i)) for i, tensor in enumerate(tensors)])
