"""PyTorch's earlier names of ``torch.amp`` for a device type, as ``torch.cuda.amp.autocast``, which warn as its do."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

from .._core import dtypes
from .autocast_mode import autocast
from .grad_scaler import GradScaler

__all__ = ["OlderAutocast", "OlderGradScaler", "warn_of_older"]


def warn_of_older(device_type: str, name: str, instead: str) -> None:
    """Warns the caller's caller that ``torch.<device_type>.amp.<name>`` is deprecated."""
    warnings.warn(
        f"`torch.{device_type}.amp.{name}(args...)` is deprecated. Please use `torch.amp.{instead}` instead.",
        FutureWarning,
        stacklevel=3,
    )


class OlderAutocast(autocast):
    """``torch.autocast`` of a device type, in a dtype of its own unless another is given."""

    device_type: ClassVar[str]
    usual: ClassVar[str]

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        kind = type(self).device_type
        warn_of_older(kind, "autocast", f"autocast('{kind}', args...)")
        super().__init__(kind, enabled=enabled, dtype=dtype or dtypes[self.usual], cache_enabled=cache_enabled)


class OlderGradScaler(GradScaler):
    """``torch.amp.GradScaler`` of a device type."""

    device_type: ClassVar[str]

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        warn_of_older(self.device_type, "GradScaler", f"GradScaler('{self.device_type}', args...)")
        super().__init__(self.device_type, init_scale, growth_factor, backoff_factor, growth_interval, enabled)
