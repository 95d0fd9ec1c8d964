"""``torch.cpu.amp``: PyTorch's earlier names of what ``torch.amp`` does on the CPU, which warn (FutureWarning)."""

from __future__ import annotations

from ..amp._device_names import OlderAutocast, OlderGradScaler

__all__ = ["GradScaler", "autocast"]


class autocast(OlderAutocast):  # noqa: N801  (PyTorch's name)
    """``torch.autocast("cpu")``."""

    device_type, usual = "cpu", "bfloat16"


class GradScaler(OlderGradScaler):
    """``torch.amp.GradScaler("cpu")``."""

    device_type = "cpu"
