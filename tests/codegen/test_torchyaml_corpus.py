"""native_functions.yaml and derivatives.yaml of PyTorch: each entry read, resolved and printed, torchgen beside."""

import importlib
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from torchgen.api import cpp
from torchgen.api.autograd import NativeFunctionWithDifferentiabilityInfo, gen_differentiable_outputs
from torchgen.local import parametrize

from benchmarks.torch_yaml import (
    Corpus,
    derivatives_text,
    forward_inputs,
    native_function_text,
    read_corpus,
    saved_values,
    scope_of,
)
from mtcodegen.document.load import load
from mtcodegen.findings.source import Source
from mtcodegen.importer.pytorch import (
    Derivatives,
    Formula,
    FormulaKind,
    NameKind,
    Variant,
    read_derivatives,
    read_native_functions,
)
from mtcodegen.importer.pytorch.lexer import tokenize
from mtcodegen.importer.pytorch.printer import to_cpp
from mtcodegen.importer.pytorch.vocabulary import HELPERS, SEVERAL_RESULTS

torchgen = pytest.importorskip("torchgen")
ROOT = Path(torchgen.__file__).parent / "packaged"
NATIVE = ROOT / "ATen/native/native_functions.yaml"
DERIVATIVES = ROOT / "autograd/derivatives.yaml"
FORWARD = (FormulaKind.FORWARD, FormulaKind.AUTO_LINEAR, FormulaKind.AUTO_ELEMENT_WISE)

# torchgen looks for an argument's name anywhere in the text of a formula, and so saves tensors that nothing reads.
IN_A_STRING = "the name is a word of a message, `not_implemented(...)`"
QUALIFIED = "the name is a function behind a namespace, `at::{name}(...)`"
METHOD = "the name is a method of another tensor, `.{name}()`"
TORCHGEN_IS_WRONG = {
    ("complex", "real"): QUALIFIED,
    ("complex", "imag"): QUALIFIED,
    ("native_dropout_backward", "mask"): IN_A_STRING,
    ("native_batch_norm_backward", "save_mean"): IN_A_STRING,
    ("native_batch_norm_backward", "save_invstd"): IN_A_STRING,
    ("native_layer_norm_backward", "mean"): IN_A_STRING,
    ("native_layer_norm_backward", "rstd"): IN_A_STRING,
    ("batch_norm_backward", "save_mean"): IN_A_STRING,
    ("batch_norm_backward", "save_var"): IN_A_STRING,
    ("batch_norm_backward", "reserve"): IN_A_STRING,
    ("cudnn_batch_norm_backward", "save_mean"): IN_A_STRING,
    ("cudnn_batch_norm_backward", "save_var"): IN_A_STRING,
    ("cudnn_batch_norm_backward", "reserveSpace"): IN_A_STRING,
    ("miopen_batch_norm_backward", "save_mean"): IN_A_STRING,
    ("miopen_batch_norm_backward", "save_var"): IN_A_STRING,
    ("sparse_compressed_tensor.comp_plain_value_size", "values"): METHOD,
}


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return read_corpus(NATIVE, DERIVATIVES)


@pytest.fixture(scope="module")
def torchgen_infos() -> Iterator[dict[str, Any]]:
    """What torchgen's ``load_derivatives`` makes of the same files, by schema and dispatch key."""
    before = set(sys.modules)
    sys.path.insert(0, str(ROOT))
    try:
        loader = importlib.import_module("autograd.load_derivatives")
        infos, _ = loader.load_derivatives(str(DERIVATIVES), str(NATIVE), str(NATIVE.parent / "tags.yaml"))
        yield {str(schema): info for schema, info in infos.items()}
    finally:
        sys.path.remove(str(ROOT))
        for name in {name for name in sys.modules if name.partition(".")[0] == "autograd"} - before:
            del sys.modules[name]


def formulas(corpus: Corpus) -> Iterator[tuple[Derivatives, Variant, Formula]]:
    for entry in corpus.derivatives:
        for variant in entry.variants:
            for formula in variant.formulas:
                yield entry, variant, formula


def test_every_entry_is_read_and_resolved(corpus: Corpus) -> None:
    assert corpus.diagnostics == ()
    assert len(corpus.functions) == 2584
    assert len(corpus.derivatives) == 687
    counts = Counter(formula.kind for _, _, formula in formulas(corpus))
    assert counts[FormulaKind.BACKWARD] == 781
    assert counts[FormulaKind.NON_DIFFERENTIABLE] == 134
    assert [counts[kind] for kind in FORWARD] == [256, 124, 83]


# ---------------------------------------------------------------- printed back


