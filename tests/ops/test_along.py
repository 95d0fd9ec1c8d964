"""Softmax and class losses along any dimension, of sizes at which rows are computed side by side: as PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.needs import needed

needed("torch")

import torch as pytorch  # noqa: E402

import mindtorch_v2 as ours  # noqa: E402

TOLERANCE = {"float32": 1e-5, "float64": 1e-12, "bfloat16": 2e-2, "float16": 2e-3}
# Side by side where rows are apart, or short; with more lines than a buffer holds; a row at a time; of nothing.
ALONG = [
    ((3, 2, 40, 9), 1), ((2, 21, 17), 1), ((200, 33), 0), ((600, 5), 1), ((4, 300), 0), ((2, 70, 300), 1),
    ((70, 19), 1), ((5, 1, 64), 1), ((33, 40), 1), ((7, 3, 5), 1), ((1,), 0), ((), 0), ((0, 4, 30), 1),
]  # fmt: skip
FUNCTIONS = ("softmax", "log_softmax")


def numbers(shape: tuple[int, ...], seed: int) -> Any:
    values = np.random.default_rng(seed).standard_normal(shape) * 4
    if values.size > 40:
        values.reshape(-1)[[3, 17]] = -np.inf
        values.reshape(-1)[31] = np.nan
    return values


def made(torch: Any, values: Any, dtype: str, order: str) -> Any:
    """A tensor in rows, with its dimensions in reverse order in memory, or with gaps."""
    tensor = torch.tensor(values).to(getattr(torch, dtype))
    if order == "reverse":
        turned = tuple(range(tensor.dim()))[::-1]
        return tensor.permute(turned).contiguous().permute(turned)
    return torch.stack([tensor, tensor], -1)[..., 0] if order == "gaps" else tensor


def array(tensor: Any) -> Any:
    return tensor.detach().double().numpy()


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("order", ["rows", "reverse", "gaps"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_softmax(name: str, order: str, dtype: str) -> None:
    for shape, dim in ALONG:
        found = []
        for torch in (ours, pytorch):
            x = made(torch, numbers(shape, 1), dtype, order).requires_grad_()
            y = getattr(torch.nn.functional, name)(x, dim)
            (slope,) = torch.autograd.grad(
                y, x, made(torch, np.random.default_rng(2).standard_normal(shape), dtype, order)
            )
            found.append((array(y), array(slope)))
        for mine, theirs in zip(*found, strict=True):
            np.testing.assert_allclose(
                mine, theirs, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype], err_msg=str((shape, dim))
            )


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize(
    "shape", [(6, 3), (300, 150), (2, 3, 40), (3, 5, 90, 80), (2, 3, 4, 5, 2), (2, 7, 1, 1), (0, 3, 4, 4)]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_of_classes(shape: tuple[int, ...], reduction: str, weighted: bool, dtype: str) -> None:
    random = np.random.default_rng(3)
    scores, labels = random.standard_normal(shape), random.integers(0, shape[1], (shape[0], *shape[2:]))
    weights = random.random(shape[1]) + 0.5
    for ignored in (-100, 1):
        for order in ("rows", "reverse"):
            found = []
            for torch in (ours, pytorch):
                # PyTorch adds up in the dtype itself, and its own sums of many halves are far from theirs
                own = dtype if torch is ours or dtype == "float64" else "float32"
                # PyTorch's gradient of images that are not in rows is refused by PyTorch
                x = (
                    made(torch, scores, dtype, order if torch is ours else "rows")
                    .to(getattr(torch, own))
                    .requires_grad_()
                )
                target = torch.tensor(labels)
                weight = made(torch, weights, dtype, "rows").to(getattr(torch, own)) if weighted else None
                loss = torch.nn.functional.nll_loss(x, target, weight, ignore_index=ignored, reduction=reduction)
                (slope,) = torch.autograd.grad(loss.sum(), x)
                found.append((array(loss), array(slope)))
            for mine, theirs in zip(*found, strict=True):
                np.testing.assert_allclose(mine, theirs, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def test_losses_do_not_depend_on_threads() -> None:
    x = made(ours, np.random.default_rng(4).standard_normal((3, 5, 90, 80)), "float32", "rows")
    target = ours.tensor(np.random.default_rng(5).integers(0, 5, (3, 90, 80)))
    before, found = ours.get_num_threads(), []
    for threads in (1, 2, 3):
        ours.set_num_threads(threads)
        found.append(ours.nn.functional.cross_entropy(x, target).item())
    ours.set_num_threads(before)
    assert len(set(found)) == 1


def test_what_losses_of_images_refuse() -> None:
    x, target = np.zeros((2, 3, 4, 5)), np.zeros((2, 4, 5), np.int64)
    calls = {
        "a label": lambda t, f: f(t.tensor(x), t.tensor(target + 3)),
        "int32": lambda t, f: f(t.tensor(x), t.tensor(target.astype("int32"))),
        "bytes": lambda t, f: f(t.tensor(x), t.tensor(target.astype("uint8"))),
        "weights": lambda t, f: f(t.tensor(x), t.tensor(target), t.ones(2, dtype=t.float64)),
        "a weight's dtype": lambda t, f: f(t.tensor(x), t.tensor(target), t.ones(3)),
        "three dimensions": lambda t, f: f(t.tensor(x[0]), t.tensor(target)),
        "two dimensions": lambda t, f: f(t.tensor(x), t.tensor(target[0])),
        "sizes": lambda t, f: f(t.tensor(x), t.tensor(target[:, :2])),
        "integers": lambda t, f: f(t.tensor(x).long(), t.tensor(target)),
    }
    for name, call in calls.items():
        said = []
        for torch in (ours, pytorch):
            with pytest.raises((RuntimeError, IndexError, NotImplementedError)) as raised:
                call(torch, torch.ops.aten.nll_loss2d)
            said.append(raised.type)
        assert issubclass(*said), (name, said)
