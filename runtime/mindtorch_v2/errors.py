"""The runtime's error types. Each subclasses the builtin that PyTorch raises in the same place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._argument_types import names_wrong_types

__all__ = ["CheckError", "LinAlgError", "RegistrationError", "check_error", "failed_check"]


class CheckError(RuntimeError):
    """A declared precondition of an operator does not hold for the given arguments."""


class LinAlgError(RuntimeError):
    """A matrix is singular, or not positive-definite, or an algorithm of linear algebra did not converge."""


class RegistrationError(RuntimeError):
    """An operator, kernel or gradient formula could not be registered; the registry is as it was before."""


@names_wrong_types
def check_error(op: str, expectation: str, values: Mapping[str, Any], error: type[Exception] = CheckError) -> Exception:
    """The error for a precondition that failed, as a sentence.

    ``op`` is the operator's qualified name, ``expectation`` what was expected (``"x to have 2 dimensions"``), and
    ``values`` what was got: what the condition's parts evaluated to, by their text.
    """
    got = ", ".join(f"{text} = {_short(value)}" for text, value in values.items())
    return error(f"{op}: expected {expectation}" + (f", got {got}" if got else ""))


@names_wrong_types
def failed_check(text: str, *values: Any, error: type[Exception] = CheckError) -> Exception:
    """The error for a precondition with a message of its own: ``text`` with ``{}`` for each of the values."""
    return error(text.format(*(list(value) if isinstance(value, tuple) else value for value in values)))


def _short(value: Any) -> str:
    # Size prints as torch.Size([2, 3]); in a message about shapes the list alone reads better.
    return repr(list(value)) if isinstance(value, tuple) else repr(value)
