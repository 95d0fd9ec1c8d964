"""Faults in native_functions.yaml and derivatives.yaml, most of which torchgen accepts: what is said, and where."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from benchmarks.torch_yaml import read_corpus
from mtcodegen.findings.diagnostics import Diagnostic, render_text

NATIVE = """\
- func: mul.Tensor(Tensor self, Tensor other) -> Tensor
  variants: function, method
  dispatch:
    CPU: mul
- func: narrow(Tensor self, int dim, int start) -> Tensor
- func: minmax(Tensor self) -> (Tensor low, Tensor high)
"""
MUL = "- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n"
NARROW = "- name: narrow(Tensor self, int dim, int start) -> Tensor\n"
MINMAX = "- name: minmax(Tensor self) -> (Tensor low, Tensor high)\n"


def found(folder: Path, monkeypatch: pytest.MonkeyPatch, native: str, derivatives: str) -> str:
    monkeypatch.chdir(folder)
    Path("native.yaml").write_text(native)
    Path("derivatives.yaml").write_text(derivatives)
    return render_text(read_corpus(Path("native.yaml"), Path("derivatives.yaml")).diagnostics)


def test_a_sound_pair_has_no_findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = MUL + "  self, other: cat_tensors_backward(grads, {}, 0)\n" + MINMAX + "  self: grad_low + grad_high\n"
    assert found(tmp_path, monkeypatch, NATIVE, sound) == ""


# What torchgen accepts in silence, or refuses without saying where.
LISTED = [
    (
        MUL + "  self: grad * othr\n",
        "derivatives.yaml:2:16: error[MT204]: `othr` is not an argument of mul.Tensor\n"
        "  |\n2 |   self: grad * othr\n  |                ^^^^ did you mean `other`?\n",
    ),
    (
        MUL + "  self: narrow(grad, 0, 1\n",
        "derivatives.yaml:2:15: error[MT200]: `(` is never closed\n"
        "  |\n2 |   self: narrow(grad, 0, 1\n  |               ^\n",
    ),
    (
        NARROW + "  self: grad\n  dim: grad\n",
        "derivatives.yaml:3:3: error[MT411]: `dim` is int, and only tensors have gradients\n"
        "  |\n3 |   dim: grad\n  |   ^^^\n",
    ),
    (
        MUL + "  self, other: grad\n",
        "derivatives.yaml:2:16: error[MT602]: one value for 2 gradients: `self, other`\n"
        "  |\n2 |   self, other: grad\n"
        "  |                ^^^^ write a formula for each, or call a function that returns all\n",
    ),
    (
        MUL + "  output_differentiability: [True, False]\n  self: grad\n",
        "derivatives.yaml:2:36: error[MT424]: mul.Tensor has 1 output, and this is one more\n"
        "  |\n2 |   output_differentiability: [True, False]\n  |                                    ^^^^^\n",
    ),
    (
        MUL + "  self: grad\n" + MUL + "  self: grad * other\n",
        "derivatives.yaml:3:9: error[MT120]: `mul.Tensor` is declared twice\n"
        f"  |\n3 | {MUL}  |         {'^' * 47} remove one of them\n"
        "derivatives.yaml:1:9: note: first declared here\n"
        f"  |\n1 | {MUL}  |         {'^' * 47}\n",
    ),
    (
        MUL + "  slef: grad\n",
        "derivatives.yaml:2:3: error[MT412]: `slef` is neither an argument nor an output of mul.Tensor\n"
        "  |\n2 |   slef: grad\n  |   ^^^^ did you mean `self`?\n",
    ),
]


@pytest.mark.parametrize(("text", "expected"), LISTED)
def test_what_torchgen_accepts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: str) -> None:
    assert found(tmp_path, monkeypatch, NATIVE, text) == expected


DERIVATIVES = [
    (MUL + "  self: grad.mull(other)\n", "2:14 MT205 `mull` is not a known member; did you mean `mul`?"),
    (MUL + "  self: at::mull(grad)\n", "2:13 MT206 `mull` is not known in `at`; did you mean `mul`?"),
    (MUL + "  self: mull(grad)\n", "2:9 MT206 `mull` is neither an operator nor a known function; did you mean `mul`?"),
    (MUL + "  self: at::mul(grad) * ats::x\n", "2:25 MT204 `ats` is not a known namespace; did you mean `at`?"),
    (MUL + "  self: mul\n", "2:9 MT218 `mul` is a function and is not called"),
    (MUL + "  self: std::get<0>(Tensr(grad))\n", "2:21 MT206 `Tensr` is neither an operator nor a known function"),
    (MUL + "  self: std::vector<Tensr>(grad)\n", "2:21 MT204 `Tensr` is not a known type; did you mean `Tensor`?"),
    (
        MUL + "  self: grad * other_t\n",
        "2:16 MT204 `other_t` exists only in forward-mode formulas; its value is `other`",
    ),
    (
        MUL + "  self: grad\n  result: self_t * other_p\n",
        "3:20 MT204 there is no `other_p`: `other` has no gradient formula; its value is `other`",
    ),
    (
        MUL + "  self: grad\n  result: self * 2\n",
        "3:11 MT605 `self` is ambiguous in a forward-mode formula; "
        "write `self_p` for its value, `self_t` for its tangent",
    ),
    (MUL + "  self: grads[1]\n", "2:15 MT214 `grads[1]` is out of range: mul.Tensor has 1 output"),
    (
        MUL + "  self: wrap_opt_if(grad, grad_input_mask[1])\n",
        "2:43 MT214 `grad_input_mask[1]` is out of range: the formula has 1 gradient",
    ),
    (MINMAX + "  self: grad + grads[1]\n", "2:16 MT604 `grads` beside `grad`, which another part of the entry uses"),
    (MINMAX + "  self: grad_lwo\n", "2:9 MT204 `grad_lwo` is not an argument of minmax; did you mean `grad_low`?"),
    (
        MINMAX + "  output_differentiability: [False, True]\n  self: grad_low\n",
        "3:9 MT204 `grad_low` is not an argument",
    ),
    (MUL + "  self: >\n    grad\n    * othr\n", "4:7 MT204 `othr` is not an argument of mul.Tensor"),
    (MUL + '  self: "grad * \\x6fthr"\n', "2:17 MT204 `othr` is not an argument of mul.Tensor"),
    (MUL + "  self: grad\n  self, other: linear_double_backward(grad)\n", "3:3 MT413 two formulas for `self`"),
    (MUL + "  self, other: std::tuple<Tensor, Tensor, Tensor>()\n", "2:16 MT602 3 values for 2 gradients"),
    (MUL + "  self, result: grad\n", "2:9 MT412 `self, result` names arguments and outputs"),
    (
        MUL + "  result1: grad\n",
        "2:3 MT412 `result1` is neither an argument nor an output of mul.Tensor; the outputs are",
    ),
    (MUL + "  self: grad\n  other: grad\n  result: auto_element_wise\n", "4:11 MT609 `auto_element_wise` needs one"),
    (MUL + "  dispatch:\n    AutogradCUD:\n      self: grad\n", "3:5 MT113 `AutogradCUD` is not a dispatch key"),
    (MUL + "  self: grad\n  dispatch:\n    Default:\n      self: grad\n", "2:3 MT115 `self` stands beside `dispatch`"),
    (MUL + "  output_differentiability: [maybe]\n", None),
    (MUL + "  self: [grad]\n", "2:9 MT112 a formula is a text, and this is a list"),
    (
        "- name: mul.Tensr(Tensor self, Tensor other) -> Tensor\n",
        "1:9 MT601 `mul.Tensr` is not declared with this schema",
    ),
    (
        "- name: mul.Tensor(Tensor self) -> Tensor\n",
        "1:9 MT601 `mul.Tensor` is not declared with this schema; it is declared as `mul.Tensor(Tensor self, Tensor",
    ),
    (
        "- name: mul.Tensor(Tensor self, Tensr other) -> Tensor\n",
        "1:33 MT150 unknown type specifier `Tensr`; did you mean",
    ),
    ("- self: grad\n", "1:3 MT111 `name` is missing"),
    ("mul: grad\n", "1:1 MT112 derivatives.yaml is a list of entries, and this is a mapping"),
]


def _shown(diagnostics: Iterable[Diagnostic]) -> list[str]:
    """Place, code, message and hint of each finding, and the other places that it is about."""
    return [
        "; ".join(
            [
                f"{item.span.line}:{item.span.column} {item.code} {item.message}",
                *([item.hint] if item.hint else []),
                *(f"{other.span.line}:{other.span.column} {other.message}" for other in item.related),
            ]
        )
        for item in diagnostics
        if item.span is not None
    ]


@pytest.mark.parametrize(("text", "expected"), DERIVATIVES)
def test_faults_of_derivatives(tmp_path: Path, text: str, expected: str | None) -> None:
    (tmp_path / "native.yaml").write_text(NATIVE)
    (tmp_path / "derivatives.yaml").write_text(text)
    diagnostics = read_corpus(tmp_path / "native.yaml", tmp_path / "derivatives.yaml").diagnostics
    shown = _shown(diagnostics)
    assert len(shown) == (1 if expected else 0), shown
    assert not expected or shown[0].startswith(expected), shown


A = "- func: a.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n"
NATIVES = [
    ("  varants: function\n", ["2:3 MT110 unknown key `varants`; did you mean `variants`?"]),
    ("  variants: function, methd\n", ["2:23 MT113 `variants` cannot be `methd`; did you mean `method`?"]),
    ("  structured: Ture\n", ["2:15 MT112 `structured` is `True` or `False`, and not `Ture`"]),
    ("  dispatch: CPU\n", ["2:13 MT112 `dispatch` is a mapping, and this is a string"]),
    ("  dispatch:\n    CPU, CUD: f\n", ["3:10 MT113 `CUD` is not a dispatch key; did you mean `CUDA`?"]),
    (
        "  dispatch:\n    CPU: f\n    CUDA, CPU: g\n",
        ["4:11 MT102 the dispatch key `CPU` is given twice; remove one of them; 3:5 first given here"],
    ),
    ("  dispatch:\n    CPU: f g\n", ["3:10 MT114 `f g` is not the name of a C++ function"]),
    ("  structured_delegate: b.out\n", ["2:24 MT601 `b.out` is not an operator of this file"]),
    (
        "- func: a(Tensor self) -> Tensor\n  structured_delegate: a.out\n",
        ["3:24 MT606 `a.out` is not structured; give that one `structured: True`; 1:9 it is"],
    ),
    (
        "- func: a(Tensor self) -> Tensor\n  structured: True\n",
        ["3:3 MT606 a structured kernel writes to `out`, and a has none; put it on the variant with `out`, and"],
    ),
    ("- func: f(Tensor x) -> Tensor\n  variants: method\n", ["3:13 MT131 f has no `self`, and cannot be a method"]),
    ("  cpp_no_default_args: [slef]\n", ["2:25 MT608 `slef` is not an argument of a.out; did you mean `self`?"]),
    ("  precomputed:\n  - size -> int h, int w\n", ["3:5 MT608 `size` is not an argument of a.out"]),
    ("  precomputed:\n  - self -> int\n", ["3:13 MT114 `int` is not a type and a name; as in `int kH`"]),
    ("  ufunc_inner_loop:\n    Genric: f\n", ["3:5 MT110 unknown key `Genric`; did you mean `Generic`?"]),
    (
        "  autogen: a.out\n" + A.replace("a.out", "b.out"),
        ["2:12 MT120 `a.out` is declared already; remove one of them; 1:9 by this entry"],
    ),
    ("- func: b(Tensor self) -> Tensor\n  autogen: b out\n", ["3:12 MT114 `b out` is not the name of an operator"]),
    ("- fun: b\n", ["2:3 MT110 unknown key `fun`; did you mean `func`?", "2:3 MT111 `func` is missing"]),
    (A, ["2:9 MT120 `a.out` is declared twice; remove one of them; 1:9 first declared here"]),
    ("- func: b(Tensor self, int dim=hello) -> Tensor\n", ["2:32 MT150 `hello` is not a default of int"]),
    (
        "- func: b(int d=0, int e) -> Tensor\n",
        ["2:20 MT150 `e` has no default, but `d` before it has one; give `e` a default too, or move it before"],
    ),
    ("- func: b(Tensor x, Tensor x) -> Tensor\n", ["2:21 MT150 argument `x` is there twice"]),
    ("- func: b(Tensor 9x) -> Tensor\n", ["2:18 MT150 `9x` is not a name"]),
    ("- func: fo-o bar(Tensor x) -> Tensor\n", ["2:9 MT150 `fo-o bar` is not an operator's name"]),
    ("- func: b(Tensor self,int dim) -> Tensor\n", ["2:22 MT150 expected a space after `,`"]),
]


@pytest.mark.parametrize(("text", "expected"), NATIVES)
def test_faults_of_native_functions(tmp_path: Path, text: str, expected: list[str]) -> None:
    (tmp_path / "native.yaml").write_text(A + text)
    diagnostics = read_corpus(tmp_path / "native.yaml").diagnostics
    shown = _shown(diagnostics)
    assert len(shown) == len(expected), shown
    assert all(line.startswith(start) for line, start in zip(shown, expected, strict=True)), shown


def test_a_faulty_entry_keeps_no_other_out(tmp_path: Path) -> None:
    (tmp_path / "native.yaml").write_text(NATIVE + "- func: broken(\n")
    (tmp_path / "derivatives.yaml").write_text(MUL + "  self: grad * (\n" + NARROW + "  self: grad\n")
    corpus = read_corpus(tmp_path / "native.yaml", tmp_path / "derivatives.yaml")
    assert [item.code.name for item in corpus.diagnostics] == ["MT150", "MT200"]
    assert [function.schema.name for function in corpus.functions] == ["mul", "narrow", "minmax"]
    assert [entry.schema.name for entry in corpus.derivatives] == ["mul", "narrow"]


def test_unreadable_files_are_findings(tmp_path: Path) -> None:
    (tmp_path / "native.yaml").write_bytes(b"- func: \xff\n")
    corpus = read_corpus(tmp_path / "native.yaml", tmp_path / "missing.yaml")
    assert [item.code.name for item in corpus.diagnostics] == ["MT101", "MT101"]
