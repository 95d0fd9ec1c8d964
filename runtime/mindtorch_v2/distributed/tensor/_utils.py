"""The name of what would say which part of a tensor a process holds."""

from __future__ import annotations

from .._absent import absent

__all__ = ["compute_local_shape_and_global_offset"]

compute_local_shape_and_global_offset = absent("tensor.compute_local_shape_and_global_offset")
