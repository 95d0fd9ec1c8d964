"""Modules of operators that are imported when one of their names is first used.

A generated package says which names each such module defines; to know them costs less than to define the operators.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from . import _core
from ._ops import find_defined

__all__ = ["load", "on_first_use", "pending_functions"]

_modules: dict[str, str] = {}  # "aten::digamma" -> the module that defines it
_functions: dict[str, str] = {}  # of these, the names of functions of the top level -> the operator


class _Method:
    """A method of tensors that is not defined yet: looking it up defines it."""

    def __init__(self, name: str, operator: str) -> None:
        self.name, self.operator = name, operator

    def __get__(self, instance: Any, owner: type) -> Any:
        load(self.operator)
        return getattr(owner if instance is None else instance, self.name)


def on_first_use(package: str, names: Mapping[str, str]) -> None:
    """Makes known what modules of a package define, by module: ``"aten::digamma:fm aten::digamma_:m"``.

    The letters say where a name appears: ``f``, as a function of the top level; ``m``, as a method of tensors. A module
    that adds an overload to a name that is defined already is imported at once, as a call would not look for it.
    """
    for module, listed in names.items():
        entries = [entry.rpartition(":") for entry in listed.split()]
        if any(find_defined(operator) for operator, _, _ in entries):
            importlib.import_module(f"{package}.{module}")
            continue
        for operator, _, places in entries:
            namespace, _, name = operator.partition("::")
            _modules[operator] = f"{package}.{module}"
            if "f" in places and namespace == "aten":
                _functions[name] = operator
            if "m" in places:
                _core.install_method(name, _Method(name, operator))


def load(qualname: str | None) -> bool:
    """Imports the module that defines an operator, ``"ns::name[.overload]"``; None: all. Whether there was one."""
    if qualname is None:
        found = [*dict.fromkeys(_modules.values())]
    else:
        namespace, _, name = qualname.partition("::")
        module = _modules.get(f"{namespace}::{name.partition('.')[0]}")
        found = [] if module is None else [module]
    for module in found:
        importlib.import_module(module)
        for name in [name for name, defined in _modules.items() if defined == module]:
            _functions.pop(name.partition("::")[2], None)
            del _modules[name]
    return bool(found)


def pending_functions() -> Mapping[str, str]:
    """The functions of the top level that are not defined yet, each with its operator."""
    return _functions


_core.hooks.fill(load_operators=load)
