"""Convolutions of drawn geometries, in one to three dimensions: outputs and all gradients are PyTorch's."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch as pytorch

import mindtorch_v2

CALLS = 12  # of a seed


def draw(source: random.Random, few: bool) -> dict[str, Any] | None:
    """A call, of groups with few channels and filters or others; None where the filter is larger than the image."""
    dims = source.choice([1, 2, 2, 2, 3])
    groups = source.choice([2, 5, 9]) if few else source.choice([1, 1, 1, 2, 3])
    sizes = [1, 4, 7, 8] if dims == 3 else [1, 4, 7, 8, 14, 15, 20, *[33, 56] * few]
    size = [source.choice(sizes) for _ in range(dims)]
    kernel = [source.choice([1, 2, 3, 5]) for _ in range(dims)]
    stride = [source.choice([1, 1, 2, 3]) for _ in range(dims)]
    padding = [source.choice([0, 1, 2, 4]) for _ in range(dims)]
    dilation = [source.choice([1, 1, 2, 3]) for _ in range(dims)]
    if any(n + 2 * p < d * (k - 1) + 1 for n, p, d, k in zip(size, padding, dilation, kernel, strict=True)):
        return None
    channels = source.choice([1, 1, 1, 2] if few else [1, 2, 3, 8, 17, 33])
    filters = groups * source.choice([1, 1, 2] if few else [1, 2, 5, 12, 13, 33, 64])
    return {
        "input": (source.choice([1, 2, 3, 4, 9]), groups * channels, *size),
        "weight": (filters, channels, *kernel),
        "options": (stride, padding, dilation, groups),
        "dtype": source.choice(["float32", "float64"]),
    }


def results(library: Any, call: dict[str, Any], numbers: list[Any]) -> list[Any]:
    """The output, and the gradients of input, weight and bias, as arrays."""
    given = [library.from_numpy(array.copy()).requires_grad_() for array in numbers]
    output = getattr(library, f"conv{len(call['weight']) - 2}d")(*given, *call["options"])
    grad = library.from_numpy(np.cos(np.arange(output.numel(), dtype=call["dtype"])).reshape(tuple(output.shape)))
    return [each.detach().numpy() for each in (output, *library.autograd.grad(output, given, grad))]


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("seed", range(25))
def test_drawn_geometries(seed: int, few: bool) -> None:
    source = random.Random(seed)
    for call in filter(None, (draw(source, few) for _ in range(CALLS))):
        generator = np.random.default_rng(seed)
        shapes = (call["input"], call["weight"], call["weight"][:1])
        numbers = [generator.standard_normal(shape).astype(call["dtype"]) for shape in shapes]
        tolerance = 3e-5 if call["dtype"] == "float32" else 1e-11
        for ours, theirs in zip(*(results(each, call, numbers) for each in (mindtorch_v2, pytorch)), strict=True):
            assert ours.shape == theirs.shape
            most = tolerance * max(1.0, np.abs(theirs).max(initial=0))
            assert np.abs(ours - theirs).max(initial=0) <= most, call


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("width", [7, 16, 21])
def test_an_infinite_input_is_in_the_sums_that_it_is_a_part_of_alone(stride: int, width: int) -> None:
    shape, options = (2, 3, 6, width), (stride, 1, 1, 3)
    numbers = [np.cos(np.arange(np.prod(each))).reshape(each).astype("float32") for each in (shape, (3, 1, 3, 3), (3,))]
    numbers[0][0, 1, 2, 0], numbers[0][1, 2, 5, width - 1] = np.inf, np.nan
    call = {"weight": (3, 1, 3, 3), "options": options, "dtype": "float32"}
    for ours, theirs in zip(*(results(each, call, numbers) for each in (mindtorch_v2, pytorch)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_integers() -> None:
    image, weight = np.arange(2 * 4 * 5 * 9).reshape(2, 4, 5, 9) % 11, np.arange(4 * 9).reshape(4, 1, 3, 3) - 17
    ours, theirs = (
        t.conv2d(t.from_numpy(image), t.from_numpy(weight), None, 1, 1, 1, 4) for t in (mindtorch_v2, pytorch)
    )
    assert ours.tolist() == theirs.tolist()
