"""A module that one process runs on several devices: here on one, that of its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._core import device as Device
from ..module import Module

__all__ = ["DataParallel", "data_parallel"]


def _check(device_ids: Sequence[Any] | None) -> list[Any]:
    devices = [*(device_ids or ())]
    if len(devices) > 1:
        raise RuntimeError(
            f"DataParallel: expected one device, got {len(devices)}: {devices}; one process for each device is what "
            "nn.parallel.DistributedDataParallel does"
        )
    return devices


class DataParallel(Module):
    """Runs ``module``, whose state dict has the prefix ``module.``, on the device that it is on.

    Raises RuntimeError for several devices: processes do that (`DistributedDataParallel`).
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[int | Device] | None = None,
        output_device: int | Device | None = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.module, self.dim, self.output_device = module, dim, output_device
        self.device_ids = _check(device_ids)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module makes of the whole batch."""
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[int | Device] | None = None,
    output_device: int | Device | None = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """The same as a function: ``inputs`` is the arguments' tuple, or the only one."""
    _check(device_ids)
    arguments = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*arguments, **(module_kwargs or {}))
