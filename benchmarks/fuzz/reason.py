"""A reason why ours and PyTorch differ and no finding is meant, and what reasons ask of a call and its outcomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.fuzz.outcome import Outcome, Raised

if TYPE_CHECKING:
    from benchmarks.fuzz.program import Call

__all__ = ["Reason", "kinds", "message", "name", "raises"]


@dataclass(frozen=True)
class Reason:
    """A difference that is meant: of these kinds of findings, where it applies."""

    name: str
    kinds: frozenset[str]
    applies: Callable[[Call, Outcome, Outcome | None], bool]


def kinds(text: str) -> frozenset[str]:
    """Kinds of findings, by their names."""
    return frozenset(text.split())


def name(call: Call) -> str:
    """What is called."""
    return call.target.name


def message(outcome: Outcome | None) -> str:
    """What an error says; nothing, where there is none."""
    return outcome.message if isinstance(outcome, Raised) else ""


def raises(outcome: Outcome | None, error: str) -> bool:
    """Whether the outcome is an error of exactly that class."""
    return isinstance(outcome, Raised) and outcome.bases[0] == error
