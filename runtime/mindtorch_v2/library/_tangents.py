"""What a forward-mode rule computes with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _ops

__all__ = ["tangent"]


def tangent(value: Any, given: Any) -> Any:
    """The tangent of an argument: ``given``, or zeros like ``value`` where there is none; None where there is no value.

    Of a list of tensors, a list with one for each. Raises TypeError where these are not as many.
    """
    if isinstance(value, (list, tuple)):
        parts: Sequence[Any] = given if given is not None else [None] * len(value)
        if not isinstance(parts, (list, tuple)) or len(parts) != len(value):
            raise TypeError(
                f"tangent(): of {len(value)} tensors expected a list of as many tangents, or None, got {parts!r}"
            )
        return [tangent(item, part) for item, part in zip(value, parts, strict=True)]
    if given is not None or value is None:
        return given
    return _ops.find("aten::zeros_like")(value)
