"""Operators that PyTorch has beside its public functions."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

import mindtorch_v2

# (B, H, L, L), and what masks of other shapes their types allow.
MASKS: dict[str, tuple[Any, int | None]] = {
    "of the keys": ([[True, False], [False, False]], 1),
    "of queries and keys": ([[True, False], [False, False]], 0),
    "whole": ([[[[True, False], [False, False]]] * 2] * 2, 2),
    "no type": ([[[[True, False], [False, True]]] * 2] * 2, None),
    "too small": ([True, False], 1),
    "another type": ([[True, False], [False, False]], 2),
    "no booleans": ([[1, 0], [0, 0]], 1),
}


def _both(call: Any) -> None:
    """Runs it in both: the same values and dtype, or errors of the same class."""
    found = []
    for t in (torch, mindtorch_v2):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = call(t)
        except (RuntimeError, IndexError) as error:
            found.append(type(error).__name__)
        else:
            found.append([(str(one.dtype), torch.tensor(one.tolist())) for one in result])
    expected, here = found
    if isinstance(expected, str):
        assert here == expected
        return
    assert [dtype for dtype, _ in here] == [dtype for dtype, _ in expected]
    for (_, one), (_, other) in zip(here, expected, strict=True):
        torch.testing.assert_close(one, other, equal_nan=True)


@pytest.mark.parametrize("dim", [None, 3, 0, 4])
@pytest.mark.parametrize("name", MASKS)
def test_masked_softmax(name: str, dim: int | None) -> None:
    mask, kind = MASKS[name]

    def call(t: Any) -> Any:
        x = t.arange(16.0).view(2, 2, 2, 2).requires_grad_()
        result = t._masked_softmax(x, t.tensor(mask), dim, kind)
        if not isinstance(mask[0], bool) and not isinstance(mask[0][0], bool):  # PyTorch has no gradient of another
            result.backward(t.arange(16.0).view(2, 2, 2, 2).sin())
        return [one for one in (result, x.grad) if one is not None]

    _both(call)


@pytest.mark.parametrize("kind", ["int64", "float16"])
def test_masked_softmax_of_dtypes(kind: str) -> None:
    _both(lambda t: [t._masked_softmax(t.ones(2, 2, dtype=getattr(t, kind)), t.eye(2).bool(), None, 2)])


@pytest.mark.parametrize("kind", ["float32", "int64"])
def test_add_relu(kind: str) -> None:
    def call(t: Any) -> Any:
        x = t.arange(-3, 3).to(getattr(t, kind))
        return (
            t._VF._add_relu(x, x + 1, alpha=2),
            t._add_relu(x, 1),
            t._add_relu(x, x, out=t.empty_like(x)),
            t.ops.aten._add_relu_.Tensor(x.clone(), x),
        )

    _both(call)


THNN: dict[str, dict[str, Any]] = {
    "whole": {"weight": (3, 2, 2, 2)},
    "flat": {"weight": (3, 8)},
    "with steps": {"weight": (3, 8), "stride": [2, 1], "padding": [0, 1]},
    "no kernel size": {"weight": (3, 8), "kernel_size": []},
    "no stride": {"weight": (3, 8), "stride": []},
    "no padding": {"weight": (3, 8), "padding": []},
    "of another size": {"weight": (3, 7)},
    "a vector": {"weight": (8,)},
    "empty": {"weight": (3, 0)},
}


@pytest.mark.parametrize("name", THNN)
def test_thnn_conv2d(name: str) -> None:
    given = {"kernel_size": [2, 2], **THNN[name]}
    shape = given.pop("weight")

    def call(t: Any) -> Any:
        weight = t.arange(float(torch.Size(shape).numel())).reshape(shape)
        return [t._C._nn.thnn_conv2d(t.arange(50.0).view(1, 2, 5, 5), weight, **given)]

    _both(call)


@pytest.mark.parametrize("shape", [(3, 2, 2, 2, 2), (3, 16), (3, 2, 2, 2)])
def test_slow_conv3d(shape: tuple[int, ...]) -> None:
    def call(t: Any) -> Any:
        weight = t.arange(float(torch.Size(shape).numel())).reshape(shape)
        return [t._C._nn.slow_conv3d(t.arange(54.0).view(1, 2, 3, 3, 3), weight, 2)]

    if shape != (3, 16):
        _both(call)
        return
    # PyTorch's refuses a flat weight, which its own check of the weight allows.
    whole = [
        mindtorch_v2._C._nn.slow_conv3d(
            mindtorch_v2.arange(54.0).view(1, 2, 3, 3, 3), mindtorch_v2.arange(48.0).view(3, 2, 2, 2, 2), 2
        )
    ]
    assert call(mindtorch_v2)[0].tolist() == whole[0].tolist()


@pytest.mark.parametrize("shape", [(1, 1, 1, 0), (1, 2, 3, 3)])
def test_convolutions_of_another_rank(shape: tuple[int, ...]) -> None:
    _both(lambda t: [t._C._nn.slow_conv3d(t.empty(shape), t.empty(1, 0, 1), 1)])
    _both(lambda t: [t._C._nn.thnn_conv2d(t.empty(shape[1:]), t.ones(1, 4), [2, 2])])


@pytest.mark.parametrize("input", [(1, 1, 2, 2), (1, 2, 2), (2, 1, 2, 2), (1, 1, 2, 2, 2), (1, 1, 0, 2)])
@pytest.mark.parametrize("grid", [(1, 1, 1, 2), (1, 1, 1, 3), (1, 1, 1, 1, 3), (1, 2), (1, 1, 1)])
def test_what_a_sampler_says_of_shapes(input: tuple[int, ...], grid: tuple[int, ...]) -> None:
    said = []
    for t in (torch, mindtorch_v2):
        try:
            t.grid_sampler(t.ones(input), t.zeros(grid), 0, 0, False)
        except RuntimeError as error:
            said.append(re.split("but (got|input)", str(error))[0])
        else:
            said.append("")
    assert said[0] == said[1]


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_a_sampler_under_its_inner_name(mode: str) -> None:
    def call(t: Any) -> Any:
        function = t.nn.functional
        x, grid = t.arange(32.0).view(1, 2, 4, 4), t.linspace(-1.2, 1.2, 18).view(1, 3, 3, 2)
        number = function.GRID_SAMPLE_INTERPOLATION_MODES[mode]
        return [t._grid_sampler_2d_cpu_fallback(x, grid, number, function.GRID_SAMPLE_PADDING_MODES["border"], False)]

    _both(call)
