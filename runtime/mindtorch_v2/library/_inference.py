"""Operator schemas from the type annotations of Python functions."""

from __future__ import annotations

import collections.abc
import inspect
import json
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

from .._argument_types import names_wrong_types
from .._core import Tensor, device, dtype

__all__ = ["infer_schema"]

_NUMBER = frozenset((int, float, bool))
_BASE_TYPES: dict[Any, str] = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    dtype: "ScalarType",
    device: "Device",
}
_LIST_ELEMENTS = frozenset(("Tensor", "SymInt", "float", "bool", "Scalar"))
_RETURN_TYPES = frozenset(("Tensor", "Tensor[]", "SymInt", "float", "bool", "Scalar"))
_VALID = (
    "Tensor, int, float, bool, str, torch.dtype, torch.device, int | float | bool, an Optional of these, a list or "
    "Sequence of Tensor, int, float, bool or int | float | bool, an Optional of a list of int, float or bool, and a "
    "list of Optional[Tensor]"
)


@names_wrong_types
def infer_schema(
    prototype_function: Callable[..., Any], /, *, mutates_args: str | Iterable[str], op_name: str | None = None
) -> str:
    """The schema of a function whose parameters and return carry type annotations.

    ``mutates_args`` names the arguments that the function writes to, or is ``"unknown"``: every tensor may be.
    With ``op_name`` the schema starts with that name. Raises ValueError where an annotation is missing or has no
    counterpart in a schema, or a default cannot be written in one.
    """
    return _Inference(prototype_function, mutates_args).schema(op_name)


class _Inference:
    def __init__(self, function: Callable[..., Any], mutates_args: str | Iterable[str]) -> None:
        self.function = function
        self.signature = inspect.signature(function)
        if isinstance(mutates_args, str) and mutates_args != "unknown":
            raise ValueError(
                "mutates_args must either be a sequence of the names of the arguments that are mutated or the string "
                f"'unknown', got the string {mutates_args!r}"
            )
        self.all_mutable = isinstance(mutates_args, str)
        self.mutated = () if self.all_mutable else tuple(mutates_args)

    def schema(self, op_name: str | None) -> str:
        parts: list[str] = []
        seen_keyword_only = False
        for position, parameter in enumerate(self.signature.parameters.values()):
            if parameter.kind is parameter.KEYWORD_ONLY:
                if not seen_keyword_only:
                    parts.append("*")
                seen_keyword_only = True
            elif parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
                raise self.error("We do not support positional-only args, varargs, or varkwargs.")
            parts.append(self.argument(parameter, position))
        missing = set(self.mutated) - set(self.signature.parameters)
        if missing:
            raise self.error(
                f"{missing} in mutates_args were not found in the custom op's signature. mutates_args should contain "
                "the names of all args that the custom op mutates, or just the string 'unknown' if you don't know."
            )
        return f"{op_name or ''}({', '.join(parts)}) -> {self.returns()}"

    def argument(self, parameter: inspect.Parameter, position: int) -> str:
        name = parameter.name
        if parameter.annotation is parameter.empty:
            raise self.error(f"Parameter {name} must have a type annotation.")
        annotation = self.resolve(parameter.annotation)
        text = _argument_type(annotation)
        if text is None:
            raise self.error(f"Parameter {name} has unsupported type {annotation}. {_tuple_hint(annotation)}")
        if name in self.mutated or (self.all_mutable and text.startswith("Tensor")):
            if not text.startswith("Tensor"):
                raise self.error(
                    f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated"
                )
            text = f"Tensor(a{position}!)" + text.removeprefix("Tensor")
        return f"{text} {name}{self.default(parameter)}"

    def default(self, parameter: inspect.Parameter) -> str:
        value = parameter.default
        if value is parameter.empty:
            return ""
        if value is None or isinstance(value, (int, float)):
            return f"={value}"
        if isinstance(value, (str, device)):
            return f"={json.dumps(str(value))}"
        if isinstance(value, dtype):
            return f"={value.name}"
        raise self.error(
            f"Parameter {parameter.name} has an unsupported default value type {type(value)}. Expected None, a number, "
            "a string, a dtype or a device."
        )

    def returns(self) -> str:
        if self.signature.return_annotation is inspect.Signature.empty:
            raise self.error("No return type annotation was provided. Please add one.")
        annotation = self.resolve(self.signature.return_annotation)
        if annotation is None or annotation is type(None):
            return "()"
        if typing.get_origin(annotation) is tuple:
            elements = [self.return_type(element) for element in typing.get_args(annotation)]
            return f"({', '.join(elements)})"
        return self.return_type(annotation)

    def return_type(self, annotation: Any) -> str:
        text = _argument_type(annotation)
        # A Sequence says what an operator takes; what it returns is a list.
        if text not in _RETURN_TYPES or typing.get_origin(annotation) is collections.abc.Sequence:
            raise self.error(
                f"Return has unsupported type {annotation}. The valid types are Tensor, list[Tensor], int, float, "
                "bool, int | float | bool, a tuple of these, and None."
            )
        return str(text)

    def resolve(self, annotation: Any) -> Any:
        """The type an annotation stands for, also where it is a string (``from __future__ import annotations``)."""
        if not isinstance(annotation, str):
            return annotation
        function = inspect.unwrap(self.function)
        local_names = inspect.getclosurevars(function).nonlocals if inspect.isfunction(function) else {}
        try:
            return eval(annotation, getattr(function, "__globals__", {}), dict(local_names))
        except (NameError, AttributeError, SyntaxError, TypeError) as error:
            raise self.error(
                f"Unsupported type annotation {annotation}. It is not a type. ({error}). If you are using "
                "'from __future__ import annotations', note that annotations are evaluated lazily as strings; make "
                "sure all types referenced in annotations are importable at module scope, not only inside a local "
                "function."
            ) from error

    def error(self, message: str) -> ValueError:
        return ValueError(f"infer_schema(func): {message} Got func with signature {self.signature}")


