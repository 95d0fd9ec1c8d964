"""``torch.cuda.amp``: PyTorch's earlier names of what ``torch.amp`` does for CUDA devices, which programs still call.

They warn as PyTorch's do (FutureWarning), and are turned off: there are no CUDA devices.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .. import amp as _amp
from .._core import dtypes

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


def _warn(name: str, instead: str) -> None:
    warnings.warn(
        f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{instead}` instead.",
        FutureWarning,
        stacklevel=3,
    )


class autocast(_amp.autocast):  # noqa: N801  (PyTorch's name)
    """``torch.autocast("cuda")``."""

    def __init__(self, enabled: bool = True, dtype: Any = dtypes["float16"], cache_enabled: bool = True) -> None:
        _warn("autocast", "autocast('cuda', args...)")
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(_amp.GradScaler):
    """``torch.amp.GradScaler("cuda")``."""

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        _warn("GradScaler", "GradScaler('cuda', args...)")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: Any = None) -> Any:
    """``torch.amp.custom_fwd`` for ``"cuda"``."""
    _warn("custom_fwd", "custom_fwd(args..., device_type='cuda')")
    return _amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any]) -> Any:
    """``torch.amp.custom_bwd`` for ``"cuda"``."""
    _warn("custom_bwd", "custom_bwd(args..., device_type='cuda')")
    return _amp.custom_bwd(bwd, device_type="cuda")
