"""The operators that a formula may call: those of this run's files, and the built-in ones."""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Iterable, Mapping, Set

import opschema
from mtcodegen.document.load import read
from mtcodegen.entries.formulas import composed
from mtcodegen.entries.front import declared_schemas
from mtcodegen.entries.model import OpSpec
from mtcodegen.expr import OperatorTable
from mtcodegen.findings.source import Source
from mtcodegen.system.paths import data_folder

__all__ = ["operator_table", "table_of"]


def operator_table(specs: Iterable[OpSpec], own_files: Set[pathlib.Path]) -> OperatorTable:
    """Schemas of ``specs``, and of the built-in operators outside ``own_files`` where a formula could need them."""
    specs = list(specs)
    own = {spec.schema.qualname: spec.schema for spec in specs}
    if any(spec.backward is not None or spec.examples or any(composed(spec)) for spec in specs):
        own = {**_built_in(own_files), **own}
    return OperatorTable(own)


def table_of(schemas: Iterable[opschema.Schema]) -> OperatorTable:
    """``schemas``, and those of the built-in operators."""
    return OperatorTable({**_built_in(set()), **{schema.qualname: schema for schema in schemas}})


def _built_in(own_files: Set[pathlib.Path]) -> dict[str, opschema.Schema]:
    schemas: dict[str, opschema.Schema] = {}
    for path in sorted(data_folder("ops_yaml").rglob("*.yaml")):
        if path.resolve() not in own_files:
            source = read(path, path.name)[0]
            schemas |= {} if source is None else _declared(source.text)
    return schemas


@functools.lru_cache(maxsize=64)  # `watch` checks again and again in one process
def _declared(text: str) -> Mapping[str, opschema.Schema]:
    """The schemas in a built-in file by qualified name. Its faults are reported when that file itself is checked."""
    return {schema.qualname: schema for schema in declared_schemas(Source("", text))}
