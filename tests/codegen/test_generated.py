"""Generated modules: formatted, lint-free, typed, with no name undefined, and the same every time."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from mtcodegen.project.generate import generate
from mtcodegen.targets.job import Input, Job
from tests.codegen.support import ZOO, load, run
from tests.codegen.test_golden import GOLDEN
from tests.needs import needed, require

torch = needed("mindtorch_v2")


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what is generated from zoo.yaml, which has an operator of every kind."""
    folder = tmp_path_factory.mktemp("zoo")
    files, text = run(folder, ZOO.read_text())
    assert text == ""
    (folder / "generated").mkdir()
    for name, content in files.items():
        (folder / "generated" / name).write_text(content)
    return folder / "generated"


@pytest.fixture(scope="module")
def built_in(tmp_path_factory: pytest.TempPathFactory, repo_root: Path) -> Path:
    """The built-in operators' modules, generated into a folder."""
    folder = tmp_path_factory.mktemp("built_in")
    inputs = tuple(Input(path, path.name) for path in sorted((repo_root / "ops_yaml").rglob("*.yaml")))
    generated, found = generate([Job(inputs, folder, "ops_yaml")])
    assert found == []
    for name, content in generated[0].files.items():
        (folder / name).write_text(content)
    return folder


@pytest.mark.parametrize("folder", ["zoo", "built_in"])
def test_formatted_as_ruff_leaves_it(folder, request, repo_root):
    require("ruff")
    path = request.getfixturevalue(folder)
    command = [
        sys.executable,
        "-m",
        "ruff",
        "format",
        "--no-cache",
        "--diff",
        "--config",
        repo_root / "pyproject.toml",
        path,
    ]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("folder", ["zoo", "built_in"])
def test_lint_finds_nothing(folder, request, repo_root):
    require("ruff")
    path = request.getfixturevalue(folder)
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--config", repo_root / "pyproject.toml", path]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


def test_types_are_right(zoo, repo_root, child_env, tmp_path):
    require("mypy")
    for name in ("ops.py", "ops.pyi"):
        command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--cache-dir", tmp_path, zoo / name]
        result = subprocess.run(command, capture_output=True, text=True, cwd=repo_root, env=child_env)
        assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("folder", ["zoo", "built_in"])
def test_it_compiles_in_the_oldest_supported_python(folder, request):
    for path in request.getfixturevalue(folder).iterdir():
        ast.parse(path.read_text(), feature_version=(3, 10))


def test_generation_is_a_pure_function(tmp_path):
    first = run(tmp_path, ZOO.read_text())[0]
    other = tmp_path / "elsewhere"
    other.mkdir()
    assert run(other, ZOO.read_text())[0] == first


def test_no_operator_has_a_name_in_the_generator(repo_root):
    """Operators are data: only the examples of the diagnostics' table may name one."""
    names = {"scaled_add", "matmul", "softmax", "relu", "addmm"}
    sources = [
        *(path for path in (repo_root / "templates").rglob("*") if path.is_file()),
        *(repo_root / "codegen" / "mtcodegen").rglob("*.py"),
    ]
    for path in sources:
        if path.name != "codes.py":
            text = path.read_text()
            assert not [name for name in names if f"{name}(" in text or f'"{name}"' in text], path


@pytest.mark.parametrize(
    ("library", "written"),
    [
        ("libk.so", "../libk.so"),
        ("lib/libk.so", "../lib/libk.so"),
        ("../libk.so", "../../libk.so"),
        ("/x/k.so", "/x/k.so"),
    ],
)
def test_libraries_are_found_from_the_module(tmp_path, library, written):
    files, _ = run(tmp_path, (GOLDEN / "launch" / "input.yaml").read_text().replace("libk.so", library))
    assert f'KernelLauncher("{written}", relative_to=__file__)' in files["ops.py"]


SHADOWING = """\
namespace: codegen_shadowing
library: k.so
ops:
- func: like(Tensor _like, Tensor _k, Tensor _lib) -> Tensor
  fake: {like: _k}
  kernels:
  - {device: npu, symbol: s, block_dim: 1, args: [_like, _k, _lib, out]}
  - {device: cpu, compute: _like + _k * _lib}
  backward: {_like: grad, _k: grad * _lib, _lib: grad * _k}
- func: _empty(Tensor f32) -> Tensor
  fake: {shape: [f32.numel()]}
  kernels: [{device: cpu, compute: f32.reshape(-1) * 2}]
  backward: not_differentiable
- func: empty(Tensor op) -> Tensor
  fake: {shape: [op.numel()]}
  kernels: [{device: cpu, compute: op.reshape(-1) * 2}]
  backward: not_differentiable
"""


def test_no_name_of_a_module_is_hidden_by_another(tmp_path):
    """Arguments and operators called like what the module imports and defines."""
    ops = load(tmp_path, SHADOWING)
    (library,) = [value for value in vars(ops).values() if isinstance(value, torch.library.Library)]
    library.check()
    x = torch.ones(2, 2)
    assert ops.like(x, x * 2, x * 3).tolist() == [[7.0, 7.0]] * 2
    assert ops.like(x.to("meta"), x.to("meta"), x.to("meta")).shape == (2, 2)
    assert ops._empty(x).tolist() == ops.empty(x).tolist() == [2.0] * 4
    assert ops.empty(x.to("meta")).shape == (4,)


def test_names_that_python_has_for_itself(tmp_path):
    """A namespace, an operator or an overload may be called `None` or `lambda`: generated code has to say it."""
    text = """\
namespace: None
ops:
- func: lambda.is(Tensor x, *, Tensor class) -> Tensor
  fake: {like: x}
  kernels: [{device: cpu, python: 'm:f'}]
  backward: {x: twice(grad), class: not_differentiable}
  autogen: lambda.is_out
  examples: [{args: {x: [1], class: [1]}}]
- func: twice(Tensor x) -> Tensor
  kernels: [{compute: x + x}]
"""
    files, shown = run(tmp_path, text)
    assert shown == ""
    for name, code in files.items():
        compile(code, name, "exec")
    assert 'getattr(torch.ops, "None").twice(grad)' in files["ops.py"]
    assert 'op.variant_of(getattr(getattr(getattr(torch.ops, "None"), "lambda"), "is"))' in files["ops.py"]
