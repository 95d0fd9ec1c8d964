"""YAML events to marked nodes.

Read from events, not with a constructor: every key and value keeps its place, nothing in a file can make an object
or run code, and neither depth nor aliases cost more than the file is long.
"""

from __future__ import annotations

import contextlib
import pathlib
import stat
from collections.abc import Callable
from typing import Any, TypeAlias

from mtcodegen.document.nodes import Mapping, Node, Scalar, Sequence
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import MOST_FINDINGS, Diagnostic, Related
from mtcodegen.findings.source import Source, Span

__all__ = ["MAX_BYTES", "MAX_DEPTH", "load", "read", "read_document"]

MAX_BYTES = 16 << 20  # of a file: twenty times PyTorch's
MAX_DEPTH = 32  # levels of lists and mappings; the language needs seven

_Entries: TypeAlias = dict[str, tuple[Scalar, Node]]  # of a mapping


def read(path: pathlib.Path, name: str) -> tuple[Source | None, list[Diagnostic]]:
    """The file's text; ``name`` is how the user named the file."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):  # reading a pipe could block for ever
            return None, [Diagnostic(Code.MT101, "cannot be read: it is not a regular file", None, path=name)]
        if status.st_size > MAX_BYTES:
            message = f"cannot be read: it has {status.st_size >> 20} MiB, more than {MAX_BYTES >> 20}"
            return None, [Diagnostic(Code.MT101, message, None, hint="split the file", path=name)]
        data = path.read_bytes()
    except OSError as error:
        return None, [Diagnostic(Code.MT101, f"cannot be read: {error.strerror or error}", None, path=name)]
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", "replace")
        line = before.count("\n") + 1
        message = f"is not UTF-8: byte 0x{data[error.start]:02x} on line {line}"
        return None, [Diagnostic(Code.MT101, message, None, hint="save the file as UTF-8", path=name)]
    return Source(name, text), []


def read_document(path: pathlib.Path) -> tuple[Node | None, list[Diagnostic]]:
    """A YAML file as nodes, under the name that the user gave."""
    source, found = read(path, str(path))
    if source is None:
        return None, found
    document, faults = load(source)
    return document, [*found, *faults]


def load(source: Source) -> tuple[Node | None, list[Diagnostic]]:
    """The file's one document as nodes, or what keeps it from being read."""
    return _load(source, source.text)


def _load(source: Source, text: str) -> tuple[Node | None, list[Diagnostic]]:
    import yaml

    builder = _Builder(source)
    try:
        _have_read(builder, text)
    except yaml.reader.ReaderError as error:
        return None, [_reader_fault(source, error)]
    except yaml.MarkedYAMLError as error:
        # libyaml has a bound of its own, and tells of it before what the levels are: ours is passed before that.
        mark = error.problem_mark
        if error.problem == "exceeded maximum nesting depth" and mark is not None and mark.index < len(text):
            return _load(source, text[: mark.index])
        return None, [*builder.diagnostics, _syntax_fault(source, error)]
    return builder.result()


def _have_read(builder: _Builder, text: str) -> None:
    """Read all, or what the builder takes of it.

    Nodes that memory did not hold are given back here, at once: going up through a long function takes an object of
    each, and where there is no memory for it CPython 3.11 to 3.13 tries again for ever.
    """
    try:
        with contextlib.suppress(_EnoughError):
            builder.read(_parser(text).get_event)
    except MemoryError as error:
        builder.documents.clear()
        below = error.__traceback__ and error.__traceback__.tb_next
        while below is not None:
            below.tb_frame.clear()
            below = below.tb_next
        raise


def _parser(text: str) -> Any:
    try:
        from yaml._yaml import CParser
    except ImportError:  # PyYAML built without libyaml
        from yaml import SafeLoader

        return SafeLoader(text)
    return CParser(text)


def _reader_fault(source: Source, error: Any) -> Diagnostic:
    bad = next((i for i, char in enumerate(source.text) if not _is_allowed(char)), 0)
    return Diagnostic(
        Code.MT101, f"a character that YAML does not allow: {source.text[bad : bad + 1]!r}", Span(source, bad)
    )


def _is_allowed(char: str) -> bool:
    return char in "\t\n\r\x85" or " " <= char <= "~" or (char >= "\xa0" and not "\ud800" <= char <= "\udfff")


