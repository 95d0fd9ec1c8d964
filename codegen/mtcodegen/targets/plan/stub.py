"""A module's ``.pyi``: how each operator is called, and the overloads that it has as attributes."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import opschema
from mtcodegen.entries.model import OpSpec
from mtcodegen.pycode.layout import bracketed
from mtcodegen.pycode.literals import quoted
from mtcodegen.pycode.names import IMPORTED, Names, accepted, return_annotation
from mtcodegen.pycode.pretty import WIDTH

__all__ = ["Overload", "Signature", "Stub", "docstring", "odd_names", "plan_stubs"]


@dataclass(frozen=True, eq=False)
class Signature:
    """One way to call an operator. ``receiver`` is a name for the operator itself that no argument has."""

    parameters: tuple[str, ...]
    returns: str
    doc: str
    deprecated: str
    receiver: str

    def function(self, name: str) -> str:
        """As a function without a body."""
        return self._drawn(name, self.parameters, 0)

    def method(self) -> str:
        """As the method of a class that makes the operator callable."""
        return self._drawn("__call__", (self.receiver, *self.parameters), 4)

    def _drawn(self, name: str, parameters: Sequence[str], indent: int) -> str:
        before = " " * indent
        mark = f"{before}@deprecated({quoted(self.deprecated)})\n" if self.deprecated else ""
        head = bracketed(f"def {name}", parameters, f" -> {self.returns}:{'' if self.doc else ' ...'}", indent)
        return f"{mark}{head}\n{docstring(self.doc, before + '    ')}" if self.doc else mark + head


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
    def classes(self) -> list[str]:
        """The operator as an object: its class, behind those of what it has."""
        signatures = {*self.signatures, *[item.signature for item in self.overloads]}
        drawn = {signature: signature.method() for signature in signatures}
        mark = "    @overload\n" if self.overloaded else ""
        methods = [mark + drawn[signature] for signature in self.signatures]
        if not self.overloads:
            return [_class(self.type, "OpOverload", methods)]
        return [
            *[_class(item.type, "OpOverload", [drawn[item.signature]]) for item in self.overloads],
            _class(self.attributes, "OpOverloadPacket", [f"    {item.name}: {item.type}" for item in self.overloads]),
            _class(self.type, self.attributes, methods),
        ]

    @property
    def overloaded(self) -> bool:
        """Whether it can be called in more than one way."""
        return len(self.signatures) > 1


def _class(name: str, base: str, members: Sequence[str]) -> str:
    return "\n".join([f"class {name}({base}):", *members])


def odd_names(stubs: Sequence[Stub]) -> list[str]:
    """The naming rules of linters that are broken, by code, as operators and arguments are named by others."""
    overloads = [overload for stub in stubs for overload in stub.overloads]
    classes = [name for stub in stubs for name in (stub.type, stub.attributes)]
    broken = {
        "N801": any("_" in name[1:] for name in (*classes, *(overload.type for overload in overloads))),
        "N805": any(signature.receiver != "self" for stub in stubs for signature in stub.signatures),
        "N815": any(overload.name[0].islower() and not overload.name.islower() for overload in overloads),
    }
    return [code for code, is_broken in broken.items() if is_broken]


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
    words = "".join([part[:1].upper() + part[1:] for part in name.split("_")])
    return f"{words}InPlace" if name.endswith("_") and not name.startswith("__") else words


def _signature(spec: OpSpec) -> Signature:
    names = Names()
    spelled = names.each([argument.name for argument in spec.schema.arguments])
    receiver = names.unique("op") if "self" in spelled else "self"
    parameters, returns = _called_with(spec.schema, spelled, names), return_annotation(spec.schema)
    return Signature(parameters, returns, spec.doc, spec.deprecated, receiver)


def _called_with(schema: opschema.Schema, spelled: Mapping[str, str], names: Names) -> tuple[str, ...]:
    parts, is_keyword, is_odd = [], False, False
    for argument in schema.arguments:
        name = spelled[argument.name]
        if argument.kwarg_only and name != argument.name:
            is_odd = True
            continue
        if argument.kwarg_only and not is_keyword:
            is_keyword = True
            parts.append("*")
        parts.append(_parameter(argument, name))
    if is_odd:
        parts.append(f"**{names.unique('kwargs')}: Any")
    return tuple(parts)


def _parameter(argument: opschema.Argument, name: str) -> str:
    text = f"{name}: {accepted(argument.type)}"
    return text if argument.default is None else f"{text} = {_default(argument)}"


def _default(argument: opschema.Argument) -> str:
    if argument.default in _CONSTANTS:
        return argument.default
    value = argument.default_value
    if isinstance(value, str):
        return quoted(value)
    return repr(value) if isinstance(value, int | float) else "..."


_CONSTANTS = ("None", "True", "False")  # not of every type, but nowhere do they stand for anything else


# ---------------------------------------------------------------- docstrings

# Characters that Python refuses in a source (NUL), or that would end a line where none ends.
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


def docstring(doc: str, indent: str) -> str:
    """A docstring with what it is indented by."""
    text = doc.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    text = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
    lines = [part for line in text.split("\n") for part in _folded(line.rstrip())]
    ending = " " if lines[-1].endswith('"') else ""
    body = "\n".join([f'{indent}"""{lines[0]}', *(f"{indent}{line}" if line else "" for line in lines[1:])])
    return f'{body}\n{indent}"""' if len(lines) > 1 else f'{body}{ending}"""'


def _folded(line: str) -> list[str]:
    """A line of a docstring as lines that fit."""
    if len(line) <= WIDTH - 12:
        return [line]
    import textwrap

    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(
        line, WIDTH - 12, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    ) or [""]
