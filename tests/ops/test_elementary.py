"""Elementary functions beside the same in higher precision; and integers that are computed in their own dtype."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from tests.needs import needed

needed("torch")

import torch as pytorch  # noqa: E402
from scipy import special  # noqa: E402

import mindtorch_v2 as ours  # noqa: E402

# The largest error, in units of the last place, of float32 and, where double is not the C library's, of float64.
FLOAT32 = {
    "exp": 2, "exp2": 2, "expm1": 2.5, "log": 1.5, "log2": 2, "log10": 2, "log1p": 2, "sin": 1, "cos": 1, "tan": 1.5,
    "asin": 1, "acos": 1, "atan": 2, "sinh": 3.5, "cosh": 3, "tanh": 3, "erfc": 1, "erfinv": 1, "asinh": 1, "acosh": 1,
    "atanh": 1,
}  # fmt: skip
FLOAT64 = {
    "exp": 2, "expm1": 2.5, "log": 1.5, "log2": 1.5, "log10": 1.5, "log1p": 2, "sin": 1, "cos": 1, "tan": 2.5,
    "asin": 2.5, "acos": 2.5, "atan": 2, "sinh": 3.5, "cosh": 3, "tanh": 3.5, "erf": 2, "erfc": 5, "asinh": 2.5,
    "acosh": 3, "atanh": 2.5,
}  # fmt: skip
IN_NUMPY = {name: f"arc{name[1:]}" for name in ("asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh")}


def exact(name: str, x: Any) -> Any:
    if name in ("erf", "erfc"):  # of double rounded from C's long double, as SciPy's are off
        if x.dtype == np.float32:
            return getattr(special, name)(x.astype(np.float64))
        function = getattr(ctypes.CDLL("libm.so.6"), f"{name}l")
        function.argtypes, function.restype = [ctypes.c_longdouble], ctypes.c_longdouble
        return np.array([function(value) for value in x.tolist()], np.longdouble)
    if name == "erfinv":  # SciPy's is off where the result is far out
        size = np.abs(x.astype(np.float64))
        return np.copysign(np.where(size < 0.5, special.erfinv(size), special.erfcinv(1 - size)), x)
    return getattr(np, IN_NUMPY.get(name, name))(x.astype(np.longdouble))


def numbers(dtype: str) -> Any:
    random = np.random.default_rng(1)
    kind = np.dtype(dtype)
    bits = random.integers(0, 256, 100_000 * kind.itemsize, dtype=np.uint8)  # all magnitudes, infinities and NaN
    top = 89 if dtype == "float32" else 710
    ends = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, top, -top, top - 1, 1e5, 99999.9, 1e-40, -1e-40, 0.5, 2.0]
    parts = [
        random.uniform(-1, 1, 50_000), random.uniform(-top - 20, top + 20, 50_000),
        1 + random.uniform(-0.01, 0.01, 20_000), random.standard_normal(20_000) * 1e-4,
        np.arange(1, 30_000) * np.pi / 2, 2.0 ** np.arange(-140, 128),
        10.0 ** np.arange(-37, 38), np.array(ends),
    ]  # fmt: skip
    return np.concatenate([bits.view(kind), *(part.astype(kind) for part in parts)])


def off(found: Any, wanted: Any) -> Any:
    """How far numbers are off, in units of the last place; NaN where only one is no number."""
    rounded = wanted.astype(found.dtype)
    same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
    return np.where(same, 0, np.abs(found - wanted) / np.spacing(np.abs(rounded)))


@pytest.mark.parametrize(("dtype", "name"), [*(("float32", n) for n in FLOAT32), *(("float64", n) for n in FLOAT64)])
def test_errors_are_small(dtype: str, name: str) -> None:
    x = numbers(dtype)
    with np.errstate(all="ignore"):
        wanted = exact(name, x)
        found = getattr(ours, name)(ours.from_numpy(x)).numpy()
        error = off(found, wanted)
    worst = int(np.argmax(np.where(np.isnan(error), np.inf, error)))
    assert error[worst] <= (FLOAT32 if dtype == "float32" else FLOAT64)[name], (x[worst], found[worst], wanted[worst])
    zero = (found == 0) & (wanted == 0)
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(wanted[zero]))


@pytest.mark.parametrize(("name", "largest"), [("atan2", 2), ("hypot", 1.5)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_of_two_sides(dtype: str, name: str, largest: float) -> None:
    least, most = (float(getattr(np.finfo(dtype), end)) for end in ("smallest_subnormal", "max"))
    ends = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-40, -1e38, 3.5, least, 3 * least, most / 2], dtype)
    random = np.random.default_rng(2).standard_normal((2, 100_000)).astype(dtype)
    y, x = (np.concatenate([grid.ravel(), drawn]) for grid, drawn in zip(np.meshgrid(ends, ends), random, strict=True))
    found = getattr(ours, name)(ours.from_numpy(y), ours.from_numpy(x)).numpy()
    with np.errstate(all="ignore"):
        wanted = getattr(np, IN_NUMPY.get(name, name))(y.astype(np.longdouble), x.astype(np.longdouble))
        assert np.nanmax(off(found, wanted)) <= largest
    known = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(found), ~known)
    np.testing.assert_array_equal(np.signbit(found[known]), np.signbit(wanted[known]))


@pytest.mark.parametrize("name", FLOAT32)
def test_a_result_is_that_of_its_number_alone(name: str) -> None:
    x = numbers("float32")[-3000:]
    whole = getattr(ours, name)(ours.from_numpy(x))
    for start, size in ((0, 1), (1, 7), (5, 63), (17, 500)):
        part = getattr(ours, name)(ours.from_numpy(x[start : start + size].copy()))
        np.testing.assert_array_equal(part.numpy(), whole[start : start + size].numpy())
    in_place = ours.from_numpy(x.copy())
    getattr(in_place, f"{name}_")()
    np.testing.assert_array_equal(in_place.numpy(), whole.numpy())


INTEGERS = ("bool", "uint8", "int8", "int32", "int64")
PAIRS = (
    "add", "mul", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor", "eq", "ne", "lt", "le", "gt", "ge",
    "logical_and", "logical_or", "logical_xor",
)  # fmt: skip
ONES = ("neg", "abs", "relu", "logical_not", "bitwise_not", "isnan", "isinf", "isfinite", "square", "sign")
NUMBERS = (0, 1, -1, 3, 255, 300, -200, 2**31 - 1, -(2**31), 1.5)


def integers(torch: Any, dtype: str, seed: int, shape: tuple[int, ...]) -> Any:
    values = np.random.default_rng(seed).integers(-(2**31), 2**31, shape)
    ends = (0, -(2**31), 2**31 - 1)[: values.size]
    values.reshape(-1)[: len(ends)] = ends
    return torch.tensor(values).to(getattr(torch, dtype))


def both(call: Any) -> list[Any]:
    found = []
    for torch in (ours, pytorch):
        try:
            result = call(torch)
            found.append((str(result.dtype), result.tolist()))
        except (RuntimeError, NotImplementedError, TypeError) as error:
            found.append(isinstance(error, Exception))
    return found


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("left", INTEGERS)
def test_pairs_of_integers(name: str, left: str) -> None:
    for right in INTEGERS:
        for shape in ((40, 33), (1, 33), (40, 1), (1,), (33, 40)):
            mine, theirs = both(
                lambda torch, right=right, shape=shape: getattr(torch, name)(
                    integers(torch, left, 1, (40, 33)),
                    integers(torch, right, 2, shape).t() if shape == (33, 40) else integers(torch, right, 2, shape),
                )
            )
            assert mine == theirs, (right, shape)


@pytest.mark.parametrize("name", [*PAIRS[:2], *PAIRS[4:]])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_beside_numbers(name: str, dtype: str) -> None:
    for number in NUMBERS:
        mine, theirs = both(
            lambda torch, n=number: getattr(torch, name)(integers(torch, dtype, 1, (50,)), torch.tensor(n))
        )
        assert mine == theirs, number
        if name in ("add", "mul", "eq", "ne", "lt", "le", "gt", "ge"):
            mine, theirs = both(lambda torch, n=number: getattr(integers(torch, dtype, 1, (50,)), name)(n))
            assert mine == theirs, number


@pytest.mark.parametrize("name", ONES)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_alone(name: str, dtype: str) -> None:
    mine, theirs = both(lambda torch: getattr(torch, name)(integers(torch, dtype, 1, (7, 50))))
    assert mine == theirs


@pytest.mark.parametrize("alpha", [-1, 2, -300, 2**31])
@pytest.mark.parametrize("dtype", INTEGERS[1:])
def test_factors_of_sums_are_cut_to_size(dtype: str, alpha: int) -> None:
    mine, theirs = both(
        lambda torch: torch.add(integers(torch, dtype, 1, (90,)), integers(torch, dtype, 2, (90,)), alpha=alpha)
    )
    assert mine == theirs


@pytest.mark.parametrize(
    "dtype", ["float32", "bfloat16", "float16", "float64", "complex64", "bool", "uint8", "int16", "int64"]
)
def test_elements_are_chosen_as_they_are(dtype: str) -> None:
    def call(torch: Any, function: str) -> Any:
        values = torch.tensor(np.random.default_rng(3).standard_normal((2, 30, 41)) * 99).to(getattr(torch, dtype))
        mask = torch.tensor(np.random.default_rng(4).random((30, 41)) > 0.5)
        if function == "where":
            return torch.where(mask, values[0], values[1, :, :1])
        return values[0].masked_fill(mask, True if dtype == "bool" else 1)

    for function in ("where", "masked_fill"):
        mine, theirs = both(lambda torch, f=function: call(torch, f))
        assert mine == theirs


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("shape", [(3, 50, 7), (2, 5, 2500), (400,), (1, 1), (0, 3), (60, 1, 3)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64", "bool", "uint8"])
def test_running(name: str, shape: tuple[int, ...], dtype: str) -> None:
    values = np.random.default_rng(5).uniform(0.7, 1.4, shape)
    for dim in range(len(shape)):
        found = []
        for torch in (ours, pytorch):
            x = torch.tensor(values).to(getattr(torch, dtype)).transpose(0, -1)
            found.append(getattr(torch, name)(x, dim).double().numpy())
        np.testing.assert_allclose(*found, rtol=2e-2 if dtype == "bfloat16" else 1e-5)


@pytest.mark.parametrize("name", ["tril", "triu"])
def test_triangles(name: str) -> None:
    for shape in ((5, 7), (7, 5), (2, 3, 4, 4), (0, 3), (3, 0), (1, 1)):
        for diagonal in (-9, -2, 0, 1, 3, 9, 2**62, -(2**62)):
            for dtype in ("float32", "bool", "complex128"):
                mine, theirs = both(
                    lambda torch, s=shape, d=diagonal, k=dtype: getattr(torch, name)(
                        torch.ones(s, dtype=getattr(torch, k)).transpose(-1, -2), d
                    )
                )
                assert mine == theirs, (shape, diagonal, dtype)


# ---------------------------------------------------------------- remainders
def divisions() -> Any:
    """Numbers and what to divide them by: of any magnitude, whole multiples, and all pairs of special ones."""
    random = np.random.default_rng(2)
    special = [
        0.0,
        -0.0,
        1,
        -1,
        2.5,
        1 / 3,
        np.inf,
        -np.inf,
        np.nan,
        1e30,
        1e-30,
        1e-40,
        5e-324,
        2.0**24,
        2.0**53,
        1e300,
    ]
    pairs = np.array(np.meshgrid(special, special)).reshape(2, -1)
    steps = random.standard_normal(10_000).astype("f4").astype("f8")
    parts = [(random.standard_normal(10_000) * 10.0**power, steps) for power in (-5, 0, 3, 9, 20)]
    return np.concatenate([pairs, *parts, (steps * random.integers(-999, 999, 10_000), steps)], 1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_remainders_are_exact(dtype: str) -> None:
    with np.errstate(all="ignore"):
        a, b = divisions().astype(dtype)
        rest = np.fmod(a, b)
        wanted = {"fmod": rest, "remainder": np.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)}
    for name, values in wanted.items():
        found = getattr(ours, name)(ours.from_numpy(a), ours.from_numpy(b)).numpy()
        np.testing.assert_array_equal(found, values)
        np.testing.assert_array_equal(np.signbit(found)[values == values], np.signbit(values)[values == values])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_quotients_rounded_down(dtype: str) -> None:
    with np.errstate(all="ignore"):
        a, b = divisions().astype("f4" if dtype != "float64" else "f8")
    found = []
    for torch in (pytorch, ours):
        x, y = (torch.from_numpy(values.copy()).to(getattr(torch, dtype)) for values in (a, b))
        quotient = torch.floor_divide(x, y).double().numpy()
        possible = np.abs((x.double() / y.double()).numpy()) < 2.0**50  # beyond it PyTorch's remainder is none
        found.append(np.where(possible, quotient, 0))
    np.testing.assert_array_equal(found[1], found[0])


# ---------------------------------------------------------------- powers
def test_powers_of_float32_are_rounded_once() -> None:
    """Of bases and exponents that reach all results, and of those that the C library takes."""
    random = np.random.default_rng(7)
    special = [
        0.0,
        -0.0,
        1,
        -1,
        2,
        -2.5,
        3,
        1 / 3,
        np.inf,
        -np.inf,
        np.nan,
        1e30,
        1e-45,
        2.0**24 + 1,
        3.4e38,
        127,
        -149,
    ]
    parts = [
        np.array(np.meshgrid(special, special)).reshape(2, -1),
        (np.exp(random.uniform(-80, 80, 20_000)), random.standard_normal(20_000) * 2),
        (random.uniform(0, 3, 20_000), random.uniform(-80, 80, 20_000)),
        (1 + random.uniform(-1e-3, 1e-3, 20_000), random.uniform(-80_000, 80_000, 20_000)),
        (random.standard_normal(20_000) * 3, random.integers(-10, 10, 20_000)),
    ]
    with np.errstate(all="ignore"):
        base, exponent = np.concatenate(parts, 1).astype("f4")
        wanted = np.power(base.astype(np.longdouble), exponent.astype(np.longdouble))
        found = ours.pow(ours.from_numpy(base), ours.from_numpy(exponent)).numpy()
        assert off(found, wanted).max() < 0.51
    known = wanted == wanted
    np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(wanted)[known])
    for number in (0.3, 2.7):
        assert (
            ours.pow(number, ours.from_numpy(exponent)) == ours.pow(ours.tensor(number), ours.from_numpy(exponent))
        )[ours.from_numpy(np.abs(exponent) < 1e6)].all()


# ---------------------------------------------------------------- narrow integers
WORKS: dict[str, Any] = {
    "neg": lambda torch, x: -x,
    "sign": lambda torch, x: x.sign(),
    "square": lambda torch, x: x.square(),
    "floor": lambda torch, x: x.floor(),
    "ceil": lambda torch, x: x.ceil(),
    "round": lambda torch, x: x.round(),
    "trunc": lambda torch, x: x.trunc(),
    "clamp": lambda torch, x: x.clamp(3, 50),
    "clamp_min": lambda torch, x: x.clamp(min=3),
    "clamp_max": lambda torch, x: x.clamp(max=50),
    "clamp by fractions": lambda torch, x: x.clamp(0.5, 9.25),
    "clamp by tensors": lambda torch, x: x.clamp(x // 2, x.flip(0)),
    "clamp by one tensor": lambda torch, x: x.clamp(max=x.flip(0)),
    "clamp by wide tensors": lambda torch, x: x.clamp(torch.tensor([2] * 7), torch.tensor(70)),
    "clamp in place": lambda torch, x: x.clamp_(2, 5),
}


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("work", WORKS)
def test_narrow_integers_stay_narrow(work: str, dtype: str) -> None:
    values = np.random.default_rng(4).integers(0 if dtype == "uint8" else -128, 128, (3, 7))
    found = []
    for torch in (pytorch, ours):
        for x in (
            torch.tensor(values).to(getattr(torch, dtype)),
            torch.tensor(values.T.copy()).to(getattr(torch, dtype)).t(),
        ):
            result = WORKS[work](torch, x)
            found.append((str(result.dtype).rpartition(".")[2], result.double().numpy().tolist()))
    assert found[:2] == found[2:]


# ---------------------------------------------------------------- activations of one pass
BENDS: dict[str, Any] = {
    "leaky_relu": lambda f, x: f.leaky_relu(x, 0.2),
    "leaky_relu of a negative slope": lambda f, x: f.leaky_relu(x, -0.3),
    "hardswish": lambda f, x: f.hardswish(x),
    "hardsigmoid": lambda f, x: f.hardsigmoid(x),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", BENDS)
def test_bends(name: str, dtype: str) -> None:
    """Values and gradients, at the bends too, of NaN and of infinity."""
    values = np.append(np.random.default_rng(5).standard_normal(3000) * 4, [3, -3, 0.0, -0.0, np.inf, -np.inf, np.nan])
    found = []
    for torch in (pytorch, ours):
        x = torch.tensor(values).to(getattr(torch, dtype)).requires_grad_()
        y = BENDS[name](torch.nn.functional, x)
        (y * torch.tensor(np.cos(np.arange(values.size))).to(y.dtype)).sum().backward()
        found.append([t.detach().double().numpy() for t in (y, x.grad)])
    tolerance = {"float16": 1e-3, "bfloat16": 1e-2}.get(dtype, 1e-6)
    for theirs, own in zip(*found, strict=True):
        np.testing.assert_allclose(own, theirs, rtol=tolerance, atol=tolerance)
