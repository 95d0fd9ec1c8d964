"""Muon: momentum of matrices, made nearly orthogonal before the step."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

from .._core import Tensor
from .._ops import ops
from ._checks import check_least, check_rate
from ._ruled import Ruled
from ._rules import Rule, State, run
from .optimizer import Group, ParamsT

__all__ = ["Muon"]

# How a rate is made fit for a matrix of some rows and columns, whose update has about the same size in all directions.
_ADJUSTED = {
    "original": lambda rows, columns: math.sqrt(max(1, rows / columns)),
    "match_rms_adamw": lambda rows, columns: 0.2 * math.sqrt(max(rows, columns)),
}


def _orthogonal(matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Any:
    """Nearly ``U V'`` of ``U S V'``, in bfloat16, by steps of a polynomial of the fifth degree (Newton-Schulz)."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if matrix.dim() != 2:
        raise ValueError("Input tensor gradient must be a 2D matrix")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    first, second, third = coefficients
    tall = matrix.size(0) > matrix.size(1)
    x: Any = matrix.bfloat16()
    x = x.T if tall else x  # the products below are of the shorter side
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = ops.aten.addmm(x, ops.aten.addmm(gram, gram, gram, beta=second, alpha=third), x, beta=first)
    return x.T if tall else x


def _formula(p: Any, g: Any, s: SimpleNamespace, o: SimpleNamespace) -> None:
    if g.dim() != 2:
        raise ValueError("Param gradient must be a 2D matrix")
    s.momentum_buffer.lerp_(g, 1 - o.momentum)
    update = g.lerp(s.momentum_buffer, o.momentum) if o.nesterov else s.momentum_buffer
    update = _orthogonal(update, o.ns_coefficients, o.ns_steps, o.eps)
    p.mul_(1 - o.lr * o.weight_decay)
    p.add_(update, alpha=-o.lr * _ADJUSTED[o.adjust_lr_fn or "original"](*p.shape))


_RULE = Rule((State("momentum_buffer"),), _formula, later={}, lists_by_default=False)


class Muon(Ruled):
    """Steps of matrices by their momentum, whose singular values are brought near 1 in ``ns_steps`` steps.

    ``adjust_lr_fn``: how the rate follows from a matrix's shape, ``"original"`` (None is the same) or
    ``"match_rms_adamw"``. Source: Jordan et al., Muon: An optimizer for hidden layers in neural networks, 2024; Liu et
    al., Muon is Scalable for LLM Training, 2025. Raises ValueError for options out of range and parameters that are no
    matrices, RuntimeError for complex ones.
    """

    _rule = _RULE

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_rate(lr, "Learning rate should be >= 0 but is: {}")
        check_least(momentum, "momentum should be >= 0 but is: {}")
        check_least(weight_decay, "weight decay should be >= 0 but is: {}")
        if adjust_lr_fn is not None and adjust_lr_fn not in _ADJUSTED:
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        options = {"lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov}
        own = {"ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn}
        super().__init__(params, {**options, **own})
        for param in self._parameters():
            if param.dim() != 2:
                raise ValueError(
                    f"Muon only supports 2D parameters whereas we found a parameter with size: {param.size()}"
                )

    def _check(self, group: Group, param: Tensor) -> None:
        if param.is_complex():
            raise RuntimeError("Muon does not support complex parameters")


def muon(
    params: list[Tensor],
    grads: list[Tensor],
    muon_momentum_bufs: list[Tensor],
    *,
    foreach: bool | None = None,
    lr: float,
    weight_decay: float,
    momentum: float,
    nesterov: bool,
    ns_coefficients: tuple[float, float, float],
    ns_steps: int,
    eps: float,
    adjust_lr_fn: str | None,
    has_complex: bool,
) -> None:
    """One step of `Muon`, in place. Raises RuntimeError for ``foreach``, ValueError for complex parameters."""
    if foreach:
        raise RuntimeError("Foreach is not supported for Muon yet")
    if has_complex:
        raise ValueError("Complex parameters are not supported")
    options = {"lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov, "eps": eps}
    own = {"ns_coefficients": ns_coefficients, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn}
    run(_RULE, params, grads, {"momentum_buffer": muon_momentum_bufs}, {**options, **own})
