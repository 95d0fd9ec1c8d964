"""Imported operators as a package of modules, two of them made at a time."""

from __future__ import annotations

import pathlib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from mtcodegen.entries.variants import functional_name
from mtcodegen.expr import OperatorTable
from mtcodegen.findings.diagnostics import Diagnostic
from mtcodegen.importer.lower import lower
from mtcodegen.importer.model import Imported, Note
from mtcodegen.system.parallel import in_two_processes
from mtcodegen.system.values import dataclass
from mtcodegen.targets.mindtorch import of_file
from mtcodegen.targets.render import load_templates, render_package

__all__ = ["MOST", "Modules", "make_modules"]

MOST = 1300  # operators of a module: one with more is slow to import and to edit


@dataclass(frozen=True, eq=False)
class Modules:
    """The files by name, what could not be carried over, and what the generator has against the operators."""

    files: dict[str, str]
    notes: tuple[Note, ...]
    refused: tuple[Diagnostic, ...]


def make_modules(
    operators: Sequence[Imported],
    namespace: str,
    table: OperatorTable,
    path: pathlib.Path,
    folder: pathlib.Path,
    left_out: Sequence[Note] = (),
) -> Modules:
    """The modules of ``operators``, as if ``path``, the imported file, were in our language.

    ``left_out`` are notes on what is in none of them.
    """
    parts = _parts(operators)
    names = [path.stem if len(parts) == 1 else f"{path.stem}_{i + 1}" for i in range(len(parts))]
    pieces = [partial(_module, namespace, table, path, folder, *part) for part in zip(names, parts, strict=True)]
    load_templates()
    made = in_two_processes(_call, pieces)
    package = {} if len(parts) == 1 else {"__init__.py": render_package(path.name, names)}
    return Modules(
        {name: text for item in made for name, text in item.files.items()} | package,
        (*(note for item in made for note in item.notes), *left_out),
        tuple(fault for item in made for fault in item.refused),
    )


def _parts(operators: Sequence[Imported]) -> list[list[Imported]]:
    """Parts of nearly equal size, in the order of the file; overloads share a name, and stay in one module."""
    overloads = Counter(_base(operator) for operator in operators)
    size = -(-len(operators) // max(1, -(-len(operators) // MOST)))
    parts: list[list[Imported]] = [[]]
    placed: dict[tuple[str | None, str], list[Imported]] = {}
    room = size
    for operator in operators:
        base = _base(operator)
        if base not in placed:
            if room <= 0:
                parts.append([])
                room = size
            placed[base] = parts[-1]
            room -= overloads[base]
        placed[base].append(operator)
    return parts


def _base(operator: Imported) -> tuple[str | None, str]:
    """The name that an operator shares with its overloads and its variants, which go to the same module."""
    return operator.schema.namespace, functional_name(operator.schema)


def _call(piece: Callable[[], Modules]) -> Modules:
    return piece()


def _module(
    namespace: str,
    table: OperatorTable,
    path: pathlib.Path,
    folder: pathlib.Path,
    name: str,
    operators: list[Imported],
) -> Modules:
    file, refused = lower(operators, path.name, namespace, table)
    files = {} if refused else of_file(file, path.with_name(f"{name}.yaml"), folder)
    notes = tuple(note for operator in operators for note in operator.notes)
    return Modules(files, notes, tuple(refused))
