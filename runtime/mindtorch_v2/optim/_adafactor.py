"""Adafactor: the mean of the squares of a matrix is kept as that of its rows and that of its columns."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .. import _creation
from .._core import Tensor
from .._type_info import finfo
from ._checks import check_least, check_rate
from ._ruled import Ruled
from ._rules import Rule, State, each, run
from .optimizer import Group, ParamsT

__all__ = ["Adafactor", "adafactor"]


def _size(x: Tensor) -> float:
    """The root of the mean of the squares."""
    return float(x.norm(2).item() / x.numel() ** 0.5)


def _formula(p: Any, g: Any, s: SimpleNamespace, o: SimpleNamespace) -> None:
    share, rate = s.step**o.beta2_decay, min(o.lr, 1 / s.step**0.5)
    small = each(lambda p: finfo(p.dtype).eps if o.eps1 is None else o.eps1, p)
    sizes = each(lambda p: max(o.eps2, _size(p)) * rate, p)
    if o.weight_decay != 0:
        p.mul_(1 - o.lr * o.weight_decay)
    if s.row_var is not None:
        for mean, dim in ((s.row_var, -1), (s.col_var, -2)):
            mean.lerp_(each(lambda g, dim=dim: g.norm(2, dim, True).square_().div_(g.size(dim)), g), share)
        rows = each(lambda mean, least: mean.mean(-2, True).clamp_min_(least), s.row_var, small)
        square = each(lambda row, col: row @ col, s.row_var, s.col_var).div_(rows)
    else:
        s.variance.lerp_(g.mul(g), share)
        square = s.variance.clone()
    update = square.clamp_min_(each(lambda least: least * least, small)).rsqrt_().mul_(g)
    p.add_(update.mul_(each(lambda x, size: -size / max(1.0, _size(x) / o.d), update, sizes)))


def _zeros(dim: int) -> Any:
    """Makes the state that is the mean over a dimension."""

    def make(param: Tensor, group: Group) -> Tensor:
        shape = list(param.shape)
        shape[dim] = 1
        return _creation.zeros(shape, dtype=param.dtype, device=param.device)

    return make


_RULE = Rule(
    (
        State("step", lambda p, group: 0.0, number=True),
        State("row_var", _zeros(-1), when=lambda p, group: p.dim() > 1),
        State("col_var", _zeros(-2), when=lambda p, group: p.dim() > 1),
        State("variance", when=lambda p, group: p.dim() <= 1),
    ),
    _formula,
    parts={"eps": ("eps1", "eps2")},
    later={"foreach": None},
    lists_by_default=False,
)


class Adafactor(Ruled):
    """Steps in proportion to the parameters, by squares whose memory is a row's and a column's length.

    ``lr`` is the greatest step and the rate of the weight decay; ``eps`` the least square (None: the dtype's) and the
    least size of parameters; updates larger than ``d`` are made smaller. Source: Shazeer and Stern, Adafactor: Adaptive
    Learning Rates with Sublinear Memory Cost, 2018. Raises ValueError for options out of range, RuntimeError for
    complex parameters.
    """

    _rule = _RULE

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_rate(lr, "Learning rate should be >= 0 but is: {}")
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None:
            check_least(eps[0], "epsilon1 should be >= 0 but is: {}")
        check_least(eps[1], "epsilon2 should be >= 0 but is: {}")
        check_least(d, "Clipping threshold d should be >= 1 but is: {}", 1.0)
        check_least(weight_decay, "weight_decay should be >= 0 but is: {}")
        options = {"lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay}
        super().__init__(params, {**options, "foreach": foreach, "maximize": maximize})

    def _check(self, group: Group, param: Tensor) -> None:
        if param.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")


def adafactor(
    params: list[Tensor],
    grads: list[Tensor],
    row_vars: list[Tensor | None],
    col_vars: list[Tensor | None],
    variances: list[Tensor | None],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    *,
    d: float,
    lr: float | Tensor,
    beta2_decay: float,
    weight_decay: float,
    eps1: float,
    eps2: float,
    maximize: bool,
) -> None:
    """One step of `Adafactor`, in place: the lists have an item for each parameter, None where it is not used."""
    options = {"d": d, "lr": lr, "beta2_decay": beta2_decay, "weight_decay": weight_decay}
    run(
        _RULE,
        params,
        grads,
        {"step": state_steps, "row_var": row_vars, "col_var": col_vars, "variance": variances},
        {**options, "eps1": eps1, "eps2": eps2},
        foreach=foreach,
        maximize=maximize,
        grad_scale=grad_scale,
        found_inf=found_inf,
    )
