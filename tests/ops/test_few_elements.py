"""Kernels for few elements, which spare what larger ones prepare: what they give is PyTorch's, at their limits too."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.runtime.both import Case, agree

NAN = math.nan


def matrices(torch: Any, *shape: int, dtype: str = "float64") -> Any:
    """Matrices that no two rows of are alike."""
    count = math.prod(shape)
    numbers = [((7 * i * i + 3 * i) % 19 - 8) / 4 for i in range(count)]
    found = torch.tensor(numbers, dtype=torch.float64).reshape(shape).to(getattr(torch, dtype))
    return found + found.flip(-1) * 1j if dtype.startswith("complex") else found


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "uint8", "int16", "int64"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_ranks(dtype: str, dim: int) -> None:
    def case(torch: Any) -> Any:
        x = torch.tensor([[[3, 1, 2, 2], [9, 0, 5, 5]], [[7, 7, 1, 0], [4, 3, 2, 1]]]).to(getattr(torch, dtype))
        parts = x, x.transpose(0, 2), x[:, :, 1:], x[:0]
        wide = torch.float64 if x.is_floating_point() else torch.int64
        ranks = [getattr(part, name)(*k, dim, keep)[0].to(wide)
                 for part in parts[:3] for keep in (False, True)
                 for name, k in (("median", ()), ("nanmedian", ()), ("kthvalue", (1,)))]  # fmt: skip
        return ranks, [part.median().to(wide) for part in parts[:3]], parts[3].median(1)[0].shape

    agree(case)


RANKS: dict[str, Case] = {
    "not a number": lambda torch: (torch.tensor([1.0, NAN, 0.0]).median(), torch.tensor([1.0, NAN, 0.0]).nanmedian()),
    "its place": lambda torch: torch.tensor([[1.0, NAN, NAN], [0.0, 1.0, 2.0]]).median(1),
    "no number": lambda torch: (torch.full((3,), NAN).nanmedian(0)[0], torch.zeros(0).median()),
    "none, however it lies": lambda torch: (
        torch.zeros(3, 0, 2).kthvalue(2),
        torch.zeros(3, 0, 2).median(2),
        torch.searchsorted(torch.zeros(0)[::2], 0.5),
    ),
    "no dimension": lambda torch: (torch.tensor(2.0).median(0), torch.tensor(2.0).kthvalue(1)),
    "gradient": lambda torch: torch.func.grad(lambda x: x.median() + x.kthvalue(2)[0])(torch.tensor([3.0, 1.0, 2.0])),
    "vmap": lambda torch: torch.vmap(lambda x: x.median())(torch.tensor([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]])),
    "meta": lambda torch: torch.ones(2, 3, device="meta").kthvalue(1, 1, True)[1].shape,
}


@pytest.mark.parametrize("name", RANKS)
def test_ranks_of_the_unusual(name: str) -> None:
    agree(RANKS[name])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "int8"])
@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("narrow", [False, True])
def test_places_in_sequences(dtype: str, right: bool, narrow: bool) -> None:
    def case(torch: Any) -> Any:
        sequence = torch.tensor([1, 2, 2, 3, 8]).to(getattr(torch, dtype))
        values = torch.tensor([[0, 1, 5], [2, 3, 9]]).to(getattr(torch, dtype))
        options = {"right": right, "out_int32": narrow}
        return (
            torch.searchsorted(sequence, values, **options),
            torch.bucketize(values, sequence, **options),
            torch.bucketize(2, sequence, **options),
            torch.searchsorted(sequence.expand(2, 5).contiguous(), values, **options),
            torch.searchsorted(sequence[:0], values, **options),
            torch.bucketize(values[:0], sequence, **options).shape,
        )

    agree(case)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 4, 4), (0, 0), (2, 0, 3, 3)])
def test_matrices_divide(dtype: str, shape: tuple[int, ...]) -> None:
    def case(torch: Any) -> Any:
        A = matrices(torch, *shape, dtype=dtype) + 9 * torch.eye(shape[-1]).to(getattr(torch, dtype))  # noqa: N806
        B = matrices(torch, *shape[:-1], 2, dtype=dtype)  # noqa: N806
        L = torch.linalg  # noqa: N806
        sign, size = L.slogdet(A)
        both, pivots = L.lu_factor(A)
        found = [L.inv(A) @ A, A @ L.solve(A, B), L.solve(A.mT, B.mT, left=False), L.det(A), sign, size]
        found += [L.lu_solve(both, pivots, B, adjoint=turned) for turned in (False, True)]
        found += [L.lu_solve(both, pivots, B.mT, left=False, adjoint=turned) for turned in (False, True)]
        return [(tuple(t.shape), str(t.dtype)[6:], [round(x, 3) + 0.0 for x in _parts(torch, t)]) for t in found]

    agree(case)


def _parts(torch: Any, tensor: Any) -> list[float]:
    parts = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
    numbers: list[float] = parts.reshape((-1,)).tolist()
    return numbers


SINGULAR: dict[str, Case] = {
    "det": lambda torch: torch.linalg.det(torch.ones(3, 3)),
    "slogdet": lambda torch: torch.linalg.slogdet(torch.zeros(2, 2)),
    "factors": lambda torch: torch.linalg.lu_factor_ex(torch.ones(2, 2)),
    "info": lambda torch: torch.linalg.solve_ex(torch.ones(2, 2, 2), torch.ones(2, 2, 1))[1],
    "exchanged": lambda torch: torch.linalg.inv(torch.tensor([[0.0, 1.0], [2.0, 0.0]])),
    "wide": lambda torch: torch.linalg.lu_factor(torch.tensor([[1.0, 2.0, 3.0], [4.0, 9.0, 6.0]])),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_singular_matrices(name: str) -> None:
    agree(SINGULAR[name])


def test_singular_matrices_are_refused() -> None:
    import mindtorch_v2 as torch

    for call in (torch.linalg.inv, lambda a: torch.linalg.solve(a, torch.ones(2))):
        with pytest.raises(torch.linalg.LinAlgError, match="singular"):
            call(torch.ones(2, 2))


@pytest.mark.parametrize("name", ["var_mean", "std_mean"])
@pytest.mark.parametrize("dim", [None, 0, -1, [0, 1]])
@pytest.mark.parametrize("correction", [0, 1, 5, 8])
def test_spread_and_mean(name: str, dim: Any, correction: int) -> None:
    def case(torch: Any) -> Any:
        x = torch.tensor([[[1.0, 2.0], [4.0, -3.0]], [[0.0, 2.0], [8.0, 2.0]]], requires_grad=True)
        found = getattr(torch, name)(x, dim, correction=correction, keepdim=dim == 0)
        (grad,) = torch.autograd.grad(found[0].sum() + 2 * found[1].sum(), x)
        return [(tuple(t.shape), [round(n, 4) + 0.0 for n in t.flatten().tolist()]) for t in (*found, grad)]

    agree(case)


WINDOWS = [(2, None, 0, 1, False), (3, 2, 1, 1, True), ((3, 2), (2, 1), (1, 0), 2, False), (2, 3, 1, 2, True)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("window", WINDOWS)
def test_windows(dtype: str, window: Any) -> None:
    def case(torch: Any) -> Any:
        x = matrices(torch, 2, 3, 7, 8, dtype=dtype)
        x[0, 0, 1, 1] = NAN
        F = torch.nn.functional  # noqa: N806
        found = []
        for part in (x, x.transpose(-1, -2), x[0], x[:0]):
            found += F.max_pool2d(part, *window, return_indices=True)
            if window[3] == 1:
                kernel, stride, padding, _, ceil = window
                found += [F.avg_pool2d(part, kernel, stride, padding, ceil, each) for each in (False, True)]
                found.append(F.avg_pool2d(part, kernel, stride, padding, ceil, True, -3))
        return [(tuple(t.shape), [repr(round(n, 1) + 0.0) for n in t.double().flatten().tolist()]) for t in found]

    agree(case)


CROSS: dict[str, Case] = {
    "none": lambda torch: torch.linalg.cross(torch.zeros(3, 0).t(), torch.zeros(3, 0).t()),
    "rows": lambda torch: torch.linalg.cross(matrices(torch, 4, 3), matrices(torch, 4, 3) + 1),
    "columns": lambda torch: torch.linalg.cross(matrices(torch, 2, 3, 4), matrices(torch, 2, 3, 4) + 1, dim=1),
    "broadcast": lambda torch: torch.linalg.cross(matrices(torch, 4, 3), matrices(torch, 1, 3)),
    "gradient": lambda torch: torch.func.grad(lambda x: torch.linalg.cross(x, x[:1] + 1).square().sum())(
        matrices(torch, 2, 3)
    ),
    "vmap": lambda torch: torch.vmap(torch.linalg.cross)(matrices(torch, 2, 3), matrices(torch, 2, 3) + 1),
}


@pytest.mark.parametrize("name", CROSS)
def test_cross_products(name: str) -> None:
    agree(CROSS[name])