def _normal(key: str, value: Any) -> Any:
    """A value with its two spellings made one: lists that are written as texts, key groups with or without spaces."""
    if key in ("tags", "autogen", "variants"):
        return [name.strip() for name in (value.split(",") if isinstance(value, str) else value)]
    if key == "dispatch":
        return {", ".join(part.strip() for part in keys.split(",")): kernel for keys, kernel in value.items()}
    return value


_DEFAULTS = {
    "variants": ["function"],
    "dispatch": {},
    "device_guard": True,
    "structured": False,
    "manual_cpp_binding": False,
}


def _entry(entry: dict[str, Any]) -> dict[str, Any]:
    normal = {key: _normal(key, value) for key, value in entry.items()}
    return {key: value for key, value in normal.items() if _DEFAULTS.get(key, ...) != value}


def test_native_functions_are_printed_back_as_pyyaml_reads_them(corpus: Corpus) -> None:
    printed = "".join(native_function_text(function) for function in corpus.functions)
    ours = [_entry(entry) for entry in yaml.load(printed, yaml.CSafeLoader)]
    theirs = [_entry(entry) for entry in yaml.load(NATIVE.read_text(), yaml.CSafeLoader)]
    assert ours == theirs


def test_printed_native_functions_read_as_the_same_entries(corpus: Corpus) -> None:
    printed = "".join(native_function_text(function) for function in corpus.functions)
    again, faults = read_native_functions(load(Source("printed.yaml", printed))[0])
    assert faults == []
    assert "".join(map(native_function_text, again)) == printed


def _tokens(text: str) -> list[tuple[str, str]]:
    return [(token.kind.value, token.text) for token in tokenize(text)]


def test_formulas_are_printed_to_the_tokens_they_are_written_in(corpus: Corpus) -> None:
    checked = 0
    for _, _, formula in formulas(corpus):
        if formula.expr is not None:
            assert _tokens(to_cpp(formula.expr)) == _tokens(formula.text.value)
            checked += 1
    assert checked == 781 + 256


def test_derivatives_are_printed_back_as_pyyaml_reads_them(corpus: Corpus) -> None:
    printed = "".join(derivatives_text(entry) for entry in corpus.derivatives)
    ours = yaml.load(printed, yaml.CSafeLoader)
    theirs = yaml.load(DERIVATIVES.read_text(), yaml.CSafeLoader)
    assert len(ours) == len(theirs) == 687
    for mine, other in zip(ours, theirs, strict=True):
        assert _comparable(mine) == _comparable(other)
    again, faults = read_derivatives(load(Source("printed.yaml", printed))[0], corpus.functions)
    assert faults == []
    assert "".join(map(derivatives_text, again)) == printed


def test_a_condition_with_commas_is_printed_back(tmp_path: Path) -> None:
    native, derivatives = tmp_path / "native.yaml", tmp_path / "derivatives.yaml"
    native.write_text("- func: eq.Scalar(Tensor self, Scalar other) -> Tensor\n")
    text = (
        "- name: eq.Scalar(Tensor self, Scalar other) -> Tensor\n  output_differentiability: ['at::f(self, !other)']\n"
    )
    derivatives.write_text(text)
    corpus = read_corpus(native, derivatives)
    assert not corpus.diagnostics
    printed = "".join(map(derivatives_text, corpus.derivatives))
    assert yaml.load(printed, yaml.CSafeLoader) == yaml.load(text, yaml.CSafeLoader)


def _comparable(value: Any) -> Any:
    """Formulas as tokens, names without the spaces between them."""
    if isinstance(value, dict):
        return {re.sub(r",\s*", ",", key): text if key == "name" else _comparable(text) for key, text in value.items()}
    return _tokens(value) if isinstance(value, str) else value


# ---------------------------------------------------------------- torchgen


def _variable(saved: Any) -> str:
    name = saved.nctype.name
    return name if isinstance(name, str) else name.name


def test_what_formulas_save_agrees_with_torchgen(corpus: Corpus, torchgen_infos: dict[str, Any]) -> None:
    differing: dict[tuple[str, str], tuple[set[str], set[str]]] = {}
    checked = 0
    for entry, variant, formula in formulas(corpus):
        if formula.kind is not FormulaKind.BACKWARD or formula.expr is None:
            continue
        info = torchgen_infos[entry.name.value][variant.key]
        theirs = next(item for item in info.derivatives if item.var_names == formula.names)
        saved = saved_values(formula.expr, scope_of(entry, variant, formula))
        inputs = {item.variable for item in saved if item.kind is NameKind.ARGUMENT}
        outputs = {item.variable for item in saved if item.kind is NameKind.OUTPUT}
        assert outputs == {_variable(item) for item in theirs.saved_outputs}
        checked += 1
        if inputs != (other := {_variable(item) for item in theirs.saved_inputs}):
            differing[entry.schema.qualname, ", ".join(formula.names)] = (inputs, other)
    assert checked == 781
    assert {key: other - ours for key, (ours, other) in differing.items()} == {
        key: {key[1]} for key in TORCHGEN_IS_WRONG
    }
    assert all(ours < other for ours, other in differing.values())


