"""Operators that are defined by what a function says of symbols, and run without Python: see `docs/operators.md`."""

from __future__ import annotations

from opschema.definitions import OperatorBuilder, _functions
from opschema.definitions._functions import *  # noqa: F403

from ._definition import Definition, DefinitionError

__all__ = ["Definition", "DefinitionError", "OperatorBuilder"]
__all__ += _functions.__all__
