"""Changes to a YAML file's text that take away one entry, and leave the rest as it was written."""

from __future__ import annotations

from mtcodegen.document.format import end_of, first_offset, is_flow
from mtcodegen.document.nodes import Mapping, Sequence
from mtcodegen.system.values import dataclass

__all__ = ["Edit", "apart", "apply_edits", "remove_entry", "remove_item"]


@dataclass(frozen=True)
class Edit:
    """``text[start:end]`` becomes ``new``."""

    start: int
    end: int
    new: str = ""


def apart(edits: list[Edit]) -> list[Edit]:
    """The edits in order; of those that overlap, only the first one."""
    result: list[Edit] = []
    for edit in sorted(edits, key=lambda edit: (edit.start, -edit.end)):
        if not result or edit.start >= result[-1].end:
            result.append(edit)
    return result


def apply_edits(text: str, edits: list[Edit]) -> str:
    """The text after edits that are apart."""
    result, position = [], 0
    for edit in edits:
        result += [text[position : edit.start], edit.new]
        position = edit.end
    return "".join([*result, text[position:]])


def remove_entry(node: Mapping, key: str) -> Edit | None:
    """Take a key and its value out of a mapping; None where it is the only one."""
    spans = [(item.start, max(item.end, end_of(value))) for item, value in node.entries.values()]
    return _remove(node, spans, list(node.entries).index(key))


def remove_item(node: Sequence, index: int) -> Edit | None:
    """Take an item out of a list; None where it is the only one."""
    spans = [(first_offset(item), end_of(item)) for item in node.items]
    if not is_flow(node):
        spans = [(node.source.text.rindex("-", 0, start), end) for start, end in spans]
    return _remove(node, spans, index)


def _remove(node: Mapping | Sequence, spans: list[tuple[int, int]], index: int) -> Edit | None:
    if len(spans) == 1:
        return None
    text = node.source.text
    start, end = spans[index]
    if is_flow(node):
        return Edit(start, spans[index + 1][0]) if index + 1 < len(spans) else Edit(spans[index - 1][1], end)
    line = text.rfind("\n", 0, start) + 1
    if text[line:start].strip():  # the first of a block that starts behind a dash
        return Edit(start, spans[index + 1][0]) if index + 1 < len(spans) else None
    stop = text.find("\n", max(start, end - 1))
    return Edit(line, len(text) if stop < 0 else stop + 1)
