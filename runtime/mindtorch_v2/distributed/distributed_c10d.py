"""What ``torch.distributed`` has, under the name of the module that PyTorch keeps it in."""

from __future__ import annotations

from . import _collectives, _groups, _messages, _objects
from ._collectives import *  # noqa: F403
from ._groups import *  # noqa: F403
from ._messages import *  # noqa: F403
from ._objects import *  # noqa: F403
from ._reduce_op import ReduceOp
from ._work import DistBackendError, DistError, DistNetworkError, DistStoreError, Work

_INNER = {"member_of", "place_of", "world"}
__all__ = [
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "ReduceOp",
    "Work",
    *(name for module in (_collectives, _groups, _messages, _objects) for name in module.__all__ if name not in _INNER),
]
