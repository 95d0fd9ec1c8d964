"""The C++ CPU kernels against NumPy: every layout, dtype and edge that the descriptors can express."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.ops.kernel_library import Kernels

DTYPE, SHAPE, DIVISION = 1, 2, 3
rng = np.random.default_rng(7)


@pytest.fixture(scope="module")
def kernels() -> Kernels:
    return Kernels()


def layouts(array: np.ndarray) -> list[np.ndarray]:
    """The same values in several memory layouts."""
    padded = np.empty((*array.shape[:-1], array.shape[-1] * 2), array.dtype)[..., ::2]
    padded[...] = array
    fortran = np.asfortranarray(array)
    return [array, fortran, padded]


ALL_DTYPES = ["?", "u1", "i1", "i2", "i4", "i8", "f2", "f4", "f8"]


@pytest.mark.parametrize("source", ALL_DTYPES)
@pytest.mark.parametrize("target", [*ALL_DTYPES, "c8", "c16"])
def test_copy_converts(kernels: Kernels, source: str, target: str) -> None:
    x = rng.integers(0, 90, (3, 5, 7)).astype(source)
    for layout in layouts(x):
        for out in layouts(np.zeros(x.shape, target)):
            kernels("mt_copy", layout, out)
            np.testing.assert_array_equal(out, x.astype(target))


@pytest.mark.parametrize("shape", [(100, 130), (33, 1), (5, 40, 70)])
def test_copy_transposed_and_broadcast(kernels: Kernels, shape: tuple[int, ...]) -> None:
    x = rng.standard_normal(shape).astype("f4")
    out = np.zeros(shape[::-1], "f8")
    kernels("mt_copy", x.T, out)
    np.testing.assert_array_equal(out, x.T)
    wide = np.zeros((3, *shape), "f4")
    kernels("mt_copy", x, wide)
    np.testing.assert_array_equal(wide, np.broadcast_to(x, wide.shape))


def test_bfloat16_rounds_to_nearest_even(kernels: Kernels) -> None:
    torch = pytest.importorskip("torch")
    x = np.concatenate(
        [rng.standard_normal(4000).astype("f4"), np.array([np.nan, np.inf, 1.00390625, 1.01171875], "f4")]
    )
    bits = np.zeros(x.shape, "u2")
    import ctypes

    from tests.ops.kernel_library import descriptor

    target = descriptor(bits)
    target.dtype = 7
    assert kernels.library.mt_copy(ctypes.byref(descriptor(x)), ctypes.byref(target)) == 0
    expected = torch.from_numpy(x).bfloat16().float().numpy()
    np.testing.assert_array_equal((bits.astype("u4") << 16).view("f4"), expected)


UNARY = {
    "neg": np.negative,
    "abs": np.abs,
    "sign": lambda x: np.nan_to_num(np.sign(x)),
    "square": np.square,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "trunc": np.trunc,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "reciprocal": np.reciprocal,
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "erf": np.vectorize(math.erf, otypes=["f8"]),
    "relu": lambda x: np.where(np.isnan(x), x, np.maximum(x, 0)),
    "gelu": lambda x: x * 0.5 * (1 + np.vectorize(math.erf, otypes=["f8"])(x / math.sqrt(2))),
    "gelu_tanh": lambda x: x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
}


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@np.errstate(all="ignore")
def test_unary(kernels: Kernels, name: str, dtype: str) -> None:
    special = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, np.inf, -np.inf, np.nan, 60.0, -60.0, 1e-30, 0.7, 0.62, 0.63]
    x = np.concatenate([rng.standard_normal(1500) * 3, rng.uniform(0, 1, 500), special]).astype(dtype).reshape(-1, 4)
    exact = UNARY[name](x.astype("f8")).astype(dtype)
    tolerance = {"f2": 2e-3, "f4": 1e-6, "f8": 1e-14}[dtype]
    absolute = {"f2": 1e-6, "f4": 2e-7, "f8": 1e-15}[dtype] if name in ("gelu", "gelu_tanh") else 0
    if name in ("gelu", "gelu_tanh", "silu"):  # infinity times zero: NaN in NumPy's formula, and in PyTorch's
        exact = np.where(np.isinf(x), np.nan, exact)
        x = np.where(np.isinf(x), np.nan, x).astype(dtype)
    for layout in layouts(x):
        out = np.empty_like(x)
        kernels(f"mt_{name}", layout, out)
        np.testing.assert_allclose(out, exact, rtol=tolerance, atol=absolute)


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "erf"])
def test_float32_functions_are_within_three_ulp(kernels: Kernels, name: str) -> None:
    bits = rng.integers(0, 2**32, 200_000, dtype="u8").astype("u4")
    x = bits.view("f4")
    out = np.empty_like(x)
    kernels(f"mt_{name}", x, out)
    with np.errstate(all="ignore"):
        exact = UNARY[name](x.astype("f8"))
        rounded = exact.astype("f4")
    assert np.array_equal(np.isnan(out), np.isnan(rounded))
    finite = np.isfinite(rounded) & (np.abs(rounded) > 1.2e-38)
    error = np.abs(out[finite].astype("f8") - exact[finite]) / np.spacing(np.abs(rounded[finite]))
    assert error.max() < 3
    assert np.array_equal(np.isinf(out), np.isinf(rounded))


@pytest.mark.parametrize("dtype", ["u1", "i1", "i2", "i4", "i8"])
@pytest.mark.parametrize("name", ["neg", "abs", "sign", "square", "relu", "floor", "bitwise_not"])
def test_unary_on_integers_wraps(kernels: Kernels, name: str, dtype: str) -> None:
    info = np.iinfo(dtype)
    x = np.concatenate([rng.integers(info.min, info.max, 2000, dtype=dtype), [info.min, info.max, 0]]).astype(dtype)
    function = {**UNARY, "relu": lambda v: np.maximum(v, 0), "floor": lambda v: v, "bitwise_not": np.invert}[name]
    out = np.empty_like(x)
    kernels(f"mt_{name}", x, out)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(out, function(x).astype(dtype))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_square_roots_are_correctly_rounded(kernels: Kernels, dtype: str) -> None:
    x = np.concatenate([rng.random(2000), 10.0 ** rng.uniform(-37, 37, 2000), [0.5, 5e-324, 0.0, np.inf]]).astype(dtype)
    out = np.empty_like(x)
    kernels("mt_sqrt", x, out)
    np.testing.assert_array_equal(out, np.sqrt(x))


def test_float_function_of_integers_and_refusals(kernels: Kernels) -> None:
    x = np.arange(1, 9)
    out = np.empty(8, "f4")
    kernels("mt_sqrt", x, out)
    np.testing.assert_allclose(out, np.sqrt(x), rtol=1e-7)
    assert kernels.status("mt_sqrt", x, np.empty(8, "i8")) == DTYPE
    assert kernels.status("mt_bitwise_not", x.astype("f4"), np.empty(8, "f4")) == DTYPE
    assert kernels.status("mt_neg", x, np.empty(7, "i8")) == SHAPE
    assert kernels.status("mt_add", x.astype("c16"), x, np.empty(8), 1.0) == DTYPE


BINARY = {
    "mul": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "div_floor": np.floor_divide,
    "remainder": np.remainder,
    "fmod": np.fmod,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}
COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor"}
BROADCASTS = [
    ((4, 5), (4, 5)),
    ((3, 1, 5), (4, 1)),
    ((5,), (7, 5)),
    ((), (6,)),
    ((2000,), ()),
    ((300, 7), (7,)),
    ((0, 3), (3,)),
]


@pytest.mark.parametrize("dtypes", [("f4", "f4"), ("f8", "f4"), ("i8", "i8"), ("i4", "u1"), ("f4", "i8"), ("f2", "f2")])
@pytest.mark.parametrize("name", BINARY)
@np.errstate(all="ignore")
def test_binary_broadcasts_and_promotes(kernels: Kernels, name: str, dtypes: tuple[str, str]) -> None:
    for left, right in BROADCASTS:
        a = rng.integers(-20, 20, left).astype(dtypes[0])
        b = rng.integers(1, 6, right).astype(dtypes[1])
        common = np.result_type(a.dtype, b.dtype)
        common = {("f4", "i8"): np.dtype("f4")}.get(dtypes, common)  # PyTorch's promotion
        if common.kind == "i" and (a.ndim == 0) != (b.ndim == 0):  # in which a number wraps to the other's type
            common = a.dtype if a.ndim else b.dtype
        expected = BINARY[name](a.astype(common), b.astype(common))
        out = np.empty(np.broadcast_shapes(left, right), bool if name in COMPARISONS else common)
        kernels(f"mt_{name}", a, b, out)
        np.testing.assert_array_equal(out, expected)


def test_add_alpha_layouts_and_in_place(kernels: Kernels) -> None:
    x, y = rng.standard_normal((2, 37, 53)).astype("f4")
    for a in layouts(x):
        for b in layouts(y):
            for out in layouts(np.empty_like(x)):
                kernels("mt_add", a, b, out, 0.5)
                np.testing.assert_allclose(out, x + np.float32(0.5) * y, rtol=1e-6, atol=1e-7)
            kernels("mt_sub", a.copy(), b, out, 1.0)
            np.testing.assert_array_equal(out, x - y)
    kernels("mt_add", x, y, x2 := x.copy(), 1.0)
    kernels("mt_add", x, y, x, 1.0)
    np.testing.assert_array_equal(x, x2)


def test_bool_arithmetic_is_logic(kernels: Kernels) -> None:
    a, b = np.array([[False, False, True, True], [False, True, False, True]])
    out = np.empty(4, bool)
    kernels("mt_add", a, b, out, 1.0)
    np.testing.assert_array_equal(out, a | b)
    kernels("mt_mul", a, b, out)
    np.testing.assert_array_equal(out, a & b)


def test_nan_propagates_through_maximum_and_clamp(kernels: Kernels) -> None:
    x = np.array([np.nan, 1, -5, np.nan], "f4")
    y = np.array([0, np.nan, 2, np.nan], "f4")
    out = np.empty(4, "f4")
    for name in ("maximum", "minimum"):
        kernels(f"mt_{name}", x, y, out)
        np.testing.assert_array_equal(out, BINARY[name](x, y))
    kernels("mt_clamp_scalar", x, 1, 0.0, 0, 0.0, out)
    np.testing.assert_array_equal(out, np.array([np.nan, 1, 0, np.nan], "f4"))


def test_integer_division_by_zero_is_an_error(kernels: Kernels) -> None:
    x, zero, out = np.arange(4), np.array([1, 0, 1, 1]), np.empty(4, int)
    for name in ("div_floor", "div_trunc", "remainder", "fmod"):
        assert kernels.status(f"mt_{name}", x, zero, out) == DIVISION
    kernels("mt_div_floor", np.array([np.iinfo("i8").min]), np.array([-1]), out[:1])  # wraps, and does not trap
    assert out[0] == np.iinfo("i8").min


def test_power(kernels: Kernels) -> None:
    base, exponent = np.array([2, -3, 5, 0, 1, -1, 7]), np.array([10, 3, 0, 0, -2, -3, 21])
    out = np.empty(7, int)
    kernels("mt_pow", base, exponent, out)
    np.testing.assert_array_equal(out, [1024, -27, 1, 1, 1, -1, 7**21])
    x = rng.uniform(0.1, 3, 50)
    floats = np.empty(50)
    kernels("mt_pow_scalar", x, 2.5, floats)
    np.testing.assert_allclose(floats, x**2.5)


def test_ternary(kernels: Kernels) -> None:
    a, b, c = rng.standard_normal((3, 41, 6)).astype("f4")
    c = np.abs(c) + 1
    out = np.empty_like(a)
    kernels("mt_addcmul", a, b, c[0], out, 0.3)
    np.testing.assert_allclose(out, a + np.float32(0.3) * b * c[0], rtol=1e-5, atol=1e-6)
    kernels("mt_addcdiv", a, b, c, out, 0.3)
    np.testing.assert_allclose(out, a + np.float32(0.3) * (b / c), rtol=1e-5, atol=1e-6)
    kernels("mt_lerp_scalar", a, b, 0.25, out)
    np.testing.assert_allclose(out, a + np.float32(0.25) * (b - a), rtol=1e-5, atol=1e-6)
    kernels("mt_where", a > 0, b, c, out)
    np.testing.assert_array_equal(out, np.where(a > 0, b, c))
    kernels("mt_masked_fill", a, (b > 0)[:, :1], -7.0, out)
    np.testing.assert_array_equal(out, np.where((b > 0)[:, :1], np.float32(-7), a))
    kernels("mt_clamp_scalar", a, 1, -0.5, 1, 0.25, out)
    np.testing.assert_array_equal(out, np.clip(a, np.float32(-0.5), np.float32(0.25)))


REDUCTIONS = {
    "sum": np.sum,
    "mean": np.mean,
    "prod": np.prod,
    "amax": np.max,
    "amin": np.min,
    "any": np.any,
    "all": np.all,
}


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "i4", "?"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(kernels: Kernels, name: str, dtype: str) -> None:
    x = (
        (rng.standard_normal((6, 70, 5)) + 1.2).astype(dtype)
        if dtype[0] == "f"
        else rng.integers(0, 2, (6, 70, 5)).astype(dtype)
    )
    result = {"sum": "i8", "prod": "i8", "mean": "f4", "any": "?", "all": "?"}.get(name, dtype)
    if dtype[0] == "f" and name not in ("any", "all"):
        result = dtype
    for axes in [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2), (-1,)]:
        mask = sum(1 << (axis % 3) for axis in axes)
        expected = REDUCTIONS[name](x.astype("f8") if dtype[0] == "f" else x, axis=axes)
        expected = np.where(np.abs(expected) < 1e-37, 0, expected)  # what float32 rounds to zero
        for keepdims in (False, True):
            shape = REDUCTIONS["sum"](x, axis=axes, keepdims=keepdims).shape
            for layout in layouts(x):
                out = np.empty(shape, result)
                kernels(f"mt_{name}", layout, out, mask)
                np.testing.assert_allclose(
                    out, expected.reshape(shape), rtol=1e-5 if result == "f4" else 1e-12, atol=1e-37
                )


def test_float32_sum_is_accurate(kernels: Kernels) -> None:
    x = rng.uniform(0, 1, 3_000_001).astype("f4")
    out = np.empty((), "f4")
    kernels("mt_sum", x, out, 1)
    assert out == np.float32(x.astype("f8").sum())


def test_empty_reductions_give_the_identity(kernels: Kernels) -> None:
    out = np.full(3, 9, "f4")
    kernels("mt_sum", np.empty((0, 3), "f4"), out, 1)
    np.testing.assert_array_equal(out, 0)
    kernels("mt_prod", np.empty((0, 3), "f4"), out, 1)
    np.testing.assert_array_equal(out, 1)
    kernels("mt_mean", np.empty((0, 3), "f4"), out, 1)
    assert np.isnan(out).all()


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "u1"])
def test_positions_of_extremes(kernels: Kernels, dtype: str) -> None:
    x = rng.integers(0, 9, (30, 80)).astype(dtype)  # many ties: the first wins
    if dtype[0] == "f":
        x[3, 40] = x[3, 60] = x[5, 0] = np.nan
    for name, function in (("argmax", np.argmax), ("argmin", np.argmin)):
        for axis in (0, 1):
            for layout in layouts(x):
                out = np.empty(x.shape[1 - axis], "i8")
                kernels(f"mt_{name}", layout, out, 1 << axis)
                np.testing.assert_array_equal(out, function(x, axis=axis))
        out = np.empty((), "i8")
        kernels(f"mt_{name}", x, out, 3)
        assert out == function(x)
    values, indices = np.empty(30, dtype), np.empty(30, "i8")
    kernels("mt_max_dim", x, values, indices, 2)
    np.testing.assert_array_equal(values, x.max(axis=1))


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "i4"])
@pytest.mark.parametrize("size", [(1, 1, 1), (4, 4, 4), (3, 0, 5), (13, 7, 33), (65, 300, 47), (130, 517, 97)])
def test_matrix_product(kernels: Kernels, size: tuple[int, int, int], dtype: str) -> None:
    m, k, n = size
    a, b = rng.integers(-4, 5, (m, k)).astype(dtype), rng.integers(-4, 5, (k, n)).astype(dtype)
    expected = (a.astype("f8") @ b.astype("f8")).astype(dtype)
    for left in layouts(a):
        for right in layouts(b):
            for out in layouts(np.empty((m, n), dtype)):
                kernels("mt_matmul", left, right, out)
                np.testing.assert_array_equal(out, expected)  # small integers: exact in every order
    bias = rng.integers(-4, 5, n).astype(dtype)
    kernels("mt_addmm", bias, a, b, out, 2.0, 3.0)
    np.testing.assert_array_equal(out, (2 * bias.astype("f8") + 3 * (a.astype("f8") @ b.astype("f8"))).astype(dtype))


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
@pytest.mark.parametrize("size", [(4099, 1), (70, 65), (257, 131), (33, 5001), (1, 4500), (1031, 203)])
def test_product_of_one_row_or_column(kernels: Kernels, size: tuple[int, int], dtype: str) -> None:
    k, n = size
    row, matrix = rng.integers(-3, 4, (1, k)).astype(dtype), rng.integers(-3, 4, (k, n)).astype(dtype)
    bias = rng.integers(-4, 5, (1, n)).astype(dtype)
    wide = np.empty((k + 3, n + 5), dtype)
    wide[2:-1, 3:-2] = matrix
    expected = row.astype("f8") @ matrix.astype("f8")
    for left in [*layouts(row), np.repeat(row.T, 2, 1)[:, :1].T]:
        for right in [*layouts(matrix), wide[2:-1, 3:-2], np.asfortranarray(wide)[2:-1, 3:-2]]:
            for out in [*layouts(np.empty((1, n), dtype)), np.empty((n, 3), dtype)[:, 1:2].T]:
                kernels("mt_matmul", left, right, out)
                np.testing.assert_array_equal(out, expected.astype(dtype))  # small integers: exact in every order
                kernels("mt_matmul", right.T, left.T, out.T)
                np.testing.assert_array_equal(out, expected.astype(dtype))
            kernels("mt_addmm", bias, left, right, out, 2.0, 3.0)
            np.testing.assert_array_equal(out, (2 * bias.astype("f8") + 3 * expected).astype(dtype))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_product_of_one_row_in_floating_point(kernels: Kernels, order: str, dtype: str) -> None:
    row, matrix = (
        rng.standard_normal((1, 1500)).astype(dtype),
        rng.standard_normal((1500, 301)).astype(dtype, order=order),
    )
    whole, part = np.empty((1, 301), dtype), np.empty((1, 77), dtype)
    kernels("mt_matmul", row, matrix, whole)
    exact = row.astype("f8") @ matrix.astype("f8")
    np.testing.assert_allclose(whole, exact, rtol=0, atol=2e-4 if dtype == "f4" else 1e-12)
    kernels("mt_matmul", row, matrix[:, 100:177], part)
    np.testing.assert_array_equal(part, whole[:, 100:177])  # wherever a column lies, and whichever thread takes it
    before = kernels.library.mt_get_num_threads()
    kernels.library.mt_set_num_threads(before + 1)
    kernels("mt_matmul", row, matrix, again := np.empty_like(whole))
    kernels.library.mt_set_num_threads(before)
    np.testing.assert_array_equal(again, whole)
    matrix[7, 3], matrix[1499, 300], matrix[1, 0], matrix[2, 0] = np.nan, np.inf, np.inf, -np.inf
    row[0, 1:3] = 1
    kernels("mt_matmul", row, matrix, whole)
    wrong = ~np.isfinite(whole[0])
    assert list(wrong.nonzero()[0]) == [0, 3, 300]
    assert np.isnan(whole[0, [0, 3]]).all()
    assert whole[0, 300] == np.copysign(np.inf, row[0, 1499])


def test_batched_product_and_its_bad_shapes(kernels: Kernels) -> None:
    a, b = rng.standard_normal((5, 20, 30)).astype("f4"), rng.standard_normal((5, 30, 40)).astype("f4")
    out = np.empty((5, 20, 40), "f4")
    kernels("mt_matmul", a, b, out)
    np.testing.assert_allclose(out, a @ b, rtol=1e-4, atol=1e-5)
    kernels("mt_matmul", a, np.swapaxes(np.ascontiguousarray(np.swapaxes(b, 1, 2)), 1, 2), out)
    np.testing.assert_allclose(out, a @ b, rtol=1e-4, atol=1e-5)
    assert kernels.status("mt_matmul", a, a, out) == SHAPE
    assert kernels.status("mt_matmul", a[0], b, out) == SHAPE


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_softmax_family(kernels: Kernels, dtype: str, axis: int) -> None:
    x = (rng.standard_normal((3, 50, 4)) * 4).astype(dtype)
    grad = rng.standard_normal(x.shape).astype(dtype)
    wide = x.astype("f8")
    shifted = wide - wide.max(axis, keepdims=True)
    y = np.exp(shifted) / np.exp(shifted).sum(axis, keepdims=True)
    tolerance = {
        "rtol": {"f2": 5e-3, "f4": 1e-5, "f8": 1e-12}[dtype],
        "atol": {"f2": 5e-3, "f4": 1e-6, "f8": 1e-13}[dtype],
    }
    for layout in layouts(x):
        out = np.empty_like(x)
        kernels("mt_softmax", layout, out, axis)
        np.testing.assert_allclose(out, y, **tolerance)
        kernels("mt_log_softmax", layout, out, axis - 3)
        np.testing.assert_allclose(out, np.log(y), **tolerance)
    back = np.empty_like(x)
    g = grad.astype("f8")
    kernels("mt_softmax_backward", grad, y.astype(dtype), back, axis)
    np.testing.assert_allclose(back, y * (g - (g * y).sum(axis, keepdims=True)), **tolerance)
    kernels("mt_log_softmax_backward", grad, np.log(y).astype(dtype), back, axis)
    expected = g - y * g.sum(axis, keepdims=True)
    np.testing.assert_allclose(back, expected, rtol=tolerance["rtol"] * 10, atol=tolerance["atol"] * 10)


def test_ranges_and_fills(kernels: Kernels) -> None:
    for dtype in ("i8", "i4", "f4", "f8"):
        out = np.zeros(6000, dtype)[::2]
        kernels("mt_arange", out, 5.0, 2.0)
        np.testing.assert_array_equal(out, np.arange(5, 6005, 2, dtype))
    big = np.empty(3, "i8")
    kernels("mt_fill_i64", big, 2**60 + 1)
    np.testing.assert_array_equal(big, 2**60 + 1)
    kernels("mt_arange_i64", big, 2**60, -3)
    np.testing.assert_array_equal(big, 2**60 - 3 * np.arange(3))
