"""``torch.utils._foreach_utils``: devices whose optimizers step over lists of tensors, and in one call."""

from __future__ import annotations

from ..optim._rules import devices_of_fused_steps, devices_of_lists

__all__ = ["_get_foreach_kernels_supported_devices", "_get_fused_kernels_supported_devices"]

_get_foreach_kernels_supported_devices = devices_of_lists
_get_fused_kernels_supported_devices = devices_of_fused_steps
