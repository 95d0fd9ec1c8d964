"""A version that is text, and compares as a version: with text, numbers, and tuples of these."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["TorchVersion"]

_RELEASE = r"\s*v?(\d+(?:\.\d+)*)[-_.]?(dev|a|alpha|b|beta|rc|c)?[-_.]?(\d*)(?:\+([\w.]+))?"
_STAGES = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "rc": -1, "c": -1, None: 0}


class TorchVersion(str):
    """``TorchVersion("2.13.0+cpu") >= (2, 1)``; what is behind ``+`` counts last. Other text compares as text."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        mine, theirs = _key(self), _key(other)
        return str(self) == other if theirs is None or mine is None else mine == theirs

    def __lt__(self, other: Any) -> bool:
        mine, theirs = _key(self), _key(other)
        if mine is not None and theirs is not None:
            return bool(mine < theirs)
        if not isinstance(other, str):
            raise ValueError(f"can't compare a version with {type(other).__name__}: give text, a number or a tuple")
        return str(self) < str(other)

    def __le__(self, other: Any) -> bool:
        return bool(self < other or self == other)

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def _key(given: Any) -> tuple[tuple[int, ...], int, int, str] | None:
    """What versions are ordered by, or None for what is none."""
    text = ".".join(map(str, given)) if isinstance(given, (tuple, list)) else str(given)
    found = re.match(_RELEASE, text) if isinstance(given, (str, int, float, tuple, list)) else None
    if found is None:
        return None
    numbers = [int(part) for part in found[1].split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers), _STAGES[found[2]], int(found[3] or 0), found[4] or ""
