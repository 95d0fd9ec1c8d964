"""Where an operator appears besides ``torch.ops``: as a method of Tensor, as a function of the top level."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from opschema.types import ListType

from .. import _core
from .._core import OpOverload, OpOverloadPacket
from .._hooks import hooks
from .._pending import INNER
from ..return_types import result_type_of

__all__ = ["publish", "published_form"]

_PACKAGE = __name__.partition(".")[0]
_methods: dict[str, list[OpOverloadPacket]] = {}  # name -> packets published as it; the newest is the method
_forms: dict[OpOverloadPacket, Callable[..., Any]] = {}  # packet -> what is published for it
_functions: dict[str, list[OpOverloadPacket]] = {}

_FAMILIES = ("fft", "linalg", "special")


def publish(packet: OpOverloadPacket, overload: OpOverload, variants: tuple[str, ...]) -> Callable[[], None]:
    """Makes a packet a ``"method"`` of Tensor, or in the namespace ``aten`` a ``"function"`` of the top level.

    In the namespace ``aten`` both return several results of ``overload``, the packet's newest, under their names.

    Returns what takes that back: the name then means what it meant before. Raises ValueError for another variant.
    """
    name = packet.__name__
    unknown = set(variants) - {"function", "method"}
    if unknown:
        raise ValueError(f"{packet}: unknown variants {sorted(unknown)}; expected 'function', 'method' or both")
    method = "method" in variants
    # A hand-written function of the top level (`torch.empty`, ...) stands before the operator that it calls.
    function = "function" in variants and packet.namespace == "aten" and name not in INNER and _is_free(name)
    if packet.namespace == "aten" and (method or function):
        overload.set_result_type(result_type_of(overload._schema))
    if method:
        _methods.setdefault(name, []).append(packet)
        _core.install_method(name, _method_form(packet))
    if function:
        _functions.setdefault(name, []).append(packet)
        setattr(sys.modules[_PACKAGE], name, published_form(packet))

    def withdraw() -> None:
        if method:
            _withdraw_method(name, packet)
        if function:
            _withdraw_function(name, packet)

    return withdraw


def published_form(packet: OpOverloadPacket) -> Callable[..., Any]:
    """What a packet is as a function: of an operator that returns a list, one that returns a tuple.

    The same one each time, so that handlers of ``__torch_function__`` know it.
    """
    if packet.namespace != "aten" or packet.is_method:
        return packet
    if packet not in _forms:
        _forms[packet] = _core.TupleForm(packet) if _returns_lists(packet) else OpOverloadPacket.as_function(packet)
        if isinstance(_forms[packet], OpOverloadPacket):
            _forms[packet].__module__ = _module_of(packet.__name__)
    return _forms[packet]


def _module_of(name: str) -> str:
    """PyTorch's module of a function that is an operator: it has one of its own for each family."""
    family = next((one for one in _FAMILIES if name.startswith(f"{one}_")), None)
    return "torch" if family is None else f"torch._C._{family}"


def _method_form(packet: OpOverloadPacket) -> Callable[..., Any]:
    """What a method calls: its tensor is the argument ``self``, as in PyTorch, or the first if none is so called."""
    form = published_form(packet)
    if isinstance(form, OpOverloadPacket):
        form = OpOverloadPacket.as_method(form)
    elif isinstance(form, _core.TupleForm):
        form = _core.TupleForm(OpOverloadPacket.as_method(packet))
    names = [[argument.name for argument in getattr(packet, name)._schema.positional] for name in packet.overloads()]
    places = {found.index("self") for found in names if "self" in found}
    if places <= {0} or len(places) > 1:
        return form
    place = places.pop()

    def method(tensor: Any, /, *args: Any, **kwargs: Any) -> Any:
        if len(args) < place:
            return form(*args, self=tensor, **kwargs)
        return form(*args[:place], tensor, *args[place:], **kwargs)

    method.__name__ = method.__qualname__ = packet.__name__
    method.__doc__ = packet.__doc__
    return method


def _returns_lists(packet: OpOverloadPacket) -> bool:
    returns = [getattr(packet, name)._schema.returns for name in packet.overloads()]
    return any(len(found) == 1 and isinstance(found[0].type, ListType) for found in returns)


def _is_free(name: str) -> bool:
    return name not in vars(sys.modules[_PACKAGE]) or name in _functions


def _withdraw_method(name: str, packet: OpOverloadPacket) -> None:
    stack = _methods[name]
    stack.remove(packet)
    if stack:
        _core.install_method(name, _method_form(stack[-1]))
    else:
        del _methods[name]
        _core.uninstall_method(name)


def _withdraw_function(name: str, packet: OpOverloadPacket) -> None:
    stack = _functions[name]
    stack.remove(packet)
    if stack:
        setattr(sys.modules[_PACKAGE], name, published_form(stack[-1]))
    else:
        del _functions[name]
        delattr(sys.modules[_PACKAGE], name)


hooks.fill(published_form=published_form)
