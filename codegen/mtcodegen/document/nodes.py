"""What was read from a YAML file: nodes that know where they stand, key by key and value by value."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as SequenceOf
from functools import cached_property

from mtcodegen.findings.source import Place, Source, Span, Text
from mtcodegen.system.values import dataclass

__all__ = ["Mapping", "Node", "Scalar", "Sequence"]


@dataclass(frozen=True, eq=False)
class Scalar(Text):
    """A scalar: ``value`` as YAML reads it, ``style`` as YAML writes it (``""`` is plain)."""

    style: str

    kind = "string"

    def locate_otherwise(self, offset: int, length: int) -> Span:
        """By the characters of the file that the value was read from."""
        places = self._places
        if places is None:
            return self.span
        if not places:
            return Span(self.source, self.start)
        first = places[offset] if offset < len(places) else places[-1] + 1
        last = places[min(offset + max(length, 1), len(places)) - 1] if offset < len(places) else first
        # An error that runs over a line end is shown up to the end of its first line.
        end_of_line = self.source.text.find("\n", first, last + 1)
        end = last + 1 if end_of_line < 0 else end_of_line
        return Span(self.source, first, max(1, end - first))

    @property
    def is_as_written(self) -> bool:
        """Whether it stands on one line as it is."""
        return not self.style and self.source.text.startswith(self.value, self.start)

    @cached_property
    def _places(self) -> SequenceOf[int] | None:
        """The file offset of every character of ``value``; None if it cannot be followed."""
        if self.is_as_written:
            return range(self.start, self.start + len(self.value))
        reader = {"'": _single_quoted, '"': _double_quoted, "|": _block, ">": _block}.get(self.style, _plain)
        places: list[int] = []
        position = 0
        # Readers give the characters as written; YAML's folding only ever turns line ends into spaces or drops them,
        # so both texts are walked together and what YAML dropped is skipped.
        for place, char in reader(self):
            if position == len(self.value):
                break
            wanted = self.value[position]
            if char == wanted or (char == "\n" and wanted == " "):
                places.append(place)
                position += 1
            elif char not in " \t\r\n":
                return None
        return places if position == len(self.value) else None


_ESCAPES = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}
_HEX_ESCAPES = {"x": 2, "u": 4, "U": 8}


def _plain(node: Scalar) -> Iterator[tuple[int, str]]:
    for i in range(node.start, node.end):
        yield i, node.source.text[i]


def _block(node: Scalar) -> Iterator[tuple[int, str]]:
    header_end = node.source.text.find("\n", node.start)
    for i in range(node.end if header_end < 0 else header_end + 1, node.end):
        yield i, node.source.text[i]


def _single_quoted(node: Scalar) -> Iterator[tuple[int, str]]:
    text = node.source.text
    i = node.start + 1
    while i < node.end - 1:
        yield i, text[i]
        i += 2 if text.startswith("''", i) else 1


def _double_quoted(node: Scalar) -> Iterator[tuple[int, str]]:
    text = node.source.text
    i = node.start + 1
    while i < node.end - 1:
        if text[i] != "\\":
            yield i, text[i]
            i += 1
            continue
        escape = text[i + 1]
        digits = _HEX_ESCAPES.get(escape, 0)
        if digits:
            yield i, chr(int(text[i + 2 : i + 2 + digits], 16))
        elif escape not in "\r\n":  # an escaped line end stands for no character
            yield i, _ESCAPES.get(escape, escape)
        i += 2 + digits


@dataclass(frozen=True, eq=False)
class Sequence:
    """A list of nodes."""

    source: Source
    start: int
    end: int
    items: list[Node]

    kind = "list"

    @property
    def span(self) -> Span:
        """Its first character."""
        return Span(self.source, self.start)


@dataclass(frozen=True, eq=False)
class Mapping:
    """Keys and values in the order they were written; keys are unique scalars."""

    source: Source
    start: int
    end: int
    entries: dict[str, tuple[Scalar, Node]]

    kind = "mapping"

    @property
    def span(self) -> Span:
        """Its first character."""
        return Span(self.source, self.start)

    @property
    def place(self) -> Place:
        """Where it stands, and its keys."""
        return Place(self.span, {name: key for name, (key, _) in self.entries.items()})

    def get(self, key: str) -> Node | None:
        """The value of ``key``."""
        entry = self.entries.get(key)
        return None if entry is None else entry[1]


Node = Scalar | Sequence | Mapping
