"""A batch normalisation worked into the weights of the layer before it, for evaluation."""

from __future__ import annotations

import copy
from typing import Any

from ..._core import Tensor
from ..._ops import ops
from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of a convolution that does what both modules do in turn; ``transpose``: it is a transposed one.

    Raises AssertionError where one of them is in training mode, or the normalisation has no statistics.
    """
    _require_eval(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        *(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose)
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of the convolution that includes the normalisation, of their dtypes."""
    bias = ops.aten.zeros_like(bn_rm) if conv_b is None else conv_b
    scale = _scale(bn_rm, bn_rv, bn_eps, bn_w)
    shape = [1, -1] if transpose else [-1, 1]
    weight = conv_w * scale.reshape(shape + [1] * (conv_w.dim() - 2))
    return _parameters(conv_w, conv_b, bias, weight, (bias - bn_rm) * scale + (0 if bn_b is None else bn_b))


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of a linear layer that does what both modules do in turn; see `fuse_conv_bn_eval`.

    The normalisation must be of as many features, or of one.
    """
    _require_eval(linear, bn)
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got linear.out_features="
            f"{linear.out_features} and bn.num_features={bn.num_features}"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        *(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of the linear layer that includes the normalisation, of their dtypes."""
    bias = ops.aten.zeros_like(bn_rm) if linear_b is None else linear_b
    scale = _scale(bn_rm, bn_rv, bn_eps, bn_w)
    weight = linear_w * scale.unsqueeze(-1).to(linear_w.dtype)
    return _parameters(linear_w, linear_b, bias, weight, (bias - bn_rm) * scale + bn_b)


def _require_eval(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def _scale(mean: Tensor, variance: Any, eps: float, weight: Tensor | None) -> Any:
    scale = (variance + eps).rsqrt()
    return scale if weight is None else weight * scale


def _parameters(
    old_weight: Tensor, old_bias: Tensor | None, used_bias: Tensor, weight: Any, bias: Any
) -> tuple[Parameter, Parameter]:
    dtype = old_weight.dtype if old_bias is None else old_bias.dtype
    return (
        Parameter(weight.to(old_weight.dtype), old_weight.requires_grad),
        Parameter(bias.to(dtype), used_bias.requires_grad),
    )
