"""NAdam: Adam with Nesterov's momentum, whose share grows with the steps."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .._core import Tensor
from ._checks import check_betas, check_least, check_rate
from ._ruled import Ruled
from ._rules import WAYS, Rule, State, add_quotient, decayed, move_toward, run
from .optimizer import ParamsT

__all__ = ["NAdam", "nadam"]


def _formula(p: Any, g: Any, s: SimpleNamespace, o: SimpleNamespace) -> None:
    g = decayed(p, g, o)
    now, then = (o.beta1 * (1.0 - 0.5 * 0.96 ** (step * o.momentum_decay)) for step in (s.step, s.step + 1))
    s.mu_product = s.mu_product * now
    move_toward(s.exp_avg, g, 1 - o.beta1)
    s.exp_avg_sq.mul_(o.beta2).addcmul_(g, g, value=1 - o.beta2)
    size = s.exp_avg_sq.div(1 - o.beta2**s.step).sqrt_().add_(o.eps)
    add_quotient(p, g, size, -o.lr * (1.0 - now) / (1.0 - s.mu_product))
    add_quotient(p, s.exp_avg, size, -o.lr * then / (1.0 - s.mu_product * then))


_RULE = Rule(
    (
        State("step", lambda p, group: 0.0, number=True),
        State("mu_product", lambda p, group: 1.0, number=True),
        State("exp_avg"),
        State("exp_avg_sq"),
    ),
    _formula,
    parts={"betas": ("beta1", "beta2")},
    later={**WAYS, "decoupled_weight_decay": False},
)


class NAdam(Ruled):
    """Steps as Adam, by the momentum that the next step will have; ``momentum_decay`` is how fast its share grows.

    Source: Dozat, Incorporating Nesterov Momentum into Adam, 2016. Raises ValueError for options out of range.
    """

    _rule = _RULE

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check_least(eps, "Invalid epsilon value: {}")
        check_betas(betas)
        check_least(weight_decay, "Invalid weight_decay value: {}")
        check_least(momentum_decay, "Invalid momentum_decay value: {}")
        options = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        own = {"momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay}
        ways = {"maximize": maximize, "foreach": foreach, "capturable": capturable, "differentiable": differentiable}
        super().__init__(params, {**options, **own, **ways})


def nadam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    mu_products: list[Tensor],
    state_steps: list[Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
    momentum_decay: float,
    eps: float,
) -> None:
    """One step of `NAdam`, in place: the lists have an item for each parameter."""
    options = {"beta1": beta1, "beta2": beta2, "lr": lr, "weight_decay": weight_decay, "eps": eps}
    run(
        _RULE,
        params,
        grads,
        {"step": state_steps, "mu_product": mu_products, "exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs},
        {**options, "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay},
        foreach=foreach,
        capturable=capturable,
        differentiable=differentiable,
        maximize=maximize,
    )
