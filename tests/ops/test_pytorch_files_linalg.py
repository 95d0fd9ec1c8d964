"""What PyTorch's tests of linear algebra (``test_linalg.py``) showed to be different, beside PyTorch."""

from __future__ import annotations

import importlib
import math
import warnings
from typing import Any

import pytest

import mindtorch_v2 as ours

pytorch = pytest.importorskip("torch")
NAN, INF = math.nan, math.inf


def both(call: Any) -> tuple[Any, Any]:
    """What a call gives with each library: values, or the class and the text of an error."""
    said = []
    for library in (ours, pytorch):
        try:
            found = call(library)
            said.append(found.tolist() if hasattr(found, "tolist") else found)
        except (RuntimeError, ValueError) as error:
            kind = next(one.__name__ for one in type(error).__mro__ if one.__module__ == "builtins")
            said.append((kind, str(error).partition(": ")[2] if str(error).startswith("aten::") else str(error)))
    return said[0], said[1]


@pytest.mark.parametrize("order", [1, -1, INF, -INF, "fro"])
@pytest.mark.parametrize(
    "rows", [[[0.0, 0], [0, 0]], [[NAN, 1.0], [1, 1]], [[1.0, 2], [2, 4]], [[1.0, 2], [3, 4]], [[INF, 1.0], [1, 1]]]
)
def test_a_condition_of_what_has_no_inverse(order: Any, rows: list[list[float]]) -> None:
    mine, theirs = both(lambda t: t.linalg.cond(t.tensor(rows), order))
    assert mine == pytest.approx(theirs)
    mine, theirs = both(lambda t: t.linalg.cond(t.stack([t.tensor(rows), t.eye(2)]), order))
    assert mine == pytest.approx(theirs)


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "complex64"])
@pytest.mark.parametrize("name", ["beta", "alpha"])
@pytest.mark.parametrize("factor", [True, 2, 2.0])
def test_factors_of_an_outer_product(dtype: str, name: str, factor: Any) -> None:
    def call(t: Any) -> Any:
        kind = getattr(t, dtype)
        return t.addr(t.ones(2, 2, dtype=kind), t.ones(2, dtype=kind), t.ones(2, dtype=kind), **{name: factor})

    mine, theirs = both(call)
    assert str(mine).strip() == str(theirs).strip()


@pytest.mark.parametrize("name", ["beta", "alpha"])
def test_a_complex_factor_of_real_numbers(name: str) -> None:
    for library in (ours, pytorch):
        with pytest.raises(RuntimeError, match=r"complex|overflow"):
            library.addr(library.ones(2, 2), library.ones(2), library.ones(2), **{name: 1j})


@pytest.mark.parametrize(
    "equation",
    [
        ". ..", "... ...", "1", "a b1", "a->1", "ab,c1", "a->.. .", "a->... .", " a1", "a..", "....", "...a...", "a.b",
        "a->....", "a->...a...", "a, 1->b", "é", "ai", "ai...", "", "a,", "->a", "...->...", ". . .", "A a->",
    ],
)  # fmt: skip
def test_equations_that_are_none(equation: str) -> None:
    mine, theirs = both(lambda t: t.einsum(equation, t.ones(2)))
    assert mine == theirs


def test_an_equation_without_operands() -> None:
    mine, theirs = both(lambda t: t.einsum("a", []))
    assert mine == theirs
    assert mine[0] == "ValueError"


