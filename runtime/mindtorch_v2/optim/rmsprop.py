"""RMSprop: steps over the root of the running mean of the squared gradients."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .._core import Tensor
from ._checks import check_least, check_rate
from ._ruled import Ruled
from ._rules import WAYS, Rule, State, add_quotient, add_scaled, decayed, run
from .optimizer import ParamsT

__all__ = ["RMSprop", "rmsprop"]


def _formula(p: Any, g: Any, s: SimpleNamespace, o: SimpleNamespace) -> None:
    g = decayed(p, g, o)
    s.square_avg.mul_(o.alpha).addcmul_(g, g, value=1 - o.alpha)
    if o.centered:
        s.grad_avg.lerp_(g, 1 - o.alpha)
        size = s.square_avg.addcmul(s.grad_avg, s.grad_avg, value=-1).sqrt_().add_(o.eps)
    else:
        size = s.square_avg.sqrt().add_(o.eps)
    if o.momentum > 0:
        add_scaled(p, s.momentum_buffer.mul_(o.momentum).addcdiv_(g, size), -o.lr)
    else:
        add_quotient(p, g, size, -o.lr)


_RULE = Rule(
    (
        State("step", lambda p, group: 0.0, number=True),
        State("square_avg"),
        State("momentum_buffer", when=lambda p, group: group["momentum"] > 0),
        State("grad_avg", when=lambda p, group: group["centered"]),
    ),
    _formula,
    later={"momentum": 0, "centered": False, **WAYS},
)


class RMSprop(Ruled):
    """Steps by the gradient over the root of its square's running mean, ``alpha`` of which stays; with momentum.

    With ``centered`` over the gradient's deviation. Source: Hinton, Neural Networks for Machine Learning, lecture 6,
    2012; centered: Graves, Generating Sequences With Recurrent Neural Networks, 2013. Raises ValueError for options
    out of range.
    """

    _rule = _RULE

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check_least(eps, "Invalid epsilon value: {}")
        check_least(momentum, "Invalid momentum value: {}")
        check_least(weight_decay, "Invalid weight_decay value: {}")
        check_least(alpha, "Invalid alpha value: {}")
        options = {"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered}
        ways = {"capturable": capturable, "foreach": foreach, "maximize": maximize, "differentiable": differentiable}
        super().__init__(params, {**options, "weight_decay": weight_decay, **ways})


def rmsprop(
    params: list[Tensor],
    grads: list[Tensor],
    square_avgs: list[Tensor],
    grad_avgs: list[Tensor],
    momentum_buffer_list: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    alpha: float,
    eps: float,
    weight_decay: float,
    momentum: float,
    centered: bool,
) -> None:
    """One step of `RMSprop`, in place: the lists have an item for each parameter, or none where they are not used."""
    states = {"step": state_steps, "square_avg": square_avgs}
    own = {"momentum_buffer": momentum_buffer_list, "grad_avg": grad_avgs}
    options = {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay}
    run(
        _RULE,
        params,
        grads,
        {**states, **{name: column for name, column in own.items() if column}},
        {**options, "momentum": momentum, "centered": centered},
        foreach=foreach,
        capturable=capturable,
        differentiable=differentiable,
        maximize=maximize,
    )
