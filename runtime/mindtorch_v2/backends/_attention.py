"""Which ways of computing attention programs allow: the switches of ``torch.backends.cuda``, for every device."""

from __future__ import annotations

import contextlib
import enum
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

__all__ = ["NONE_LEFT", "Choice", "SDPBackend", "choose", "chosen", "ways"]

NONE_LEFT = (
    "No viable backend for scaled_dot_product_attention was found. This is likely due to turning off both the math "
    "kernel and the fused kernels: torch.nn.attention.sdpa_kernel and torch.backends.cuda.enable_math_sdp allow them."
)


class SDPBackend(enum.Enum):
    """Ways of computing ``scaled_dot_product_attention``; here are the kernel in blocks, and the composed one."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_ALL = (
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.OVERRIDEABLE,
)


@dataclass(frozen=True)
class Choice:
    """The ways that may be taken, and the order in which they are asked whether they can compute a call."""

    allowed: frozenset[SDPBackend] = frozenset(_ALL)
    order: tuple[SDPBackend, ...] = _ALL


_choice = Choice()
_left: tuple[SDPBackend, ...] = _ALL


def chosen() -> Choice:
    """What is set."""
    return _choice


def choose(choice: Choice) -> None:
    """Sets it, for the whole process."""
    global _choice, _left
    _choice, _left = choice, tuple(way for way in choice.order if way in choice.allowed)


def ways() -> tuple[SDPBackend, ...]:
    """The ways that may be taken, the first that can compute a call first."""
    return _left


def _switch(way: SDPBackend) -> tuple[Callable[[bool], None], Callable[[], bool]]:
    def enable(enabled: bool) -> None:
        """Allows or forbids this way of computing attention. Raises TypeError for what is no bool."""
        if not isinstance(enabled, bool):
            raise TypeError(f"set_sdp_use expects a bool, but got {type(enabled).__name__}")
        allowed = _choice.allowed | {way} if enabled else _choice.allowed - {way}
        choose(replace(_choice, allowed=allowed))

    def is_enabled() -> bool:
        """Whether this way of computing attention is allowed."""
        return way in _choice.allowed

    return enable, is_enabled


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[None]:
    """Allows ways of computing attention within a ``with`` block; `torch.nn.attention.sdpa_kernel` took its place."""
    warnings.warn(
        "`torch.backends.cuda.sdp_kernel()` is deprecated: use `torch.nn.attention.sdpa_kernel()`.",
        category=FutureWarning,
        stacklevel=3,
    )
    asked = {
        SDPBackend.FLASH_ATTENTION: enable_flash,
        SDPBackend.EFFICIENT_ATTENTION: enable_mem_efficient,
        SDPBackend.MATH: enable_math,
        SDPBackend.CUDNN_ATTENTION: enable_cudnn,
    }
    before = chosen()
    choose(replace(before, allowed=frozenset(way for way, enabled in asked.items() if enabled)))
    try:
        yield
    finally:
        choose(before)


def is_flash_attention_available() -> bool:
    """Whether there is FlashAttention's kernel for CUDA devices."""
    return False


enable_flash_sdp, flash_sdp_enabled = _switch(SDPBackend.FLASH_ATTENTION)
enable_mem_efficient_sdp, mem_efficient_sdp_enabled = _switch(SDPBackend.EFFICIENT_ATTENTION)
enable_math_sdp, math_sdp_enabled = _switch(SDPBackend.MATH)
enable_cudnn_sdp, cudnn_sdp_enabled = _switch(SDPBackend.CUDNN_ATTENTION)