@pytest.mark.parametrize("at", [0, 3])
def test_exchanges_that_are_none(at: int) -> None:
    def call(t: Any) -> Any:
        return t.linalg.lu_solve(t.eye(2), t.tensor([at, 1], dtype=t.int32), t.ones(2, 2))

    mine, theirs = both(call)
    assert mine == theirs
    with pytest.raises(RuntimeError, match="Did you properly pass the result of lu_factor"):
        ours.lu_unpack(ours.eye(2), ours.tensor([at, 1], dtype=ours.int32))


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("shapes", [((1, 3, 3), (0, 3, 1)), ((1, 2, 3), (0, 2, 1)), ((0, 3, 2), (1, 3, 1))])
def test_least_squares_of_no_equations(driver: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    def call(t: Any) -> Any:
        found = t.linalg.lstsq(t.ones(shapes[0]) + t.eye(*shapes[0][1:]), t.ones(shapes[1]), driver=driver)
        return [tuple(part.shape) for part in found if part is not found.residuals]

    mine, theirs = both(call)
    assert mine == theirs
    found = ours.linalg.lstsq(ours.ones(1, 2, 3) + ours.eye(2, 3), ours.ones(0, 2, 1), driver=driver)
    assert found.rank.tolist() == ([] if driver == "gels" else [2])  # PyTorch's is memory that nobody wrote


@pytest.mark.parametrize("shapes", [((2, 3), (3,)), ((2, 3), (3, 1)), ((1, 1, 1), (3, 1)), ((3,), (3,)), ((3, 3), ())])
def test_least_squares_that_do_not_fit(shapes: tuple[tuple[int, ...], ...]) -> None:
    mine, theirs = both(lambda t: t.linalg.lstsq(t.ones(shapes[0]), t.ones(shapes[1])))
    assert mine == theirs


@pytest.mark.parametrize("shapes", [[()], [(2,), ()], [(), (2,)], [(2,)] * 3, [(2,), (2, 2, 2), (2,)], [(2,), (3,)]])
def test_products_of_no_matrices(shapes: list[tuple[int, ...]]) -> None:
    mine, theirs = both(lambda t: t.linalg.multi_dot([t.ones(shape) for shape in shapes]))
    assert mine == theirs


@pytest.mark.parametrize("shapes", [[(2,)], [(2, 3), (3,)], [(2, 3), (2, 3)], [(2, 3), (3, 2), (2, 4)], [(3, 3)]])
def test_chains_of_matrices(shapes: list[tuple[int, ...]]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mine, theirs = both(lambda t: t.chain_matmul(*(t.ones(shape) for shape in shapes)))
    if isinstance(theirs, tuple):
        assert mine[0] == theirs[0]
        assert theirs[1].rstrip(".") in mine[1]
    else:
        assert mine == theirs


@pytest.mark.parametrize("order", [INF, -1, -INF, 1 + 2j])
def test_norms_that_do_not_exist(order: Any) -> None:
    for shape, dim in (((0,), None), ((2, 0), 1)):
        mine, theirs = both(lambda t, shape=shape, dim=dim: t.linalg.vector_norm(t.ones(shape), order, dim=dim))
        assert mine[0] == theirs[0] == "RuntimeError"
        assert mine[1].startswith(theirs[1].partition(" on ")[0])
    if isinstance(order, complex):
        mine, theirs = both(lambda t: t.linalg.matrix_norm(t.ones(2, 2), order))
        assert mine == theirs


def test_a_pseudo_inverse_of_a_vector() -> None:
    mine, theirs = both(lambda t: t.linalg.pinv(t.ones(2, dtype=t.float64)))
    assert mine == theirs
    assert both(lambda t: t.linalg.pinv(t.ones(2, device="meta")))[0][0] == "RuntimeError"


@pytest.mark.parametrize("dtypes", [("int32", "float32", "float32"), ("float32", "float64", "float32")])
def test_batches_of_products_of_several_dtypes(dtypes: tuple[str, ...]) -> None:
    mine, theirs = both(lambda t: t.baddbmm(*(t.ones(1, 2, 2, dtype=getattr(t, dtype)) for dtype in dtypes)))
    assert mine[0] == theirs[0]
    assert "Input dtypes must be the same, got: input" in mine[1]
    assert "Input dtypes must be the same, got: input" in theirs[1]


@pytest.mark.parametrize("operator", ["triangular_solve", "max"])
def test_several_outputs_that_are_resized(operator: str) -> None:
    """Each output with elements is told of."""

    def call(t: Any) -> int:
        given = (t.ones(2, 2), t.ones(2, 2)) if operator == "triangular_solve" else (t.ones(2, 2), 1)
        second = t.float32 if operator == "triangular_solve" else t.int64
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            getattr(t, operator)(*given, out=(t.empty(1), t.empty(1, dtype=second)))
        return sum("An output with one or more elements was resized" in str(one.message) for one in told)

    assert both(call) == (2, 2)


@pytest.mark.parametrize("name", ["eig", "lstsq", "matrix_rank", "solve", "symeig"])
def test_functions_that_were_removed(name: str) -> None:
    for library in (ours, pytorch):
        with pytest.raises(RuntimeError, match=r"deprecated since version 1\.9 and is now removed"):
            getattr(library, name)(library.ones(2, 2), library.ones(2, 2))
    with pytest.raises(RuntimeError, match=r"torch\.linalg"):
        getattr(ours, name)(ours.ones(2, 2))


def test_forms() -> None:
    for library in (ours, pytorch):
        tools = importlib.import_module(f"{library.__name__}._linalg_utils")
        a, s = library.tensor([[2.0, 1], [0, 3]]), library.tensor([[1.0], [2]])
        assert tools.qform(a, s).tolist() == [[16.0]]
        assert tools.qform(None, s).tolist() == [[5.0]]
        assert tools.bform(s, a, s).tolist() == [[16.0]]
        assert tools.matmul(None, s) is s
        library.testing.assert_close(tools.basis(s).abs(), s / math.sqrt(5))


@pytest.mark.parametrize("name", ["preferred_linalg_library", "preferred_blas_library"])
@pytest.mark.parametrize("asked", [None, "default", "cusolver", "magma", "cublas", "cublaslt", "hipblas", "x", 3])
def test_libraries_of_cuda_devices(name: str, asked: Any) -> None:
    """What is there can be asked for, what is not cannot, and what is unknown is told apart."""

    def call(t: Any) -> str:
        return getattr(t.backends.cuda, name)(asked).name  # type: ignore[no-any-return]

    mine, theirs = both(call)
    if isinstance(theirs, tuple) and "Cannot set" in theirs[1]:
        assert mine[0] == theirs[0]
        assert mine[1].startswith("Cannot set preferred backend to")
    else:
        assert mine == theirs


def test_a_library_of_cuda_devices_by_itself() -> None:
    for name in ("preferred_linalg_library", "preferred_blas_library"):
        setting = getattr(ours.backends.cuda, name)
        assert setting(setting()) is setting()
