"""A function of a generated module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mtcodegen.pycode.layout import bracketed

__all__ = ["Function"]


@dataclass(frozen=True, eq=False)
class Function:
    """Its text is ``str()``; ``body`` are statements, indented within it where they are nested."""

    name: str
    parameters: Sequence[str]
    returns: str
    body: Sequence[str]
    decorators: Sequence[str] = ()

    def __str__(self) -> str:
        head = bracketed(f"def {self.name}", self.parameters, f" -> {self.returns}:")
        return "\n".join([*self.decorators, head, *[f"    {line}" for line in self.body]])
