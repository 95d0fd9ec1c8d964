"""Imports go down only: opschema <- mtcodegen; opschema <- mindtorch_v2 <- mindtorch_ops."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Layer:
    """A package of ours: where its sources lie, and what they may import beside the standard library."""

    folders: tuple[str, ...]
    ours: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()
    inside_functions: frozenset[str] = frozenset()  # imported on first use, never at start-up
    without: str = ""  # a folder in them that is a layer of its own


LAYERS = {
    "opschema": Layer(("runtime/opschema",)),
    "mtcodegen": Layer(
        ("codegen/mtcodegen",),
        ours=frozenset({"opschema"}),
        others=frozenset({"jinja2", "jsonschema", "tomli", "yaml"}),
        without="codegen/mtcodegen/targets/support",
    ),
    "support": Layer(  # copied beside generated modules: it imports nothing of ours but what is copied with it
        ("codegen/mtcodegen/targets/support",),
        ours=frozenset({"opschema"}),
        others=frozenset({"mindspore", "numpy", "torch"}),
    ),
    # The compiled core, one module and its cold parts, knows nothing of the package around it: what it calls there
    # stands in a table (hooks.pxi).
    "core": Layer(("runtime/core",), others=frozenset({"cpython", "cython", "libc", "libcpp"})),
    "mindtorch_v2": Layer(
        ("runtime/mindtorch_v2",),
        ours=frozenset({"opschema"}),
        others=frozenset({"numpy"}),
        inside_functions=frozenset({"mindspore", "mpi4py", "scipy"}),
        without="runtime/mindtorch_v2/utils/tensorboard",
    ),
    "tensorboard": Layer(  # imported by those who have the package
        ("runtime/mindtorch_v2/utils/tensorboard",),
        others=frozenset({"google", "numpy", "tensorboard"}),
        inside_functions=frozenset({"PIL", "matplotlib"}),
    ),
    "mindtorch_ops": Layer(("generated/mindtorch_ops",), ours=frozenset({"mindtorch_v2"})),
}
PART_OF_CORE = re.compile(r"mindtorch_v2\._core(_\w+)?")
CYTHON_IMPORT = re.compile(r"^(?P<indent>\s*)(?:from\s+(?P<source>[\w.]+)\s+c?import\b|c?import\s+(?P<names>[\w., ]+))")


@dataclass(frozen=True)
class Import:
    """One imported top-level name."""

    name: str
    line: int
    at_start_up: bool


def python_imports(text: str) -> Iterator[Import]:
    """The absolute imports of a Python source, leaving out what only a type checker sees."""

    def visit(node: ast.AST, at_start_up: bool) -> Iterator[Import]:
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            children: list[ast.stmt] = node.orelse
        else:
            children = list(ast.iter_child_nodes(node))  # type: ignore[arg-type]
        if isinstance(node, ast.Import):
            yield from (Import(alias.name.split(".")[0], node.lineno, at_start_up) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield Import(node.module.split(".")[0], node.lineno, at_start_up)
        inside = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for child in children:
            yield from visit(child, at_start_up and not inside)

    return visit(ast.parse(text), True)


def cython_imports(text: str) -> Iterator[Import]:
    """The absolute imports of a Cython source, which `ast` cannot parse."""
    for number, line in enumerate(text.splitlines(), start=1):
        if match := CYTHON_IMPORT.match(line):
            names = [match["source"]] if match["source"] else match["names"].split(",")
            for name in (name.split()[0] for name in names):  # without what it is imported as
                if not name.startswith(".") and not PART_OF_CORE.fullmatch(name):
                    yield Import(name.split(".")[0], number, not match["indent"])


def violations(package: str, root: Path) -> list[str]:
    """What the sources of ``package`` below ``root`` import and may not, as ``path:line: reason``."""
    layer = LAYERS[package]
    found = []
    for path in sorted(path for folder in layer.folders for path in (root / folder).rglob("*")):
        if path.suffix not in {".py", ".pyi", ".pyx", ".pxi", ".pxd"}:
            continue
        if layer.without and path.is_relative_to(root / layer.without):
            continue
        read = python_imports if path.suffix in {".py", ".pyi"} else cython_imports
        for item in read(path.read_text()):
            allowed = {package, "__future__"} | layer.ours | layer.others | sys.stdlib_module_names
            if item.name in allowed or (item.name in layer.inside_functions and not item.at_start_up):
                continue
            reason = "imports it at start-up" if item.name in layer.inside_functions else "may not import it"
            found.append(f"{path.relative_to(root)}:{item.line}: {item.name}: {package} {reason}")
    return found


@pytest.mark.parametrize("package", LAYERS)
def test_imports_go_down_only(package: str, repo_root: Path) -> None:
    assert any((repo_root / folder).is_dir() for folder in LAYERS[package].folders)
    assert violations(package, repo_root) == []


@pytest.mark.parametrize(
    ("package", "path", "source", "expected"),
    [
        ("opschema", "runtime/opschema/a.py", "import re\nimport numpy\n", "a.py:2: numpy: opschema may not import it"),
        ("mtcodegen", "codegen/mtcodegen/a.py", "def f():\n    import mindtorch_v2.npu\n", "a.py:2: mindtorch_v2"),
        ("mindtorch_v2", "runtime/mindtorch_v2/a.py", "from mtcodegen import cli\n", "a.py:1: mtcodegen"),
        ("mindtorch_v2", "runtime/mindtorch_v2/b.py", "import mindtorch_ops.x as x\n", "b.py:1: mindtorch_ops"),
        ("mindtorch_v2", "runtime/mindtorch_v2/c.py", "import mindspore\n", "mindtorch_v2 imports it at start-up"),
        ("core", "runtime/core/a.pxi", "    from mindtorch_v2 import _ops\n", "a.pxi:1: mindtorch_v2"),
        ("core", "runtime/core/_core.pyx", "from yaml cimport x\n", "_core.pyx:1: yaml"),
        (
            "core",
            "runtime/core/cold/a.pyx",
            "from mindtorch_v2._core cimport x\nfrom mindtorch_v2 import y\n",
            "a.pyx:2: mindtorch_v2",
        ),
        ("core", "runtime/core/a.pxi", "cdef f():\n    import os, torch\n", "a.pxi:2: torch"),
        ("mindtorch_ops", "generated/mindtorch_ops/a.py", "import mtcodegen\n", "a.py:1: mtcodegen"),
    ],
)
def test_a_planted_violation_is_found(package: str, path: str, source: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(source)
    (found,) = violations(package, tmp_path)
    assert expected in found


def test_allowed_imports_are_no_violations(tmp_path: Path) -> None:
    folder = tmp_path / "runtime/mindtorch_v2"
    folder.mkdir(parents=True)
    (folder / "a.py").write_text(
        "import numpy\nfrom . import b\nfrom typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import torch\n\ndef f():\n    import mindspore\n"
    )
    assert violations("mindtorch_v2", tmp_path) == []
    core = tmp_path / "runtime/core"
    core.mkdir()
    (core / "_core.pyx").write_text(
        "import mindtorch_v2._core_cold  # why\nimport sys, mindtorch_v2._core_a as a, mindtorch_v2._core_b\n"
    )
    assert violations("core", tmp_path) == []


def test_importing_the_runtime_is_light(child_env: dict[str, str]) -> None:
    heavy = ["jinja2", "jsonschema", "mindspore", "mtcodegen", "torch", "yaml"]
    code = f"import sys, json, mindtorch_v2; print(json.dumps([m for m in {heavy} if m in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], env=child_env, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
