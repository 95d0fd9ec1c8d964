"""``torch.types``: what annotations of programs are made of."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, TypeAlias

from . import _core
from ._core import Size, Tensor
from ._storages import TypedStorage as Storage
from ._symbolic import SymBool, SymFloat, SymInt

__all__ = ["Device", "FileLike", "Number", "Size", "Storage", "SymBool", "SymFloat", "SymInt", "Tensor", "py_sym_types"]

Number: TypeAlias = int | float | bool
Device: TypeAlias = _core.device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
py_sym_types = (SymInt, SymFloat, SymBool)

_bool: TypeAlias = bool
_dtype: TypeAlias = _core.dtype
_device: TypeAlias = _core.device
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_int: TypeAlias = int
_float: TypeAlias = float
_complex: TypeAlias = complex
