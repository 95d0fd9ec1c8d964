"""Vectors and matrices: normal vectors, and random covariances and correlations."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import mindtorch_v2 as torch

from .._core import Size, Tensor
from . import constraints
from ._positive import Beta, Chi2
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .utils import lazy_property, standard_normal

__all__ = [
    "LKJCholesky",
    "LowRankMultivariateNormal",
    "MultivariateNormal",
    "Wishart",
    "log_det",
    "precision_to_tril",
    "squared_distance",
    "times",
]

_COVARIANCES: Any = {
    "covariance_matrix": constraints.positive_definite,
    "precision_matrix": constraints.positive_definite,
    "scale_tril": constraints.lower_cholesky,
}


def times(matrix: Tensor, vector: Tensor) -> Tensor:
    """Matrices by vectors, of batches that are broadcast."""
    return torch.matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


def squared_distance(lower: Tensor, vector: Tensor) -> Tensor:
    """Mahalanobis' squared distance of vectors from 0, by Cholesky factors; batches are broadcast."""
    n = vector.shape[-1]
    batch = torch.broadcast_shapes(lower.shape[:-2], vector.shape[:-1])
    solved = torch.linalg.solve_triangular(
        lower.expand((*batch, n, n)), vector.expand((*batch, n)).unsqueeze(-1), upper=False
    )
    return solved.pow(2).sum([-2, -1])


def log_det(lower: Tensor) -> Tensor:
    """Half the logarithm of a determinant, by its Cholesky factor."""
    return lower.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def precision_to_tril(precision: Tensor) -> Tensor:
    """The Cholesky factor of an inverse: that of the matrix turned round, turned back and inverted."""
    factor = torch.linalg.cholesky(torch.flip(precision, (-2, -1)))
    upper = torch.flip(factor, (-2, -1)).mT
    identity = torch.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return torch.linalg.solve_triangular(upper, identity.expand(precision.shape), upper=False)


