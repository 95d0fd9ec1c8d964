"""``mtcodegen lint``: what each rule finds and leaves alone, and that fixing changes no meaning."""

from __future__ import annotations

import json

import pytest

from mtcodegen.cli.main import main
from tests.codegen.support import load
from tests.needs import needed

torch = needed("mindtorch_v2")

HEAD = "namespace: t\nlibrary: libk.so\nops:\n"
PLAIN = """\
- func: f(Tensor x, *, float scale=1.0) -> Tensor
  doc: Scaled.
  check:
  - x.dim() == 2
  fake: {like: x}
  kernels:
  - {device: cpu, symbol: f, args: [x, out, f32(scale)], dtypes: [float32]}
  - {device: cpu, symbol: g, args: [x, out, f32(scale)], dtypes: [float64]}
  backward:
    x: grad * scale
"""

# What is changed in PLAIN, what is found, and what --fix makes of it (None: nothing).
CASES = {
    "doc": (("  doc: Scaled.\n", ""), "4:9: warning[MT801]: t::f has no `doc`", None),
    "variants": (("  doc", "  variants: function\n  doc"), "5:3: warning[MT802]: `variants` gives the default", PLAIN),
    "abi": (("symbol: f,", "symbol: f, abi: c,"), "10:30: warning[MT802]: `abi` gives the default", PLAIN),
    "library": (("symbol: f,", "library: libk.so, symbol: f,"), "MT802]: `library` gives the default", PLAIN),
    "like's dtype": (("{like: x}", "{like: x, dtype: x.dtype}"), "MT802]: `dtype` gives the default", PLAIN),
    "the same twice": (("  - x.dim() == 2", "  - x.dim() == 2\n  - x.shape == x.shape"), "8:5: warning[MT803]", PLAIN),
    "a count": (("  - x.dim() == 2", "  - 0 <= x.numel()\n  - x.dim() == 2"), "7:5: warning[MT803]", PLAIN),
    "not None": (("  - x.dim() == 2", "  - x is not None\n  - x.dim() == 2"), "7:5: warning[MT803]", PLAIN),
    "or": (("  - x.dim() == 2", "  - x.dim() == 2\n  - scale > 1 or x.dim() > -1"), "8:5: warning[MT803]", PLAIN),
    "the only check": (
        ("x.dim() == 2", "x.size(0) >= 0"),
        "7:5: warning[MT803]",
        PLAIN.replace("  check:\n  - x.dim() == 2\n", ""),
    ),
    "when": (("dtypes: [float64]", "dtypes: [float64], when: x.dim() >= 0"), "MT803]: this always holds", PLAIN),
    "never": (("x.dim() == 2", "x.dim() < 0"), "7:5: warning[MT804]: this never holds", None),
    "a dead kernel": (
        ("  backward", "  - {device: cpu, symbol: h, args: [x, out], dtypes: [float32]}\n  backward"),
        "12:6: warning[MT805]: this kernel is never run on cpu",
        PLAIN,
    ),
    "an argument": (
        ("float scale=1.0", "float scale=1.0, int k=1"),
        "4:45: warning[MT806]: nothing reads `k`",
        None,
    ),
    "an argument that is called like an alias": (
        ("f(Tensor x, *, float scale=1.0", "f(Tensor(k) x, *, float scale=1.0, int k=1"),
        "4:48: warning[MT806]: nothing reads `k`",
        None,
    ),
    "view_as": (
        ("grad * scale", "(grad * scale).view_as( x)"),
        "13:8: warning[MT807]: this saves all of `x`",
        PLAIN.replace("grad * scale", "(grad * scale).view(x.shape)"),
    ),
    "zeros_like": (("grad * scale", "grad * zeros_like(x)"), "13:15: warning[MT807]", None),
    "check twice": (("  - x.dim() == 2", "  - x.dim() == 2\n  -   x.dim()==2"), "8:7: warning[MT808]", PLAIN),
    "dtype twice": (("[float64]", "[float64, float64]"), "MT809]: `float64` is given twice", PLAIN),
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("change", "found", "fixed"), CASES.values(), ids=CASES)
def test_rule(project, capsys, change, found, fixed):
    text = HEAD + PLAIN.replace(*change, 1)
    (project / "ops.yaml").write_text(text)
    assert main(["lint", "ops.yaml"]) == 1
    shown = capsys.readouterr().err
    assert found in shown
    assert shown.endswith("1 warning\n")
    assert main(["lint", "--fix", "ops.yaml"]) == (1 if fixed is None else 0)
    assert (project / "ops.yaml").read_text() == (text if fixed is None else HEAD + fixed)


