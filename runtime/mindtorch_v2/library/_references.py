"""Python functions by reference: ``"module:function"``, imported when first called."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from opschema.definitions import python_function as _python_function

from .. import _core
from .._argument_types import names_wrong_types
from .._core import LateFunction

__all__ = ["python_function", "without_frame"]

python_function = names_wrong_types(_python_function)


def without_frame(function: Callable[..., Any]) -> Callable[..., Any]:
    """What calls a function by reference without a frame of its own; any other function as it is."""
    referred = getattr(function, "referred", None)
    return function if referred is None else LateFunction(referred, function.__name__, function.__doc__ or "")


@functools.cache
def _kernel(name: str) -> Callable[..., Any]:
    """A function of the package `kernels`: ``"creation:write"``."""
    function: Callable[..., Any] = python_function(f"{__package__.rpartition('.')[0]}.kernels.{name}").referred()  # type: ignore[attr-defined]
    return function


_core.hooks.fill(python_kernel=_kernel)
