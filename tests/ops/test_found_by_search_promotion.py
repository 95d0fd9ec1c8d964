"""What searches beside PyTorch found: dtypes of two tensors, complex numbers, and gradients where slopes change."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.runtime.both import Case, agree, agree_or_raise

INF, NAN = math.inf, math.nan
DTYPES = [
    *("bool", "uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64"),
    "complex128",
]


def apart(torch: Any, value: Any) -> Any:
    """Complex tensors as their dtype and parts, which are compared within rounding."""
    if isinstance(value, (list, tuple)):
        return [apart(torch, item) for item in value]
    return (
        (str(value.dtype), torch.view_as_real(value.resolve_conj()))
        if value is not None and value.is_complex()
        else value
    )


# ---------------------------------------------------------------- two dtypes
TWO: dict[str, Callable[[Any, Any, Any], Any]] = {
    "bitwise_left_shift": lambda torch, a, b: torch.bitwise_left_shift(a, b),
    "bitwise_right_shift": lambda torch, a, b: a >> b,
    "gcd": lambda torch, a, b: torch.gcd(a, b),
    "lcm": lambda torch, a, b: torch.lcm(a, b),
    "nextafter": lambda torch, a, b: torch.nextafter(a, b),
    "logaddexp": lambda torch, a, b: torch.logaddexp(a, b),
}


def numbers(torch: Any, dtype: str, dims: int, first: int) -> Any:
    made = torch.tensor([3, 1, 0, 7, 5, 2][first:] + [1, 0, 1, 2, 3, 1][:first]).to(getattr(torch, dtype))
    return made if dims else made[0]


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize("dtype", DTYPES)
def test_two_dtypes(name: str, dtype: str) -> None:
    for other, dims, more in itertools.product(DTYPES, (0, 1), (0, 1)):
        if "float16" in dtype + other and "complex" in dtype + other:
            continue  # complex numbers of half precision
        if "float16" in dtype + other and name == "logaddexp":
            continue  # its last place
        agree_or_raise(
            lambda torch, other=other, dims=dims, more=more: apart(  # type: ignore[misc]
                torch, TWO[name](torch, numbers(torch, dtype, dims, 0), numbers(torch, other, more, 3))
            )
        )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int32"])
@pytest.mark.parametrize("power", ["int8", "uint8", "int64", "float32", "float64"])
def test_powers_of_two_keep_the_dtype(dtype: str, power: str) -> None:
    for dims, more in itertools.product((0, 1), (0, 1)):
        agree(
            lambda torch, dims=dims, more=more: apart(  # type: ignore[misc]
                torch, torch.ldexp(numbers(torch, dtype, dims, 0), numbers(torch, power, more, 3))
            )
        )


POWERS: dict[str, Case] = {
    "beyond float32": lambda torch: torch.ldexp(torch.tensor([1e-30, 0.0, 1e30, INF, NAN]), torch.tensor(130)),
    "beyond half": lambda torch: torch.ldexp(torch.tensor([0.001], dtype=torch.float16), torch.tensor([17])),
    "below": lambda torch: torch.ldexp(torch.tensor([1e30, 0.0, -INF]), torch.tensor([-180, -300, -2000])),
    "far": lambda torch: torch.ldexp(torch.tensor([1.0, 0.0, -1.0]), torch.tensor([2000, 2000, 1500])),
    "gradient": lambda torch: torch.func.grad(lambda x: torch.ldexp(x, torch.tensor(3)))(torch.tensor(1.5)),
    "in place": lambda torch: torch.tensor([1.5], dtype=torch.float16).ldexp_(torch.tensor([2])),
    "nothing": lambda torch: torch.ldexp(torch.ones(2, 0), torch.tensor([2])),
    "mapped": lambda torch: torch.vmap(torch.ldexp)(torch.tensor([1.5, 2.5]), torch.tensor([1, 2])),
}


@pytest.mark.parametrize("name", POWERS)
def test_powers_of_two(name: str) -> None:
    agree(POWERS[name])


# ---------------------------------------------------------------- logarithms of sums of complex exponentials
parts = st.one_of(st.floats(-4, 4).map(lambda x: round(x, 2)), st.sampled_from([0.0, -0.0, INF, -INF, NAN]))
complexes = st.builds(complex, parts, parts)


@settings(max_examples=150, deadline=None)
@given(rows=st.lists(st.tuples(complexes, complexes), min_size=1, max_size=4), dim=st.integers(-2, 1))
def test_complex_numbers_added_by_their_logarithms(rows: list[tuple[complex, complex]], dim: int) -> None:
    agree(lambda torch: apart(torch, torch.tensor(rows, dtype=torch.complex128).logcumsumexp(dim)))
    agree(lambda torch: apart(torch, torch.logaddexp(*torch.tensor(rows, dtype=torch.complex128).unbind(1))))


def second(torch: Any, f: Any, *values: Any) -> Any:
    """A function's value, its gradients, and theirs."""
    given = [torch.tensor(value) for value in values]
    leaves = [x.to(torch.complex128 if x.is_complex() else torch.float64).requires_grad_() for x in given]
    out = f(*leaves)
    weight = torch.arange(out.numel()).reshape(out.shape).to(out.dtype) + (0.3 + 0.7j if out.is_complex() else 0.3)
    first = torch.autograd.grad(out, leaves, weight, create_graph=True)
    again = torch.autograd.grad(sum(g.abs().pow(2).sum() for g in first), leaves, allow_unused=True)
    return apart(torch, (out.detach(), [g.detach() for g in first], again))


