"""Functions in Python called with arguments of wrong types: the error names the argument, as an operator's does."""

from __future__ import annotations

import functools
import inspect
import operator
import types
import typing
from collections.abc import Callable, Iterator
from numbers import Integral, Number, Real
from typing import Any, TypeVar

from . import _core
from ._core import Tensor

__all__ = ["as_int", "check_flag", "check_number", "checks_types", "names_wrong_types", "types_come_first", "unnamed"]

F = TypeVar("F", bound=Callable[..., Any])

# What else is taken for a type: whatever the functions themselves take for a number.
_TAKEN: dict[type, tuple[type, ...]] = {
    int: (Integral, Tensor),
    float: (Real, Tensor),
    complex: (Number, Tensor),
}
_CALLABLE: Any = Callable
# Of whose values an annotation takes all or none.
_USUAL = frozenset((Tensor, bool, int, float, list, tuple, type(None)))
_UNIONS = (typing.Union, types.UnionType)
_SHOWN = {_core.dtype: "torch.dtype", _core.device: "torch.device", type(None): "None", typing.SupportsIndex: "int"}


def names_wrong_types(function: F) -> F:
    """The function, which looks at its arguments' types only where it has failed.

    An int without a tensor's methods is then a TypeError: argument 'other' (position 2) must be Tensor, not int. What
    is annotated as a bool is not looked at: whatever is true or false would have done.
    """
    return _naming(function, (AttributeError, TypeError, IndexError), flags=False)


def types_come_first(function: F) -> F:
    """As `names_wrong_types`; where a value or a shape was refused a wrong type is named instead, as a binding does."""
    return _naming(function, (AttributeError, TypeError, IndexError, ValueError, RuntimeError), flags=True)


def _naming(function: F, failures: tuple[type[Exception], ...], flags: bool) -> F:
    parameters = list(inspect.signature(function).parameters.values())
    is_method = bool(parameters) and parameters[0].name == "self"

    def explain(args: tuple[Any, ...], kwargs: dict[str, Any]) -> TypeError | None:
        return next(_wrong(function, parameters[is_method:], args[is_method:], kwargs, flags), None)

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except failures:
            wrong = explain(args, kwargs)
            if wrong is None:
                raise
            raise wrong from None

    _naming_parts[checked] = function, failures, explain
    return checked  # type: ignore[return-value]


_Explain = Callable[[tuple[Any, ...], dict[str, Any]], TypeError | None]
_naming_parts: dict[Any, tuple[Any, tuple[type[Exception], ...], _Explain]] = {}  # of the functions that `_naming` made


def unnamed(function: Any) -> tuple[Any, tuple[type[Exception], ...], _Explain | None]:
    """Of what `names_wrong_types` made: the function that it calls, how that may fail, and what explains it."""
    return _naming_parts.get(function, (function, (), None))


def checks_types(function: F) -> F:
    """The function, which looks at its arguments' types before anything else: one that would do is refused too."""
    parameters = list(inspect.signature(function).parameters.values())
    expected: dict[str, Any] = {}
    names = [p.name for p in parameters]
    taken: dict[str, set[type]] = {}  # the usual types that each argument was seen to take

    def is_taken(name: str, value: object) -> bool:
        if not expected:  # annotations may name what is defined later
            expected.update((p.name, _evaluated(p.annotation, function.__globals__)) for p in parameters)
        if not _takes(expected.get(name, Any), value):
            return False
        if type(value) in _USUAL:
            taken.setdefault(name, set()).add(type(value))
        return True

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        for name, value in (*zip(names, args, strict=False), *kwargs.items()):
            if type(value) not in taken.get(name, ()) and not is_taken(name, value):
                raise next(_wrong(function, parameters, args, kwargs))
        return function(*args, **kwargs)

    return checked  # type: ignore[return-value]


def check_flag(function: str, name: str, value: object) -> None:
    """Raises TypeError for an argument that is neither True nor False, where it would only count as one of them."""
    if not isinstance(value, bool):
        raise TypeError(f"{function}(): argument '{name}' must be bool, not {type(value).__name__}")


def as_int(function: str, name: str, value: object) -> int:
    """An argument as an integer of 64 bits: also what has an ``__index__``, and no bool.

    Raises TypeError for what is none, ValueError for one that is too wide.
    """
    is_one = value.dim() == 0 if isinstance(value, Tensor) else hasattr(type(value), "__index__")
    if isinstance(value, bool) or not is_one:
        raise TypeError(f"{function}(): argument '{name}' must be int, not {type(value).__name__}")
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise TypeError(f"{function}(): argument '{name}' must be int, not {type(value).__name__}") from None
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{function}(): argument '{name}': Overflow when unpacking long long: {number}")
    return number


def check_number(function: str, name: str, place: int, value: object) -> None:
    """Raises TypeError for an argument that is no number, and no tensor that stands for one without a gradient."""
    is_one = value.dim() == 0 and not value.requires_grad if isinstance(value, Tensor) else isinstance(value, Number)
    if not is_one:
        got = type(value).__name__
        raise TypeError(f"{function}(): argument '{name}' (position {place}) must be Number, not {got}")


def _wrong(
    function: Any,
    parameters: list[inspect.Parameter],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    flags: bool = True,
) -> Iterator[TypeError]:
    by_name = {p.name: p for p in parameters}
    by_place = [p for p in parameters if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]
    given = [(by_place[min(i, len(by_place) - 1)], f"position {i + 1}", value) for i, value in enumerate(args)]
    given += [(by_name[key], "keyword", value) for key, value in kwargs.items() if key in by_name]
    for parameter, where, value in given:
        kind = _evaluated(parameter.annotation, function.__globals__)
        if not _takes(kind, value) and (flags or kind is not bool):
            *first, last = _names(kind)
            expected = f"{', '.join(first)} or {last}" if first else last
            got = type(value).__name__
            yield TypeError(
                f"{_called(function)}(): argument '{parameter.name}' ({where}) must be {expected}, not {got}"
            )


def _takes(kind: Any, value: object) -> bool:
    """Whether an annotation takes a value, as far as classes say: the types of items are not looked at."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in _UNIONS:
        return any(_takes(part, value) for part in parts)
    if origin is type:
        return isinstance(value, type) and (not isinstance(parts[0], type) or issubclass(value, parts[0]))
    found = type(None) if kind is None else origin or kind
    if not isinstance(found, type) or found in (Any, object, inspect.Parameter.empty):
        return True
    if isinstance(value, (str, bytes)):  # a sequence, but never meant as one
        return type(value) is found
    if found is _CALLABLE and callable(value):  # the core's classes are called without a `__call__`
        return True
    return isinstance(value, _TAKEN.get(found, (found,)))


def _names(kind: Any) -> list[str]:
    """How an error names what an annotation takes."""
    if typing.get_origin(kind) in _UNIONS:
        return [name for part in typing.get_args(kind) for name in _names(part)]
    found = type(None) if kind is None else typing.get_origin(kind) or kind
    if found is type and typing.get_args(kind):
        return [f"a subclass of {typing.get_args(kind)[0].__name__}"]
    return [_SHOWN.get(found, getattr(found, "__name__", str(found)))]


def _called(function: Any) -> str:
    """What a caller calls: of a class its name."""
    name: str = function.__name__
    return function.__qualname__.rpartition(".")[0] if name == "__init__" else name


def _evaluated(annotation: Any, names: dict[str, Any]) -> Any:
    try:
        return eval(annotation, names) if isinstance(annotation, str) else annotation
    except NameError:  # imported for a type checker alone
        return Any
