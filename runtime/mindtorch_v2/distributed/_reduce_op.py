"""How values of several processes are combined: ``ReduceOp.SUM`` and its siblings."""

from __future__ import annotations

import enum
from typing import Any

from .._core import Tensor

__all__ = ["RedOpType", "ReduceOp", "combined_by"]


class RedOpType(enum.Enum):
    """The ways, in PyTorch's order."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8
    UNUSED = 9

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"


class ReduceOp:
    """The ways, under the name that programs use; an object of the class holds one as ``op``."""

    SUM, AVG, PRODUCT, MIN, MAX = RedOpType.SUM, RedOpType.AVG, RedOpType.PRODUCT, RedOpType.MIN, RedOpType.MAX
    BAND, BOR, BXOR = RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR
    PREMUL_SUM, UNUSED = RedOpType.PREMUL_SUM, RedOpType.UNUSED
    RedOpType = RedOpType

    def __init__(self, op: Any) -> None:
        self.op = op


_OF_BITS = {RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR}
_OF_COMPLEX = {RedOpType.SUM, RedOpType.AVG}
_NOT_HERE = {RedOpType.PREMUL_SUM, RedOpType.UNUSED}


def combined_by(name: str, op: Any, tensor: Tensor) -> RedOpType:
    """The way that ``op`` is, where it can combine such tensors.

    Raises TypeError for what is none, ValueError for complex numbers that have no order, RuntimeError for bits of
    numbers that are no integers, and for PREMUL_SUM.
    """
    way = op.op if isinstance(op, ReduceOp) else op
    if not isinstance(way, RedOpType):
        raise TypeError(f"{name}: expected op to be a ReduceOp, such as ReduceOp.SUM, got {op!r}")
    if way in _NOT_HERE:
        raise RuntimeError(f"{name}: Cannot use ReduceOp.{way.name}; scale the tensor, and use ReduceOp.SUM")
    if tensor.is_complex() and way not in _OF_COMPLEX:
        raise ValueError(f"{name} does not support {way} on complex tensors")
    if way in _OF_BITS and tensor.is_floating_point():
        raise RuntimeError(f"{name}: Cannot use ReduceOp.{way.name} with non-integral dtype {tensor.dtype}")
    return way
