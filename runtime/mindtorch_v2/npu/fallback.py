"""What an operator without an NPU kernel does on NPU tensors: it runs on the CPU, and its results are copied back.

It warns once for each operator (`backends.FallbackWarning`). ``MINDTORCH_NPU_FALLBACK=silent`` does not, ``error``
refuses, to find what is missing.
"""

from __future__ import annotations

import os
from typing import Any

from .. import _core
from .._argument_types import names_wrong_types
from .._core import OpOverload
from ..backends import _fallback
from .errors import NpuError
from .recording import is_current_stream_capturing

__all__ = ["fallback_report", "install", "reset_fallback_report", "run_on_cpu"]

_MODES = ("warn", "silent", "error")


def install() -> None:
    """Registers the fallback for every operator without an NPU kernel."""
    _core.set_own_fallback("NPU", run_on_cpu, __name__)


@names_wrong_types
def run_on_cpu(op: OpOverload, *args: Any, **kwargs: Any) -> Any:
    """Runs an operator on CPU copies of its NPU tensors; copies back what it returns, and arguments it changes."""
    mode = os.environ.get("MINDTORCH_NPU_FALLBACK", "warn")
    if mode not in _MODES:
        raise RuntimeError(f"MINDTORCH_NPU_FALLBACK={mode}: expected one of {', '.join(_MODES)}")
    if mode == "error":
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
    return _fallback.run_on_cpu(op, args, kwargs, warn=mode == "warn")


def fallback_report() -> dict[str, int]:
    """The operators that ran on the CPU for want of an NPU kernel, and how often, the most frequent first."""
    return _fallback.fallback_report("npu")


def reset_fallback_report() -> None:
    """Forgets what `fallback_report` counted, and what was warned of."""
    _fallback.reset_fallback_report("npu")
