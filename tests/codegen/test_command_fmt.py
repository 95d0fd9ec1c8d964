"""``mtcodegen fmt``: house style, the same content, and twice is once."""

from __future__ import annotations

import io
import random
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from mtcodegen.cli.fmt import format_source
from mtcodegen.cli.main import main
from mtcodegen.findings.source import Source
from tests.needs import is_there

ROOT = Path(__file__).parents[2]
TORCHGEN = find_spec("torchgen").submodule_search_locations if is_there("torchgen") else ()
CORPUS = [
    *sorted((ROOT / "ops_yaml").rglob("*.yaml")),
    ROOT / "tests/codegen/zoo.yaml",
    *sorted(path for folder in TORCHGEN for path in (Path(folder) / "packaged").rglob("*.yaml")),
]


def formatted(text: str) -> str:
    result, found = format_source(Source("ops.yaml", text))
    assert result is not None, found
    return result


def comments(text: str) -> list[str]:
    """Comments of a text whose values have no ` #` in them, as words."""
    return [line[line.index("#") :].strip("# ") for line in text.splitlines() if "#" in line]


CASES = {
    "indentation": (
        "ops:\n    - func: a\n      check:\n          - x\n          -   y\n      z:\n          k: v\n",
        "ops:\n- func: a\n  check:\n  - x\n  - y\n  z:\n    k: v\n",
    ),
    "spaces": (
        "a:   1   \nb : [1,2 ,  3]\nc: { d : e,f: g }\n\n\n\nd: 2\n\n",
        "a: 1\nb: [1, 2, 3]\nc: {d: e, f: g}\n\nd: 2\n",
    ),
    "comments": (
        "#one\n\na:   # two\n  # three\n  - b   # four\n  #  five\n# six\nc: 1\n  # seven\n",
        "# one\n\na:   # two\n# three\n- b     # four\n#  five\n# six\nc: 1\n# seven\n",
    ),
    "comments keep their block": (
        "- a: 1\n  b:\n    c: 2\n    # of c\n  # of b\n# of all\n- d: 3\n",
        "- a: 1\n  b:\n    c: 2\n    # of c\n  # of b\n# of all\n- d: 3\n",
    ),
    "a column of comments stays": (
        "a:  1         # one\nbcd: 2        # two\nef: 333333333333333 # three\n",
        "a: 1          # one\nbcd: 2        # two\nef: 333333333333333  # three\n",
    ),
    "block scalars": (
        "- a: |\n       x\n        y\n\n       # text\n\n  b: >-\n     folded\n  c: |2+\n      deep\n\n",
        "- a: |\n    x\n     y\n\n    # text\n\n  b: >-\n    folded\n  c: |2+\n      deep\n\n",
    ),
    "scalars of several lines": (
        "a: one\n      two\n\n      three\nb: 'x\n y'\nc: \"p\\\n   \\ q\"\n",
        "a: one\n  two\n\n  three\nb: 'x\n  y'\nc: \"p\\\n  \\ q\"\n",
    ),
    "a flow list is one line where it is short": ("a: [b,\n    c,\n    {d: e}]\n", "a: [b, c, {d: e}]\n"),
    "and is filled where it is long": (
        f"a: [{'b' * 50}, {'c' * 50}, {'d' * 50}, e]\n",
        f"a: [{'b' * 50}, {'c' * 50},\n  {'d' * 50}, e]\n",
    ),
    "a flow list with comments stays": ("a: [b, # one\n      c]\n", "a: [b, # one\n  c]\n"),
    "lists of lists": ("-   - a\n    - b\n-\n  c: d\n", "- - a\n  - b\n- c: d\n"),
    "document start": ("# x\n---\n-   a\n", "# x\n---\n- a\n"),
    "windows": ("a:  1\r\nb:\r\n  - c\r\n", "a: 1\nb:\n- c\n"),
    "nothing given": ("a:\nb: {c: , d: e}\n-k:\n", "a:\nb: {c: , d: e}\n-k:\n"),
}


@pytest.mark.parametrize(("text", "wanted"), CASES.values(), ids=CASES)
def test_house_style(text, wanted):
    assert formatted(text) == wanted
    assert formatted(wanted) == wanted


