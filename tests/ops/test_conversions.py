"""What becomes of numbers that a dtype cannot hold, and which dtypes go together, beside PyTorch."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import mindtorch_v2
from tests.ops.test_values import refused
from tests.runtime.both import agree, agree_or_raise, outcome

BEYOND = [1.5, -3.5, 6e4, 3e9, -5e9, 1e19, 2e19, -1e20, 2.0**31, -(2.0**31), float("inf"), float("-inf"), float("nan")]
WIDE = ["uint16", "uint32", "uint64"]


# ---------------------------------------------------------------- fractions as integers
@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("target", ["uint8", "int8", "int16", "int32", "int64", "uint16", "uint64"])
def test_numbers_beyond_an_integer_type(source: str, target: str) -> None:
    """Not uint32: there PyTorch's own conversions differ by where an element lies."""
    for repeats in (1, 5):  # a part of a vector, and several
        agree(lambda t, n=repeats: t.tensor(BEYOND * n, dtype=getattr(t, source)).to(getattr(t, target)))
        agree(lambda t, n=repeats: t.tensor(BEYOND * n, dtype=getattr(t, source))[::2].to(getattr(t, target)))


UNSIGNED = {
    "remainder": lambda t, x, n: (t.remainder(n, x), x % n),
    "floor_divide": lambda t, x, n: x // n,
    "where": lambda t, x, n: (t.where(x > 0, n, x), t.where(x > 0, x, n)),
    "fmod": lambda t, x, n: t.fmod(x, n),
    "arithmetic": lambda t, x, n: (x + n, x - n, n - x, x * n, x / n, n / x),
    "comparisons": lambda t, x, n: (x < n, x == n, x >= n),
}


@pytest.mark.parametrize("number", [2**63, 2**63 + 2**62, 2**64 - 1])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNSIGNED)
def test_integers_of_64_bits_beside_fractions(name: str, dtype: str, number: int) -> None:
    """What is beyond a signed word is no negative number."""
    agree(lambda t: UNSIGNED[name](t, t.tensor([-1.0, 1.5, 3.0, 2.0**63], dtype=getattr(t, dtype)), number))


# ---------------------------------------------------------------- factors
@pytest.mark.parametrize("alpha", [-1, 0, 2, 256, True, False])
def test_a_factor_of_truth_values_is_one(alpha: Any) -> None:
    agree(lambda t: t.add(t.tensor([True, True, False]), t.tensor([True, False, True]), alpha=alpha))
    agree(lambda t: t.tensor([True, True, False]).add_(t.tensor([True, False, True]), alpha=alpha))
    agree(lambda t: t.add(t.tensor([True, False]), True, alpha=alpha))


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float32"])
@pytest.mark.parametrize("name", ["add", "sub", "rsub", "add_", "sub_"])
def test_the_kind_of_a_factor(name: str, dtype: str) -> None:
    for alpha, other in itertools.product((1.0, float("nan"), 2 + 0j, True, 3), ("same", "number", "float64")):

        def case(t: Any, alpha: Any = alpha, other: str = other) -> Any:
            first = t.tensor([1, 0], dtype=getattr(t, dtype))
            second = 1 if other == "number" else t.tensor([1, 1], dtype=getattr(t, other if other != "same" else dtype))
            function = getattr(t.Tensor if name.endswith("_") else t, name)
            return function(first, second, alpha=alpha)

        agree_or_raise(case)


FACTORS = {
    "add": lambda t, x, n: t.add(x, x, alpha=n),
    "add_": lambda t, x, n: x.add_(x.clone(), alpha=n),
    "add of a number": lambda t, x, n: t.add(x, 1, alpha=n),
    "sub": lambda t, x, n: t.sub(x, x, alpha=n),
    "rsub of a number": lambda t, x, n: t.rsub(x, 2, alpha=n),
    "addcmul": lambda t, x, n: t.addcmul(x, x, x, value=n),
    "addcdiv": lambda t, x, n: t.addcdiv(x, x, x, value=n),
    "lerp": lambda t, x, n: t.lerp(x, x, n),
    "addmm, beta": lambda t, x, n: t.addmm(x[None], x[None], x[:, None] * x, beta=n),
    "addmm, alpha": lambda t, x, n: t.addmm(x[None], x[None], x[:, None] * x, alpha=n),
    "clamp, min": lambda t, x, n: t.clamp(x, n),
    "clamp, max": lambda t, x, n: t.clamp(x, max=n),
    "threshold_backward": lambda t, x, n: t.ops.aten.threshold_backward(x, x, n),
    "masked_fill": lambda t, x, n: x.masked_fill(t.tensor([True, False]), n),
}


