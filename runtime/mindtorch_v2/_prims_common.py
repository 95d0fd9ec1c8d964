"""What programs ask of a tensor's layout by PyTorch's inner names."""

from __future__ import annotations

from . import _core
from ._core import Tensor
from ._type_info import channels_last, channels_last_3d, contiguous_format, memory_format

DeviceLikeType = str | _core.device | int

__all__ = ["DeviceLikeType", "suggest_memory_format"]

_FORMATS = {known: known for known in (contiguous_format, channels_last, channels_last_3d)}


def suggest_memory_format(x: Tensor) -> memory_format:
    """The format that what is computed of a tensor has: with the channels last where its strides say so."""
    return _FORMATS[_core.suggested_format(x)]  # type: ignore[index]
