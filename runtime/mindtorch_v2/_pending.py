"""Modules of operators that are imported when one of their names is first used.

A generated package says which names each such module defines; to know them costs less than to define the operators.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from . import _core
from ._ops import find_defined

__all__ = ["INNER", "load", "on_first_use", "pending_functions"]

INNER = frozenset(("copy",))  # operators that are no function of the top level, as in PyTorch

_modules: dict[str, str] = {}  # "aten::digamma" -> the module that defines it
_defined: dict[str, list[str]] = {}  # a module -> what it defines
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
            _defined.setdefault(f"{package}.{module}", []).append(operator)
            if "f" in places and namespace == "aten" and name not in INNER:
                _functions[name] = operator
            if "m" in places:
                _core.install_method(name, _Method(name, operator))


def load(qualname: str | None) -> bool:
    """Imports the module that defines an operator, ``"ns::name[.overload]"``; None: all that are left.

    Another thread that imports it is waited for. What a module defines is forgotten only once it is whole, so that who
    finds nothing here finds the operator itself, if it looks again. False in a module that asks for what it defines.
    """
    if qualname is None:
        return all(map(_import, list(_defined)))
    module = _modules.get(qualname.partition(".")[0])  # neither a namespace nor a name has a dot
    return module is None or _import(module)


def _import(module: str) -> bool:
    spec = importlib.import_module(module).__spec__
    if getattr(spec, "_initializing", False):  # importlib's mark: this thread is in the midst of it
        return False
    for operator in _defined.pop(module, ()):
        _functions.pop(operator.partition("::")[2], None)
        _modules.pop(operator, None)
    return True


def pending_functions() -> Mapping[str, str]:
    """The functions of the top level that are not defined yet, each with its operator."""
    return _functions


_core.hooks.fill(load_operators=load)
