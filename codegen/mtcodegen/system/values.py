"""Dataclasses whose ``frozen`` is the type checker's.

``mypy --strict``, which all of the generator passes, refuses an assignment to a field of a frozen dataclass wherever it
stands. That it is refused at run time, too, costs four times as much for each field that a constructor sets (it goes
through ``object.__setattr__``) and two more methods for each class at start: together a tenth of what PyTorch's own
files take as modules, where 200,000 values are made. So at run time it only decides on what it decides otherwise: that
values which compare equal can be keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    import dataclasses

    def dataclass(cls=None, /, *, frozen=False, eq=True, **options):
        """As that of ``dataclasses``, but for what becomes of an assignment to a frozen field."""
        return dataclasses.dataclass(cls, eq=eq, unsafe_hash=frozen and eq, **options)
