"""The CPU. Its allocator and its copies are the core's own."""

from __future__ import annotations

from ._backend import Backend

backend = Backend("cpu", key="CPU", indexed=False, autocast=("bfloat16", "float16"))