@pytest.mark.parametrize("key", TORCHGEN_IS_WRONG, ids="-".join)
def test_torchgen_is_wrong_where_it_differs(corpus: Corpus, key: tuple[str, str]) -> None:
    operator, name = key
    text = next(
        formula.text.value
        for entry, _, formula in formulas(corpus)
        if entry.schema.qualname == operator and formula.names == (name,)
    )
    around = {IN_A_STRING: rf'"[^"]*\b{name}\b[^"]*"', QUALIFIED: rf"\bat::{name}\(", METHOD: rf"\.{name}\(\)"}
    rest = re.sub(around[TORCHGEN_IS_WRONG[key]], "", text)
    assert rest != text
    assert not re.search(rf"\b{name}\b", rest)


def test_what_forward_formulas_need_agrees_with_torchgen(corpus: Corpus, torchgen_infos: dict[str, Any]) -> None:
    checked = 0
    for entry, variant, formula in formulas(corpus):
        if formula.kind not in FORWARD:
            continue
        info = torchgen_infos[entry.name.value][variant.key]
        theirs = next(item for item in info.forward_derivatives if item.var_names == formula.names)
        needed = forward_inputs(entry, variant, formula)
        assert needed.tangents == set(theirs.required_inputs_fw_grad or ()), entry.name.value
        assert needed.primals == set(theirs.required_inputs_primal or ()), entry.name.value
        checked += 1
    assert checked == 463


def test_differentiability_agrees_with_torchgen(corpus: Corpus, torchgen_infos: dict[str, Any]) -> None:
    for entry in corpus.derivatives:
        for variant in entry.variants:
            info = torchgen_infos[entry.name.value][variant.key]
            marked = variant.of(FormulaKind.NON_DIFFERENTIABLE)
            assert {name for formula in marked for name in formula.names} == set(info.non_differentiable_arg_names)
            assert set(variant.differentiable) == {item.name for item in info.args_with_derivatives}
            conditions = info.output_differentiability_conditions
            if entry.condition is None:
                assert conditions is None
                assert list(entry.output_differentiability) == (info.output_differentiability or [])
            else:
                assert conditions == [to_cpp(entry.condition[1])]


# ---------------------------------------------------------------- torch's headers


def test_differentiable_outputs_agree_with_torchgen(corpus: Corpus, torchgen_infos: dict[str, Any]) -> None:
    """Where no entry says so, too: formulas that read `grad` are about the first output alone."""
    entries = {str(entry.schema): entry for entry in corpus.derivatives}
    compared = 0
    for schema, info in torchgen_infos.items():
        if schema not in entries or len(entries[schema].schema.returns) < 2:
            continue
        function = NativeFunctionWithDifferentiabilityInfo(info["Default"].func, info, None)
        with parametrize(use_const_ref_for_mutable_tensors=False, use_ilistref_for_tensor_lists=False):
            theirs = [output.name for output in gen_differentiable_outputs(function)]
            names = cpp.return_names(function.func)
        flags = entries[schema].differentiable_outputs
        types = [str(ret.type) for ret in entries[schema].schema.returns]
        ours = [name for name, flag, type_ in zip(names, flags, types, strict=True) if flag and "Tensor" in type_]
        assert ours == theirs, schema
        compared += 1
    assert compared > 100


def test_helpers_are_what_the_header_declares() -> None:
    torch = pytest.importorskip("torch")
    header = Path(torch.__file__).parent / "include/torch/csrc/autograd/FunctionsManual.h"
    text = re.sub(r"//.*", "", header.read_text())
    declared = re.findall(r"([\w:]+(?:<[^;{}()]*?>)?)\s+([A-Za-z_]\w*)\(", text)
    returned = {name: type_ for type_, name in declared}
    in_header = HELPERS - {"fmap", "to_args_scalartypes", "to_args_sizes", "to_args_sizes_symint"}
    assert in_header <= returned.keys()
    several = {name for name in in_header if re.search(r"tuple|vector", returned[name])}
    assert several == SEVERAL_RESULTS
