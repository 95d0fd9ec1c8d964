"""Files as the model, for commands that look at operators instead of generating them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mtcodegen.check.operators import operator_table
from mtcodegen.check.resolve import duplicates, resolve
from mtcodegen.document.load import read
from mtcodegen.document.nodes import Node
from mtcodegen.entries.front import parse_source
from mtcodegen.entries.model import File
from mtcodegen.findings.diagnostics import Diagnostic, in_source_order
from mtcodegen.targets.target import Input

__all__ = ["Document", "load_inputs"]


@dataclass(frozen=True)
class Document:
    """A file's nodes, and its operators, variants too, with formulas as written: no name in them is looked up."""

    item: Input
    node: Node
    file: File


def load_inputs(inputs: Iterable[Input]) -> tuple[list[Document], list[Diagnostic]]:
    """All files that can be read, and everything that is wrong with any; an operator in a file is as it was written."""
    inputs = list(inputs)
    documents: list[Document] = []
    found: list[Diagnostic] = []
    for item in inputs:
        source, faults = read(item.path, item.name)
        found += faults
        if source is not None:
            node, file, faults = parse_source(source)
            found += faults
            if node is not None and file is not None:
                documents.append(Document(item, node, file))
    table = operator_table(
        (spec for document in documents for spec in document.file.ops), {item.path.resolve() for item in inputs}
    )
    for document in documents:
        found += resolve(document.file, table)[1]
    found += duplicates([document.file for document in documents])
    return documents, in_source_order(found, [item.name for item in inputs])
