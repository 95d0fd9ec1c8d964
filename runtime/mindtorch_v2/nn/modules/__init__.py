"""PyTorch's other places of what modules are made of: ``torch.nn.modules``, with the classes of ``torch.nn``."""

from __future__ import annotations

import sys
from typing import Any

from . import module, utils
from .module import Module

__all__ = ["Module", "module", "utils"]

# PyTorch has a file for each family of modules. ``torch.nn`` has the names of all, and stands for each.
_FILES = (
    *("_functions", "activation", "adaptive", "batchnorm", "channelshuffle", "container", "conv", "distance"),
    *("dropout", "flatten", "fold", "instancenorm", "lazy", "linear", "linear_cross_entropy"),
    *("linear_cross_entropy_options", "loss", "normalization", "padding", "pixelshuffle", "pooling", "rnn", "sparse"),
    *("transformer", "upsampling"),
)
_nn: Any = sys.modules[__name__.rpartition(".")[0]]
for _name in _FILES:
    sys.modules[f"{__name__}.{_name}"] = _nn


def __getattr__(name: str) -> Any:
    """A class of modules by its name, or a file of PyTorch's."""
    if name in _FILES:
        return _nn
    found = None if name.startswith("__") else getattr(_nn, name, None)
    if not (isinstance(found, type) and issubclass(found, Module)):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found
