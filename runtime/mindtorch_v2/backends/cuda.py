"""CUDA devices, which programs may name: operators can have kernels for them, and nothing allocates memory there."""

from __future__ import annotations

from ._attention import (  # noqa: F401  (PyTorch keeps these switches, of every device, here)
    cudnn_sdp_enabled,
    enable_cudnn_sdp,
    enable_flash_sdp,
    enable_math_sdp,
    enable_mem_efficient_sdp,
    flash_sdp_enabled,
    math_sdp_enabled,
    mem_efficient_sdp_enabled,
)
from ._backend import Backend

backend = Backend("cuda", key="CUDA", autocast=("float16", "bfloat16"))
