"""RAdam: Adam that trusts the mean of the squares only where enough of them went into it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .._core import Tensor
from .._ops import ops
from ._checks import check_betas, check_least, check_rate
from ._ruled import Ruled
from ._rules import WAYS, Rule, State, add_product, add_quotient, add_scaled, decayed, each, is_tensor, move_toward, run
from .optimizer import ParamsT

__all__ = ["RAdam", "radam"]


def _formula(p: Any, g: Any, s: SimpleNamespace, o: SimpleNamespace) -> None:
    g = decayed(p, g, o)
    move_toward(s.exp_avg, g, 1 - o.beta1)
    s.exp_avg_sq.mul_(o.beta2).addcmul_(g, g, value=1 - o.beta2)
    size = s.exp_avg_sq.sqrt().add_(o.eps)
    mean, squares = 1 - o.beta1**s.step, 1 - o.beta2**s.step
    most = 2 / (1 - o.beta2) - 1
    length = most - 2 * s.step * o.beta2**s.step / squares  # of the mean that is as sure as the running one

    def trust(length: Any, squares: Any) -> Any:
        share = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)
        return (share * squares) ** 0.5

    if is_tensor(length):
        shares = each(lambda n, q, r: ops.aten.where(n > 5.0, trust(n, q) / r, 1.0), length, squares, size)
        add_product(p, s.exp_avg / mean, shares, -o.lr)
    elif length > 5.0:
        add_quotient(p, s.exp_avg, size, -o.lr * trust(length, squares) / mean)
    else:
        add_scaled(p, s.exp_avg, -o.lr / mean)


_RULE = Rule(
    (State("step", lambda p, group: 0.0, number=True), State("exp_avg"), State("exp_avg_sq")),
    _formula,
    parts={"betas": ("beta1", "beta2")},
    later={**WAYS, "decoupled_weight_decay": False},
)


class RAdam(Ruled):
    """Steps by the mean of the gradient alone until its square's is sure enough, then as Adam, the surer the longer.

    Source: Liu et al., On the Variance of the Adaptive Learning Rate and Beyond, 2019. Raises ValueError for options
    out of range.
    """

    _rule = _RULE

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
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
        options = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
        ways = {"foreach": foreach, "capturable": capturable}
        last = {"decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable}
        super().__init__(params, {**options, **ways, **last})


def radam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
    eps: float,
) -> None:
    """One step of `RAdam`, in place: the lists have an item for each parameter."""
    options = {"beta1": beta1, "beta2": beta2, "lr": lr, "weight_decay": weight_decay, "eps": eps}
    run(
        _RULE,
        params,
        grads,
        {"step": state_steps, "exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs},
        {**options, "decoupled_weight_decay": decoupled_weight_decay},
        foreach=foreach,
        capturable=capturable,
        differentiable=differentiable,
        maximize=maximize,
    )
