"""``mtcodegen breaking``, with PyTorch's own check as the oracle."""

from __future__ import annotations

import json
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opschema
from mtcodegen.check.compatibility import breaks
from mtcodegen.cli.main import main
from tests.needs import needed

torch = needed("torch")

HEAD = "namespace: t\nlibrary: libk.so\nops:\n"


def entry(func):
    backward = "  backward: not_implemented\n" if "Tensor" in func.partition("->")[0] else ""
    return f"- func: {func}\n  kernels:\n  - {{device: [cpu, meta], python: 'm:f'}}\n{backward}"


# old, new, codes
CHANGES = [
    ("f(Tensor x) -> Tensor", "f(Tensor x) -> Tensor", []),
    ("f(Tensor x) -> Tensor", "f(Tensor x, int k=1) -> Tensor", []),
    ("f(Tensor x) -> Tensor", "f(Tensor x, int k) -> Tensor", ["MT703"]),
    ("f(Tensor x, int k=1) -> Tensor", "f(Tensor x) -> Tensor", ["MT702"]),
    ("f(Tensor x, int k=1) -> Tensor", "f(Tensor x, int n=1) -> Tensor", ["MT707"]),
    ("f(Tensor x, *, int k=1) -> Tensor", "f(Tensor x, *, int n=1) -> Tensor", ["MT707"]),
    ("f(Tensor x, int k=1) -> Tensor", "f(Tensor x, int k=2) -> Tensor", ["MT704"]),
    ("f(Tensor x, int k=1) -> Tensor", "f(Tensor x, int k) -> Tensor", ["MT704"]),
    ("f(Tensor x, int k) -> Tensor", "f(Tensor x, int k=1) -> Tensor", []),
    ("f(Tensor x, int k) -> Tensor", "f(Tensor x, int? k) -> Tensor", []),
    ("f(Tensor x, int? k) -> Tensor", "f(Tensor x, int k) -> Tensor", ["MT705"]),
    ("f(Tensor x, int k) -> Tensor", "f(Tensor x, Scalar k) -> Tensor", []),
    ("f(Tensor x, complex k) -> Tensor", "f(Tensor x, Scalar k) -> Tensor", []),
    ("f(Tensor x, Scalar k=1) -> Tensor", "f(Tensor x, Scalar k=1.0) -> Tensor", ["MT704"]),
    ("f(Tensor x, Scalar k=1) -> Tensor", "f(Tensor x, Scalar k=True) -> Tensor", ["MT704"]),
    ("f(Tensor x, Scalar? k=0.5) -> Tensor", "f(Tensor x, Scalar? k=5e-1) -> Tensor", []),
    ("f(Tensor x, float k=1) -> Tensor", "f(Tensor x, float k=1.0) -> Tensor", []),
    ("f(Tensor x, float k=1) -> Tensor", "f(Tensor x, Scalar k=1) -> Tensor", ["MT704"]),
    ("f(Tensor x, int[2] k=1) -> Tensor", "f(Tensor x, int[2] k=[1, 1]) -> Tensor", []),
    ("f(Tensor x, int k) -> Tensor", "f(Tensor x, float k) -> Tensor", ["MT705"]),
    ("f(Tensor x, int k) -> Tensor", "f(Tensor x, SymInt k) -> Tensor", []),
    ("f(Tensor x, int[2] k) -> Tensor", "f(Tensor x, int[] k) -> Tensor", ["MT705"]),
    ("f(Tensor x, int j, int k) -> Tensor", "f(Tensor x, int k, int j) -> Tensor", ["MT706", "MT706"]),
    ("f(Tensor x, int j=1) -> Tensor", "f(Tensor x, int k=2, int j=1) -> Tensor", ["MT706"]),
    ("f(Tensor x, int k) -> Tensor", "f(Tensor x, *, int k) -> Tensor", ["MT708"]),
    ("f(Tensor x, *, int k) -> Tensor", "f(Tensor x, int k) -> Tensor", []),
    ("f(Tensor x) -> Tensor", "f(Tensor x) -> (Tensor, Tensor)", ["MT709"]),
    ("f(Tensor x) -> Tensor", "f(Tensor x) -> int", ["MT709"]),
    ("f(Tensor x) -> Tensor", "f(Tensor x) -> Tensor out", ["MT709"]),
    ("f(Tensor x) -> Tensor?", "f(Tensor x) -> Tensor", []),
    ("f(Tensor x) -> Tensor", "f(Tensor x) -> Tensor?", ["MT709"]),
    ("f(Tensor(a) x) -> Tensor(a)", "f(Tensor x) -> Tensor", ["MT710", "MT710"]),
    ("f(Tensor x) -> ()", "f(Tensor(a!) x) -> ()", ["MT710"]),
    ("f(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", "f(Tensor x, *, Tensor(a!) o) -> Tensor(a!)", ["MT707"]),
    ("f(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", "f(Tensor x, *, int k=1, Tensor(a!) out) -> Tensor(a!)", []),
]


