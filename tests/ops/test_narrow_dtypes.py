"""Floats of 8 bits and complex numbers of two halves: what is kept, converted, computed and refused, beside PyTorch."""

from __future__ import annotations

import copy
import io
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch as peer

import mindtorch_v2 as torch

FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
NARROW = (*FLOAT8, "complex32")
OTHERS = (
    *("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)
BITS = {1: "uint8", 2: "int16", 4: "int32", 8: "int64", 16: "int64"}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _bits(t: Any, tensor: Any) -> list[int]:
    found: list[int] = tensor.contiguous().view(getattr(t, BITS[tensor.dtype.itemsize])).flatten().tolist()
    return found


def _both(call: Callable[[Any], Any]) -> tuple[Any, Any]:
    return call(torch), call(peer)


def _shown(t: Any, value: Any) -> Any:
    if isinstance(value, t.Tensor):
        return str(value.dtype), tuple(value.shape), _bits(t, value)
    return tuple(_shown(t, item) for item in value) if isinstance(value, (list, tuple)) else value


def _outcome(t: Any, call: Callable[[Any], Any]) -> Any:
    try:
        return _shown(t, call(t))
    except (TypeError, RuntimeError) as error:
        return "refused" if isinstance(error, RuntimeError) else "TypeError"


def _alike(call: Callable[[Any], Any]) -> None:
    assert _outcome(torch, call) == _outcome(peer, call)


def _floats() -> np.ndarray[Any, Any]:
    """Floats of every kind: of random bits, and around all numbers of 8 bits and the middles between them."""
    rng = np.random.default_rng(0)
    some = rng.integers(0, 1 << 32, 1 << 14, dtype=np.uint64).astype(np.uint32).view(np.float32)
    codes = np.concatenate([peer.arange(256, dtype=peer.uint8).view(getattr(peer, d)).float().numpy() for d in FLOAT8])
    points = np.unique(codes[np.isfinite(codes)])
    points = np.concatenate([points, (points[1:] + points[:-1]) / 2, [60000, 61440, 65536]]).astype(np.float32)
    near = [np.nextafter(points, np.float32(towards)) for towards in (-np.inf, np.inf)]
    return np.concatenate([some, points, *near, np.float32([np.inf, -np.inf, np.nan, -0.0])])


@pytest.mark.parametrize("name", FLOAT8)
def test_every_code_is_the_number_that_it_is_there(name: str) -> None:
    ours, theirs = _both(lambda t: _bits(t, t.arange(256, dtype=t.uint8).view(getattr(t, name)).float()))
    assert ours == theirs


@pytest.mark.parametrize("name", NARROW)
def test_floats_are_rounded_as_there(name: str) -> None:
    values = _floats()
    for step in (1, 2):

        def call(t: Any, step: int = step) -> list[int]:
            return _bits(t, t.from_numpy(values.copy())[::step].to(getattr(t, name)))

        ours, theirs = _both(call)
        assert ours == theirs


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("other", [*OTHERS, *NARROW])
def test_conversions_from_and_to_all_dtypes(name: str, other: str) -> None:
    numbers = [0.0, -0.0, 1.0, 1.5, -2.75, 100.0, 3e-3, -7.0, 17.0, 0.1]

    def there_and_back(t: Any) -> Any:
        start = t.tensor(numbers).abs() if other.startswith("u") else t.tensor(numbers)
        source = start.to(getattr(t, other))
        narrow = source.to(getattr(t, name))
        return narrow, narrow.to(getattr(t, other)), source.clone().copy_(narrow), narrow.clone().copy_(source)

    _alike(there_and_back)


def test_wide_numbers_come_by_way_of_floats() -> None:
    rng = np.random.default_rng(1)
    doubles, longs = rng.normal(size=2000) * 10, rng.integers(-(2**62), 2**62, 2000)
    for name in NARROW:
        for values in (doubles, longs, doubles + 1j * doubles[::-1]):

            def call(t: Any, values: Any = values, name: str = name) -> list[int]:
                return _bits(t, t.from_numpy(values).to(getattr(t, name)))

            ours, theirs = _both(call)
            assert ours == theirs


@pytest.mark.parametrize("name", NARROW)
def test_what_a_dtype_says(name: str) -> None:
    def call(t: Any) -> Any:
        d = getattr(t, name)
        kinds = d.is_floating_point, d.is_complex, d.is_signed, d.itemsize, str(d), d.to_real() is d
        info = t.finfo(d)
        return (*kinds, info.min, info.max, info.eps, info.tiny, info.bits, info.resolution, info.dtype)

    ours, theirs = _both(call)
    assert ours == theirs


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("other", [*OTHERS, *NARROW])
def test_promotion(name: str, other: str) -> None:
    _alike(lambda t: str(t.promote_types(getattr(t, name), getattr(t, other))))
    _alike(lambda t: str(t.promote_types(getattr(t, other), getattr(t, name))))
    for shape in ((), (2,)):
        _alike(
            lambda t, shape=shape: str(
                t.result_type(t.ones(2, dtype=getattr(t, name)), t.ones(shape, dtype=getattr(t, other)))
            )
        )
    _alike(lambda t: str(t.can_cast(getattr(t, other), getattr(t, name))))


def test_promotion_with_numbers() -> None:
    for name in ("float16", "bfloat16", "float32", *NARROW):
        for number in (True, 2, 2.5, 1j):

            def call(t: Any, name: str = name, number: Any = number) -> str:
                return str(t.result_type(t.ones(2, dtype=getattr(t, name)), number))

            _alike(call)
    assert torch.half.to_complex() is torch.chalf is torch.complex32


def _x(t: Any, name: str, shape: tuple[int, ...] = (3,)) -> Any:
    made = t.arange(1.0, 1.0 + int(np.prod(shape))).reshape(shape) * 1.5 - 3
    return (t.complex(made, made.flip(0)) if name == "complex32" else made).to(getattr(t, name))


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "abs": lambda t, x: x.abs(),
    "add": lambda t, x: x + x,
    "add a number": lambda t, x: x + 2.2,
    "add in place": lambda t, x: x.clone().add_(x),
    "add with out": lambda t, x: t.add(x, x, out=t.empty_like(x)),
    "add doubled": lambda t, x: x.add(x, alpha=2),
    "add a single": lambda t, x: x + t.ones(3),
    "add a number tensor": lambda t, x: x + t.tensor(1.0003, dtype=t.float64),
    "all, any": lambda t, x: (x.all(), x.any(), x.any(0)),
    "all close": lambda t, x: t.allclose(x, x),
    "cat": lambda t, x: t.cat([x, x]),
    "cat of others": lambda t, x: t.cat([x, t.ones(2)]),
    "chunk": lambda t, x: x.chunk(3),
    "clamp": lambda t, x: x.clamp(0, 1),
    "compare": lambda t, x: (x == x, x != x.flip(0) if x.is_complex() else x != x),
    "compare a number": lambda t, x: (x == 1.5, x == 1.503, x != 0),
    "compare order": lambda t, x: x < x,
    "diag": lambda t, x: t.diag(x),
    "divide": lambda t, x: x / 2,
    "embedding": lambda t, x: t.nn.functional.embedding(t.tensor([2, 0]), x[:, None]),
    "expand": lambda t, x: x.expand(2, 3).contiguous(),
    "fill": lambda t, x: (x.clone().fill_(2.6), x.clone().fill_(t.tensor(3.3))),
    "fill too much": lambda t, x: x.clone().fill_(1e6),
    "finite": lambda t, x: x.isfinite(),
    "flip": lambda t, x: x.float().flip(0),
    "full": lambda t, x: (t.full((2,), 1.7, dtype=x.dtype), x.new_full((2,), 3), t.full_like(x, 0.3)),
    "full too much": lambda t, x: t.full((2,), 500.0, dtype=x.dtype),
    "gather": lambda t, x: x.gather(0, t.tensor([0])),
    "index": lambda t, x: (x[t.tensor([2, 0])], x[t.tensor([True, False, True])], x[1:], x[[0]], x[1]),
    "index add": lambda t, x: x.index_add(0, t.tensor([0]), x[:1]),
    "index copy": lambda t, x: x.index_copy(0, t.tensor([0]), x[2:]),
    "index fill": lambda t, x: x.index_fill(0, t.tensor([0]), 2),
    "index fill too much": lambda t, x: x.index_fill(0, t.tensor([0]), 1e6),
    "index put": lambda t, x: x.index_put((t.tensor([0]),), x[2:]),
    "index put added": lambda t, x: x.index_put((t.tensor([0]),), x[2:], accumulate=True),
    "index select": lambda t, x: x.index_select(0, t.tensor([2, 2])),
    "infinite": lambda t, x: x.isinf(),
    "item": lambda t, x: (x[0].item(), x.tolist(), bool(x[0]), t.is_nonzero(x[0])),
    "likes": lambda t, x: (t.zeros_like(x), t.ones_like(x), x.new_zeros(2), x.new_ones(2), t.eye(2).to(x.dtype)),
    "masked fill": lambda t, x: x.masked_fill(t.tensor([True, False, False]), 3),
    "masked fill too much": lambda t, x: x.masked_fill(t.tensor([True, False, False]), 1e6),
    "masked select": lambda t, x: x.masked_select(t.tensor([True, False, True])),
    "matrix product": lambda t, x: (x[None] @ x[:, None], t.mm(x[:, None], x[None])),
    "maximum": lambda t, x: x.max(),
    "mean": lambda t, x: x.mean(),
    "multiply": lambda t, x: x * x,
    "multiply by a number": lambda t, x: x * 2,
    "nan": lambda t, x: x.isnan(),
    "negative": lambda t, x: -x,
    "nonzero": lambda t, x: x.nonzero(),
    "norm": lambda t, x: x.norm(),
    "pad": lambda t, x: t.nn.functional.pad(x, (1, 1), value=2.5),
    "permute": lambda t, x: x.reshape(1, 3).t().contiguous(),
    "power": lambda t, x: x**2,
    "range": lambda t, x: t.arange(3, dtype=x.dtype),
    "line": lambda t, x: t.linspace(0, 1, 3, dtype=x.dtype),
    "log line": lambda t, x: t.logspace(0, 1, 3, dtype=x.dtype),
    "repeat": lambda t, x: x.repeat(2),
    "resize": lambda t, x: x.clone().resize_(2),
    "roll": lambda t, x: x.roll(1),
    "scalar tensor": lambda t, x: t.scalar_tensor(1e6, dtype=x.dtype),
    "scatter": lambda t, x: x.scatter(0, t.tensor([0]), x[2:]),
    "sign": lambda t, x: x.sgn(),
    "softmax": lambda t, x: x.softmax(0),
    "sort": lambda t, x: x.sort(),
    "square root": lambda t, x: x.sqrt(),
    "stack": lambda t, x: t.stack([x, x], 1),
    "subtract": lambda t, x: (x - x[0], 1.5 - x),
    "sum": lambda t, x: x.sum(),
    "tensor": lambda t, x: (t.tensor([1.3, 1e6, float("nan")], dtype=x.dtype), t.tensor(2, dtype=x.dtype)),
    "triangle": lambda t, x: x[None].tril(),
    "unique": lambda t, x: x.unique(),
    "view": lambda t, x: x.view(getattr(t, BITS[x.dtype.itemsize])),
    "where": lambda t, x: t.where(t.tensor([True, False, True]), x, x[0]),
    "where a number": lambda t, x: (t.where(x == x, x, 1.0), t.where(x == x, 2.0, x)),
    "where others": lambda t, x: t.where(x == x, x, t.ones(3)),
    "write": lambda t, x: (lambda y: (y.__setitem__(0, 3.3), y.__setitem__(slice(1, 2), 2.2), y)[2])(x.clone()),
    "zero": lambda t, x: x.clone().zero_(),
}


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("call", CALLS)
def test_calls(name: str, call: str) -> None:
    _alike(lambda t: CALLS[call](t, _x(t, name)))


def test_halves_and_complex_numbers() -> None:
    for call in (
        lambda t, h: h * 1.0003j,
        lambda t, h: h + 1.0003j,
        lambda t, h: h - t.tensor(1j),
        lambda t, h: h / 1j,
        lambda t, h: h**1j,
        lambda t, h: h == 1j,
        lambda t, h: t.where(h == 1, h, 1j),
        lambda t, h: t.complex(h, h),
        lambda t, h: t.view_as_complex(h[:2]),
        lambda t, h: t.view_as_real(t.complex(h, h)),
        lambda t, h: t.complex(h, h).real,
        lambda t, h: t.complex(h, h).conj().resolve_conj(),
        lambda t, h: t.complex(h, h).std(),
        lambda t, h: t.complex(h, h).var(0, keepdim=True),
    ):
        _alike(lambda t, call=call: call(t, t.tensor([1.0, 2.5, -3.1], dtype=t.float16)))


def test_random_halves() -> None:
    def call(t: Any) -> Any:
        t.manual_seed(0)
        return (
            t.randn(20, dtype=t.chalf),
            t.rand(3, dtype=t.chalf),
            t.testing.make_tensor(4, dtype=t.chalf, device="cpu"),
        )

    _alike(call)


@pytest.mark.parametrize("name", FLOAT8)
def test_no_random_floats_of_8_bits(name: str) -> None:
    for call in (
        lambda t, d: t.randn(2, dtype=d),
        lambda t, d: t.rand(2, dtype=d),
        lambda t, d: t.randint(0, 3, (2,), dtype=d),
        lambda t, d: t.randperm(3, dtype=d),
        lambda t, d: t.zeros(2, dtype=d).bernoulli_(),
    ):
        _alike(lambda t, call=call: call(t, getattr(t, name)))
    torch.manual_seed(3), peer.manual_seed(3)
    _alike(lambda t: t.testing.make_tensor(5, dtype=getattr(t, name), device="cpu"))


@pytest.mark.parametrize("name", NARROW)
def test_printed(name: str) -> None:
    def call(t: Any) -> Any:
        x = _x(t, name)
        return repr(x), f"{x[0]}", repr(x.requires_grad_()), x.type()

    ours, theirs = _both(call)
    assert ours == theirs


@pytest.mark.parametrize("name", NARROW)
def test_kept(name: str) -> None:
    x = _x(torch, name)
    for other in (copy.deepcopy(x), _loaded(torch, _saved(torch, x)), _loaded(torch, _saved(peer, _x(peer, name)))):
        assert other.dtype is x.dtype
        assert _bits(torch, other) == _bits(torch, x)
    assert _bits(peer, _loaded(peer, _saved(torch, x))) == _bits(torch, x)
    assert _bits(torch, torch.from_dlpack(x)) == _bits(torch, x)
    assert _bits(torch, torch.from_dlpack(_x(peer, name))) == _bits(torch, x)
    with pytest.raises(TypeError, match="Got unsupported ScalarType"):
        x.numpy()


def _saved(t: Any, x: Any) -> bytes:
    target = io.BytesIO()
    t.save(x, target)
    return target.getvalue()


def _loaded(t: Any, data: bytes) -> Any:
    return t.load(io.BytesIO(data))


def test_gradients() -> None:
    def call(t: Any) -> Any:
        x = _x(t, "float8_e5m2").requires_grad_()
        (x.float() * 3).sum().backward()
        z = _x(t, "complex32").requires_grad_()
        (z * z).abs().float().sum().backward()
        return x.grad, z.grad

    _alike(call)


def test_fake_tensors_have_no_values_to_refuse() -> None:
    for name in NARROW:
        _alike(lambda t, name=name: str((t.ones(2, device="meta", dtype=getattr(t, name)) + 1).dtype))


def test_a_view_of_bits_is_no_narrow_tensor() -> None:
    _alike(lambda t: _x(t, "float8_e4m3fn").view(t.int8) + 1)
    _alike(lambda t: t.ones(2, dtype=t.uint8).view(t.float8_e4m3fn) + 1)


def test_defaults() -> None:
    for t in (torch, peer):
        with pytest.raises(TypeError, match="couldn't find storage object"):
            t.set_default_dtype(t.float8_e5m2)
    try:

        def call(t: Any) -> Any:
            t.set_default_dtype(t.half)
            return t.tensor(1j), t.ones(1) * 1j

        _alike(call)
    finally:
        torch.set_default_dtype(torch.float32)
        peer.set_default_dtype(peer.float32)


def test_complex_numbers_of_halves_are_experimental() -> None:
    torch.set_warn_always(True)
    try:
        t = torch.zeros(3, dtype=torch.chalf)
        for call in (lambda: torch.empty(3, dtype=torch.chalf), lambda: torch.ones_like(t), lambda: t + 1):
            with pytest.warns(UserWarning, match="ComplexHalf support is experimental"):
                call()
    finally:
        torch.set_warn_always(False)


ROUNDED: dict[str, Callable[..., Any]] = {
    "add": lambda t, a, b, c: a + b,
    "add multiplied": lambda t, a, b, c: (t.add(a, b, alpha=1.37), t.sub(a, b, alpha=3), a.clone().add_(b, alpha=1j)),
    "addcmul": lambda t, a, b, c: (t.addcmul(a, b, c), t.addcmul(a, b, c, value=1.37), a.clone().addcmul_(b, c)),
    "abs": lambda t, a, b, c: a.abs(),
    "multiply": lambda t, a, b, c: (a * b, a * 1.2345, a * (1.2345 + 0.1j), 1.234 - a),
    "sign": lambda t, a, b, c: a.sgn(),
    "added at": lambda t, a, b, c: a.index_add(0, t.zeros(64, dtype=t.int64), b),
    "multiplied at": lambda t, a, b, c: a.clone().index_add_(-1, t.zeros(64, dtype=t.int64), b, alpha=1.37),
    "added to one": lambda t, a, b, c: a[0].index_add(0, t.tensor([0]), b[1]),
    "spread": lambda t, a, b, c: (a.norm(), a.var(), *t.std_mean(a)),
    "with out": lambda t, a, b, c: (
        t.abs(a, out=t.empty(64, dtype=t.half)),
        t.add(a, b, out=t.empty(64, dtype=t.cfloat)),
    ),
}


@pytest.mark.parametrize("name", ROUNDED)
def test_halves_are_rounded_as_there(name: str) -> None:
    rng = np.random.default_rng(2)
    values = [(rng.normal(size=64) + 1j * rng.normal(size=64)).astype(np.complex64) for _ in range(3)]
    _alike(lambda t: ROUNDED[name](t, *[t.from_numpy(x.copy()).chalf() for x in values]))


@pytest.mark.parametrize("name", [*NARROW, "bfloat16"])
def test_sums_at_places_are_rounded_one_by_one(name: str) -> None:
    rng = np.random.default_rng(4)
    values, more = (rng.normal(size=(5, 40)).astype(np.float32) for _ in range(2))
    rows, columns = rng.integers(0, 5, 40), rng.integers(-40, 40, 40)
    for call in (
        lambda t, a, b, r, c: a.index_put((r,), b[:1], accumulate=True),
        lambda t, a, b, r, c: a.index_put((r, c), b[0], accumulate=True),
        lambda t, a, b, r, c: a.t().index_put_((c,), b[:, 3], accumulate=True),
        lambda t, a, b, r, c: a.index_put((r[:0],), b[:0], accumulate=True),
        lambda t, a, b, r, c: a.index_put(
            (a.float() > 0 if not a.is_complex() else a.real > 0,), b[0, 0], accumulate=True
        ),
    ):

        def made(t: Any, call: Any = call) -> Any:
            given = (t.from_numpy(x.copy()).to(getattr(t, name)) for x in (values, more))
            return call(t, *given, t.from_numpy(rows), t.from_numpy(columns))

        _alike(made)


@pytest.mark.parametrize("name", FLOAT8)
def test_products_are_rounded_as_there(name: str) -> None:
    values = np.random.default_rng(3).normal(size=(16, 16)).astype(np.float32)
    for call in (
        lambda t, a: a @ a.t(),
        lambda t, a: t.addmm(a, a, a, beta=0.7, alpha=1.3),
        lambda t, a: a * a.t(),
        lambda t, a: t.addbmm(a, a[None], a[None]),
        lambda t, a: (t.exp(t.ones(2), out=t.empty(2, dtype=a.dtype)), t.mul(a, a, out=t.empty(16, 16))),
    ):
        _alike(lambda t, call=call: call(t, t.from_numpy(values.copy()).to(getattr(t, name))))
