"""What a generated module imports: noted as names are used, and written as statements at the end."""

from __future__ import annotations

import sys
from collections.abc import Iterable

__all__ = ["Imports"]

_RUNTIME = "mindtorch_v2"


class Imports:
    """The imports of one module; ``taken`` are names with another meaning in it, ``parameters`` those of its functions.

    ``support`` is the module beside it that has the runtime's names, where that is not the runtime itself.
    """

    def __init__(self, taken: Iterable[str] = (), support: str = "", parameters: Iterable[str] = ()) -> None:
        self._taken, self._parameters = frozenset(taken), frozenset(parameters)
        self._support = support
        self._modules: dict[str, str] = {}  # spelling -> module
        self.exempted: set[str] = set()  # codes of the linter's rules that the module breaks
        self._names: dict[str, dict[str, str]] = {}  # module -> name -> spelling

    def module(self, module: str, spelled: str = "") -> str:
        """How a module is spelled: ``import module``, or ``import module as spelled``."""
        if self._is_supported(module):
            return self.name(module, spelled)
        self._modules[spelled or module] = module
        return spelled or module

    def name(self, module: str, name: str) -> str:
        """How a name of a module is spelled: as it is, unless it is taken."""
        spelled = name
        while spelled in self._taken or (spelled != name and spelled in self._parameters):
            spelled = f"_{spelled}"
        place = self._support if self._is_supported(module) else module
        self._names.setdefault(place, {})[name] = spelled
        return spelled

    def _is_supported(self, module: str) -> bool:
        return bool(self._support) and module.partition(".")[0] == _RUNTIME

    def exempt(self, rule: str) -> None:
        """Note a linter's rule that the module breaks."""
        self.exempted.add(rule)

    def groups(self) -> list[list[str]]:
        """The statements, in the groups that linters want: the standard library, others, this package."""
        found: dict[int, list[str]] = {}
        for spelled, module in sorted(self._modules.items(), key=lambda item: item[1]):
            as_ = "" if module == spelled else f" as {spelled}"
            found.setdefault(_group(module), []).append(f"import {module}{as_}")
        for module in sorted(self._names):
            lines = [f"from {module} import {names}" for names in _listed(self._names[module])]
            found.setdefault(_group(module), []).extend(lines)
        return [found[group] for group in sorted(found)]


def _group(module: str) -> int:
    if module.startswith("."):
        return 3
    top = module.partition(".")[0]
    return 0 if top in sys.stdlib_module_names else 1 if top == "typing_extensions" else 2


def _listed(names: dict[str, str]) -> list[str]:
    """The names of each import statement: one lists all that keep their names, the others rename one each."""
    order = sorted(names, key=lambda name: (not name.isupper(), not name[:1].isupper(), name))
    plain = ", ".join(name for name in order if names[name] == name)
    return [*([plain] if plain else []), *(f"{name} as {names[name]}" for name in order if names[name] != name)]
