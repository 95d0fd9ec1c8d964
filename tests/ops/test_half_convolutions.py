"""Convolutions of halves: what they give is the exact sums, rounded once, but for float32's own error."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch as pytorch

import mindtorch_v2

BITS = {"bfloat16": 8, "float16": 11}


def drawn(source: random.Random) -> dict[str, Any]:
    """Shapes and numbers of a convolution of 1 to 3 dimensions, often of one that is common."""
    dims = source.choice((1, 2, 2, 2, 3))
    groups = source.choice((1, 1, 1, 2, 5))
    kernel = source.choice((1, 3, source.randint(1, 4)))
    size = [source.randint(kernel * 2, 9 if dims == 3 else 20) for _ in range(dims)]
    return {
        "image": (source.randint(1, 3), source.randint(1, 40) * groups, *size),
        "filters": source.randint(1, 40) * groups,
        "kernel": [kernel] * dims,
        "stride": source.choice((1, 1, 2)),
        "padding": source.choice((0, kernel // 2)),
        "dilation": source.choice((1, 1, 2)),
        "groups": groups,
    }


def results(library: Any, arrays: list[Any], dtype: str, case: dict[str, Any]) -> list[Any]:
    """The output, and gradients of image, filters and bias for outputs weighed by small whole numbers."""
    image, filters, bias = (library.from_numpy(array).to(getattr(library, dtype)).requires_grad_() for array in arrays)
    functional = library.nn.functional
    conv = (functional.conv1d, functional.conv2d, functional.conv3d)[image.dim() - 3]
    output = conv(image, filters, bias, case["stride"], case["padding"], case["dilation"], case["groups"])
    weights = library.arange(output.numel()).remainder(7).sub(3).to(output.dtype).reshape(output.shape)
    return [output.detach(), *library.autograd.grad(output, (image, filters, bias), weights)]


@pytest.mark.parametrize("dtype", BITS)
@pytest.mark.parametrize("seed", range(25))
def test_drawn_geometries(dtype: str, seed: int) -> None:
    case = drawn(random.Random(seed))
    numbers = np.random.default_rng(seed)
    shapes = [case["image"], (case["filters"], case["image"][1] // case["groups"], *case["kernel"]), (case["filters"],)]
    arrays = [
        pytorch.from_numpy(numbers.standard_normal(shape)).to(getattr(pytorch, dtype)).double().numpy()
        for shape in shapes
    ]
    found = results(mindtorch_v2, arrays, dtype, case)
    exact = results(pytorch, arrays, "float64", case)
    sizes = results(pytorch, [np.abs(array) for array in arrays], "float64", case)[0].max() + 1
    for ours, expected in zip(found, exact, strict=True):
        assert ours.dtype is getattr(mindtorch_v2, dtype)
        error = np.abs(ours.double().numpy() - expected.numpy())
        many = expected.abs().max().item() + sizes.item()
        assert (error <= np.abs(expected.numpy()) * 2.0 ** -BITS[dtype] + many * 2.0**-18).all()


def test_what_is_not_finite_stays_where_it_is() -> None:
    image = pytorch.ones(2, 33, 12, 12)
    image[0, 3, 4, 5], image[1, 20, 8, 8] = float("inf"), float("nan")
    filters = np.random.default_rng(0).standard_normal((40, 33, 3, 3)).astype("f4")
    expected = pytorch.nn.functional.conv2d(image.bfloat16(), pytorch.from_numpy(filters).bfloat16()).float()
    ours = [mindtorch_v2.from_numpy(array).bfloat16() for array in (image.numpy(), filters)]
    found = mindtorch_v2.nn.functional.conv2d(*ours).float().numpy()
    assert np.array_equal(np.isfinite(found), np.isfinite(expected.numpy()))
    assert np.array_equal(np.isnan(found), np.isnan(expected.numpy()))
