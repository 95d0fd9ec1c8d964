"""``import torch`` means this runtime: programs and libraries written for PyTorch run as they are.

Python's import system asks the finders of ``sys.meta_path`` for each module (Python's reference, 5.3). The one here
answers for ``torch`` and what is below it with the modules of ``mindtorch_v2`` themselves, not copies, and for the
distribution ``torch`` with the version whose API this is. What is not there is not found: a library that asks first
gets a truthful answer.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterable, Sequence
from email.message import Message
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, cast

__all__ = ["install_as_torch", "is_installed_as_torch"]

_PACKAGE = __name__.rpartition(".")[0]
_NAME = "torch"
# PyTorch has a file for each distribution; here the package has the names of all.
_FAMILIES = {"distributions": "distributions"}
# The package that PyTorch ships beside its own, for programs of the time when function transforms had one.
_BESIDE, _BESIDE_HERE = "functorch", "_functorch.functorch"


class _Here(Loader):
    """Hands out a module of this package under PyTorch's name, and leaves it as it is."""

    def __init__(self, name: str) -> None:
        self.name = name

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.name)
        self.spec = module.__spec__  # which the import system sets to the one it came by
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec
        # Who imports a module makes it an attribute of the package it is in. Where that has something else by the name,
        # as the function `gradcheck` of ``autograd``, the module is there beforehand, so that nothing is left to set.
        for name, child in list(sys.modules.items()):
            within, _, last = name.rpartition(".")
            if within == self.name and vars(module).get(last) is not child:
                sys.modules[f"{_NAME}{name.removeprefix(_PACKAGE)}"] = child


class _Distribution(importlib.metadata.Distribution):
    """What ``importlib.metadata`` knows of the distribution ``torch``: its name and version."""

    def read_text(self, filename: str) -> str | None:
        if filename not in ("METADATA", "PKG-INFO"):
            return None
        message = Message()
        message["Metadata-Version"], message["Name"], message["Version"] = "2.1", _NAME, _version()
        message["Summary"] = "mindtorch_v2, installed as torch"
        return message.as_string()

    def locate_file(self, path: Any) -> Any:
        return Path(__file__).parent / path


class _Finder(importlib.metadata.DistributionFinder):
    """Finds ``torch`` and its parts here."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module that PyTorch's name stands for, or None where there is none."""
        top, _, part = fullname.partition(".")
        if top == _BESIDE:
            part = f"{_BESIDE_HERE}.{part}".rstrip(".")
        elif top != _NAME:
            return None
        name = _name_here(part)
        if name is None:
            return None
        spec = importlib.util.find_spec(name)
        is_package = spec is not None and spec.submodule_search_locations is not None
        return ModuleSpec(fullname, _Here(name), is_package=is_package)

    def find_distributions(
        self, context: importlib.metadata.DistributionFinder.Context | None = None
    ) -> Iterable[importlib.metadata.Distribution]:
        """The distribution ``torch``, where it or all are asked for."""
        return [_Distribution()] if context is None or context.name in (None, _NAME) else []


def _version() -> str:
    return cast(str, importlib.import_module(_PACKAGE).__version__)


def _name_here(part: str) -> str | None:
    """The name of a module of this package for what PyTorch calls ``torch.<part>``; None where there is none."""
    name = f"{_PACKAGE}.{part}" if part else _PACKAGE
    if name in sys.modules or _exists(name):
        return name
    names = _FAMILIES.get(part.rpartition(".")[0])
    return None if names is None else f"{_PACKAGE}.{names}"


def _exists(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # what it would lie in is no package
        return False


def is_installed_as_torch() -> bool:
    """Whether ``import torch`` means this runtime."""
    return any(isinstance(finder, _Finder) for finder in sys.meta_path)


def install_as_torch() -> None:
    """Makes ``import torch`` mean this runtime, from now on and in this process; again, it does nothing.

    ``import torch.nn.functional``, ``from torch import nn`` and ``importlib.metadata.version("torch")`` follow. What
    this runtime does not have (``docs/coverage.md`` lists it) is missing there too: ModuleNotFoundError or
    AttributeError. To be called before anything imports PyTorch, of which it needs nothing;
    ``python -m mindtorch_v2 run script.py`` does that for a script.

    Raises:
        RuntimeError: PyTorch itself is imported already.
    """
    if is_installed_as_torch():
        return
    imported = sys.modules.get(_NAME)
    if imported is not None:
        raise RuntimeError(
            f"torch is imported already, from {getattr(imported, '__file__', 'elsewhere')}: call "
            "mindtorch_v2.install_as_torch() before what imports it, or run `python -m mindtorch_v2 run script.py`"
        )
    sys.meta_path.insert(0, _Finder())
