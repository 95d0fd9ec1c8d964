"""Convolutions of 3 x 3 filters that are computed by tiles: outputs and gradients are PyTorch's, for any numbers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch as pytorch

import mindtorch_v2

NAMES = ("output", "gradient of the input", "gradient of the filters")


def results(library: Any, image: Any, weight: Any, padding: Any = 1, groups: int = 1) -> list[Any]:
    """The output, and the gradients of input and filters, as arrays."""
    given = [library.from_numpy(array.copy()).requires_grad_() for array in (image, weight)]
    output = library.nn.functional.conv2d(*given, None, 1, padding, 1, groups)
    grad = library.from_numpy(np.cos(np.arange(output.numel()), dtype=image.dtype).reshape(tuple(output.shape)))
    return [each.detach().numpy() for each in (output, *library.autograd.grad(output, given, grad))]


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


@pytest.fixture
def threads() -> Iterator[Any]:
    before = mindtorch_v2.get_num_threads()
    yield mindtorch_v2.set_num_threads
    mindtorch_v2.set_num_threads(before)


@pytest.mark.parametrize("seed", range(12))
def test_drawn_geometries(seed: int, threads: Any) -> None:
    source = random.Random(seed)
    for _ in range(4):
        groups, channels = source.choice([1, 1, 2]), source.choice([32, 47, 64, 65, 100])
        filters, batch = source.choice([32, 48, 50, 64, 90]), source.choice([2, 3, 7])
        height, width = (source.choice([4, 7, 13, 14, 20, 29, 41]) for _ in range(2))
        padding = (source.choice([0, 1, 1, 2, 3]), source.choice([0, 1, 1, 2]))
        image, weight = numbers(batch, channels * groups, height, width), numbers(filters * groups, channels, 3, 3)
        threads(source.choice([1, 2, 3]))
        ours = results(mindtorch_v2, image, weight, padding, groups)
        exact = results(pytorch, image.astype("float64"), weight.astype("float64"), padding, groups)
        for name, mine, theirs in zip(NAMES, ours, exact, strict=True):
            assert mine.shape == theirs.shape
            assert np.abs(mine - theirs).max() <= 4e-6 * np.abs(theirs).max(), (name, image.shape, weight.shape)


@pytest.mark.parametrize("size", [(14, 14), (27, 9)])
def test_small_integers_are_exact(size: tuple[int, int]) -> None:
    image, weight = (np.round(4 * each) for each in (numbers(6, 65, *size), numbers(50, 65, 3, 3)))
    grad = np.round(4 * numbers(6, 50, *size, seed=1))
    found = []
    for library in (mindtorch_v2, pytorch):
        given = [library.from_numpy(each).requires_grad_() for each in (image, weight)]
        output = library.nn.functional.conv2d(*given, None, 1, 1)
        gradients = library.autograd.grad(output, given, library.from_numpy(grad))
        found.append([each.detach().numpy() for each in (output, *gradients)])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_bits_do_not_depend_on_the_threads(threads: Any) -> None:
    image, weight = numbers(3, 70, 21, 18), numbers(50, 70, 3, 3)
    found = []
    for count in (1, 2, 3, 5):
        threads(count)
        found.append(results(mindtorch_v2, image, weight))
    for other in found[1:]:
        for first, second in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("where", ["image", "weight", "corner", "everywhere"])
@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_is_in_the_sums_that_it_is_a_part_of_alone(number: float, where: str) -> None:
    image, weight = numbers(2, 64, 15, 22), numbers(64, 64, 3, 3)
    padding = 1
    if where == "weight":
        weight[3, 5, 1, 2] = number
        padding = 0  # whose zeros times an infinite number PyTorch leaves out, or not, by the size
    elif where == "everywhere":
        image[:] = number
    else:
        image[1, 7].flat[0 if where == "corner" else 140] = number
    found = [results(each, image, weight, padding) for each in (mindtorch_v2, pytorch)]
    for name, ours, theirs in zip(NAMES, *found, strict=True):
        if where == "weight" and name == "gradient of the input":
            continue  # its convolution has padding
        np.testing.assert_array_equal(np.isfinite(ours), np.isfinite(theirs), name)
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-3, err_msg=name)


def test_sums_of_inputs_that_overflow_are_not_the_sums_of_the_products() -> None:
    image, weight = numbers(2, 64, 16, 16), numbers(64, 64, 3, 3) * np.float32(1e-3)
    image[0, 0, 5, 4:8] = 3e38, -3e38, 3e38, -3e38
    for ours, theirs in zip(*(results(each, image, weight)[:2] for each in (mindtorch_v2, pytorch)), strict=True):
        assert np.isfinite(theirs).all()
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3 * np.abs(theirs).max())


def test_gradients_are_added_to_those_that_are_there() -> None:
    image, weight = numbers(2, 64, 16, 16), numbers(64, 64, 3, 3)
    found = []
    for library in (mindtorch_v2, pytorch):
        given = [library.from_numpy(each.copy()).requires_grad_() for each in (image, weight)]
        for _ in range(2):
            library.nn.functional.conv2d(*given, None, 1, 1).square().sum().backward()
        found.append([each.grad.numpy() for each in given])
    for ours, theirs in zip(*found, strict=True):
        assert np.abs(ours - theirs).max() <= 1e-5 * np.abs(theirs).max()
