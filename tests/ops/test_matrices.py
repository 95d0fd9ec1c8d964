"""Linear algebra and Fourier transforms beside what OpInfo sees: errors, gradients of gradients, chance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as ours
from tests.runtime.both import agree

pytorch = pytest.importorskip("torch")


def drawn(*shape: int, is_complex: bool = False) -> Any:
    source = np.random.default_rng(0)
    array = source.standard_normal(shape)
    array = array + 1j * source.standard_normal(shape) if is_complex else array
    return ours.from_numpy(np.array(array)).requires_grad_()


def positive(matrix: Any) -> Any:
    return matrix @ matrix.mH + 3 * ours.eye(matrix.shape[-1], dtype=matrix.dtype)


def without_phases(parts: Any) -> Any:
    """Vectors without what is left open in them."""
    return tuple(part.abs() for part in parts)


CASES: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "cholesky": (lambda x: ours.linalg.cholesky(positive(x)), [(2, 3, 3)]),
    "cholesky upper": (lambda x: ours.linalg.cholesky(positive(x), upper=True), [(3, 3)]),
    "cholesky_solve": (lambda b, x: ours.cholesky_solve(b, ours.linalg.cholesky(positive(x))), [(3, 2), (3, 3)]),
    "cholesky_inverse": (lambda x: ours.cholesky_inverse(ours.linalg.cholesky(positive(x))), [(3, 3)]),
    "qr": (lambda x: ours.linalg.qr(x), [(4, 3)]),
    "qr wide": (lambda x: ours.linalg.qr(x), [(3, 4)]),
    "lu": (lambda x: ours.linalg.lu(x)[1:], [(4, 3)]),
    "lu wide": (lambda x: ours.linalg.lu(x)[1:], [(3, 4)]),
    "lu_factor": (lambda x: ours.linalg.lu_factor(x)[0], [(2, 3, 3)]),
    "lu_solve": (lambda a, b: ours.linalg.lu_solve(*ours.linalg.lu_factor(a), b), [(2, 3, 3), (3, 2)]),
    "lu_solve adjoint": (
        lambda a, b: ours.linalg.lu_solve(*ours.linalg.lu_factor(a), b, left=False, adjoint=True),
        [(3, 3), (2, 3)],
    ),
    "solve": (lambda a, b: ours.linalg.solve(a, b), [(2, 3, 3), (3, 2)]),
    "lstsq": (lambda a, b: ours.linalg.lstsq(a, b, driver="gelsd")[:2], [(4, 3), (4, 2)]),
    "pinv": (lambda x: ours.linalg.pinv(x), [(3, 4)]),
    "svdvals": (lambda x: ours.linalg.svdvals(x), [(4, 3)]),
    "eigh": (lambda x: without_phases(ours.linalg.eigh(x + x.mH)), [(3, 3)]),
    "eig": (lambda x: without_phases(ours.linalg.eig(x)), [(3, 3)]),
    "det": (lambda x: ours.linalg.det(x), [(2, 3, 3)]),
    "slogdet": (lambda x: ours.linalg.slogdet(x), [(2, 3, 3)]),
    "inv": (lambda x: ours.linalg.inv(x), [(2, 3, 3)]),
    "householder_product": (lambda x, t: ours.linalg.householder_product(x, t), [(4, 3), (3,)]),
    "matrix_exp": (lambda x: ours.matrix_exp(x), [(3, 3)]),
    "fft2": (lambda x: ours.fft.fft2(x), [(3, 4)]),
    "irfft2": (lambda x: ours.fft.irfft2(x), [(3, 4)]),
    "vector_norm": (lambda x: ours.linalg.vector_norm(x, 3, 0), [(4, 3)]),
}


@pytest.mark.filterwarnings("ignore:Input")  # of complex128, too
@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_gradients_of_gradients(name: str, is_complex: bool) -> None:
    function, shapes = CASES[name]
    inputs = tuple(drawn(*shape, is_complex=is_complex) for shape in shapes)
    assert ours.autograd.gradcheck(function, inputs)
    assert ours.autograd.gradgradcheck(function, inputs)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.linalg.inv(t.zeros(2, 2)),
        lambda t: t.linalg.inv(t.zeros(3, 2, 2)),
        lambda t: t.linalg.cholesky(t.zeros(2, 2, 2)),
        lambda t: t.cholesky(-t.eye(2)),
        lambda t: t.linalg.solve(t.zeros(2, 2), t.ones(2)),
        lambda t: t.linalg.svd(t.full((2, 2), float("nan"))),
    ],
)
def test_errors_of_linear_algebra(call: Callable[[Any], Any]) -> None:
    said = []
    for library in (ours, pytorch):
        with pytest.raises(library.linalg.LinAlgError) as caught:
            call(library)
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert issubclass(ours.linalg.LinAlgError, RuntimeError)


def test_results_have_names() -> None:
    found = ours.linalg.svd(ours.eye(3))
    assert (found.U.shape, found.S.tolist(), found.Vh.shape) == ((3, 3), [1.0, 1.0, 1.0], (3, 3))
    assert ours.linalg.eigh(ours.eye(2)).eigenvalues.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("name", ["svd_lowrank", "pca_lowrank"])
@pytest.mark.parametrize("shape", [(20, 6), (6, 20), (2, 7, 5)])
def test_low_ranks(name: str, shape: tuple[int, ...]) -> None:
    ours.manual_seed(0)
    matrix = drawn(*shape).detach()
    count = min(shape[-2:])
    u, s, v = getattr(ours, name)(matrix, count)
    centred = matrix - matrix.mean([-2], True) if name == "pca_lowrank" else matrix
    assert ours.allclose((u * s.unsqueeze(-2)) @ v.mT, centred)


@pytest.mark.parametrize("window", ["hann", "hamming", "bartlett", "blackman", "kaiser"])
@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("length", [0, 1, 2, 9])
def test_windows(window: str, periodic: bool, length: int) -> None:
    mine, theirs = (getattr(t, f"{window}_window")(length, periodic, dtype=t.float64) for t in (ours, pytorch))
    np.testing.assert_allclose(mine.numpy(), theirs.numpy(), atol=1e-12)


def test_a_signal_is_found_again() -> None:
    signal = drawn(2, 100).detach()
    window = ours.hann_window(16, dtype=ours.float64)
    parts = ours.stft(signal, 16, window=window, return_complex=True)
    assert ours.allclose(ours.istft(parts, 16, window=window, length=100), signal)


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "int8", "uint8"])
@pytest.mark.parametrize(
    ("m", "k", "n"),
    [(17, 19, 23), (64, 64, 64), (5, 700, 9), (130, 7, 300), (1, 5000, 3), (3, 1, 9000), (200, 400, 33)],
)
@pytest.mark.parametrize("turned", ["", "first", "second", "both"])
def test_products_of_integers_wrap(dtype: str, m: int, k: int, n: int, turned: str) -> None:
    def case(t: Any) -> Any:
        t.manual_seed(m + k + n)
        kind = getattr(t, dtype)
        limits = t.iinfo(kind)
        shapes = [(k, m) if turned in ("first", "both") else (m, k), (n, k) if turned in ("second", "both") else (k, n)]
        a, b = (t.randint(limits.min, limits.max, shape, dtype=kind) for shape in shapes)
        a = a.mT if turned in ("first", "both") else a
        b = b.mT if turned in ("second", "both") else b
        before = t.randint(0, 100, (m, n), dtype=kind)
        return a @ b, t.addmm(before, a, b, beta=3, alpha=2), t.stack([a, a]) @ t.stack([b, b])

    agree(case)


def test_products_of_integers_with_a_negative_factor() -> None:
    def case(t: Any) -> Any:
        t.manual_seed(0)
        a, b, c = t.randint(-9, 9, (40, 50)), t.randint(-9, 9, (50, 60)), t.randint(-9, 9, (40, 60))
        return t.addmm(c, a, b, alpha=-3), t.addmm(c, a, b, beta=-1)

    agree(case)
