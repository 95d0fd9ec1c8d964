"""``torch.distributed.checkpoint``, as far as libraries import it: the state of modules is saved by ``torch.save``."""

from __future__ import annotations

__all__: list[str] = []
