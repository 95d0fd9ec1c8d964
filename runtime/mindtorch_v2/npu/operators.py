"""Operators from Python functions that launch kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .. import _core
from .._argument_types import names_wrong_types
from .._core import Tensor
from ..library import CustomOpHandle, custom_op

__all__ = ["align_up", "ascendc_op", "ceil_div"]


@names_wrong_types
def ascendc_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str] = (),
    schema: str | None = None,
) -> Any:
    """Makes a function an operator that runs on NPUs: ``library.custom_op`` with ``device_types="npu"``.

    Where it returns one tensor, the fake rule is, until another is registered, an output like the first tensor
    argument. Gradients and kernels for other devices are registered on the handle it returns. Usable as a decorator::

        @npu.ascendc_op("myops::scale")
        def scale(x: Tensor, factor: float) -> Tensor: ...
    """
    if fn is None:
        return lambda function: ascendc_op(name, function, mutates_args=mutates_args, schema=schema)
    handle: CustomOpHandle = custom_op(name, fn, mutates_args=mutates_args, device_types="npu", schema=schema)
    returns = handle._opoverload._schema.returns
    if len(returns) == 1 and str(returns[0].type) == "Tensor":
        handle.register_fake(_like_first_tensor)
    return handle


def _like_first_tensor(*args: Any, **kwargs: Any) -> Tensor:
    for value in (*args, *kwargs.values()):
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, Tensor):
                return _core.alloc_like(item)
    raise RuntimeError("the default fake rule needs a tensor argument to be like; register one with register_fake")


@names_wrong_types
def ceil_div(a: int, b: int) -> int:
    """The quotient rounded up: how many pieces of ``b`` cover ``a``."""
    return -(-a // b)


@names_wrong_types
def align_up(n: int, alignment: int) -> int:
    """The smallest multiple of ``alignment`` that is not below ``n``."""
    return -(-n // alignment) * alignment
