"""The operators that a formula may call: those of this run's files, and the built-in ones."""

from __future__ import annotations

import hashlib
import json
import pathlib
import sys
from collections.abc import Iterable, Mapping, Set

import opschema
from mtcodegen.document.load import read
from mtcodegen.entries.formulas import composed
from mtcodegen.entries.front import declared_schemas
from mtcodegen.entries.model import OpSpec
from mtcodegen.expr import OperatorTable
from mtcodegen.findings.source import Source
from mtcodegen.system.cache import add_files, keep, kept
from mtcodegen.system.paths import PACKAGE, data_folder

__all__ = ["operator_table", "table_of"]

_FOLDER, _MOST = "schemas", 8  # of the cache; how many are kept


def operator_table(specs: Iterable[OpSpec], own_files: Set[pathlib.Path]) -> OperatorTable:
    """Schemas of ``specs``, and of the built-in operators outside ``own_files`` where a formula could need them."""
    specs = list(specs)
    own = {spec.schema.qualname: spec.schema for spec in specs}
    wanted = any(spec.backward is not None or spec.examples or any(composed(spec)) for spec in specs)
    return OperatorTable(own, _built_in(own_files) if wanted else None)


def table_of(schemas: Iterable[opschema.Schema]) -> OperatorTable:
    """``schemas``, and those of the built-in operators."""
    return OperatorTable({schema.qualname: schema for schema in schemas}, _built_in(set()))


def _built_in(own_files: Set[pathlib.Path]) -> Mapping[str, str]:
    """The schemas of the built-in operators, as text, by qualified name; but for those of some files.

    To read them takes longer than to generate a hundred operators. So they are kept in the user's cache folder under a
    hash of the files, and of the code that makes schemas of them.
    """
    files = [path for path in sorted(data_folder("ops_yaml").rglob("*.yaml")) if path.resolve() not in own_files]
    found = hashlib.sha256(sys.version.encode())
    try:
        add_files(found, [*_readers(), *files])
    except OSError:
        return _declared(files)
    text = kept(_FOLDER, found.hexdigest())
    if text is not None:
        return json.loads(text)  # type: ignore[no-any-return]
    schemas = _declared(files)
    keep(_FOLDER, found.hexdigest(), json.dumps(schemas), _MOST)
    return schemas


def _readers() -> list[pathlib.Path]:
    """The code that makes schemas of the files."""
    folders = [PACKAGE / "document", PACKAGE / "entries", pathlib.Path(opschema.__file__).parent]
    return sorted(path for folder in folders for path in folder.glob("*.py"))


def _declared(files: Iterable[pathlib.Path]) -> dict[str, str]:
    """Read from the files, whose faults are reported when they are checked themselves."""
    schemas: dict[str, str] = {}
    for path in files:
        source = read(path, path.name)[0]
        found = [] if source is None else declared_schemas(Source("", source.text))
        schemas |= {schema.qualname: str(schema) for schema in found}
    return schemas
