"""``mtcodegen import``: entries one by one, formulas, and what is said of what has no form in our language."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import opschema
from mtcodegen.expr import OperatorTable
from mtcodegen.importer import import_files, modules
from mtcodegen.importer.formula import ConversionError, to_expression
from mtcodegen.importer.keywords import with_keywords
from mtcodegen.importer.pytorch import parse_formula
from mtcodegen.project.generate import generate
from mtcodegen.project.pyproject import UsageError
from mtcodegen.targets.job import Input, Job
from tests.codegen.support import entries, run_import

torchgen = pytest.importorskip("torchgen")
ROOT = Path(torchgen.__file__).parent / "packaged"
NATIVE = ROOT / "ATen/native/native_functions.yaml"
DERIVATIVES = ROOT / "autograd/derivatives.yaml"


def test_one_operator_as_it_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "native.yaml").write_text(
        "- func: relu(Tensor self) -> Tensor\n"
        "  variants: function, method\n"
        "  device_check: NoCheck\n"
        "  dispatch:\n    CPU, CUDA: relu\n    MkldnnCPU: mkldnn_relu\n"
        "  tags: pointwise\n"
        "- func: mul.Tensor(Tensor self, Tensor other) -> Tensor\n"
        "- func: threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor\n"
    )
    (tmp_path / "derivatives.yaml").write_text(
        "- name: relu(Tensor self) -> Tensor\n"
        "  self: at::threshold_backward(grad, result, /*threshold=*/0)\n"
        "  result: auto_element_wise\n"
    )
    out = tmp_path / "ops.yaml"
    words = [str(tmp_path / "native.yaml"), "--derivatives", str(tmp_path / "derivatives.yaml"), "-o", str(out)]
    assert run_import(*words, "--select", "relu", "--kernels", "kernels", "--namespace", "mine") == 0
    assert out.read_text() == (
        "# yaml-language-server: $schema=ops.schema.json\n"
        "# Imported from native.yaml, derivatives.yaml. What could not be carried over is noted in comments.\n"
        "namespace: mine\n"
        "ops:\n"
        "# not carried over: CPU, CUDA: relu (a C++ kernel, in place of which `kernels:relu` is called)\n"
        "# not carried over: MkldnnCPU: mkldnn_relu (a C++ kernel; there is no device MkldnnCPU)\n"
        "- func: relu(Tensor self) -> Tensor\n"
        "  variants: function, method\n"
        "  tags: [pointwise]\n"
        "  device_check: NoCheck\n"
        "  fake: {python: 'kernels:relu_fake'}\n"
        "  kernels:\n"
        "  - device: [cpu, cuda]\n"
        "    python: kernels:relu\n"
        "  backward:\n"
        "    self: threshold_backward(grad, result, 0)\n"
        "  forward:\n"
        "    result: auto_element_wise\n"
    )
    said = capsys.readouterr().err
    assert "native.yaml:5:5: warning[MT610]: not carried over: CPU, CUDA: relu\n" in said
    assert said.endswith("2 warnings\nimported 1 operator; not carried over: 2\n")
    with pytest.raises(UsageError, match="is there already; --force writes over it"):
        run_import(*words)
    assert run_import(*words, "--force", "--select", "relu") == 0
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["derivatives.yaml", "native.yaml", "ops.yaml"]


def test_the_yaml_and_the_findings_do_not_mix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_import(str(NATIVE), "--select", "sinh.out") == 0
    shown = capsys.readouterr()
    assert [*entries(shown.out)] == ["sinh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"]
    assert "warning[MT610]" in shown.err
    with pytest.raises(UsageError, match="--format json needs -o"):
        run_import(str(NATIVE), "--select", "sinh.out", "--format", "json")
    with pytest.raises(UsageError, match="--kernels a-b: not the name of a Python module"):
        run_import(str(NATIVE), "--kernels", "a-b")
    for name in ("a::b", "prim"):
        with pytest.raises(UsageError, match=f"--namespace {name}: not the name of a namespace"):
            run_import(str(NATIVE), "--namespace", name)
    assert run_import(str(NATIVE), "--select", "sinh.out", "--format", "json", "-o", str(tmp_path / "ops.yaml")) == 0
    assert {item["code"] for item in json.loads(capsys.readouterr().out)} == {"MT610"}


def test_a_file_that_is_written_over_keeps_its_mode_and_link(tmp_path: Path) -> None:
    (tmp_path / "real.yaml").write_text("")
    (tmp_path / "real.yaml").chmod(0o600)
    (tmp_path / "ops.yaml").symlink_to("real.yaml")
    words = [str(NATIVE), "--select", "sinh.out", "--format", "json", "--force", "-o"]
    assert run_import(*words, str(tmp_path / "ops.yaml")) == 0
    assert (tmp_path / "ops.yaml").is_symlink()
    assert (tmp_path / "real.yaml").stat().st_mode & 0o777 == 0o600
    assert run_import(*words, str(tmp_path / "new.yaml")) == 0
    assert (tmp_path / "new.yaml").read_text() == (tmp_path / "real.yaml").read_text()


@pytest.mark.parametrize(
    ("select", "names"),
    [
        (["exp"], {"exp", "exp.out"}),
        (["mul.Tensor", "mul_.T*"], {"mul.Tensor", "mul_.Tensor"}),
        (["sinh,cosh_"], {"sinh", "sinh.out", "cosh_"}),
    ],
)
def test_operators_are_selected_by_name_overload_and_pattern(
    tmp_path: Path, select: list[str], names: set[str]
) -> None:
    out = tmp_path / "ops.yaml"
    words = [word for name in select for word in ("--select", name)]
    assert run_import(str(NATIVE), *words, "-o", str(out), "--format", "json") == 0
    assert {func.partition("(")[0] for func in entries(out.read_text())} == names


def test_faults_are_findings_and_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "native.yaml").write_text("- func: f(Tensr x) -> Tensor\n")
    out = tmp_path / "ops.yaml"
    assert run_import(str(tmp_path / "native.yaml"), "-o", str(out)) == 1
    assert "native.yaml:1:11: error[MT150]: unknown type specifier `Tensr`" in capsys.readouterr().err
    assert run_import(str(NATIVE), "--select", "no_such", "-o", str(out)) == 1
    assert "error[MT607]: no operator is called `no_such`" in capsys.readouterr().err
    assert run_import(str(NATIVE), "--select", "mul.Tensr") == 1
    assert "no operator is called `mul.Tensr`\n   = did you mean `mul.Tensor`?" in capsys.readouterr().err
    assert run_import(str(tmp_path / "nowhere.yaml"), "--select", "mul") == 1
    assert capsys.readouterr().err.count("error[") == 1
    (tmp_path / "ours.yaml").write_text("namespace: my\nops: []\n")
    assert run_import(str(tmp_path / "ours.yaml")) == 1
    assert "ours.yaml:2:1: error[MT112]: this file is in mtcodegen's own form" in capsys.readouterr().err
    assert run_import(str(tmp_path / "missing.yaml")) == 1
    assert not out.exists()


# ---------------------------------------------------------------- formulas


@pytest.mark.parametrize(
    ("cpp", "ours"),
    [
        ("grad * result", "grad * result"),
        ("grad.reshape_symint(self.sym_sizes())", "grad.reshape(self.shape)"),
        ("at::where(self >= 0, grad, weight->sym_size(-1))", "where(self >= 0, grad, weight.size(-1))"),
        ("maybe_multiply(grad + 1, alpha)", "(grad + 1) * alpha"),
        ("a == b ? f(a) : g({1, 2.f})", "f(a) if (a == b) else g([1, 2.0])"),
        ("(a < b) == c", "(a < b) == c"),
        ("a < b == c", "(a < b) == c"),
        ("!a && *b || c.has_value()", "(not a) and b or (c is not None)"),
        ("std::get<1>(f(grad, /*x=*/true))", "f(grad, True)[1]"),
        ("grad.defined() ? f(grad) : std::tuple<Tensor, Tensor>()", "f(grad)"),
        ("GradMode::is_enabled() ? f(grad) : g(grad)", "f(grad)"),
        ("-(a - b).to(self.scalar_type())", "-(a - b).to(self.dtype)"),
        ("(-a).f()", "(-a).f()"),
        ('not_implemented("f: self")', "not_implemented"),
        ("grad * M_PI", "grad * pi"),
        ("grad * M_LN2 / M_SQRT2", "grad * 0.6931471805599453 / 1.4142135623730951"),
        ("grad.to(self.dtype())", "grad.to(self.dtype)"),
        ("grad / self.size(0) * (self.numel() / 2.0) / n", "grad / self.size(0) * (self.numel() / 2.0) / n"),
        ("grad * 010 + 0 * 0x1F", "grad * 8 + 0 * 31"),
    ],
)
def test_formulas_are_converted(cpp: str, ours: str) -> None:
    assert to_expression(parse_formula(cpp), ["n"]) == ours


@pytest.mark.parametrize(
    ("cpp", "reason"),
    [
        ("sum_backward(grad)", "`sum_backward` is a helper that PyTorch has in C++"),
        ("a & b", "`&` works on bits"),
        ("1 / 2 * grad", "a division of integers"),
        ("grad * (-1 / 2)", "a division of integers"),
        ("grad * (self.size(0) / 2)", "a division of integers"),
        ("grad * ((self.sizes()[0] + 1) / *n / 2.0)", "a division of integers"),
        ("grad * (n % 2)", "a remainder"),
        ("at::kLong", "`at::kLong` is C++"),
        ("std::vector<Tensor>(a, b)", "`std::vector<Tensor>` is C++"),
        ("fmap(a, [](int i){return i;})", "`fmap` is a helper that PyTorch has in C++"),
    ],
)
def test_what_is_cpp_only_is_said_so(cpp: str, reason: str) -> None:
    with pytest.raises(ConversionError, match=re.escape(reason)):
        to_expression(parse_formula(cpp), ["n"])


@pytest.mark.parametrize(
    ("flags", "ours"), [("", "f(grads[0])"), ("  output_differentiability: [False, True]\n", "f(grads[1])")]
)
def test_grad_is_that_of_the_first_differentiable_output(tmp_path: Path, flags: str, ours: str) -> None:
    native, derivatives = tmp_path / "native.yaml", tmp_path / "derivatives.yaml"
    native.write_text(
        "- func: two(Tensor self) -> (Tensor, Tensor)\n- func: f(Tensor x) -> Tensor\n  dispatch:\n    CPU: f\n"
    )
    derivatives.write_text(f"- name: two(Tensor self) -> (Tensor, Tensor)\n{flags}  self: f(grad)\n")
    made = import_files(native, derivatives=derivatives)
    assert entries(made.text)["two(Tensor self) -> (Tensor, Tensor)"]["backward"] == {"self": ours}


def carried(folder: Path, func: str, *lines: str, others: str = "") -> tuple[dict[str, Any], list[str]]:
    """What an entry of derivatives.yaml becomes, and what of it is not carried over."""
    native, derivatives = folder / "native.yaml", folder / "derivatives.yaml"
    native.write_text(f"- func: {func}\n{others}")
    derivatives.write_text(f"- name: {func}\n" + "".join(f"  {line}\n" for line in lines))
    made = import_files(native, derivatives=derivatives)
    assert made.diagnostics == ()
    notes = [f"{note.text} ({note.reason})" for note in made.notes if note.span.source.path == str(derivatives)]
    return entries(made.text)[func], notes


MUL = "mul(Tensor self, Tensor other) -> Tensor"
TWO = "two(Tensor self) -> (Tensor values, Tensor indices)"
BACK = "self: grad * other", "other: grad * self"


def test_tangents_are_carried_over(tmp_path: Path) -> None:
    entry, notes = carried(tmp_path, MUL, *BACK, "result: self_t * other_p + other_t * self_p")
    assert (entry["forward"], notes) == ({"result": "self_t * other_p + other_t * self_p"}, [])
    entry, notes = carried(tmp_path, MUL, *BACK, "result: auto_linear")
    assert (entry["forward"], notes) == ({"result": "auto_linear"}, [])


def test_what_is_linear_in_some_tensors_keeps_the_others(tmp_path: Path) -> None:
    """In PyTorch, `auto_linear` is about arguments that have a gradient formula."""
    func = "pick(Tensor self, Tensor?[] indices, *, Tensor weight, int n) -> Tensor"
    entry, notes = carried(tmp_path, func, "self: grad", "result: auto_linear")
    assert (entry["forward"], notes) == ({"result": "pick(self_t, indices, weight=weight, n=n)"}, [])
    entry, notes = carried(tmp_path, func, "self: grad", "indices, weight: non_differentiable", "result: auto_linear")
    assert (entry["forward"], notes) == ({"result": "auto_linear"}, [])


def test_without_all_tangents_there_is_no_rule(tmp_path: Path) -> None:
    """The runtime then differentiates the gradients, which a rule with holes would keep it from."""
    entry, notes = carried(tmp_path, MUL, *BACK, "result: handle_r_to_c(self_p, self_t)")
    assert "forward" not in entry
    assert notes == ["result: handle_r_to_c(self_p, self_t) (`handle_r_to_c` is a helper that PyTorch has in C++)"]
    entry, notes = carried(
        tmp_path, TWO, "self: grads[0] + grads[1]", "values: self_t", "indices: handle_r_to_c(self_p, self_t)"
    )
    assert "forward" not in entry
    assert notes == [
        "indices: handle_r_to_c(self_p, self_t) (`handle_r_to_c` is a helper that PyTorch has in C++)",
        "values: self_t (the tangent of another output is not carried over)",
    ]
    entry, notes = carried(tmp_path, TWO, "self: grads[0] + grads[1]", "values: self_t")
    assert "forward" not in entry
    assert notes == ["values: self_t (there is no tangent for `indices`)"]


def test_a_division_of_integers_is_noted(tmp_path: Path) -> None:
    """It cuts off what is behind the point, and ours does not."""
    func = "f(Tensor self, SymInt? n, Scalar s) -> Tensor"
    entry, notes = carried(tmp_path, func, "self: grad * (self.size(0) / n.value())", "result: self_t * (n / 2)")
    assert (entry["backward"], entry.get("forward")) == ({"self": "not_implemented"}, None)
    assert [note.rpartition(" (")[2] for note in notes] == ["a division of integers)"] * 2
    entry, notes = carried(tmp_path, func, "self: grad * (s / 2)")
    assert (entry["backward"], notes) == ({"self": "grad * (s / 2)"}, [])


def test_output_differentiability_is_carried_over(tmp_path: Path) -> None:
    entry, notes = carried(tmp_path, TWO, "output_differentiability: [True, False]", "self: grad", "values: self_t")
    assert entry["output_differentiability"] == [True, False]
    assert (entry["backward"], entry["forward"], notes) == ({"self": "grads[0]"}, {"values": "self_t"}, [])
    assert carried(tmp_path, TWO, "self: grad", "values: self_t") == (entry, [])  # `grad` is that of the first output
    entry, notes = carried(tmp_path, TWO, "output_differentiability: [False, False]")
    assert (entry["backward"], notes) == ("not_differentiable", [])
    entry, notes = carried(tmp_path, MUL, "output_differentiability:", "- self.is_floating_point()", *BACK)
    assert "output_differentiability" not in entry
    assert notes == ["output_differentiability (a condition; every output may have a gradient)"]


def test_formulas_of_devices_are_carried_over(tmp_path: Path) -> None:
    lines = [
        "dispatch:",
        "  AutogradNestedTensor: {self: grad * 3, other: grad}",
        "  Default: {self: grad, other: grad}",
        "  AutogradCUDA: {self: grad * 2, other: 'handle_r_to_c(self, grad)'}",
    ]
    entry, notes = carried(tmp_path, MUL, *lines)
    assert entry["backward"] == {"self": {"default": "grad", "cuda": "grad * 2"}, "other": "grad"}
    assert notes == [
        "AutogradNestedTensor: self: grad * 3 (there is no device NestedTensor)",
        "AutogradNestedTensor: other: grad (there is no device NestedTensor)",
        "AutogradCUDA: other: handle_r_to_c(self, grad) (`handle_r_to_c` is a helper that PyTorch has in C++)",
    ]
    entry, notes = carried(tmp_path, MUL, "dispatch:", "  AutogradCUDA: {self: grad * 2, other: grad}")
    assert entry["backward"] == "not_implemented"
    assert len(notes) == 2


# ---------------------------------------------------------------- ExecuTorch


def test_what_is_imported_is_generated(tmp_path: Path) -> None:
    path = tmp_path / "ops.yaml"
    words = ("--select", "relu,exp*,mm,threshold_backward,where.self", "--kernels", "kernels", "--namespace", "mine")
    assert run_import(str(NATIVE), "--derivatives", str(DERIVATIVES), *words, "-o", str(path)) == 0
    job = Job((Input(path, "ops.yaml"),), tmp_path / "generated")
    generated, found = generate([job])
    assert found == []
    module = generated[0].files["ops.py"]
    compile(module, "ops.py", "exec")
    assert 'op.python("kernels:relu"' in module


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("f(grad, x, n)", "f(grad, x, n=n)"),
        ("f(grad, x, (n + 1) * 2, (not b))", "f(grad, x, n=(n + 1) * 2, b=(not b))"),
        ("grad * x.g(((n)), f(y, x, -n)) + f(grad, x)", "grad * x.g(n=((n)), b=f(y, x, n=-n)) + f(grad, x)"),
        ("f(grad, x, n, b, 1)", "f(grad, x, n, b, 1)"),
        ("f(*xs, x, n)", "f(*xs, x, n)"),
        ("h(grad, n) + x.shape[0] + k(grad, n)", "h(grad, n) + x.shape[0] + k(grad, n)"),
        ("f(grad, ", "f(grad, "),
    ],
)
def test_keyword_only_arguments_are_named(given: str, named: str) -> None:
    schemas = [
        "my::f(Tensor x, Tensor y, *, int n=0, bool b=False) -> Tensor",
        "my::g(Tensor x, *, int n=0, Tensor? b=None) -> Tensor",
        "my::h(Tensor x, int n) -> Tensor",
        "my::h.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
    ]
    table = OperatorTable({text: opschema.parse_schema(text) for text in schemas})
    assert with_keywords(given, table, "my") == named


def test_a_variant_is_in_the_module_of_its_functional_operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the in-place operator that it is made of comes later, and is called ``__ilshift__``."""
    monkeypatch.setattr(modules, "MOST", 2)
    path = tmp_path / "native.yaml"
    path.write_text(
        "- func: __lshift__.Tensor(Tensor self, Tensor other) -> Tensor\n"
        "- func: one(Tensor self) -> Tensor\n"
        "- func: two(Tensor self) -> Tensor\n"
        "- func: __ilshift__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)\n"
        "  autogen: __lshift__.Tensor_out\n"
    )
    made = import_files(path, kernels="kernels", namespace="mine").modules(path, tmp_path)
    texts = {name: text for name, text in made.files.items() if "_lib.operator(" in text}
    assert len(texts) == 2
    assert [name for name, text in texts.items() if "__lshift__.Tensor(" in text] == [
        name for name, text in texts.items() if "__lshift__.Tensor_out(" in text
    ]


