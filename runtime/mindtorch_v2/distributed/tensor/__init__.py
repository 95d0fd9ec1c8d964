"""``torch.distributed.tensor``, as far as libraries ask whether a tensor is spread over processes: none is here."""

from __future__ import annotations

from .._absent import absent
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = ["DTensor", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor"]

DTensor = absent("tensor.DTensor")
distribute_module, distribute_tensor = absent("tensor.distribute_module"), absent("tensor.distribute_tensor")
