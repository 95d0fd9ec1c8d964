"""Operators without a kernel of a device's own, run on the CPU: on copies, whose results are copied back.

``Library("_", "IMPL").fallback(cpu_fallback, key)`` registers it for every operator at a device's key (``exclude``
names those that it is not for), `Library.impl_fallback` for one.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections import Counter
from typing import Any

from .. import _core
from .._argument_types import names_wrong_types
from .._core import OpOverload, Tensor, device
from .._frames import user_stacklevel
from ._backend import backend_of
from ._copies import copy_, put_back, to_cpu

__all__ = ["FallbackWarning", "cpu_fallback", "elsewhere", "fallback_report", "reset_fallback_report", "run_on_cpu"]

_calls: dict[str, Counter[str]] = {}  # of each device type, by operators' names
_lock = threading.Lock()


def _renew_lock() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)  # of a process in which another thread had it


class FallbackWarning(UserWarning):
    """An operator ran on the CPU, as the device of its tensors has no kernel for it; said once for each operator."""


@names_wrong_types
def cpu_fallback(op: OpOverload, *args: Any, **kwargs: Any) -> Any:
    """Runs an operator on CPU copies of its tensors; copies back what it returns, and arguments it changes.

    A view of a copy becomes the same view of the tensor. Warns at an operator's first call on a device, and counts:
    `fallback_report`.
    """
    return run_on_cpu(op, args, kwargs, warn=True)


def run_on_cpu(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], warn: bool) -> Any:
    """As `cpu_fallback`, which warns."""
    crossing = Crossing()
    inputs = crossing.inputs(args, kwargs)
    name = crossing.device.type
    if _counted(name, op.name(), 1) == 1 and warn and op.computed("CPU") is not None:
        kernel = op.kernel(backend_of(name).key)
        lacking = name if kernel is None or elsewhere(kernel) else "these arguments"
        text = f"{op.name()} has no kernel for {lacking}: it runs on the CPU, on copies of its tensors"
        try:
            warnings.warn(text, FallbackWarning, stacklevel=user_stacklevel())
        except FallbackWarning:  # a filter makes it an error, and the next call's as well
            _counted(name, op.name(), -1)
            raise
    return crossing.call(op, *inputs)


def _counted(device_type: str, name: str, more: int) -> int:
    """An operator's calls, counted; only one thread has the first of them."""
    with _lock:
        calls = _calls.setdefault(device_type, Counter())
        calls[name] += more
        count = calls[name]
        if not count:
            del calls[name]
        return count


def elsewhere(kernel: Any) -> str | None:
    """What a device's kernel does that is none: "cpu", it runs there, or "error", it refuses; None: it is a kernel."""
    if getattr(kernel, "__wrapped__", None) is cpu_fallback:
        return "cpu"
    policy: str | None = getattr(kernel, "runs_elsewhere", None)
    return policy


@names_wrong_types
def fallback_report(device_type: str) -> dict[str, int]:
    """The operators that ran on the CPU for want of a device type's kernel, and how often, the most frequent first."""
    with _lock:
        return dict(_calls.get(device_type, Counter()).most_common())


@names_wrong_types
def reset_fallback_report(device_type: str) -> None:
    """Forgets what `fallback_report` counted, and what was warned of."""
    with _lock:
        _calls.pop(device_type, None)


class Crossing:
    """One call's way to the CPU and back."""

    def __init__(self) -> None:
        self._device: device | None = None
        self.copies: dict[int, tuple[Tensor, Tensor]] = {}  # id of a tensor -> it, and its copy
        self.originals: dict[int, Tensor] = {}  # id of the copy -> the tensor
        self.lent: dict[int, Tensor] = {}  # the copy's memory -> the tensor

    @property
    def device(self) -> device:
        """Where the call is: on the device of its first tensor elsewhere than on the CPU, or the one that it names."""
        return self._device or _core.get_default_device()

    def inputs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments on the CPU."""
        return [self._down(value) for value in args], {name: self._down(value) for name, value in kwargs.items()}

    def call(self, op: OpOverload, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Runs the operator on what `inputs` gave, and brings back what became of it."""
        result = op(*args, **kwargs)
        values = dict(zip((argument.name for argument in op._schema.arguments), args, strict=False)) | kwargs
        for argument in op._schema.arguments:
            if argument.is_write:
                self._write_back(values[argument.name])
        return self._up(op, result)

    def _down(self, value: Any) -> Any:
        """The value with tensors elsewhere as CPU copies, one for each, and devices as the CPU."""
        if isinstance(value, Tensor):
            if value.is_cpu:
                return value
            self._device = self._device or value.device
            if id(value) not in self.copies:
                copy = to_cpu(value)
                self.copies[id(value)] = value, copy  # ids are unique only while the objects live
                self.originals[id(copy)] = self.lent[_memory(copy)] = value
            return self.copies[id(value)][1]
        if isinstance(value, device):
            if value.type not in ("cpu", "meta"):
                self._device = self._device or value
                return device("cpu")
            return value
        if isinstance(value, (list, tuple)) and not isinstance(value, _core.Size):
            return type(value)(self._down(item) for item in value)
        return value

    def _write_back(self, value: Any) -> None:
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, Tensor) and id(item) in self.originals:
                original = self.originals[id(item)]
                if original.shape != item.shape:
                    _core.resize_(original, item.shape)
                put_back(original, item)

    def _up(self, op: OpOverload, value: Any) -> Any:
        """The result on the device; a changed argument comes back as itself, a view of a copy as one of the tensor."""
        if isinstance(value, Tensor):
            if id(value) in self.originals:
                return self.originals[id(value)]
            if _memory(value) in self.lent:
                return _same_view(op, self.lent[_memory(value)], value)
            if not value.is_cpu:
                return value
            return copy_(_core.alloc(value.shape, value.dtype, self.device), value)
        if isinstance(value, (list, tuple)):
            return type(value)(self._up(op, item) for item in value)
        return value


def _memory(tensor: Tensor) -> int:
    """What tensors that share memory have in common: where it begins; of none, which storage it is."""
    storage = tensor.untyped_storage()
    return storage.data_ptr() or id(storage)


def _same_view(op: OpOverload, original: Tensor, view: Tensor) -> Tensor:
    """What a view of a tensor's copy, which begins at the tensor's first element, shows of the tensor."""
    if view.dtype is original.dtype:
        offset = original.storage_offset() + view.storage_offset()
        return _core.as_strided(original, tuple(view.shape), view.stride(), offset)
    offset, rest = divmod(original.storage_offset() * original.dtype.itemsize, view.dtype.itemsize)
    if rest:
        raise NotImplementedError(
            f"{op.name()} returns a view of an argument in another dtype, whose elements begin between two of its own: "
            f"only a kernel on {original.device} can make it"
        )
    made = _core.alloc((0,), view.dtype, original.device)
    offset += view.storage_offset()
    return _core.set_to_part(made, original.untyped_storage(), offset, tuple(view.shape), view.stride())
