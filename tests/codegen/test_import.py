"""``mtcodegen import``: PyTorch's corpus whole, ExecuTorch's and op-plugin's forms, and what is said of the rest."""

import argparse
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from torchgen.gen import parse_native_yaml

import opschema
from benchmarks.soundness import undefined_names
from mtcodegen.autogen import is_variant
from mtcodegen.commands import import_
from mtcodegen.diagnostics import Diagnostic, render_json, render_text
from mtcodegen.expr import OperatorTable
from mtcodegen.front import parse_source
from mtcodegen.importer import Import, import_files, modules
from mtcodegen.importer.formula import ConversionError, to_expression
from mtcodegen.importer.keywords import with_keywords
from mtcodegen.operators import operator_table
from mtcodegen.paths import data_folder
from mtcodegen.pipeline import Input, Target, generate
from mtcodegen.resolve import resolve
from mtcodegen.source import Source
from mtcodegen.targets import UsageError
from mtcodegen.torchyaml import parse_formula, read_corpus

torchgen = pytest.importorskip("torchgen")
ROOT = Path(torchgen.__file__).parent / "packaged"
NATIVE = ROOT / "ATen/native/native_functions.yaml"
DERIVATIVES = ROOT / "autograd/derivatives.yaml"


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    import_.configure(parser)
    return import_.run(parser.parse_args(list(words)))


@pytest.fixture(scope="module")
def whole() -> Import:
    return import_files(NATIVE, derivatives=DERIVATIVES, kernels="my_kernels")


def check_text(text: str) -> list[Diagnostic]:
    """What the generator has against a file."""
    _, file, found = parse_source(Source("imported.yaml", text))
    return found if file is None or found else resolve(file, operator_table(file.ops, set()))[1]


def entries(text: str) -> dict[str, Any]:
    return {entry["func"]: entry for entry in yaml.load(text, yaml.CSafeLoader)["ops"]}


# ---------------------------------------------------------------- PyTorch


def test_the_whole_corpus_is_accepted_by_the_generator(whole: Import) -> None:
    assert whole.diagnostics == ()
    assert check_text(whole.text) == []
    schema = json.loads((data_folder("ops_yaml") / "ops.schema.json").read_text())
    jsonschema.validate(yaml.load(whole.text, yaml.CSafeLoader), schema)


def fresh() -> Import:
    return import_files(NATIVE, derivatives=DERIVATIVES, kernels="my_kernels")


