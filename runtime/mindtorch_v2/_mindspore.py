"""MindSpore, an optional package: whether it is there, and what to do where it is not."""

from __future__ import annotations

import functools
import importlib.util
import sys
from typing import Any

__all__ = ["available", "how_to_get_it", "in_use", "mindspore"]

_LAST_PYTHON = (3, 12)  # the last one that MindSpore 2.10.0, which pyproject.toml names, has wheels for


@functools.cache
def available() -> bool:
    """Whether mindspore is installed."""
    return importlib.util.find_spec("mindspore") is not None


def in_use() -> bool:
    """Whether the program has imported mindspore: to do so takes a second, and 400 MB."""
    return sys.modules.get("mindspore") is not None


def mindspore(user: str) -> Any:
    """The package, imported on first use. Raises ImportError, which names ``user``, where it is not installed."""
    if not available():
        raise ImportError(f"{user}: expected MindSpore, but mindspore is not installed: {how_to_get_it()}")
    return importlib.import_module("mindspore")


def how_to_get_it(python: tuple[int, int] = sys.version_info[:2]) -> str:
    """What has to be done for MindSpore to be there, under a version of Python."""
    if python > _LAST_PYTHON:
        found, last = (".".join(map(str, version)) for version in (python, _LAST_PYTHON))
        return f"it has no wheel for Python {found}; use Python 3.10 to {last}, or kernels of another kind"
    return "pip install 'mtcodegen[mindspore]'"
