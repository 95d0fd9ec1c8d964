"""The parts of complex tensors are views: what is written to them is seen, counted and differentiated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.runtime.both import agree, agree_or_raise

Change = Callable[[Any, Any], Any]

CHANGES: dict[str, Change] = {
    "the real parts": lambda t, y: y.real.mul_(2),
    "the imaginary parts": lambda t, y: y.imag.add_(3),
    "those of a row": lambda t, y: y[0].real.mul_(2),
    "of the transposed matrix": lambda t, y: y.t().imag.mul_(2),
    "an element of a pair": lambda t, y: t.view_as_real(y)[:, 1, 0].mul_(4),
    "numbers put there": lambda t, y: setattr(y, "real", 3),
    "a tensor put there": lambda t, y: setattr(y, "imag", t.arange(4.0, dtype=t.float64).view(2, 2)),
}


def matrix(t: Any) -> Any:
    return t.tensor([[1 + 2j, 3 - 1j], [0.5j, 2 - 2j]], requires_grad=True)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("turned", [False, True], ids=["in rows", "in columns"])
def test_a_change_of_the_parts_reaches_the_gradient(change: Change, turned: bool) -> None:
    def case(t: Any) -> Any:
        x = matrix(t)
        y = (x * 1).t() if turned else x * 1
        change(t, y)
        (y * y).real.sum().backward()
        return x.grad, y

    agree(case)


def test_pairs_that_are_changed_as_complex_numbers() -> None:
    def case(t: Any) -> Any:
        x = t.arange(8.0).view(2, 2, 2).requires_grad_()
        y = x * 1
        t.view_as_complex(y)[1].mul_(2j)
        (y * y).sum().backward()
        return x.grad, y

    agree(case)


def test_parts_follow_what_they_are_parts_of() -> None:
    def case(t: Any) -> Any:
        x = matrix(t)
        y = x * 1
        real = y.real
        y.mul_(2j)
        (real * real).sum().backward()
        return x.grad, real

    agree(case)


def test_whose_views_the_parts_are() -> None:
    def case(t: Any) -> Any:
        x, pairs = t.ones(2, 3, dtype=t.complex64), t.ones(2, 2)
        before = x._version
        x.real.add_(1)
        shown = (x.real, x.imag, t.view_as_real(x.t()), t.view_as_complex(pairs))
        return [part._base is (pairs if part.is_complex() else x) for part in shown], x._version - before

    agree(case)


WRITTEN: dict[str, Callable[[Any], Any]] = {
    "integers": lambda t: t.arange(3),
    "doubles": lambda t: t.ones(3, dtype=t.float64),
    "a number": lambda t: 2.5,
    "a truth value": lambda t: True,
    "a complex number": lambda t: 1j,
    "text": lambda t: "one",
    "nothing": lambda t: None,
    "a list": lambda t: [1, 2, 3],
    "too many": lambda t: t.ones(4),
}


@pytest.mark.parametrize("value", WRITTEN.values(), ids=WRITTEN)
@pytest.mark.parametrize("dtype", ["complex64", "complex128", "float32"])
@pytest.mark.parametrize("part", ["real", "imag"])
def test_what_can_be_written_to_the_parts(part: str, dtype: str, value: Callable[[Any], Any]) -> None:
    def case(t: Any) -> Any:
        x = t.zeros(3, dtype=getattr(t, dtype))
        setattr(x, part, value(t))
        return x

    agree_or_raise(case)


def doubled(z: Any) -> Any:
    z = z * 1
    z.real.mul_(2)
    z.imag[0].add_(1)
    return z


@pytest.mark.parametrize(
    "transform",
    [
        lambda t: t.func.vmap(doubled),
        lambda t: t.func.vmap(doubled, in_dims=1),
        lambda t: t.func.vmap(t.func.grad(lambda z: (doubled(z).real ** 2).sum())),
        lambda t: t.func.functionalize(doubled),
        lambda t: t.func.functionalize(doubled, remove="mutations_and_views"),
    ],
    ids=["vmap", "vmap of columns", "vmap of grad", "functionalize", "functionalize without views"],
)
def test_parts_under_transforms(transform: Any) -> None:
    agree(lambda t: transform(t)(t.tensor([[[1 + 1j, 2], [2j, 3]], [[4, 5j], [6, 7]]])))


def test_tangents_of_parts() -> None:
    def case(t: Any) -> Any:
        forward_ad = t.autograd.forward_ad
        with forward_ad.dual_level():
            x = t.ones(3, dtype=t.complex64)
            real = x.real
            x.copy_(forward_ad.make_dual(t.ones(3, dtype=t.complex64), t.tensor([1 + 2j, 3 + 4j, 5])))
            return forward_ad.unpack_dual(real).tangent, forward_ad.unpack_dual(x[1:].imag).tangent

    agree(case)


NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, n: x + n,
    "sub": lambda x, n: x - n,
    "rsub": lambda x, n: n - x,
    "mul": lambda x, n: x * n,
    "div": lambda x, n: x / n,
    "rdiv": lambda x, n: n / x,
    "pow": lambda x, n: x**n,
    "rpow": lambda x, n: n**x,
    "eq": lambda x, n: x == n,
    "ne": lambda x, n: x != n,
    "add_": lambda x, n: x.add_(n),
    "div_": lambda x, n: x.div_(n),
    "mul_": lambda x, n: x.mul_(n),
}


@pytest.mark.parametrize("call", NUMBERS.values(), ids=NUMBERS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64", "bool", "complex64"])
def test_real_tensors_with_complex_numbers(dtype: str, call: Callable[[Any, Any], Any]) -> None:
    agree_or_raise(lambda t: call(t.tensor([1, 2, 3]).to(getattr(t, dtype)), 2 - 2j))