def test_modules_without_a_file_between_are_the_same(
    whole: Import, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "native_functions.yaml"
    path.write_text(whole.text)
    generated, found = generate([Target((Input(path, path.name),), tmp_path / "out")])
    assert found == []
    place = re.compile(r'source="\w+.yaml:\d+"|^# -+ .*|[\s(),]+', re.MULTILINE)  # and where lines break
    monkeypatch.setattr(modules, "MOST", 10_000)
    made = fresh().modules(NATIVE, tmp_path / "out")
    assert made.refused == ()
    assert made.files.keys() == generated[0].files.keys()
    for name, text in made.files.items():
        assert place.sub("", text) == place.sub("", generated[0].files[name])


def test_a_large_file_is_a_package_made_in_two_processes(
    whole: Import, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = fresh().modules(NATIVE, tmp_path / "out")
    names = ["native_functions_1", "native_functions_2"]
    assert sorted(made.files) == ["__init__.py", *(f"{name}.{end}" for name in names for end in ("py", "pyi"))]
    defined: list[str] = []
    for name, text in made.files.items():
        compile(text, name, "exec")
        assert undefined_names(text) <= {*names}
        defined += re.findall(r'_lib\.define\(\s*["\']([^(]*)\(', text)
    declared = [str(item.schema).partition("(")[0] for item in whole.imported]
    variants = [name for item in whole.imported for name in item.autogen]
    assert sorted(defined) == sorted(declared + variants)
    bases = [
        {name.partition(".")[0] for name in re.findall(r'_lib\.define\(\s*["\']([^(]*)\(', made.files[f"{name}.py"])}
        for name in names
    ]
    assert not bases[0] & bases[1]
    assert {note.text for note in made.notes} == {note.text for note in whole.notes}
    monkeypatch.setattr(modules, "in_two_processes", lambda function, items: list(map(function, items)))
    alone = fresh().modules(NATIVE, tmp_path / "out")
    assert alone.files == made.files
    assert [note.text for note in alone.notes] == [note.text for note in made.notes]


def test_modules_are_written_by_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [
        str(NATIVE),
        "--derivatives",
        str(DERIVATIVES),
        "--select",
        "relu,exp",
        "--kernels",
        "k",
        "--modules",
        "out",
    ]
    assert run(*words) == 0
    assert sorted(item.name for item in (tmp_path / "out").iterdir()) == ["native_functions.py", "native_functions.pyi"]
    assert '_lib.register_autograd("relu"' in (tmp_path / "out/native_functions.py").read_text()
    assert "not carried over" in capsys.readouterr().err
    first = (tmp_path / "out/native_functions.py").read_bytes()
    assert run(*words) == 0
    assert (tmp_path / "out/native_functions.py").read_bytes() == first
    for wrong in (["--modules", "out"], ["--kernels", "k", "--modules", "out", "-o", "ops.yaml"]):
        with pytest.raises(UsageError, match="--modules"):
            run(str(NATIVE), *wrong)


def test_notes_drawn_in_two_processes_are_all_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modules, "MOST", 2)
    names = ["relu", "exp", "sqrt", "_fw_primal"]
    notes = import_files(NATIVE, select=names, kernels="k").modules(NATIVE, tmp_path).notes
    words = ["--select", ",".join(names), "--kernels", "k", "--modules", str(tmp_path / "out")]
    assert run(str(NATIVE), *words) == 0
    assert (tmp_path / "out/native_functions_2.py").exists()
    drawn = render_text([import_._as_warning(note) for note in notes])
    assert capsys.readouterr().err == f"{drawn}{len(notes)} warnings\n"


@pytest.mark.parametrize(
    "odd", ["", "- name: h(Tensor x) -> Tensor\n  x: grad\n", "- name: f(Tensor x) -> Tensor\n  x: y\n"]
)
@pytest.mark.parametrize("most", [1, 1000])
def test_formulas_checked_with_modules_have_the_same_faults(
    odd: str, most: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(modules, "MOST", most)
    funcs = ["f(Tensor x) -> Tensor", "g(Tensor x) -> Tensor", "only_on_xla(Tensor x) -> Tensor"]
    kernels = ["  dispatch:\n    CPU: a\n"] * 2 + ["  dispatch:\n    XLA: a\n"]
    native, derivatives = Path("native.yaml"), Path("derivatives.yaml")
    native.write_text("".join(f"- func: {func}\n{kernel}" for func, kernel in zip(funcs, kernels, strict=True)))
    formulas = ["grad * unknown", "grad *", "nothing(grad)"]
    derivatives.write_text(
        odd + "".join(f"- name: {f}\n  x: {text}\n" for f, text in zip(funcs, formulas, strict=True))
    )
    found = import_files(native, derivatives=derivatives, kernels="k").diagnostics
    assert len(found) >= 3
    words = ["--derivatives", str(derivatives), "--kernels", "k", "--modules", "out", "--format", "json"]
    assert run(str(native), *words) == 1
    assert not Path("out").exists()
    assert json.loads(capsys.readouterr().out) == json.loads(render_json(found))


def test_a_tag_that_there_is_not_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "native_functions.yaml"
    path.write_text("- func: f(Tensor x) -> Tensor\n  tags: [pointwise, odd]\n")
    made = import_files(path, kernels="k")
    assert entries(made.text)["f(Tensor x) -> Tensor"]["tags"] == ["pointwise"]
    assert check_text(made.text) == []
    assert ("tags: odd", "there is no such tag here") in {(note.text, note.reason) for note in made.notes}


def test_an_escaped_control_character_is_escaped_in_comments_too(tmp_path: Path) -> None:
    path = tmp_path / "native_functions.yaml"
    path.write_text('- func: f(Tensor x) -> Tensor\n  python_module: "a\\0b"\n')
    made = import_files(path, kernels="k")
    assert "# not carried over: python_module: a\\u0000b (" in made.text
    assert check_text(made.text) == []


def test_every_operator_is_imported_or_listed(whole: Import) -> None:
    imported = entries(whole.text)
    listed = {note.text for note in whole.notes}
    corpus = read_corpus(NATIVE).functions
    missing = [str(item.schema) for item in corpus if str(item.schema) not in imported]
    assert set(missing) <= listed
    assert len(imported) == whole.operators == 2584 - len(missing)
    assert len(missing) < 80


def test_every_key_and_kernel_is_carried_over_or_listed(whole: Import) -> None:
    """By place: each line of the original that says more than the schema, a tag or a variant has a note of its own."""
    noted = {(note.span.source.path, note.span.line) for note in whole.notes}
    carried = ("func", "variants", "tags", "dispatch")
    for function in read_corpus(NATIVE).functions:
        keys = [key for name, (key, _) in function.node.entries.items() if name not in (*carried, "autogen")]
        for node in [*keys, *(item.node for item in function.dispatch)]:
            assert (str(NATIVE), node.line) in noted, f"line {node.line}: {node.value}"


def test_every_variant_is_carried_over_or_listed(whole: Import) -> None:
    """Those that are made have the schemas that torchgen makes; of composed operators it makes none."""
    listed = [note.text for note in whole.notes]
    asked = [name for function in read_corpus(NATIVE).functions for name in function.autogen]
    _, file, found = parse_source(Source("imported.yaml", whole.text))
    assert file is not None
    assert not found
    made = {spec.schema.qualname.removeprefix("aten::"): spec.schema for spec in file.ops if is_variant(spec)}
    assert Counter(asked) - Counter([*made]) == Counter(
        text.removeprefix("autogen: ") for text in listed if text.startswith("autogen: ")
    )
    theirs = parse_native_yaml(str(NATIVE), str(NATIVE.with_name("tags.yaml"))).native_functions
    schemas = {str(item.func.name): str(item.func) for item in theirs}
    compared = {name: str(schema).removeprefix("aten::") for name, schema in made.items() if name in schemas}
    assert compared == {name: schemas[name] for name in compared}
    assert len(compared) > 440
    assert len(made) - len(compared) < 15


def test_a_variant_that_two_ask_for_is_made_of_the_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "native.yaml").write_text(
        "- func: twice(Tensor self) -> Tensor\n"
        "  autogen: twice.out\n"
        "- func: twice_(Tensor(a!) self) -> Tensor(a!)\n"
        "  autogen: twice.out\n"
        "- func: count(Tensor self) -> int\n"
        "  autogen: count.out\n"
    )
    assert run(str(tmp_path / "native.yaml"), "--namespace", "mine") == 0
    shown = capsys.readouterr()
    reason = "no such variant is made of operators of this kind"
    assert [line for line in shown.out.splitlines() if "autogen" in line] == [
        "  autogen: twice.out",
        "# not carried over: autogen: twice.out (it is made of twice)",
        f"# not carried over: autogen: count.out ({reason})",
    ]
    assert "native.yaml:4:12: warning[MT610]: not carried over: autogen: twice.out" in shown.err


def test_every_formula_is_carried_over_or_listed(whole: Import) -> None:
    noted = {note.span.line for note in whole.notes if note.span.source.path == str(DERIVATIVES)}
    imported = entries(whole.text)
    carried = lost = 0
    for entry in read_corpus(NATIVE, DERIVATIVES).derivatives:
        made = imported.get(str(entry.schema), {})
        backward = made.get("backward")
        if backward is None:
            continue
        for variant in entry.variants:
            for formula in variant.formulas:
                lines = range(formula.key.line, formula.key.line + formula.node.value.count("\n") + 3)
                formulas = {**(backward if isinstance(backward, dict) else {}), **made.get("forward", {})}
                given = backward == "not_differentiable" or formulas.get(", ".join(formula.names))
                if given and given != "not_implemented":
                    carried += 1
                elif "not_implemented" not in formula.node.value:
                    assert any(line in noted for line in lines), f"line {formula.key.line}: {formula.node.value}"
                    lost += 1
    assert carried > 700
    assert lost > 0


def test_gradients_that_call_with_keyword_only_arguments_are_carried_over(whole: Import) -> None:
    """C++ passes them by position."""
    backward = {func.partition("(")[0]: made.get("backward") for func, made in entries(whole.text).items()}
    assert backward["gelu"] == {"self": "gelu_backward(grad, self, approximate=approximate)"}
    assert backward["linalg_cross"] == {
        "self": "linalg_cross(other.conj(), grad, dim=dim)",
        "other": "linalg_cross(grad, self.conj(), dim=dim)",
    }


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
    assert run(*words, "--select", "relu", "--kernels", "kernels", "--namespace", "mine") == 0
    assert out.read_text() == (
        "# yaml-language-server: $schema=ops.schema.json\n"
        "# Imported from native.yaml, derivatives.yaml. What could not be carried over is noted in comments.\n"
        "namespace: mine\n"
        "ops:\n"
        "# not carried over: CPU, CUDA: relu (a C++ kernel, in place of which `kernels:relu` is called)\n"
        "# not carried over: MkldnnCPU: mkldnn_relu (a C++ kernel; there is no device MkldnnCPU)\n"
        "# not carried over: device_check: NoCheck (a launched kernel always checks the devices of its arguments)\n"
        "- func: relu(Tensor self) -> Tensor\n"
        "  variants: function, method\n"
        "  tags: [pointwise]\n"
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
    assert said.endswith("3 warnings\nimported 1 operator; not carried over: 3\n")
    with pytest.raises(UsageError, match="is there already; --force writes over it"):
        run(*words)
    assert run(*words, "--force", "--select", "relu") == 0
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["derivatives.yaml", "native.yaml", "ops.yaml"]


def test_the_yaml_and_the_findings_do_not_mix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(NATIVE), "--select", "sinh.out") == 0
    shown = capsys.readouterr()
    assert [*entries(shown.out)] == ["sinh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"]
    assert "warning[MT610]" in shown.err
    with pytest.raises(UsageError, match="--format json needs -o"):
        run(str(NATIVE), "--select", "sinh.out", "--format", "json")
    with pytest.raises(UsageError, match="--kernels a-b: not the name of a Python module"):
        run(str(NATIVE), "--kernels", "a-b")
    with pytest.raises(UsageError, match="--namespace a::b: not a name"):
        run(str(NATIVE), "--namespace", "a::b")
    assert run(str(NATIVE), "--select", "sinh.out", "--format", "json", "-o", str(tmp_path / "ops.yaml")) == 0
    assert {item["code"] for item in json.loads(capsys.readouterr().out)} == {"MT610"}


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
    assert run(str(NATIVE), *words, "-o", str(out), "--format", "json") == 0
    assert {func.partition("(")[0] for func in entries(out.read_text())} == names


def test_faults_are_findings_and_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "native.yaml").write_text("- func: f(Tensr x) -> Tensor\n")
    out = tmp_path / "ops.yaml"
    assert run(str(tmp_path / "native.yaml"), "-o", str(out)) == 1
    assert "native.yaml:1:11: error[MT150]: unknown type `Tensr`" in capsys.readouterr().err
    assert run(str(NATIVE), "--select", "no_such", "-o", str(out)) == 1
    assert "error[MT601]: no operator is called `no_such`" in capsys.readouterr().err
    assert run(str(NATIVE), "--select", "mul.Tensr") == 1
    assert "no operator is called `mul.Tensr`\n   = did you mean `mul.Tensor`?" in capsys.readouterr().err
    assert run(str(tmp_path / "nowhere.yaml"), "--select", "mul") == 1
    assert capsys.readouterr().err.count("error[") == 1
    (tmp_path / "ours.yaml").write_text("namespace: my\nops: []\n")
    assert run(str(tmp_path / "ours.yaml")) == 1
    assert "ours.yaml:2:1: error[MT112]: this file is in mtcodegen's own form" in capsys.readouterr().err
    assert run(str(tmp_path / "missing.yaml")) == 1
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
    ],
)
def test_formulas_are_converted(cpp: str, ours: str) -> None:
    assert to_expression(parse_formula(cpp)) == ours


