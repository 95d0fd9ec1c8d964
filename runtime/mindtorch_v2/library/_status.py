"""What a call of an operator on a device comes to: a kernel there, its parts, the CPU, or nothing."""

from __future__ import annotations

from .. import _core, _ops
from .._core import OpOverload
from ..backends import backend_of
from ..backends._fallback import elsewhere

__all__ = ["operator_status", "status_table"]


def operator_status(op: str | OpOverload, device_type: str) -> str:
    """How an operator runs on a device type: ``"native"``, ``"composite"``, ``"fallback"`` or ``"absent"``.

    Native: by a kernel (or rule for meta) of its own. Composite: by the kernel for every device, which is made of other
    operators. Fallback: on the CPU, or by what else was registered for operators without a kernel. Raises RuntimeError
    for an unknown operator or device type.
    """
    overload = op if isinstance(op, OpOverload) else _ops.find(op)
    key = backend_of(device_type).key
    found = overload.computed(key)
    if found is None:
        return "absent"
    kind, function = found[0], found[1]
    if kind == "backend fallback":
        return "fallback" if _core.has_fallback(key) and device_type != "meta" else "absent"
    if kind != "kernel":
        return "composite"
    return {"cpu": "fallback", "error": "absent", None: "native"}[elsewhere(function)]


def status_table(device_type: str, namespace: str = "aten") -> dict[str, str]:
    """`operator_status` of every operator of a namespace, by full name."""
    names = [name for name in _core.operator_names() if name.startswith(f"{namespace}::")]
    return {name: operator_status(name, device_type) for name in names}
