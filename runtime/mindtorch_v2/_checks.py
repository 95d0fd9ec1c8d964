"""What programs check of their arguments: ``torch._check(x.dim() == 2, lambda: f"not a matrix: {x.shape}")``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from . import _core, overrides
from ._core import Tensor
from ._symbolic import SymBool

__all__: list[str] = []

Message = Callable[[], Any]


def _check_with(error_type: type[Exception], cond: bool | SymBool, message: Message | None = None) -> None:
    """Raises an error where a condition does not hold, with what ``message()`` gives as its text.

    Raises TypeError for a condition that is no bool, and a message that cannot be called.
    """
    if not isinstance(cond, (bool, SymBool)):
        tensors = ": torch._check_tensor_all() asks for all elements of a tensor" if isinstance(cond, Tensor) else ""
        raise TypeError(f"cond must be a bool, but got {type(cond)}{tensors}")
    if not cond:
        _fail(error_type, message)


def _fail(error_type: type[Exception], message: Message | None) -> None:
    if message is None:
        raise error_type("Expected cond to be True, but got False.")
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


def _assert(condition: Any, message: str) -> Any:
    """An assertion that overrides see; raises AssertionError where the condition does not hold."""
    if type(condition) is not Tensor and overrides.has_torch_function((condition,)):
        return overrides.handle_torch_function(_assert, (condition,), condition, message)
    if not condition:
        raise AssertionError(message)
    return None


def _check(cond: bool | SymBool, message: Message | None = None) -> None:
    """Raises RuntimeError where a condition does not hold."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: bool | SymBool, message: Message | None = None) -> None:
    """Raises IndexError where a condition does not hold."""
    _check_with(IndexError, cond, message)


def _check_value(cond: bool | SymBool, message: Message | None = None) -> None:
    """Raises ValueError where a condition does not hold."""
    _check_with(ValueError, cond, message)


def _check_type(cond: bool | SymBool, message: Message | None = None) -> None:
    """Raises TypeError where a condition does not hold."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: bool | SymBool, message: Message | None = None) -> None:
    """Raises NotImplementedError where a condition does not hold."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: Any, message: Message | None = None, *, max: Any = None) -> None:
    """Raises RuntimeError where a number is below 0, or above ``max``. Deprecated, as PyTorch's: ``_check(i >= 0)``."""
    warnings.warn("_check_is_size is deprecated: use _check(i >= 0) instead.", FutureWarning, stacklevel=2)
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all_with(error_type: type[Exception], cond: Tensor, message: Message | None = None) -> None:
    """Raises an error where an element of a tensor of bools is false; TypeError for anything else."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not _core.dtypes["bool"]:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    if not bool(cond.all()):
        _fail(error_type, message)


def _check_tensor_all(cond: Tensor, message: Message | None = None) -> None:
    """Raises RuntimeError where an element of a tensor of bools is false."""
    _check_tensor_all_with(RuntimeError, cond, message)
