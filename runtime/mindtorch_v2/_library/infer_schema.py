"""Schemas of functions' annotations."""

from __future__ import annotations

import typing
from typing import Any

from ..library import infer_schema

__all__ = ["infer_schema", "tuple_to_list"]


def tuple_to_list(tuple_type: Any) -> Any:
    """The list type that stands for a tuple type: of what its elements are, or may be where they differ."""
    elements = dict.fromkeys(one for one in typing.get_args(tuple_type) if one is not ...)
    if not elements or tuple_type is tuple:
        return typing.List  # noqa: UP006 - as it was annotated
    if len(elements) == 1:
        return typing.List[next(iter(elements))]  # type: ignore[misc]  # noqa: UP006
    return typing.List[typing.Union[tuple(elements)]]  # type: ignore[misc]  # noqa: UP006, UP007
