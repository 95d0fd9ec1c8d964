"""Products of bfloat16 matrices: a result is the exact sum of products, rounded once, but for float32's own error."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch

SIZES = [
    (1, 300, 77),
    (77, 301, 1),
    (1, 5000, 1),
    (2, 33, 100),
    (5, 1, 1000),
    (12, 31, 32),
    (13, 64, 65),
    (31, 257, 33),
    (100, 1601, 40),
    (129, 100, 385),
    (700, 70, 20),
]


def as_rows(x: Any) -> Any:
    return x


def as_columns(x: Any) -> Any:
    return x.mT.contiguous().mT


def of_odd_lines(x: Any) -> Any:
    wide = torch.zeros(*x.shape[:-1], x.shape[-1] + 1 + x.shape[-1] % 2, dtype=x.dtype)
    wide[..., 1 : 1 + x.shape[-1]] = x
    return wide[..., 1 : 1 + x.shape[-1]]


def of_even_lines_from_an_odd_place(x: Any) -> Any:
    wide = torch.zeros(*x.shape[:-1], x.shape[-1] + 3 - x.shape[-1] % 2, dtype=x.dtype).reshape(-1)
    lines = wide.as_strided(x.shape, torch.empty(*x.shape[:-1], x.shape[-1] + 1 + x.shape[-1] % 2).stride(), 1)
    return lines.copy_(x)


def with_steps(x: Any) -> Any:
    wide = torch.zeros(*x.shape[:-1], 2 * x.shape[-1], dtype=x.dtype)
    wide[..., ::2] = x
    return wide[..., ::2]


LAYOUTS = [as_rows, as_columns, of_odd_lines, of_even_lines_from_an_odd_place, with_steps]


def numbers(*shape: int) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape) + shape[-1])).bfloat16()


def check(found: Any, exact: Any, sizes: Any) -> None:
    """That `found` is `exact` but for a rounding to bfloat16, of 8 bits, and for what float32's sums are off."""
    error = np.abs(found.double().numpy() - exact)
    assert (error <= np.abs(exact) * 2.0**-8 + sizes * 2.0**-20).all()


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(("a_layout", "b_layout"), list(itertools.product(LAYOUTS, LAYOUTS)))
def test_products_of_every_layout(size: Any, a_layout: Any, b_layout: Any) -> None:
    m, k, n = size
    a, b = numbers(m, k), numbers(k, n)
    x, y = a.double().numpy(), b.double().numpy()
    check(a_layout(a) @ b_layout(b), x @ y, np.abs(x) @ np.abs(y))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_batches(layout: Any) -> None:
    a, b = numbers(3, 70, 45), numbers(3, 45, 64)
    x, y = a.double().numpy(), b.double().numpy()
    check(layout(a) @ layout(b), x @ y, np.abs(x) @ np.abs(y))
    expanded = b[:1].expand(3, 45, 64)
    check(layout(a) @ expanded, x @ y[:1], np.abs(x) @ np.abs(y[:1]))


@pytest.mark.parametrize(("alpha", "beta"), [(1, 1), (2.5, 0.5), (1, 0), (0, 1)])
def test_what_a_product_is_added_to(alpha: float, beta: float) -> None:
    a, b, bias = numbers(50, 301), numbers(301, 70), numbers(70)
    x, y = a.double().numpy(), b.double().numpy()
    exact = alpha * (x @ y) + beta * bias.double().numpy()
    check(torch.addmm(bias, a, b, beta=beta, alpha=alpha), exact, np.abs(x) @ np.abs(y) * alpha + 4)


def test_a_result_with_other_strides() -> None:
    a, b = numbers(50, 301), numbers(301, 70)
    out = torch.zeros(70, 50, dtype=torch.bfloat16)
    torch.mm(a, b, out=out.t())
    assert torch.equal(out.t(), a @ b)


def test_threads_change_no_bit() -> None:
    a, b = numbers(300, 2000), numbers(2000, 500)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        one = a @ b
        torch.set_num_threads(3)
        assert torch.equal(a @ b, one)
    finally:
        torch.set_num_threads(before)


def test_what_is_not_finite_is_where_its_rows_and_columns_are() -> None:
    a, b = torch.ones(40, 41, dtype=torch.bfloat16), torch.ones(41, 64, dtype=torch.bfloat16)
    a[3, 40], a[7, 0], b[5, 9] = float("inf"), float("nan"), float("-inf")
    found = a @ b
    with np.errstate(invalid="ignore"):
        expected = (a.double().numpy() @ b.double().numpy()).astype("f4")
    assert np.array_equal(found.float().numpy(), expected, equal_nan=True)


def test_whole_numbers_are_exact() -> None:
    a = torch.randint(-8, 9, (65, 500)).bfloat16()
    b = torch.randint(-1, 2, (500, 33)).bfloat16() * (torch.arange(500) % 40 == 0).bfloat16()[:, None]
    assert np.array_equal((a @ b).float().numpy(), a.float().numpy() @ b.float().numpy())


def test_gradients() -> None:
    a, b = numbers(64, 130).requires_grad_(), numbers(130, 48).requires_grad_()
    g = numbers(64, 48)
    (a @ b).backward(g)
    x, y, d = (t.detach().double().numpy() for t in (a, b, g))
    check(a.grad, d @ y.T, np.abs(d) @ np.abs(y.T))
    check(b.grad, x.T @ d, np.abs(x.T) @ np.abs(d))
