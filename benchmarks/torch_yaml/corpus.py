"""Both files of PyTorch, read and resolved."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass

from mtcodegen.document.load import read_document
from mtcodegen.findings.diagnostics import Diagnostic, in_source_order
from mtcodegen.importer.pytorch.check import check_derivatives
from mtcodegen.importer.pytorch.derivatives import Derivatives, read_derivatives
from mtcodegen.importer.pytorch.native import NativeFunction, read_native_functions
from mtcodegen.importer.pytorch.scope import words_of
from mtcodegen.system.collector import without_collector

__all__ = ["Corpus", "read_corpus"]


@dataclass(frozen=True)
class Corpus:
    """The entries of native_functions.yaml and derivatives.yaml, and what is wrong with them."""

    functions: tuple[NativeFunction, ...]
    derivatives: tuple[Derivatives, ...]
    diagnostics: tuple[Diagnostic, ...]


def read_corpus(native_functions: pathlib.Path, derivatives: pathlib.Path | None = None) -> Corpus:
    """Read, and look up every name in every formula. What is wrong with an entry keeps that entry out, and no other."""
    with without_collector():
        return _read_corpus(native_functions, derivatives)


def _read_corpus(native_functions: pathlib.Path, derivatives: pathlib.Path | None) -> Corpus:
    document, found = read_document(native_functions)
    functions, faults = read_native_functions(document)
    found += faults
    entries: list[Derivatives] = []
    if derivatives is not None:
        document, faults = read_document(derivatives)
        found += faults
        entries, faults = read_derivatives(document, functions)
        found += faults
        found += check_derivatives(entries, words_of(functions))
    paths = [str(path) for path in (native_functions, derivatives) if path is not None]
    return Corpus(tuple(functions), tuple(entries), tuple(in_source_order(found, paths)))
