"""Bad input: each fault with its exact text, at its place, all of them at once and in order."""

from __future__ import annotations

import json
import re
import textwrap

import pytest

from mtcodegen.cli.explanations import explanation, markdown
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import Diagnostic, in_source_order, render_github, render_json, render_text
from mtcodegen.findings.examples import EXAMPLES
from mtcodegen.findings.source import Source, Span
from tests.codegen.support import findings

GOOD = """\
namespace: fused
library: libk.so
ops:
- func: scaled_add(Tensor x, Tensor y, *, float scale=1.0) -> Tensor
  fake: {like: x}
  kernels:
  - device: npu
    symbol: scaled_add
    block_dim: 40
    args: [x, y, out, f32(scale), u32(x.numel())]
  backward:
    x: grad
    y: grad * scale
"""


def test_nothing_is_wrong_with_the_good_one(tmp_path):
    assert findings(tmp_path, GOOD) == ""


FAULTS = [
    (
        "a missing key",
        ("func: scaled_add(Tensor x, Tensor y, *, float scale=1.0) -> Tensor", "doc: It has no schema."),
        """\
        ops.yaml:4:3: error[MT111]: an operator needs the key `func`
          |
        4 | - doc: It has no schema.
          |   ^
        """,
    ),
    (
        "an unknown key",
        ("backward:", "bakward:"),
        """\
        ops.yaml:11:3: error[MT110]: an operator has no key `bakward`
           |
        11 |   bakward:
           |   ^^^^^^^ did you mean `backward`?
        """,
    ),
    (
        "a wrong type",
        ("args: [x, y, out, f32(scale), u32(x.numel())]", "args: {x: y}"),
        """\
        ops.yaml:10:11: error[MT112]: `args` must be a list, not a mapping
           |
        10 |     args: {x: y}
           |           ^
        """,
    ),
    (
        "a value that is missing",
        ("block_dim: 40", "block_dim:"),
        """\
        ops.yaml:9:14: error[MT112]: `block_dim` must be a string, not nothing
          |
        9 |     block_dim:
          |              ^
        """,
    ),
    (
        "a schema that does not parse",
        ("float scale=1.0", "flaot scale=1.0"),
        """\
        ops.yaml:4:43: error[MT150]: unknown type specifier `flaot`
          |
        4 | - func: scaled_add(Tensor x, Tensor y, *, flaot scale=1.0) -> Tensor
          |                                           ^^^^^ did you mean `float`?
        """,
    ),
    (
        "a formula with a misspelt name",
        ("grad * scale", "grad * sclae"),
        """\
        ops.yaml:13:15: error[MT204]: `sclae` is not an argument of fused::scaled_add
           |
        13 |     y: grad * sclae
           |               ^^^^^ did you mean `scale`?
        """,
    ),
    (
        "a kernel argument without a C type",
        ("f32(scale)", "scale"),
        """\
        ops.yaml:10:23: error[MT215]: `scale` has no C type
           |
        10 |     args: [x, y, out, scale, u32(x.numel())]
           |                       ^^^^^ write `f32(scale)` or `f64(scale)`
        """,
    ),
    (
        "a misspelt gradient",
        ("    y: grad *", "    yy: grad *"),
        """\
        ops.yaml:11:3: error[MT410]: there is no gradient for `y`
           |
        11 |   backward:
           |   ^^^^^^^^ add `y: <formula>` or `y: not_differentiable`
        ops.yaml:13:5: error[MT412]: `yy` is not an argument of fused::scaled_add
           |
        13 |     yy: grad * scale
           |     ^^ did you mean `y`?
        """,
    ),
    (
        "a comma that YAML takes for its own",
        ("u32(x.numel())]", "u32(min(x.numel(), 8))]"),
        """\
        ops.yaml:10:42: error[MT200]: `(` is never closed
           |
        10 |     args: [x, y, out, f32(scale), u32(min(x.numel(), 8))]
           |                                          ^ quote the value: between [ ] or { } a comma ends it
        ops.yaml:10:55: error[MT200]: `)` is not expected here
           |
        10 |     args: [x, y, out, f32(scale), u32(min(x.numel(), 8))]
           |                                                       ^ quote the value: between [ ] or { } a comma ends it
        """,
    ),
]


