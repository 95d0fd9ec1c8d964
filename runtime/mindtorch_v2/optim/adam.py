"""Adam: steps by the running means of the gradient and of its square."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .._core import Tensor
from ._checks import check_betas, check_least, check_rate, check_ways
from ._fused import fused_adam
from ._ruled import Ruled
from ._rules import WAYS, Rule, State, add_product, add_quotient, decayed, move_toward, run
from .optimizer import Group, ParamsT

__all__ = ["Adam", "adam"]


def _formula(p: Any, g: Any, s: SimpleNamespace, o: SimpleNamespace) -> None:
    g = decayed(p, g, o)
    move_toward(s.exp_avg, g, 1 - o.beta1)
    add_product(s.exp_avg_sq.mul_(o.beta2), g, g, 1 - o.beta2)
    square = s.exp_avg_sq
    if o.amsgrad:
        s.max_exp_avg_sq = square = s.max_exp_avg_sq.maximum(square)
    size = square.sqrt().div_((1 - o.beta2**s.step) ** 0.5).add_(o.eps)
    add_quotient(p, s.exp_avg, size, -o.lr / (1 - o.beta1**s.step))


RULE = Rule(
    (
        State("step", lambda p, group: 0.0, number=True),
        State("exp_avg"),
        State("exp_avg_sq"),
        State("max_exp_avg_sq", when=lambda p, group: group["amsgrad"]),
    ),
    _formula,
    fused_adam,
    parts={"betas": ("beta1", "beta2")},
    later={**WAYS, "amsgrad": False, "decoupled_weight_decay": False, "fused": None},
)


class Adam(Ruled):
    """Steps by running means of the gradient and of its square, both corrected for their start at 0.

    ``amsgrad``: by the greatest mean of the squares so far; ``decoupled_weight_decay``: as `AdamW`. Source: Kingma and
    Ba, Adam: A Method for Stochastic Optimization, 2014. Raises ValueError for options out of range, RuntimeError for
    ``fused`` with another way.
    """

    _rule = RULE

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        lists = bool(foreach) and not capturable
        if isinstance(lr, Tensor) and lists:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        check_rate(lr)
        check_least(eps, "Invalid epsilon value: {}")
        check_betas(betas)
        check_least(weight_decay, "Invalid weight_decay value: {}")
        options = {"lr": lr, "betas": _checked(betas, lists), "eps": eps, "weight_decay": weight_decay}
        ways = {"maximize": maximize, "foreach": foreach, "capturable": capturable, "differentiable": differentiable}
        last = {"fused": fused, "decoupled_weight_decay": decoupled_weight_decay}
        super().__init__(params, {**options, "amsgrad": amsgrad, **ways, **last})
        check_ways(fused, differentiable, foreach)
        if fused:
            self._step_supports_amp_scaling = True

    def _check(self, group: Group, param: Tensor) -> None:
        super()._check(group, param)
        if group["foreach"] and isinstance(group["lr"], Tensor) and not group["capturable"]:
            raise RuntimeError("lr as a Tensor is not supported for capturable=False and foreach=True")


def _checked(betas: Any, lists: bool) -> tuple[Any, Any]:
    """Two betas, as floats or tensors of no dimensions."""
    if not any(all(isinstance(beta, kind) for beta in betas[:2]) for kind in (float, Tensor)):
        raise ValueError("betas must be either both floats or both Tensors")
    if isinstance(betas[0], float):
        return betas[0], betas[1]
    for i in (0, 1):
        if lists:
            raise ValueError(f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
        if betas[i].numel() != 1:
            raise ValueError(f"Tensor betas[{i}] must be 1-element")
    return betas[0].squeeze(), betas[1].squeeze()


def adam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    decoupled_weight_decay: bool = False,
    *,
    amsgrad: bool,
    beta1: float | Tensor,
    beta2: float | Tensor,
    lr: float | Tensor,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """One step of `Adam`, in place: the lists have an item for each parameter, or none where they are not used."""
    states = {"step": state_steps, "exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs}
    own = {"amsgrad": amsgrad, "decoupled_weight_decay": decoupled_weight_decay}
    run(
        RULE,
        params,
        grads,
        {**states, "max_exp_avg_sq": max_exp_avg_sqs} if max_exp_avg_sqs else {**states},
        {"beta1": beta1, "beta2": beta2, "lr": lr, "weight_decay": weight_decay, "eps": eps, **own},
        foreach=foreach,
        fused=fused,
        capturable=capturable,
        differentiable=differentiable,
        maximize=maximize,
        grad_scale=grad_scale,
        found_inf=found_inf,
    )
