"""Python functions by reference: ``"module:function"``, imported when first called."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["python_function", "with_context"]


def python_function(reference: str) -> Callable[..., Any]:
    """``"module:function"`` as a callable; the module is imported at the first call.

    ``referred()`` of what is returned gives the function itself.
    Raises ImportError or AttributeError then, naming the reference.
    """
    module_name, colon, name = reference.partition(":")
    if not (module_name and colon and name):
        raise ValueError(f"a Python function is given as 'module:function', got {reference!r}")

    @functools.cache
    def referred() -> Callable[..., Any]:
        return _import_function(module_name, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        return referred()(*args, **kwargs)

    call.referred = referred  # type: ignore[attr-defined]  # for a runtime that needs no frame of its own to call it
    call.__name__ = call.__qualname__ = name.rpartition(".")[2]
    call.__doc__ = f"Calls {reference}."
    return call


def with_context(function: Callable[..., Any], context: Callable[[], Any]) -> Callable[..., Any]:
    """The function; where it takes a parameter ``context``, each call gets what ``context()`` returns as that.

    A function by reference is looked at when it is imported, at its first call.
    """
    by_reference = getattr(function, "referred", None)
    if by_reference is None:
        return _told(function, context)

    @functools.cache
    def referred() -> Callable[..., Any]:
        return _told(by_reference(), context)

    def call(*args: Any, **kwargs: Any) -> Any:
        return referred()(*args, **kwargs)

    call.referred = referred  # type: ignore[attr-defined]
    call.__name__ = call.__qualname__ = function.__name__
    call.__doc__ = function.__doc__
    return call


def _told(function: Callable[..., Any], context: Callable[[], Any]) -> Callable[..., Any]:
    try:
        takes = "context" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # of a builtin
        return function
    if not takes:
        return function

    @functools.wraps(function)
    def told(*args: Any, **kwargs: Any) -> Any:
        return function(*args, context=context(), **kwargs)

    return told


def _import_function(module_name: str, name: str) -> Callable[..., Any]:
    try:
        found: Any = importlib.import_module(module_name)
    except ImportError as error:
        raise ImportError(f"{module_name}:{name}: {error}") from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise AttributeError(f"{module_name}:{name}: '{module_name}' has no function '{name}'")
        found = getattr(found, part)
    if not callable(found):
        raise TypeError(f"{module_name}:{name} must be callable, not {type(found).__name__}")
    function: Callable[..., Any] = found
    return function
