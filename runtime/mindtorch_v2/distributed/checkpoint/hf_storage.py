"""The names of what would read and write sharded checkpoints in safetensors, which are not here."""

from __future__ import annotations

from .._absent import absent

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]

HuggingFaceStorageReader = absent("checkpoint.HuggingFaceStorageReader")
HuggingFaceStorageWriter = absent("checkpoint.HuggingFaceStorageWriter")
