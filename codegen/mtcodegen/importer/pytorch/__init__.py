"""PyTorch's own YAML files: native_functions.yaml and derivatives.yaml, entry by entry, with every name looked up."""

from mtcodegen.importer.pytorch.check import check_derivatives
from mtcodegen.importer.pytorch.derivatives import Derivatives, Formula, FormulaKind, Variant, read_derivatives
from mtcodegen.importer.pytorch.native import Dispatch, NativeFunction, Precomputed, read_native_functions
from mtcodegen.importer.pytorch.parser import parse_formula
from mtcodegen.importer.pytorch.printer import to_cpp
from mtcodegen.importer.pytorch.reads import reads
from mtcodegen.importer.pytorch.resolve import resolve
from mtcodegen.importer.pytorch.scope import NameKind, Scope, Words, backward_scope, forward_scope, words_of

__all__ = [
    "Derivatives",
    "Dispatch",
    "Formula",
    "FormulaKind",
    "NameKind",
    "NativeFunction",
    "Precomputed",
    "Scope",
    "Variant",
    "Words",
    "backward_scope",
    "check_derivatives",
    "forward_scope",
    "parse_formula",
    "read_derivatives",
    "read_native_functions",
    "reads",
    "resolve",
    "to_cpp",
    "words_of",
]
