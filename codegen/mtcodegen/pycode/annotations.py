"""The Python types of a schema's types: what a caller may pass, and what is returned."""

from __future__ import annotations

from collections.abc import Callable

from opschema import BaseType, ListType, Schema, Type

__all__ = ["Annotations"]

_BUILTIN = {
    "int": "int", "SymInt": "int", "DeviceIndex": "int", "float": "float", "Scalar": "float", "complex": "complex",
    "bool": "bool", "SymBool": "bool", "str": "str",
}  # fmt: skip
_OF_RUNTIME = {"ScalarType": "dtype", "Device": "device"}


class Annotations:
    """Types as text. ``named`` imports one of the names Tensor, torch, Any and Sequence, and returns its spelling."""

    def __init__(self, named: Callable[[str], str]) -> None:
        self._named = named
        self._accepted: dict[Type, str] = {}
        self._returned: dict[Type, str] = {}

    def accepted(self, type_: Type) -> str:
        """What a caller may pass for a schema's type."""
        if type_ not in self._accepted:
            self._accepted[type_] = self._accepts(type_)
        return self._accepted[type_]

    def returned(self, schema: Schema) -> str:
        """What an operator returns."""
        parts = [self._returns(ret.type) for ret in schema.returns]
        if len(parts) == 1:
            return parts[0]
        return f"tuple[{', '.join(parts)}]" if parts else "None"

    def anything(self) -> str:
        """The type of a value that is passed on unread."""
        return self._named("Any")

    def _accepts(self, type_: Type) -> str:
        if isinstance(type_, BaseType):
            text = self._base(type_.name)
            return f"{text} | str" if type_.name == "Device" else text
        inner = self.accepted(type_.elem)
        if not isinstance(type_, ListType):
            return self._optional(type_.elem, inner)
        sequence = f"{self._named('Sequence')}[{inner}]"
        return sequence if type_.size is None else f"{inner} | {sequence}"

    def _returns(self, type_: Type) -> str:
        if type_ not in self._returned:
            if isinstance(type_, BaseType):
                text = self._base(type_.name)
            else:
                inner = self._returns(type_.elem)
                text = f"list[{inner}]" if isinstance(type_, ListType) else self._optional(type_.elem, inner)
            self._returned[type_] = text
        return self._returned[type_]

    def _optional(self, type_: Type, inner: str) -> str:
        is_any = isinstance(type_, BaseType) and type_.name not in {"Tensor", *_BUILTIN, *_OF_RUNTIME}
        return inner if is_any else f"{inner} | None"

    def _base(self, name: str) -> str:
        if name in _BUILTIN:
            return _BUILTIN[name]
        if name in _OF_RUNTIME:
            return f"{self._named('torch')}.{_OF_RUNTIME[name]}"
        return self._named("Tensor") if name == "Tensor" else self.anything()
