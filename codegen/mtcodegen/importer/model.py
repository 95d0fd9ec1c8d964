"""What an import makes: operators in our language, and notes on what could not be carried over."""

from __future__ import annotations

from dataclasses import dataclass, field

import opschema
from mtcodegen.source import Span

__all__ = ["Gradient", "Imported", "Kernel", "Note"]


@dataclass(frozen=True)
class Note:
    """Something that was not carried over: ``text`` names it, ``reason`` says why; ``span`` is where it stands."""

    text: str
    reason: str
    span: Span


@dataclass(frozen=True)
class Kernel:
    """A kernel for ``devices``, all where there are none; ``body`` is its other lines, ``key: value``."""

    devices: tuple[str, ...]
    body: tuple[str, ...]


@dataclass
class Gradient:
    """The formula of some arguments; ``original`` and ``span`` are what it was in C++."""

    arguments: tuple[str, ...]
    formula: str
    original: str
    span: Span


@dataclass
class Imported:
    """One operator. ``schema`` has its namespace where it is not the file's."""

    schema: opschema.Schema
    span: Span
    variants: tuple[str, ...] = ("function",)
    tags: tuple[str, ...] = ()
    fake: tuple[str, ...] = ()  # one rule an output
    fake_span: Span | None = None  # where it comes from
    kernels: list[Kernel] = field(default_factory=list)
    gradients: list[Gradient] = field(default_factory=list)
    backward: str = ""  # `not_implemented` or `not_differentiable` for all arguments
    notes: list[Note] = field(default_factory=list)
