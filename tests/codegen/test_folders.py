"""The generator's folders are its stages, one above the other: each imports what is below it, and none goes round."""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

import pytest

# From the bottom up. What stands in a folder's own `__init__.py` says what it holds.
FLOORS = (
    "system",
    "findings",
    "document",
    "expr",
    "pycode",
    "entries",
    "check",
    "targets",
    "project",
    "importer",
    "cli",
)
AT_THE_TOP = {"mtcodegen", "mtcodegen.__main__"}

# Who sees the nodes of a YAML file, beside `document`: who reads an entry, and `lint`, which edits the text. All others
# have the model, whose values know their places.
NODES = "mtcodegen.document.nodes"
READERS = {
    "mtcodegen.entries.front",
    "mtcodegen.entries.validate",
    "mtcodegen.entries.parse",
    "mtcodegen.check.lint_rules",
    "mtcodegen.project.loading",
    "mtcodegen.importer.command",
    "mtcodegen.importer.executorch",
    "mtcodegen.importer.op_plugin",
    "mtcodegen.importer.pytorch.derivatives",
    "mtcodegen.importer.pytorch.entries",
    "mtcodegen.importer.pytorch.native",
}


def modules_of(package: Path) -> dict[str, Path]:
    """The sources of a package by the names of their modules."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        if "support" in path.parent.parts:  # is not run here, but copied beside generated modules
            continue
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(name: str, text: str, known: set[str]) -> Iterator[tuple[str, int]]:
    """The modules of ours that a source imports, wherever in it, and the lines."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names if alias.name.split(".")[0] == "mtcodegen")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}:{node.lineno}: a relative import"
            if node.module and node.module.split(".")[0] == "mtcodegen":
                for alias in node.names:
                    full = f"{node.module}.{alias.name}"
                    yield full if full in known else node.module, node.lineno


def faults(package: Path) -> list[str]:
    """What breaks the order of the folders, or goes round."""
    modules = modules_of(package)
    found, below = [], {}
    for name, path in modules.items():
        edges = list(imports(name, path.read_text(), set(modules)))
        below[name] = {target for target, _ in edges} - {name}
        if name in AT_THE_TOP:
            continue
        floor = name.split(".")[1]
        if floor not in FLOORS:
            found.append(f"{name}: no folder of the list")
            continue
        for target, line in edges:
            other = [*target.split("."), ""][1]
            if other in FLOORS and FLOORS.index(other) > FLOORS.index(floor):
                found.append(f"{name}:{line}: {target} is above it")
            elif other not in FLOORS:
                found.append(f"{name}:{line}: {target} is in no folder of the list")
    try:
        graphlib.TopologicalSorter(below).prepare()
    except graphlib.CycleError as error:
        found.append(f"a circle: {' <- '.join(error.args[1])}")
    return found


def test_the_folders_are_those_of_the_list(repo_root: Path) -> None:
    package = repo_root / "codegen" / "mtcodegen"
    assert {path.parent.name for path in package.glob("*/__init__.py")} == set(FLOORS)
    assert {path.name for path in package.glob("*.py")} == {"__init__.py", "__main__.py"}


def test_imports_between_folders_go_down_and_never_round(repo_root: Path) -> None:
    assert faults(repo_root / "codegen" / "mtcodegen") == []


def readers(package: Path) -> set[str]:
    """The modules outside `document` that import nodes."""
    modules = modules_of(package)
    return {
        name
        for name, path in modules.items()
        if name.split(".")[1:2] != ["document"]
        and any(target == NODES for target, _ in imports(name, path.read_text(), set(modules)))
    }


def test_only_readers_see_nodes(repo_root: Path) -> None:
    assert readers(repo_root / "codegen" / "mtcodegen") == READERS


def test_a_planted_reader_is_found(tmp_path: Path) -> None:
    package = tmp_path / "mtcodegen"
    for name, text in {
        "document/nodes.py": "",
        "document/load.py": f"from {NODES} import Node\n",
        "check/a.py": "def f():\n    from mtcodegen.document import nodes\n",
        "targets/b.py": f"import {NODES}\n",
        "cli/c.py": "from mtcodegen.document.load import read\n",
    }.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    assert readers(package) == {"mtcodegen.check.a", "mtcodegen.targets.b"}


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        ("expr/a.py", "from mtcodegen.entries import model\n", "mtcodegen.expr.a:1: mtcodegen.entries is above it"),
        ("document/a.py", "def f():\n    import mtcodegen.cli\n", "mtcodegen.document.a:2: mtcodegen.cli is above it"),
        ("expr/a.py", "import mtcodegen\n", "mtcodegen.expr.a:1: mtcodegen is in no folder of the list"),
        ("plans/a.py", "", "mtcodegen.plans.a: no folder of the list"),
        ("a.py", "", "mtcodegen.a: no folder of the list"),
    ],
)
def test_a_planted_violation_is_found(path: str, source: str, expected: str, tmp_path: Path) -> None:
    package = tmp_path / "mtcodegen"
    for name, text in {"entries/__init__.py": "", "cli/__init__.py": "", path: source}.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    assert faults(package) == [expected]


def test_a_planted_circle_is_found(tmp_path: Path) -> None:
    package = tmp_path / "mtcodegen" / "expr"
    package.mkdir(parents=True)
    (package / "a.py").write_text("from mtcodegen.expr import b\n")
    (package / "b.py").write_text("def f():\n    from mtcodegen.expr.a import g\n")
    (found,) = faults(package.parent)
    assert found.startswith("a circle: ")