@pytest.mark.parametrize(("change", "text"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS])
def test_a_fault_and_its_exact_text(tmp_path, change, text):
    assert GOOD.count(change[0]) == 1
    assert findings(tmp_path, GOOD.replace(*change)) == textwrap.dedent(text)


@pytest.mark.parametrize("value", ["[x, (y]", "['(y', x]", "[x), y]"])
def test_a_comma_that_ended_no_value_is_not_blamed(tmp_path, value):
    shown = findings(tmp_path, GOOD.replace("[x, y, out, f32(scale), u32(x.numel())]", value))
    assert "MT200" in shown
    assert "quote the value" not in shown


def test_a_duplicate_operator_names_both_places(tmp_path):
    assert findings(tmp_path, GOOD, GOOD) == textwrap.dedent(
        """\
        ops2.yaml:4:9: error[MT120]: fused::scaled_add is declared twice
          |
        4 | - func: scaled_add(Tensor x, Tensor y, *, float scale=1.0) -> Tensor
          |         ^^^^^^^^^^ remove one, or give one another overload: `name.overload(...)`
        ops.yaml:4:9: note: first declared here
          |
        4 | - func: scaled_add(Tensor x, Tensor y, *, float scale=1.0) -> Tensor
          |         ^^^^^^^^^^
        """
    )


def test_all_faults_at_once_in_the_order_of_the_file(tmp_path):
    bad = GOOD.replace("like: x", "like: z").replace("f32(scale)", "scale").replace("grad * scale", "grad * sclae")
    places = [line for line in findings(tmp_path, bad).splitlines() if "error[" in line]
    assert [place.split(": ", 1)[0] for place in places] == ["ops.yaml:5:16", "ops.yaml:10:23", "ops.yaml:13:15"]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (("x: grad\n", "x: (grad\n"), "12:8"),
        (("[x, y, out, f32(scale), u32(x.numel())]", "[x, '(y']\n    workspace: 8\n    tiling: {n: (}"), "10:16 12:18"),
        (("  backward", "  - {device: cpu, compute: [(x]}\n  backward"), "11:29"),
        (("  backward", "  examples: [{args: {x: [1, (], y: (}}]\n  backward"), "11:30 11:37"),
        (("y: grad * scale\n", "y: grad * scale\n  forward: {result: (x_t}\n"), "14:21"),
    ],
    ids=["gradient", "arguments", "composed", "example", "tangent"],
)
def test_of_a_text_that_cannot_be_read_nothing_more_is_said(tmp_path, change, place):
    shown = [line for line in findings(tmp_path, GOOD.replace(*change)).splitlines() if "error[" in line]
    assert [line.split("error[MT200]")[0] for line in shown] == [f"ops.yaml:{at}: " for at in place.split()]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (("    x: grad\n", "    ' xs, x , s': grad\n"), "12:7 12:15"),
        (("  backward", "  autogen: scaled_add.out , fused::scaled\n  backward"), "11:29"),
        (("namespace: fused", "namespace: __init__"), "1:12"),
        (("func: scaled_add", "func: a__init__::__init__"), "4:20"),
    ],
    ids=["backward", "autogen", "namespace", "name"],
)
def test_a_name_that_stands_in_another_is_not_taken_for_it(tmp_path, change, place):
    shown = [line for line in findings(tmp_path, GOOD.replace(*change)).splitlines() if "error[" in line]
    assert [line.split(" error[")[0] for line in shown] == [f"ops.yaml:{at}:" for at in place.split()]


@pytest.mark.parametrize("code", EXAMPLES, ids=str)
def test_every_example_shows_its_code(code):
    text = explanation(code)
    assert text.startswith(f"{code}: {code.title}\n")
    assert f"error[{code}]: " in text


def test_codes_without_an_example_are_those_that_a_file_alone_cannot_cause():
    assert {code.name for code in Code if code not in EXAMPLES and code.name < "MT600"} == {
        "MT100",
        "MT330",
        *("MT501", "MT502", "MT503", "MT504"),
        *("MT510", "MT511", "MT512"),
    }


