"""Mutants of PyTorch's own files: every one is read, or has findings with places; none is a traceback."""

import random
import re
from pathlib import Path

import pytest

from mtcodegen.diagnostics import Diagnostic, render_text
from mtcodegen.load import load
from mtcodegen.source import Source
from mtcodegen.torchyaml import (
    FormulaKind,
    NativeFunction,
    Words,
    check_derivatives,
    derivatives_text,
    native_function_text,
    read_derivatives,
    read_native_functions,
    saved_values,
    scope_of,
    words_of,
)

torchgen = pytest.importorskip("torchgen")
ROOT = Path(torchgen.__file__).parent / "packaged"
MUTANTS = 400
PIECES = r"""
( ) [ ] { } , : < > -> :: ? ! && | \ " ' /* */ # % é grad self result i dispatch true null 0 1. = None Tensor? (a!)
"""
SPLICES = [*PIECES.split(), ": ", "\n", "\n  ", "- ", "   ", "\x07"]


def entries(path: str, key: str) -> list[str]:
    return re.split(rf"^(?=- {key}:)", (ROOT / path).read_text(), flags=re.MULTILINE)[1:]


def mutant(text: str, rng: random.Random) -> str:
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text) + 1)
        end = min(len(text), at + rng.randrange(6))
        start = rng.randrange(len(text) + 1)
        copied = text[start : start + rng.randrange(20)]
        text = text[:at] + rng.choice([rng.choice(SPLICES), "", copied]) + text[end:]
    return text


def read_both(
    native: str, derivatives: str, functions: list[NativeFunction] | None, words: Words
) -> tuple[str, list[Diagnostic]]:
    """Everything that is made of both texts, and all findings."""
    document, found = load(Source("native.yaml", native))
    own, faults = read_native_functions(document)
    found += faults
    document, faults = load(Source("derivatives.yaml", derivatives))
    found += faults
    read, faults = read_derivatives(document, functions)
    found += faults + check_derivatives(read, words)
    for entry in read:
        for variant in entry.variants:
            for formula in variant.of(FormulaKind.BACKWARD):
                if formula.expr is not None:
                    saved_values(formula.expr, scope_of(entry, variant, formula))
    return "".join([*map(native_function_text, own), *map(derivatives_text, read)]), found


def test_mutants_of_the_corpora() -> None:
    rng = random.Random(20240713)
    native = entries("ATen/native/native_functions.yaml", "func")
    derivatives = entries("autograd/derivatives.yaml", "name")
    functions, _ = read_native_functions(load(Source("native.yaml", "".join(native)))[0])
    words = words_of(functions)
    refused = 0
    for _ in range(MUTANTS):
        texts = mutant("".join(rng.sample(native, 2)), rng), mutant("".join(rng.sample(derivatives, 2)), rng)
        printed, found = read_both(*texts, rng.choice([functions, None]), words)
        assert isinstance(printed, str)
        refused += bool(found)
        assert len(render_text(found).splitlines()) >= 4 * len([item for item in found if item.span is not None])
    assert refused > MUTANTS // 2
