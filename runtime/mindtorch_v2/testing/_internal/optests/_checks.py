"""`opcheck`'s tests one by one, of an operator or of any function of tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...._core import OpOverload, Tensor
from ....library import OpCheckError, opcheck
from ....library._aot_dispatch import check_function
from ....library._opcheck import TESTS
from ..._comparison import assert_close

__all__ = [
    "OpCheckError",
    "aot_autograd_check",
    "autograd_registration_check",
    "fake_check",
    "make_fx_check",
    "opcheck",
]


def autograd_registration_check(op: OpOverload, args: Any, kwargs: Mapping[str, Any]) -> None:
    """Raises AssertionError where an output requires grad, and no gradient is registered at an autograd key."""
    if not isinstance(op, OpOverload):
        raise AssertionError(f"autograd_registration_check: op must be an OpOverload, got {type(op).__name__}")
    TESTS["test_autograd_registration"](op, args, dict(kwargs))


def fake_check(op: OpOverload, args: Any, kwargs: Mapping[str, Any]) -> None:
    """Raises RuntimeError where an operator's fake rule gives other shapes, strides, dtypes or devices than it does."""
    TESTS["test_faketensor"](op, args, dict(kwargs))


def aot_autograd_check(
    func: Callable[..., Any],
    args: Any,
    kwargs: Mapping[str, Any],
    dynamic: bool,
    assert_raises_regex_fn: Any = None,
    assert_equals_fn: Callable[[Any, Any], None] = assert_close,
    check_gradients: bool | str = True,
    try_check_data_specialization: bool = False,
    skip_correctness_check: bool = False,
    disable_functionalization: bool = False,
) -> None:
    """Runs a function of tensors, forward and backward, and again what was recorded of it; both have to agree.

    ``check_gradients`` may be False, or "auto": where an output requires grad. Raises AssertionError where they
    differ, and what recording raises. Shapes are recorded as they are, whether ``dynamic`` or not.
    """
    check_function(func, tuple(args), dict(kwargs), gradients=check_gradients is not False, close=assert_equals_fn)


def make_fx_check(
    func: Callable[..., Any],
    args: Any,
    kwargs: Mapping[str, Any],
    tracing_mode: str,
    assert_close: Callable[[Any, Any], None] = assert_close,
    randomize_data: bool = False,
) -> None:
    """As `aot_autograd_check`, without gradients."""
    check_function(func, tuple(args), dict(kwargs), gradients=False, close=assert_close)


def is_abstract(tensor: Tensor) -> bool:
    """Whether a tensor has no values that a check could compare."""
    return tensor.is_meta or (type(tensor) is not Tensor and hasattr(tensor, "fake_mode"))