LEFT_ALONE = {
    "nothing": ("", ""),
    "NaN": ("x.dim() == 2", "scale == scale"),
    "another tensor's dtype": ("{like: x}", "{like: x, dtype: float32}"),
    "a check of a size": ("x.dim() == 2", "x.size(0) > 0"),
    "the value is read too": ("grad * scale", "grad.view_as(x) * x"),
    "private": ("f(Tensor x", "_f(Tensor x"),
    "ignored": ("float scale=1.0) -> Tensor", "float scale=1.0, int k=1) -> Tensor  # mtcodegen: ignore[MT806]"),
    "all ignored": ("float scale=1.0) -> Tensor", "float scale=1.0, int k=1) -> Tensor  # mtcodegen: ignore"),
}


@pytest.mark.parametrize("change", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone(project, capsys, change):
    (project / "ops.yaml").write_text(HEAD + PLAIN.replace(*change, 1))
    assert main(["lint", "ops.yaml"]) == 0, capsys.readouterr().err
    assert capsys.readouterr().out == "nothing to improve\n"


# What reads an argument that no kernel reads; the entry has one more, `power`.
GRADIENT = "  backward:\n    x: grad * scale\n"
READ = {
    "forward": (GRADIENT, f"{GRADIENT}  forward: {{result: x_t * scale * power}}\n"),
    "backward by hand": (GRADIENT, "  backward: {function: module:function}\n"),
    "backward on one device": ("x: grad * scale", "x: {default: grad * scale, npu: grad * scale * power}"),
    "forward by hand": (GRADIENT, f"{GRADIENT}  forward: {{function: module:function}}\n"),
    "a message": ("  - x.dim() == 2", "  - {that: x.dim() == 2, message: 'with {power}'}"),
}


@pytest.mark.parametrize("change", READ.values(), ids=READ)
def test_what_reads_an_argument(project, capsys, change):
    text = HEAD + PLAIN.replace("scale=1.0)", "scale=1.0, float power=1.0)")
    (project / "ops.yaml").write_text(text)
    assert main(["lint", "--select", "MT806", "ops.yaml"]) == 1
    assert "MT806]: nothing reads `power`" in capsys.readouterr().err
    assert change[0] in text
    (project / "ops.yaml").write_text(text.replace(*change, 1))
    assert main(["lint", "--select", "MT806", "ops.yaml"]) == 0, capsys.readouterr().err


def test_a_fixed_formula_saves_only_the_shape(project, capsys, tmp_path):
    body = "  kernels: [{device: cpu, compute: x * scale}]\n  backward: {x: (grad * scale).view_as(x)}\n"
    text = f"namespace: NAME\nops:\n{PLAIN.partition('  kernels')[0]}{body}"
    assert saved(tmp_path, text.replace("NAME", "lint_before")) == [[1.0, 2.0]]
    (project / "ops.yaml").write_text(text)
    assert main(["lint", "--fix", "ops.yaml"]) == 0
    after = (project / "ops.yaml").read_text()
    assert "(grad * scale).view(x.shape)" in after
    assert saved(tmp_path, after.replace("NAME", "lint_after")) == []


def saved(folder, text):
    """The tensors that a call saves for the gradient, which is computed of them."""
    x, packed = torch.tensor([[1.0, 2.0]], requires_grad=True), []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t.tolist()) or t, lambda t: t):
        load(folder, text).f(x, scale=3.0).sum().backward()
    assert x.grad.tolist() == [[3.0, 3.0]]
    return [row for tensor in packed for row in tensor]


def test_a_list_that_would_lose_all_items_goes_and_keeps_no_other_fix_back(project):
    text = PLAIN.replace("  - x.dim() == 2", "  - x.size(0) >= 0\n  - x.size(0) >= 0\n  - x.dim() >= 0")
    (project / "ops.yaml").write_text(HEAD + text.replace("  doc", "  variants: function\n  doc"))
    assert main(["lint", "--fix", "ops.yaml"]) == 0
    assert (project / "ops.yaml").read_text() == HEAD + PLAIN.replace("  check:\n  - x.dim() == 2\n", "")


def test_fixes_are_counted_once(project, capsys):
    (project / "ops.yaml").write_text(HEAD + PLAIN.replace("[float64]", "[float64, float64, float64]"))
    assert main(["lint", "--fix", "ops.yaml"]) == 0
    assert capsys.readouterr().out == "fixed 1 finding in ops.yaml\n" * 2 + "nothing to improve\n"


