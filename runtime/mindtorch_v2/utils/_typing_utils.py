"""``torch.utils._typing_utils``: what only type checkers see of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

__all__ = ["copy_func_params", "copy_func_sig", "copy_method_params", "copy_method_sig", "not_none"]

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")


def not_none(obj: T | None) -> T:
    """The object. Raises TypeError for None."""
    if obj is None:
        raise TypeError("Invariant encountered: value was None when it should not be")
    return obj


def copy_func_params(source_func: Callable[P, Any]) -> Callable[[Callable[..., R]], Callable[P, R]]:
    """A decorator by which a function counts as one of ``source_func``'s parameters; it stays as it is."""
    return lambda function: function


def copy_method_params(
    source_method: Callable[Concatenate[Any, P], Any],
) -> Callable[[Callable[..., R]], Callable[Concatenate[S, P], R]]:
    """The same of methods, whose first parameter is their own."""
    return lambda method: method


def copy_func_sig(source_func: Callable[P, R]) -> Callable[[Callable[..., R]], Callable[P, R]]:
    """`copy_func_params`, by which it also counts as one that returns what ``source_func`` does."""
    return lambda function: function


def copy_method_sig(
    source_method: Callable[Concatenate[S, P], R],
) -> Callable[[Callable[..., R]], Callable[Concatenate[S, P], R]]:
    """The same of methods."""
    return lambda method: method
