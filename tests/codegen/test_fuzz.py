"""Whatever a file says: no traceback, no hang, no code that does not compile, nothing written outside the folder."""

from __future__ import annotations

import ast
import builtins
import random
import symtable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.codegen.support import ZOO, run

_SPICE = [
    *(
        "- ",
        ": ",
        "{",
        "}",
        "[",
        "]",
        "'",
        '"',
        "|",
        ">",
        "#",
        "&a ",
        "*a",
        "!!x ",
        "\n",
        "\t",
        "  ",
        ",",
        "%",
        "\\",
        "\0",
        "é",
    ),
    *(
        "Tensor",
        "Tensor?",
        "Tensor[]",
        "(a!)",
        "int",
        "float=",
        "->",
        "()",
        "None",
        "lambda",
        "import",
        "__",
        "../",
        "/etc/x",
    ),
    *(
        "x",
        "out",
        "grad",
        "grads[0]",
        "result",
        "f32(",
        "ns::",
        "99999999999999999999",
        "1e400",
        "-",
        "**",
        "@",
        "if",
        "self",
    ),
    *('"""', "\\N{DASH}", "{{ 7 }}", "{% if %}", "exec('1')", "__import__('os').system('true')"),
]


def mutant(text: str, random_: random.Random) -> str:
    """``text`` with a few places cut, doubled, exchanged or spiced."""
    for _ in range(random_.randint(1, 4)):
        start = random_.randrange(len(text) + 1)
        end = min(len(text), start + random_.randint(0, 12))
        match random_.randrange(4):
            case 0:
                text = text[:start] + text[end:]
            case 1:
                text = text[:end] + text[start:end] + text[end:]
            case 2:
                other = random_.randrange(len(text) + 1)
                text = text[:start] + text[other : other + 8] + text[end:]
            case _:
                text = text[:start] + random_.choice(_SPICE) + text[end:]
    return text


def undefined_names(code: str) -> set[str]:
    """Names that a module reads and nobody defines."""
    table = symtable.symtable(code, "ops.py", "exec")
    defined = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    read = set()
    stack = [table]
    while stack:
        scope = stack.pop()
        stack += scope.get_children()
        is_module = scope.get_type() == "module"
        read |= {s.get_name() for s in scope.get_symbols() if s.is_referenced() and (is_module or s.is_global())}
    return read - defined - set(dir(builtins)) - {"__file__"}


def assert_sound(folder: Path, text: str) -> None:
    files, shown = run(folder, text.encode("utf-8", "surrogatepass"))
    assert files or "error[" in shown
    for name, code in files.items():
        assert name in ("ops.py", "ops.pyi")
        ast.parse(code)
        assert undefined_names(code) == set(), text
    assert [path.name for path in folder.iterdir()] == ["ops.yaml"]


def entries(repo_root: Path) -> list[str]:
    """Small files of one or a few operators each: mutations then hit something that matters."""
    heads = "namespace: zoo\nlibrary: libzoo.so\nops:\n"
    found = []
    for path in [ZOO, *sorted((repo_root / "ops_yaml").glob("*.yaml"))]:
        found += [f"{heads}- func: {part}" for part in path.read_text().split("- func: ")[1:]]
    return found


@pytest.mark.parametrize("seed", range(8))
def test_mutants(seed, repo_root, tmp_path):
    random_ = random.Random(seed)
    corpus = entries(repo_root)
    for _ in range(40):
        assert_sound(tmp_path, mutant(random_.choice(corpus), random_))


@given(st.text(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_text(tmp_path, text):
    assert_sound(tmp_path, text)


@example("\x00", "doc")  # Python refuses it in a source
@given(st.text(st.characters(codec="utf-8"), max_size=60), st.sampled_from(["doc", "func", "check", "tags", "since"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_value(tmp_path, text, key):
    import json

    good = {"func": "f(Tensor x) -> Tensor", "fake": {"like": "x"}, "kernels": [{"device": "cpu", "python": "m:f"}]}
    entry = {**good, "backward": "not_differentiable", key: text}
    assert_sound(tmp_path, json.dumps({"namespace": "n", "ops": [entry]}))


_LONG = "x" * 300_000
_HEAD = "namespace: n\nops:\n- func: f(Tensor x) -> Tensor\n"


@pytest.mark.parametrize(
    "text",
    [
        f"doc: {_LONG}",
        f"[{_LONG}]",
        f"- func: {_LONG}(Tensor x) -> Tensor",
        "[" + "a," * 20_000 + "]",
        f"{_HEAD}  check: '{'x+' * 100_000}x'\n",
        f"{_HEAD}  check: '{'-' * 9_000}x'\n",
        f"{_HEAD}  ? {_LONG}\n  : 1\n",
    ],
    ids=["key", "item", "name", "many items", "expression", "signs", "unknown key"],
)
def test_a_huge_file_gets_a_finding_too(tmp_path, text):
    shown = run(tmp_path, text)[1]
    assert "error[" in shown
    assert len(shown) < 3 * len(text) + 100_000
