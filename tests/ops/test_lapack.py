"""Linear algebra beside PyTorch's: dtypes, layouts and batches, small matrices and large; what has no answer."""

from __future__ import annotations

import ctypes
import itertools
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as ours
from mindtorch_v2.kernels import _orthogonal, spectra
from tests.runtime.both import agree

pytorch = pytest.importorskip("torch")

DTYPES = ["float32", "float64", "complex64", "complex128"]
SHAPES = [(1, 1), (4, 4), (2, 3, 5, 5), (0, 3, 3), (0, 0), (2, 0, 0), (70, 70), (2, 66, 66)]
OBLONG = [(5, 3), (3, 5), (2, 4, 2), (2, 2, 4), (0, 4, 2), (70, 66), (66, 70), (3, 0), (0, 3)]


def drawn(shape: tuple[int, ...], dtype: str) -> Any:
    source = np.random.default_rng(len(shape) + sum(shape))
    array = source.standard_normal(shape)
    return (array + 1j * source.standard_normal(shape) if "complex" in dtype else array).astype(dtype)


def wide_steps(t: Any, x: Any) -> Any:
    """Every second row and every third column of a larger matrix."""
    whole = t.zeros(*x.shape[:-2], 2 * x.shape[-2], 3 * x.shape[-1], dtype=x.dtype)
    part = whole[..., ::2, 1::3]
    part.copy_(x)
    return part


LAYOUTS: dict[str, Callable[[Any, Any], Any]] = {
    "rows": lambda t, x: x,
    "columns": lambda t, x: x.mT.contiguous().mT,
    "steps": wide_steps,
    "conjugate": lambda t, x: x.conj().resolve_conj().conj() if x.is_complex() else x,
    "expanded": lambda t, x: x.expand(2, *x.shape),
}


def invertible(t: Any, x: Any) -> Any:
    return x + 3 * x.shape[-1] * t.eye(x.shape[-1], dtype=x.dtype)


def positive(t: Any, x: Any) -> Any:
    return x @ x.mH + 3 * t.eye(x.shape[-1], dtype=x.dtype)


def rebuilt_svd(t: Any, x: Any, full: bool) -> Any:
    u, s, v = t.linalg.svd(x, full_matrices=full)
    rank = s.shape[-1]
    product = (u[..., :rank] * s.unsqueeze(-2).to(u.dtype)) @ v[..., :rank, :]
    return s, product, u.mH @ u, v @ v.mH


def rebuilt_eigh(t: Any, x: Any, triangle: str) -> Any:
    values, vectors = t.linalg.eigh(x, UPLO=triangle)
    return values, (vectors * values.unsqueeze(-2).to(x.dtype)) @ vectors.mH, vectors.mH @ vectors


def rebuilt_eig(t: Any, x: Any) -> Any:
    values, vectors = t.linalg.eig(x)
    rest = x.to(vectors.dtype) @ vectors - vectors * values.unsqueeze(-2)
    return values.abs().sort(-1)[0], rest, (vectors.abs() ** 2).sum(-2)


def right_of(t: Any, x: Any, left: bool) -> Any:
    """What equations have on the right, of a matrix: its first columns or rows."""
    return x[..., :2].clone() if left else x[..., :2, :].clone()


