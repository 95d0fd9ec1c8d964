"""The front half, which every command begins with: files read, checked, parsed and resolved."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterable

from mtcodegen.check.operators import operator_table
from mtcodegen.check.resolve import duplicates, resolve
from mtcodegen.document.load import read
from mtcodegen.document.nodes import Node
from mtcodegen.entries.front import parse_source
from mtcodegen.entries.model import File
from mtcodegen.findings.diagnostics import Diagnostic, in_source_order
from mtcodegen.project.sources import missing_sources
from mtcodegen.project.tilings import with_host_tilings
from mtcodegen.system.values import dataclass
from mtcodegen.targets.job import Input

__all__ = ["Document", "load_inputs"]


@dataclass(frozen=True)
class Document:
    """A file's nodes, and its operators, variants too.

    In ``file`` formulas are as they were written: no name in them is looked up. In ``resolved`` all are.
    """

    item: Input
    node: Node
    file: File
    resolved: File


def load_inputs(
    inputs: Iterable[Input], progress: Callable[[str], None] = lambda text: None
) -> tuple[list[Document], list[Diagnostic]]:
    """All files that can be read, each once, and everything that is wrong with any."""
    items = {item.path.resolve(): item for item in inputs}
    parsed: dict[pathlib.Path, tuple[Node, File]] = {}
    found: list[Diagnostic] = []
    for path, item in items.items():
        progress(f"reading {item.name}")
        source, faults = read(item.path, item.name)
        found += faults
        if source is not None:
            node, file, faults = parse_source(source)
            found += faults
            if node is not None and file is not None:
                file, faults = with_host_tilings(file, path.parent)
                found += faults
                parsed[path] = (node, file)
    table = operator_table((spec for _, file in parsed.values() for spec in file.ops), set(items))
    documents = []
    for path, (node, file) in parsed.items():
        progress(f"checking {file.path}")
        resolved, faults = resolve(file, table)
        found += [*faults, *missing_sources(file, path.parent)]
        documents.append(Document(items[path], node, file, resolved))
    found += duplicates([document.file for document in documents])
    return documents, in_source_order(found, [item.name for item in items.values()])
