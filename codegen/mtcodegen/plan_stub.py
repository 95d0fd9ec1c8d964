"""A module's ``.pyi``: how each operator is called, and the overloads that it has as attributes."""

from __future__ import annotations

import keyword
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import opschema
from mtcodegen.layout import quoted
from mtcodegen.model import OpSpec
from mtcodegen.names import IMPORTED, Names, annotation, return_annotation

__all__ = ["Overload", "Signature", "Stub", "plan_stubs"]


@dataclass(frozen=True, eq=False)
class Signature:
    """One way to call an operator. ``receiver`` is a name for the operator itself that no argument has."""

    parameters: str
    returns: str
    doc: str
    deprecated: str
    receiver: str


@dataclass(frozen=True, eq=False)
class Overload:
    """An overload as an attribute: its name, and the class that says how it is called."""

    name: str
    type: str
    signature: Signature


@dataclass(frozen=True, eq=False)
class Stub:
    """One exported name; ``type`` is the class that it is of. Without ``overloads`` it is the only overload itself."""

    name: str
    type: str
    attributes: str  # the class that has the overloads
    signatures: tuple[Signature, ...]
    overloads: tuple[Overload, ...]

    @property
    def odd_names(self) -> list[str]:
        """The naming rules of linters that it breaks, by code, as operators and arguments are named by others."""
        classes = [self.type, self.attributes, *(overload.type for overload in self.overloads)]
        broken = {
            "N801": any("_" in name[1:] for name in classes),
            "N805": any(signature.receiver != "self" for signature in self.signatures),
            "N815": any(overload.name[0].islower() and not overload.name.islower() for overload in self.overloads),
        }
        return [code for code, is_broken in broken.items() if is_broken]

    @property
    def overloaded(self) -> bool:
        """Whether it can be called in more than one way."""
        return len(self.signatures) > 1


def plan_stubs(ops: Sequence[OpSpec], exports: Mapping[tuple[str, str], str]) -> list[Stub]:
    """The stubs of a module's operators; ``exports`` are their names, by namespace and operator."""
    names = Names({*IMPORTED, *exports.values(), "OpOverload", "OpOverloadPacket", "deprecated", "overload"})
    by_name: dict[str, list[OpSpec]] = {}
    for spec in ops:
        by_name.setdefault(exports[spec.schema.namespace or "", spec.schema.name], []).append(spec)
    return [_stub(name, specs, names) for name, specs in by_name.items()]


def _stub(name: str, specs: Sequence[OpSpec], names: Names) -> Stub:
    signatures = [_signature(spec) for spec in specs]
    title = f"_{_words(name)}"
    type_ = names.unique(title)
    if len(specs) == 1:
        return Stub(name, type_, "", tuple(signatures), ())
    attributes = names.unique(f"{title}Overloads")
    overloads = [
        Overload(overload, names.unique(title + _words(overload)), signature)
        for spec, signature in zip(specs, signatures, strict=True)
        if not keyword.iskeyword(overload := spec.schema.overload or "default")
    ]
    distinct = {(signature.parameters, signature.returns): signature for signature in reversed(signatures)}
    return Stub(name, type_, attributes, tuple(reversed(distinct.values())), tuple(overloads))


def _words(name: str) -> str:
    """``scaled_add`` -> ``ScaledAdd``, ``add_`` -> ``AddInPlace``; the parts of a name keep their capitals."""
    words = "".join(part[:1].upper() + part[1:] for part in name.split("_"))
    return f"{words}InPlace" if name.endswith("_") and not name.startswith("__") else words


def _signature(spec: OpSpec) -> Signature:
    arguments = {argument.name for argument in spec.schema.arguments}
    receiver = Names(arguments).unique("self" if "self" not in arguments else "op")
    parameters, returns = _called_with(spec.schema), return_annotation(spec.schema)
    return Signature(parameters, returns, spec.doc, spec.deprecated, receiver)


def _called_with(schema: opschema.Schema) -> str:
    names = Names()
    parts = [_parameter(argument, names.unique(argument.name)) for argument in schema.positional]
    keywords = [argument for argument in schema.kwarg_only if names.unique(argument.name) == argument.name]
    if keywords:
        parts += ["*", *(_parameter(argument, argument.name) for argument in keywords)]
    if len(keywords) < len(schema.kwarg_only):
        parts.append(f"**{names.unique('kwargs')}: Any")
    return ", ".join(parts)


def _parameter(argument: opschema.Argument, name: str) -> str:
    text = f"{name}: {annotation(argument.type, called=True)}"
    return f"{text} = {_default(argument.default_value)}" if argument.has_default else text


def _default(value: object) -> str:
    if isinstance(value, str):
        return quoted(value)
    return repr(value) if value is None or isinstance(value, bool | int | float) else "..."
