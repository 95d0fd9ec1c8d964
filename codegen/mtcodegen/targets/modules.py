"""What the targets in Python share: a file's module with its stub and tests, and the package around modules."""

from __future__ import annotations

import pathlib

import opschema
from mtcodegen.entries.model import File
from mtcodegen.targets.definitions.module import plan_module
from mtcodegen.targets.examples import plan_tests
from mtcodegen.targets.job import Job
from mtcodegen.targets.render import (
    Runtime,
    render_copy,
    render_definitions,
    render_package,
    render_stub,
    render_tests,
)
from mtcodegen.targets.stubs import plan_stubs

__all__ = ["module_of", "package_of", "stub_of", "tests_of"]

_SUPPORT = pathlib.Path(__file__).parent / "support"
_SHARED = ("_callees", "_calls", "_launcher", "_plan", "_planned", "_runtime", "_values")
_LANGUAGE = pathlib.Path(opschema.__file__).parent / "definitions"  # ours: beside modules as `_language`


def module_of(file: File, path: pathlib.Path, folder: pathlib.Path, runtime: Runtime) -> dict[str, str]:
    """A module of definitions and its stub."""
    support = f".{runtime.support[0]}" if runtime.support else ""
    module = render_definitions(*plan_module(file, path, folder, support))
    return {f"{path.stem}.py": module, **stub_of(file, path, runtime)}


def stub_of(file: File, path: pathlib.Path, runtime: Runtime) -> dict[str, str]:
    """The stub of a module."""
    return {f"{path.stem}.pyi": render_stub(*plan_stubs(file, runtime.stub_places()))}


def tests_of(file: File, path: pathlib.Path, runtime: Runtime) -> dict[str, str]:
    """The tests of a file's examples, if it has any."""
    tests = plan_tests(file, path.name, path.stem)
    return {} if tests is None else {f"test_{path.stem}.py": render_tests(tests, runtime)}


def package_of(job: Job, runtime: Runtime) -> dict[str, str]:
    """The package of modules, with what carries out their definitions, copied from here."""
    names = [item.path.stem for item in job.inputs]
    sources = ", ".join(item.path.name for item in job.inputs)
    copied = {f"{name}.py": _SUPPORT / f"{name}.py" for name in (*_SHARED, *runtime.support)}
    language = {path.name.replace("__init__", "_language"): path for path in sorted(_LANGUAGE.glob("*.py"))}
    files = {name: render_copy(path) for name, path in {**copied, **language}.items()}
    return {"__init__.py": render_package(job.package or sources, names), **files}
