"""NPU errors: the library's code, what it means, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence

from .._argument_types import names_wrong_types
from .._core import OutOfMemoryError

__all__ = ["DelegateError", "NpuError", "OutOfMemoryError", "PlanError", "explain"]

_CORE_EXCEPTION = (
    "a kernel faulted on an AI core: compare tile bytes x buffers with the unified buffer, the tensors' sizes with "
    "block_dim x tile, check 32-byte alignment, and the kernel's argument order and types"
)
_TIME_OUT = (
    "a kernel did not end in time: a flag that is never set, SyncAll with more blocks than cores, "
    "or a replayed graph without its update"
)
_OUT_OF_MEMORY = "out of device memory"
_FORKED = (
    "this process was forked from one that had used the NPU, which a forked child cannot use; start it as "
    'multiprocessing.get_context("spawn").Process(...) (or "forkserver"), or fork before the NPU is first used'
)

# ACL code -> what it means, and what to look at.
MEANINGS: dict[int, str] = {
    100000: "a bad parameter",
    100001: "ACL is not initialised",
    107000: "a bad parameter",
    107001: "no such device",
    107002: "this thread has no context: select its device with npu.set_device first",
    107003: "a stream or event of another device or context",
    107006: "an event that was never recorded has no time",
    107007: "the end event was recorded before the start event",
    107004: "a graph of another context",
    107024: "a captured stream waits for something outside of its capture",
    107025: "a captured stream never rejoined: make the stream where the capture began wait for it",
    107026: "a graph that is still being captured",
    107027: "this call is not allowed on a stream, device or context that is being captured",
    107028: "this call is not allowed for an event that was recorded in a capture",
    107029: "the stream is not being captured",
    107030: "a synchronous call is not allowed during a capture in this mode",
    107031: "the default stream cannot be captured: capture on another one",
    107032: "the stream or event belongs to another capture",
    107033: "task groups and updates come in pairs, and an update queues the same tasks as the group",
    107034: "while a task group is open, another captured stream may not get tasks",
    107036: "a capture ends on the stream where it began",
    107037: "the graph is running or queued",
    107038: "a capture ends on the thread that began it",
    107041: "pageable host memory would make an asynchronous copy a synchronous one during a capture",
    161001: "a null parameter of a built-in operator",
    161002: "an invalid parameter of a built-in operator",
    207001: _OUT_OF_MEMORY,
    207018: _OUT_OF_MEMORY,
    507008: "the kernel was built for another chip: compare with npu.get_device_name()",
    507011: "a captured graph failed",
    507903: "the capture was invalidated before by a call that it does not allow",
    507014: _TIME_OUT,
    507015: _CORE_EXCEPTION,
    507034: _TIME_OUT,
    507035: _CORE_EXCEPTION,
    507046: _TIME_OUT,
    561002: "tiling of a built-in operator failed",
    561003: "no compiled kernel was found for a built-in operator",
    561103: "a null pointer inside a built-in operator",
    561107: "the operator package's path is missing: is CANN's environment script sourced?",
    561112: "the kernel package is missing: is CANN's environment script sourced?",
}

# Codes of work that failed after it was queued: they surface at a later call, often of another operator.
ASYNCHRONOUS = frozenset((507011, 507014, 507015, 507034, 507035, 507046))


class NpuError(RuntimeError):
    """A call of the NPU's library failed. ``code`` is the library's error code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


@names_wrong_types
def explain(
    code: int, what: str, library_message: str = "", launches: Sequence[str] = (), *, forked: bool = False
) -> NpuError:
    """The error for an ACL code that ``what`` (a function or a kernel) returned.

    ``library_message`` is the library's own text; ``launches`` the kernels launched last, named for errors that
    surface after the launch that caused them. ``forked`` is for a process whose parent had opened the library: there
    every call fails, in words that are of no help.
    """
    if forked:
        return NpuError(f"{what}: error {code}: {_FORKED}", code)
    lines = [f"{what}: error {code} ({MEANINGS.get(code, 'not in the table of known codes')})"]
    if code in ASYNCHRONOUS:
        if launches:
            lines.append(f"last launches there: {', '.join(launches)}; the fault may come from any of them")
        lines.append("to find the launch that faults, run again with MINDTORCH_LAUNCH_BLOCKING=1")
    if library_message.strip():
        lines.append(f"the library says: {library_message.strip()}")
    return NpuError("\n".join(lines), code)


class PlanError(RuntimeError):
    """A run departs from its plan, or no plan can be made. ``position`` is that of the operation."""

    def __init__(self, message: str, position: int = 0) -> None:
        super().__init__(message)
        self.position = position


class DelegateError(RuntimeError):
    """A module cannot be lowered: there is no such delegate, or it does not take the module."""
