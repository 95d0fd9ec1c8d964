"""Convolutions of drawn geometries, in one to three dimensions: outputs and all gradients are PyTorch's."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch as pytorch

import mindtorch_v2

CALLS = 12  # of a seed


def draw(source: random.Random) -> dict[str, Any] | None:
    """A call; None where the filter is larger than the image."""
    dims = source.choice([1, 2, 2, 2, 3])
    groups = source.choice([1, 1, 1, 2, 3])
    sizes = [1, 4, 7, 8] if dims == 3 else [1, 4, 7, 8, 14, 15, 20]
    size = [source.choice(sizes) for _ in range(dims)]
    kernel = [source.choice([1, 2, 3, 5]) for _ in range(dims)]
    stride = [source.choice([1, 1, 2, 3]) for _ in range(dims)]
    padding = [source.choice([0, 1, 2, 4]) for _ in range(dims)]
    dilation = [source.choice([1, 1, 2, 3]) for _ in range(dims)]
    if any(n + 2 * p < d * (k - 1) + 1 for n, p, d, k in zip(size, padding, dilation, kernel, strict=True)):
        return None
    channels, filters = source.choice([1, 2, 3, 8, 17, 33]), groups * source.choice([1, 2, 5, 12, 13, 33, 64])
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


@pytest.mark.parametrize("seed", range(25))
def test_drawn_geometries(seed: int) -> None:
    source = random.Random(seed)
    for call in filter(None, (draw(source) for _ in range(CALLS))):
        generator = np.random.default_rng(seed)
        shapes = (call["input"], call["weight"], call["weight"][:1])
        numbers = [generator.standard_normal(shape).astype(call["dtype"]) for shape in shapes]
        tolerance = 3e-5 if call["dtype"] == "float32" else 1e-11
        for ours, theirs in zip(*(results(each, call, numbers) for each in (mindtorch_v2, pytorch)), strict=True):
            assert ours.shape == theirs.shape
            most = tolerance * max(1.0, np.abs(theirs).max(initial=0))
            assert np.abs(ours - theirs).max(initial=0) <= most, call
