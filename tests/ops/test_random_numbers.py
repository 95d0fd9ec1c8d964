"""Random numbers are PyTorch's, bit for bit, and so is the generator's state after them."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as pytorch
from hypothesis import given, settings
from hypothesis import strategies as st

import mindtorch_v2 as ours
from tests.runtime.both import agree, agree_or_raise, outcome

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
SHAPES = ((), (1,), (2,), (15,), (16,), (17,), (40, 30), (3, 5, 7), (0,), (2, 0, 3), (5000,))

# Beside Intel's processors, and with Intel's library, PyTorch draws some numbers from a generator of that library.
FROM_MKL = pytorch.backends.mkl.is_available() and "GenuineIntel" in Path("/proc/cpuinfo").read_text()
not_from_mkl = pytest.mark.skipif(FROM_MKL, reason="PyTorch draws these from Intel's library on this processor")


def raw(tensor: Any) -> bytes:
    """The bits of a tensor's elements, in the order of its indices."""
    if str(tensor.dtype) == "torch.bfloat16":
        tensor = tensor.float()
    return bytes(tensor.detach().contiguous().numpy().tobytes())


def same(case: Callable[[Any, Any], Any]) -> None:
    """``case(torch, generator)`` gives the same bits, and leaves the generator in the same state."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, mine = pytorch.Generator().manual_seed(7), ours.Generator().manual_seed(7)
        expected, got = case(pytorch, theirs), case(ours, mine)
    assert tuple(got.shape) == tuple(expected.shape)
    assert str(got.dtype) == str(expected.dtype)
    assert raw(got) == raw(expected)
    assert raw(mine.get_state()) == raw(theirs.get_state())


def laid_out(torch: Any, shape: tuple[int, ...], dtype: str, form: str) -> Any:
    kind = getattr(torch, dtype)
    if form == "transposed":
        return torch.zeros(shape[::-1], dtype=kind).permute(tuple(range(len(shape)))[::-1])
    if form == "strided":
        return torch.zeros((*shape, 2), dtype=kind)[..., 0]
    return torch.zeros(shape, dtype=kind)


FILLS: dict[str, tuple[tuple[str, ...], Callable[[Any, Any], Any]]] = {
    "uniform_": (FLOATS, lambda x, g: x.uniform_(generator=g)),
    "uniform_ of a range": (FLOATS, lambda x, g: x.uniform_(-0.3, 1.9, generator=g)),
    "normal_": (FLOATS, lambda x, g: x.normal_(generator=g)),
    "normal_ of a mean and a spread": (FLOATS, lambda x, g: x.normal_(0.3, 1.7, generator=g)),
    "log_normal_": (FLOATS, lambda x, g: x.log_normal_(0.3, 1.7, generator=g)),
    "cauchy_": (FLOATS, lambda x, g: x.cauchy_(0.3, 1.7, generator=g)),
    "geometric_": ((*FLOATS, *INTEGERS), lambda x, g: x.geometric_(0.2, generator=g)),
    "random_": ((*FLOATS, *INTEGERS, "bool"), lambda x, g: x.random_(generator=g)),
    "random_ to 10": ((*FLOATS, *INTEGERS), lambda x, g: x.random_(10, generator=g)),
    "random_ from 3 to 4": ((*FLOATS, *INTEGERS), lambda x, g: x.random_(3, 4, generator=g)),
    "random_ from -5 to 100": ((*FLOATS, "int64", "int8"), lambda x, g: x.random_(-5, 100, generator=g)),
    "random_ of what takes 64 bits": (("int64", "int32", "float32", "float64", "bfloat16"),
                                      lambda x, g: x.random_(0, 2**31 - 1, generator=g)),
    "random_ beyond what floats tell apart": (("float32", "float64", "bfloat16", "int64"),
                                              lambda x, g: x.random_(-(2**40) - 1, 2**60 + 1, generator=g)),
    "random_ from a number on": ((*FLOATS, *INTEGERS), lambda x, g: x.random_(3, None, generator=g)),
    "random_ of 64 bits": (("int64", "float32", "float64", "bfloat16"),
                           lambda x, g: x.random_(-(2**63), None, generator=g)),
    "bernoulli_ of doubles": ((*FLOATS, *INTEGERS, "bool"),
                              lambda x, g: x.bernoulli_(like(x, 0.3, "float64"), generator=g)),
    "bernoulli_ of floats": (("float32", "bool"), lambda x, g: x.bernoulli_(like(x, 0.3, "float32"), generator=g)),
    "bernoulli_ of halves": (("float32",), lambda x, g: x.bernoulli_(like(x, 0.3, "float16"), generator=g)),
}  # fmt: skip
BY_MKL: dict[str, tuple[tuple[str, ...], Callable[[Any, Any], Any]]] = {
    "bernoulli_": ((*FLOATS, *INTEGERS, "bool"), lambda x, g: x.bernoulli_(0.3, generator=g)),
    "bernoulli_ of 0": (("float32",), lambda x, g: x.bernoulli_(0, generator=g)),
    "bernoulli_ of 1": (("float32",), lambda x, g: x.bernoulli_(1, generator=g)),
    "exponential_": (FLOATS, lambda x, g: x.exponential_(generator=g)),
    "exponential_ of a rate": (FLOATS, lambda x, g: x.exponential_(1.7, generator=g)),
}


def like(x: Any, value: float, dtype: str) -> Any:
    library = ours if isinstance(x, ours.Tensor) else pytorch
    return library.full(tuple(x.shape), value, dtype=getattr(library, dtype))


def check_fill(dtypes: tuple[str, ...], fill: Callable[[Any, Any], Any]) -> None:
    for dtype, shape, form in itertools.product(dtypes, SHAPES, ("contiguous", "transposed", "strided")):

        def twice(torch: Any, g: Any, shape: Any = shape, dtype: str = dtype, form: str = form) -> Any:
            x = laid_out(torch, shape, dtype, form)
            fill(x, g)
            return fill(x, g)  # from the middle of a block of the generator's, and with a number kept

        same(twice)


@pytest.mark.parametrize("name", FILLS)
def test_fills(name: str) -> None:
    check_fill(*FILLS[name])


@not_from_mkl
@pytest.mark.parametrize("name", BY_MKL)
def test_fills_that_intels_library_may_make(name: str) -> None:
    check_fill(*BY_MKL[name])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("shape", [(3,), (40,), (4, 5)])
def test_complex_numbers(dtype: str, shape: tuple[int, ...]) -> None:
    same(lambda t, g: t.zeros(shape, dtype=getattr(t, dtype)).normal_(generator=g))
    same(lambda t, g: t.zeros(shape, dtype=getattr(t, dtype)).uniform_(-1, 2, generator=g))
    same(lambda t, g: t.randn(shape, dtype=getattr(t, dtype), generator=g))


CREATED: dict[str, Callable[[Any, Any], Any]] = {
    "rand": lambda t, g: t.rand(3, 50, generator=g),
    "rand of doubles": lambda t, g: t.rand(70, dtype=t.float64, generator=g),
    "randn": lambda t, g: t.randn(3, 50, generator=g),
    "randn of few": lambda t, g: t.randn(7, generator=g),
    "randn of doubles": lambda t, g: t.randn(70, dtype=t.float64, generator=g),
    "randint": lambda t, g: t.randint(10, (100,), generator=g),
    "randint from": lambda t, g: t.randint(-5, 10, (100,), generator=g),
    "randint of bytes": lambda t, g: t.randint(0, 256, (100,), dtype=t.uint8, generator=g),
    "randint of floats": lambda t, g: t.randint(0, 100, (100,), dtype=t.float32, generator=g),
    "randint of 32 bits": lambda t, g: t.randint(0, 2**32, (100,), generator=g),
    "randperm": lambda t, g: t.randperm(1000, generator=g),
    "randperm of none": lambda t, g: t.randperm(0, generator=g),
    "randperm of int32": lambda t, g: t.randperm(100, dtype=t.int32, generator=g),
    "randperm of floats": lambda t, g: t.randperm(100, dtype=t.float32, generator=g),
    "normal": lambda t, g: t.normal(1.0, 2.0, (33,), generator=g),
    "normal around": lambda t, g: t.normal(t.arange(20.0), 2.0, generator=g),
    "normal wide": lambda t, g: t.normal(3.0, t.arange(20.0), generator=g),
    "normal around and wide": lambda t, g: t.normal(t.arange(20.0), t.arange(20.0), generator=g),
    "normal, broadcast": lambda t, g: t.normal(t.arange(5.0), t.arange(20.0).reshape(4, 5), generator=g),
    "poisson": lambda t, g: t.poisson(t.arange(60.0), generator=g),
    "poisson of doubles": lambda t, g: t.poisson(t.arange(60.0, dtype=t.float64).reshape(6, 10).t(), generator=g),
    "poisson of halves": lambda t, g: t.poisson(t.arange(60.0).to(t.float16), generator=g),
    "binomial": lambda t, g: t.binomial(t.arange(100.0), t.arange(100.0) / 99, generator=g),
    "binomial of doubles": lambda t, g: t.binomial(
        t.full((50,), 90.0, dtype=t.float64), t.arange(50.0, dtype=t.float64) / 49, generator=g),
    "gamma": lambda t, g: t._standard_gamma(t.arange(100.0) / 8, generator=g),
    "gamma of doubles": lambda t, g: t._standard_gamma(t.arange(1, 99, dtype=t.float64) / 7, generator=g),
    "dirichlet": lambda t, g: t._sample_dirichlet(t.arange(1.0, 101.0).reshape(20, 5) / 16, generator=g),
    "multinomial": lambda t, g: t.multinomial(t.arange(20.0), 500, True, generator=g),
    "multinomial of rows": lambda t, g: t.multinomial(t.arange(60.0).reshape(3, 20), 50, True, generator=g),
    "bernoulli of tensors": lambda t, g: t.bernoulli(t.arange(50.0) / 49, generator=g),
    "bernoulli of doubles": lambda t, g: t.bernoulli(t.arange(50.0, dtype=t.float64) / 49, generator=g),
}  # fmt: skip
CREATED_BY_MKL: dict[str, Callable[[Any, Any], Any]] = {
    "bernoulli of a number": lambda t, g: t.bernoulli(t.zeros(50), 0.3, generator=g),
    "multinomial of one": lambda t, g: t.multinomial(t.arange(20.0), 1, generator=g),
    "multinomial without replacement": lambda t, g: t.multinomial(t.arange(1.0, 21.0), 15, generator=g),
    "multinomial of transposed rows": lambda t, g: t.multinomial(
        t.arange(1.0, 61.0).reshape(20, 3).t(), 5, generator=g
    ),
    "multinomial of halves": lambda t, g: t.multinomial((t.arange(1.0, 400.0) / 400).to(t.float16), 5, generator=g),
}


@pytest.mark.parametrize("name", CREATED)
def test_tensors_made_anew(name: str) -> None:
    same(CREATED[name])


@not_from_mkl
@pytest.mark.parametrize("name", CREATED_BY_MKL)
def test_tensors_made_anew_that_intels_library_may_make(name: str) -> None:
    same(CREATED_BY_MKL[name])


BY_DEFAULT: dict[str, Callable[[Any], Any]] = {
    "rand_like": lambda t: t.rand_like(t.zeros(4, 6)),
    "rand_like of a transposed tensor": lambda t: t.rand_like(t.zeros(4, 6).t()),
    "randn_like of a transposed tensor": lambda t: t.randn_like(t.zeros(4, 6).t()),
    "randn_like in doubles": lambda t: t.randn_like(t.zeros(4, 6), dtype=t.float64),
    "randint_like": lambda t: t.randint_like(t.zeros(4, 6), 10),
    "randint_like from": lambda t: t.randint_like(t.zeros(4, 6), -3, 10),
    "seeds and states": lambda t: [t.manual_seed(5).initial_seed(), t.rand(3), t.initial_seed(), t.get_rng_state()],
    "kept numbers": lambda t: [t.randn(3), t.get_rng_state(), t.randn(3), t.rand(2)],
    "a linear layer": lambda t: list(t.nn.Linear(20, 30).parameters()),
    "an embedding": lambda t: list(t.nn.Embedding(20, 30).parameters()),
    "uniform_": lambda t: t.nn.init.uniform_(t.zeros(9, 9), -2, 2),
    "normal_": lambda t: t.nn.init.normal_(t.zeros(9, 9), 1, 2),
    "xavier_uniform_": lambda t: t.nn.init.xavier_uniform_(t.zeros(9, 7), gain=2.0),
    "xavier_normal_": lambda t: t.nn.init.xavier_normal_(t.zeros(9, 7, 3)),
    "kaiming_uniform_": lambda t: t.nn.init.kaiming_uniform_(t.zeros(9, 7), a=0.3),
    "kaiming_normal_": lambda t: t.nn.init.kaiming_normal_(t.zeros(9, 7), mode="fan_out", nonlinearity="relu"),
    "trunc_normal_": lambda t: t.nn.init.trunc_normal_(t.zeros(9, 7), 0.5, 2.0, -1.0, 3.0),
    "trunc_normal_ of a tail": lambda t: t.nn.init.trunc_normal_(t.zeros(9, 7), 0.0, 1.0, 1.5, 4.0),
    "trunc_normal_ far from its mean": lambda t: t.nn.init.trunc_normal_(t.zeros(90, 7), 0.0, 1.0, 3.0, 4.0),
    "trunc_normal_ of doubles": lambda t: t.nn.init.trunc_normal_(t.zeros(9, 7, dtype=t.float64)),
    "sparse_": lambda t: t.nn.init.sparse_(t.zeros(9, 7), 0.3),
    "eye_": lambda t: t.nn.init.eye_(t.ones(5, 7)),
    "dirac_": lambda t: [t.nn.init.dirac_(t.ones(4, 3, *(3,) * d), groups) for d in (1, 2, 3) for groups in (1, 2)],
    "orthogonal_": lambda t: [t.nn.init.orthogonal_(t.zeros(*shape), 2.0) for shape in ((5, 5), (3, 7), (7, 3, 2))],
}  # fmt: skip


@pytest.mark.parametrize("name", BY_DEFAULT)
def test_the_default_generator(name: str) -> None:
    def case(torch: Any) -> Any:
        torch.manual_seed(11)
        return BY_DEFAULT[name](torch), torch.rand(2)

    agree(case)


@not_from_mkl
@pytest.mark.parametrize("form", ["contiguous", "transposed", "strided"])
@pytest.mark.parametrize("p", [0.0, 0.3, 0.5, 1.0])
def test_dropout(form: str, p: float) -> None:
    def case(torch: Any) -> Any:
        torch.manual_seed(3)
        x = laid_out(torch, (13, 17), "float32", form).fill_(2.0).requires_grad_()
        y = torch.nn.functional.dropout(x, p)
        y.sum().backward()
        kept, mask = torch.native_dropout(x.detach(), p, True)
        return y, x.grad, kept, mask, torch.rand(1)

    agree(case)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_many_numbers(dtype: str) -> None:
    for fill in (lambda x, g: x.normal_(generator=g), lambda x, g: x.uniform_(generator=g)):
        same(lambda t, g, fill=fill: fill(t.empty((1 << 22) + 5, dtype=getattr(t, dtype)), g))


def test_the_plainest_code_draws_as_pytorchs_does() -> None:
    """Without AVX2 PyTorch's compiler rounds otherwise; so do our kernels."""
    code = """
import mindtorch_v2 as ours, torch
for name in ("float32", "float64", "float16"):
    for n in (7, 1000):
        for fill in ("normal_", "uniform_", "cauchy_"):
            x, y = (t.empty(n, dtype=getattr(t, name)) for t in (ours, torch))
            for t, z in ((ours, x), (torch, y)):
                getattr(z, fill)(0.3, 1.7, generator=t.Generator().manual_seed(5))
            assert x.numpy().tobytes() == y.numpy().tobytes(), (name, n, fill)
"""
    environment = {**os.environ, "ATEN_CPU_CAPABILITY": "default"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


@settings(max_examples=200, deadline=None)
@given(st.integers(-(2**63), 2**64 - 1), st.integers(0, 700), st.sampled_from(FLOATS), st.integers(0, 40))
def test_any_seed_and_size(seed: int, before: int, dtype: str, count: int) -> None:
    def case(torch: Any, _: Any) -> Any:
        generator = torch.Generator().manual_seed(seed)
        torch.rand(before, generator=generator)
        x = torch.empty(count, dtype=getattr(torch, dtype))
        return torch.cat([f(generator=generator).clone() for f in (x.normal_, x.uniform_, x.random_, x.normal_)])

    same(case)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(("int64", "int32", "int8", "uint8", "bool", *FLOATS)),
    st.integers(-(2**63), 2**63 - 1) | st.integers(-300, 300) | st.integers(-(2**25), 2**25),
    st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(-300, 300) | st.integers(-(2**25), 2**25),
)
def test_random_integers_of_any_range(dtype: str, first: int, to: int | None) -> None:
    def case(torch: Any) -> Any:
        return torch.zeros(5, dtype=getattr(torch, dtype)).random_(
            first, to, generator=torch.Generator().manual_seed(1)
        )

    refused = str(outcome(pytorch, case).error)
    if "'from' casted to dtype to be less than or equal" not in refused:  # which it may be: it compares other numbers
        agree_or_raise(case)


