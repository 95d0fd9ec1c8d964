"""Parametrizations: of orthogonal matrices, by size and direction, by the largest singular value."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from ..._core import Tensor
from ..._creation import eye, randn
from ..._ops import ops
from ..._type_info import finfo
from ...autograd import no_grad
from .. import functional
from ..module import Module
from . import parametrize
from ._norms import directed, norm_except_dim, usual_dim

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


def _is_orthogonal(matrix: Any) -> bool:
    rows, columns = matrix.size(-2), matrix.size(-1)
    one = eye(columns, dtype=matrix.dtype, device=matrix.device)
    return bool((matrix.mH @ matrix).allclose(one, atol=10.0 * rows * finfo(matrix.dtype).eps))


def _orthogonal_factor(matrix: Any) -> Any:
    """The orthogonal factor of a matrix whose other, triangular one has a positive diagonal."""
    reflectors, tau = ops.aten.geqrf(matrix)
    return ops.aten.linalg_householder_product(reflectors, tau) * _diagonal(reflectors).sgn().unsqueeze(-2)


def _diagonal(matrix: Any) -> Any:
    return matrix.diagonal(0, -2, -1)


class _Orthogonal(Module):
    base: Any

    def __init__(self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, original: Any) -> Any:
        transposed = original.size(-2) < original.size(-1)
        matrix = original.mT if transposed else original
        found = self._reflected(matrix) if self.orthogonal_map is _OrthMaps.householder else self._mapped(matrix)
        if hasattr(self, "base"):
            found = self.base @ found
        return found.mT if transposed else found

    def _mapped(self, matrix: Any) -> Any:
        """The exponential or the Cayley transform of a skew-symmetric matrix, made of the lower triangle."""
        rows, columns = matrix.size(-2), matrix.size(-1)
        lower = matrix.tril()
        if rows != columns:  # a square of zeros beside it
            lower = ops.aten.cat([lower, lower.new_zeros(*matrix.shape[:-2], rows, rows - columns)], -1)
        skew = lower - lower.mH
        if self.orthogonal_map is _OrthMaps.matrix_exp:
            found = ops.aten.matrix_exp(skew)
        else:
            one = eye(rows, dtype=skew.dtype, device=skew.device)
            found = ops.aten.linalg_solve(one - 0.5 * skew, one + 0.5 * skew)
        return found[..., :columns] if rows != columns else found

    def _reflected(self, matrix: Any) -> Any:
        """The product of the reflections that the columns below the diagonal say; the diagonal has signs."""
        below = matrix.tril(-1)
        tau = 2.0 / (1.0 + (below * below).sum(-2))
        found = ops.aten.linalg_householder_product(below, tau)
        return found * _diagonal(matrix).int().unsqueeze(-2)

    @no_grad()  # type: ignore[untyped-decorator]
    def right_inverse(self, value: Any) -> Any:
        if value.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {value.shape}."
            )
        transposed = value.size(-2) < value.size(-1)
        matrix = value.mT if transposed else value
        if not hasattr(self, "base"):
            if self.orthogonal_map is not _OrthMaps.householder:
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                    "use_trivialization=False."
                )
            reflectors, tau = ops.aten.geqrf(matrix)
            signs = _diagonal(reflectors)
            signs.sign_()
            signs[tau == 0.0] *= -1
            return reflectors.mT if transposed else reflectors
        rows, columns = matrix.size(-2), matrix.size(-1)
        if rows != columns:
            more = randn(*matrix.shape[:-2], rows, rows - columns, dtype=value.dtype, device=value.device)
            self.base = _orthogonal_factor(ops.aten.cat([matrix, more], -1))
        else:
            self.base = matrix.clone() if _is_orthogonal(matrix) else _orthogonal_factor(matrix)
        start = ops.aten.zeros_like(value)  # with -1 on its diagonal: what all three maps take to the identity
        _diagonal(start).fill_(-1.0)
        return start


def orthogonal(
    module: Any, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Any:
    """Keeps matrices orthogonal (their columns, or rows where there are fewer); returns the module.

    ``orthogonal_map`` is "matrix_exp", "cayley" or "householder"; by default the first for square and complex matrices,
    else the last. With ``use_trivialization`` it starts from, and moves about, a base that is kept as a buffer;
    without, only the "householder" map can be assigned to. Source: Lezcano-Casado, "Trivializations for gradient-based
    optimization on manifolds", 2019. Raises ValueError for another map, and for what is no matrix.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.dim() < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _OrthMaps.__members__:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    made = _Orthogonal(weight, _OrthMaps[orthogonal_map], use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, made, unsafe=True)


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Any:
        return directed(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Any, Tensor]:
        return norm_except_dim(weight, self.dim), weight


class _OldNames:
    """Loads what `nn.utils.weight_norm` saved."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        old = [f"{prefix}{self.name}_{part}" for part in "gv"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{self.name}.original{i}"] = state_dict.pop(key)


def weight_norm(module: Any, name: str = "weight", dim: int = 0) -> Any:
    """Makes a parameter of its size, ``original0``, and its direction, ``original1``; returns the module.

    See `nn.utils.weight_norm`, whose state dicts are loaded, too.
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module._register_load_state_dict_pre_hook(_OldNames(name))
    return module


class _SpectralNorm(Module):
    _u: Any
    _v: Any

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        dims = weight.dim()
        if not -dims <= dim < dims:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{dims}, {dims - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim, self.eps = dim % dims, eps
        if dims > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix(weight)
            for part, size in zip(("_u", "_v"), matrix.size(), strict=True):
                drawn = matrix.new_empty(size).normal_(0, 1)
                self.register_buffer(part, functional.normalize(drawn, dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _matrix(self, weight: Any) -> Any:
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.dim()) if d != self.dim))
        return weight.flatten(1)

    @no_grad()  # type: ignore[untyped-decorator]
    def _iterate(self, matrix: Any, count: int) -> None:
        for _ in range(count):
            self._u = functional.normalize(ops.aten.mv(matrix, self._v), dim=0, eps=self.eps, out=self._u)
            self._v = functional.normalize(ops.aten.mv(matrix.mH, self._u), dim=0, eps=self.eps, out=self._v)

    def forward(self, weight: Any) -> Any:
        if weight.dim() == 1:
            return functional.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # backward reads them, and the next forward changes the buffers
        return weight / ops.aten.vdot(u, ops.aten.mv(matrix, v))

    def right_inverse(self, value: Any) -> Any:
        return value


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Divides a parameter by its largest singular value whenever it is read; returns the module.

    See `nn.utils.spectral_norm`; here 15 iterations are done at once. Raises ValueError where there is no such tensor.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    made = _SpectralNorm(weight, n_power_iterations, usual_dim(module, dim), eps)
    return parametrize.register_parametrization(module, name, made)