def torch_says(old, new):
    return torch._C.parse_schema(f"t::{new}").is_backward_compatible_with(torch._C.parse_schema(f"t::{old}"))


@pytest.mark.parametrize(("old", "new", "codes"), CHANGES, ids=[f"{old} to {new}" for old, new, _ in CHANGES])
def test_a_change(old, new, codes):
    found = breaks(opschema.parse_schema(old), opschema.parse_schema(new))
    assert [item.code.name for item in found] == codes
    assert torch_says(old, new) is not bool(codes)


# What PyTorch lets pass, although callers fail.
@pytest.mark.parametrize(
    ("old", "new", "codes"),
    [
        ("f(Tensor x) -> ()", "f(Tensor x, *, Tensor(a!) out) -> ()", ["MT703"]),
        ("f(ScalarType x) -> ()", "f(int x) -> ()", ["MT705"]),
    ],
)
def test_a_change_that_pytorch_does_not_see(old, new, codes):
    assert [item.code.name for item in breaks(opschema.parse_schema(old), opschema.parse_schema(new))] == codes
    assert torch_says(old, new)


TYPES = st.sampled_from(
    ["int", "float", "bool", "Scalar", "Tensor", "int?", "Tensor?", "int[]", "int[2]", "str", "SymInt"]
)
DEFAULTS = {"int": "3", "float": "0.5", "bool": "True", "int?": "None", "Tensor?": "None", "int[]": "[]", "str": '"a"'}


@st.composite
def arguments(draw):
    names = draw(st.lists(st.sampled_from("abcdef"), unique=True, max_size=4))
    parts = []
    with_default = False
    for name in names:
        type_ = draw(TYPES)
        with_default = (with_default or draw(st.booleans())) and type_ in DEFAULTS
        default = f"={DEFAULTS[type_]}" if with_default else ""
        parts.append(f"{type_} {name}{default}")
    return parts


@st.composite
def schemas(draw):
    """A schema and another one a step or two away."""
    parts, returns = draw(arguments()), draw(st.lists(TYPES, max_size=2))
    changed = list(parts)
    for change in draw(st.lists(st.sampled_from(["drop", "add", "swap", "replace"]), max_size=2)):
        at = draw(st.integers(0, max(0, len(changed) - 1)))
        if change == "add":
            changed.insert(at, draw(st.sampled_from(["int new=1", "int new", "Tensor? new=None"])))
        elif changed and change == "drop":
            changed.pop(at)
        elif changed and change == "swap":
            changed.append(changed.pop(at))
        elif changed:
            changed[at] = f"{draw(TYPES)} {changed[at].split()[1].split('=')[0]}"
    both = []
    for side, given_returns in (
        (parts, returns),
        (changed, draw(st.sampled_from([returns, ["Tensor"], ["int", "int"]]))),
    ):
        star = draw(st.integers(0, len(side)))
        listed = [*side[:star], "*", *side[star:]] if star < len(side) else side
        both.append(f"f({', '.join(listed)}) -> ({', '.join(given_returns)})")
    return both


@settings(max_examples=400, deadline=None)
@given(schemas())
def test_we_and_pytorch_agree(pair):
    parsed = []
    for text in pair:
        text = text.replace("-> (Tensor)", "-> Tensor")
        try:
            parsed.append(opschema.parse_schema(text))
        except opschema.SchemaError:
            return  # a step that led to no schema
    old, new = parsed
    assert torch_says(str(old), str(new)) is (breaks(old, new) == [])


# ---------------------------------------------------------------- the command


def git(folder, *words):
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "decl").mkdir()
    (tmp_path / "decl" / "a.yaml").write_text(HEAD + entry("f(Tensor x, int k=1) -> Tensor") + entry("g() -> ()"))
    (tmp_path / "decl" / "b.yaml").write_text(HEAD + entry("h(Tensor x) -> Tensor"))
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "decl")
    git(tmp_path, "commit", "-q", "-m", "old")
    return tmp_path


def test_nothing_broke(project, capsys):
    (project / "decl" / "a.yaml").write_text(
        HEAD + entry("f(Tensor x, int k=1, *, int n=2) -> Tensor") + entry("g() -> ()") + entry("new(int k) -> ()")
    )
    assert main(["breaking", "--against", "HEAD", "decl"]) == 0
    assert capsys.readouterr().out == "nothing breaks what was written for HEAD\n"