SQUARE: dict[str, Callable[[Any, Any], Any]] = {
    "eigh": lambda t, x: [rebuilt_eigh(t, x + x.mH, triangle) for triangle in "LU"],
    "one triangle": lambda t, x: (t.linalg.eigvalsh(x), t.linalg.eigvalsh(x, UPLO="U")),
    "eig": rebuilt_eig,
    "eigvals": lambda t, x: t.linalg.eigvals(x).abs().sort(-1)[0],
    "cholesky": lambda t, x: [t.linalg.cholesky(positive(t, x), upper=upper) for upper in (False, True)],
    "cholesky_ex": lambda t, x: t.linalg.cholesky_ex(-positive(t, x)).info,
    "cholesky_solve": lambda t, x: [
        t.cholesky_solve(right_of(t, x, True), t.linalg.cholesky(positive(t, x), upper=upper), upper)
        for upper in (False, True)
    ],
    "cholesky_inverse": lambda t, x: t.cholesky_inverse(t.linalg.cholesky(positive(t, x))),
    "inv": lambda t, x: t.linalg.inv_ex(invertible(t, x)),
    "det": lambda t, x: (t.linalg.det(x / max(x.shape[-1], 1) ** 0.5), *t.linalg.slogdet(x)),
    "matrix_exp": lambda t, x: [t.matrix_exp(x * by) for by in (1e-9, 1e-4, 1e-2, 0.05, 0.2, 0.5, 1.5)],
    "ldl": lambda t, x: t.linalg.ldl_factor(x + x.mT),
    "ldl of Hermitian ones": lambda t, x: t.linalg.ldl_factor(x + x.mH, hermitian=True),
    "ldl_solve": lambda t, x: t.linalg.ldl_solve(*t.linalg.ldl_factor(invertible(t, x + x.mT)), right_of(t, x, True)),
    "pinv of Hermitian ones": lambda t, x: t.linalg.pinv(invertible(t, x + x.mH), hermitian=True),
    "solve": lambda t, x: [t.linalg.solve(invertible(t, x), right_of(t, x, left), left=left) for left in (True, False)],
}
ANY: dict[str, Callable[[Any, Any], Any]] = {
    "svd": lambda t, x: [rebuilt_svd(t, x, full) for full in (False, True)],
    "svdvals": lambda t, x: t.linalg.svdvals(x),
    "qr": lambda t, x: [[part.abs() for part in t.linalg.qr(x, mode)] for mode in ("reduced", "complete", "r")],
    "geqrf": lambda t, x: [part.abs() for part in t.geqrf(x)],
    "lu": lambda t, x: t.linalg.lu(x),
    "lu_factor_ex": lambda t, x: t.linalg.lu_factor_ex(x),
    "lu_unpack": lambda t, x: [
        t.lu_unpack(*t.linalg.lu_factor_ex(x)[:2], unpack_data=data, unpack_pivots=not data) for data in (False, True)
    ],
    "pinv": lambda t, x: t.linalg.pinv(x),
    "rank": lambda t, x: t.linalg.matrix_rank(x),
    "cond": lambda t, x: (t.linalg.cond(x), t.linalg.cond(x, -2)),
    "norms": lambda t, x: [t.linalg.matrix_norm(x, kind, keepdim=True) for kind in (1, 2, float("inf"), "nuc")],
}


def close(mine: Any, theirs: Any, dtype: str) -> None:
    if isinstance(theirs, (list, tuple)):
        assert len(mine) == len(theirs)
        for a, b in zip(mine, theirs, strict=True):
            close(a, b, dtype)
        return
    a, b = (np.asarray(x.detach().resolve_conj().numpy()) for x in (mine, theirs))
    assert a.dtype == b.dtype
    assert a.shape == b.shape
    size = float(np.abs(b).max()) if b.size else 1.0
    tolerance = (1e-10 if dtype in ("float64", "complex128") else 2e-4) * max(size, 1.0)
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance)


CASES = [
    (name, call, shapes) for calls, shapes in ((SQUARE, SHAPES), (ANY, SHAPES + OBLONG)) for name, call in calls.items()
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "call", "shapes"), CASES, ids=[name for name, _, _ in CASES])
def test_the_same_as_pytorch(
    name: str, call: Callable[[Any, Any], Any], shapes: list[tuple[int, ...]], dtype: str, layout: str
) -> None:
    for shape in shapes:
        if max(shape) > 60 and (layout != "columns" or name == "eig"):
            continue
        array = drawn(shape, dtype)
        mine, theirs = (call(t, LAYOUTS[layout](t, t.from_numpy(array.copy()))) for t in (ours, pytorch))
        close(mine, theirs, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("upper", "left", "ones"), list(itertools.product([False, True], repeat=3)))