def test_every_code_is_a_whole_entry_in_order():
    assert [*Code] == sorted(Code, key=str)
    assert len({code.title for code in Code}) == len(Code)
    assert [code for code in Code if not code.text.endswith(".") or code.title.endswith(".")] == []


def test_every_code_is_in_use_and_none_is_a_string(repo_root):
    tables = {"findings/codes.py", "findings/examples.py"}
    package = repo_root / "codegen" / "mtcodegen"
    sources = [path for path in package.rglob("*.py") if str(path.relative_to(package)) not in tables]
    texts = [path.read_text() for path in sources]
    used = {name for text in texts for name in re.findall(r"\bCode\.(MT\d{3})\b", text)}
    assert used == {*Code.__members__}
    assert [text for text in texts if re.search(r'"MT\d{3}"\s*,', text)] == []


def test_the_documentation_is_up_to_date(repo_root):
    assert (repo_root / "docs" / "diagnostics.md").read_text() == markdown()


# ---------------------------------------------------------------- forms


def _one(text: str = "y: grad * sclae") -> Diagnostic:
    return Diagnostic(
        Code.MT204, "`sclae` is no argument", Span(Source("a,b.yaml", text), text.index("sclae"), 5), "hint"
    )


def test_as_json():
    assert json.loads(render_json([_one()])) == [
        {
            "code": "MT204",
            "severity": "error",
            "file": "a,b.yaml",
            "line": 1,
            "column": 11,
            "length": 5,
            "message": "`sclae` is no argument",
            "hint": "hint",
            "related": [],
        }
    ]


def test_as_a_github_command():
    expected = "::error file=a%2Cb.yaml,line=1,col=11,endColumn=16,title=MT204::`sclae` is no argument (hint)\n"
    assert render_github([_one()]) == expected


def test_colour_is_only_added():
    import re

    coloured = render_text([_one()], colour=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render_text([_one()])


def test_a_long_line_is_cut_around_the_fault():
    text = render_text([_one("x" * 100_000 + " sclae " + "y" * 100_000)])
    line, caret = text.splitlines()[2:4]
    assert len(line) < 200
    assert line[caret.index("^") : caret.rindex("^") + 1] == "sclae"


def test_a_tab_keeps_the_caret_below():
    line, caret = render_text([_one("a\tsclae")]).splitlines()[2:4]
    assert caret == "  | " + " " + "\t" + "^^^^^ hint"
    assert line == "1 | a\tsclae"


def test_findings_are_listed_once():
    assert in_source_order([_one(text := "sclae")] * 2, []) != []
    same = Diagnostic(Code.MT101, "m", None, path="f")
    assert in_source_order([same, same], ["f"]) == [same]
    assert text


# ---------------------------------------------------------------- places in scalars of every style

_STYLES = {
    "plain": "    y: grad * sclae\n",
    "plain over lines": "    y: grad\n      * sclae\n",
    "single quoted": "    y: 'grad * sclae'\n",
    "double quoted": '    y: "grad * sclae"\n',
    "escapes": '    y: "\\x67rad \\u002a sclae"\n',
    "literal": "    y: |\n      grad\n      * sclae\n",
    "folded": "    y: >\n      grad *\n\n      sclae\n",
    "folded, stripped": "    y: >-\n        grad\n        * sclae\n",
    "after other characters": "    y: 'grad * (1 if \"\u00e4\u4e2d\" == ''b'' else 2) * sclae'\n",
}


@pytest.mark.parametrize("style", _STYLES)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_the_caret_stands_below_the_name_in_every_style(tmp_path, style, ending):
    text = GOOD.replace("    y: grad * scale\n", _STYLES[style]).replace("\n", ending)
    lines = findings(tmp_path, text.encode()).splitlines()
    shown, caret = lines[2:4]
    assert lines[0].endswith("error[MT204]: `sclae` is not an argument of fused::scaled_add")
    assert shown[caret.index("^") : caret.rindex("^") + 1] == "sclae"
    assert shown.split("| ", 1)[1] in text
