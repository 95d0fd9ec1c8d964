"""Imported operators as a package of modules, two of them made at a time."""

from __future__ import annotations

import pathlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from mtcodegen.entries.model import File
from mtcodegen.entries.variants import expand, functional_name
from mtcodegen.expr import OperatorTable
from mtcodegen.findings.diagnostics import Diagnostic
from mtcodegen.importer.lower import lower
from mtcodegen.importer.model import Imported, Note
from mtcodegen.importer.pytorch import PendingDerivatives
from mtcodegen.system.parallel import in_two_processes

__all__ = ["MOST", "Modules", "make_modules"]

MOST = 1300  # operators of a module: one with more is slow to import and to edit


@dataclass(frozen=True, eq=False)
class Modules:
    """The files by name, what could not be carried over, and what the generator has against the operators.

    ``faults`` are those of formulas that were not checked before the modules were made.
    """

    files: dict[str, str]
    notes: tuple[Note, ...]
    refused: tuple[Diagnostic, ...]
    faults: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, eq=False)
class _Part:
    """A module to be made, and the operators whose formulas are checked with it."""

    name: str
    operators: list[Imported]
    checked: frozenset[str]


def make_modules(
    operators: Sequence[Imported],
    namespace: str,
    table: OperatorTable,
    path: pathlib.Path,
    folder: pathlib.Path,
    unchecked: PendingDerivatives | None = None,
    left_out: Callable[[], Sequence[Note]] = tuple,
) -> Modules:
    """The modules of ``operators``, as if ``path``, the imported file, were in our language.

    ``left_out`` gives the notes on what is in none of them.
    """
    parts = _with_names(_parts(operators), path.stem, unchecked)
    pieces = [partial(_module, namespace, table, path, folder, unchecked, part) for part in parts]
    if len(parts) > 1:
        made = in_two_processes(_call, [*pieces, partial(_package, path, parts, left_out)])
    else:
        made = [*map(_call, pieces), Modules({}, tuple(left_out()), ())]
    return Modules(
        {name: text for item in made for name, text in item.files.items()},
        tuple(note for item in made for note in item.notes),
        tuple(fault for item in made for fault in item.refused),
        tuple(fault for item in made for fault in item.faults),
    )


def _with_names(parts: list[list[Imported]], stem: str, unchecked: PendingDerivatives | None) -> list[_Part]:
    """Each formula is checked with the module of its operator, or with the last one where that is in none."""
    rest = set() if unchecked is None else {*unchecked.names}
    found = []
    for i, part in enumerate(parts):
        own = rest & {operator.schema.qualname for operator in part} if i < len(parts) - 1 else rest
        rest = rest - own
        found.append(_Part(stem if len(parts) == 1 else f"{stem}_{i + 1}", part, frozenset(own)))
    return found


def _parts(operators: Sequence[Imported]) -> list[list[Imported]]:
    """As equal as can be, in the order of the file; overloads share a name in their module, so they stay together."""
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
    """What its variants share with it, too: an in-place operator may ask for the functional one."""
    return operator.schema.namespace, functional_name(operator.schema)


def _call(piece: Callable[[], Modules]) -> Modules:
    return piece()


def _package(path: pathlib.Path, parts: Sequence[_Part], left_out: Callable[[], Sequence[Note]]) -> Modules:
    from mtcodegen.targets.render import render_package

    files = {"__init__.py": render_package(path.name, [part.name for part in parts])}
    return Modules(files, tuple(left_out()), ())


def _module(
    namespace: str,
    table: OperatorTable,
    path: pathlib.Path,
    folder: pathlib.Path,
    unchecked: PendingDerivatives | None,
    part: _Part,
) -> Modules:
    from mtcodegen.targets.mindtorch import of_file

    faults = [] if unchecked is None else unchecked.faults(part.checked)
    specs, refused = lower(part.operators, namespace, table)
    file, more = expand(File(path.name, specs))
    refused += more
    files = {} if refused or faults else of_file(file, path.with_name(f"{part.name}.yaml"), folder)
    notes = tuple(note for operator in part.operators for note in operator.notes)
    return Modules(files, notes, tuple(refused), tuple(faults))
