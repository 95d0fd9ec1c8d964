"""Whether an operator's fake rule gives what the operator does."""

from ._checks import fake_check

__all__ = ["fake_check"]