def _argument_type(annotation: Any) -> str | None:
    """The schema type of an annotation; None where there is no such type."""
    plain, optional = _split_optional(annotation)
    text = _plain_type(plain)
    if text is None or not optional:
        return text
    # The grammar has Tensor?[] (a list of optional tensors) but the dispatcher no Tensor[]? and no Scalar[]?.
    return None if text in ("Tensor[]", "Tensor?[]", "Scalar[]") else text + "?"


def _plain_type(annotation: Any) -> str | None:
    if annotation in _BASE_TYPES:
        return _BASE_TYPES[annotation]
    if _is_union(annotation):
        return "Scalar" if frozenset(typing.get_args(annotation)) == _NUMBER else None
    if typing.get_origin(annotation) not in (list, collections.abc.Sequence):
        return None
    (element,) = typing.get_args(annotation) or (None,)
    plain, optional = _split_optional(element)
    text = _plain_type(plain)
    if optional:
        return "Tensor?[]" if text == "Tensor" else None
    return f"{text}[]" if text in _LIST_ELEMENTS else None


def _split_optional(annotation: Any) -> tuple[Any, bool]:
    if not _is_union(annotation):
        return annotation, False
    members = tuple(member for member in typing.get_args(annotation) if member is not type(None))
    if len(members) == len(typing.get_args(annotation)):
        return annotation, False
    return typing.Union[members], True  # noqa: UP007  (a union of a computed tuple has no other spelling)


def _is_union(annotation: Any) -> bool:
    return typing.get_origin(annotation) in (typing.Union, types.UnionType)


def _tuple_hint(annotation: Any) -> str:
    valid = f"The valid types are {_VALID}."
    if typing.get_origin(annotation) is not tuple:
        return valid
    elements = {element for element in typing.get_args(annotation) if element is not Ellipsis}
    example = getattr(elements.pop(), "__name__", "int") if len(elements) == 1 else "int"
    return (
        "We do not support Tuple inputs in schema. As a workaround, please try to use List instead. "
        f"For example, list[{example}]. {valid}"
    )
