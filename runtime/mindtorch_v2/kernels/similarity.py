"""Similarities and distances of vectors, and products with a third tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

from .. import _core
from .._core import Tensor
from .._functional import broadcast_tensors, norm, root_of_square
from .._ops import ops
from .reduction import wrap_dim

_I64 = _core.dtypes["int64"]


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 . x2 / (max(|x1|, eps) * max(|x2|, eps)) along a dimension of both, broadcast."""
    if x1.dtype is x2.dtype and x1.shape == x2.shape and x1.is_floating_point():  # as usual
        along = wrap_dim(dim, x1.dim())
        same: Tensor = (_directed(x1, along, eps) * _directed(x2, along, eps)).sum(along)
        return same
    common = _core.promote_types(x1.dtype, x2.dtype)
    if not common.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {common}")
    first, second = broadcast_tensors(x1.to(common), x2.to(common))
    d = wrap_dim(dim, first.dim())
    result: Tensor = (_directed(first, d, eps) * _directed(second, d, eps)).sum(d)
    return result


def _directed(x: Tensor, dim: int, eps: float) -> Tensor:
    """x over its norm, which is at least eps: a limit that gradients do not see, as in PyTorch."""
    length = ops.aten.linalg_vector_norm(x, 2, [dim], True)
    with_limit = length + (length.detach().clamp_min(eps) - length.detach())
    result: Tensor = x / with_limit
    return result


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last dimension."""
    apart = x1 - x2 + eps
    result: Tensor = norm(apart, p, max(apart.dim() - 1, 0), keepdim)
    return result


def cdist(x1: Tensor, x2: Tensor, p: float = 2, compute_mode: int | None = None) -> Tensor:
    """The p-norms of the differences of all rows of two matrices, or of batches of them."""
    if not (x1.is_floating_point() and x2.is_floating_point()):
        raise RuntimeError(f"cdist only supports floating-point dtypes, X1 got: {x1.dtype}, X2 got: {x2.dtype}")
    if x1.dtype is not x2.dtype:
        expected, found = (_core.scalar_types[x.dtype.name] for x in (x1, x2))
        raise RuntimeError(f"expected scalar type {expected} but found {found}")
    if x1.dim() < 2 or x2.dim() < 2:
        raise RuntimeError(
            f"cdist only supports at least 2D tensors, X{1 if x1.dim() < 2 else 2} got: {min(x1.dim(), x2.dim())}D"
        )
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if not p >= 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if compute_mode is not None and compute_mode not in (0, 1, 2):
        raise RuntimeError(f"possible modes: 0, 1, 2, but was: {compute_mode}")
    aten = ops.aten
    if p == 2 and x1.numel() and x2.numel() and _by_product(compute_mode, x1.shape[-2], x2.shape[-2]):
        squares = ((x * x).sum([-1], True) for x in (x1, x2))
        rows, columns = next(squares), next(squares).mT
        return root_of_square((rows + columns - 2 * (x1 @ x2.mT)).clamp_min(0))
    distance = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    if not distance.numel():
        empty: Tensor = distance.sum([-1])  # which depends on both
        return empty
    if p == 2:  # whose root has no slope at 0: there the gradient is 0
        return root_of_square((distance * distance).sum([-1]))
    if 0 < p < 1:  # powers have no slope at 0 either
        zero = distance == 0
        powers = aten.where(zero, 0.0, aten.where(zero, 1.0, distance).abs().pow(p))
        return powers.sum([-1]).pow(1 / p)  # type: ignore[no-any-return]
    if math.isinf(p):  # each of the largest is given all of the gradient
        size = distance.abs()
        largest = size.detach().amax([-1], True)
        change = aten.where(size.detach() == largest, size - size.detach(), 0.0)
        return largest.squeeze(-1) + change.sum([-1])  # type: ignore[no-any-return]
    return norm(distance, p, -1)


def _by_product(mode: int | None, rows: int, columns: int) -> bool:
    """Whether Euclidean distances are made of a product of matrices: where there are many, unless that is refused."""
    return mode == 1 or (not mode and (rows > _FEW_ROWS or columns > _FEW_ROWS))


_FEW_ROWS = 25  # PyTorch's bound


def pdist(self: Tensor, p: float = 2) -> NoReturn:
    """Says what is wrong of a call that `pdist_forward` does not take."""
    if self.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {self.dim()}D")
    if not self.is_floating_point():
        raise RuntimeError("pdist only supports floating-point dtypes")
    raise RuntimeError("pdist only supports non-negative p values")


def pdist_forward(self: Tensor, p: float = 2) -> Tensor:
    """The distances of all pairs of rows, the first with those after it first."""
    if not self.is_floating_point():
        raise NotImplementedError(f"pdist: not implemented for {self.dtype}")
    if self.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {self.dim()}D")
    if self.shape[0] <= 1:
        nothing: Tensor = self.new_empty((0,))
        return nothing
    result: Tensor = ops.aten.linalg_vector_norm(_pairs(self)[0], p, [1])
    return result


def _pairs(self: Tensor) -> tuple[Tensor, Tensor]:
    """The differences of all pairs of rows, and which these are."""
    upper = ops.aten.triu_indices(self.shape[0], self.shape[0], 1, device=self.device)
    return self.index_select(0, upper[0]) - self.index_select(0, upper[1]), upper


def pdist_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the rows and their distances."""
    self, ctx.p = inputs
    ctx.save_for_backward(self, output)