@pytest.mark.parametrize(
    ("cpp", "reason"),
    [
        ("sum_backward(grad)", "`sum_backward` is a helper that PyTorch has in C++"),
        ("a & b", "`&` works on bits"),
        ("1 / 2 * grad", "a division of integers"),
        ("at::kLong", "`at::kLong` is C++"),
        ("std::vector<Tensor>(a, b)", "`std::vector<Tensor>` is C++"),
        ("fmap(a, [](int i){return i;})", "`fmap` is a helper that PyTorch has in C++"),
    ],
)
def test_what_is_cpp_only_is_said_so(cpp: str, reason: str) -> None:
    with pytest.raises(ConversionError, match=re.escape(reason)):
        to_expression(parse_formula(cpp))


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


def test_output_differentiability_is_carried_over(tmp_path: Path) -> None:
    entry, notes = carried(tmp_path, TWO, "output_differentiability: [True, False]", "self: grad", "values: self_t")
    assert entry["output_differentiability"] == [True, False]
    assert (entry["backward"], entry["forward"], notes) == ({"self": "grads[0]"}, {"values": "self_t"}, [])
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


EXECUTORCH = """\
- op: add.out
  type_alias: {T0: [Double, Float]}
  dim_order_alias:
    D0: [0, 1, 2, 3]
  kernels:
  - arg_meta:
      self: [T0, D0]
      other: [T0, D0]
    kernel_name: torch::executor::add_out_fast
  - arg_meta: null
    kernel_name: torch::executor::add_out
- func: mine::f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  device: npu
  kernels:
  - arg_meta: null
    kernel_name: mine::f_out
- func: mine::g(Tensor self) -> Tensor
  device: [cpu, vulkan]
  dispatch:
    CPU: mine::g_cpu
"""


