"""SparseAdam: Adam of the rows alone that a sparse gradient has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core import Tensor
from ..autograd import enable_grad
from ._checks import check_betas, check_one_number
from .optimizer import Optimizer, ParamsT

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam for sparse gradients: it refuses dense ones, and there are no others here yet, for want of sparse tensors.

    So it is made, saved and loaded as PyTorch's, and steps parameters that have no gradient, which changes none. Raises
    ValueError for options out of range and complex parameters, RuntimeError for a step by a dense gradient.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_one_number(lr)
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        found = [
            [index, place]
            for index, group in enumerate(self.param_groups)
            for place, param in enumerate(group["params"])
            if param.is_complex()
        ]
        if found:
            raise ValueError(f"Complex params at indices {found}: SparseAdam does not support complex parameters")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Refuses every gradient: it is dense. ``closure`` computes the loss anew, which is returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        if any(param.grad is not None for param in self._parameters()):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        return loss
