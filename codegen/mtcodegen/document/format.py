"""The house style of YAML files: what ``mtcodegen fmt`` writes.

The file is printed again from its nodes; scalars stay as they were written, and comments, which are no nodes, are found
in the text between them. Two spaces a level, lists at the column of their key, one blank line at most, flow lists on
one line where it is wide enough. What would read differently afterwards is not formatted at all.
"""

from __future__ import annotations

import re

from mtcodegen.document.load import load
from mtcodegen.document.nodes import Mapping, Node, Scalar, Sequence
from mtcodegen.findings.source import Source
from mtcodegen.system.values import dataclass

__all__ = ["end_of", "first_offset", "format_yaml", "is_flow", "same_content"]

_WIDTH = 120
_OTHER_LINE_ENDS = re.compile("[\r\x85\u2028\u2029]")  # what YAML takes for a line end, or Python's splitlines does
_BLOCK_HEADER = re.compile(r"([|>])([+-]?)([1-9]?)([+-]?)[ \t]*(#.*)?$")


def format_yaml(text: str, document: Node) -> str | None:
    """``text`` in house style, given its nodes; None where that would change what it says."""
    if _OTHER_LINE_ENDS.search(text):
        return None
    printer = _Printer(text)
    printer.document(document)
    formatted = printer.result()
    again, faults = load(Source("", formatted))
    return formatted if again is not None and not faults and same_content(document, again) else None


def same_content(first: Node, second: Node) -> bool:
    """Whether two documents say the same, whatever their layout and comments."""
    if isinstance(first, Scalar) and isinstance(second, Scalar):
        return first.value == second.value and bool(first.style) == bool(second.style)
    if isinstance(first, Sequence) and isinstance(second, Sequence):
        pairs = zip(first.items, second.items, strict=False)
        return len(first.items) == len(second.items) and all(same_content(a, b) for a, b in pairs)
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return list(first.entries) == list(second.entries) and all(
            same_content(value, second.entries[key][1]) for key, (_, value) in first.entries.items()
        )
    return False


@dataclass(frozen=True)
class _Comment:
    """A comment on a line of its own."""

    text: str
    column: int
    after_blank: bool


@dataclass(frozen=True)
class _Gap:
    """What stands between two scalars, without the punctuation."""

    trailing: tuple[str, int] | None  # a comment on the line of the first scalar, and its column
    comments: tuple[_Comment, ...]
    ends_blank: bool

    @property
    def has_comments(self) -> bool:
        return self.trailing is not None or bool(self.comments)


def is_flow(node: Node) -> bool:
    """Whether a node is written in brackets or braces."""
    return not isinstance(node, Scalar) and node.source.text[node.start : node.start + 1] in ("[", "{")


def first_offset(node: Node) -> int:
    """Where the first scalar or flow collection of a node starts."""
    while not isinstance(node, Scalar) and not is_flow(node):
        if isinstance(node, Mapping):
            return next(iter(node.entries.values()))[0].start
        node = node.items[0]
    return node.start


def end_of(node: Node) -> int:
    """Where a node ends, its closing bracket included."""
    if isinstance(node, Scalar):
        return node.end
    text = node.source.text
    end = max([node.start + 1, *map(end_of, _children(node))])
    closing = {"[": "]", "{": "}"}.get(text[node.start])
    while closing is not None and text[end] != closing:
        end = text.index("\n", end) if text[end] == "#" else end + 1
    return end + 1 if closing is not None else end


def _tidy(comment: str) -> str:
    """``# text``; rulers and directives such as ``#!`` and ``#:`` stay."""
    body = comment[1:].rstrip()
    return f"#{body}" if not body or body[0] in " #!:-=" else f"# {body}"


