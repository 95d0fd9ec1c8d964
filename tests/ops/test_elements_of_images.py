"""Images sampled at places of a grid, padded by elements, and made of their nearest elements, drawn: as PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as pytorch

import mindtorch_v2 as ours

ENDS = (np.nan, np.inf, -np.inf, 1e20, -1e9)
INEXACT = ("float32", "float64", "complex64", "complex128")
HALVES = ("float16", "bfloat16")


def _laid_out(array: np.ndarray, layout: int) -> Callable[[Any], Any]:
    """A tensor with an array's values: as it is, of every second element, or in another order of dimensions."""

    def make(torch: Any) -> Any:
        if layout == 1:
            return torch.from_numpy(np.repeat(array, 2, -1))[..., ::2]
        if layout == 2:
            return torch.from_numpy(np.ascontiguousarray(array.swapaxes(0, -1))).transpose(0, -1)
        return torch.from_numpy(array.copy())

    return make


def _numpy(tensor: Any) -> np.ndarray:
    tensor = tensor.detach()
    result: np.ndarray = (tensor.float() if str(tensor.dtype).endswith("bfloat16") else tensor).numpy()
    return result


def _agree(call: Callable[[Any], Any], tolerance: float) -> None:
    """Both give the same, bit for bit (but for the sign of 0) where the tolerance is 0."""
    for mine, theirs in zip(call(ours), call(pytorch), strict=True):
        assert (str(mine.dtype), tuple(mine.shape)) == (str(theirs.dtype), tuple(theirs.shape))
        np.testing.assert_allclose(_numpy(mine), _numpy(theirs), rtol=tolerance, atol=tolerance)


# ---------------------------------------------------------------- grids
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_samples_and_both_gradients(mode: int, dtype: str) -> None:
    rng = np.random.default_rng(mode)
    for turn in range(60):
        dims = 2 if mode == 2 else int(rng.integers(2, 4))
        sizes, places = rng.integers(1, 7, dims), rng.integers(1, 9, dims)
        if turn % 20 == 0:  # more than one block of places
            places[-1] = 300
        batch, channels = (int(n) for n in rng.integers(1, 4, 2))
        padding, align = int(rng.integers(3)), bool(rng.integers(2))
        grid = rng.uniform(-1, 1, (batch, *places, dims)) * rng.choice([0.5, 1.3, 6])
        if turn % 4 == 0:
            grid = grid.round(0) if turn % 8 else np.round(4 * grid) / 4  # just at elements and ends
        if padding == 0 and mode == 1 and turn % 3 == 0:
            grid.flat[:: int(rng.integers(3, 9))] = rng.choice(ENDS)
        image, grad = (rng.standard_normal((batch, channels, *n)) for n in (sizes, places))
        if turn % 5 == 0:
            image.flat[0] = np.inf
        made = [
            _laid_out(a.astype(dtype), int(layout))
            for a, layout in zip((grad, image, grid), rng.integers(3, size=3), strict=True)
        ]

        def call(torch: Any, dims: int = dims, made: Any = made, numbers: Any = (mode, padding, align)) -> Any:
            grad, image, grid = (make(torch) for make in made)
            aten = torch.ops.aten
            sampled = getattr(aten, f"grid_sampler_{dims}d")(image, grid, *numbers)
            return sampled, *getattr(aten, f"grid_sampler_{dims}d_backward")(grad, image, grid, *numbers, [True, True])

        with np.errstate(invalid="ignore"):
            _agree(call, 1e-4 if dtype == "float32" else 1e-10)