@pytest.mark.parametrize("path", CORPUS, ids=[path.name for path in CORPUS])
def test_the_corpora_say_the_same(path):
    text = path.read_text()
    once = formatted(text)
    assert formatted(once) == once
    load = lambda value: yaml.load(value, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: E731
    assert load(once) == load(text)
    assert not [line for line in once.splitlines() if line != line.rstrip()]


WORDS = st.sampled_from(["a", "x.shape == y.shape", "'it''s'", '"q\\n"', "1", "null", "[p, q]", "{r: s}", "f(x)"])


def _text(node, indent, draw_space):
    pad = " " * indent
    if isinstance(node, str):
        return f" {node}"
    lines = []
    for i, child in enumerate(node if isinstance(node, list) else node.values()):
        head = "-" if isinstance(node, list) else f"k{i}:"
        deeper = indent + draw_space(2, 5)
        remark = ["", "", " # trailing", f"\n{' ' * deeper}# own", "\n\n"][draw_space(0, 4)]
        lines.append(f"\n{pad}{head}{_text(child, deeper, draw_space)}{remark}")
    return "".join(lines)


@settings(max_examples=200, deadline=None)
@given(
    st.recursive(
        WORDS,
        lambda inner: st.lists(inner, min_size=1, max_size=4) | st.dictionaries(WORDS, inner, min_size=1, max_size=4),
        max_leaves=12,
    ).filter(lambda node: not isinstance(node, str)),
    st.randoms(use_true_random=False),
)
def test_any_layout(node, random):
    text = _text(node, 0, random.randint) + "\n"
    once = formatted(text)
    assert yaml.safe_load(once) == yaml.safe_load(text)
    assert formatted(once) == once
    assert sorted(comments(once)) == sorted(comments(text))


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ops.yaml").write_text("ops:\n  - func:   a::b() -> ()\n")
    return tmp_path


WANTED = "ops:\n- func: a::b() -> ()\n"


def test_check_writes_nothing_and_says_where(project, capsys):
    assert main(["fmt", "--check", "ops.yaml"]) == 1
    output = capsys.readouterr()
    assert "-  - func:   a::b() -> ()\n+- func: a::b() -> ()\n" in output.out
    assert "ops.yaml: error[MT901]: is not formatted" in output.err
    assert (project / "ops.yaml").read_text() != WANTED


def test_writes_whole_and_keeps_mode_and_link(project, capsys):
    (project / "ops.yaml").rename(project / "real.yaml")
    (project / "real.yaml").chmod(0o640)
    (project / "ops.yaml").symlink_to("real.yaml")
    assert main(["fmt", "ops.yaml"]) == 0
    assert (project / "ops.yaml").is_symlink()
    assert (project / "real.yaml").read_text() == WANTED
    assert (project / "real.yaml").stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in project.iterdir()) == ["ops.yaml", "real.yaml"]
    stamp = (project / "real.yaml").stat().st_mtime_ns
    assert main(["fmt", "ops.yaml"]) == 0
    assert (project / "real.yaml").stat().st_mtime_ns == stamp
    assert main(["fmt", "--check", "ops.yaml"]) == 0


def test_a_filter(project, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a:   1\n")))
    assert main(["fmt", "-"]) == 0
    assert capsys.readouterr().out == "a: 1\n"


def test_what_is_not_our_yaml_is_left(project, capsys):
    text = "a: &x 1\nb:  *x\n"
    (project / "ops.yaml").write_text(text)
    assert main(["fmt", "ops.yaml"]) == 1
    assert "error[MT104]" in capsys.readouterr().err
    assert (project / "ops.yaml").read_text() == text


def test_what_would_change_is_left(project, capsys):
    text = "? |\n  a key of\n  two lines\n: 1\n"
    (project / "ops.yaml").write_text(text)
    assert main(["fmt", "ops.yaml"]) == 1
    assert "error[MT902]: cannot be formatted without changing what it says" in capsys.readouterr().err
    assert (project / "ops.yaml").read_text() == text


SPICE = [*"#[]{}:,|>?-\"'\t\r\x85&*!%", "\n", " # c\n", "- ", ": ", "|2", ">-", "---\n", "null", "é", "🙂"]


def load_strings(text):
    return yaml.load(text, getattr(yaml, "CBaseLoader", yaml.BaseLoader))


def test_mutants_are_formatted_or_refused():
    """Never a traceback; what is formatted says the same, and formatting it again changes nothing."""
    chance = random.Random(0)
    lines = (ROOT / "tests/codegen/zoo.yaml").read_text().splitlines(keepends=True)
    count = 0
    for _ in range(1500):
        at = chance.randrange(len(lines) - 12)
        text = "".join(lines[:3] + lines[at : at + 12])
        for _ in range(chance.randint(1, 3)):
            start = chance.randrange(len(text))
            text = text[:start] + chance.choice(SPICE) + text[start + chance.randint(0, 3) :]
        once, found = format_source(Source("ops.yaml", text))
        assert (once is None) == bool(found)
        if once is not None:
            count += 1
            assert load_strings(once) == load_strings(text)
            assert formatted(once) == once
    assert count > 50  # of what is left readable
