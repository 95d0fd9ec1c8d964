"""``torch.distributed``: processes that work together, through an existing engine; see docs/distributed.md.

The engines are MPI (mpi4py) and, on Ascend, MindSpore's HCCL communication; neither is loaded before a group is made.
"""

from __future__ import annotations

from . import distributed_c10d
from .distributed_c10d import *  # noqa: F403  (all there is, listed in its __all__)

__all__ = [*distributed_c10d.__all__]
