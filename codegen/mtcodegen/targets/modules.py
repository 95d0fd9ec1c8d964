"""What the targets in Python share: a file's module with its stub and tests, and the package around modules."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Sequence

from mtcodegen.entries.model import File
from mtcodegen.expr import Expr
from mtcodegen.targets.job import Job
from mtcodegen.targets.plan.examples import plan_tests
from mtcodegen.targets.plan.module import plan_module
from mtcodegen.targets.render import (
    Runtime,
    render_copy,
    render_module,
    render_package,
    render_stub,
    render_support,
    render_tests,
)
from mtcodegen.targets.stubs import plan_stubs
from opschema import conditions

__all__ = ["module_of", "package", "package_with_support", "stub_of", "tests_of"]

_SUPPORT = pathlib.Path(__file__).parent / "support"
_SHARED = ("_definition", "_helpers", "_launcher", "_runtime", "_symbols", "_values")


def module_of(
    file: File,
    path: pathlib.Path,
    folder: pathlib.Path,
    runtime: Runtime,
    spelled: Callable[[Expr], Expr] | None = None,
) -> dict[str, str]:
    """A module and its stub; ``spelled`` says how the runtime calls what expressions read."""
    plan = plan_module(file, path, folder) if spelled is None else plan_module(file, path, folder, spelled)
    return {f"{path.stem}.py": render_module(plan, runtime), **stub_of(file, path, runtime)}


def stub_of(file: File, path: pathlib.Path, runtime: Runtime) -> dict[str, str]:
    """The stub of a module."""
    return {f"{path.stem}.pyi": render_stub(*plan_stubs(file, runtime.stub_places()))}


def tests_of(file: File, path: pathlib.Path, runtime: Runtime) -> dict[str, str]:
    """The tests of a file's examples, if it has any."""
    tests = plan_tests(file, path.name, path.stem)
    return {} if tests is None else {f"test_{path.stem}.py": render_tests(tests, runtime)}


def package(job: Job, support: Sequence[str]) -> dict[str, str]:
    """The package of modules of definitions, with what carries those out, copied from here."""
    names = [item.path.stem for item in job.inputs]
    sources = ", ".join(item.path.name for item in job.inputs)
    files = {f"{name}.py": render_copy(_SUPPORT / f"{name}.py") for name in (*_SHARED, *support)}
    words = pathlib.Path(conditions.__file__)
    return {"__init__.py": render_package(job.package or sources, names), **files, "_conditions.py": render_copy(words)}


def package_with_support(job: Job, runtime: Runtime) -> dict[str, str]:
    """The package of modules that import what they share from it, so that there always is one."""
    names = [item.path.stem for item in job.inputs]
    sources = ", ".join(item.path.name for item in job.inputs)
    return {"__init__.py": render_package(job.package or sources, names), "_support.py": render_support(runtime)}
