"""Calls of built-in operators made from their schemas, the same for PyTorch's operators of the same names."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch as pytorch

import mindtorch_v2 as ours
from mindtorch_v2 import _core
from opschema import base_of

MASKS = ("mask", "condition")
PLACES = ("index", "indices", "target")
MATRICES = ("mm", "addmm", "matmul", "linear")
BATCHES = ("bmm", "baddbmm")
VECTORS = ("dot", "outer", "index_select", "gather", "scatter_add", "scatter_add_", "index", "index_put", "index_put_")
VALUES: dict[str, Any] = {
    "float": 0.5,
    "int": 0,
    "SymInt": 0,
    "bool": False,
    "Scalar": 2,
    "ScalarType": None,
    "str": None,
    "Generator": None,
}
NAMED: dict[str, Any] = {"p": 0.5, "std": 1.0, "to": 1.0, "alpha": 1, "beta": 1, "value": 1, "from": 0.0, "mean": 0.0}


def operators(*, least_tensors: int = 0, in_place: bool = False) -> list[str]:
    """Full names of the built-in operators that PyTorch has, too, with the same schema's name and overload."""
    found = []
    for name in _core.operator_names():
        namespace, _, rest = name.partition("::")
        operator = _core.find_operator(name)
        assert operator is not None
        schema = operator._schema
        kinds = [base_of(argument.type).name for argument in schema.arguments]
        lists = any(str(argument.type).startswith(("Tensor[", "Tensor?[")) for argument in schema.arguments)
        if namespace != "aten" or theirs(rest) is None:
            continue
        if kinds.count("Tensor") + lists < least_tensors or (in_place and not schema.arguments[0].is_write):
            continue
        found.append(rest)
    return found


def theirs(name: str) -> Any:
    base, _, overload = name.partition(".")
    return getattr(getattr(pytorch.ops.aten, base, None), overload or "default", None)


def mine(name: str) -> Any:
    return _core.find_operator(f"aten::{name}")


def tensor_names(name: str) -> list[str]:
    """The arguments that are a tensor or a list of them."""
    return [a.name for a in mine(name)._schema.arguments if base_of(a.type).name == "Tensor"]


def arguments(torch: Any, name: str, make: Callable[[Any, str, str], Any]) -> dict[str, Any]:
    """Arguments of one call; ``make(torch, argument, dtype)`` gives each tensor."""
    values: dict[str, Any] = {}
    for argument in mine(name)._schema.arguments:
        kind, text = base_of(argument.type).name, str(argument.type)
        if kind == "Tensor":
            dtype = "bool" if argument.name in MASKS else "int64" if argument.name in PLACES else "float32"
            if "bitwise" in name:
                dtype = "int64"
            tensor = make(torch, argument.name, dtype)
            values[argument.name] = [tensor, tensor] if "?[" not in text and "[" in text else tensor
            if "?[" in text:
                values[argument.name] = [tensor]
        elif argument.has_default and argument.name not in NAMED:
            continue
        elif argument.name == "rounding_mode":
            values[argument.name] = "floor"
        elif text.endswith("]"):
            values[argument.name] = [3]
        else:
            values[argument.name] = NAMED.get(argument.name, VALUES.get(kind))
    return values


def shape_for(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that the operator takes: matrices for products of matrices."""
    base = name.partition(".")[0]
    if base in MATRICES:
        return (3, 3)
    if base in BATCHES:
        return (1, 3, 3)
    return (3,) if base in VECTORS or base.endswith("backward") else shape


def call(torch: Any, name: str, make: Callable[[Any, str, str], Any]) -> Any:
    """The result of one call under ``torch``, or what it raised."""
    operator = mine(name) if torch is ours else theirs(name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return operator(**arguments(torch, name, make))
    # PyTorch's rules in Python assert, and divide by sizes that are zero.
    except (RuntimeError, TypeError, ValueError, IndexError, AssertionError, ZeroDivisionError) as error:
        return error


def results(value: Any) -> Iterator[Any]:
    """The tensors of a result."""
    for item in value if isinstance(value, (list, tuple)) else (value,):
        if hasattr(item, "device"):
            yield item