ERRORS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "a negative spread": ("normal expects std >= 0.0, but found std -1", lambda t: t.empty(3).normal_(0, -1)),
    "a rate of 0": ("exponential_ expects lambda > 0.0", lambda t: t.empty(3).exponential_(0)),
    "exponential_ of integers": ("dtype must be a floating point", lambda t: t.zeros(3, dtype=t.int64).exponential_()),
    "a certain success": ("geometric_ expects p to be in (0, 1)", lambda t: t.empty(3).geometric_(1)),
    "a log_normal_ without spread": ("log_normal_ expects std > 0.0", lambda t: t.empty(3).log_normal_(0, 0)),
    "a cauchy_ without spread": ("cauchy_ expects sigma > 0.0", lambda t: t.empty(3).cauchy_(0, 0)),
    "cauchy_ of integers": ("continuous probability distribution", lambda t: t.zeros(3, dtype=t.int64).cauchy_()),
    "a range that ends before it starts": ("but found from=2", lambda t: t.empty(3).uniform_(2, 1)),
    "no integers": ("but got from=3 >= to=2", lambda t: t.empty(3).random_(3, 2)),
    "none to draw from": ("but got from=0 >= to=0", lambda t: t.randint(0, 0, (3,))),
    "integers that do not fit": ("is out of bounds for", lambda t: t.randint(0, 1000, (3,), dtype=t.uint8)),
    "more than a certainty": ("bernoulli_ expects p to be in [0, 1], but got p=2", lambda t: t.empty(3).bernoulli_(2)),
    "more than a certainty in a tensor": ("p_in >= 0 && p_in <= 1", lambda t: t.bernoulli(t.tensor([0.5, 2.0]))),
    "probabilities of integers": ("not implemented for", lambda t: t.empty(3).bernoulli_(t.tensor([0, 1, 0]))),
    "memory seen twice": ("more than one element of the written-to tensor", lambda t: t.empty(1).expand(3).normal_()),
    "another device's generator": ("", lambda t: t.rand(3, generator=3)),
    "uniform integers": ("not implemented for", lambda t: t.zeros(3, dtype=t.int64).uniform_()),
    "too many of few integers": ("n cannot be greater than 2049 for", lambda t: t.randperm(3000, dtype=t.float16)),
    "a permutation of truth values": ("not implemented for", lambda t: t.randperm(3, dtype=t.bool)),
    "weights below 0": ("or element < 0", lambda t: t.multinomial(t.tensor([1.0, -1.0]), 1)),
    "weights below 0, replaced": ("probability entry < 0", lambda t: t.multinomial(t.tensor([1.0, -1.0]), 2, True)),
    "infinite weights": ("infinity or NaN", lambda t: t.multinomial(t.tensor([1.0, float("inf")]), 2, True)),
    "no weights": ("sum of probabilities <= 0", lambda t: t.multinomial(t.zeros(3), 2)),
    "more samples than there are": ("without replacement", lambda t: t.multinomial(t.ones(3), 4)),
    "no samples": ("cannot sample n_sample <= 0", lambda t: t.multinomial(t.ones(3), 0)),
    "weights of three dimensions": ("must be 1 or 2 dim", lambda t: t.multinomial(t.ones(3, 3, 3), 1)),
    "a negative deviation in a tensor": ("std >= 0.0", lambda t: t.normal(0.0, t.tensor([1.0, -1.0]))),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    quoted, case = ERRORS[name]
    agree(case, quoted)


