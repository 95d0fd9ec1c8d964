"""One import: which form a file has, what is read from it, and the text that is made."""

from __future__ import annotations

import fnmatch
import pathlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import opschema
from mtcodegen.document.load import read_document
from mtcodegen.document.nodes import Mapping, Node
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import Diagnostic, in_source_order, suggest
from mtcodegen.importer.executorch import ExecutorchReader, is_executorch
from mtcodegen.importer.gradients import DerivativeTable
from mtcodegen.importer.lower import schema_table, settle
from mtcodegen.importer.model import Imported, Note
from mtcodegen.importer.native import import_native
from mtcodegen.importer.op_plugin import OpPluginReader, is_op_plugin, newest_derivatives
from mtcodegen.importer.op_project import is_op_project, read_op_project
from mtcodegen.importer.pytorch import (
    NativeFunction,
    check_derivatives,
    read_derivatives,
    read_native_functions,
    words_of,
)
from mtcodegen.system.values import dataclass

if TYPE_CHECKING:
    from mtcodegen.importer.modules import Modules

__all__ = ["Import", "import_files"]

_PYTORCH, _PROJECT = "aten", "npu"  # namespaces


@dataclass(frozen=True, eq=False)
class Import:
    """What was read, and what is wrong with the files (then nothing was read)."""

    diagnostics: tuple[Diagnostic, ...]
    namespace: str = ""
    sources: tuple[str, ...] = ()
    imported: tuple[Imported, ...] = ()
    left_out: tuple[Note, ...] = ()  # the notes on what is not among them

    @property
    def operators(self) -> int:
        """How many operators were imported."""
        return len(self.imported)

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """What could not be carried over: also what the generator has against a formula, which is withdrawn."""
        settle(self.imported, self.namespace, schema_table(self.imported, self.namespace))
        return (*(note for operator in self.imported for note in operator.notes), *self.left_out)

    @property
    def text(self) -> str:
        """A file in our language, with the notes as comments; empty where nothing was read."""
        from mtcodegen.importer.render import render

        notes = self.notes  # computed first: it withdraws formulas with faults
        return render(self.imported, self.namespace, self.sources, self.left_out) if notes or self.sources else ""

    def modules(self, path: pathlib.Path, folder: pathlib.Path) -> Modules:
        """The modules of the operators, as if ``path``, the imported file, were in our language."""
        from mtcodegen.importer.modules import make_modules

        table = schema_table(self.imported, self.namespace)
        return make_modules(self.imported, self.namespace, table, path, folder, self.left_out)


def import_files(
    path: pathlib.Path,
    *,
    derivatives: pathlib.Path | None = None,
    schemas: pathlib.Path | None = None,
    select: Sequence[str] = (),
    namespace: str = "aten",
    kernels: str = "",
) -> Import:
    """Import ``path``, with gradients from ``derivatives``.

    ``schemas`` is a native_functions.yaml, for entries that only name their operator. ``select`` are names,
    ``name.overload`` or patterns, none for all. ``kernels`` is the Python module that will have the kernels; without it
    the operators have none.
    """
    if is_op_project(path):
        return _op_project(path, select, namespace)
    document, found = read_document(path)
    if isinstance(document, Mapping) and "ops" in document.entries:
        hint = "nothing needs to be imported: run `mtcodegen` on it"
        key = document.entries["ops"][0]
        return Import((*found, Diagnostic(Code.MT112, "this file is in mtcodegen's own form", key.span, hint)))
    functions: list[NativeFunction] = []
    native = document is not None and not is_op_plugin(document) and not is_executorch(document)
    if native:
        functions, faults = read_native_functions(document)
        found += faults
    elif schemas is not None:
        listed, faults = read_document(schemas)
        found += faults
        functions, faults = read_native_functions(listed)
        found += faults
    table, notes, faults = _derivatives(derivatives, functions if native else None)
    found += faults
    if native:
        by_name = {function.schema.qualname: function for function in functions}
        operators, left_out = import_native(_selected(functions, select), by_name, table, kernels)
    else:
        operators, left_out, faults = _others(document, functions, table, kernels)
        found += faults
        operators = [item for item in operators if _matches(item, select)]
    if document is not None and select:
        schemas_there = [item.schema for item in functions] if native else [item.schema for item in operators]
        found += _missing(schemas_there, select, path)
    if found:
        paths = [str(item) for item in (path, derivatives, schemas) if item is not None]
        return Import(tuple(in_source_order(found, paths)))
    sources = tuple(item.name for item in (path, derivatives) if item is not None)
    return Import((), namespace, sources, tuple(operators), (*left_out, *notes))


def _op_project(path: pathlib.Path, select: Sequence[str], namespace: str) -> Import:
    operators, found = read_op_project(path)
    chosen = [item for item in operators if _matches(item, select)]
    if select and not found:
        found += _missing([item.schema for item in operators], select, path)
    if found:
        return Import(tuple(in_source_order(found, [str(path)])))
    # No operator of a project is one of PyTorch's own.
    return Import((), _PROJECT if namespace == _PYTORCH else namespace, (path.name,), tuple(chosen))


def _derivatives(
    path: pathlib.Path | None, functions: list[NativeFunction] | None
) -> tuple[DerivativeTable, list[Note], list[Diagnostic]]:
    """The gradients of a file: for ``functions``, or of operators that no file here declares."""
    if path is None:
        return DerivativeTable(()), [], []
    document, found = read_document(path)
    document, notes = newest_derivatives(document)
    entries, faults = read_derivatives(document, functions)
    found += faults
    if functions is not None:
        found += check_derivatives(entries, words_of(functions))
    return DerivativeTable(entries), notes, found


def _others(
    document: Node | None, functions: Iterable[NativeFunction], table: DerivativeTable, kernels: str
) -> tuple[list[Imported], list[Note], list[Diagnostic]]:
    if is_op_plugin(document):
        plugin = OpPluginReader(table, kernels)
        operators = plugin.operators(document)
        left_out = [*plugin.left_out, *table.unused(item.schema for item in operators)]
        return operators, left_out, plugin.diagnostics
    schemas = {function.schema.qualname: function.schema for function in functions}
    reader = ExecutorchReader(schemas, table, kernels)
    operators = reader.operators(document)
    return operators, reader.left_out, reader.diagnostics


def _missing(schemas: Iterable[opschema.Schema], select: Sequence[str], path: pathlib.Path) -> list[Diagnostic]:
    """A finding for each name or pattern of the selection that matches no operator."""
    offered = [(schema.name, schema.overload) for schema in schemas]
    missing = [pattern for pattern in select if not any(_is_selected(*item, [pattern]) for item in offered)]
    known = {text for name, overload in offered for text in (name, f"{name}.{overload}" if overload else name)}
    return [
        Diagnostic(Code.MT607, f"no operator is called `{name}`", None, suggest(name, known), path=str(path))
        for name in missing
    ]


def _selected(functions: Iterable[NativeFunction], select: Sequence[str]) -> list[NativeFunction]:
    return [item for item in functions if _is_selected(item.schema.name, item.schema.overload, select)]


def _matches(operator: Imported, select: Sequence[str]) -> bool:
    return _is_selected(operator.schema.name, operator.schema.overload, select)


def _is_selected(name: str, overload: str, select: Sequence[str]) -> bool:
    full = f"{name}.{overload}" if overload else name
    return not select or any(fnmatch.fnmatchcase(full, item) or item == name for item in select)