class _Printer:
    """Prints nodes in the order of the text; ``pos`` is how far the text has been used."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.pos = 0
        self.lines: list[str] = []
        self.line = ""
        self.open: list[tuple[int, int]] = []  # the columns that the open blocks had, and have now
        self.last_open: list[tuple[int, int]] = []  # the same, at the last scalar

    def result(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)

    def document(self, node: Node) -> None:
        marker = re.search(r"^---", self.text[: node.start], re.MULTILINE)
        if marker is not None:
            self.begin(marker.start(), 0)
            self.line, self.pos = "---", marker.end()
        if isinstance(node, Scalar) or is_flow(node):
            self.begin(node.start, 0)
        self.value(node, 0)
        self.begin(len(self.text), 0)
        while self.lines and not self.lines[-1] and not self.keeps_end(node):
            self.lines.pop()

    def keeps_end(self, node: Node) -> bool:
        """Whether the last scalar is a block that keeps the blank lines after it."""
        while not isinstance(node, Scalar):
            if not (children := _children(node)):
                return False
            node = children[-1]
        return node.style in ("|", ">") and "+" in self.text[node.start : node.start + 3]

    # ------------------------------------------------------------ lines and comments

    def begin(self, offset: int, indent: int) -> None:
        """End the line, print the comments before ``offset``, and begin the line of what stands there."""
        gap = self.gap(offset)
        self.end_line(gap)
        column = self.open[-1][0] if self.open else 0
        for comment in gap.comments:
            self.blank(comment.after_blank)
            deeper = [new for old, new in self.last_open if column < old <= comment.column]
            self.lines.append(" " * (deeper[-1] if deeper else indent) + comment.text)
        self.blank(gap.ends_blank and offset < len(self.text))
        self.line = " " * indent
        self.pos = offset

    def end_line(self, gap: _Gap) -> None:
        if gap.trailing is not None:
            comment, column = gap.trailing
            width = len(self.line.rsplit("\n", 1)[-1])
            self.line += " " * max(2, column - width) + comment if width else comment
        if self.line:
            self.lines += self.line.split("\n")
        self.line = ""

    def blank(self, wanted: bool) -> None:
        if wanted and self.lines and self.lines[-1]:
            self.lines.append("")

    def gap(self, offset: int) -> _Gap:
        first, *others = self.text[self.pos : offset].split("\n")
        trailing = None
        if "#" in first:
            before = self.pos - (self.text.rfind("\n", 0, self.pos) + 1)
            trailing = _tidy(first[first.index("#") :]), before + first.index("#")
        comments, blank = [], False
        for i, line in enumerate(others):
            if "#" in line:
                comments.append(_Comment(_tidy(line[line.index("#") :]), line.index("#"), blank))
                blank = False
            elif i < len(others) - 1:  # the last one is where the next scalar stands
                blank = blank or not line.strip()
        return _Gap(trailing, tuple(comments), blank)

    def used(self, offset: int) -> None:
        """Note that the text has been printed up to ``offset``."""
        self.pos = offset
        self.last_open = list(self.open)

    # ------------------------------------------------------------ nodes

    def value(self, node: Node, indent: int, *, inline: bool = False) -> None:
        """Print a node; ``indent`` is the column of its block, which ``inline`` starts on the line that has begun."""
        if isinstance(node, Scalar):
            self.scalar(node, indent)
        elif is_flow(node):
            self.flow(node, indent)
        elif isinstance(node, Mapping):
            self.mapping(node, indent, inline=inline)
        else:
            self.sequence(node, indent, inline=inline)

    def column_of(self, node: Node) -> int:
        return node.start - (self.text.rfind("\n", 0, node.start) + 1)

    def mapping(self, node: Mapping, indent: int, *, inline: bool = False) -> None:
        self.open.append((self.column_of(node), indent))
        for i, (key, value) in enumerate(node.entries.values()):
            if i or not inline:
                self.begin(key.start, indent)
            self.line += f"{self.text[key.start : key.end]}:"
            self.used(key.end)
            self.entry(value, indent)
        self.open.pop()

    def entry(self, value: Node, indent: int) -> None:
        """What stands behind the colon."""
        if isinstance(value, Sequence) and not is_flow(value):
            self.sequence(value, indent)
        elif isinstance(value, Mapping) and not is_flow(value):
            self.mapping(value, indent + 2)
        elif value.start == value.end:
            self.used(value.end)
        elif self.gap(value.start).has_comments:
            self.begin(value.start, indent + 2)
            self.value(value, indent)
        else:
            self.line += " "
            self.value(value, indent)

    def sequence(self, node: Sequence, indent: int, *, inline: bool = False) -> None:
        self.open.append((self.column_of(node), indent))
        for i, item in enumerate(node.items):
            if i or not inline:
                self.begin(first_offset(item), indent)
            self.line += "- "
            if isinstance(item, Scalar) and item.start == item.end:
                self.line = self.line.rstrip()
                self.used(item.end)
            elif isinstance(item, Scalar) or is_flow(item):
                self.value(item, indent)
            else:
                self.value(item, indent + 2, inline=True)
        self.open.pop()

    # ------------------------------------------------------------ scalars

    def scalar(self, node: Scalar, indent: int) -> None:
        raw = self.text[node.start : node.end]
        if node.style in ("|", ">"):
            self.block_scalar(node, raw, indent)
            return
        first, *others = raw.split("\n")
        lines = [line.lstrip() if "\\" in line else line.strip() for line in others]
        head = first.rstrip() if others and "\\" not in first else first
        self.line += "\n".join([head, *(" " * (indent + 2) + line if line else "" for line in lines)])
        self.used(node.end)

    def block_scalar(self, node: Scalar, raw: str, indent: int) -> None:
        header, _, body = raw.partition("\n")
        match = _BLOCK_HEADER.match(header)
        if match is None:
            raise ValueError(f"not the header of a block scalar: {header!r}")
        style, chomp, digit, chomp2, comment = match.groups(default="")
        lines = body.split("\n")
        content = [len(line) - len(line.lstrip(" ")) for line in lines if line.strip(" ")]
        old = self.open[-1][0] + int(digit) if digit else min(content[:1], default=0)
        keep = "+" in chomp + chomp2
        used = node.end - 1 if raw.endswith("\n") else node.end
        if not keep:
            while lines and not lines[-1].strip(" "):
                lines.pop()
            used = node.start + len("\n".join([header, *lines]))
        elif lines and not lines[-1]:
            lines.pop()
        base = " " * (indent + 2)
        printed = [base + line[old:] if line[old:] else "" for line in lines]
        self.line += f"{style}{'2' if digit else ''}{chomp}{chomp2}{f'  {_tidy(comment)}' if comment else ''}"
        self.line = "\n".join([self.line, *printed])
        self.used(used)

    # ------------------------------------------------------------ flow collections

    def flow(self, node: Node, indent: int) -> None:
        end = end_of(node)
        if self.has_comments(node, end):
            self.shifted(node, end, indent)
            return
        pieces = self.pieces(node)
        self.used(end)
        if len(self.line) + sum(map(len, pieces)) + len(pieces) - 1 <= _WIDTH:
            self.line += " ".join(pieces)
            return
        lines = [self.line + pieces[0]]
        for piece in pieces[1:]:
            if len(lines[-1]) + 1 + len(piece) <= _WIDTH:
                lines[-1] += f" {piece}"
            else:
                lines.append(" " * (indent + 2) + piece)
        self.line = "\n".join(lines)

    def shifted(self, node: Node, end: int, indent: int) -> None:
        """A flow collection with comments in it stays as it is, but for its column."""
        first, *others = self.text[node.start : end].split("\n")
        least = min((len(line) - len(line.lstrip(" ")) for line in others if line.strip()), default=0)
        lines = [" " * (indent + 2) + line[least:].rstrip() if line.strip() else "" for line in others]
        self.line += "\n".join([first.rstrip(), *lines])
        self.used(end)

    def pieces(self, node: Node) -> list[str]:
        """The text of a flow node in parts; a line may end after each."""
        if isinstance(node, Scalar):
            return [self.folded(node)]
        opening = self.text[node.start]
        bare = opening not in "[{"  # the one pair of `[a: b]`
        parts: list[list[str]] = []
        if isinstance(node, Mapping):
            for key, value in node.entries.values():
                first, *rest = self.pieces(value)
                parts.append([f"{self.folded(key)}: {first}", *rest])
        else:
            parts = [self.pieces(item) for item in node.items]
        closing = "}" if isinstance(node, Mapping) else "]"
        if not parts:
            return [opening + closing]
        for part in parts[:-1]:
            part[-1] += ","
        found = [piece for part in parts for piece in part]
        if not bare:
            found[0] = opening + found[0]
            found[-1] += closing
        return found

    def folded(self, node: Scalar) -> str:
        """A scalar on one line, where YAML reads a line end as a space."""
        raw = self.text[node.start : node.end]
        lines = [line.strip() for line in raw.split("\n")]
        return raw if "\\\n" in raw or "" in lines[1:] else " ".join(lines)

    def has_comments(self, node: Node, end: int) -> bool:
        places = sorted((scalar.start, scalar.end) for scalar in _scalars(node))
        position = node.start
        for start, stop in [*places, (end, end)]:
            if "#" in self.text[position:start]:
                return True
            position = stop
        return False


def _children(node: Sequence | Mapping) -> list[Node]:
    if isinstance(node, Sequence):
        return node.items
    return [part for pair in node.entries.values() for part in pair]


def _scalars(node: Node) -> list[Scalar]:
    if isinstance(node, Scalar):
        return [node]
    return [scalar for child in _children(node) for scalar in _scalars(child)]
