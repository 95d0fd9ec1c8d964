"""Inside mindtorch_v2 imports go down only, file by file, as the tables of docs/architecture.md have it."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = "mindtorch_v2"
# Who loads what it is told by name: the faces, whose attributes are imported when asked for, and MindSpore's functions.
LOADERS = {
    *(
        "",
        "_mindspore",
        "_pending",
        "autograd",
        "drop_in",
        "kernels.mindspore",
        "library._functions",
        "nn",
        "npu",
        "serialization._names",
    ),
    "utils",
}


@dataclass(frozen=True)
class Import:
    """What a module imports of the package: ``""`` is the package itself."""

    source: str
    target: str
    line: int
    at_start_up: bool


def module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules_of(root: Path) -> dict[str, Path]:
    """Every Python file below a package's folder by its name within the package."""
    return {module_name(path, root): path for path in sorted(root.rglob("*.py"))}


def imports_of(name: str, path: Path, known: set[str]) -> Iterator[Import]:
    """The imports of the package's own modules, leaving out what only a type checker sees."""
    package = [PACKAGE, *name.split(".")] if name else [PACKAGE]
    if path.name != "__init__.py":
        package.pop()

    def within(full: str) -> str | None:
        return full.removeprefix(PACKAGE).lstrip(".") if full.partition(".")[0] == PACKAGE else None

    def visit(node: ast.AST, at_start_up: bool) -> Iterator[Import]:
        children: list[ast.AST] = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            children = list(node.orelse)
        found: list[str | None] = []
        if isinstance(node, ast.Import):
            found = [within(alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            start = within(".".join([*base, *([node.module] if node.module else [])]))
            if start is not None:
                whole = [f"{start}.{alias.name}".lstrip(".") for alias in node.names]
                found = [target if target in known else start for target in whole]
        for target in found:
            if target is not None and target != name:
                yield Import(name, target, getattr(node, "lineno", 0), at_start_up)
        inside = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for child in children:
            yield from visit(child, at_start_up and not inside)

    return visit(ast.parse(path.read_text()), True)


@dataclass(frozen=True)
class Rules:
    """The documentation's tables: the files of each layer, from the bottom up, and what functions import."""

    layers: tuple[tuple[str, ...], ...]
    in_functions: frozenset[tuple[str, str]]

    @classmethod
    def read(cls, text: str) -> Rules:
        section = text.partition("### Layers")[2].partition("\n## ")[0]
        layers, opted = section.split("| file | imports | when |")
        rows = re.findall(r"^\| [a-z ]+ \| (`.*`) \|$", layers, re.MULTILINE)
        pairs = re.findall(r"^\| `(\S+)` \| (`.*`) \| .* \|$", opted, re.MULTILINE)
        return cls(
            tuple(tuple("" if p == PACKAGE else p for p in re.findall(r"`(.*?)`", row)) for row in rows),
            frozenset((file, target) for file, listed in pairs for target in re.findall(r"`(.*?)`", listed)),
        )

    def layer(self, name: str) -> int | None:
        """The layer that names a file, else the one whose pattern of most letters fits it; None: there is none."""
        fitting = [
            (pattern == name, len(pattern), number)
            for number, patterns in enumerate(self.layers)
            for pattern in patterns
            if fnmatchcase(name, pattern)
        ]
        return max(fitting)[2] if fitting else None


def violations(root: Path, rules: Rules) -> list[str]:
    """What the package below ``root`` does against the rules, as ``file:line: reason``."""
    files = modules_of(root)
    known = {*files, "_core"}
    found = [f"{name}: no layer has it" for name in files if rules.layer(name) is None]
    used: set[tuple[str, str]] = set()
    graph: dict[str, set[str]] = {name: set() for name in files}
    for name, path in files.items():
        for item in imports_of(name, path, known):
            where = f"{path.relative_to(root)}:{item.line}: {item.target or PACKAGE}"
            if not item.at_start_up:
                used.add((name, item.target))
                if (name, item.target) not in rules.in_functions:
                    found.append(f"{where} is imported in a function")
                continue
            graph[name].add(item.target)
            mine, its = rules.layer(name), rules.layer(item.target)
            if mine is not None and its is not None and its > mine:
                found.append(f"{where} is in a layer above")
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        if name not in LOADERS and any(ast.unparse(c.func).endswith(("import_module", "__import__")) for c in calls):
            found.append(f"{path.relative_to(root)}: loads modules by name")
    found += [
        f"{file}: {target}: the table has an import that is not there" for file, target in rules.in_functions - used
    ]
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found.append(f"imports go round: {' <- '.join(error.args[1])}")
    return found


@pytest.fixture(scope="module")
def rules(repo_root: Path) -> Rules:
    return Rules.read((repo_root / "docs/architecture.md").read_text())


def test_every_file_keeps_to_its_layer(repo_root: Path, rules: Rules) -> None:
    assert len(modules_of(repo_root / "runtime" / PACKAGE)) > 150
    assert violations(repo_root / "runtime" / PACKAGE, rules) == []


def test_every_row_is_of_files_that_there_are(repo_root: Path, rules: Rules) -> None:
    files = {*modules_of(repo_root / "runtime" / PACKAGE), "_core"}
    patterns = [pattern for patterns in rules.layers for pattern in patterns]
    assert len(patterns) == len(set(patterns))
    assert [pattern for pattern in patterns if not any(fnmatchcase(name, pattern) for name in files)] == []


SMALL = Rules((("_core",), ("low", "part.face"), ("part", "part.*")), frozenset({("low", "part.late")}))
FILES = {
    "low.py": "from . import _core\n\ndef f():\n    from .part import late\n",
    "part/__init__.py": "from .late import x\n",
    "part/late.py": "from .. import low\nimport typing\nif typing.TYPE_CHECKING:\n    from ..none import y\n",
    "part/face.py": "import mindtorch_v2.low\n",
}


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        ("low.py", FILES["low.py"] + "from .part.late import x\n", "low.py:5: part.late is in a layer above"),
        ("low.py", FILES["low.py"] + "import mindtorch_v2.part\n", "low.py:5: part is in a layer above"),
        ("part/face.py", "from . import late\n", "part/face.py:1: part.late is in a layer above"),
        ("part/late.py", "def f():\n    from ..low import f\n", "part/late.py:2: low is imported in a function"),
        ("part/late.py", "f = lambda: __import__('mindtorch_v2.low')\n", "part/late.py: loads modules by name"),
        ("part/other.py", "from .third import x\n", "imports go round"),
        ("stray.py", "", "stray: no layer has it"),
        ("low.py", "", "low: part.late: the table has an import that is not there"),
    ],
)
def test_a_planted_violation_is_found(path: str, source: str, expected: str, tmp_path: Path) -> None:
    root = tmp_path / PACKAGE
    for name, text in {**FILES, "part/third.py": "from . import other\n", "part/other.py": ""}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    assert violations(root, SMALL) == []
    (root / path).write_text(source)
    assert any(expected in found for found in violations(root, SMALL))


