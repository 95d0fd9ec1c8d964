"""Every built-in operator with wrong arguments, beside PyTorch: classes of errors, and whose words they are in."""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch as pytorch

import mindtorch_v2 as ours

CALLS = 25  # of each operator
SHAPES = [(), (1,), (3,), (4,), (0,), (2, 3), (3, 2), (3, 3), (1, 3), (2, 0), (2, 3, 4)]
DTYPES = ["float32", "float32", "int64", "bool", "complex64", "float16", "bfloat16", "uint8", "int32"]
VALUES = [[1], [0, 1], [7], [-1, 2], [0], [1.5, -2.5]]
CHOICES: dict[str, list[Any]] = {
    "int": [0, 1, -1, 2, 3, 5, -7, 100],
    "SymInt": [0, 1, -1, 2, 3, 5, -7, 100],
    "float": [0.0, 0.5, -1.0, 2.0],
    "bool": [True, False],
    "Scalar": [0, 1, 2, -1, 1.5, True, 1 + 2j, 1e30],
    "ScalarType": DTYPES[1:],
    "str": ["none", "tanh", "floor", "trunc", "other"],
}

# What no message may hold: a status, the name of a kernel, or the words of Python and NumPy.
FOREIGN = re.compile(
    r"kernel mt_|mt_\w+|returned -?\d|numpy|ndarray|ufunc|'\w+' object |Cannot cast|could not be broadcast together|"
    r"broadcastable|(list|tuple) index|object is not|unhashable|operand|int\(\) argument|must be real number|"
    r"cannot fit|too large to|math domain|not enough values|by zero|setting an array|not supported between|array"
)
CLASSES = (RuntimeError, IndexError, TypeError, ValueError, MemoryError)

# Of two wrong arguments another one is told about, with its class.
ANOTHER_FIRST = {
    "_log_softmax_backward_data", "_softmax_backward_data", "addmv", "amax", "amin", "arange", "arange.start",
    "arange.start_step", "argmax", "argmin", "as_strided_scatter", "baddbmm", "gather", "index_put", "index_put_",
    "linear", "matmul", "mean.dim", "mse_loss", "mv", "nll_loss", "nll_loss_backward", "nll_loss_forward", "repeat",
    "scatter_add", "scatter_add_", "select_backward", "select_scatter", "slice_backward", "slice_scatter",
    "squeeze.dims", "squeeze_copy.dims", "stack", "uniform_",
}  # fmt: skip
NOT_YET = {"arange", "arange.start", "arange.start_step", "fill.Scalar", "fill_.Scalar"}


@dataclass(frozen=True)
class Drawn:
    """A tensor to be, or a dtype."""

    dtype: str
    shape: tuple[int, ...] | None = None
    values: tuple[float, ...] = ()

    def under(self, library: Any) -> Any:
        dtype = getattr(library, self.dtype)
        if self.shape is None:
            return dtype
        return library.from_numpy(np.resize(np.array(self.values, "float64"), self.shape)).to(dtype)


def overloads() -> Iterator[str]:
    for name, packet in vars(ours.ops.aten).items():
        if isinstance(packet, ours._core.OpOverloadPacket):
            yield from (name if overload == "default" else f"{name}.{overload}" for overload in packet.overloads())


def draw(source: random.Random, type_: str) -> Any:
    """A value of a schema's type; NotImplemented where there is none to draw."""
    if type_.endswith("?"):
        return None if source.random() < 0.4 else draw(source, type_[:-1])
    if type_.endswith("]"):
        return [draw(source, type_[: type_.rindex("[")]) for _ in range(source.choice([0, 1, 2, 2, 3]))]
    if type_.startswith("Tensor"):
        return Drawn(source.choice(DTYPES), source.choice(SHAPES), tuple(source.choice(VALUES)))
    if type_ == "ScalarType":
        return Drawn(source.choice(CHOICES[type_]))
    return source.choice(CHOICES[type_]) if type_ in CHOICES else NotImplemented


def call(schema: Any, source: random.Random) -> tuple[list[Any], dict[str, Any]] | None:
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    by_name = False
    for argument in schema.arguments:
        value = draw(source, str(argument.type))
        if argument.has_default and (value is NotImplemented or source.random() < 0.5):
            by_name = True
            continue
        if value is NotImplemented:
            return None
        if by_name or argument.kwarg_only:
            kwargs[argument.name] = value
        else:
            args.append(value)
    return args, kwargs


def under(library: Any, value: Any) -> Any:
    if isinstance(value, list):
        return [under(library, item) for item in value]
    return value.under(library) if isinstance(value, Drawn) else value


def error(library: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> BaseException | None:
    packet, _, overload = name.partition(".")
    function = getattr(getattr(library.ops.aten, packet), overload or "default")
    try:
        function(*under(library, args), **{key: under(library, value) for key, value in kwargs.items()})
    except Exception as caught:
        return caught
    return None


def known_to_pytorch(name: str) -> bool:
    packet, _, overload = name.partition(".")
    found = getattr(pytorch.ops.aten, packet, None)
    return found is not None and (overload or "default") in found.overloads()


@pytest.mark.parametrize("name", sorted({*overloads()} - NOT_YET))
def test_wrong_arguments(name: str) -> None:
    packet, _, overload = name.partition(".")
    schema = getattr(getattr(ours.ops.aten, packet), overload or "default")._schema
    for i in range(CALLS):
        drawn = call(schema, random.Random(f"{name} {i}"))
        if drawn is None:
            continue
        mine = error(ours, name, *drawn)
        if mine is None:
            continue
        said = str(mine).partition("\n  schema:")[0]
        assert isinstance(mine, CLASSES), f"{drawn}: {mine!r}"
        assert said, f"{drawn}: {mine!r}"
        assert not FOREIGN.search(said) or "ZeroDivisionError" in said, f"{drawn}: {mine!r}"
        assert said.count("(") == said.count(")") or "[" in said, f"{drawn}: {mine!r}"
        if not known_to_pytorch(name):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = error(pytorch, name, *drawn)
        if theirs is not None and name not in ANOTHER_FIRST:
            assert isinstance(mine, type(theirs)), f"{drawn}: {mine!r}, not {theirs!r}"
