"""The weights of convolutions in another order of memory."""

from __future__ import annotations

from typing import Any

from ..convolutions import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from ..module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def convert_conv2d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Puts the weights of all 2-d convolutions in a module into a memory format; returns the module."""
    return _convert(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Puts the weights of all 3-d convolutions in a module into a memory format; returns the module."""
    return _convert(module, (Conv3d, ConvTranspose3d), memory_format)


def _convert(module: Module, kinds: tuple[type, ...], memory_format: Any) -> Module:
    for each in module.modules():
        if isinstance(each, kinds):
            weight: Any = each.weight
            weight.data = weight.detach().clone(memory_format=memory_format)
    return module
