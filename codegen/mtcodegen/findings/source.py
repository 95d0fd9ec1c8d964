"""Where things stand: a file's text, and stretches of it."""

from __future__ import annotations

import bisect
import re
from collections.abc import Mapping
from dataclasses import field
from functools import cached_property

from mtcodegen.system.values import dataclass

__all__ = ["Place", "Source", "Span", "Text"]


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


@dataclass(frozen=True, eq=False)
class Text:
    """A text that a file holds, or that was made of what stands there: ``value`` need not be what is written."""

    source: Source
    start: int
    end: int
    value: str

    @classmethod
    def at(cls, span: Span, value: str) -> Text:
        """``value``, made of what stands at ``span``."""
        return Text(span.source, span.offset, span.offset + span.length, value)

    def saying(self, value: str) -> Text:
        """Another text, made of this one."""
        return Text(self.source, self.start, self.end, value)

    @property
    def span(self) -> Span:
        """All of it, or the first line where there are several."""
        written = self.source.text[self.start : self.end]
        if "\n" in written:
            written = written[: written.index("\n")]
        return Span(self.source, self.start, len(written.rstrip()) or 1)

    def locate(self, offset: int, length: int = 1) -> Span:
        """Where ``value[offset:offset+length]`` stands in the file; all of the text where that cannot be told."""
        if offset < len(self.value) and self.is_as_written:
            return Span(self.source, self.start + offset, min(max(length, 1), len(self.value) - offset))
        return self.locate_otherwise(offset, length)

    def locate_otherwise(self, offset: int, length: int) -> Span:
        """As ``locate``, of a text that is not as it stands in the file."""
        return self.span

    @property
    def is_as_written(self) -> bool:
        """Whether the value is what stands in the file, which nearly all are."""
        return self.source.text.startswith(self.value, self.start)

    def locate_item(self, item: str) -> Span:
        """Where ``item`` stands among names with commas between; a namespace may stand before it."""
        offset = self._items.get(item)
        return self.span if offset is None else self.locate(offset, len(item))

    @cached_property
    def _items(self) -> dict[str, int]:
        """Where in ``value`` the names between commas begin, with a namespace and without; the first of each."""
        places: dict[str, int] = {}
        offset = 0
        for part in self.value.split(","):
            end = offset + len(part.rstrip())
            for name in (part.strip(), part.strip().rpartition("::")[2]):
                places.setdefault(name, end - len(name))
            offset += len(part) + 1
        return places


@dataclass(frozen=True, eq=False)
class Place:
    """Where an entry, or a part of one, stands, and which keys it has."""

    span: Span
    keys: Mapping[str, Text] = field(default_factory=dict)

    def __contains__(self, key: str) -> bool:
        return key in self.keys

    def key(self, name: str) -> Span:
        """Where a key stands; where all of it does, if there is no such key."""
        return self.keys[name].span if name in self.keys else self.span