@pytest.mark.parametrize("name", FACTORS)
def test_a_number_beyond_the_dtype(name: str) -> None:
    """Half precision holds factors as float32 does, but for sums and limits."""
    numbers = {
        **dict.fromkeys(("float16", "bfloat16", "float32", "float64"), (1e6, 1e40, -1e40, float("inf"))),
        **dict.fromkeys(("uint8", "int8", "int32", "int64"), (200, 300, -128, -129, -255, -256, 2**40, -(2**63))),
    }
    for dtype, given in numbers.items():
        for number in given:
            agree_or_raise(lambda t, d=dtype, n=number: FACTORS[name](t, t.tensor([1, 1], dtype=getattr(t, d)), n))


def test_a_factor_as_the_second_of_three_arguments() -> None:
    """`add(self, alpha, other)`, which functions still take; the factor is judged as the one by keyword is."""
    for dtype, name in itertools.product(("bool", "int8", "int64", "float32"), ("add", "sub", "add_", "sub_")):
        for alpha, other in itertools.product((2, 0.5, True, 300), (3, 0.25, True, None)):

            def case(t: Any, name: str = name, dtype: str = dtype, alpha: Any = alpha, other: Any = other) -> Any:
                x = t.tensor([1, 0], dtype=getattr(t, dtype))
                return getattr(x, name)(alpha, x.clone() if other is None else other)

            agree_or_raise(case)
    agree(lambda t: t.add(t.ones(2), 2, t.ones(2)))
    agree(lambda t: t.addcmul(t.ones(2), 2, t.ones(2), t.ones(2)))
    agree(lambda t: t.ones(2).addcdiv_(0.5, t.ones(2), t.ones(2)))
    refused(lambda t: t.add(t.ones(2), t.ones(2), 2))
    refused(lambda t: t.ones(2).mul(2, t.ones(2)))


# ---------------------------------------------------------------- dtypes without a common one
PROMOTED = ["atan2", "div", "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor", "equal"]


@pytest.mark.parametrize("name", PROMOTED)
def test_wide_unsigned_integers_promote_with_fractions_alone(name: str) -> None:
    """Where the result's dtype is not the operands' common one, too."""
    others = ["bool", "uint8", "int8", "int64", "float32", *WIDE]
    for first, second in itertools.chain(itertools.product(WIDE, others), itertools.product(others, WIDE)):
        for shapes in itertools.product(((2,), ()), repeat=2):

            def case(t: Any, dtypes: tuple[str, str] = (first, second), shapes: Any = shapes) -> Any:
                a, b = (t.ones(s, dtype=getattr(t, d)) for s, d in zip(shapes, dtypes, strict=True))
                return getattr(t, name)(a, b)

            import torch

            theirs, ours = outcome(torch, case), outcome(mindtorch_v2, case)
            if theirs.error is None:
                agree(case)
            elif "not implemented for" not in str(theirs.error):
                assert "not supported" in str(ours.error), (first, second, shapes, ours)


# ---------------------------------------------------------------- what a rule for meta checks
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int16"])
def test_an_index_on_meta_is_an_integer(dtype: str) -> None:
    def index(t: Any) -> Any:
        return t.empty((3, 3), dtype=getattr(t, dtype), device="meta")

    refused(lambda t: t.gather(t.empty(3, 3, device="meta"), 0, index(t)))
    refused(lambda t: t.empty(3, 3, device="meta")[index(t)])


def test_an_index_on_meta_lies_inside() -> None:
    def index(t: Any, *shape: int) -> Any:
        return t.empty(shape, dtype=t.int64, device="meta")

    refused(lambda t: t.gather(t.empty(3, 3, device="meta"), 0, index(t, 3, 4)))
    agree(lambda t: t.gather(t.empty(3, 3, device="meta"), 0, index(t, 7, 2)).shape)


def test_truth_values_have_no_negative_on_meta() -> None:
    for name in ("neg", "neg_"):
        refused(lambda t, name=name: getattr(t.empty(2, dtype=t.bool, device="meta"), name)())
        refused(lambda t, name=name: getattr(t.ones(2, dtype=t.bool), name)())


