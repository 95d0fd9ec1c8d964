"""What can be made of the declarations: for each form, the files of one YAML file and those of a whole target."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Mapping

from mtcodegen.entries.model import File
from mtcodegen.targets.mindtorch.examples import Tests, plan_tests
from mtcodegen.targets.mindtorch.plan import plan_module
from mtcodegen.targets.render import (
    MINDSPORE,
    MINDTORCH,
    TORCH,
    Runtime,
    render_module,
    render_package,
    render_page,
    render_site,
    render_stub,
    render_support,
    render_tests,
)
from mtcodegen.targets.target import Target

__all__ = ["ALL", "EACH"]

Files = Mapping[pathlib.Path, File]


def _mindtorch(file: File, path: pathlib.Path, folder: pathlib.Path) -> dict[str, str]:
    """A module for the runtime, its stub, and the tests of its examples."""
    module, stub = render_module(plan_module(file, path, folder))
    tests = plan_tests(file, path.name, path.stem)
    return {f"{path.stem}.py": module, f"{path.stem}.pyi": stub, **_tests(tests, path, MINDTORCH)}


def _tests(tests: Tests | None, path: pathlib.Path, runtime: Runtime) -> dict[str, str]:
    return {} if tests is None else {f"test_{path.stem}.py": render_tests(tests, runtime)}


def _package(target: Target, files: Files) -> dict[str, str]:
    names = [item.path.stem for item in target.inputs]
    return {"__init__.py": render_package(target.package, names)} if target.package else {}


def _torch(file: File, path: pathlib.Path, folder: pathlib.Path) -> dict[str, str]:
    """A module that registers with PyTorch itself, its stub, and the tests of its examples."""
    from mtcodegen.targets.torch import for_torch

    narrowed = for_torch(file)[0]
    module, stub = render_module(plan_module(narrowed, path, folder), TORCH)
    tests = plan_tests(narrowed, path.name, path.stem)
    return {f"{path.stem}.py": module, f"{path.stem}.pyi": stub, **_tests(tests, path, TORCH)}


def _mindspore(file: File, path: pathlib.Path, folder: pathlib.Path) -> dict[str, str]:
    """A module whose operators are MindSpore's cells, and its stub."""
    from mtcodegen.targets.mindspore import for_mindspore, spelled_for_mindspore

    planned = plan_module(for_mindspore(file)[0], path, folder, spelled_for_mindspore)
    module, stub = render_module(planned, MINDSPORE)
    return {f"{path.stem}.py": module, f"{path.stem}.pyi": stub}


def _supported(runtime: Runtime) -> Callable[[Target, Files], dict[str, str]]:
    """Modules import what they share from their own package, so there always is one."""

    def package(target: Target, files: Files) -> dict[str, str]:
        names = [item.path.stem for item in target.inputs]
        sources = ", ".join(item.path.name for item in target.inputs)
        return {"__init__.py": render_package(target.package or sources, names), "_support.py": render_support(runtime)}

    return package


def _pyi(file: File, path: pathlib.Path, folder: pathlib.Path) -> dict[str, str]:
    return {f"{path.stem}.pyi": render_stub(plan_module(file, path, folder))}


def _docs(file: File, path: pathlib.Path, folder: pathlib.Path) -> dict[str, str]:
    from mtcodegen.targets.docs import plan_docs

    return {f"{path.stem}.md": render_page(plan_docs(file, path.name))}


def _site(target: Target, files: Files) -> dict[str, str]:
    """One page with all operators."""
    from mtcodegen.targets.docs import plan_docs

    pages = [plan_docs(files[item.path.resolve()], item.path.name) for item in target.inputs]
    sources = ", ".join(page.source for page in pages)
    title = f"Operators of {target.package or ', '.join(page.title for page in pages)}"
    return {"index.html": render_site(target.package or sources, title, pages)}


def _nothing(target: Target, files: Files) -> dict[str, str]:
    return {}


EACH: Mapping[str, Callable[[File, pathlib.Path, pathlib.Path], dict[str, str]]] = {
    "mindtorch": _mindtorch,
    "torch": _torch,
    "mindspore": _mindspore,
    "pyi": _pyi,
    "docs": _docs,
}
ALL: Mapping[str, Callable[[Target, Files], dict[str, str]]] = {
    "mindtorch": _package,
    "torch": _supported(TORCH),
    "mindspore": _supported(MINDSPORE),
    "pyi": _nothing,
    "docs": _site,
}