def test_a_special_method_stays_the_runtime_s_own(tmp_path: Path) -> None:
    """Tensor has it already, and takes no other: a module that gave it one could not be imported."""
    native, ours = tmp_path / "native.yaml", tmp_path / "ops.yaml"
    native.write_text("- func: __and__(Tensor self, Tensor other) -> Tensor\n  variants: function, method\n")
    made = import_files(native, kernels="kernels", namespace="special")
    assert ("variants: method", "special methods are the runtime's own") in [
        (note.text, note.reason) for note in made.notes
    ]
    ours.write_text(made.text)
    job = Job((Input(ours, "ops.yaml"),), tmp_path / "generated")
    assert generate([job])[1] == []
    ours.write_text(made.text.replace("  kernels:\n", "  variants: method\n  kernels:\n"))
    assert [(item.code.name, item.message) for item in generate([job])[1]] == [
        ("MT131", "`__and__` cannot be a method: what Tensor has under special names is the runtime's own")
    ]


@pytest.mark.parametrize("type_", ["Scalar", "Tensor[]"])
def test_a_method_is_called_on_a_tensor(tmp_path, type_):
    native, ours = tmp_path / "native.yaml", tmp_path / "ops.yaml"
    native.write_text(f"- func: f({type_} self, Tensor other) -> Tensor\n  variants: function, method\n")
    made = import_files(native, kernels="kernels", namespace="called")
    assert ("variants: method", f"`self` is {type_}") in [(note.text, note.reason) for note in made.notes]
    ours.write_text(made.text)
    assert generate([Job((Input(ours, "ops.yaml"),), tmp_path / "generated")])[1] == []
