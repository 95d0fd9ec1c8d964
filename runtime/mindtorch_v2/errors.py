"""The runtime's error types. Each subclasses the builtin that PyTorch raises in the same place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["CheckError", "RegistrationError", "check_error"]


class CheckError(RuntimeError):
    """A declared precondition of an operator does not hold for the given arguments."""


class RegistrationError(RuntimeError):
    """An operator, kernel or gradient formula could not be registered; the registry is as it was before."""


def check_error(op: str, condition: str, values: Mapping[str, Any]) -> CheckError:
    """The error for a precondition that failed.

    ``op`` is the operator's qualified name, ``condition`` the precondition as declared, ``values`` what its parts
    evaluated to, by their text.
    """
    got = ", ".join(f"{text} = {_short(value)}" for text, value in values.items())
    return CheckError(f"{op}: expected {condition}" + (f", got {got}" if got else ""))


def _short(value: Any) -> str:
    # Size prints as torch.Size([2, 3]); in a message about shapes the list alone reads better.
    return repr(list(value)) if isinstance(value, tuple) else repr(value)
