"""The operators that a formula may call: those of this run's files, and the built-in ones."""

from __future__ import annotations

import functools
import pathlib
import re
from collections.abc import Iterable, Set

import opschema
from mtcodegen.expr import OperatorTable
from mtcodegen.model import OpSpec
from mtcodegen.paths import data_folder

__all__ = ["operator_table", "table_of"]

# The built-in files have been checked themselves: their schemas are picked out of the text, which is much cheaper than
# reading all of YAML for the few operators that a formula calls.
_FUNC = re.compile(r"""^\s*(?:-\s+)?func:\s*["']?(.+?)["']?\s*$""", re.MULTILINE)
_NAMESPACE = re.compile(r"^namespace:\s*(\w+)", re.MULTILINE)


def operator_table(specs: Iterable[OpSpec], own_files: Set[pathlib.Path]) -> OperatorTable:
    """Schemas of ``specs``, and of the built-in operators outside ``own_files`` where a formula could need them."""
    specs = list(specs)
    schemas = {}
    if any(spec.backward is not None or spec.examples or _is_composed(spec) for spec in specs):
        schemas = _built_in(own_files)
    return OperatorTable(schemas | {spec.schema.qualname: spec.schema for spec in specs})


def table_of(schemas: Iterable[opschema.Schema]) -> OperatorTable:
    """``schemas``, and those of the built-in operators."""
    return OperatorTable(_built_in(set()) | {schema.qualname: schema for schema in schemas})


def _is_composed(spec: OpSpec) -> bool:
    return any("compute" in kernel.node.entries for kernel in spec.kernels)


def _built_in(own_files: Set[pathlib.Path]) -> dict[str, opschema.Schema]:
    schemas: dict[str, opschema.Schema] = {}
    for path in sorted(data_folder("ops_yaml").glob("*.yaml")):
        if path.resolve() not in own_files:
            schemas |= _schemas_in(path)
    return schemas


def _schemas_in(path: pathlib.Path) -> dict[str, opschema.Schema]:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    return _schemas_of(text)


@functools.lru_cache(maxsize=64)  # whoever checks file after file in one process reads the built-in ones once
def _schemas_of(text: str) -> dict[str, opschema.Schema]:
    found = _NAMESPACE.search(text)
    prefix = f"{found[1]}::" if found else ""
    schemas = {}
    for match in _FUNC.finditer(text):
        func = match[1]
        try:
            schema = opschema.parse_schema(func if "::" in func.partition("(")[0] else prefix + func)
        except opschema.SchemaError:
            continue  # the built-in files' own run says what is wrong with it
        schemas[schema.qualname] = schema
    return schemas
