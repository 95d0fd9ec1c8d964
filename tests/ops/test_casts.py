"""What an overload called by its own name casts, and what a function takes: every kind of argument, beside PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch as pytorch

import mindtorch_v2 as ours


class Index:
    def __index__(self) -> int:
        return 1


class BadIndex:
    def __index__(self) -> int:
        raise ValueError("no index")


class Whole:
    def __int__(self) -> int:
        return 1


class Fraction:
    def __float__(self) -> float:
        return 1.0


class Truth:
    def __bool__(self) -> bool:
        return True


class NoTruth:
    def __bool__(self) -> bool:
        raise ValueError("no bool")


class NoItems(list[int]):
    def __iter__(self) -> Any:
        raise ValueError("no items")


VALUES: dict[str, Callable[[Any], Any]] = {
    "True": lambda torch: True,
    "1": lambda torch: 1,
    "2**63": lambda torch: 2**63,
    "2**70": lambda torch: 2**70,
    "-2**63 - 1": lambda torch: -(2**63) - 1,
    "1.0": lambda torch: 1.0,
    "1j": lambda torch: 1j,
    "None": lambda torch: None,
    "'1'": lambda torch: "1",
    "b'x'": lambda torch: b"x",
    "0-d int tensor": lambda torch: torch.tensor(1),
    "0-d float tensor": lambda torch: torch.tensor(1.5),
    "tensor of one": lambda torch: torch.tensor([1]),
    "tensor of two": lambda torch: torch.tensor([1, 1]),
    "complex tensor": lambda torch: torch.tensor(1j),
    "tensor with grad": lambda torch: torch.tensor(1.0, requires_grad=True),
    "numpy int64": lambda torch: numpy.int64(1),
    "numpy float64": lambda torch: numpy.float64(1.5),
    "numpy float32": lambda torch: numpy.float32(1.5),
    "numpy bool": lambda torch: numpy.bool_(True),
    "numpy array of three": lambda torch: numpy.ones(3),
    "numpy array of one": lambda torch: numpy.ones(1),
    "range": lambda torch: range(2),
    "[1]": lambda torch: [1],
    "[]": lambda torch: [],
    "[1.0]": lambda torch: [1.0],
    "[True]": lambda torch: [True],
    "[1, True]": lambda torch: [1, True],
    "[None]": lambda torch: [None],
    "[tensor]": lambda torch: [torch.tensor(1)],
    "[float tensor]": lambda torch: [torch.tensor(1.5)],
    "[BadIndex]": lambda torch: [BadIndex()],
    "{}": lambda torch: {},
    "{1}": lambda torch: {1},
    "Size": lambda torch: torch.Size([1]),
    "dtype": lambda torch: torch.float32,
    "device": lambda torch: torch.device("cpu"),
    "int": lambda torch: int,
    "object()": lambda torch: object(),
    "Index": lambda torch: Index(),
    "BadIndex": lambda torch: BadIndex(),
    "Whole": lambda torch: Whole(),
    "Fraction": lambda torch: Fraction(),
    "Truth": lambda torch: Truth(),
    "NoTruth": lambda torch: NoTruth(),
    "NoItems": lambda torch: NoItems([1]),
    "Generator": lambda torch: torch.Generator(),
    "'cpu'": lambda torch: "cpu",
}

OVERLOADS: dict[str, Callable[[Any, Any], Any]] = {
    "int": lambda torch, v: torch.ops.aten.unsqueeze.default(torch.zeros([1, 1, 1, 1, 1, 1, 1]), v),
    "SymInt": lambda torch, v: torch.ops.aten.eye.default(v),
    "int[]": lambda torch, v: torch.ops.aten.permute.default(torch.zeros([1]), v),
    "float": lambda torch, v: torch.ops.aten.normal_.default(torch.zeros([1, 1]), 0.0, v).shape,
    "bool": lambda torch, v: torch.ops.aten.argmax.default(torch.zeros([1, 1]), 0, v),
    "str": lambda torch, v: torch.ops.aten.gelu.default(torch.zeros([1, 1]), approximate=v),
    "str?": lambda torch, v: torch.ops.aten.div.Tensor_mode(torch.zeros([1]), torch.ones([1]), rounding_mode=v),
    "Scalar": lambda torch, v: torch.ops.aten.ne.Scalar(torch.zeros([1, 1]), v),
    "Scalar?": lambda torch, v: torch.ops.aten.clamp.default(torch.zeros([1, 1]), v),
    "ScalarType?": lambda torch, v: torch.ops.aten.sum.default(torch.ones([1, 1]), dtype=v),
    "Device?": lambda torch, v: torch.ops.aten.zeros.default([1], device=v),
    "MemoryFormat": lambda torch, v: torch.ops.aten.clone.default(torch.zeros([1, 1]), memory_format=v),
    "Generator?": lambda torch, v: torch.ops.aten.normal_.default(torch.zeros([1, 1]), generator=v).shape,
    "Tensor": lambda torch, v: torch.ops.aten.relu.default(v),
    "Tensor for numbers": lambda torch, v: torch.ops.aten.mul.Tensor(torch.zeros([1, 1]), v),
    "Tensor[]": lambda torch, v: torch.ops.aten.cat.default(v),
}
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "int": lambda torch, v: torch.unsqueeze(torch.zeros([1, 1]), v),
    "int[]": lambda torch, v: torch.permute(torch.zeros([1]), v),
    "SymInt[]": lambda torch, v: torch.zeros([2, *v] if isinstance(v, list) else v),
    "float": lambda torch, v: torch.zeros([1, 1]).normal_(0.0, v).shape,
    "bool": lambda torch, v: torch.argmax(torch.zeros([1, 1]), 0, v),
    "bool? pin_memory": lambda torch, v: torch.zeros([1], pin_memory=v),
    "requires_grad": lambda torch, v: torch.zeros([1], requires_grad=v),
    "requires_grad of tensor": lambda torch, v: torch.tensor([1.0], requires_grad=v),
    "ScalarType?": lambda torch, v: torch.sum(torch.ones([1, 1]), dtype=v),
    "Layout?": lambda torch, v: torch.zeros([1], layout=v),
    "MemoryFormat?": lambda torch, v: torch.clone(torch.zeros([1, 1]), memory_format=v),
    "Generator?": lambda torch, v: torch.zeros([1, 1]).normal_(generator=v).shape,
}

# Of these PyTorch says something else: its own assertion, or that a dtype of its own (complex32, 8) is meant.
LEFT = {
    ("MemoryFormat", "dtype"): "is refused as a format of that number",
    ("bool? pin_memory", "True"): "PyTorch's side has no accelerator to pin memory for",
    ("float", "complex tensor"): "told by `item` there",
    ("int", "Index"): "the function that takes SymInts takes it, and all of ours are those",
    ("SymInt[]", "numpy bool"): "an int of PyTorch's SymInts, and no int elsewhere",
    ("SymInt[]", "tensor of one"): "the same",
    **dict.fromkeys(
        [("int[]", "1"), ("int[]", "0-d int tensor")],
        "a method takes its ints one by one, and ours of functions and methods are the same operators",
    ),
    **dict.fromkeys(
        [("Scalar", "1j"), ("Tensor for numbers", "1j"), ("Tensor for numbers", "complex tensor")],
        "ours has no kernel for complex numbers",
    ),
    (
        "Scalar?",
        "1j",
    ): "PyTorch converts it to a float first, and ours has no kernel for complex numbers: both refuse it",
}


def outcome(torch: Any, call: Callable[[Any, Any], Any], value: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = call(torch, value)
        except Exception as error:  # whatever it is, it is compared
            return error
    if not hasattr(result, "dtype"):
        return tuple(result)
    return str(result.dtype), tuple(result.shape), result.tolist()


def compare(kind: str, call: Callable[[Any, Any], Any], name: str) -> None:
    theirs, mine = (outcome(torch, call, VALUES[name](torch)) for torch in (pytorch, ours))
    if isinstance(theirs, Exception):
        assert isinstance(mine, type(theirs)), f"PyTorch raises {theirs!r}; ours: {mine!r}"
    else:
        assert mine == theirs


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("kind", OVERLOADS)
def test_an_overload_casts(kind: str, name: str) -> None:
    if (kind, name) in LEFT and kind != "int[]":
        pytest.skip(LEFT[kind, name])
    compare(kind, OVERLOADS[kind], name)


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("kind", FUNCTIONS)
def test_a_function_takes(kind: str, name: str) -> None:
    if (kind, name) in LEFT:
        pytest.skip(LEFT[kind, name])
    compare(kind, FUNCTIONS[kind], name)


@pytest.mark.parametrize("layout", [-1, 1, 2, 2**31 - 1])
def test_there_is_one_layout(layout: int) -> None:
    with pytest.raises(NotImplementedError, match=f"layout {layout} is not supported"):
        ours.ops.aten.zeros.default([1], layout=layout)
    assert ours.ops.aten.zeros.default([1], layout=0).shape == (1,)


def test_a_missing_argument_is_told_before_what_is_wrong_with_another() -> None:
    for torch in (pytorch, ours):
        with pytest.raises(TypeError):
            torch.rand(device="cpu:")


def test_halves_of_doubles_are_rounded_in_two_steps_as_in_pytorch() -> None:
    values = numpy.random.default_rng(0).standard_normal(200_000) * 3
    halves = [torch.tensor(values).half().view(torch.int16).tolist() for torch in (ours, pytorch)]
    assert halves[0] == halves[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that complex numbers of two halves are experimental
        pairs = [
            torch.view_as_real(torch.tensor(values).to(torch.complex128).to(torch.complex32))[:, 0].float().tolist()
            for torch in (ours, pytorch)
        ]
    assert pairs[0] == pairs[1]
