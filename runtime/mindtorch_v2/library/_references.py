"""Python functions by reference: ``"module:function"``, imported when first called."""

from __future__ import annotations

from opschema.definitions import python_function as _python_function

from .._argument_types import names_wrong_types

__all__ = ["python_function"]

python_function = names_wrong_types(_python_function)
