"""What `HigherOrderOperator`s with rules for transforms are written with."""

from ..autograd.function import enable_single_level_autograd_function

__all__ = ["enable_single_level_autograd_function"]
