"""What `GradScaler` does with tensors: gradients without their scale, and the scale after a step."""

from __future__ import annotations

from collections.abc import Sequence

from .. import _core
from .._core import Tensor
from .._ops import ops

_F32, _I32 = _core.dtypes["float32"], _core.dtypes["int32"]


def _check(name: str, tensor: Tensor, dtype: _core.dtype, kind: str) -> None:
    if tensor.numel() != 1:
        raise RuntimeError(f"{name} must be a 1-element tensor.")
    if tensor.dtype is not dtype:
        raise RuntimeError(f"{name} must be {kind} tensor.")


def check_and_unscale_(self: Sequence[Tensor], found_inf: Tensor, inv_scale: Tensor) -> None:
    """Multiplies gradients by ``inv_scale``, and sets ``found_inf`` to 1 where one holds inf or NaN.

    Raises RuntimeError where the other two are no float32 tensors of one element, NotImplementedError for gradients
    that are no real floating-point numbers.
    """
    _check("inv_scale", inv_scale, _F32, "a float")
    _check("found_inf", found_inf, _F32, "a float")
    factor = inv_scale.reshape(())
    for grad in self:
        if not grad.is_floating_point():
            kind = _core.scalar_types[grad.dtype.name]
            raise NotImplementedError(f'"_amp_foreach_non_finite_check_and_unscale_cpu" not implemented for {kind!r}')
        found_inf.masked_fill_(ops.aten.isfinite(grad).all().logical_not(), 1.0)
        grad.mul_(factor)


def update_scale_(
    self: Tensor,
    growth_tracker: Tensor,
    found_inf: Tensor,
    scale_growth_factor: float,
    scale_backoff_factor: float,
    growth_interval: int,
) -> Tensor:
    """Multiplies the scale by ``scale_backoff_factor`` after inf or NaN, else now and then by ``scale_growth_factor``.

    ``growth_tracker`` counts the steps that were made since the scale last changed. Raises RuntimeError for others than
    tensors of one element, float32 and of the count int32.
    """
    _check("growth_tracker", growth_tracker, _I32, "an int")
    _check("current_scale", self, _F32, "a float")
    _check("found_inf", found_inf, _F32, "a float")
    if found_inf.item():
        growth_tracker.zero_()
        return self.mul_(scale_backoff_factor)  # type: ignore[no-any-return]
    if growth_tracker.item() + 1 != growth_interval:
        growth_tracker.add_(1)
        return self
    growth_tracker.zero_()
    grown = self * scale_growth_factor
    return self.copy_(grown) if ops.aten.isfinite(grown).item() else self