def test_executorch(tmp_path: Path) -> None:
    path = tmp_path / "functions.yaml"
    path.write_text(EXECUTORCH)
    made = import_files(path, schemas=NATIVE, kernels="kernels")
    assert made.diagnostics == ()
    found = {func.partition("(")[0]: entry for func, entry in entries(made.text).items()}
    assert found["add.out"]["kernels"] == [
        {"device": "cpu", "python": "kernels:add_out_fast", "dtypes": ["float32", "float64"]},
        {"device": "cpu", "python": "kernels:add_out"},
    ]
    assert found["mine::f.out"]["kernels"] == [{"device": "npu", "python": "kernels:f_out"}]
    assert found["mine::g"]["kernels"] == [{"device": "cpu", "python": "kernels:g"}]
    assert [(note.span.line, note.text) for note in made.notes] == [
        (7, "arg_meta self: T0, D0 = 0, 1, 2, 3"),
        (8, "arg_meta other: T0, D0 = 0, 1, 2, 3"),
        (9, "kernel_name: torch::executor::add_out_fast"),
        (11, "kernel_name: torch::executor::add_out"),
        (16, "kernel_name: mine::f_out"),
        (18, "device: vulkan"),
        (20, "CPU: mine::g_cpu"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- op: addd.out\n  kernels: []\n", "MT601 the schema of `addd.out` is not known"),
        ("- op: add.out\n  kernel: []\n", "MT110 unknown key `kernel`"),
        ("- kernels: []\n", "MT111 `op` or `func` is missing"),
        ("- op: add.out\n  kernels:\n  - arg_meta: null\n", "MT111 `kernel_name` is missing"),
        (
            "- op: add.out\n  kernels:\n  - arg_meta: null\n    kernel_name: a b\n",
            "MT114 `a b` is not the name of a C++ function",
        ),
        ("- op: add.out\n  tags: [a b]\n", "MT114 `a b` is not the name of a tag"),
        ("- op: add.out\n  variants: methd\n", "MT113 `variants` cannot be `methd`"),
        ("- op: add.out\n  kernels: none\n", "MT112 `kernels` is a list, and this is a string"),
    ],
)
def test_faults_of_executorch_files(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "functions.yaml"
    path.write_text(text)
    shown = [f"{item.code} {item.message}" for item in import_files(path, schemas=NATIVE).diagnostics]
    assert shown == [expected]


# ---------------------------------------------------------------- op-plugin


OP_PLUGIN = """\
all_version: [v2.1, v2.2]
official:
  - func: abs(Tensor self) -> Tensor
    acl_op: all_version
    op_api: [v2.1, newest]
    gen_opapi:
      out:
        size: self
        dtype: self
      exec: aclnnAbs
  - func: old(Tensor self) -> Tensor
    op_api: v2.1
custom:
  - func: npu_eq(Tensor self, Tensor other) -> Tensor
    op_api: v2.2
    exposed: all_version
    gen_opapi:
      out:
        size: broadcast_ops_npu_output_size(self, other)
        dtype: at::kBool
      exec: aclnnEq
  - func: npu_pair(Tensor self, int n) -> (Tensor, Tensor)
    op_api: all_version
    gen_opapi:
      out0:
        size: self
        dtype: self
      out1:
        size: '{self.size(0), n}'
        dtype: self
      exec: aclnnPair
  - func: npu_odd(Tensor self) -> Tensor
    op_api: all_version
    gen_opapi:
      out:
        size: odd_npu_output_size(self)
        dtype: self
      exec: aclnnOdd
  - func: npu_gelu_backward(Tensor grad, Tensor self) -> Tensor
    op_api: all_version
  - func: npu_gelu(Tensor self) -> Tensor
    op_api: all_version
quant:
"""
OP_PLUGIN_DERIVATIVES = """\
all_version: [v2.1, v2.2]
backward:
- name: npu_gelu(Tensor self) -> Tensor
  self: npu_gelu_backward_symint(grad, self)
  version: v2.1
- name: npu_gelu(Tensor self) -> Tensor
  self: npu_gelu_backward(grad, self)
  version: [v2.2, newest]
- name: npu_odd(Tensor self) -> Tensor
  self: odd(grad)
  version: all_version
"""


def test_op_plugin(tmp_path: Path) -> None:
    path, derivatives = tmp_path / "op_plugin_functions.yaml", tmp_path / "derivatives.yaml"
    path.write_text(OP_PLUGIN)
    derivatives.write_text(OP_PLUGIN_DERIVATIVES)
    made = import_files(path, derivatives=derivatives, kernels="kernels")
    assert made.diagnostics == ()
    found = {func.partition("(")[0]: entry for func, entry in entries(made.text).items()}
    assert {name: entry.get("fake") for name, entry in found.items()} == {
        "abs": {"like": "self"},
        "npu::npu_eq": {"shape": "broadcast_shapes(self.shape, other.shape)", "dtype": "bool"},
        "npu::npu_pair": [{"like": "self"}, {"shape": "[self.size(0), n]", "dtype": "self.dtype"}],
        "npu::npu_odd": None,
        "npu::npu_gelu_backward": None,
        "npu::npu_gelu": None,
    }
    assert found["abs"]["kernels"] == [{"device": "npu", "python": "kernels:abs"}]
    assert found["abs"]["backward"] == "not_implemented"
    assert found["npu::npu_gelu"]["backward"] == {"self": "npu_gelu_backward(grad, self)"}
    assert found["npu::npu_odd"]["backward"] == {"self": "not_implemented"}
    noted = {(note.span.line, note.text.partition(":")[0]) for note in made.notes}
    assert {(4, "acl_op"), (10, "exec"), (11, "old"), (16, "exposed"), (35, "out"), (38, "exec")} <= noted
    assert any(note.text == "self: odd(grad)" and "`odd`" in note.reason for note in made.notes)
    # What is left to be written by hand is what there is no rule for.
    assert {item.code for item in check_text(made.text)} == {"MT401"}


def test_what_is_imported_is_generated(tmp_path: Path) -> None:
    path = tmp_path / "ops.yaml"
    words = ("--select", "relu,exp*,mm,threshold_backward,where.self", "--kernels", "kernels", "--namespace", "mine")
    assert run(str(NATIVE), "--derivatives", str(DERIVATIVES), *words, "-o", str(path)) == 0
    target = Target((Input(path, "ops.yaml"),), tmp_path / "generated")
    generated, found = generate([target])
    assert found == []
    module = generated[0].files["ops.py"]
    compile(module, "ops.py", "exec")
    assert 'library.python_function("kernels:relu")' in module


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
