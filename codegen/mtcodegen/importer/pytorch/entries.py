"""Reading the entries of a YAML list: typed values of known keys, and a finding for everything else."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

import opschema
from mtcodegen.document.nodes import Mapping, Node, Scalar, Sequence
from mtcodegen.entries.parse import schema_fault
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import Diagnostic, Related, suggest
from mtcodegen.findings.source import Span, Text

__all__ = ["DEVICE_CHECKS", "VARIANTS", "EntryReader", "shown", "shown_values", "split_names"]

DEVICE_CHECKS = ("NoCheck", "ExactSame")
VARIANTS = ("function", "method")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_FUNCTION = re.compile(r"(?:[A-Za-z_]\w*::)*[A-Za-z_]\w*", re.ASCII)
_BOOLS = {"true": True, "false": False}
_NULLS = ("", "~", "null", "Null", "NULL")


def split_names(text: str) -> tuple[str, ...]:
    """``"a, b"`` -> ``("a", "b")``."""
    return tuple(map(str.strip, text.split(",")))


def shown(node: Node) -> str:
    """A value on one line, as YAML could have it."""
    if isinstance(node, Scalar):
        return " ".join(node.value.split())
    if isinstance(node, Sequence):
        return f"[{', '.join(map(shown, node.items))}]"
    return f"{{{', '.join(f'{name}: {shown(value)}' for name, (_, value) in node.entries.items())}}}"


def shown_values(node: Mapping, keys: Iterable[str]) -> dict[str, str]:
    """The values of those of ``keys`` that there are, each on one line."""
    return {name: shown(node.entries[name][1]) for name in keys if name in node.entries}


class EntryReader:
    """Reads values and keeps what it finds wrong with them in ``diagnostics``."""

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []

    def fault(self, code: Code, message: str, node: Node | Text, hint: str = "", *related: Related) -> None:
        """Note a fault of a whole node."""
        self.diagnostics.append(Diagnostic(code, message, node.span, hint, related=related))

    def fault_in(self, node: Scalar, code: Code, message: str, part: str, hint: str = "", *related: Related) -> None:
        """Note a fault of ``part``, a word of the scalar's text."""
        self.diagnostics.append(Diagnostic(code, message, part_span(node, part), hint, related=related))

    def items(self, document: Node | None, what: str) -> Iterator[Mapping]:
        """The mappings of a list."""
        if document is None or (isinstance(document, Scalar) and document.value in _NULLS):
            return
        if not isinstance(document, Sequence):
            self.fault(Code.MT112, f"{what} is a list of entries, and this is a {document.kind}", document)
            return
        for item in document.items:
            if isinstance(item, Mapping):
                yield item
            else:
                self.fault(Code.MT112, f"an entry is a mapping, and this is a {item.kind}", item)

    def check_keys(self, node: Mapping, known: Collection[str], required: Collection[str]) -> bool:
        """Note every key that is not ``known``, and those of ``required`` that are missing."""
        for name, (key, _) in node.entries.items():
            if name not in known:
                self.fault(Code.MT110, f"unknown key `{name[:60]}`", key, suggest(name, known))
        missing = [name for name in required if name not in node.entries]
        for name in missing:
            self.fault(Code.MT111, f"`{name}` is missing", node)
        return not missing

    def scalar(self, node: Mapping, key: str) -> Scalar | None:
        """The text of a key, None where it is absent or not a text."""
        value = node.get(key)
        if value is None or isinstance(value, Scalar):
            return value
        self.fault(Code.MT112, f"`{key}` is a text, and this is a {value.kind}", value)
        return None

    def text(self, node: Mapping, key: str) -> str:
        """The text of a key, empty where it is absent."""
        value = self.scalar(node, key)
        return "" if value is None else value.value

    def flag(self, node: Mapping, key: str, default: bool = False) -> bool:
        """``True`` or ``False``."""
        value = self.scalar(node, key)
        if value is None:
            return default
        found = _BOOLS.get(value.value.lower()) if not value.style else None
        if found is None:
            self.fault(Code.MT112, f"`{key}` is `True` or `False`, and not `{value.value[:60]}`", value)
            return default
        return found

    def scalars(self, node: Node | None, what: str) -> tuple[Scalar, ...]:
        """A text or a list of texts, as a list."""
        if node is None:
            return ()
        if isinstance(node, Scalar):
            return (node,)
        if isinstance(node, Mapping):
            self.fault(Code.MT112, f"`{what}` is a list, and this is a mapping", node)
            return ()
        for item in node.items:
            if not isinstance(item, Scalar):
                self.fault(Code.MT112, f"an element of `{what}` is a text, and this is a {item.kind}", item)
        return tuple(item for item in node.items if isinstance(item, Scalar))

    def names(self, node: Mapping, key: str) -> tuple[str, ...]:
        """Names from a list, or from a text with commas between them."""
        return tuple(name for item in self.scalars(node.get(key), key) for name in split_names(item.value))

    def choices(self, node: Mapping, key: str, allowed: tuple[str, ...]) -> tuple[str, ...]:
        """Names out of ``allowed``."""
        value = self.scalar(node, key)
        names = () if value is None else split_names(value.value)
        for name in names:
            if value is not None and name not in allowed:
                hint = suggest(name, allowed) or f"one of {', '.join(allowed)}"
                self.fault_in(value, Code.MT113, f"`{key}` cannot be `{name[:60]}`", name, hint)
        return names

    def tags(self, node: Mapping) -> tuple[str, ...]:
        """The names of ``tags``."""
        found = self.names(node, "tags")
        for name in found:
            if not _NAME.fullmatch(name):
                self.fault(Code.MT114, f"`{name[:60]}` is not the name of a tag", node.entries["tags"][1])
        return found

    def is_function(self, node: Scalar) -> bool:
        """Whether a text is the name of a C++ function; a fault where it is not."""
        if _FUNCTION.fullmatch(node.value):
            return True
        self.fault(Code.MT114, f"`{node.value[:60]}` is not the name of a C++ function", node)
        return False

    def schema(self, node: Scalar) -> opschema.Schema | None:
        """The schema that a text holds."""
        try:
            return opschema.parse_schema(node.value)
        except opschema.SchemaError as error:
            self.diagnostics.append(schema_fault(node, error))
            return None

    def duplicate(self, text: Text, name: str, first: Text) -> None:
        """Note an entry that is there already, at both places."""
        message, hint = f"`{name}` is declared twice", "remove one of them"
        self.fault(Code.MT120, message, text, hint, Related(first.span, "first declared here"))


def part_span(node: Scalar, part: str) -> Span:
    """Where ``part``, a word of a scalar's text, stands: not within a longer word."""
    found = re.search(rf"(?<![\w.]){re.escape(part)}(?![\w.])", node.value)
    return node.locate(found.start() if found else max(node.value.find(part), 0), max(len(part), 1))
