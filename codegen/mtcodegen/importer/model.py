"""What an import makes: operators in our language, and notes on what could not be carried over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

import opschema
from mtcodegen.entries.parse import is_special
from mtcodegen.entries.schemas import no_method
from mtcodegen.entries.validate import json_schema
from mtcodegen.findings.source import Place, Span, Text
from mtcodegen.system.values import dataclass

__all__ = ["Gradient", "Imported", "Kernel", "Note", "Tangent"]


@dataclass(frozen=True)
class Note:
    """Something that was not carried over: ``text`` names it, ``reason`` says why; ``span`` is where it stands."""

    text: str
    reason: str
    span: Span


@dataclass(frozen=True)
class Kernel:
    """A kernel in Python, ``module:function``, for ``devices`` and ``dtypes``; all where there are none."""

    devices: tuple[str, ...]
    python: str
    dtypes: tuple[str, ...] = ()


@dataclass
class Gradient:
    """The formula of some arguments; ``text`` is what it was in C++, if anything; ``by_device`` has others."""

    arguments: tuple[str, ...]
    formula: str
    text: Text | None = None
    by_device: dict[str, Gradient] = field(default_factory=dict)


@dataclass(frozen=True)
class Tangent:
    """The forward-mode formula of an output, or a word for it; ``key`` and ``text`` are what it was in C++."""

    output: str
    formula: str
    key: Text
    text: Text


@dataclass
class Imported:
    """One operator. ``schema`` has its namespace where it is not the file's."""

    schema: opschema.Schema
    span: Span
    variants: tuple[str, ...] = ("function",)
    tags: tuple[str, ...] = ()
    device_check: str = ""  # as it is said; empty: it is not
    fake: tuple[Mapping[str, str], ...] = ()  # one rule an output: keys of `fake` and their values
    fake_span: Span | None = None  # where it comes from
    kernels: list[Kernel] = field(default_factory=list)
    gradients: list[Gradient] = field(default_factory=list)
    forward: tuple[Tangent, ...] = ()
    output_differentiability: tuple[bool, ...] = ()  # one an output; empty: all of them
    autogen: tuple[str, ...] = ()  # the variants to make of it
    autogen_span: Span | None = None  # where they are asked for
    backward: str = ""  # `not_implemented` or `not_differentiable` for all arguments
    suggested: tuple[str, ...] = ()  # lines of the entry that want something written: they become comments
    notes: list[Note] = field(default_factory=list)

    def add_variants(self, names: tuple[str, ...]) -> None:
        """Take over whether it is a method of Tensor, where it can be; ``names`` may be empty."""
        if "method" in names:
            special = is_special(self.schema.name)
            reason = "special methods are the runtime's own" if special else no_method(self.schema)
            if reason:
                self.notes.append(Note("variants: method", reason, self.span))
                names = ("function",)
        self.variants = names or self.variants

    def note_keys(self, place: Place, values: Mapping[str, str], reasons: Mapping[str, str]) -> None:
        """Note the keys of an entry that have no counterpart here, by what is said of each in ``reasons``."""
        for name, reason in reasons.items():
            if name in place:
                self.notes.append(Note(f"{name}: {values[name]}", reason, place.key(name)))

    def add_tags(self, names: Sequence[str]) -> None:
        """Take over the tags that there are here, and note the others."""
        known = json_schema()["$defs"]["tag"]["enum"]
        for name in names:
            if name in known:
                self.tags += (name,)
            else:
                self.notes.append(Note(f"tags: {name}", "there is no such tag here", self.span))

    def drop_tangents(self, tangents: Sequence[Tangent], reason: str) -> None:
        """Note that there is no rule for forward mode: the runtime then differentiates the gradients."""
        self.notes += [Note(f"{item.output}: {item.text.value}", reason, item.key.span) for item in tangents]
        self.forward = ()
