"""Transforms of vectors and matrices, and transforms side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch

from .._core import Size
from . import constraints
from ._number_transforms import SigmoidTransform
from ._transform import Transform
from .utils import sum_rightmost, tril_matrix_to_vec, vec_to_tril_matrix

__all__ = [
    "CatTransform",
    "CorrCholeskyTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "SoftmaxTransform",
    "StackTransform",
    "StickBreakingTransform",
]


class SoftmaxTransform(Transform):
    """Softmax of vectors, whose inverse takes logarithms: no bijection."""

    domain, codomain = constraints.real_vector, constraints.simplex

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoftmaxTransform)

    __hash__ = None

    def _call(self, x: Any) -> Any:
        shares = (x - x.max(-1, True)[0]).exp()
        return shares / shares.sum(-1, True)

    def _inverse(self, y: Any) -> Any:
        return y.log()


class StickBreakingTransform(Transform):
    """Vectors to the shares of a stick that is broken once for each element: shares are one more."""

    domain, codomain = constraints.real_vector, constraints.simplex
    bijective = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StickBreakingTransform)

    __hash__ = None

    @staticmethod
    def _left(x: Any) -> Any:
        """How many pieces are to come at each element."""
        return x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)

    def _call(self, x: Any) -> Any:
        broken = SigmoidTransform()(x - self._left(x).log())
        rest = (1 - broken).cumprod(-1)
        pad = torch.nn.functional.pad
        return pad(broken, [0, 1], value=1) * pad(rest, [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        pieces = y[..., :-1]
        rest = (1 - pieces.cumsum(-1)).clamp(min=torch.finfo(y.dtype).tiny)
        return pieces.log() - rest.log() + self._left(pieces).log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Of a triangular matrix."""
        x = x - self._left(x).log()
        return (-x + torch.nn.functional.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Size:
        """One more."""
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Any) -> Size:
        """One less."""
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return Size((*shape[:-1], shape[-1] - 1))


class LowerCholeskyTransform(Transform):
    """Square matrices to lower triangular ones with a positive diagonal, by its exponential."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LowerCholeskyTransform)

    __hash__ = None

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Square matrices to positive-definite ones: the square of `LowerCholeskyTransform`."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PositiveDefiniteTransform)

    __hash__ = None

    def _call(self, x: Any) -> Any:
        lower = LowerCholeskyTransform()(x)
        return lower @ lower.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(torch.linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    """Vectors of n (n - 1) / 2 numbers to Cholesky factors of correlation matrices, row by row by partial
    correlations.
    """

    domain, codomain = constraints.real_vector, constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        eps = torch.finfo(x.dtype).eps
        partial = vec_to_tril_matrix(torch.tanh(x).clamp(min=-1 + eps, max=1 - eps), -1)
        rest = (1 - partial**2).sqrt().cumprod(-1)
        whole = partial + torch.eye(partial.shape[-1], dtype=partial.dtype, device=partial.device)
        return whole * torch.nn.functional.pad(rest[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        rest = 1 - (y * y).cumsum(-1)
        before = torch.nn.functional.pad(rest[..., :-1], [1, 0], value=1)
        partial = tril_matrix_to_vec(y, -1) / tril_matrix_to_vec(before, -1).sqrt()
        return (partial.log1p() - (-partial).log1p()) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
        """Of a triangular matrix: what is left of each row at each step, and the tangents' slopes."""
        rest = 1 - (y * y).cumsum(-1)
        steps = 0.5 * tril_matrix_to_vec(rest, -2).log().sum(-1) if y.shape[-1] > 2 else 0.0
        slopes = -2 * (x + torch.nn.functional.softplus(-2 * x) - math.log(2.0)).sum(-1)
        return steps + slopes

    def forward_shape(self, shape: Any) -> Size:
        """Square matrices."""
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        n = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return Size((*shape[:-1], n, n))

    def inverse_shape(self, shape: Any) -> Size:
        """Vectors of what is below the diagonal."""
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


class _Joined(Transform):
    """Transforms side by side along a dimension."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        if not all(isinstance(one, Transform) for one in tseq):
            raise TypeError(f"{type(self).__name__}: expected transforms, got {tseq!r}")
        super().__init__(cache_size)
        self.transforms = [one.with_cache(cache_size) for one in tseq] if cache_size else [*tseq]
        self.dim = dim

    def _cut(self, x: Any) -> list[Any]:
        raise NotImplementedError

    def _join(self, parts: Sequence[Any]) -> Any:
        raise NotImplementedError

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """Whether all are."""
        return all(one.bijective for one in self.transforms)

    def _call(self, x: Any) -> Any:
        return self._join([one(part) for one, part in zip(self.transforms, self._cut(x), strict=True)])

    def _inverse(self, y: Any) -> Any:
        return self._join([one.inv(part) for one, part in zip(self.transforms, self._cut(y), strict=True)])


class CatTransform(_Joined):
    """Transforms of parts of given lengths along a dimension."""

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [*(lengths or [1] * len(self.transforms))]
        if len(self.lengths) != len(self.transforms):
            raise ValueError(f"CatTransform: expected {len(self.transforms)} lengths, got {self.lengths}")

    @property
    def event_dim(self) -> int:
        """That of the one with most dimensions."""
        return max(one.event_dim for one in self.transforms)

    @property
    def length(self) -> int:
        """Of all parts together."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with another cache."""
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _cut(self, x: Any) -> list[Any]:
        return [*x.split(self.lengths, self.dim)]

    def _join(self, parts: Sequence[Any]) -> Any:
        return torch.cat([*parts], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Behind one another, or where a value has the dimension their sum."""
        found = []
        for one, before, after in zip(self.transforms, self._cut(x), self._cut(y), strict=True):
            det = one.log_abs_det_jacobian(before, after)
            found.append(sum_rightmost(det, self.event_dim - one.event_dim))
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        if dim < 0:
            return torch.cat(found, dim)
        total = found[0]
        for det in found[1:]:
            total = total + det
        return total

    @constraints.dependent_property
    def domain(self) -> Any:
        """What it takes."""
        return constraints.cat([one.domain for one in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """What values there may be."""
        return constraints.cat([one.codomain for one in self.transforms], self.dim, self.lengths)


class StackTransform(_Joined):
    """A transform for each place of a dimension."""

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with another cache."""
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _cut(self, x: Any) -> list[Any]:
        return [*x.unbind(self.dim)]

    def _join(self, parts: Sequence[Any]) -> Any:
        return torch.stack([*parts], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Of each."""
        parts = zip(self.transforms, self._cut(x), self._cut(y), strict=True)
        return self._join([one.log_abs_det_jacobian(before, after) for one, before, after in parts])

    @constraints.dependent_property
    def domain(self) -> Any:
        """What it takes."""
        return constraints.stack([one.domain for one in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """What values there may be."""
        return constraints.stack([one.codomain for one in self.transforms], self.dim)
