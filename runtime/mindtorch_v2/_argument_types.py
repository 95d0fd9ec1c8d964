"""Functions in Python called with arguments of wrong types: the error names the argument, as an operator's does."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from numbers import Real
from typing import Any, TypeVar

from . import _core
from ._core import Tensor

__all__ = ["check_flag", "names_wrong_types", "types_come_first"]

F = TypeVar("F", bound=Callable[..., Any])

# What an annotation takes. Annotations that are not listed take anything.
_TAKEN: dict[str, tuple[type, ...]] = {
    "Tensor": (Tensor,),
    "DType": (_core.dtype,),
    "bool": (bool,),
    "str": (str,),
    "int": (int, Tensor),
    "float": (Real, Tensor),
    "Dims": (int, list, tuple, type(None)),
}
_SHOWN = {"DType": "torch.dtype", "Dims": "int or tuple of ints"}


def names_wrong_types(function: F) -> F:
    """The function, which looks at its arguments' types only where it has failed.

    An int without a tensor's methods is then a TypeError: argument 'other' (position 2) must be Tensor, not int.
    """
    return _naming(function, (AttributeError, TypeError, IndexError))


def types_come_first(function: F) -> F:
    """As `names_wrong_types`; where a value or a shape was refused a wrong type is named instead, as a binding does."""
    return _naming(function, (AttributeError, TypeError, IndexError, ValueError, RuntimeError))


def _naming(function: F, failures: tuple[type[Exception], ...]) -> F:
    parameters = inspect.signature(function).parameters

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except failures:
            wrong = next(_wrong(function.__name__, parameters, args, kwargs), None)
            if wrong is None:
                raise
            raise wrong from None

    return checked  # type: ignore[return-value]


def check_flag(function: str, name: str, value: object) -> None:
    """Raises TypeError for an argument that is neither True nor False, where it would only count as one of them."""
    if not isinstance(value, bool):
        raise TypeError(f"{function}(): argument '{name}' must be bool, not {type(value).__name__}")


def _wrong(name: str, parameters: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[TypeError]:
    listed = list(parameters.values())
    for position, value in enumerate(args):
        parameter = listed[min(position, len(listed) - 1)]
        if not _takes(parameter.annotation, value):
            yield _error(name, parameter, f"position {position + 1}", value)
    for key, value in kwargs.items():
        if key in parameters and not _takes(parameters[key].annotation, value):
            yield _error(name, parameters[key], "keyword", value)


def _takes(annotation: str, value: Any) -> bool:
    kind, _, optional = annotation.partition(" | ")
    return kind not in _TAKEN or isinstance(value, _TAKEN[kind]) or (value is None and optional == "None")


def _error(name: str, parameter: Any, where: str, value: Any) -> TypeError:
    kind = parameter.annotation.partition(" | ")[0]
    expected = parameter.annotation.replace(kind, _SHOWN.get(kind, kind), 1).replace(" | ", " or ")
    got = type(value).__name__
    return TypeError(f"{name}(): argument '{parameter.name}' ({where}) must be {expected}, not {got}")