def test_shown_with_its_place(project, capsys):
    (project / "decl" / "a.yaml").write_text(HEAD + entry("f(Tensor x, int k=2) -> Tensor") + entry("g() -> ()"))
    assert main(["breaking", "--against", "HEAD", "decl/a.yaml"]) == 1
    assert capsys.readouterr().err == (
        "decl/a.yaml:4:25: error[MT704]: t::f: the default of `k` was 1 and is 2\n"
        "  |\n"
        "4 | - func: f(Tensor x, int k=2) -> Tensor\n"
        "  |                         ^ keep 1, or declare a new overload\n"
        "1 error\n"
    )


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("f(Tensor(k -> *) x, Tensor k) -> Tensor", "f(Tensor(k -> *) x, Tensor? k=None) -> int", "4:48"),
        ("f(Tensor(k) x, int k=1) -> Tensor", "f(Tensor(k) x, int k=2) -> Tensor", "4:28"),
    ],
)
def test_names_and_arrows_of_aliases_are_no_places(project, capsys, old, new, place):
    (project / "old.yaml").write_text(HEAD + entry(old))
    (project / "new.yaml").write_text(HEAD + entry(new))
    assert main(["breaking", "--against", "old.yaml", "new.yaml"]) == 1
    assert f"new.yaml:{place}: error[MT70" in capsys.readouterr().err


def test_an_operator_that_is_gone_is_shown_where_it_was(project, capsys):
    (project / "decl" / "a.yaml").write_text(HEAD + entry("f(Tensor x, int k=1) -> Tensor"))
    (project / "decl" / "b.yaml").unlink()
    assert main(["breaking", "--against", "HEAD", "decl"]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith(
        "decl/a.yaml: error[MT701]: t::g is gone\n"
        "   = keep it, marked `deprecated`\n"
        "decl/a.yaml at HEAD:8:9: note: it was declared here\n"
        "  |\n"
        "8 | - func: g"
    )
    assert "decl/b.yaml: error[MT701]: t::h is gone" in shown
    assert "decl/b.yaml at HEAD:4:9: note: it was declared here" in shown


def test_programs_are_told_of_files_that_there_are(project, capsys):
    """A place in an old revision is no place that a service could show."""
    (project / "decl" / "a.yaml").write_text(HEAD + entry("f(Tensor x, int k=1) -> Tensor"))
    words = ["breaking", "--against", "HEAD", "decl/a.yaml", "--format"]
    assert main([*words, "github"]) == 1
    assert capsys.readouterr().out == (
        "::error file=decl/a.yaml,title=MT701::t::g is gone "
        "(it was declared at decl/a.yaml at HEAD:8:9; keep it, marked `deprecated`)\n"
    )
    assert main([*words, "sarif"]) == 1
    (result,) = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert result["locations"] == [{"physicalLocation": {"artifactLocation": {"uri": "decl/a.yaml"}}}]
    assert "relatedLocations" not in result


def test_files_beside_the_one_that_is_meant_do_not_matter(project, capsys):
    """A project's own YAML may lie beside that of other tools, and of experiments."""
    entry = '[[tool.mtcodegen.generate]]\ninputs = ["{}"]\noutput = "out"\n'
    (project / "pyproject.toml").write_text(entry.format("decl/a.yaml"))
    (project / "decl" / ".pre-commit-config.yaml").write_text("repos: []\n")
    git(project, "add", "decl")
    git(project, "commit", "-q", "-m", "another tool")
    assert main(["breaking", "--against", "HEAD"]) == 0
    (project / "decl" / ".pre-commit-config.yaml").unlink()
    (project / "pyproject.toml").write_text(entry.format("decl"))
    git(project, "commit", "-q", "-a", "-m", "gone")
    (project / "decl" / "b.yaml").unlink()
    assert main(["breaking", "--against", "HEAD"]) == 1
    assert "decl/b.yaml: error[MT701]: t::h is gone" in capsys.readouterr().err


def test_an_operator_may_move_to_another_file(project):
    moved = (project / "decl" / "b.yaml").read_text()
    (project / "decl" / "b.yaml").unlink()
    (project / "decl" / "c.yaml").write_text(moved)
    assert main(["breaking", "--against", "HEAD", "decl"]) == 0


def test_against_a_file(project, capsys):
    (project / "old.yaml").write_text((project / "decl" / "a.yaml").read_text())
    (project / "new.yaml").write_text(HEAD + entry("g() -> ()") + entry("f(Tensor y, int k=1) -> Tensor"))
    assert main(["breaking", "--against", "old.yaml", "new.yaml", "--format", "github"]) == 1
    assert "::error file=new.yaml,line=7,col=18" in capsys.readouterr().out
    assert main(["breaking", "--against", "new.yaml", "new.yaml"]) == 0


def test_wrong_usage(project, capsys):
    assert main(["breaking", "decl"]) == 2
    assert main(["breaking", "--against", "no-such-ref", "decl"]) == 2
    assert "no-such-ref: no such file, and no such git revision" in capsys.readouterr().err
    assert main(["breaking", "--against", "--output=x", "decl"]) == 2


def test_an_old_file_that_cannot_be_read(project, capsys):
    (project / "old.yaml").write_text("[")
    assert main(["breaking", "--against", "old.yaml", "decl"]) == 1
    assert "old.yaml: error[MT711]: the old file cannot be read" in capsys.readouterr().err
