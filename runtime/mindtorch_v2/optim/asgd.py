"""Averaged SGD: the mean of the weights is kept beside them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .._core import Tensor
from ._checks import check_least, check_rate
from ._ruled import Ruled
from ._rules import Rule, State, add_scaled, at_least, decayed, is_tensor, run
from .optimizer import ParamsT

__all__ = ["ASGD", "asgd"]


def _formula(p: Any, g: Any, s: SimpleNamespace, o: SimpleNamespace) -> None:
    g = decayed(p, g, o)
    p.mul_(1 - o.lambd * s.eta)
    add_scaled(p, g, -s.eta)
    if not is_tensor(s.mu) and s.mu == 1:
        s.ax = p  # exactly: the mean begins
    else:
        s.ax.add_((p - s.ax) * s.mu)
    s.eta = o.lr / (1 + o.lambd * o.lr * s.step) ** o.alpha
    s.mu = 1 / at_least(s.step - o.t0, 1)


_RULE = Rule(
    (
        State("step", lambda p, group: 0.0, number=True),
        State("eta", lambda p, group: group["lr"], number=True),
        State("mu", lambda p, group: 1.0, number=True),
        State("ax"),
    ),
    _formula,
    numbers_on_device=True,
)


class ASGD(Ruled):
    """Gradient descent whose rate falls with the power ``alpha`` of the steps, and whose state has the mean, ``ax``.

    The mean is taken from step ``t0`` on; ``lambd`` shrinks the weights. Source: Polyak and Juditsky, Acceleration of
    Stochastic Approximation by Averaging, 1992. Raises ValueError for options out of range.
    """

    _rule = _RULE

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_rate(lr)
        check_least(weight_decay, "Invalid weight_decay value: {}")
        options = {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay}
        ways = {"foreach": foreach, "maximize": maximize, "differentiable": differentiable, "capturable": capturable}
        super().__init__(params, {**options, **ways})


def asgd(
    params: list[Tensor],
    grads: list[Tensor],
    axs: list[Tensor],
    mus: list[Tensor],
    etas: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lambd: float,
    lr: float,
    t0: float,
    alpha: float,
    weight_decay: float,
) -> None:
    """One step of `ASGD`, in place: the lists have an item for each parameter."""
    run(
        _RULE,
        params,
        grads,
        {"step": state_steps, "eta": etas, "mu": mus, "ax": axs},
        {"lambd": lambd, "lr": lr, "t0": t0, "alpha": alpha, "weight_decay": weight_decay},
        foreach=foreach,
        capturable=capturable,
        differentiable=differentiable,
        maximize=maximize,
    )
