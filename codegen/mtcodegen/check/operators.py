"""The operators that a formula may call: those of this run's files, and the built-in ones."""

from __future__ import annotations

import functools
import pathlib
import re
from collections.abc import Iterable, Mapping, Set

import opschema
from mtcodegen.entries.model import OpSpec
from mtcodegen.expr import OperatorTable
from mtcodegen.system.paths import data_folder

__all__ = ["operator_table", "table_of"]

# The built-in files have been checked themselves: their schemas are picked out of the text, which is much cheaper than
# reading all of YAML for the few operators that a formula calls.
_FUNC = re.compile(r"""^\s*(?:-\s+)?func:\s*["']?(.+?)["']?\s*$""", re.MULTILINE)
_NAMESPACE = re.compile(r"^namespace:\s*(\w+)", re.MULTILINE)


def operator_table(specs: Iterable[OpSpec], own_files: Set[pathlib.Path]) -> OperatorTable:
    """Schemas of ``specs``, and of the built-in operators outside ``own_files`` where a formula could need them."""
    specs = list(specs)
    own = {spec.schema.qualname: spec.schema for spec in specs}
    if any(spec.backward is not None or spec.examples or _is_composed(spec) for spec in specs):
        own = _with_built_in(own, own_files)
    return OperatorTable(own)


def table_of(schemas: Iterable[opschema.Schema]) -> OperatorTable:
    """``schemas``, and those of the built-in operators."""
    return OperatorTable(_with_built_in({schema.qualname: schema for schema in schemas}, set()))


def _is_composed(spec: OpSpec) -> bool:
    return any("compute" in kernel.node.entries for kernel in spec.kernels)


def _with_built_in(own: Mapping[str, opschema.Schema], own_files: Set[pathlib.Path]) -> dict[str, opschema.Schema]:
    """The built-in operators, and ``own`` ones, some of which may take their places."""
    schemas: dict[str, opschema.Schema] = {}
    for path in sorted(data_folder("ops_yaml").glob("*.yaml")):
        if own_files and path.resolve() in own_files:
            continue
        for name, func in _declared_in(path).items():
            schema = own.get(name) or _schema(func)
            if schema is not None:
                schemas[name] = schema
    return {**schemas, **own}


def _declared_in(path: pathlib.Path) -> Mapping[str, str]:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    return _declared(text)


@functools.lru_cache(maxsize=64)  # whoever checks file after file in one process reads the built-in ones once
def _declared(text: str) -> Mapping[str, str]:
    """The texts of the schemas in a file by the names of their operators."""
    found = _NAMESPACE.search(text)
    prefix = f"{found[1]}::" if found else ""
    funcs = [match[1] for match in _FUNC.finditer(text)]
    full = [func if "::" in func.partition("(")[0] else prefix + func for func in funcs]
    return {func.partition("(")[0]: func for func in full}


@functools.lru_cache(maxsize=1024)
def _schema(func: str) -> opschema.Schema | None:
    try:
        return opschema.parse_schema(func)
    except opschema.SchemaError:
        return None  # the built-in files' own run says what is wrong with it
