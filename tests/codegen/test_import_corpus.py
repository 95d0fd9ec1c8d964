"""``mtcodegen import`` of PyTorch's corpus whole, as YAML and as modules: what is carried over, and what is listed."""

import json
import re
from collections import Counter
from pathlib import Path

import jsonschema
import pytest
import yaml
from torchgen.gen import parse_native_yaml

import opschema
from benchmarks.soundness import undefined_names
from benchmarks.torch_yaml import read_corpus
from mtcodegen.cli import import_
from mtcodegen.entries.front import parse_source
from mtcodegen.entries.variants import is_variant
from mtcodegen.findings.diagnostics import render_json, render_text
from mtcodegen.findings.source import Source
from mtcodegen.importer import Import, import_files, modules
from mtcodegen.importer.pytorch import FormulaKind
from mtcodegen.project.generate import generate
from mtcodegen.project.pyproject import UsageError
from mtcodegen.system.paths import data_folder
from mtcodegen.targets.job import Input, Job
from tests.codegen.support import check_imported, entries, run_import

torchgen = pytest.importorskip("torchgen")
ROOT = Path(torchgen.__file__).parent / "packaged"
NATIVE = ROOT / "ATen/native/native_functions.yaml"
DERIVATIVES = ROOT / "autograd/derivatives.yaml"
DEFINED = r'_lib\.operator\(\s*["\']([^(]*)\('  # the names of the operators that a module defines


@pytest.fixture(scope="module")
def whole() -> Import:
    made = fresh()
    assert made.notes  # with them the operators are complete, whichever test comes first
    return made


def test_the_whole_corpus_is_accepted_by_the_generator(whole: Import) -> None:
    assert whole.diagnostics == ()
    assert check_imported(whole.text) == []
    schema = json.loads((data_folder("ops_yaml") / "ops.schema.json").read_text())
    jsonschema.validate(yaml.load(whole.text, yaml.CSafeLoader), schema)


def fresh() -> Import:
    return import_files(NATIVE, derivatives=DERIVATIVES, kernels="my_kernels")


def test_modules_without_a_file_between_are_the_same(
    whole: Import, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "native_functions.yaml"
    path.write_text(whole.text)
    generated, found = generate([Job((Input(path, path.name),), tmp_path / "out")])
    assert found == []
    monkeypatch.setattr(modules, "MOST", 10_000)
    made = fresh().modules(NATIVE, tmp_path / "out")
    assert made.refused == ()
    assert made.files.keys() == generated[0].files.keys()
    assert made.files == generated[0].files


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
        defined += re.findall(DEFINED, text)
    declared = [str(item.schema).partition("(")[0] for item in whole.imported]
    variants = [name for item in whole.imported for name in item.autogen]
    assert sorted(defined) == sorted(declared + variants)
    bases = [{name.partition(".")[0] for name in re.findall(DEFINED, made.files[f"{name}.py"])} for name in names]
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
    assert run_import(*words) == 0
    assert sorted(item.name for item in (tmp_path / "out").iterdir()) == ["native_functions.py", "native_functions.pyi"]
    text = (tmp_path / "out/native_functions.py").read_text()
    assert re.findall(DEFINED, text) == ["exp", "exp.out", "relu"]
    assert "threshold_backward(grad, out, 0)" in text
    assert "not carried over" in capsys.readouterr().err
    first = (tmp_path / "out/native_functions.py").read_bytes()
    assert run_import(*words) == 0
    assert (tmp_path / "out/native_functions.py").read_bytes() == first
    for wrong in (["--modules", "out"], ["--kernels", "k", "--modules", "out", "-o", "ops.yaml"]):
        with pytest.raises(UsageError, match="--modules"):
            run_import(str(NATIVE), *wrong)


def test_the_notes_of_two_processes_are_all_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modules, "MOST", 2)
    names = ["relu", "exp", "sqrt", "_fw_primal"]
    notes = import_files(NATIVE, select=names, kernels="k").modules(NATIVE, tmp_path).notes
    words = ["--select", ",".join(names), "--kernels", "k", "--modules", str(tmp_path / "out")]
    assert run_import(str(NATIVE), *words) == 0
    assert (tmp_path / "out/native_functions_2.py").exists()
    shown = render_text([import_._as_warning(note) for note in notes])
    assert capsys.readouterr().err == f"{shown}{len(notes)} warnings\n"


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
    assert run_import(str(native), *words) == 1
    assert not Path("out").exists()
    assert json.loads(capsys.readouterr().out) == json.loads(render_json(found))


def test_a_tag_that_there_is_not_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "native_functions.yaml"
    path.write_text("- func: f(Tensor x) -> Tensor\n  tags: [pointwise, odd]\n")
    made = import_files(path, kernels="k")
    assert entries(made.text)["f(Tensor x) -> Tensor"]["tags"] == ["pointwise"]
    assert check_imported(made.text) == []
    assert ("tags: odd", "there is no such tag here") in {(note.text, note.reason) for note in made.notes}


def test_an_escaped_control_character_is_escaped_in_comments_too(tmp_path: Path) -> None:
    path = tmp_path / "native_functions.yaml"
    path.write_text('- func: f(Tensor x) -> Tensor\n  python_module: "a\\0b"\n')
    made = import_files(path, kernels="k")
    assert "# not carried over: python_module: a\\u0000b (" in made.text
    assert check_imported(made.text) == []


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
    carried = ("func", "variants", "tags", "device_check", "dispatch")
    for function in read_corpus(NATIVE).functions:
        keys = [key for name, key in function.place.keys.items() if name not in (*carried, "autogen")]
        for text in [*keys, *(item.text for item in function.dispatch)]:
            assert (str(NATIVE), text.span.line) in noted, f"line {text.span.line}: {text.value}"


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
    assert run_import(str(tmp_path / "native.yaml"), "--namespace", "mine") == 0
    shown = capsys.readouterr()
    reason = "no such variant is made of operators of this kind"
    assert [line for line in shown.out.splitlines() if "autogen" in line] == [
        "  autogen: twice.out",
        "# not carried over: autogen: twice.out (it is made of twice)",
        f"# not carried over: autogen: count.out ({reason})",
    ]
    assert "native.yaml:4:12: warning[MT610]: not carried over: autogen: twice.out" in shown.err


def test_every_formula_is_carried_over_or_listed(whole: Import) -> None:
    """By place, too, also where its operator is left out, or is one that `autogen` makes."""
    noted = {note.span.line for note in whole.notes if note.span.source.path == str(DERIVATIVES)}
    imported = entries(whole.text)
    carried = lost = 0
    for entry in read_corpus(NATIVE, DERIVATIVES).derivatives:
        made = imported.get(str(entry.schema), {})
        backward = made.get("backward", {})
        tensors = {item.name for item in entry.schema.arguments if opschema.base_of(item.type).name == "Tensor"}
        for variant in entry.variants:
            for formula in variant.formulas:
                lines = range(formula.key.span.line, formula.key.span.line + formula.text.value.count("\n") + 3)
                formulas = {**(backward if isinstance(backward, dict) else {}), **made.get("forward", {})}
                given = formulas.get(", ".join(formula.names))
                if formula.kind is FormulaKind.NON_DIFFERENTIABLE:
                    names = ", ".join(name for name in formula.names if name in tensors)
                    given = not names or backward == "not_differentiable" or formulas.get(names)
                if given and given != "not_implemented":
                    carried += 1
                elif "not_implemented" not in formula.text.value:
                    assert any(line in noted for line in lines), f"line {formula.key.span.line}: {formula.text.value}"
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
