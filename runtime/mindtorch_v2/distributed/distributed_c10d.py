"""What ``torch.distributed`` has, under the name of the module that PyTorch keeps it in."""

from __future__ import annotations

from .. import distributed
from ..distributed import *  # noqa: F403

__all__ = [*distributed.__all__]
