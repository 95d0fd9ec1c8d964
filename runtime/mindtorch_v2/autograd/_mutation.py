"""Saved tensors that may be changed in place before backward: what is about to be changed is copied first."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from .._core import OpOverload, Tensor, pop_saved_tensor_hooks, push_saved_tensor_hooks
from .._modes import TorchDispatchMode
from .._ops import ops

__all__ = ["allow_mutation_on_saved_tensors"]

Look = tuple[Any, ...]  # what a tensor shows of a storage: its place there, shape, strides, dtype
Memory = tuple[int, int]  # a storage as it is between two changes: where it is, and its version


class _Handle:
    """Stands for a saved tensor; lives as long as a graph needs it."""


class _Saved:
    """The tensors that graphs of one context keep: as they are, or copies where they were changed since."""

    def __init__(self) -> None:
        self.open = True
        self.original: WeakKeyDictionary[_Handle, Tensor] = WeakKeyDictionary()
        self.cloned: WeakKeyDictionary[_Handle, Tensor] = WeakKeyDictionary()
        # One handle for all that save the same; and those of the tensors that show a memory.
        self.tid_to_weakhandle: WeakValueDictionary[tuple[Memory, Look], _Handle] = WeakValueDictionary()
        self.sid_to_tid: dict[Memory, set[Look]] = {}

    def pack(self, tensor: Tensor) -> _Handle:
        """The handle that stands for a tensor."""
        memory = _memory(tensor)
        look = (tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype)
        handle = self.tid_to_weakhandle.get((memory, look))
        if handle is None:
            handle = self.tid_to_weakhandle[memory, look] = _Handle()
            self.original[handle] = tensor
            self.sid_to_tid.setdefault(memory, set()).add(look)
        return handle

    def unpack(self, handle: _Handle) -> Tensor:
        """The tensor with the values that it had. Raises AssertionError after the context was left."""
        if not self.open:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
                "originally recorded."
            )
        return self.cloned[handle] if handle in self.cloned else self.original[handle]

    def before_change(self, tensor: Tensor) -> None:
        """Copies what is kept of a memory that is about to be changed."""
        memory = _memory(tensor)
        for look in self.sid_to_tid.pop(memory, ()):
            handle = self.tid_to_weakhandle.get((memory, look))
            if handle is not None:
                self.cloned[handle] = ops.aten.clone(self.original.pop(handle))

    def clear(self) -> None:
        """Lets everything go."""
        self.open = False
        self.original.clear()
        self.cloned.clear()
        self.tid_to_weakhandle.clear()
        self.sid_to_tid.clear()


def _memory(tensor: Tensor) -> Memory:
    return tensor.untyped_storage().data_ptr(), tensor._version


class _CopiesFirst(TorchDispatchMode):
    """Tells of each argument that an operator writes to."""

    def __init__(self, saved: _Saved) -> None:
        super().__init__()
        self._saved = saved

    def __torch_dispatch__(self, func: OpOverload, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Runs the operator."""
        kwargs = kwargs or {}
        for at, argument in enumerate(func._schema.arguments):
            value = args[at] if at < len(args) else kwargs.get(argument.name)
            if argument.is_write and isinstance(value, Tensor):
                self._saved.before_change(value)
        return func(*args, **kwargs)


class _Open(threading.local):
    inside = False  # whether this thread is in `allow_mutation_on_saved_tensors`


_open = _Open()


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[Any]:
    """Inside, tensors that were saved for backward may be changed in place: backward has the values from before.

    They are copied before the change, for as long as a graph needs them. A graph that was recorded inside runs backward
    only there. Raises RuntimeError inside of another one.
    """
    if _open.inside:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    saved = _Saved()
    _open.inside = True
    push_saved_tensor_hooks(saved.pack, saved.unpack)
    try:
        with _CopiesFirst(saved):
            yield saved
    finally:
        pop_saved_tensor_hooks()
        _open.inside = False
        saved.clear()
