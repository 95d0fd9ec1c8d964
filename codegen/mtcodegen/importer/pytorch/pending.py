"""derivatives.yaml read and checked entry by entry, when an operator asks for its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from mtcodegen.document.nodes import Mapping, Node, Scalar
from mtcodegen.findings.diagnostics import Diagnostic
from mtcodegen.importer.pytorch.check import check_derivatives
from mtcodegen.importer.pytorch.derivatives import Derivatives, entries_reader
from mtcodegen.importer.pytorch.native import NativeFunction
from mtcodegen.importer.pytorch.scope import words_of

__all__ = ["PendingDerivatives"]


class PendingDerivatives:
    """The entries for ``functions`` by operator. Two processes that fork can each read their own."""

    def __init__(self, document: Node | None, functions: Sequence[NativeFunction]) -> None:
        self._reader = entries_reader(functions)
        self._words = words_of(functions)
        self._nodes: dict[str, Mapping] = {}
        self._read: dict[str, tuple[Derivatives | None, list[Diagnostic]]] = {}
        self._found: list[Diagnostic] = []
        declared = {function.func.value: function.schema.qualname for function in functions}
        for node in self._reader.items(document, "derivatives.yaml"):
            text = node.get("name")
            name = declared.get(text.value) if isinstance(text, Scalar) else None
            if name is None or name in self._nodes:
                self._take_odd(node)
            else:
                self._nodes[name] = node
        self._found += self._reader.diagnostics

    def _take_odd(self, node: Mapping) -> None:
        """An entry for an operator that is not declared, which `autogen` may make, or has an entry already."""
        entry, faults = self._checked(node)
        self._found += faults
        if entry is None:
            return
        name = entry.schema.qualname
        if name in self._nodes:
            first = self._nodes[name].get("name")
            self._reader.duplicate(entry.name, name, first if isinstance(first, Scalar) else entry.name)
        else:
            self._nodes[name], self._read[name] = node, (entry, [])

    @property
    def names(self) -> Collection[str]:
        """The operators that there are entries for."""
        return self._nodes.keys()

    @property
    def is_faulty(self) -> bool:
        """Whether something is wrong with the file that no entry has to be read for."""
        return bool(self._found)

    def get(self, name: str) -> Derivatives | None:
        """The entry for an operator; None where there is none, or one that cannot be read."""
        return self._entry(name)[0]

    def faults(self, names: Iterable[str]) -> list[Diagnostic]:
        """What is wrong with the entries for some operators."""
        return [fault for name in names for fault in self._entry(name)[1]]

    def all_faults(self) -> list[Diagnostic]:
        """What is wrong with the file."""
        return [*self._found, *self.faults(self.names)]

    def _entry(self, name: str) -> tuple[Derivatives | None, list[Diagnostic]]:
        if name not in self._nodes:
            return None, []
        if name not in self._read:
            self._read[name] = self._checked(self._nodes[name])
        return self._read[name]

    def _checked(self, node: Mapping) -> tuple[Derivatives | None, list[Diagnostic]]:
        before = len(self._reader.diagnostics)
        entry = self._reader.entry(node)
        faults = self._reader.diagnostics[before:]
        del self._reader.diagnostics[before:]
        return entry, faults if entry is None else [*faults, *check_derivatives([entry], self._words)]