# ---------------------------------------------------------------- the tables of what is called upward
def fills(root: Path) -> list[tuple[str, str]]:
    """(table, entry) of each function that a module puts into one."""
    found = []
    for path in modules_of(root).values():
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            if called in ("hooks.fill", "_hooks.fill", "_core.hooks.fill"):
                table = "hooks.fill" if called == "_hooks.fill" else called
                found += [(table, str(keyword.arg)) for keyword in node.keywords]
    return found


def test_each_hook_is_filled_by_one_module(repo_root: Path, child_env: dict[str, str]) -> None:
    filled = fills(repo_root / "runtime" / PACKAGE)
    assert len(filled) == len(set(filled))
    code = """
import json
import mindtorch_v2.func, mindtorch_v2.jit
from mindtorch_v2 import _core, _hooks
print(json.dumps([
    {n: getattr(table, n) is not None for n in dir(table) if not n.startswith("_") and n != "fill"}
    for table in (_core.hooks, _hooks.hooks)
]))
"""
    done = subprocess.run([sys.executable, "-c", code], env=child_env, capture_output=True, text=True, check=True)
    core, python = json.loads(done.stdout)
    assert all(core.values())
    assert all(python.values())
    assert sorted(name for table, name in filled if table == "hooks.fill") == sorted(python)
    assert sorted(name for table, name in filled if table == "_core.hooks.fill") == sorted(core)


def test_a_hook_that_there_is_not() -> None:
    from mindtorch_v2 import _core, _hooks

    for table in (_core.hooks, _hooks.hooks):
        with pytest.raises(AttributeError, match="no_such"):
            table.fill(no_such=print)
