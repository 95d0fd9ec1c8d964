"""Stubs say what the exported objects are: callable as declared, with their overloads and schemas as attributes."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from keyword import iskeyword

import pytest

from tests.codegen.support import run, write
from tests.needs import needed, require

mindtorch_v2 = needed("mindtorch_v2")

OPS = """\
namespace: my
ops:
- func: add.Tensor(Tensor self, Tensor other, *, float alpha=1.0) -> Tensor
  doc: Adds a tensor.
  kernels: [{compute: self + other * alpha}]
- func: add.int(Tensor self, int other) -> Tensor
  doc: Adds a number.
  deprecated: use tensors
  kernels: [{compute: self + other}]
- func: add(Tensor op) -> Tensor
  kernels: [{compute: op}]
- func: add_(Tensor(a!) self) -> Tensor(a!)
  kernels: [{compute: self}]
  backward: {self: grad}
- func: twice(Tensor x, int times=2) -> Tensor
  doc: Twice.
  kernels: [{compute: x * times}]
"""
USE = """\
from mindtorch_v2 import Tensor
from mindtorch_v2._ops import OpOverload
from pkg import ops

def use(x: Tensor) -> None:
    reveal_type(ops.add(x, x, alpha=2.0))
    reveal_type(ops.add.Tensor(x, other=x))
    reveal_type(ops.add.int(x, 3))
    reveal_type(ops.add.default(x))
    reveal_type(ops.twice(x))
    reveal_type(ops.twice._schema)
    reveal_type(ops.add.overloads())
    overload: OpOverload = ops.add.other_one
    ops.add.Tensor(x, 3)
    ops.twice(x, "3")
    ops.add_(x, x)
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stubs")
    files, shown = run(folder, OPS)
    assert shown == ""
    write(folder / "pkg", {**files, "__init__.py": "", "use.py": USE})
    return folder


def test_a_type_checker_knows_calls_and_attributes(package, repo_root, child_env):
    require("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", repo_root / "pyproject.toml"]
    env = {**child_env, "MYPYPATH": f"{package}:{repo_root / 'runtime'}"}
    command += ["--cache-dir", package / "cache", "--no-error-summary", package / "pkg" / "use.py"]
    shown = subprocess.run(command, capture_output=True, text=True, cwd=repo_root, env=env, check=False).stdout
    lines = [line.partition("use.py:")[2] for line in shown.splitlines() if "use.py:" in line]
    tensor = 'note: Revealed type is "mindtorch_v2._core.Tensor"'
    assert lines[:7] == [
        *(f"{number}: {tensor}" for number in range(6, 11)),
        '11: note: Revealed type is "opschema.model.Schema"',
        '12: note: Revealed type is "list[str]"',
    ]
    assert [line.partition(": error: ")[0] for line in lines[7:] if ": error: " in line] == ["14", "15", "16"]


def test_the_stub_in_full(package):
    text = (package / "pkg" / "ops.pyi").read_text()
    assert text[text.index("class _AddTensor(") : text.index("class _AddInPlace(")] == (
        "class _AddTensor(OpOverload):\n"
        "    def __call__(op, self: Tensor, other: Tensor, *, alpha: float = 1.0) -> Tensor: ...\n\n"
        "class _AddInt(OpOverload):\n"
        '    @deprecated("use tensors")\n'
        "    def __call__(op, self: Tensor, other: int) -> Tensor: ...\n\n"
        "class _AddDefault(OpOverload):\n"
        "    def __call__(self, op: Tensor) -> Tensor: ...\n\n"
        "class _AddOverloads(OpOverloadPacket):\n"
        "    Tensor: _AddTensor\n"
        "    int: _AddInt\n"
        "    default: _AddDefault\n\n"
        "class _Add(_AddOverloads):\n"
        "    @overload\n"
        "    def __call__(op, self: Tensor, other: Tensor, *, alpha: float = 1.0) -> Tensor:\n"
        '        """Adds a tensor."""\n'
        "    @overload\n"
        '    @deprecated("use tensors")\n'
        "    def __call__(op, self: Tensor, other: int) -> Tensor:\n"
        '        """Adds a number.\n\n'
        "        Deprecated: use tensors\n"
        '        """\n'
        "    @overload\n"
        "    def __call__(self, op: Tensor) -> Tensor: ...\n\n"
        "add: _Add\n\n"
    )


def test_the_attributes_are_those_of_the_objects(repo_root):
    require("mindtorch_v2")
    """For every built-in operator: what the stub says it has, it has."""
    compared = 0
    for path in sorted((repo_root / "generated" / "mindtorch_ops").rglob("*.pyi")):
        module = importlib.import_module(f"mindtorch_ops.{path.stem}")
        tree = ast.parse(path.read_text())
        classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        for node in tree.body:
            if not isinstance(node, ast.AnnAssign):
                continue
            exported = getattr(module, ast.unparse(node.target))
            (base,) = map(ast.unparse, classes[ast.unparse(node.annotation)].bases)
            if base in classes:
                stated = [ast.unparse(item.target) for item in classes[base].body if isinstance(item, ast.AnnAssign)]
                assert sorted(stated) == sorted(name for name in exported.overloads() if not iskeyword(name))
                compared += 1
            else:
                assert type(exported) is mindtorch_v2._ops.OpOverload
                assert base == "OpOverload"
    assert compared > 40


def test_an_argument_called_like_an_import_asks_for_none(tmp_path):
    require("ruff")
    files, shown = run(tmp_path, ARGUMENTS_LIKE_IMPORTS)
    assert shown == ""
    for path, text in files.items():
        command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F", "--stdin-filename", path, "-"]
        found = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        assert found.stdout == "All checks passed!\n"


ARGUMENTS_LIKE_IMPORTS = """\
namespace: my
ops:
- func: f(Tensor x, Tensor torch, *, Tensor npu, Tensor Any) -> Tensor
  fake: {like: x}
  kernels: [{device: cpu, compute: x * torch + npu * Any}]
  backward: not_implemented
"""


RETURNED = [("f", "Tensor"), ("g", "Storage")]


def test_what_is_only_returned_is_imported(tmp_path):
    entries = [f"- func: my::{name}() -> {type_}\n  kernels: [{{python: 'm:f'}}]\n" for name, type_ in RETURNED]
    files, shown = run(tmp_path, "".join(entries))
    assert shown == ""
    (stub,) = (text for path, text in files.items() if path.endswith(".pyi"))
    assert "from typing import Any\n" in stub
    assert "from mindtorch_v2 import Tensor\n" in stub
