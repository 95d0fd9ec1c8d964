"""Batch norm in both layouts of memory, of sizes that kernels cut up: values, statistics and gradients as PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.needs import needed

needed("torch")

import torch as pytorch  # noqa: E402

import mindtorch_v2 as ours  # noqa: E402

TOLERANCE = {"float32": 2e-5, "float64": 1e-11, "bfloat16": 3e-2, "float16": 4e-3}
# Planes longer than a block, channels more than one, pieces of rows, planes of one element, one channel, 3 dimensions.
SHAPES = [
    (2, 3, 40, 50),
    (3, 1100, 2, 3),
    (5, 64, 20, 21),
    (70, 9, 1, 1),
    (4, 1, 7, 5),
    (2, 5, 3, 4, 6),
    (9, 300),
    (2, 4, 6),
]


def made(torch: Any, values: Any, dtype: Any, order: str) -> Any:
    tensor = torch.tensor(values).to(dtype)
    if order == "last" and tensor.dim() in (4, 5):
        return tensor.contiguous(memory_format=torch.channels_last if tensor.dim() == 4 else torch.channels_last_3d)
    return torch.stack([tensor, tensor], -1)[..., 0] if order == "gaps" else tensor


def run(torch: Any, shape: tuple[int, ...], dtype: str, order: str, training: bool, parameters: str) -> list[Any]:
    random = np.random.default_rng(7)
    kind, own = getattr(torch, dtype), getattr(torch, parameters)
    x = made(torch, random.standard_normal(shape) * 3 + 5, kind, order).requires_grad_()
    weight, bias = (torch.tensor(random.random(shape[1]) + 0.5).to(own).requires_grad_() for _ in range(2))
    mean, var = (torch.tensor(random.random(shape[1]) + 4).to(own) for _ in range(2))
    out = torch.nn.functional.batch_norm(x, mean, var, weight, bias, training, 0.3, 1e-3)
    slopes = torch.autograd.grad(out, [x, weight, bias], made(torch, random.standard_normal(shape), kind, order))
    assert order == "gaps" or out.stride() == x.stride() == slopes[0].stride()
    return [t.detach().double().numpy() for t in (out, *slopes, mean, var)]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("order", ["rows", "last", "gaps"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("dtype", "parameters"),
    [("float32", "float32"), ("float64", "float64"), ("bfloat16", "float32"), ("float16", "float16")],
)
def test_as_pytorch(shape: tuple[int, ...], order: str, training: bool, dtype: str, parameters: str) -> None:
    mine = run(ours, shape, dtype, order, training, parameters)
    theirs = run(pytorch, shape, dtype, order, training, parameters)
    # A weight's gradient is a sum over all samples.
    for a, b, size in zip(mine, theirs, (1, 1, 30, 30, 1, 1), strict=True):
        tolerance = TOLERANCE[dtype] * (3 if parameters == "float16" else 1)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * size)


@pytest.mark.parametrize("order", ["rows", "last"])
def test_statistics_far_from_zero(order: str) -> None:
    values = np.random.default_rng(8).standard_normal((4, 6, 30, 30))
    values += np.array([0, 1e3, 1e5, -1e4, 0, 0]).reshape(1, -1, 1, 1)
    values[0, 4, 0, 0] = 1e6  # among small numbers
    values[:, 5] = 0.1  # does not vary
    x = made(ours, values, ours.float32, order)
    mean, var = ours.batch_norm_update_stats(x, None, None, 0.1)
    exact = np.asarray(x.double().numpy())
    np.testing.assert_allclose(mean.numpy(), exact.mean((0, 2, 3)), rtol=1e-6)
    np.testing.assert_allclose(var.numpy(), exact.var((0, 2, 3)), rtol=1e-5, atol=1e-12)
    out, _, root = ours.native_batch_norm(x, None, None, None, None, True, 0.1, 0.0)
    assert root[5].item() == 0
    assert not out[:, 5].any()


@pytest.mark.parametrize("order", ["rows", "last"])
def test_infinities_and_nan_stay_in_their_channel(order: str) -> None:
    values = np.random.default_rng(9).standard_normal((2, 4, 5, 6))
    values[0, 0, 0, 0], values[1, 1, 2, 3], values[0, 2, 4, 5] = np.inf, np.nan, -np.inf
    found = [
        torch.native_batch_norm(made(torch, values, torch.float32, order), None, None, None, None, True, 0.1, 1e-5)
        for torch in (ours, pytorch)
    ]
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("order", ["rows", "last"])
def test_threads_do_not_change_bits(order: str) -> None:
    before, found = ours.get_num_threads(), []
    for threads in (1, 2, 3):
        ours.set_num_threads(threads)
        found.append(run(ours, (5, 64, 20, 21), "float32", order, True, "float32"))
    ours.set_num_threads(before)
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)