@pytest.mark.parametrize("shapes", [((4, 4), (4, 4)), ((3, 4, 4), (4, 2)), ((4, 4), (2, 4, 3)), ((70, 70), (70, 3))])
def test_triangles(dtype: str, upper: bool, left: bool, ones: bool, shapes: tuple[tuple[int, ...], ...]) -> None:
    matrix, right = (drawn(shape, dtype) / 8 for shape in shapes)

    def solved(t: Any, turned: bool) -> Any:
        triangle, other = t.from_numpy(matrix.copy()), t.from_numpy(right.copy())
        triangle = triangle + t.eye(triangle.shape[-1], dtype=triangle.dtype)
        triangle = triangle.mT.contiguous().mT if turned else triangle
        other = other if left else other.mT
        return t.linalg.solve_triangular(triangle, other, upper=upper, left=left, unitriangular=ones)

    for turned in (False, True):
        close(solved(ours, turned), solved(pytorch, turned), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("left", "adjoint"), list(itertools.product([False, True], repeat=2)))
@pytest.mark.parametrize("shapes", [((4, 4), (4, 4)), ((3, 4, 4), (4, 2)), ((4, 4), (2, 4, 3)), ((70, 70), (70, 3))])
def test_solutions_by_factors(dtype: str, left: bool, adjoint: bool, shapes: tuple[tuple[int, ...], ...]) -> None:
    matrix, right = (drawn(shape, dtype) for shape in shapes)

    def solved(t: Any) -> Any:
        factors = t.linalg.lu_factor(invertible(t, t.from_numpy(matrix.copy())))
        other = t.from_numpy(right.copy())
        return t.linalg.lu_solve(*factors, other if left else other.mT, left=left, adjoint=adjoint)

    close(solved(ours), solved(pytorch), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("driver", [None, "gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize(
    "shapes",
    [
        ((5, 3), (5, 2)),
        ((3, 5), (3, 2)),
        ((2, 5, 3), (2, 5, 2)),
        ((2, 5, 3), (2, 5)),
        ((1, 5, 3), (4, 5, 2)),
        ((70, 66), (70, 1)),
    ],
)
def test_least_squares(dtype: str, driver: str | None, shapes: tuple[tuple[int, ...], ...]) -> None:
    matrix, right = (drawn(shape, dtype) for shape in shapes)
    mine, theirs = (
        t.linalg.lstsq(t.from_numpy(matrix.copy()), t.from_numpy(right.copy()), driver=driver) for t in (ours, pytorch)
    )
    close(tuple(mine), tuple(theirs), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shapes", [((4, 3), (3,)), ((2, 5, 5), (2, 3)), ((3, 3), (0,)), ((4, 0), (0,)), ((0, 3, 2), (0, 1))]
)
def test_products_of_reflections(dtype: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    def product(t: Any) -> Any:
        given = [t.from_numpy(drawn(shape, dtype)).requires_grad_() for shape in shapes]
        found = t.linalg.householder_product(*given)
        found.backward(t.from_numpy(drawn(found.shape, dtype)))
        return found, *(part.grad if part.grad is not None else t.zeros_like(part) for part in given)

    close(product(ours), product(pytorch), dtype)
    agree(lambda t: t.linalg.householder_product(t.ones(3, 4), t.ones(3)), quoted="must be greater than or equal to")


def faults(call: Callable[[Any], Any]) -> list[str]:
    """What both say of a matrix that has no answer."""
    said = []
    for library in (ours, pytorch):
        with pytest.raises(library.linalg.LinAlgError) as caught:
            call(library)
        said.append(str(caught.value))
    return said


@pytest.mark.parametrize("driver", ["gelsd", "gelss"])
def test_least_squares_of_a_lower_rank(driver: str) -> None:
    agree(lambda t: list(t.linalg.lstsq(t.ones(4, 3), t.arange(4.0).unsqueeze(-1), driver=driver)))
    agree(lambda t: list(t.linalg.lstsq(t.diag(t.tensor([3.0, 2, 1])), t.ones(3, 1), rcond=0.5, driver=driver)))


def test_least_squares_by_the_largest_columns() -> None:
    # PyTorch gives gelsy the order of the columns in memory that nobody wrote, where another number than 0 pins a
    # column: which of them it leaves out differs from call to call. Ours begins anew for each matrix.
    matrices = ours.stack([ours.diag(ours.tensor(numbers)) for numbers in ([3.0, 2, 1], [1.0, 2, 3])])
    found = ours.linalg.lstsq(matrices, ours.ones(2, 3, 1), rcond=0.5, driver="gelsy")
    assert found.rank.tolist() == [2, 2]
    ours.testing.assert_close(found.solution[..., 0], ours.tensor([[1 / 3, 1 / 2, 0], [0, 1 / 2, 1 / 3]]))
    found = ours.linalg.lstsq(ours.ones(4, 3), ours.arange(4.0).unsqueeze(-1), driver="gelsy")
    assert found.rank == 1
    ours.testing.assert_close(found.solution, ours.full((3, 1), 0.5))


def test_least_squares_that_are_not_found() -> None:
    low = [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    said = faults(lambda t: t.linalg.lstsq(t.tensor([[[1.0, 0], [0, 1], [0, 0]], low]), t.ones(2, 3, 1), driver="gels"))
    assert said[0] == said[1]
    assert "does not have full rank (error code: 2)" in said[0]
    for driver in ("gels", "gelsy", "gelsd", "gelss"):
        with pytest.raises(RuntimeError, match="because of NaN"):
            ours.linalg.lstsq(ours.full((3, 2), float("nan")), ours.ones(3, 1), driver=driver)
        with pytest.raises(RuntimeError, match="because of NaN"):
            ours.linalg.lstsq(ours.ones(3, 2), ours.full((3, 1), float("nan")), driver=driver)
        assert ours.linalg.lstsq(ours.eye(2), ours.full((2, 1), float("inf")), driver=driver)[0].isnan().all()


def test_what_is_not_finite() -> None:
    said = faults(lambda t: t.linalg.svdvals(t.full((2, 2), float("nan"))))
    assert said[0] == said[1]
    for bad in (float("nan"), float("inf")):
        for shape in ((2, 2), (3, 2, 2)):

            def broken(t: Any, shape: tuple[int, ...] = shape, bad: float = bad) -> Any:
                matrix = t.ones(shape)
                matrix[..., 0, 1].fill_(bad) if matrix.dim() == 2 else matrix[1, 0, 1].fill_(bad)
                return matrix

            for name in ("svd", "svdvals"):
                with pytest.raises(ours.linalg.LinAlgError) as caught:
                    getattr(ours.linalg, name)(broken(ours))
                where = "(Batch element 1): " if len(shape) == 3 else ""
                assert f"linalg.svd: {where}The algorithm failed to converge because the input" in str(caught.value)
            agree(lambda t: t.linalg.eig(broken(t)), quoted="input tensor should not contain infs or NaNs")
            with pytest.raises(RuntimeError, match="should not contain infs or NaNs"):
                ours.linalg.eigvals(broken(ours))
            values = ours.linalg.eigvalsh(broken(ours))
            assert values.isnan().sum() == 2
            assert ours.matrix_exp(broken(ours)).isnan().sum() == 4


def test_exchanges_that_no_factorization_has() -> None:
    for pivots in ([1, 2, 9], [0, 1, 2], [1, 2, -9], [-4, -4, 1]):
        agree(
            lambda t, p=pivots: t.linalg.ldl_solve(t.eye(3), t.tensor(p, dtype=t.int32), t.ones(3, 1)),  # type: ignore[misc]
            quoted="Pivots given to ldl_solve must all satisfy",
        )
    for pivots in ([1, 2, -1], [-1, 2, 3], [-1, -1, -1], [1, -2, 3]):  # PyTorch reads what lies beside the matrix
        with pytest.raises(RuntimeError, match="negative in pairs"):
            ours.linalg.ldl_solve(ours.eye(3), ours.tensor(pivots, dtype=ours.int32), ours.ones(3, 1))
    for size in (3, 70):
        for wrong in (0, size + 1):
            given = ours.arange(1, size + 1, dtype=ours.int32)
            given[1] = wrong
            with pytest.raises(RuntimeError, match=r"must all be (greater|smaller) or equal to"):
                ours.linalg.lu_solve(ours.eye(size), given, ours.ones(size, 1))
            with pytest.raises(RuntimeError, match="between 1 and"):
                ours.lu_unpack(ours.eye(size), given)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (2, 0, 3), (2, 3, 0), (0, 2, 3), (0, 3, 0)])
def test_norms_of_matrices_without_elements(shape: tuple[int, ...]) -> None:
    norms: list[Any] = [1, 2, float("inf"), "fro", "nuc"]
    for kind in norms:
        agree(lambda t, kind=kind: t.linalg.matrix_norm(t.zeros(shape), kind))  # type: ignore[misc]
    for kind in [None, 1, -1, 2, -2, float("inf")]:
        agree(lambda t, kind=kind: t.linalg.cond(t.zeros(shape), kind))  # type: ignore[misc]


def test_exponentials_of_large_and_lopsided_matrices() -> None:
    def exact(rows: list[list[float]]) -> Any:
        return ours.matrix_exp(ours.tensor(rows, dtype=ours.float64))

    # Powers that are 0 make halving superfluous; what is far from 0 alone would make the rest inexact.
    assert exact([[0, 1e6], [0, 0]]).tolist() == [[1, 1e6], [0, 1]]
    np.testing.assert_allclose(exact([[1, 1e8], [0, 1]]).numpy(), np.e * np.array([[1, 1e8], [0, 1]]), rtol=1e-13)
    turned = exact([[0, -300.0], [300.0, 0]]).numpy()
    np.testing.assert_allclose(turned, [[np.cos(300), -np.sin(300)], [np.sin(300), np.cos(300)]], atol=1e-11)
    assert exact([[-1e300, 0], [0, -1e300]]).tolist() == [[0, 0], [0, 0]]
    assert exact([[1e300]]).tolist() == [[float("inf")]]
    assert exact([[-float("inf")]]).tolist() == [[0]]
    for dtype in ("float16", "bfloat16"):
        mine = ours.matrix_exp(ours.full((2, 3, 3), 0.5, dtype=getattr(ours, dtype)))
        assert (str(mine.dtype), mine.shape) == (f"torch.{dtype}", (2, 3, 3))
        assert ours.allclose(mine.float(), ours.matrix_exp(ours.full((2, 3, 3), 0.5)), rtol=1e-2)


@pytest.mark.parametrize("name", ["svd", "svdvals", "qr", "eigh", "one triangle", "eig", "eigvals"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_without_scipy(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    call = (SQUARE | ANY)[name]
    matrices = [ours.from_numpy(drawn(shape, dtype)) for shape in ((4, 4), (2, 3, 3))]
    before = [call(ours, matrix) for matrix in matrices]
    monkeypatch.setattr(_orthogonal, "has_lapack", lambda: False)
    close([call(ours, matrix) for matrix in matrices], before, dtype)


def test_reflections_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [ours.from_numpy(drawn(shape, "complex64")) for shape in ((2, 5, 3), (2, 3))]
    before = ours.linalg.householder_product(*given)
    monkeypatch.setattr(spectra, "has_lapack", lambda: False)
    close(ours.linalg.householder_product(*given), before, "complex64")


def test_faults_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_orthogonal, "has_lapack", lambda: False)
    broken = ours.stack([ours.eye(2), ours.full((2, 2), float("nan"))])
    with pytest.raises(ours.linalg.LinAlgError, match="contained non-finite values"):
        ours.linalg.svd(broken)
    with pytest.raises(RuntimeError, match="infs or NaNs"):
        ours.linalg.eig(broken)
    assert ours.linalg.eigvalsh(broken).isnan().tolist() == [[False, False], [True, True]]


def test_the_threads_of_scipy_are_left_as_they_were() -> None:
    linalg = pytest.importorskip("scipy.linalg.cython_lapack")
    behind = ctypes.CDLL(linalg.__file__)
    get = getattr(behind, "scipy_openblas_get_num_threads", None)
    if get is None:
        pytest.skip("SciPy has another LAPACK than OpenBLAS")
    before = get()
    for size in (4, 600):
        ours.linalg.eigvalsh(ours.eye(size))
        assert get() == before
    with pytest.raises(RuntimeError):
        ours.linalg.svd(ours.full((2, 2), float("nan")))
    assert get() == before


def test_small_products_and_triangles_need_no_scipy() -> None:
    """To import it takes longer than all of them."""
    code = (
        "import sys, mindtorch_v2 as t\n"
        "t.matrix_exp(t.eye(3)), t.linalg.solve_triangular(t.eye(3), t.eye(3), upper=True), t.linalg.lu(t.eye(3))\n"
        "assert not any(name.startswith('scipy') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
