"""Where things stand: a file's text, and stretches of it."""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, field
from functools import cached_property

__all__ = ["Source", "Span"]


_LINE_END = re.compile("\n")


@dataclass(frozen=True, eq=False)
class Source:
    """A file as the user named it (``path``), and its decoded text; without ``is_file`` that of a revision, say."""

    path: str
    text: str = field(repr=False)
    is_file: bool = True

    @cached_property
    def name(self) -> str:
        """The file's own name."""
        return self.path.rsplit("/", 1)[-1]

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(found.end() for found in _LINE_END.finditer(self.text))]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, both counted from 1, of a character of the text."""
        line = bisect.bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of line ``number``, without its line end."""
        start = self._line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end].rstrip("\r")


@dataclass(frozen=True)
class Span:
    """A stretch of a file, for a diagnostic to point at."""

    source: Source
    offset: int
    length: int = 1

    @property
    def line(self) -> int:
        """Line of the first character, from 1."""
        return self.source.position(self.offset)[0]

    @property
    def column(self) -> int:
        """Column of the first character, from 1."""
        return self.source.position(self.offset)[1]
