"""The stub of a module: each exported name with the types of its operator's calls."""

from __future__ import annotations

import keyword
import pathlib
from collections.abc import Callable, Mapping, Sequence

import opschema
from mtcodegen.entries.model import File, OpSpec
from mtcodegen.pycode.annotations import Annotations
from mtcodegen.pycode.docstrings import docstring
from mtcodegen.pycode.imports import Imports
from mtcodegen.pycode.literals import quoted
from mtcodegen.pycode.names import IMPORTED, Names
from mtcodegen.system.values import dataclass
from mtcodegen.targets.exports import exported_names, has_odd_names, sorted_names

__all__ = ["Origin", "Overload", "Signature", "Stub", "StubModule", "plan_stubs"]

Origin = tuple[str, str]  # the module of a name and the name in it; an empty one: the module itself
_CONSTANTS = ("None", "True", "False")  # defaults of a schema that Python spells alike
_STANDARD = {"Any": ("typing", "Any"), "Sequence": ("collections.abc", "Sequence")}


@dataclass(frozen=True, eq=False)
class Signature:
    """One way to call an operator. ``receiver`` is a name for the operator itself that no argument has."""

    parameters: tuple[str, ...]
    returns: str
    doc: tuple[str, ...]  # the docstring's lines
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
    def overloaded(self) -> bool:
        """Whether it can be called in more than one way."""
        return len(self.signatures) > 1


@dataclass(frozen=True, eq=False)
class StubModule:
    """All of a module. ``names`` says how the template's own words are spelled in it."""

    source: str
    exported: tuple[str, ...]
    stubs: tuple[Stub, ...]
    names: Mapping[str, str]
    noqa: tuple[str, ...]

    @property
    def overloaded(self) -> bool:
        """Whether something in it can be called in more than one way."""
        return any(stub.overloaded for stub in self.stubs)


def plan_stubs(file: File, places: Mapping[str, Origin]) -> tuple[StubModule, Imports]:
    """The stub of a file's module, and what it imports; ``places`` are those of the runtime's names.

    Where the runtime has no objects for operators, they are functions.
    """
    exports = exported_names([spec.schema for spec in file.ops])
    imports = Imports(taken=exports.values())

    def named(name: str) -> str:
        module, attribute = {**places, **_STANDARD}[name]
        return imports.name(module, attribute) if attribute else imports.module(module, name)

    are_objects = "OpOverload" in places
    annotations = Annotations(named)
    names = Names({*IMPORTED, *exports.values(), "OpOverload", "OpOverloadPacket", "deprecated", "overload"})
    by_name: dict[str, list[OpSpec]] = {}
    for spec in file.ops:
        by_name.setdefault(exports[spec.schema.namespace or "", spec.schema.name], []).append(spec)
    stubs = tuple(_stub(name, specs, names, annotations) for name, specs in by_name.items())
    odd = ["N803", "N806", "N807"] if has_odd_names([spec.schema for spec in file.ops]) else []
    codes = sorted({*odd, *(_odd_names(stubs) if are_objects else [])})
    module = StubModule(
        source=pathlib.PurePath(file.path).name,
        exported=tuple(sorted_names(exports.values())),
        stubs=stubs,
        names=_template_names(stubs, are_objects, named, imports),
        noqa=(*codes, "RUF100") if codes else (),
    )
    return module, imports


def _template_names(
    stubs: Sequence[Stub], are_objects: bool, named: Callable[[str], str], imports: Imports
) -> dict[str, str]:
    found = {}
    if are_objects and stubs:
        found["OpOverload"] = named("OpOverload")
    if are_objects and any(stub.overloads for stub in stubs):
        found["OpOverloadPacket"] = named("OpOverloadPacket")
    if any(stub.overloaded for stub in stubs):
        found["overload"] = imports.name("typing", "overload")
    if any(signature.deprecated for stub in stubs for signature in stub.signatures):
        found["deprecated"] = imports.name("typing_extensions", "deprecated")
    return found


def _odd_names(stubs: Sequence[Stub]) -> list[str]:
    """The naming rules of linters that are broken, by code, as operators and arguments are named by others."""
    overloads = [overload for stub in stubs for overload in stub.overloads]
    classes = [name for stub in stubs for name in (stub.type, stub.attributes)]
    broken = {
        "N801": any("_" in name[1:] for name in (*classes, *(overload.type for overload in overloads))),
        "N805": any(signature.receiver != "self" for stub in stubs for signature in stub.signatures),
        "N815": any(overload.name[0].islower() and not overload.name.islower() for overload in overloads),
    }
    return [code for code, is_broken in broken.items() if is_broken]


# ---------------------------------------------------------------- one name


def _stub(name: str, specs: Sequence[OpSpec], names: Names, annotations: Annotations) -> Stub:
    signatures = [_signature(spec, annotations) for spec in specs]
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
    words = "".join([part[:1].upper() + part[1:] for part in name.split("_")])
    return f"{words}InPlace" if name.endswith("_") and not name.startswith("__") else words


def _signature(spec: OpSpec, annotations: Annotations) -> Signature:
    names = Names()
    spelled = names.each([argument.name for argument in spec.schema.arguments])
    receiver = names.unique("op") if "self" in spelled else "self"
    parameters = _called_with(spec.schema, spelled, names, annotations)
    deprecated = quoted(spec.deprecated) if spec.deprecated else ""
    return Signature(parameters, annotations.returned(spec.schema), docstring(spec.doc), deprecated, receiver)


def _called_with(
    schema: opschema.Schema, spelled: Mapping[str, str], names: Names, annotations: Annotations
) -> tuple[str, ...]:
    parts, is_keyword, is_odd = [], False, False
    for argument in schema.arguments:
        name = spelled[argument.name]
        if argument.kwarg_only and name != argument.name:
            is_odd = True
            continue
        if argument.kwarg_only and not is_keyword:
            is_keyword = True
            parts.append("*")
        text = f"{name}: {annotations.accepted(argument.type)}"
        parts.append(text if argument.default is None else f"{text} = {_default(argument)}")
    if is_odd:
        parts.append(f"**{names.unique('kwargs')}: {annotations.anything()}")
    return tuple(parts)


def _default(argument: opschema.Argument) -> str:
    if argument.default in _CONSTANTS:
        return argument.default
    value = argument.default_value
    if isinstance(value, str):
        return quoted(value)
    return repr(value) if isinstance(value, int | float) else "..."