def test_places_that_are_nowhere() -> None:
    """Where PyTorch may read other memory: infinity is the last element, and what is no number the first."""
    image = ours.arange(4.0).reshape(1, 1, 1, 4) + 1
    grid = ours.tensor([[[[np.nan, 0.0], [np.inf, 0.0], [-np.inf, 0.0], [1e30, 0.0]]]])
    for mode in (0, 1):
        assert ours.ops.aten.grid_sampler_2d(image, grid, mode, 1, False).tolist() == [[[[1.0, 4.0, 1.0, 4.0]]]]
        assert ours.ops.aten.grid_sampler_2d(image, grid, mode, 0, False).tolist() == [[[[0.0] * 4]]]
        reflected = ours.ops.aten.grid_sampler_2d(image, grid[:, :, :3], mode, 2, True)
        assert reflected.tolist() == [[[[1.0, 1.0, 1.0]]]]


@pytest.mark.parametrize("dtype", HALVES)
def test_halves_are_sampled_in_float32(dtype: str) -> None:
    rng = np.random.default_rng(5)
    x, grid = ours.from_numpy(rng.standard_normal((2, 3, 5, 6))), ours.from_numpy(rng.uniform(-1, 1, (2, 4, 4, 2)))
    half = getattr(ours, dtype)
    for mode in range(3):
        wide = [t.to(half).float() for t in (x, grid)]
        expected = ours.ops.aten.grid_sampler_2d(*wide, mode, 0, False).to(half)
        found = ours.ops.aten.grid_sampler_2d(x.to(half), grid.to(half), mode, 0, False)
        assert found.dtype is half
        assert found.equal(expected)
        grads = ours.ops.aten.grid_sampler_2d_backward(
            expected, x.to(half), grid.to(half), mode, 0, False, [True, True]
        )
        again = ours.ops.aten.grid_sampler_2d_backward(expected.float(), *wide, mode, 0, False, [True, True])
        assert all(a.equal(b.to(half)) for a, b in zip(grads, again, strict=True))


def test_threads_make_no_difference_to_samples() -> None:
    rng = np.random.default_rng(6)
    image, grid = (
        ours.from_numpy(rng.standard_normal((3, 16, 40, 40))),
        ours.from_numpy(rng.uniform(-1, 1, (3, 50, 50, 2))),
    )
    grad = ours.from_numpy(rng.standard_normal((3, 16, 50, 50)))
    threads, found = ours.get_num_threads(), []
    try:
        for count in (1, 2, 5):
            ours.set_num_threads(count)
            sampled = ours.ops.aten.grid_sampler_2d(image, grid, 0, 0, False)
            grads = ours.ops.aten.grid_sampler_2d_backward(grad, image, grid, 0, 0, False, [True, True])
            found.append((sampled, *grads))
    finally:
        ours.set_num_threads(threads)
    assert all(a.equal(b) for other in found[1:] for a, b in zip(found[0], other, strict=True))


# ---------------------------------------------------------------- padding
def _shapes(rng: Any, kind: str, dims: int) -> tuple[tuple[int, ...], list[int]]:
    sizes = [int(n) for n in rng.integers(1, 14, dims)]
    pad = []
    for n in reversed(sizes):
        most = n - 1 if kind == "reflection" else 12
        pair = [int(rng.integers(-min(2, n - 1), most + 1)) for _ in range(2)]
        pad += pair if n + sum(pair) > 0 else [0, 0]
    return (*(int(n) for n in rng.integers(1, 4, int(rng.integers(1, 3)))), *sizes), pad


