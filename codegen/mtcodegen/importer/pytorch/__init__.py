"""PyTorch's own YAML files: native_functions.yaml and derivatives.yaml, read, resolved and printed back.

::

    corpus = read_corpus(Path("native_functions.yaml"), Path("derivatives.yaml"))   # .diagnostics says what is wrong
    entry = corpus.derivatives[0]
    formula = entry.variants[0].formulas[0]
    saved_values(formula.expr, scope_of(entry, entry.variants[0], formula))         # what the gradient saves
    derivatives_text(entry)                                                         # YAML again
"""

from mtcodegen.importer.pytorch.check import check_derivatives, scope_of
from mtcodegen.importer.pytorch.corpus import Corpus, read_corpus, read_document
from mtcodegen.importer.pytorch.derivatives import Derivatives, Formula, FormulaKind, Variant, read_derivatives
from mtcodegen.importer.pytorch.forward import ForwardInputs, forward_inputs
from mtcodegen.importer.pytorch.native import Dispatch, NativeFunction, Precomputed, read_native_functions
from mtcodegen.importer.pytorch.parser import parse_formula
from mtcodegen.importer.pytorch.pending import PendingDerivatives
from mtcodegen.importer.pytorch.printer import to_cpp
from mtcodegen.importer.pytorch.resolve import resolve
from mtcodegen.importer.pytorch.saved import SavedValue, reads, saved_values
from mtcodegen.importer.pytorch.scope import NameKind, Scope, Words, backward_scope, forward_scope, words_of
from mtcodegen.importer.pytorch.write import derivatives_text, native_function_text, yaml_text

__all__ = [
    "Corpus",
    "Derivatives",
    "Dispatch",
    "Formula",
    "FormulaKind",
    "ForwardInputs",
    "NameKind",
    "NativeFunction",
    "PendingDerivatives",
    "Precomputed",
    "SavedValue",
    "Scope",
    "Variant",
    "Words",
    "backward_scope",
    "check_derivatives",
    "derivatives_text",
    "forward_inputs",
    "forward_scope",
    "native_function_text",
    "parse_formula",
    "read_corpus",
    "read_derivatives",
    "read_document",
    "read_native_functions",
    "reads",
    "resolve",
    "saved_values",
    "scope_of",
    "to_cpp",
    "words_of",
    "yaml_text",
]