def pdist_gradient(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """Each distance's slope, given to the first of its rows and taken from the second."""
    self, lengths = ctx.saved_tensors
    zeros = self.new_zeros(self.shape)
    if self.shape[0] <= 1:
        return zeros, None
    apart, upper = _pairs(self)
    slope = grad.unsqueeze(1) * _slope(apart, lengths.unsqueeze(1), ctx.p)
    return zeros.index_add(0, upper[0], slope).index_add(0, upper[1], -slope), None


def _slope(apart: Tensor, length: Tensor, p: float) -> Tensor:
    """The slope of the p-norm of a difference; 0 where the norm is, and for p < 1 where the difference is."""
    aten = ops.aten
    if p == 0:
        return aten.zeros_like(apart)  # type: ignore[no-any-return]
    if p == 1:
        return aten.sign(apart)  # type: ignore[no-any-return]
    if math.isinf(p):  # each of the largest is given all of it
        return aten.sign(apart) * (apart.abs() == length)  # type: ignore[no-any-return]
    over = aten.where(length == 0, 1.0, length)
    if p == 2:
        return apart / over  # type: ignore[no-any-return]
    zero = apart == 0
    powers = aten.where(zero, 0.0, (aten.where(zero, 1.0, apart).abs() / over).pow(p - 1))
    result: Tensor = aten.sign(apart) * aten.where(length == 0, 0.0, powers)
    return result


def trilinear(
    i1: Tensor,
    i2: Tensor,
    i3: Tensor,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    sumdim: Sequence[int],
    unroll_dim: int = 1,
) -> Tensor:
    """The product of three tensors with dimensions of size 1 put in at ``expand1..3``, summed over ``sumdim``."""
    dims = i1.dim() + len(expand1)
    if not 0 <= unroll_dim < dims:
        raise RuntimeError(f"unroll_dim must be in [0,{dims - 1}]")

    def expanded(x: Tensor, at: Sequence[int]) -> Tensor:
        for d in sorted(at):
            x = x.unsqueeze(d)
        return x

    product = expanded(i1, expand1) * expanded(i2, expand2) * expanded(i3, expand3)
    result: Tensor = product.sum(list(sumdim)) if sumdim else product
    return result


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1 @ weight[k] @ x2 for each k, in a last dimension, plus a bias for each."""
    if bias is not None and not input1.dtype == input2.dtype == weight.dtype == bias.dtype:
        raise RuntimeError(
            f"All tensors must have the same dtype, got input1: {input1.dtype}, input2: {input2.dtype}, weight: "
            f"{weight.dtype}, bias: {bias.dtype}"
        )
    if weight.dim() != 3 or not input1.dim() or (bias is not None and bias.dim() != 1):
        raise RuntimeError(f"bilinear(): expected a weight (out, n1, n2) and inputs (..., n), got {list(weight.shape)}")
    if input1.dim() != input2.dim():
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.dim()} and {input2.dim()}")
    for d, (a, b) in enumerate(zip(input1.shape[:-1], input2.shape[:-1], strict=True)):
        if a != b:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {d}: got {a} and {b}")
    for at, (given, size) in enumerate(zip((input1, input2), weight.shape[1:], strict=False), 1):
        if given.shape[-1] != size:
            raise RuntimeError(
                f"bilinear(): input{at} size does not match weight size: got {given.shape[-1]} but expected {size}"
            )
    outs, n1, n2 = weight.shape
    if bias is not None and bias.shape[0] != outs:
        raise RuntimeError(f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected {outs}")
    rows = math.prod(input1.shape[:-1])
    first, second = input1.reshape((rows, n1)), input2.reshape((rows, n2))
    between = first.matmul(weight.permute((1, 0, 2)).reshape((n1, outs * n2))).reshape((rows, outs, n2))
    result: Any = (between * second.unsqueeze(1)).sum(2).reshape((*input1.shape[:-1], outs))
    total: Tensor = result if bias is None else result + bias
    return total


def one_hot(self: Tensor, num_classes: int = -1) -> Tensor:
    """1 at each index in a new last dimension, 0 elsewhere; as many classes as the largest index needs, by default."""
    if self.dtype is not _I64:
        raise RuntimeError(f"one_hot is only applicable to index tensor of type LongTensor, got {self.dtype}.")
    if not self.numel():
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return ops.aten.zeros((*self.shape, num_classes), dtype=_I64, device=self.device)  # type: ignore[no-any-return]
    if self.device.type != "meta":
        if bool((self.min() < 0).item()):
            raise RuntimeError("Class values must be non-negative.")
        largest = int(self.max().item())
        if num_classes == -1:
            num_classes = largest + 1
        elif num_classes < 1:
            raise RuntimeError("num_classes should be positive")
        elif largest >= num_classes:
            raise RuntimeError("Class values must be smaller than num_classes.")
    elif num_classes == -1:
        raise NotImplementedError("one_hot: the number of classes depends on the indices, which a meta tensor has not")
    zeros = ops.aten.zeros((*self.shape, num_classes), dtype=_I64, device=self.device)
    result: Tensor = zeros.scatter_(-1, self.unsqueeze(-1), 1)
    return result