@pytest.mark.parametrize("dtype", [*INEXACT, *HALVES, "uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("kind", ["reflection", "replication"])
def test_padding_by_elements_and_back(kind: str, dtype: str) -> None:
    rng = np.random.default_rng(7)
    for turn in range(45):
        dims = turn % 3 + 1
        shape, pad = _shapes(rng, kind, dims)
        image = rng.integers(-9, 10, shape).astype("f8")  # sums of which are exact in any order
        made = _laid_out(image, int(rng.integers(3)))
        name = f"{kind}_pad{dims}d"

        def call(torch: Any, made: Any = made, name: str = name, pad: Any = pad) -> Any:
            x = made(torch).to(getattr(torch, dtype))
            padded = getattr(torch.ops.aten, name)(x, pad)
            if dtype not in INEXACT:
                return (padded,)
            return padded, getattr(torch.ops.aten, f"{name}_backward")(padded + padded.flip(-1), x, pad)

        _agree(call, 0)


def test_sums_of_padding_are_in_the_order_of_pytorch() -> None:
    rng = np.random.default_rng(8)
    for kind in ("reflection", "replication"):
        for dims in (1, 2, 3):
            x = rng.standard_normal((2, 3, *[9] * dims)).astype("f4")
            grad = rng.standard_normal((2, 3, *[16] * dims)).astype("f4")

            def call(torch: Any, x: Any = x, grad: Any = grad, name: str = f"{kind}_pad{dims}d_backward") -> Any:
                back = getattr(torch.ops.aten, name)
                return [back(torch.from_numpy(grad), torch.from_numpy(x), [3, 4] * (x.ndim - 2))]

            _agree(call, 1e-6)


@pytest.mark.parametrize("dtype", HALVES)
def test_gradients_of_padding_are_rounded_once(dtype: str) -> None:
    """PyTorch rounds each sum."""
    half, x = getattr(ours, dtype), ours.ones(1, 2, 3, 4)
    grad = ours.from_numpy(np.random.default_rng(10).standard_normal((1, 2, 7, 8))).to(half)
    for name in ("reflection_pad2d_backward", "replication_pad2d_backward"):
        back = getattr(ours.ops.aten, name)
        assert back(grad, x.to(half), [2] * 4).equal(back(grad.float(), x, [2] * 4).to(half))


@pytest.mark.parametrize("dtype", ["bool", "uint16", "uint32", "uint64"])
def test_numbers_that_are_not_padded(dtype: str) -> None:
    for torch in (ours, pytorch):
        x = torch.ones(1, 3, 4).to(getattr(torch, dtype))
        for name in ("reflection_pad1d", "replication_pad1d"):
            with pytest.raises(NotImplementedError, match=name):
                getattr(torch.ops.aten, name)(x, [1, 1])


def test_conjugates_and_empty_batches_are_padded() -> None:
    def call(torch: Any) -> Any:
        z = torch.from_numpy((np.arange(12.0) * (1 + 2j)).reshape(1, 1, 3, 4)).conj()
        nothing = torch.ops.aten.reflection_pad2d(torch.ones(0, 2, 3, 4), [1, 1, 1, 1])
        pad = torch.ops.aten.reflection_pad2d
        padded = pad(z, [1, 1, 1, 1])
        back = torch.ops.aten.reflection_pad2d_backward(padded.conj(), z, [1, 1, 1, 1])
        return padded.resolve_conj(), pad(z.imag, [1, 1, 1, 1]), back.resolve_conj(), nothing

    _agree(call, 0)


# ---------------------------------------------------------------- the nearest elements
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "uint8"])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_nearest_elements_and_back(mode: str, dtype: str) -> None:
    rng = np.random.default_rng(9)
    for turn in range(40):
        dims = turn % 3 + 1
        shape = tuple(int(n) for n in rng.integers(1, 12, dims + 2))
        how = (
            {"scale_factor": float(rng.choice([2, 0.5, 1.7]))}
            if turn % 2
            else {"size": rng.integers(1, 25, dims).tolist()}
        )
        if "scale_factor" in how and int(min(shape[2:]) * how["scale_factor"]) < 1:
            continue
        made = _laid_out(rng.integers(0, 9, shape).astype("f8"), int(rng.integers(3)))

        def call(torch: Any, made: Any = made, how: Any = how) -> Any:
            x = made(torch).to(getattr(torch, dtype))
            if dtype == "uint8":
                return (torch.nn.functional.interpolate(x, mode=mode, **how),)
            x.requires_grad_()
            found = torch.nn.functional.interpolate(x, mode=mode, **how)
            found.backward(found.detach())
            return found, x.grad

        _agree(call, 0)