def test_many_fixes_at_once_keep_comments(project, capsys):
    text = HEAD + (
        "# about f\n- variants: function  # gone\n  func: f(Tensor x) -> Tensor  # stays\n  doc: F.\n  tags: []\n"
        "  check:\n  # about checks\n  - x.dim() >= 0\n  - x.dim() == 2  # two\n"
        "  fake: {shape: x.shape, device: x.device}\n"
        "  kernels:\n  - device: cpu\n    symbol: f\n    args: [x, out]\n    abi: c\n"
        "  backward: not_differentiable\n"
    )
    (project / "ops.yaml").write_text(text)
    if main(["lint", "--fix", "ops.yaml"]) != 0:
        pytest.fail(capsys.readouterr().err)
    assert (project / "ops.yaml").read_text() == HEAD + (
        "# about f\n- func: f(Tensor x) -> Tensor  # stays\n  doc: F.\n"
        "  check:\n  # about checks\n  - x.dim() == 2  # two\n  fake: {shape: x.shape}\n"
        "  kernels:\n  - device: cpu\n    symbol: f\n    args: [x, out]\n  backward: not_differentiable\n"
    )


def test_select_ignore_and_formats(project, capsys):
    (project / "ops.yaml").write_text(HEAD + PLAIN.replace("  doc: Scaled.\n", "  variants: function\n"))
    assert main(["lint", "--select", "MT801", "--format", "json", "ops.yaml"]) == 1
    assert [item["code"] for item in json.loads(capsys.readouterr().out)] == ["MT801"]
    assert main(["lint", "--ignore", "mt801,MT802", "ops.yaml"]) == 0
    assert main(["lint", "--ignore", "MT204", "ops.yaml"]) == 2
    assert "there is no rule `MT204`" in capsys.readouterr().err


def test_errors_come_first(project, capsys):
    text = HEAD + PLAIN.replace("grad * scale", "grad * sclae").replace("  doc: Scaled.\n", "")
    (project / "ops.yaml").write_text(text)
    assert main(["lint", "--fix", "ops.yaml"]) == 1
    assert "MT204" in (shown := capsys.readouterr().err)
    assert "MT801" not in shown
    assert (project / "ops.yaml").read_text() == text


def test_a_project_says_which_rules_it_follows(project, capsys):
    """The nearest pyproject.toml of each file; the command line has the last word."""
    (project / "ops.yaml").write_text(HEAD + PLAIN.replace("  doc: Scaled.\n", "  variants: function\n"))
    settings = project / "pyproject.toml"

    def codes(*words):
        main(["lint", "--format", "json", *words, "ops.yaml"])
        return [item["code"] for item in json.loads(capsys.readouterr().out)]

    settings.write_text("[tool.mtcodegen.lint]\nignore = ['mt801']\n")
    assert codes() == ["MT802"]
    assert codes("--ignore", "MT802") == []
    assert codes("--select", "MT801,MT802") == ["MT802"]
    settings.write_text("[tool.mtcodegen.lint]\nselect = ['MT801']\n")
    assert codes() == ["MT801"]
    assert codes("--select", "MT802") == ["MT802"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.mtcodegen.lint]\nignor = []", "[tool.mtcodegen.lint] has no key `ignor`; did you mean `ignore`?"),
        ("[tool.mtcodegen.lnt]", "[tool.mtcodegen] has no key `lnt`; did you mean `lint`?"),
        ("[tool.mtcodegen.lint]\nignore = 'MT801'", "`ignore` of [tool.mtcodegen.lint] must be a list of codes"),
        ("[tool.mtcodegen]\nlint = 3", "[tool.mtcodegen.lint] must be a table"),
        ("[tool.mtcodegen.lint]\nselect = ['MT204']", "there is no rule `MT204`"),
        (
            "[[tool.mtcodegen.generate]]\ninputs = ['x']\noutput = 'y'\ntargets = 'docs'",
            "a [[tool.mtcodegen.generate]] has no key `targets`; did you mean `target`?",
        ),
    ],
)
def test_settings_that_would_be_ignored_are_errors(project, capsys, text, message):
    (project / "ops.yaml").write_text(HEAD + PLAIN)
    (project / "pyproject.toml").write_text(text)
    assert main(["lint", "ops.yaml"]) == 2
    assert message in capsys.readouterr().err


def test_our_own_files_are_clean(repo_root, monkeypatch, capsys):
    monkeypatch.chdir(repo_root)
    assert main(["lint"]) == 0, capsys.readouterr().err
    assert main(["fmt", "--check"]) == 0, capsys.readouterr().err
