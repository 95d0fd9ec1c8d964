"""What tests need beside Python and the generator's few dependencies, and what becomes of them without it.

A file that imports what is not installed, or not built, is not collected; a test that reads an attribute of what
`needed` gave in its place is skipped. So what needs nothing but Python runs with nothing but Python. In the CI nothing
is left out but what has no wheel for this Python: there, what else is missing is an error.
"""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
OPTIONAL = ("expecttest", "mindspore", "mindtorch_v2", "mpi4py", "numpy", "rich", "selenium", "torch", "torchgen")
_LAST_PYTHONS = {"mindspore": (3, 12)}  # that there are wheels for
_OURS = ("benchmarks", "tests")  # packages whose modules need what they import


@functools.cache
def is_there(package: str) -> bool:
    """Whether a package is installed, and of the runtime, whether its core is built; in the CI both have to be."""
    if os.environ.get("CI"):
        return sys.version_info[:2] <= _LAST_PYTHONS.get(package, sys.version_info[:2])
    spec = importlib.util.find_spec(package)
    if spec is None:
        return False
    if package != "mindtorch_v2":
        return True
    folders = map(Path, spec.submodule_search_locations or ())
    return any((folder / f"_core{suffix}").exists() for folder in folders for suffix in EXTENSION_SUFFIXES)


def needed(module: str) -> Any:
    """A module, or what skips a test that reads anything of it."""
    package = module.partition(".")[0]
    return importlib.import_module(module) if is_there(package) else _Missing(package)


def require(package: str) -> None:
    """Skip the test that asks for it where a package is not there."""
    if not is_there(package):
        pytest.skip(f"{package} is not there")


class _Missing:
    def __init__(self, package: str) -> None:
        self._package = package

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "pytest" in name:  # what is asked of whatever stands in a test's file
            raise AttributeError(name)
        require(self._package)


def missing(path: Path) -> frozenset[str]:
    """The packages that a test's file imports, or a module of ours that it imports, and that are not there."""
    absent = frozenset(package for package in OPTIONAL if not is_there(package))
    return absent & _imported(path) if absent else frozenset()


@functools.cache
def _imported(path: Path) -> frozenset[str]:
    found = {*_modules(ast.parse(path.read_text("utf-8")).body)}
    packages = {name.partition(".")[0] for name in found}
    for name in found:
        other = ROOT.joinpath(*name.split(".")).with_suffix(".py")
        if name.partition(".")[0] in _OURS and other.is_file() and other != path:
            packages |= _imported(other)
    return frozenset(packages)


def _modules(body: list[ast.stmt]) -> Iterator[str]:
    """What is imported when a file is."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
