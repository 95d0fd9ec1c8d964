"""What an operator without an NPU kernel does on NPU tensors: it runs on the CPU, and its results are copied back.

``MINDTORCH_NPU_FALLBACK=error`` refuses instead, to find what is missing.
"""

from __future__ import annotations

import logging
import os
from typing import Any

from .. import _core
from .._core import OpOverload, Tensor, device
from ..backends._copies import copy_, put_back, to_cpu
from .errors import NpuError
from .recording import is_current_stream_capturing

_log = logging.getLogger("mindtorch_v2.npu")
_told: set[str] = set()


def install() -> None:
    """Registers the fallback for every operator without an NPU kernel."""
    _core.set_own_fallback("NPU", run_on_cpu, __name__)


def run_on_cpu(op: OpOverload, *args: Any, **kwargs: Any) -> Any:
    """Runs an operator on CPU copies of its NPU tensors; copies back what it returns, and arguments it changes."""
    if os.environ.get("MINDTORCH_NPU_FALLBACK") == "error":
        raise NotImplementedError(
            f"{op.name()} has no NPU kernel, and MINDTORCH_NPU_FALLBACK=error forbids running it on the CPU; "
            f'register one with library.impl("{op.name()}", "NPU")'
        )
    if _core.npu_recording() and is_current_stream_capturing():
        raise NpuError(
            f"{op.name()} has no NPU kernel for these arguments, and running it on the CPU copies them, which waits "
            "for the stream: that is not allowed while it is captured",
            107027,
        )
    if any(result.alias is not None and not result.alias.write for result in op._schema.returns):
        raise NotImplementedError(
            f"{op.name()} returns a view of an argument, which only a kernel on the NPU can make; "
            f'register one with library.impl("{op.name()}", "NPU")'
        )
    if op.name() not in _told:
        _told.add(op.name())
        _log.debug("%s has no NPU kernel: it runs on the CPU", op.name())
    return _Crossing().call(op, args, kwargs)


class _Crossing:
    """One call's way to the CPU and back."""

    def __init__(self) -> None:
        self.device: device | None = None
        self.originals: dict[int, Tensor] = {}  # id of the CPU copy -> the NPU tensor
        self.copies: list[Tensor] = []

    def call(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        on_cpu = [self.down(value) for value in args]
        named = {name: self.down(value) for name, value in kwargs.items()}
        result = op(*on_cpu, **named)
        values = dict(zip((argument.name for argument in op._schema.arguments), on_cpu, strict=False)) | named
        for argument in op._schema.arguments:
            if argument.alias is not None and argument.alias.write:
                self.write_back(values[argument.name])
        return self.up(result)

    def down(self, value: Any) -> Any:
        """The value with NPU tensors as CPU copies and NPU devices as the CPU."""
        if isinstance(value, Tensor):
            if not value.is_npu:
                return value
            self.device = self.device or value.device
            copy = to_cpu(value)
            self.originals[id(copy)] = value
            self.copies.append(copy)  # an id is unique only while its object lives
            return copy
        if isinstance(value, device) and value.type == "npu":
            self.device = self.device or value
            return device("cpu")
        if isinstance(value, (list, tuple)) and not isinstance(value, _core.Size):
            return type(value)(self.down(item) for item in value)
        return value

    def write_back(self, value: Any) -> None:
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, Tensor) and id(item) in self.originals:
                original = self.originals[id(item)]
                if original.shape != item.shape:
                    raise NotImplementedError("an operator that resizes its argument needs a kernel on the NPU")
                put_back(original, item)

    def up(self, value: Any) -> Any:
        """The result with CPU tensors copied to the device; a changed argument comes back as itself."""
        if isinstance(value, Tensor):
            if id(value) in self.originals:
                return self.originals[id(value)]
            if not value.is_cpu or self.device is None:
                return value
            return copy_(_core.alloc(value.shape, value.dtype, self.device), value)
        if isinstance(value, (list, tuple)):
            return type(value)(self.up(item) for item in value)
        return value
