"""Adagrad: steps over the root of the sum of all squared gradients."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .. import _creation
from .._core import Tensor
from ._checks import check_least, check_rate, check_ways
from ._fused import fused_adagrad
from ._ruled import Ruled
from ._rules import Rule, State, add_quotient, decayed, run
from .optimizer import Group, ParamsT

__all__ = ["Adagrad", "adagrad"]


def _formula(p: Any, g: Any, s: SimpleNamespace, o: SimpleNamespace) -> None:
    g = decayed(p, g, o)
    s.sum.addcmul_(g, g, value=1)
    add_quotient(p, g, s.sum.sqrt().add_(o.eps), -o.lr / (1 + (s.step - 1) * o.lr_decay))


def _first_sum(param: Tensor, group: Group) -> Tensor:
    value = group["initial_accumulator_value"]
    return _creation.full_like(param, complex(value, value) if param.is_complex() else value)


_RULE = Rule(
    (State("step", lambda p, group: 0.0, number=True), State("sum", _first_sum)),
    _formula,
    fused_adagrad,
    later={"foreach": None, "maximize": False, "differentiable": False, "fused": None},
)


class Adagrad(Ruled):
    """Steps over the root of the sum of the squared gradients so far, which begins at ``initial_accumulator_value``.

    The rate falls as ``1 / (1 + steps * lr_decay)``. Source: Duchi, Hazan and Singer, Adaptive Subgradient Methods for
    Online Learning and Stochastic Optimization, 2011. Raises ValueError for options out of range, RuntimeError for
    ``fused`` with another way.
    """

    _rule = _RULE

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check_least(lr_decay, "Invalid lr_decay value: {}")
        check_least(weight_decay, "Invalid weight_decay value: {}")
        check_least(initial_accumulator_value, "Invalid initial_accumulator_value value: {}")
        check_least(eps, "Invalid epsilon value: {}")
        options = {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay}
        first = {"initial_accumulator_value": initial_accumulator_value}
        ways = {"foreach": foreach, "maximize": maximize, "differentiable": differentiable, "fused": fused}
        super().__init__(params, {**options, **first, **ways})
        check_ways(fused, differentiable, foreach)
        if fused:
            self._step_supports_amp_scaling = True
        for group in self.param_groups:
            for param in group["params"]:
                self._begin(group, param)


def adagrad(
    params: list[Tensor],
    grads: list[Tensor],
    state_sums: list[Tensor],
    state_steps: list[Tensor],
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    weight_decay: float,
    lr_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """One step of `Adagrad`, in place: the lists have an item for each parameter."""
    run(
        _RULE,
        params,
        grads,
        {"step": state_steps, "sum": state_sums},
        {"lr": lr, "weight_decay": weight_decay, "lr_decay": lr_decay, "eps": eps},
        foreach=foreach,
        fused=fused,
        differentiable=differentiable,
        maximize=maximize,
        grad_scale=grad_scale,
        found_inf=found_inf,
    )