def _syntax_fault(source: Source, error: Any) -> Diagnostic:
    mark = error.problem_mark or error.context_mark
    offset = min(mark.index, len(source.text)) if mark is not None else 0
    hint = ""
    if source.text[offset : offset + 1] == "\t" or "cannot start any token" in (error.problem or ""):
        hint = "quote the value, or indent with spaces, not tabs"
    elif "mapping values are not allowed" in (error.problem or ""):
        hint = "quote a value that contains `: `"
    context = f" {error.context}" if error.context else ""
    return Diagnostic(Code.MT101, f"not YAML: {error.problem}{context}", Span(source, offset), hint)


class _EnoughError(Exception):
    """Nothing more is to be read."""


class _Builder:
    """Puts nodes together from events, with a stack of the open lists and mappings instead of recursion."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.diagnostics: list[Diagnostic] = []
        self.documents: list[Node] = []

    def result(self) -> tuple[Node | None, list[Diagnostic]]:
        if not self.documents or self.diagnostics:
            return None, self.diagnostics or [
                Diagnostic(Code.MT103, "the file is empty: a list of operators was expected", Span(self.source, 0))
            ]
        return self.documents[0], []

    def read(self, next_event: Callable[[], Any]) -> None:
        """Take all events, in one loop: a large file has 40,000."""
        from yaml import AliasEvent, DocumentStartEvent, MappingStartEvent, ScalarEvent, SequenceStartEvent

        source = self.source
        inside: list[Node] | _Entries = self.documents  # of the open list or mapping
        key: Node | None = None  # of the open mapping, which waits for its value
        around: list[tuple[list[Node] | _Entries, Node | None]] = []  # what is around it, and their keys
        while (event := next_event()) is not None:
            kind, mark = event.__class__, event.start_mark
            start, end = mark.index, event.end_mark.index
            node: Node
            if kind is ScalarEvent:
                style = event.style or ""
                node = Scalar(source, start, end, event.value, "" if style == ":" else style)
            elif kind is MappingStartEvent:
                node = Mapping(source, start, end, {})
            elif kind is SequenceStartEvent:
                node = Sequence(source, start, end, [])
            elif kind is AliasEvent:
                self._fault(
                    Code.MT104, f"aliases are not supported: `*{event.anchor}`", start, end, "write the value out"
                )
                node = Scalar(source, start, end, "", "")
            else:
                if kind is DocumentStartEvent:
                    self._check_document(start, end)
                elif around:  # the end of a list or mapping
                    inside, key = around.pop()
                continue
            if kind is not AliasEvent and (event.anchor is not None or event.tag is not None):
                self._check_decoration(event, start, end)
            if isinstance(inside, list):
                inside.append(node)
            elif key is None:
                key = node
            else:
                if isinstance(key, Scalar) and key.value not in inside:
                    inside[key.value] = (key, node)
                else:
                    self._refuse(key, inside)
                key = None
            if not isinstance(node, Scalar):
                if len(around) >= MAX_DEPTH:
                    self._fault(Code.MT105, f"nested more than {MAX_DEPTH} levels deep", start, start + 1, "")
                    raise _EnoughError
                around.append((inside, key))
                inside, key = node.entries if isinstance(node, Mapping) else node.items, None

    def _check_document(self, start: int, end: int) -> None:
        if self.documents:
            self._fault(Code.MT103, "a second document: a file has one list of operators", start, end, "")
            raise _EnoughError

    def _fault(self, code: Code, message: str, start: int, end: int, hint: str) -> None:
        self._note(Diagnostic(code, message, Span(self.source, start, max(1, end - start)), hint))

    def _note(self, fault: Diagnostic) -> None:
        self.diagnostics.append(fault)
        if len(self.diagnostics) >= MOST_FINDINGS:
            raise _EnoughError

    def _check_decoration(self, event: Any, start: int, end: int) -> None:
        if event.anchor is not None:
            length = len(event.anchor) + 1
            at = self.source.text.find(f"&{event.anchor}", start)
            at = start if at < 0 else at
            self._fault(
                Code.MT104, f"anchors are not supported: `&{event.anchor}`", at, at + length, "write the value out"
            )
        if event.tag is not None:
            hint = "remove it: types follow from the key"
            self._fault(Code.MT104, f"tags are not supported: `{event.tag}`", start, max(end, start + 1), hint)

    def _refuse(self, key: Node, entries: _Entries) -> None:
        """Note a key that cannot be, or is there already."""
        if not isinstance(key, Scalar):
            self._fault(Code.MT106, f"a key must be a name, not a {key.kind}", key.start, key.start + 1, "")
            return
        related = (Related(entries[key.value][0].span, "first given here"),)
        message = f"the key `{key.value}` is given twice"
        self._note(Diagnostic(Code.MT102, message, key.span, "remove one of them", related=related))
