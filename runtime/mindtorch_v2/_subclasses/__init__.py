"""Tensors that have a shape and a device, and no memory, by PyTorch's inner names."""

from __future__ import annotations

from . import fake_tensor as fake_tensor
from .fake_tensor import DynamicOutputShapeException, FakeTensor, FakeTensorMode, UnsupportedFakeTensorException

__all__ = [
    "DynamicOutputShapeException",
    "FakeTensor",
    "FakeTensorMode",
    "UnsupportedFakeTensorException",
    "fake_tensor",
]
