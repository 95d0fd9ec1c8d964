"""``torch._custom_ops``: operators and what is registered for them by name, as before `library.custom_op`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from inspect import isfunction
from typing import Any

from ._custom_op.impl import _find_custom_op, custom_op_with_schema, parse_qualname, validate_namespace
from ._custom_op.impl import custom_op as _made_of_function
from .library import get_ctx

__all__ = ["custom_op", "get_ctx", "impl", "impl_abstract", "impl_backward", "impl_save_for_backward"]

Function = Callable[..., Any]


def custom_op(qualname: str, func_or_schema: Function | str | None = None) -> Any:
    """Defines an operator of a schema, or of a function's annotations; without either a decorator.

    Raises ValueError for a name without namespace, a reserved one, and an operator that is not functional.
    """
    namespace, _ = parse_qualname(qualname)
    validate_namespace(namespace)
    if isinstance(func_or_schema, str):
        custom_op_with_schema(qualname, func_or_schema)
        return lambda function: function if isfunction(function) else None

    def define(function: Function) -> Function:
        _made_of_function(qualname)(function)
        return function

    return define if func_or_schema is None else define(func_or_schema)


def impl(qualname: str, *, device_types: str | Iterable[str] = ("cpu", "cuda"), func: Function | None = None) -> Any:
    """Registers a kernel for devices of these types. A decorator without ``func``."""
    return _given(_find_custom_op(qualname, also_check_torch_library=True).impl(device_types), func)


def impl_abstract(qualname: str, *, func: Function | None = None) -> Any:
    """Registers the rule that gives outputs without values. A decorator without ``func``."""
    return _given(_find_custom_op(qualname, also_check_torch_library=True).impl_abstract(), func)


def impl_save_for_backward(qualname: str, *, func: Function | None = None) -> Any:
    """Registers what is saved for the gradient. A decorator without ``func``."""
    return _given(_find_custom_op(qualname, also_check_torch_library=True).impl_save_for_backward(), func)


def impl_backward(
    qualname: str, output_differentiability: Sequence[bool] | None = None, *, func: Function | None = None
) -> Any:
    """Registers the gradient. A decorator without ``func``."""
    op = _find_custom_op(qualname, also_check_torch_library=True)
    return _given(op.impl_backward(output_differentiability), func)


def _destroy(qualname: str) -> None:
    """Takes an operator back."""
    _find_custom_op(qualname)._destroy()


def _given(decorator: Callable[[Function], Function], function: Function | None) -> Any:
    return decorator if function is None else decorator(function)
