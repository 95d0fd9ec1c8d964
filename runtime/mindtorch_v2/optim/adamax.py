"""Adamax: Adam by the greatest gradient, slowly forgotten, in place of the mean of the squares."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .._core import Tensor
from ._checks import check_betas, check_least, check_rate
from ._ruled import Ruled
from ._rules import Rule, State, add_quotient, decayed, move_toward, run
from .optimizer import ParamsT

__all__ = ["Adamax", "adamax"]


def _formula(p: Any, g: Any, s: SimpleNamespace, o: SimpleNamespace) -> None:
    g = decayed(p, g, o)
    move_toward(s.exp_avg, g, 1 - o.beta1)
    s.exp_inf = s.exp_inf.mul_(o.beta2).maximum(g.abs().add_(o.eps))
    add_quotient(p, s.exp_avg, s.exp_inf, -o.lr / (1 - o.beta1**s.step))


_RULE = Rule(
    (State("step", lambda p, group: 0.0, number=True), State("exp_avg"), State("exp_inf")),
    _formula,
    parts={"betas": ("beta1", "beta2")},
)


class Adamax(Ruled):
    """Steps by the running mean of the gradient over its greatest size, which ``betas[1]`` lets fall.

    Source: Kingma and Ba, Adam: A Method for Stochastic Optimization, 2014. Raises ValueError for options out of range.
    """

    _rule = _RULE

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_rate(lr)
        check_least(eps, "Invalid epsilon value: {}")
        check_betas(betas)
        check_least(weight_decay, "Invalid weight_decay value: {}")
        options = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach}
        ways = {"maximize": maximize, "differentiable": differentiable, "capturable": capturable}
        super().__init__(params, {**options, **ways})


def adamax(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_infs: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
) -> None:
    """One step of `Adamax`, in place: the lists have an item for each parameter."""
    run(
        _RULE,
        params,
        grads,
        {"step": state_steps, "exp_avg": exp_avgs, "exp_inf": exp_infs},
        {"eps": eps, "beta1": beta1, "beta2": beta2, "lr": lr, "weight_decay": weight_decay},
        foreach=foreach,
        capturable=capturable,
        differentiable=differentiable,
        maximize=maximize,
    )
