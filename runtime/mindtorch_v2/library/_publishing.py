"""Where an operator appears besides ``torch.ops``: as a method of Tensor, as a function of the top level."""

from __future__ import annotations

import sys
from collections.abc import Callable

from .. import _core
from .._core import OpOverloadPacket

__all__ = ["publish"]

_PACKAGE = __name__.partition(".")[0]
_methods: dict[str, list[OpOverloadPacket]] = {}  # name -> packets published as it; the newest is the method
_functions: dict[str, list[OpOverloadPacket]] = {}


def publish(packet: OpOverloadPacket, variants: tuple[str, ...]) -> Callable[[], None]:
    """Makes a packet a ``"method"`` of Tensor, or in the namespace ``aten`` a ``"function"`` of the top level.

    Returns what takes that back: the name then means what it meant before. Raises ValueError for another variant.
    """
    name = packet.__name__
    unknown = set(variants) - {"function", "method"}
    if unknown:
        raise ValueError(f"{packet}: unknown variants {sorted(unknown)}; expected 'function', 'method' or both")
    method = "method" in variants
    # A hand-written function of the top level (`torch.empty`, ...) stands before the operator that it calls.
    function = "function" in variants and packet.namespace == "aten" and _is_free(name)
    if method:
        _methods.setdefault(name, []).append(packet)
        _core.install_method(name, packet)
    if function:
        _functions.setdefault(name, []).append(packet)
        setattr(sys.modules[_PACKAGE], name, packet)

    def withdraw() -> None:
        if method:
            _withdraw_method(name, packet)
        if function:
            _withdraw_function(name, packet)

    return withdraw


def _is_free(name: str) -> bool:
    return name not in vars(sys.modules[_PACKAGE]) or name in _functions


def _withdraw_method(name: str, packet: OpOverloadPacket) -> None:
    stack = _methods[name]
    stack.remove(packet)
    if stack:
        _core.install_method(name, stack[-1])
    else:
        del _methods[name]
        _core.uninstall_method(name)


def _withdraw_function(name: str, packet: OpOverloadPacket) -> None:
    stack = _functions[name]
    stack.remove(packet)
    if stack:
        setattr(sys.modules[_PACKAGE], name, stack[-1])
    else:
        del _functions[name]
        delattr(sys.modules[_PACKAGE], name)
