"""Losses, sums of exponentials, windows, groups and complex numbers, each in a loop of its own: as PyTorch has them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch as pytorch

import mindtorch_v2 as ours

pytestmark = pytest.mark.filterwarnings("ignore")  # of sizes that differ, of what vmap loops over, of NaN

INFINITY, NAN = float("inf"), float("nan")
ODD = (0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN, 3e38, -3e38, 1e-42)
NEAR = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 2e-6, "float64": 1e-12, "complex64": 2e-6, "complex128": 1e-12}


def _numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.asarray(np.random.default_rng(seed).standard_normal(shape) * 2)


def _tensor(torch: Any, array: np.ndarray, dtype: str, grad: bool = False) -> Any:
    made: Any = torch.from_numpy(array.copy()).to(getattr(torch, dtype))
    return made.requires_grad_() if grad else made


def _array(tensor: Any) -> np.ndarray:
    found = tensor.detach().resolve_conj() if tensor.is_complex() else tensor.detach()
    exact = found.float() if str(found.dtype).endswith("bfloat16") else found
    return np.asarray(exact.numpy())


def _agree(call: Any, dtype: str = "float32", near: float | None = None) -> None:
    theirs, mine = call(pytorch), call(ours)
    for expected, found in zip(theirs, mine, strict=True):
        assert str(found.dtype).split(".")[-1] == str(expected.dtype).split(".")[-1]
        assert tuple(found.shape) == tuple(expected.shape)
        tolerance = NEAR[dtype] if near is None else near
        np.testing.assert_allclose(_array(found), _array(expected), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("loss", ["huber_loss", "smooth_l1_loss"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("bound", [1.0, 0.7, 0.0])
def test_losses_and_both_their_gradients(loss: str, dtype: str, bound: float) -> None:
    if loss == "huber_loss" and bound == 0:
        bound = 1e30
    shapes = (((3, 700), (3, 700)), ((4, 5), (5,)), ((), (3,)), ((0, 3), (1, 3)))
    for (left, right), reduction in itertools.product(shapes, ("none", "mean", "sum")):

        def call(
            torch: Any, left: tuple[int, ...] = left, right: tuple[int, ...] = right, reduction: str = reduction
        ) -> list[Any]:
            a, b = (_tensor(torch, _numbers(*s, seed=i), dtype, True) for i, s in enumerate((left, right)))
            function = getattr(torch.nn.functional, loss)
            found = function(a, b, reduction=reduction, **{"delta" if loss == "huber_loss" else "beta": bound})
            return [found, *torch.autograd.grad(found.sum(), (a, b))]

        _agree(call, dtype)


@pytest.mark.parametrize("loss", ["huber_loss", "smooth_l1_loss"])
def test_losses_twice_differentiated_in_forward_mode_and_over_samples(loss: str) -> None:
    def twice(torch: Any) -> list[Any]:
        a, b = (_tensor(torch, _numbers(30, seed=i), "float64", True) for i in range(2))
        found = getattr(torch.nn.functional, loss)(a, b, reduction="sum")
        first = torch.autograd.grad(found, (a, b), create_graph=True)
        return list(torch.autograd.grad((first[0] * a).sum() + first[1].square().sum(), (a, b)))

    def forward(torch: Any) -> list[Any]:
        a, b = (_tensor(torch, _numbers(30, seed=i), "float64") for i in range(2))
        return list(torch.func.jvp(lambda x, y: getattr(torch.nn.functional, loss)(x, y), (a, b), (b, a)))

    def samples(torch: Any) -> list[Any]:
        a, b = (_tensor(torch, _numbers(4, 30, seed=i), "float64") for i in range(2))
        return [torch.func.vmap(getattr(torch.nn.functional, loss))(a, b)]

    for call in (twice, forward, samples):
        _agree(call, "float64")


def test_losses_of_what_is_no_number_and_of_layouts() -> None:
    pairs = np.array(list(itertools.product(ODD, ODD))).T
    for loss, dtype in itertools.product(("huber_loss", "smooth_l1_loss"), ("float32", "float64")):

        def call(torch: Any, loss: str = loss, dtype: str = dtype) -> list[Any]:
            a, b = _tensor(torch, pairs, dtype)
            wide = _tensor(torch, _numbers(40, 60), dtype)
            function = getattr(torch.nn.functional, loss)
            return [function(a, b, reduction="none"), function(wide.t()[::2], wide.t()[::2] * 2)]

        _agree(call, dtype)


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_sums_of_exponentials(name: str, dtype: str) -> None:
    def call(torch: Any) -> list[Any]:
        a, b = (_tensor(torch, _numbers(1000, seed=i) * 30, dtype) for i in range(2))
        pairs = [_tensor(torch, np.array(p), dtype) for p in zip(*itertools.product(ODD, ODD), strict=True)]
        return [getattr(torch, name)(*two) for two in ((a, b), (a, a), (a[:, None], b[:7]), pairs)]

    _agree(call, dtype)


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int64", "uint8", "bool"]
)
def test_what_is_no_number_is_replaced(dtype: str) -> None:
    given: tuple[dict[str, float], ...] = (
        {},
        {"nan": 2.5},
        {"posinf": 7.0, "neginf": NAN},
        {"nan": INFINITY, "posinf": -1.0},
    )

    def call(torch: Any) -> list[Any]:
        values = np.array(ODD * 20) if "int" not in dtype and dtype != "bool" else np.arange(200) % 3
        if dtype.startswith("complex"):
            values = values + np.roll(values, 3) * 1j
        x = _tensor(torch, values.reshape(20, 10), dtype)
        found = [torch.nan_to_num(t, **each) for each in given for t in (x, x.t(), x[:, ::3], x[:0])]
        return [*found, x.clone().nan_to_num_(), torch.nan_to_num(x, out=torch.empty_like(x))]

    _agree(call, near=0.0)


WINDOWS = [
    dict(zip(("kernel_size", "stride", "padding", "dilation", "ceil_mode"), each, strict=True))
    for each in ((2, 2, 0, 1, False), (3, 2, 1, 1, True), (3, 1, 1, 1, False), (4, 3, 2, 2, True), (1, 5, 0, 1, False))
]


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float64"])
def test_the_largest_of_windows_and_where_they_are(dims: int, dtype: str) -> None:
    shape = {1: (2, 3, 301), 2: (2, 9, 150), 3: (1, 2, 9, 11, 75)}[dims]
    values = np.round(_numbers(*shape))  # of which many are alike
    values.flat[::53], values.flat[7::91] = NAN, -INFINITY
    for window in WINDOWS:

        def call(torch: Any, window: dict[str, Any] = window) -> list[Any]:
            pool = getattr(torch.nn.functional, f"max_pool{dims}d")
            x = _tensor(torch, values, dtype, True)
            found, places = pool(x, **window, return_indices=True)
            (gradient,) = torch.autograd.grad(found.nan_to_num(0, 0, 0).sum(), x)
            return [
                found,
                places,
                gradient,
                pool(x.detach(), **window),
                pool(x.detach().transpose(*(0, 1) if dims == 1 else (-2, -1)), **window),
            ]

        _agree(call, near=0.0)


def test_the_largest_of_lines_has_a_gradient_in_forward_mode_and_over_samples() -> None:
    def call(torch: Any) -> list[Any]:
        x = _tensor(torch, _numbers(4, 3, 50), "float64")
        pool = lambda t: torch.nn.functional.max_pool1d(t, 3, 2, 1)  # noqa: E731
        return [
            *torch.func.jvp(pool, (x,), (x.sin(),)),
            torch.func.vmap(pool)(x),
            torch.func.grad(lambda t: pool(t).sum())(x),
        ]

    _agree(call, "float64")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_normalization_by_groups(dtype: str) -> None:
    for shape, groups in (((4, 6, 5, 7), 3), ((2, 4, 33), 1), ((3, 4), 4), ((2, 6, 0), 3), ((1, 2, 1000), 2)):

        def call(torch: Any, shape: tuple[int, ...] = shape, groups: int = groups) -> list[Any]:
            x = _tensor(torch, _numbers(*shape) * 3 + 100, dtype, True)
            w, b = (_tensor(torch, _numbers(shape[1], seed=i), dtype, True) for i in (1, 2))
            found = torch.nn.functional.group_norm(x, groups, w, b, 1e-3)
            n, c = shape[:2]
            area = int(np.prod(shape[2:]))
            if not area:
                return [found]
            every = torch.native_group_norm(x.detach(), None, None, n, c, area, groups, 1e-3)
            return [found, *every, *torch.autograd.grad((found * found.detach().sin()).sum(), (x, w, b))]

        _agree(call, dtype, near={"float16": 2e-2, "float32": 1e-3, "float64": 1e-9}[dtype])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_are_multiplied_turned_and_added_up(dtype: str) -> None:
    def call(torch: Any) -> list[Any]:
        a, b = (_tensor(torch, _numbers(37, 70, seed=i) + 1j * _numbers(37, 70, seed=i + 2), dtype) for i in range(2))
        odd = np.array([complex(*p) for p in itertools.product(ODD[:7], ODD[:7])])
        first, second = (_tensor(torch, m.reshape(-1), dtype) for m in np.meshgrid(odd, odd))
        found = [a * b, a.t() * b.t(), a[:, ::3] * 2.5, a * b[0], a.clone().mul_(b), torch.angle(a), torch.angle(first)]
        sums = [
            a.sum(),
            a.sum(0),
            a.sum(1, keepdim=True),
            a.t().sum(1),
            a[::2, ::3].sum(1),
            a[:0].sum(0),
            a.mean(1),
            a.mean(),
        ]
        whole = first * second  # vectors of eight: what is left over PyTorch may round otherwise
        return [*found, *sums, whole[: whole.numel() // 16 * 16]]

    _agree(call, dtype, near={"complex64": 1e-5, "complex128": 1e-12}[dtype])
