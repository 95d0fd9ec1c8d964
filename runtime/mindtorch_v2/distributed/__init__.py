"""``torch.distributed``: processes that work together, through an existing engine; see docs/distributed.md.

The engines are MPI (mpi4py) and, on Ascend, MindSpore's HCCL communication; neither is loaded before a group is made.
"""

from __future__ import annotations

from . import _collectives, _groups, _messages, _objects, device_mesh
from . import nn as nn
from ._collectives import *  # noqa: F403
from ._groups import *  # noqa: F403
from ._messages import *  # noqa: F403
from ._objects import *  # noqa: F403
from ._reduce_op import ReduceOp
from ._work import DistBackendError, DistError, DistNetworkError, DistStoreError, Work
from .device_mesh import *  # noqa: F403

__all__ = [
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "ReduceOp",
    "Work",
    *_collectives.__all__,
    *_groups.__all__,
    *_messages.__all__,
    *_objects.__all__,
    *device_mesh.__all__,
]
