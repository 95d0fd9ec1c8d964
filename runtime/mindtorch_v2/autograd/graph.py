"""What one may do to the recorded graph: hooks on saved tensors, and on several gradients at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from .._core import Node, Tensor, pop_saved_tensor_hooks, push_saved_tensor_hooks

__all__ = ["Node", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks"]


class saved_tensors_hooks:  # noqa: N801  (PyTorch's name)
    """Inside, tensors saved for backward are stored as ``pack_hook(tensor)``, and read as ``unpack_hook(stored)``."""

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        push_saved_tensor_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
