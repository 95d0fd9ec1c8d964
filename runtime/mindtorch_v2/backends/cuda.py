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


class _Matmul:
    """``torch.backends.cuda.matmul``: how products may be rounded on such devices. What programs set is kept."""

    __slots__ = (
        "allow_bf16_reduced_precision_reduction",
        "allow_fp16_accumulation",
        "allow_fp16_reduced_precision_reduction",
        "allow_tf32",
        "fp32_precision",
    )

    def __init__(self) -> None:
        self.allow_bf16_reduced_precision_reduction = self.allow_fp16_reduced_precision_reduction = True
        self.allow_fp16_accumulation = self.allow_tf32 = False
        self.fp32_precision = "none"


def is_built() -> bool:
    """Whether there are kernels for such devices."""
    return False


matmul = _Matmul()
backend = Backend("cuda", key="CUDA", autocast=("float16", "bfloat16"))
