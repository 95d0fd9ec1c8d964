"""What a module looks like is said by the templates: plans give values, imports are noted, lines break at the end."""

from __future__ import annotations

import ast
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from mtcodegen.project.generate import generate
from mtcodegen.project.loading import load_inputs
from mtcodegen.targets import render
from mtcodegen.targets.definitions.module import plan_module
from mtcodegen.targets.job import Input, Job
from tests.codegen.support import ZOO, run

ROOT = pathlib.Path(__file__).parents[2]
SOURCES = [ZOO, ROOT / "examples/scaled_add/ops.yaml", *sorted((ROOT / "ops_yaml").rglob("*.yaml"))]
PROSE = {"doc", "docstring", "source", "kind", "noqa", "libraries"}  # what is no Python, or a namespace


def strings(value: Any) -> Iterator[str]:
    """All text in a view that is to stand in a module as Python."""
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            if field.name not in PROSE:
                yield from strings(getattr(value, field.name))
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from strings(item)
    elif isinstance(value, str) and value:
        yield value


@pytest.fixture(scope="module")
def files() -> list[tuple[pathlib.Path, Any]]:
    documents, found = load_inputs([Input(path, path.name) for path in SOURCES])
    assert found == []
    return [(document.item.path, document.resolved) for document in documents]


def test_plans_have_expressions_and_names_but_no_statement(files):
    seen = 0
    for path, file in files:
        module, _ = plan_module(file, path, path.parent / "generated")
        for text in strings(module):
            ast.parse(text, mode="eval")
            assert "\n" not in text
            seen += 1
    assert seen > 3000


def test_what_a_definition_says_is_said_by_templates(tmp_path):
    """With templates that call `op` otherwise, nothing in a module is called as it was."""
    for folder in ("codegen/mtcodegen", "runtime/opschema", "templates", "ops_yaml"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    template = tmp_path / "templates/definitions/operator.py.j2"
    template.write_text(re.sub(r"\bop\b", "told", template.read_text()))
    shutil.copy(ZOO, tmp_path / "zoo.yaml")
    shutil.copytree(ZOO.parent / "src", tmp_path / "src")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "codegen"), str(tmp_path / "runtime")])}
    # An editable install finds its packages before the path does.
    code = (
        "import sys; sys.meta_path[:] = [f for f in sys.meta_path if 'Redirecting' not in type(f).__name__]\n"
        "from mtcodegen.cli import program; sys.exit(program())"
    )
    words = [sys.executable, "-c", code, "zoo.yaml", "-o", "out"]
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    told = ast.parse((tmp_path / "out/zoo.py").read_text())
    names = [node.id for node in ast.walk(told) if isinstance(node, ast.Name)]
    assert "told" in names
    assert "op" not in names
    spelled = [arg.arg for node in ast.walk(told) if isinstance(node, ast.arguments) for arg in node.args]
    assert "op" not in spelled


def test_lines_are_broken_once_at_the_end(files, monkeypatch, tmp_path):
    """Before that a statement is a line; what breaks lines changes nothing else."""

    def modules() -> dict[str, str]:
        jobs = [Job((Input(path, path.name),), tmp_path) for path, _ in files]
        generated, found = generate(jobs)
        assert found == []
        return {name: text for item in generated for name, text in item.files.items() if not name.startswith("test_")}

    whole = modules()
    monkeypatch.setattr(render, "wrap", lambda text: text)
    plain = modules()
    for name, text in plain.items():
        tree = ast.parse(text)
        assert ast.dump(tree) == ast.dump(ast.parse(whole[name]))
        for node in ast.walk(tree):
            if isinstance(node, ast.stmt) and not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.If)):
                is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
                assert is_text or node.end_lineno == node.lineno, ast.unparse(node)
            if isinstance(node, ast.FunctionDef):
                assert max(arg.lineno for arg in [*node.args.args, node]) == node.lineno


IMPORTED = """\
namespace: my
library: l.so
ops:
- func: f(Tensor math, Tensor upload, int Sequence, *, float f32=1.0) -> Tensor
  doc: Not a word of struct(ceil_div) or torch.float32 is read here, nor of "Any" and Sequence[Tensor].
  check:
  - {that: math.dim() == 2, message: "minimum of torch.ops, {Sequence} given"}
  fake: {like: upload}
  kernels: [{device: cpu, symbol: maximum, args: [math, upload, out, i64(Sequence), f64(f32)]}]
  backward: {math: grad, upload: not_implemented}
"""


def test_what_is_imported_is_what_is_read(tmp_path):
    found, shown = run(tmp_path, IMPORTED)
    assert shown == ""
    assert imported(found["ops.py"]) == {
        "annotations": "__future__",
        "Library": "mindtorch_v2.library",
        "KernelLauncher": "mindtorch_v2.npu",
        **dict.fromkeys(("f64", "i64", "like"), "mindtorch_v2.library.definitions"),
    }
    assert imported(found["ops.pyi"]) == {"Tensor": "mindtorch_v2", "OpOverload": "mindtorch_v2._ops"}


def test_a_file_of_no_operator_imports_nothing(tmp_path):
    found, shown = run(tmp_path, "namespace: my\nops: []\n")
    assert shown == ""
    assert imported(found["ops.py"]) == {"annotations": "__future__"}
    assert ast.get_docstring(ast.parse(found["ops.py"])) == "Operators declared in ops.yaml."
    assert imported(found["ops.pyi"]) == {}


def imported(text: str) -> dict[str, str | None]:
    tree = ast.parse(text)
    froms = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert not any(isinstance(node, ast.Import) for node in tree.body)
    return {alias.name: node.module for node in froms for alias in node.names}


@pytest.mark.parametrize("target", ["mindtorch", "pyi", "docs"])
def test_a_comment_in_the_yaml_changes_no_output(tmp_path, target):
    """Nor does an empty line: nothing that is generated holds the number of a line."""
    texts = [*(path.read_text() for path in SOURCES), IMPORTED, EXAMPLE]
    for text in texts:
        commented = re.sub(r"^(?=- func)", "\n# a comment\n", text, flags=re.MULTILINE)
        assert commented != text
        before, after = run(tmp_path, text, target=target), run(tmp_path, f"# at the top\n{commented}", target=target)
        assert before == after
        assert before[0]


EXAMPLE = """\
namespace: my
ops:
- func: f(Tensor x) -> Tensor
  kernels: [{compute: x + x}]
  examples: [{args: {x: [[1.0]]}}]
"""
