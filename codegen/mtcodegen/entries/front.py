"""The stages that look at one file alone: load, validate, parse, and the variants that `autogen` makes."""

from __future__ import annotations

import opschema
from mtcodegen.document.load import load
from mtcodegen.document.nodes import Node
from mtcodegen.entries.model import File
from mtcodegen.entries.parse import parse, schemas_of
from mtcodegen.entries.validate import validate
from mtcodegen.entries.variants import expand, renamed, variant_named
from mtcodegen.findings.diagnostics import Diagnostic
from mtcodegen.findings.source import Source

__all__ = ["declared_schemas", "parse_source"]


def parse_source(source: Source) -> tuple[Node | None, File | None, list[Diagnostic]]:
    """One file's nodes and operators, variants too, with formulas as written; or what is wrong with it."""
    node, found = load(source)
    if node is not None:
        found = [*found, *validate(node)]
    if node is None or found:
        return node, None, found
    parsed, found = parse(node)
    file, more = expand(parsed)
    return node, file, [*found, *more]


def declared_schemas(source: Source) -> list[opschema.Schema]:
    """The schemas of a file's operators, variants too, and nothing else; those that do not parse are left out."""
    node, _ = load(source)
    found: list[opschema.Schema] = []
    for one in [] if node is None else schemas_of(node):
        bare = [name.removeprefix(f"{one.schema.namespace}::") for name in one.variants]
        variants = [variant_named(one.schema, name, one.published) for name in bare]
        family = [one.schema, *(variant for variant in variants if variant is not None)]
        found += [*family, *(alias for name in one.aliases for alias in renamed(family, name))]
    return found
