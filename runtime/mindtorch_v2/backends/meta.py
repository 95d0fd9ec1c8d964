"""Tensors without elements: shape, dtype and device are all there is."""

from __future__ import annotations

from ._backend import Backend

backend = Backend("meta", key="Meta", indexed=False, generator=None)