def test_as_strided_scatter_on_meta() -> None:
    def scattered(t: Any, *given: Any) -> Any:
        return t.as_strided_scatter(t.empty(2, 3, device="meta"), t.empty(2, 3, device="meta"), *given)

    refused(lambda t: scattered(t, [3, 2], [3, 1], 1))
    refused(lambda t: scattered(t, [6], (3, 1)))
    refused(lambda t: scattered(t, [2, 3], [-3, 1]))
    agree(lambda t: scattered(t, [2, 3], [3, 1]).shape)
    sources = lambda t: (t.empty(3, 3, device="meta")[:, :2], t.empty(2, device="meta"))  # noqa: E731
    agree(lambda t: t.as_strided_scatter(*sources(t), [2], [1]).stride())


# ---------------------------------------------------------------- dtypes that lose digits
@pytest.mark.parametrize("given", ["float16", "bfloat16", "float32", "float64", "int64"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "int64"])
@pytest.mark.parametrize("p", [2, 1, "fro", float("inf")])
def test_a_norm_is_computed_in_no_narrower_dtype(p: Any, given: str, dtype: str) -> None:
    agree_or_raise(lambda t: t.norm(t.ones(2, 3, dtype=getattr(t, given)), p, dtype=getattr(t, dtype)))
    agree_or_raise(lambda t: t.ones(2, 3, dtype=getattr(t, given)).norm(p, 0, dtype=getattr(t, dtype)))


@pytest.mark.parametrize("name", ["_softmax_backward_data", "_log_softmax_backward_data"])
def test_gradients_of_softmax_into_half_precision(name: str) -> None:
    def case(t: Any, dtypes: tuple[str, str, str], device: str = "cpu") -> Any:
        grad, output = (t.ones(2, 3, dtype=getattr(t, d), device=device) for d in dtypes[:2])
        return getattr(t.ops.aten, name)(grad, output, 1, getattr(t, dtypes[2]))

    for dtypes in itertools.product(("float32", "float16", "float64"), repeat=3):
        agree_or_raise(lambda t, dtypes=dtypes: case(t, dtypes))
    agree(lambda t: case(t, ("float32", "float32", "float16"), "meta"))


def test_contiguous_makes_no_copy_that_preserves_strides() -> None:
    refused(lambda t: t.ops.aten.contiguous.default(t.ones(2, 3).t(), memory_format=1))
    refused(lambda t: t.ops.aten.contiguous.default(t.empty(2, 3, device="meta").t(), memory_format=1))
    agree(lambda t: t.ops.aten.contiguous.default(t.ones(2, 3), memory_format=1))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int64", "float16", "float32", "complex64"])
def test_random_integers_fit_their_dtype(dtype: str) -> None:
    for low, high in ((0, 2), (0, 3), (-1, 1), (0, 128), (0, 129), (0, 256), (0, 257), (0, 70000)):
        for shape in ((2,), (0,)):
            agree_or_raise(lambda t, a=low, b=high, s=shape: t.randint(a, b, s, dtype=getattr(t, dtype)).shape)


@pytest.mark.parametrize("name", ["var", "std"])
def test_the_variance_of_nothing(name: str) -> None:
    for shape, dim in itertools.product(((0,), (2, 0), (0, 2), ()), (None, 0, -1)):
        for correction in (-7, 0, 1, 2):
            agree(lambda t, s=shape, d=dim, c=correction: getattr(t, name)(t.zeros(s), d, correction=c))


def test_addcmul_writes_no_fraction_into_integers() -> None:
    for dtype, other in itertools.product(("int32", "float32", "bool"), ("int32", "float32")):
        for shape in ((2,), (0,), (2, 2)):

            def case(t: Any, dtype: str = dtype, other: str = other, shape: Any = shape) -> Any:
                given = t.ones(shape, dtype=getattr(t, dtype))
                return given.addcmul_(given.clone(), t.ones(shape, dtype=getattr(t, other)))

            agree_or_raise(case)


def test_lerp_of_infinities() -> None:
    """The form that it is computed by is chosen by the magnitude of the weight."""
    inf = float("inf")
    for weight in (-1.0, -0.25, 0.25, 1.0, 1.5):
        agree(lambda t, w=weight: t.lerp(t.tensor([-1.0, 1.5, 4.0]), t.tensor([1.5, inf, -inf]), w))
        agree(lambda t, w=weight: t.lerp(t.tensor([-1.0, inf, 4.0]), t.tensor([1.5, 1.0, inf]), t.tensor(w)))
