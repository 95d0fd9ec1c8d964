"""Whether an operator's gradient is registered where autograd finds it."""

from ._checks import autograd_registration_check

__all__ = ["autograd_registration_check"]