GRADIENTS: dict[str, Case] = {
    "logcumsumexp": lambda torch: second(torch, lambda x: x.logcumsumexp(0), [0.5 + 1j, -1 + 2j, 0.3j]),
    "logcumsumexp of rows": lambda torch: second(torch, lambda x: x.logcumsumexp(1), [[1j, 2.0 + 0j], [0.3j, -1 + 1j]]),
    "logaddexp": lambda torch: second(torch, torch.logaddexp, [0.5 + 1j, -1 + 2j], [1 - 1j, 0.3j]),
    **{
        f"{name} at {at}": lambda torch, f=f, at=at: second(torch, lambda x: f(torch, x), at)  # type: ignore[misc]
        for name, f in {
            "elu": lambda torch, x: torch.nn.functional.elu(x, 2.0),
            "elu of its result": lambda torch, x: torch.nn.functional.elu_(x * 1),
            "selu": lambda torch, x: torch.nn.functional.selu(x),
            "celu": lambda torch, x: torch.nn.functional.celu(x, 2.0),
            "threshold": lambda torch, x: torch.nn.functional.threshold(x, 0.0, 1.0),
            "prelu": lambda torch, x: torch.nn.functional.prelu(x, torch.tensor(0.25).double()),
            "median": lambda torch, x: x.median() ** 3,
            "nanmedian": lambda torch, x: x.nanmedian() ** 3,
        }.items()
        for at in ([0.0, -0.0, 1.0, -1.0], [3.0, -3.0, 0.5, 0.5], [0.1, INF, -INF, 2.0])
    },
    "median of NaN": lambda torch: second(torch, lambda x: x.median() ** 3, [0.1, NAN, 2.0]),
    "prelu of channels": lambda torch: second(
        torch, torch.nn.functional.prelu, [[1.0, -2.0, 0.0], [-1.0, 3.0, -0.5]], [0.1, 0.2, 0.3]
    ),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_gradients(name: str) -> None:
    agree(GRADIENTS[name])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_zero(dtype: str) -> None:
    def case(torch: Any) -> Any:
        x = torch.tensor([0j, 1, 1j, -1], dtype=getattr(torch, dtype), requires_grad=True)
        (slope,) = torch.autograd.grad(x.angle().sum(), x)
        logs = torch.tensor([0j, 1, complex(0, INF), complex(NAN, 1)], dtype=getattr(torch, dtype)).log2()
        return apart(torch, [slope, logs])

    agree(case)


def test_a_curvature_where_the_slope_changes() -> None:
    def case(torch: Any) -> Any:
        return torch.func.hessian(lambda x: (torch.nn.functional.elu(x) ** 2).sum())(torch.tensor([-1.0, 0.0, 2.0]))

    agree(case)
