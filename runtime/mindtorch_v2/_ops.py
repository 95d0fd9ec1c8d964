"""``torch.ops.<namespace>.<operator>[.<overload>]``: operators by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from . import _core
from ._core import OpOverload, OpOverloadPacket, find_operator, register_operator, unregister_operator
from ._frames import user_stacklevel
from ._settings import warn_once

__all__ = [
    "OpNamespace",
    "OpOverload",
    "OpOverloadPacket",
    "Operators",
    "add",
    "discard",
    "find",
    "find_defined",
    "find_packet",
    "ops",
    "split_name",
    "when_defined",
]


class OpNamespace:
    """The operators of one namespace; each is an attribute."""

    def __init__(self, namespace: str) -> None:
        self.__name__ = namespace

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__"):
            raise AttributeError(name)
        packet = _every_packet.get(f"{self.__name__}::{name}")
        if packet is not None and packet.overloads():  # somebody deleted the attribute, or that of the namespace
            setattr(self, name, packet)
            return packet
        if _core.hooks.load_operators is not None:
            _core.hooks.load_operators(f"{self.__name__}::{name}")
            if name in vars(self):
                return vars(self)[name]  # type: ignore[no-any-return]
        text = f"'_OpNamespace' '{self.__name__}' object has no attribute '{name}'{_near(name, _packets(self))}"
        if not _packets(self):
            text += f"; the namespace has no operators{_near(self.__name__, _populated_namespaces())}"
        raise AttributeError(text)

    def __repr__(self) -> str:
        return f"<module 'torch.ops.{self.__name__}'>"


class Operators:
    """``torch.ops``: one attribute per namespace, made when first asked for."""

    def __getattr__(self, name: str) -> OpNamespace:
        if name.startswith("__"):
            raise AttributeError(name)
        namespace = OpNamespace(name)
        setattr(self, name, namespace)
        return namespace

    def __repr__(self) -> str:
        return "<module 'torch.ops'>"


ops = Operators()
_waiting: dict[str, list[Callable[[OpOverload], None]]] = {}  # by name: what is to be done once it is defined
_every_packet: dict[str, OpOverloadPacket] = {}  # also without overloads: redefining an operator revives its packet


def add(overload: OpOverload) -> OpOverloadPacket:
    """Makes an operator known: to the core by its full name, to ``torch.ops`` under its packet."""
    name = overload._schema.name
    qualname = f"{overload.namespace}::{name}"
    load = _core.hooks.load_operators
    whole = load is None or load(qualname)  # not where it is the module that defines the name which defines it now
    if not whole:
        OpOverload.hold(overload)
    register_operator(overload)
    namespace: OpNamespace = getattr(ops, overload.namespace)
    packet = _every_packet.get(qualname)
    if packet is None:
        packet = _every_packet[qualname] = OpOverloadPacket(overload.namespace, name)
    if not whole:
        OpOverloadPacket.hold(packet)
    OpOverloadPacket.add(packet, overload)  # an overload may be called `add`
    setattr(namespace, name, packet)
    for action in _waiting.pop(overload.name(), ()):
        action(overload)
    return packet


def when_defined(qualname: str, action: Callable[[OpOverload], None]) -> None:
    """Calls ``action`` with an operator: now, or once it is defined, as `mindtorch_ops` may be imported first."""
    overload = find_operator(qualname)
    if overload is None:
        _waiting.setdefault(qualname, []).append(action)
    else:
        action(overload)


def discard(overload: OpOverload) -> None:
    """Takes `add` back; a packet left without overloads goes too, so that its name is an error again."""
    unregister_operator(overload)
    name = overload._schema.name
    packet = _every_packet[f"{overload.namespace}::{name}"]
    OpOverloadPacket.discard(packet, overload)
    if not packet.overloads():
        vars(getattr(ops, overload.namespace)).pop(name, None)


def find(qualname: str) -> OpOverload:
    """The operator ``ns::name[.overload]``. Raises RuntimeError, with a near name, where there is none."""
    namespace, name = split_name(qualname)
    overload = find_operator(qualname.removesuffix(".default"))
    if overload is None:
        known = [f"{namespace}::{other}" for other in _overload_names(namespace)]
        raise RuntimeError(f"operator {namespace}::{name} does not exist{_near(qualname, known)}")
    return overload


def find_defined(qualname: str) -> bool:
    """Whether ``ns::name`` has an overload by now."""
    packet = _every_packet.get(qualname)
    return packet is not None and bool(packet.overloads())


def find_packet(qualname: str) -> OpOverloadPacket:
    """The overloads of ``ns::name``. Raises AttributeError where there are none."""
    namespace, name = split_name(qualname)
    packet: OpOverloadPacket = getattr(getattr(ops, namespace), name)
    return packet


def split_name(qualname: str) -> tuple[str, str]:
    """``"ns::name"`` as ``("ns", "name")``. Raises ValueError where the namespace is missing."""
    if not isinstance(qualname, str):
        raise TypeError(f"the name of an operator must be str, not {type(qualname).__name__}")
    namespace, colons, name = qualname.partition("::")
    if not (namespace and colons and name) or "::" in name:
        raise ValueError(
            f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The qualname passed to the '
            "torch.library APIs must consist of a namespace and a name, e.g. aten::sin"
        )
    return namespace, name


def _packets(namespace: OpNamespace) -> dict[str, OpOverloadPacket]:
    if _core.hooks.load_operators is not None:
        _core.hooks.load_operators(None)
    return {name: value for name, value in vars(namespace).items() if isinstance(value, OpOverloadPacket)}


def _overload_names(namespace: str) -> list[str]:
    packets = _packets(getattr(ops, namespace))
    return [
        name if overload == "default" else f"{name}.{overload}"
        for name, packet in packets.items()
        for overload in packet.overloads()
    ]


def _populated_namespaces() -> list[str]:
    return [name for name, namespace in vars(ops).items() if _packets(namespace)]


def _near(name: str, known: Iterable[str]) -> str:
    import difflib  # imported here, as only errors need it

    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean '{near[0]}'?" if near else ""


def older_form(name: str, factors: dict[str, object]) -> None:
    """Warns of a call in a form that is deprecated, in which factors stand between tensors."""
    named = ", ".join(f"{factor}={value}" for factor, value in factors.items())
    warn_once(f"This overload of {name} is deprecated: factors go by name, behind the tensors: {named}", "older forms")


def __getattr__(name: str) -> object:
    if name == "HigherOrderOperator":
        from ._higher_order import HigherOrderOperator

        return HigherOrderOperator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_core.hooks.fill(find_operator=find, find_packet=find_packet, older_form=older_form, user_stacklevel=user_stacklevel)