def test_how_gamma_and_beta_variables_move() -> None:
    """By differences of the distribution function in float64; PyTorch's tables are good to three digits."""
    special = pytest.importorskip("scipy.special")
    stats = pytest.importorskip("scipy.stats")
    a = np.array([0.05, 0.3, 0.9, 1.0, 2.5, 40.0, 200.0, 3.0])
    x = np.array([0.001, 0.1, 0.3, 5.0, 9.0, 60.0, 230.0, 0.01])
    h = 1e-6 * a
    moved = (special.gammainc(a - h, x) - special.gammainc(a + h, x)) / (2 * h) / stats.gamma.pdf(x, a)
    found = ours._standard_gamma_grad(ours.tensor(a), ours.tensor(x)).numpy()
    np.testing.assert_allclose(found, moved, rtol=1e-6)
    b, y = np.array([1.0, 3, 0.2, 30, 2, 5, 0.1, 1]), np.array([0.1, 0.5, 0.9, 0.05, 0.8, 0.97, 0.999, 1e-4])
    moved = (special.betainc(a - h, b, y) - special.betainc(a + h, b, y)) / (2 * h) / stats.beta.pdf(y, a, b) / (1 - y)
    found = ours._dirichlet_grad(ours.tensor(y), ours.tensor(a), ours.tensor(a + b)).numpy()
    np.testing.assert_allclose(found, moved, rtol=1e-5)
    large = ours.tensor([2e5, 1e7], dtype=ours.float64)
    np.testing.assert_allclose(ours._standard_gamma_grad(large, large).numpy(), 1, rtol=1e-4)
    nan = ours._standard_gamma_grad(ours.tensor([-1.0, 1.0]), ours.tensor([1.0, float("nan")]))
    assert nan.isnan().all()
