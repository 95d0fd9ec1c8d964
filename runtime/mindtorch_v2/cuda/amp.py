"""``torch.cuda.amp``: PyTorch's earlier names of what ``torch.amp`` does for CUDA devices, which programs still call.

They warn as PyTorch's do (FutureWarning), and are turned off: there are no CUDA devices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import amp as _amp
from ..amp._device_names import OlderAutocast, OlderGradScaler, warn_of_older

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(OlderAutocast):  # noqa: N801  (PyTorch's name)
    """``torch.autocast("cuda")``."""

    device_type, usual = "cuda", "float16"


class GradScaler(OlderGradScaler):
    """``torch.amp.GradScaler("cuda")``."""

    device_type = "cuda"


def custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: Any = None) -> Any:
    """``torch.amp.custom_fwd`` for ``"cuda"``."""
    warn_of_older("cuda", "custom_fwd", "custom_fwd(args..., device_type='cuda')")
    return _amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any]) -> Any:
    """``torch.amp.custom_bwd`` for ``"cuda"``."""
    warn_of_older("cuda", "custom_bwd", "custom_bwd(args..., device_type='cuda')")
    return _amp.custom_bwd(bwd, device_type="cuda")
