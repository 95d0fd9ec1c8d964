"""Similarities and distances of vectors, and products with a third tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._functional import broadcast_tensors, norm
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


def pdist(self: Tensor, p: float = 2) -> Tensor:
    """The distances of all pairs of rows, the first with those after it first."""
    if self.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {self.dim()}D")
    if not self.is_floating_point():
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    result: Tensor = ops.aten._pdist_forward(self.contiguous(), p)
    return result


def pdist_forward(self: Tensor, p: float = 2) -> Tensor:
    """As `pdist`, of what was checked."""
    if not self.is_floating_point():
        raise NotImplementedError(f"pdist: not implemented for {self.dtype}")
    if self.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {self.dim()}D")
    rows = self.shape[0]
    if rows <= 1:
        nothing: Tensor = self.reshape((-1,))[:0]
        return nothing
    upper = ops.aten.triu_indices(rows, rows, 1, device=self.device)
    apart = self.index_select(0, upper[0]) - self.index_select(0, upper[1])
    result: Tensor = ops.aten.linalg_vector_norm(apart, p, [1])
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
