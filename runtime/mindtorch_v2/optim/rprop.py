"""Rprop: steps by the gradient's sign alone, of a size that grows until the sign turns."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .. import _creation
from .._core import Tensor
from ._checks import check_rate
from ._ruled import Ruled
from ._rules import Rule, State, each, run
from .optimizer import Group, ParamsT

__all__ = ["Rprop", "rprop"]


def _formula(p: Any, g: Any, s: SimpleNamespace, o: SimpleNamespace) -> None:
    def factor(sign: Any) -> Any:
        kept = sign.masked_fill(sign == 0, 1)
        return kept.masked_fill(sign > 0, o.etaplus).masked_fill(sign < 0, o.etaminus)

    sign = g.mul(s.prev).sign()
    s.step_size.mul_(each(factor, sign)).clamp_min_(o.step_size_min).clamp_max_(o.step_size_max)
    s.prev = each(lambda g, sign: g.masked_fill(sign < 0, 0), g, sign)  # after a turn there is no step
    p.addcmul_(s.prev.sign(), s.step_size, value=-1)


def _first_size(param: Tensor, group: Group) -> Tensor:
    lr = group["lr"].item() if isinstance(group["lr"], Tensor) else group["lr"]
    return _creation.full_like(param, complex(lr, lr) if param.is_complex() else lr)


_RULE = Rule(
    (State("step", lambda p, group: 0.0, number=True), State("prev"), State("step_size", _first_size)),
    _formula,
    parts={"etas": ("etaminus", "etaplus"), "step_sizes": ("step_size_min", "step_size_max")},
)


class Rprop(Ruled):
    """Steps whose size each number has for itself: ``etas[1]`` times as large while the gradient keeps its sign,
    ``etas[0]`` times when it turns, within ``step_sizes``; the first is ``lr``.

    Source: Riedmiller and Braun, A Direct Adaptive Method for Faster Backpropagation Learning, 1993. Raises ValueError
    for options out of range.
    """

    _rule = _RULE

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        options = {"lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize}
        super().__init__(params, {**options, "differentiable": differentiable, "capturable": capturable})


def rprop(
    params: list[Tensor],
    grads: list[Tensor],
    prevs: list[Tensor],
    step_sizes: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    maximize: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    step_size_min: float,
    step_size_max: float,
    etaminus: float,
    etaplus: float,
) -> None:
    """One step of `Rprop`, in place: the lists have an item for each parameter."""
    sizes = {"step_size_min": step_size_min, "step_size_max": step_size_max}
    run(
        _RULE,
        params,
        grads,
        {"step": state_steps, "prev": prevs, "step_size": step_sizes},
        {**sizes, "etaminus": etaminus, "etaplus": etaplus},
        foreach=foreach,
        capturable=capturable,
        differentiable=differentiable,
        maximize=maximize,
    )
