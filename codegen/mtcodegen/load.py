"""YAML events to marked nodes.

Read from events, not with a constructor: every key and value keeps its place, nothing in a file can make an object
or run code, and neither depth nor aliases cost more than the file is long.
"""

from __future__ import annotations

import pathlib
import stat
from collections.abc import Callable
from typing import Any

from mtcodegen.diagnostics import MOST_FINDINGS, Diagnostic, Related
from mtcodegen.source import Mapping, Node, Scalar, Sequence, Source, Span

__all__ = ["MAX_BYTES", "MAX_DEPTH", "load", "read"]

MAX_BYTES = 16 << 20  # of a file: twenty times PyTorch's
MAX_DEPTH = 32  # levels of lists and mappings; the language needs seven


def read(path: pathlib.Path, name: str) -> tuple[Source | None, list[Diagnostic]]:
    """The file's text; ``name`` is how the user named the file."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):  # a pipe may never end
            return None, [Diagnostic("MT101", "cannot be read: it is not a regular file", None, path=name)]
        if status.st_size > MAX_BYTES:
            message = f"cannot be read: it has {status.st_size >> 20} MiB, more than {MAX_BYTES >> 20}"
            return None, [Diagnostic("MT101", message, None, hint="split the file", path=name)]
        data = path.read_bytes()
    except OSError as error:
        return None, [Diagnostic("MT101", f"cannot be read: {error.strerror or error}", None, path=name)]
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", "replace")
        line = before.count("\n") + 1
        message = f"is not UTF-8: byte 0x{data[error.start]:02x} on line {line}"
        return None, [Diagnostic("MT101", message, None, hint="save the file as UTF-8", path=name)]
    return Source(name, text), []


def load(source: Source) -> tuple[Node | None, list[Diagnostic]]:
    """The file's one document as nodes, or what keeps it from being read."""
    import yaml

    builder = _Builder(source)
    take, found = builder.handlers.get, builder.diagnostics  # a large file has 40,000 events
    try:
        next_event = _parser(source.text).get_event
        while (event := next_event()) is not None:
            handle = take(event.__class__)
            if handle is not None and (handle(event) is False or len(found) >= MOST_FINDINGS):
                break
    except yaml.reader.ReaderError as error:
        return None, [_reader_fault(source, error)]
    except yaml.MarkedYAMLError as error:
        return None, [*builder.diagnostics, _syntax_fault(source, error)]
    return builder.result()


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
        "MT101", f"a character that YAML does not allow: {source.text[bad : bad + 1]!r}", Span(source, bad)
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
    return Diagnostic("MT101", f"not YAML: {error.problem}{context}", Span(source, offset), hint)


class _Builder:
    """Puts nodes together from events, with a stack of the open lists and mappings instead of recursion."""

    def __init__(self, source: Source) -> None:
        import yaml

        self.source = source
        self.diagnostics: list[Diagnostic] = []
        self.documents: list[Node] = []
        self._open: Sequence | Mapping | None = None
        self._key: Node | None = None  # of the open mapping, which waits for its value
        self._around: list[tuple[Sequence | Mapping | None, Node | None]] = []  # the nodes around it, and their keys
        # What takes an event, by its class; False stops the reading.
        self.handlers: dict[type, Callable[[Any], bool | None]] = {
            yaml.ScalarEvent: self._scalar,
            yaml.AliasEvent: self._alias,
            yaml.SequenceStartEvent: self._sequence,
            yaml.MappingStartEvent: self._mapping,
            yaml.SequenceEndEvent: self._close,
            yaml.MappingEndEvent: self._close,
            yaml.DocumentStartEvent: self._document,
        }

    def result(self) -> tuple[Node | None, list[Diagnostic]]:
        if not self.documents or self.diagnostics:
            return None, self.diagnostics or [
                Diagnostic("MT103", "the file is empty: a list of operators was expected", Span(self.source, 0))
            ]
        return self.documents[0], []

    def _scalar(self, event: Any) -> None:
        mark, end, style = event.start_mark, event.end_mark.index, event.style or ""
        if event.anchor is not None or event.tag is not None:
            self._check_decoration(event, mark.index, end)
        style = "" if style == ":" else style
        self._place(Scalar(self.source, mark.index, end, mark.line + 1, event.value, style))

    def _alias(self, event: Any) -> None:
        mark, end = event.start_mark, event.end_mark.index
        self._fault("MT104", f"aliases are not supported: `*{event.anchor}`", mark.index, end, "write the value out")
        self._place(Scalar(self.source, mark.index, end, mark.line + 1, "", ""))

    def _sequence(self, event: Any) -> bool:
        mark, end = event.start_mark, event.end_mark.index
        self._check_decoration(event, mark.index, end)
        return self._enter(Sequence(self.source, mark.index, end, mark.line + 1, []))

    def _mapping(self, event: Any) -> bool:
        mark, end = event.start_mark, event.end_mark.index
        self._check_decoration(event, mark.index, end)
        return self._enter(Mapping(self.source, mark.index, end, mark.line + 1, {}))

    def _close(self, event: Any) -> None:
        del event
        self._open, self._key = self._around.pop()

    def _document(self, event: Any) -> bool:
        if self.documents:
            start, end = event.start_mark.index, event.end_mark.index
            self._fault("MT103", "a second document: a file has one list of operators", start, end, "")
        return not self.documents

    def _fault(self, code: str, message: str, start: int, end: int, hint: str) -> None:
        self.diagnostics.append(Diagnostic(code, message, Span(self.source, start, max(1, end - start)), hint))

    def _check_decoration(self, event: Any, start: int, end: int) -> None:
        if event.anchor is not None:
            length = len(event.anchor) + 1
            at = self.source.text.find(f"&{event.anchor}", start)
            at = start if at < 0 else at
            self._fault(
                "MT104", f"anchors are not supported: `&{event.anchor}`", at, at + length, "write the value out"
            )
        if event.tag is not None:
            hint = "remove it: types follow from the key"
            self._fault("MT104", f"tags are not supported: `{event.tag}`", start, max(end, start + 1), hint)

    def _enter(self, node: Sequence | Mapping) -> bool:
        if len(self._around) >= MAX_DEPTH:
            self._fault("MT105", f"nested more than {MAX_DEPTH} levels deep", node.start, node.start + 1, "")
            return False
        self._place(node)
        self._around.append((self._open, self._key))
        self._open, self._key = node, None
        return True

    def _place(self, node: Node) -> None:
        parent, key = self._open, self._key
        if isinstance(parent, Mapping):
            if key is None:
                self._key = node
                return
            self._key = None
            if isinstance(key, Scalar) and key.value not in parent.entries:
                parent.entries[key.value] = (key, node)
            else:
                self._refuse(key, parent)
        elif parent is not None:
            parent.items.append(node)
        else:
            self.documents.append(node)

    def _refuse(self, key: Node, parent: Mapping) -> None:
        """Note a key that cannot be, or is there already."""
        if not isinstance(key, Scalar):
            self._fault("MT103", f"a key must be a name, not a {key.kind}", key.start, key.start + 1, "")
            return
        related = (Related(parent.entries[key.value][0].span, "first given here"),)
        message = f"the key `{key.value}` is given twice"
        self.diagnostics.append(Diagnostic("MT102", message, key.span, "remove one of them", related=related))
