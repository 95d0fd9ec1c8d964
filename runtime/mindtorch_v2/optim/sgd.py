"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .._core import Tensor
from ._checks import check_one_number, check_ways
from ._fused import fused_sgd
from ._ruled import Ruled
from ._rules import Rule, State, add_scaled, decayed, each, run
from .optimizer import ParamsT

__all__ = ["SGD", "sgd"]


def _formula(p: Any, g: Any, s: SimpleNamespace, o: SimpleNamespace) -> None:
    g = decayed(p, g, o)
    if o.momentum != 0:
        if s.momentum_buffer is None:
            s.momentum_buffer = each(lambda g: g.detach().clone(), g)
        else:
            s.momentum_buffer.mul_(o.momentum).add_(g, alpha=1 - o.dampening)
        g = g.add(s.momentum_buffer, alpha=o.momentum) if o.nesterov else s.momentum_buffer
    add_scaled(p, g, -o.lr)


_RULE = Rule(
    (State("momentum_buffer", when=lambda p, group: False),),  # the first step makes it, of the gradient
    _formula,
    fused_sgd,
    later={"nesterov": False, "maximize": False, "foreach": None, "differentiable": False, "fused": False},
)


class SGD(Ruled):
    """``p -= lr * g``, or with momentum ``b = momentum * b + (1 - dampening) * g; p -= lr * b``.

    Source of ``nesterov``: Sutskever et al., On the Importance of Initialization and Momentum in Deep Learning, 2013.
    Raises ValueError for options out of range, RuntimeError for ``fused`` with another way.
    """

    _rule = _RULE

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_one_number(lr)
        if lr < 0.0:  # NaN is taken, as PyTorch takes it
            raise ValueError(f"Invalid learning rate: {lr}")
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        options = {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay}
        ways = {"foreach": foreach, "differentiable": differentiable, "fused": fused}
        super().__init__(params, {**options, "nesterov": nesterov, "maximize": maximize, **ways})
        check_ways(fused, differentiable, foreach)
        if fused:
            self._step_supports_amp_scaling = True


def sgd(
    params: list[Tensor],
    d_p_list: list[Tensor],
    momentum_buffer_list: list[Tensor | None],
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    *,
    weight_decay: float,
    momentum: float,
    lr: float,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    """One step of `SGD`, in place: the lists have an item for each parameter; momenta that are None are made."""
    options = {"weight_decay": weight_decay, "momentum": momentum, "lr": lr, "dampening": dampening}
    run(
        _RULE,
        params,
        d_p_list,
        {"momentum_buffer": momentum_buffer_list or [None] * len(params)},
        {**options, "nesterov": nesterov},
        foreach=foreach,
        fused=fused,
        maximize=maximize,
        grad_scale=grad_scale,
        found_inf=found_inf,
    )
