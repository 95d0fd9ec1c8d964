"""What came of a call: it returned, raised, or took its process with it."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Died", "Outcome", "Raised", "Returned"]


@dataclass(frozen=True)
class Returned:
    """What it gave, and its tensors afterwards, in plain values."""

    value: Any
    tensors: Mapping[str, Any]


@dataclass(frozen=True)
class Raised:
    """The error's class with its bases, its text, and where it comes from.

    ``making`` says that an argument could not be made: the call itself was not reached.
    """

    bases: tuple[str, ...]
    message: str
    frames: tuple[str, ...]
    making: bool = False

    def is_of_class(self, other: Raised) -> bool:
        """Whether what catches the other one catches this."""
        return other.bases[0] in self.bases


@dataclass(frozen=True)
class Died:
    """The process's end: a signal or an exit status, and what it had printed."""

    signal: int
    status: int
    report: str = ""

    @property
    def hung(self) -> bool:
        """Whether it was ended because it took too long."""
        return self.signal in (signal.SIGPROF, signal.SIGKILL)


Outcome = Returned | Raised | Died
