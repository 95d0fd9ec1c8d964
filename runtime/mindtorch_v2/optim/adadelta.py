"""Adadelta: steps as large as those before, over the gradient's running size."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .._core import Tensor
from ._checks import check_least, check_rate
from ._ruled import Ruled
from ._rules import Rule, State, add_scaled, decayed, run
from .optimizer import ParamsT

__all__ = ["Adadelta", "adadelta"]


def _formula(p: Any, g: Any, s: SimpleNamespace, o: SimpleNamespace) -> None:
    g = decayed(p, g, o)
    s.square_avg.mul_(o.rho).addcmul_(g, g, value=1 - o.rho)
    delta = s.acc_delta.add(o.eps).sqrt_().div_(s.square_avg.add(o.eps).sqrt_()).mul_(g)
    s.acc_delta.mul_(o.rho).addcmul_(delta, delta, value=1 - o.rho)
    add_scaled(p, delta, -o.lr)


_RULE = Rule((State("step", lambda p, group: 0.0, number=True), State("square_avg"), State("acc_delta")), _formula)


class Adadelta(Ruled):
    """Steps by the running size of the steps before over that of the gradients; ``rho`` is how much of both stays.

    Source: Zeiler, ADADELTA: An Adaptive Learning Rate Method, 2012. Raises ValueError for options out of range.
    """

    _rule = _RULE

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_least(eps, "Invalid epsilon value: {}")
        check_least(weight_decay, "Invalid weight_decay value: {}")
        options = {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
        ways = {"capturable": capturable, "foreach": foreach, "differentiable": differentiable}
        super().__init__(params, {**options, **ways})


def adadelta(
    params: list[Tensor],
    grads: list[Tensor],
    square_avgs: list[Tensor],
    acc_deltas: list[Tensor],
    state_steps: list[Tensor],
    capturable: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    rho: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """One step of `Adadelta`, in place: the lists have an item for each parameter."""
    run(
        _RULE,
        params,
        grads,
        {"step": state_steps, "square_avg": square_avgs, "acc_delta": acc_deltas},
        {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay},
        foreach=foreach,
        capturable=capturable,
        differentiable=differentiable,
        maximize=maximize,
    )
