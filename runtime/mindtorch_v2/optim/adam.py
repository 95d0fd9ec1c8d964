"""Adam, and AdamW with weight decay apart from the gradient."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .. import _creation
from .._core import Tensor
from .optimizer import Group, Optimizer, refuse_ways

__all__ = ["Adam", "AdamW"]


class Adam(Optimizer):
    """Steps by running means of the gradient and of its square, both corrected for their start at 0."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
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
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr >= 0.0:  # NaN, too, is none
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps >= 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        for i in (0, 1):
            if not 0.0 <= betas[i] < 1.0:
                raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")
        if not weight_decay >= 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if not all(isinstance(beta, float) for beta in betas[:2]) and not all(isinstance(b, Tensor) for b in betas[:2]):
            raise ValueError("betas must be either both floats or both Tensors")
        betas = float(betas[0]), float(betas[1])
        options = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad}
        ways = {"foreach": foreach, "capturable": capturable, "differentiable": differentiable, "fused": fused}
        super().__init__(
            params, {**options, "maximize": maximize, **ways, "decoupled_weight_decay": decoupled_weight_decay}
        )
        refuse_ways(**ways)

    def _update(self, group: Group, param: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        if group["maximize"]:
            grad = -grad
        if not state:
            state["step"] = _creation.tensor(0.0)
            state["exp_avg"] = _creation.zeros_like(param)
            state["exp_avg_sq"] = _creation.zeros_like(param)
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = _creation.zeros_like(param)
        state["step"] += 1
        step = state["step"].item()
        if group["weight_decay"] != 0:
            if group["decoupled_weight_decay"]:
                param.mul_(1 - group["lr"] * group["weight_decay"])
            else:
                grad = grad.add(param, alpha=group["weight_decay"])
        state["exp_avg"].lerp_(grad, 1 - beta1)
        state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        square = state["exp_avg_sq"]
        if group["amsgrad"]:
            state["max_exp_avg_sq"].copy_(state["max_exp_avg_sq"].maximum(square))
            square = state["max_exp_avg_sq"]
        size = (square.sqrt() / math.sqrt(1 - beta2**step)).add_(group["eps"])
        param.addcdiv_(state["exp_avg"], size, value=-group["lr"] / (1 - beta1**step))


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters themselves, by ``lr * weight_decay`` a step."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )
