"""PyTorch's dispatch keys, as devices of ours."""

from __future__ import annotations

from mtcodegen.entries.validate import device_keys

__all__ = ["DEVICES"]

# A key of PyTorch's -> our device; what PyTorch leaves to one device from outside is our NPU.
DEVICES = {"PrivateUse1" if device == "npu" else key: device for device, key in device_keys().items()}
