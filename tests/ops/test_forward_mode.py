"""Tangents of the built-in operators beside PyTorch's, on the cases that compare values and gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch as pytorch

import mindtorch_v2 as ours
from tests.ops import test_against_torch as cases
from tests.ops.both import Values, flat, same

# There is no forward mode for these.
WITHOUT = {"x // y"}


def tangents(torch: Any, function: Callable[..., Any], values: Values) -> list[Any]:
    """The tangents of all outputs, zeros where one has none; every floating-point argument has a tangent."""
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level(), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # PyTorch compiles decompositions the first time
        given = {}
        for seed, (name, array) in enumerate(values.items()):
            given[name] = torch.from_numpy(np.array(array))
            if array.dtype.kind == "f":
                tangent = np.random.default_rng(seed).standard_normal(array.shape).astype(array.dtype)
                given[name] = forward_ad.make_dual(given[name], torch.from_numpy(tangent))
        outputs = [o for o in flat(function(torch, **given)) if hasattr(o, "is_floating_point")]
        pairs = [forward_ad.unpack_dual(o) for o in outputs if o.is_floating_point()]
        return [(torch.zeros_like(primal) if t is None else t).clone() for primal, t in pairs]


def agree(function: Callable[..., Any], values: Values, tolerance: float = 1e-5) -> None:
    expected, actual = tangents(pytorch, function, values), tangents(ours, function, values)
    assert len(actual) == len(expected)
    for mine, theirs in zip(actual, expected, strict=True):
        same(mine, theirs, tolerance)


@pytest.mark.parametrize("name", [*cases.ANY.split(), *cases.POSITIVE.split(), "asin", "acos"])
def test_unary(name: str) -> None:
    source = cases.positive if name in cases.POSITIVE.split() else cases.unit
    agree(lambda torch, x: getattr(torch, name)(x), {"x": source(4, 5)})
    if hasattr(pytorch.Tensor, f"{name}_") and hasattr(ours.Tensor, f"{name}_"):
        agree(lambda torch, x: getattr(x.clone().t(), f"{name}_")(), {"x": source(4, 5)})


@pytest.mark.parametrize("name", [name for name in cases.OPERATORS if name not in WITHOUT])
def test_operators(name: str) -> None:
    agree(cases.OPERATORS[name], {"x": cases.f(6, 5), "y": cases.positive(6, 5)})


@pytest.mark.parametrize("name", cases.IN_PLACE)
def test_in_place(name: str) -> None:
    agree(cases.IN_PLACE[name], {"x": cases.f(4, 5), "y": cases.positive(4, 5)})


@pytest.mark.parametrize("name", cases.REDUCTIONS)
def test_reductions(name: str) -> None:
    agree(cases.REDUCTIONS[name], {"x": cases.f(4, 5, 3)})


@pytest.mark.parametrize("name", cases.SHAPING)
def test_shapes(name: str) -> None:
    agree(cases.SHAPING[name], {"x": cases.f(6, 4, 5)})


@pytest.mark.parametrize("name", cases.INDEXING)
def test_indexing(name: str) -> None:
    values = {"x": cases.f(5, 4, 3), "i": cases.ints(3, low=0, high=4), "m": cases.bools(5, 4)}
    agree(cases.INDEXING[name], values)


@pytest.mark.parametrize(("left", "right"), cases.PRODUCTS)
def test_matmul(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    agree(lambda torch, x, y: torch.matmul(x, y), {"x": cases.f(*left), "y": cases.f(*right)})


@pytest.mark.parametrize("torch", [pytorch, ours], ids=["pytorch", "ours"])
def test_floor_divide_has_no_tangent(torch: Any) -> None:
    with pytest.raises(NotImplementedError, match=r"Trying to use forward AD with aten::floor_divide"):
        tangents(torch, cases.OPERATORS["x // y"], {"x": cases.f(6, 5), "y": cases.positive(6, 5)})
