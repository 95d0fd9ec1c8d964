"""The search calls everything public: no module, class or function is forgotten without a reason."""

from __future__ import annotations

import importlib.util
import pkgutil
from collections.abc import Iterator
from types import GenericAlias, ModuleType
from typing import Any

import pytest

import mindtorch_v2 as torch
from benchmarks.fuzz.modules import LEFT_OUT_MODULES, MODULES
from benchmarks.fuzz.objects import CLASSES_LEFT_OUT, OBJECTS, class_of
from benchmarks.fuzz.reasons import LEFT_OUT
from benchmarks.fuzz.targets import find_targets


def public_modules() -> list[str]:
    found = pkgutil.walk_packages(torch.__path__, "mindtorch_v2.")
    names = [module.name.partition(".")[2] for module in found]
    return [name for name in names if not any(part.startswith("_") for part in name.split("."))]


def is_left_out(name: str) -> bool:
    return any(f"{name}.".startswith(f"{left}.") for left in LEFT_OUT_MODULES)


@pytest.mark.parametrize("name", public_modules())
def test_a_public_module_is_searched_or_left_out_with_a_reason(name: str) -> None:
    assert (name in MODULES) != is_left_out(name)


def test_what_is_left_out_exists_and_has_a_reason() -> None:
    for name, reason in LEFT_OUT_MODULES.items():
        assert importlib.util.find_spec(f"mindtorch_v2.{name}")
        assert " " in reason
    for name, reason in (CLASSES_LEFT_OUT | LEFT_OUT).items():
        module, _, attribute = name.removeprefix("torch.").rpartition(".")
        assert hasattr(importlib.import_module(f"mindtorch_v2.{module}".rstrip(".")), attribute)
        assert " " in reason


def listed(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """What a module says is public."""
    for name in (*getattr(module, "__all__", ()), *getattr(module, "_LAZY_NAMES", ())):
        yield f"{module.__name__}.{name}".partition(".")[2], getattr(module, name)


def listed_everywhere() -> list[tuple[str, Any]]:
    modules = [importlib.import_module(f"mindtorch_v2.{name}".rstrip(".")) for name in MODULES]
    return [pair for module in modules for pair in listed(module)]


def test_every_listed_callable_is_a_target_by_one_of_its_names() -> None:
    called = {target.path.removeprefix("torch.") for target in find_targets("mindtorch_v2")}
    names: dict[int, list[str]] = {}
    callables = [(name, value) for name, value in listed_everywhere() if callable(value)]
    for name, value in callables:
        if not isinstance(value, (ModuleType, GenericAlias)) and not name.rpartition(".")[2].startswith("_"):
            names.setdefault(id(value), []).append(name)
    left_out = {name.removeprefix("torch.") for name in LEFT_OUT}
    assert not [paths for paths in names.values() if not {*paths} & (called | left_out)]


def test_methods_of_every_public_class_are_called_or_left_out_with_a_reason() -> None:
    """An object stands for its base classes, too; errors have no methods of their own."""
    made = {cls for maker in OBJECTS for cls in class_of(maker, torch).__mro__}
    left_out = {
        getattr(importlib.import_module(f"mindtorch_v2.{module}".rstrip(".")), name)
        for module, _, name in (path.rpartition(".") for path in CLASSES_LEFT_OUT)
    }
    classes = {value: name for name, value in listed_everywhere() if isinstance(value, type)}
    without = [
        name
        for cls, name in classes.items()
        if cls not in made and cls not in left_out and not issubclass(cls, BaseException)
    ]
    assert not without
    assert not left_out & made