class _OfCovariance(Distribution):
    """What is given by a covariance, its inverse, or its Cholesky factor."""

    _unbroadcasted_scale_tril: Tensor

    def _take(self, given: dict[str, Any]) -> tuple[str, Tensor]:
        """The one of the three that was given."""
        found = {name: value for name, value in given.items() if value is not None}
        if len(found) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, value),) = found.items()
        if value.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        return name, value

    def _keep(self, name: str, value: Tensor) -> None:
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = value
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = torch.linalg.cholesky(value)
        else:
            self._unbroadcasted_scale_tril = precision_to_tril(value)

    def _whole(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + matrix.shape[-2:])

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._whole(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        return self._whole(torch.matmul(self._unbroadcasted_scale_tril, self._unbroadcasted_scale_tril.mT))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """Its inverse."""
        return self._whole(torch.cholesky_inverse(self._unbroadcasted_scale_tril))


class MultivariateNormal(_OfCovariance):
    """A normal vector."""

    arg_constraints: ClassVar[Any] = {"loc": constraints.real_vector, **_COVARIANCES}
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, value = self._take(
            {"covariance_matrix": covariance_matrix, "scale_tril": scale_tril, "precision_matrix": precision_matrix}
        )
        batch = torch.broadcast_shapes(value.shape[:-2], loc.shape[:-1])
        self.__dict__[name] = value.expand((*batch, -1, -1))
        self.loc = loc.expand((*batch, -1))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        self._keep(name, value)

    @property
    def mean(self) -> Tensor:
        """``loc``."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """``loc``."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The covariance's diagonal."""
        found = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return found.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """``loc + L z``."""
        z = standard_normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + times(self._unbroadcasted_scale_tril, z)

    def log_prob(self, value: Any) -> Tensor:
        """Of the density."""
        if self._validate_args:
            self._validate_sample(value)
        distance = squared_distance(self._unbroadcasted_scale_tril, value - self.loc)
        size = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (size + distance) - log_det(self._unbroadcasted_scale_tril)

    def entropy(self) -> Tensor:
        """By the determinant."""
        size = self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (0.5 * size + log_det(self._unbroadcasted_scale_tril)).expand(self._batch_shape)


class LowRankMultivariateNormal(Distribution):
    """A normal vector of covariance ``cov_factor cov_factor^T + diag(cov_diag)``: Woodbury's identity inverts it."""

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if cov_diag.shape[-1:] != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
        batch = torch.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        self.loc = loc.expand(batch + event)
        self.cov_factor = cov_factor.expand(batch + cov_factor.shape[-2:])
        self.cov_diag = cov_diag.expand(batch + event)
        super().__init__(batch, event, validate_args=validate_args)
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        scaled = cov_factor.mT / cov_diag.unsqueeze(-2)
        rank = torch.eye(cov_factor.shape[-1], dtype=loc.dtype, device=loc.device)
        self._unbroadcasted_capacitance_tril = torch.linalg.cholesky(torch.matmul(scaled, cov_factor) + rank)

    @property
    def _capacitance_tril(self) -> Tensor:
        return self._unbroadcasted_capacitance_tril

    @property
    def mean(self) -> Tensor:
        """``loc``."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """``loc``."""
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The covariance's diagonal."""
        found = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return found.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_cov_factor
        found = torch.matmul(factor, factor.mT) + torch.diag_embed(self._unbroadcasted_cov_diag)
        return found.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """Its Cholesky factor."""
        return torch.linalg.cholesky(self.covariance_matrix)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """Its inverse."""
        inverse = self._unbroadcasted_cov_diag.reciprocal()
        scaled = self._unbroadcasted_cov_factor.mT * inverse.unsqueeze(-2)
        inner = torch.linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        found = torch.diag_embed(inverse) - torch.matmul(inner.mT, inner)
        return found.expand(self._batch_shape + self._event_shape + self._event_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """``loc + W z + sqrt(D) e``."""
        shape = self._extended_shape(sample_shape)
        z = standard_normal(shape[:-1] + self.cov_factor.shape[-1:], self.loc)
        e = standard_normal(shape, self.loc)
        return self.loc + times(self._unbroadcasted_cov_factor, z) + self._unbroadcasted_cov_diag.sqrt() * e

    def distance(self, vector: Tensor) -> Tensor:
        """Mahalanobis' squared distance from 0."""
        scaled = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        plain = (vector.pow(2) / self._unbroadcasted_cov_diag).sum(-1)
        return plain - squared_distance(self._capacitance_tril, times(scaled, vector))

    def log_det(self) -> Tensor:
        """The logarithm of the covariance's determinant."""
        return 2 * log_det(self._capacitance_tril) + self._unbroadcasted_cov_diag.log().sum(-1)

    def log_prob(self, value: Any) -> Tensor:
        """Of the density."""
        if self._validate_args:
            self._validate_sample(value)
        size = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (size + self.log_det() + self.distance(value - self.loc))

    def entropy(self) -> Tensor:
        """By the determinant."""
        size = self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (0.5 * (size + self.log_det())).expand(self._batch_shape)


class Wishart(_OfCovariance, ExponentialFamily):
    """The sum of ``df`` products of normal vectors of a covariance with themselves."""

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    arg_constraints: ClassVar[Any] = {**_COVARIANCES, "df": constraints.greater_than(0)}

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, value = self._take(
            {"covariance_matrix": covariance_matrix, "scale_tril": scale_tril, "precision_matrix": precision_matrix}
        )
        df = df if isinstance(df, Tensor) else torch.tensor(df, dtype=value.dtype, device=value.device)
        batch, event = torch.broadcast_shapes(value.shape[:-2], df.shape), value.shape[-2:]
        self.__dict__[name] = value.expand((*batch, -1, -1))
        self.df = df.expand(batch)
        if bool((self.df <= event[-1] - 1).any()):
            raise ValueError(
                f"Value of df={df} expected to be greater than ndim - 1 = {event[-1] - 1} by the Wishart distribution"
            )
        super().__init__(batch, event, validate_args=validate_args)
        self._keep(name, value)
        steps = torch.arange(event[-1], dtype=value.dtype, device=value.device).expand((*batch, -1))
        self._dist_chi2 = Chi2(self.df.unsqueeze(-1) - steps)

    @property
    def mean(self) -> Tensor:
        """df times the covariance."""
        return self.df.view((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        """NaN below ``df`` of one more than the dimensions."""
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        return torch.where(factor <= 0, math.nan, factor).view((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        """Of each element."""
        cov = self.covariance_matrix
        diagonal = cov.diagonal(dim1=-2, dim2=-1)
        outer = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df.view((*self._batch_shape, 1, 1)) * (cov.pow(2) + outer)

    def rsample(self, sample_shape: Any = Size(), max_try_correction: Any = None) -> Tensor:  # noqa: B008
        """By Bartlett's decomposition: normal below the diagonal, roots of `Chi2` on it.

        What rounding made singular is drawn anew, up to ``max_try_correction`` times.
        """
        shape = Size(sample_shape)
        tries = max_try_correction if max_try_correction is not None else 10 if self._event_shape[-1] <= 3 else 3
        value = self._drawn(shape)
        for _ in range(tries):
            good = self.support.check(value)
            if bool(good.all()):
                break
            value = torch.where(good.unsqueeze(-1).unsqueeze(-1), value, self._drawn(shape))
        return value

    def _drawn(self, shape: Size) -> Tensor:
        p = self._event_shape[-1]
        factor = self._dist_chi2.rsample(shape).sqrt().diag_embed(dim1=-2, dim2=-1)
        rows, columns = torch.tril_indices(p, p, -1)
        below = torch.randn(shape + self._batch_shape + (p * (p - 1) // 2,), dtype=factor.dtype, device=factor.device)
        factor[..., rows, columns] = below
        root = self._unbroadcasted_scale_tril @ factor
        return root @ root.mT

    def log_prob(self, value: Any) -> Tensor:
        """Of the density."""
        if self._validate_args:
            self._validate_sample(value)
        df, p, lower = self.df, self._event_shape[-1], self._unbroadcasted_scale_tril
        trace = torch.cholesky_solve(value, lower.expand(value.shape[:-2] + lower.shape[-2:]))
        norm = -df * (p * math.log(2.0) / 2 + log_det(lower)) - torch.mvlgamma(df / 2, p=p)
        volume = (df - p - 1) / 2 * torch.linalg.slogdet(value).logabsdet
        return norm + volume - trace.diagonal(dim1=-2, dim2=-1).sum(-1) / 2

    def entropy(self) -> Tensor:
        """Of the multivariate gamma function, and its derivative."""
        df, p = self.df, self._event_shape[-1]
        slopes = torch.digamma(df.unsqueeze(-1) / 2 - torch.arange(p, dtype=df.dtype) / 2).sum(-1)
        volume = (p + 1) * (p * math.log(2.0) / 2 + log_det(self._unbroadcasted_scale_tril))
        return volume + torch.mvlgamma(df / 2, p=p) - (df - p - 1) / 2 * slopes + df * p / 2

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        p = self._event_shape[-1]
        shape = y + (p + 1) / 2
        return shape * (-torch.linalg.slogdet(-2 * x).logabsdet + math.log(2.0) * p) + torch.mvlgamma(shape, p=p)


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices, the nearer to the identity the larger ``concentration``."""

    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        self.concentration = concentration if isinstance(concentration, Tensor) else torch.tensor(float(concentration))
        like = {"dtype": self.concentration.dtype, "device": self.concentration.device}
        marginal = self.concentration + 0.5 * (dim - 2)
        offset = torch.cat([torch.zeros(1, **like), torch.arange(dim - 1, **like)])
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.size(), Size((dim, dim)), validate_args)

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """The onion method: each row is a direction, by the root of a beta variable."""
        with torch.no_grad():
            y = self._beta.sample(sample_shape).unsqueeze(-1)
            like = {"dtype": y.dtype, "device": y.device}
            normal = torch.randn(self._extended_shape(sample_shape), **like).tril(-1)
            direction = normal / normal.norm(dim=-1, keepdim=True)
            direction[..., 0, :].fill_(0.0)
            w = torch.sqrt(y) * direction
            rest = (1 - (w**2).sum(-1)).clamp(min=torch.finfo(w.dtype).tiny).sqrt()
            return w + torch.diag_embed(rest)

    def log_prob(self, value: Any) -> Tensor:
        """Of the density."""
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = torch.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        unnormalised = (order * diagonal.log()).sum(-1)
        steps = self.dim - 1
        alpha = self.concentration + 0.5 * steps
        norm = 0.5 * steps * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, steps) - torch.lgamma(alpha) * steps
        return unnormalised - norm
