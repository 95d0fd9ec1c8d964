"""What may change in a captured graph, by operator: filled by ``Library.register_graph``, read by graph capture."""

from __future__ import annotations

from ..library._graph import UPDATE_SPECS

__all__ = ["UPDATE_SPECS"]
