"""``torch.distributed.algorithms``, as far as libraries import it."""

from __future__ import annotations

__all__: list[str] = []
