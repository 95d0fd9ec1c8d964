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
from tests.ops.error_classes import BY_REASON

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
_OUT_FIRST = "of two faults PyTorch tells that of `out` first"
ANOTHER_CLASS = {
    "amax.out": _OUT_FIRST,
    "amin.out": _OUT_FIRST,
    "cat.out": _OUT_FIRST,
    "clamp.Tensor_out": "of two faults PyTorch tells that of complex numbers first",
    "clamp_.Tensor": "of two faults PyTorch tells that of complex numbers first",
    "clip.Tensor_out": "as `clamp.Tensor_out`",
    "clip_.Tensor": "as `clamp_.Tensor`",
    "concat.out": _OUT_FIRST,
    "concatenate.out": _OUT_FIRST,
    "index.Tensor_out": _OUT_FIRST,
    **dict.fromkeys(
        ("_fft_c2c", "_fft_c2c.out", "_fft_c2r", "_fft_c2r.out", "_fft_r2c", "_fft_r2c.out"),
        "these are parts of functions, whose arguments PyTorch takes as given",
    ),
    **dict.fromkeys(
        ("_unsafe_masked_index", "_unsafe_masked_index_put_accumulate"),
        "these are parts of what a compiler makes, whose arguments PyTorch takes as given",
    ),
    "histogramdd.int_bins": "PyTorch looks at the last dimension before it looks whether there is one",
    "gradient.tensorarray": "of two faults PyTorch tells that of spaces first",
    "linalg_matrix_norm.out": _OUT_FIRST,
    **dict.fromkeys(
        ("linalg_matrix_rank.atol_rtol_float_out", "linalg_pinv.atol_rtol_float", "linalg_pinv.atol_rtol_float_out"),
        "of too few dimensions PyTorch tells where it looks for the tolerances",
    ),
    "linalg_tensorsolve": "PyTorch makes a vector of a length below 0",
    "mkldnn_rnn_layer_backward": "of many faults PyTorch tells that of a dimension first",
    "mse_loss": "PyTorch has no kernel for integers; ours is composed of operators, and `mean` refuses them",
    "mv": "PyTorch allocates the result, of `self.size(0)`, before it looks at the number of dimensions",
    "squeeze.dims": "of a dimension twice and another out of range PyTorch tells the first in the list",
    "squeeze_copy.dims": "as `squeeze.dims`",
    **{name: reason for reason, names in BY_REASON.items() for name in names},
}
# PyTorch ends the process: it reads memory that wrong arguments do not have, or divides by zero. A name
# without an overload stands for all of them.
NEVER_ASKED = frozenset(
    {
        "_batch_norm_no_update",
        "_embedding_bag.out",
        "_fused_rms_norm_backward",
        "_native_batch_norm_legit.no_stats",
        "_weight_norm",
        "batch_norm_backward",
        "embedding_dense_backward",
        "fractional_max_pool2d_backward",
        "fractional_max_pool3d_backward",
        "reflection_pad1d_backward",
        "reflection_pad2d_backward",
    }
)
REPLACEMENTS = 60  # of each argument, in search of the one that is wrong


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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of calls that are odd, and done
        try:
            function(*under(library, args), **{key: under(library, value) for key, value in kwargs.items()})
        except Exception as caught:
            return caught
    return None


def ours_of(kind: type[BaseException]) -> type[BaseException]:
    """A class of PyTorch's own as that which is called so here."""
    return ours.linalg.LinAlgError if kind is pytorch.linalg.LinAlgError else kind


def known_to_pytorch(name: str) -> bool:
    packet, _, overload = name.partition(".")
    if packet.startswith("_fused_"):  # PyTorch looks at no shape, and writes beyond what it was given
        return False
    found = getattr(pytorch.ops.aten, packet, None)
    asked = NEVER_ASKED.isdisjoint((packet, name))
    return asked and found is not None and (overload or "default") in found.overloads()


def pytorchs_error(name: str, args: list[Any], kwargs: dict[str, Any]) -> BaseException | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return error(pytorch, name, args, kwargs)


def only_wrong(name: str, schema: Any, args: list[Any], kwargs: dict[str, Any]) -> str | None:
    """The argument with whose replacement PyTorch takes the call.

    None where there are two wrong ones: which of them is told about is a matter of order.
    """
    for position, argument in enumerate(schema.arguments):
        if position >= len(args) and argument.name not in kwargs:
            continue
        source = random.Random(f"{name} {argument.name}")
        for _ in range(REPLACEMENTS):
            other_args, other_kwargs = [*args], {**kwargs}
            if position < len(args):
                other_args[position] = draw(source, str(argument.type))
            else:
                other_kwargs[argument.name] = draw(source, str(argument.type))
            if pytorchs_error(name, other_args, other_kwargs) is None:
                return str(argument.name)
    return None


@pytest.mark.parametrize("name", sorted({*overloads()}))
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
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
        in_pytorchs_words = "ZeroDivisionError" in said or said.startswith("einsum(): ")
        assert in_pytorchs_words or not FOREIGN.search(said), f"{drawn}: {mine!r}"
        assert said.count("(") == said.count(")") or "[" in said, f"{drawn}: {mine!r}"
        if not known_to_pytorch(name):
            continue
        theirs = pytorchs_error(name, *drawn)
        if theirs is not None and not isinstance(mine, ours_of(type(theirs))) and name not in ANOTHER_CLASS:
            wrong = only_wrong(name, schema, *drawn)
            assert wrong is None, f"{drawn}, wrong in {wrong}: {mine!r}, not {theirs!r}"


@pytest.mark.parametrize("factor", [1j, 1e10, 2**40, 1.5, -1.5])
@pytest.mark.parametrize("name", ["beta", "alpha"])
@pytest.mark.parametrize("dtype", ["int32", "uint8"])
def test_a_factor_of_integers(name: str, factor: Any, dtype: str) -> None:
    """A factor loses its fraction, and is refused where the dtype cannot hold it."""
    args = [Drawn(dtype, (1, 2, 2), (2,))] * 3
    mine, theirs = (error(library, "baddbmm", args, {name: factor}) for library in (ours, pytorch))
    assert type(mine) is type(theirs)
    assert mine is None or "cannot be converted to type" in str(mine)
    if theirs is None:
        values = [library.ops.aten.baddbmm(*under(library, args), **{name: factor}) for library in (ours, pytorch)]
        assert values[0].tolist() == values[1].tolist()
