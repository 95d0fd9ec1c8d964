"""The built-in operators' AscendC kernels: compiled at the first launch, on as many blocks as their work pays for."""

from __future__ import annotations

import functools

from .. import _core
from .launcher import KernelLauncher
from .paths import kernel_sources

__all__ = ["MOST_BLOCKS", "blocks", "kernel"]

_ELEMENTS_PER_BLOCK = 2048
MOST_BLOCKS = 40  # vector cores that every chip of the family has; blocks of `sum` wait for one another


@functools.cache
def _source(name: str) -> KernelLauncher:
    return KernelLauncher.from_source(f"mindtorch_{name}", [kernel_sources() / f"{name}.cpp"])


@functools.cache
def kernel(file: str, symbol: str, *types: str) -> _core.Kernel:
    """A kernel of one of the sources, which takes arguments of these C types."""
    return _source(file).bind(symbol, tuple(_core.c_types[name] for name in types))


def blocks(n: int) -> int:
    """The blocks that share n elements."""
    return min(-(-n // _ELEMENTS_PER_BLOCK), MOST_BLOCKS)
