"""Convolution, pooling, padding, resampling and sampling beside PyTorch's, where its OpInfo database does not look."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from tests.ops.both import agree, raised

rng = np.random.default_rng(5)
IMAGES = {dims: rng.standard_normal((2, 3, *[7] * dims)) for dims in (1, 2, 3)}


def f(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape)


def second(torch: Any, result: Any, given: list[Any]) -> list[Any]:
    """The result, its gradients by a fixed start, and the gradients of the sum of their squares."""
    start = torch.cos(torch.arange(result.numel(), dtype=result.dtype)).reshape(result.shape).requires_grad_()
    first = torch.autograd.grad(result, given, start, create_graph=True)
    total = sum((g * g).sum() for g in first)
    again = torch.autograd.grad(total, [*given, start], allow_unused=True)
    second_order = [torch.zeros_like(t) if g is None else g for g, t in zip(again, [*given, start], strict=True)]
    return [t.detach() for t in (result, *first, *second_order)]  # there is nothing left to go back through


# ---------------------------------------------------------------- convolution
CONVOLUTIONS: dict[str, tuple[str, tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "groups": ("conv2d", (2, 4, 7, 6), (6, 2, 3, 2), {"stride": 2, "padding": 1, "groups": 2}),
    "each channel alone": ("conv2d", (2, 4, 7, 6), (4, 1, 3, 3), {"padding": 1, "groups": 4}),
    "each channel alone, strides": ("conv2d", (2, 4, 9, 20), (8, 1, 3, 3), {"stride": (1, 2), "groups": 4}),
    "one pixel": ("conv2d", (2, 4, 7, 6), (5, 4, 1, 1), {}),
    "the same size": ("conv2d", (2, 4, 7, 6), (5, 4, 3, 2), {"padding": "same", "dilation": (1, 3)}),
    "wide padding": ("conv1d", (2, 3, 4), (5, 3, 2), {"padding": 6, "stride": 3}),
    "no batch": ("conv1d", (3, 9), (5, 3, 2), {"padding": "valid"}),
    "volumes": ("conv3d", (2, 4, 4, 7, 6), (4, 2, 3, 2, 2), {"groups": 2, "dilation": (1, 2, 1)}),
    "transposed": (
        "conv_transpose2d",
        (2, 4, 5, 6),
        (4, 3, 3, 2),
        {"stride": 3, "output_padding": (2, 1), "groups": 2},
    ),
    "transposed, no batch": ("conv_transpose1d", (4, 7), (4, 3, 3), {"padding": 1, "dilation": 2}),
    "transposed volumes": ("conv_transpose3d", (1, 2, 3, 4, 3), (2, 3, 2, 2, 2), {"stride": (1, 2, 2)}),
    "large": ("conv2d", (1, 40, 30, 31), (24, 40, 3, 3), {"padding": 1}),
}


@pytest.mark.filterwarnings("ignore:Using padding='same'")
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_and_their_gradients(name: str) -> None:
    function, image, filters, kwargs = CONVOLUTIONS[name]
    count = filters[1] * kwargs.get("groups", 1) if "transpose" in function else filters[0]

    def case(torch: Any, x: Any, w: Any, b: Any) -> Any:
        return second(torch, getattr(torch.nn.functional, function)(x, w, b, **kwargs), [x, w, b])

    agree(case, {"x": f(*image), "w": f(*filters), "b": f(count)}, tolerance=1e-8)


def test_convolution_over_time() -> None:
    def case(torch: Any, x: Any, w: Any, b: Any) -> Any:
        return second(torch, torch.conv_tbc(x, w, b, 1), [x, w, b])

    agree(case, {"x": f(5, 2, 3), "w": f(3, 3, 4), "b": f(4)}, tolerance=1e-8)


def test_convolutions_of_nothing_and_of_views() -> None:
    def case(torch: Any, x: Any, w: Any) -> Any:
        return torch.conv2d(x[:0], w), torch.conv2d(x.transpose(2, 3), w), torch.conv2d(x[..., ::2], w.flip(3))

    agree(case, {"x": f(2, 3, 8, 9), "w": f(4, 3, 2, 2)})


# ---------------------------------------------------------------- pooling
POOLS: dict[str, Callable[..., Any]] = {
    "max": lambda nn, d, x: getattr(nn, f"max_pool{d}d")(x, 3, 2, 1),
    "max, dilated, to the ceiling": lambda nn, d, x: getattr(nn, f"max_pool{d}d")(x, 2, 2, 1, 2, True),
    "means": lambda nn, d, x: getattr(nn, f"avg_pool{d}d")(x, 3, 2, 1),
    "means without padding": lambda nn, d, x: getattr(nn, f"avg_pool{d}d")(x, 3, 2, 1, True, False),
    "norms": lambda nn, d, x: getattr(nn, f"lp_pool{d}d")(x, 2.0, 3, 2),
    "adaptive max": lambda nn, d, x: getattr(nn, f"adaptive_max_pool{d}d")(x, 3),
    "adaptive means": lambda nn, d, x: getattr(nn, f"adaptive_avg_pool{d}d")(x, 3),
    "adaptive means of more": lambda nn, d, x: getattr(nn, f"adaptive_avg_pool{d}d")(x, 9),
}


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("name", POOLS)
def test_pools_and_their_gradients(name: str, dims: int) -> None:
    def case(torch: Any, x: Any) -> Any:
        return second(torch, POOLS[name](torch.nn.functional, dims, x), [x])

    agree(case, {"x": IMAGES[dims]}, tolerance=1e-8)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_where_the_largest_are_and_back(dims: int) -> None:
    def case(torch: Any, x: Any) -> Any:
        functional = torch.nn.functional
        found, places = getattr(functional, f"max_pool{dims}d")(x, 2, return_indices=True)
        wide = getattr(functional, f"max_unpool{dims}d")(found, places, 2, output_size=[7] * dims)
        return found, places, wide, *getattr(functional, f"adaptive_max_pool{dims}d")(x, 2, return_indices=True)

    agree(case, {"x": IMAGES[dims]}, tolerance=1e-8)


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("size", [{"output_size": 3}, {"output_size": 1}, {"output_ratio": (0.5, 0.5, 0.7)}])
def test_windows_by_the_same_chance(dims: int, size: dict[str, Any]) -> None:
    size = {name: value[:dims] if isinstance(value, tuple) else value for name, value in size.items()}

    def case(torch: Any, x: Any, samples: Any) -> Any:
        function = getattr(torch.nn.functional, f"fractional_max_pool{dims}d")
        return function(x, 2, _random_samples=samples.detach(), return_indices=True, **size)

    agree(case, {"x": IMAGES[dims], "samples": rng.random((2, 3, dims))})


def test_nan_is_the_largest() -> None:
    def case(torch: Any, x: Any) -> Any:
        return torch.nn.functional.max_pool2d(x, 2, return_indices=True)

    x = f(1, 1, 4, 4)
    x[0, 0, 1, 0] = x[0, 0, 2, 3] = x[0, 0, 3, 2] = np.nan
    agree(case, {"x": x}, grad=False)


def test_the_gradient_operator_of_max_pool2d() -> None:
    def case(torch: Any, x: Any) -> Any:
        found, places = torch.nn.functional.max_pool2d(x, 3, 2, return_indices=True)
        call = torch.ops.aten.max_pool2d_with_indices_backward
        return call(found.detach(), x, [3, 3], [2, 2], [0, 0], [1, 1], False, places)

    agree(case, {"x": IMAGES[2]}, grad=False)


@pytest.mark.parametrize("name", ["max_pool2d_with_indices", "adaptive_max_pool2d"])
def test_pools_into_tensors(name: str) -> None:
    def case(torch: Any, x: Any) -> Any:
        out, places = torch.empty(0, dtype=x.dtype), torch.empty(0, dtype=torch.int64)
        found = getattr(torch.ops.aten, name).out(x, [2, 2], out=out, indices=places)
        return found[0] is out, found[1] is places, out, places

    agree(case, {"x": IMAGES[2]}, grad=False)


# ---------------------------------------------------------------- padding and patches
@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("pair", [(2, 1), (-2, 1), (0, 3), (-1, -2)])
def test_padding_and_its_gradients(mode: str, dims: int, pair: tuple[int, int]) -> None:
    def case(torch: Any, x: Any) -> Any:
        return second(torch, torch.nn.functional.pad(x, pair * dims, mode), [x])

    agree(case, {"x": IMAGES[dims]}, tolerance=1e-8)


def test_patches_and_back() -> None:
    def case(torch: Any, x: Any, columns: Any) -> Any:
        functional = torch.nn.functional
        there = functional.unfold(x, (2, 3), padding=1, stride=2, dilation=(1, 2))
        back = functional.fold(columns, (7, 5), 2, stride=2, padding=1)
        return *second(torch, there, [x]), *second(torch, back, [columns])

    agree(case, {"x": IMAGES[2], "columns": f(2, 12, 12)}, tolerance=1e-8)


def test_channels_for_pixels() -> None:
    def case(torch: Any, x: Any) -> Any:
        functional = torch.nn.functional
        shuffled = functional.pixel_shuffle(x, 2)
        back = functional.pixel_unshuffle(shuffled, 2)
        return *second(torch, shuffled, [x]), back, *second(torch, functional.channel_shuffle(x, 4), [x])

    agree(case, {"x": f(2, 8, 3, 4)}, tolerance=1e-8)


# ---------------------------------------------------------------- resampling
MODES = {
    1: ["nearest", "nearest-exact", "area", "linear"],
    2: ["nearest", "nearest-exact", "area", "bilinear", "bicubic"],
    3: ["nearest", "nearest-exact", "area", "trilinear"],
}
SIZES: list[dict[str, Any]] = [
    {"size": 5},
    {"size": 14},
    {"scale_factor": 1.7},
    {"scale_factor": 2.3, "recompute_scale_factor": True},
    {"scale_factor": 0.4},
    {"size": 11, "align_corners": True},
    {"size": 1, "align_corners": True},
]


RESIZED = [
    (dims, mode, how)
    for dims, modes in MODES.items()
    for mode in modes
    for how in SIZES
    if "align_corners" not in how or mode not in ("nearest", "nearest-exact", "area")
]


@pytest.mark.parametrize(("dims", "mode", "how"), RESIZED, ids=str)
def test_other_sizes(dims: int, mode: str, how: dict[str, Any]) -> None:
    def case(torch: Any, x: Any) -> Any:
        return second(torch, torch.nn.functional.interpolate(x, mode=mode, **how), [x])

    agree(case, {"x": IMAGES[dims]}, tolerance=1e-7)


@pytest.mark.parametrize("how", [{"size": (4, 5)}, {"scale_factor": 1.5}, {"size": 3, "align_corners": True}], ids=str)
@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
def test_filters_against_aliases(mode: str, how: dict[str, Any]) -> None:
    def case(torch: Any, x: Any) -> Any:
        return second(torch, torch.nn.functional.interpolate(x, mode=mode, antialias=True, **how), [x])

    if mode == "lanczos" and "align_corners" in how:
        mine, theirs = raised(lambda torch: case(torch, torch.ones(1, 1, 5, 5, requires_grad=True)))
        assert type(mine) is type(theirs)
    else:
        agree(case, {"x": IMAGES[2]}, tolerance=1e-7)


# ---------------------------------------------------------------- grids
@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize(
    ("dims", "mode"), [(2, "bilinear"), (2, "nearest"), (2, "bicubic"), (3, "bilinear"), (3, "nearest")]
)
def test_grids_and_their_gradients(dims: int, mode: str, padding: str, align: bool) -> None:
    def case(torch: Any, x: Any, grid: Any) -> Any:
        return second(torch, torch.nn.functional.grid_sample(x, grid, mode, padding, align), [x, grid])

    shape = (2, *(4, 5, 3)[:dims], dims)
    agree(case, {"x": IMAGES[dims], "grid": f(*shape)}, tolerance=1e-7)


@pytest.mark.filterwarnings("ignore:Since version 1.3.0, affine_grid behavior has changed for unit-size")
@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 3, 1, 1), (2, 3, 4, 5, 6)])
def test_grids_of_affine_maps(size: tuple[int, ...], align: bool) -> None:
    dims = len(size) - 2

    def case(torch: Any, theta: Any) -> Any:
        return second(torch, torch.nn.functional.affine_grid(theta, size, align), [theta])

    agree(case, {"theta": f(2, dims, dims + 1)}, tolerance=1e-7)


# ---------------------------------------------------------------- what is refused
REFUSED: dict[str, Callable[[Any], Any]] = {
    "a size and a factor": lambda t: t.nn.functional.interpolate(t.ones(1, 1, 4, 4), 3, 2),
    "no size": lambda t: t.nn.functional.interpolate(t.ones(1, 1, 4, 4)),
    "a size that is no integer": lambda t: t.nn.functional.interpolate(t.ones(1, 1, 4), (4.0,)),
    "a tensor that is no integer": lambda t: t.nn.functional.interpolate(t.ones(1, 1, 4), (t.tensor(4.0),)),
    "a mode of lines": lambda t: t.nn.functional.interpolate(t.ones(1, 1, 4, 4), 3, mode="linear"),
    "corners of the nearest": lambda t: t.nn.functional.interpolate(t.ones(1, 1, 4, 4), 3, align_corners=True),
    "three sizes": lambda t: t.nn.functional.interpolate(t.ones(1, 1, 4, 4), (1, 2, 3)),
    "a size of 0": lambda t: t.nn.functional.interpolate(t.ones(1, 1, 4, 4), 0),
    "a pair and a half": lambda t: t.nn.functional.pad(t.ones(1, 1, 4, 4), [1, 1, 1]),
    "more than is reflected": lambda t: t.nn.functional.pad(t.ones(1, 1, 4, 4), [4, 1, 1, 1], "reflect"),
    "twice around": lambda t: t.nn.functional.pad(t.ones(1, 1, 4, 4), [5, 5, 1, 1], "circular"),
    "an unknown padding": lambda t: t.nn.functional.pad(t.ones(1, 1, 4, 4), [1, 1, 1, 1], "mirror"),
    "windows of padding": lambda t: t.nn.functional.max_pool2d(t.ones(1, 1, 4, 4), 2, padding=2),
    "windows too large": lambda t: t.nn.functional.avg_pool2d(t.ones(1, 1, 4, 4), 20),
    "an index out of the image": lambda t: t.nn.functional.max_unpool2d(t.ones(1, 1, 1, 1), t.full((1, 1, 1, 1), 9), 2),
    "other channels": lambda t: t.conv2d(t.ones(1, 3, 4, 4), t.ones(2, 4, 2, 2)),
    "another bias": lambda t: t.conv2d(t.ones(1, 3, 4, 4), t.ones(2, 3, 2, 2), t.ones(3)),
    "filters too large": lambda t: t.conv2d(t.ones(1, 3, 4, 4), t.ones(2, 3, 5, 2)),
    "the same size by strides": lambda t: t.conv2d(t.ones(1, 3, 4, 4), t.ones(2, 3, 2, 2), stride=2, padding="same"),
    "much more output": lambda t: t.conv_transpose2d(t.ones(1, 3, 4, 4), t.ones(3, 3, 2, 2), output_padding=1),
    "channels that are no square": lambda t: t.pixel_shuffle(t.ones(1, 3, 4, 4), 2),
    "columns that are no patches": lambda t: t.nn.functional.fold(t.ones(1, 11, 12), (7, 5), 2),
    "a grid of another batch": lambda t: t.nn.functional.grid_sample(t.ones(1, 3, 4, 4), t.ones(2, 3, 3, 2)),
    "maps of other dimensions": lambda t: t.nn.functional.affine_grid(t.ones(1, 2, 4), (1, 1, 4, 4)),
}


@pytest.mark.filterwarnings("ignore:Default grid_sample")
@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_what_is_refused(call: Callable[[Any], Any]) -> None:
    mine, theirs = raised(call)
    assert isinstance(mine, type(theirs))
    assert str(mine)
