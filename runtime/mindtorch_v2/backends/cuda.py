"""CUDA devices, which programs may name: operators can have kernels for them, and nothing allocates memory there."""

from __future__ import annotations

import enum
from typing import TypeVar

from ._attention import (  # noqa: F401  (PyTorch keeps these switches, of every device, here)
    cudnn_sdp_enabled,
    enable_cudnn_sdp,
    enable_flash_sdp,
    enable_math_sdp,
    enable_mem_efficient_sdp,
    flash_sdp_enabled,
    is_flash_attention_available,
    math_sdp_enabled,
    mem_efficient_sdp_enabled,
    sdp_kernel,
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


class _LinalgBackend(enum.Enum):
    """Libraries of linear algebra for CUDA devices."""

    Default = 0
    Cusolver = 1
    Magma = 2


class _BlasBackend(enum.Enum):
    """Libraries of matrix products for CUDA devices."""

    Default = 0
    Cublas = 1
    Cublaslt = 2
    Ck = 3


_Library = TypeVar("_Library", _LinalgBackend, _BlasBackend)


def _preferred(asked: str | _Library | None, names: dict[str, _Library], here: _Library) -> _Library:
    """The library that is in use, which no other can be made: there is none for such devices."""
    if asked is None:
        return here
    if isinstance(asked, str) and asked not in names:
        raise RuntimeError(f"Unknown input value. Choose from: {', '.join(names)}.")
    if not isinstance(asked, (str, type(here))):
        raise RuntimeError("Unknown input value type.")
    chosen = names[asked] if isinstance(asked, str) else asked
    if chosen is not here:
        raise RuntimeError(
            f"Cannot set preferred backend to {chosen.name}: there are no libraries for CUDA devices here."
        )
    return here


def preferred_linalg_library(backend: str | _LinalgBackend | None = None) -> _LinalgBackend:
    """Which library computes linear algebra on CUDA devices. Raises RuntimeError for another than ``"default"``."""
    names = {library.name.lower(): library for library in _LinalgBackend}
    return _preferred(backend, names, _LinalgBackend.Default)


def preferred_blas_library(backend: str | _BlasBackend | None = None) -> _BlasBackend:
    """Which library multiplies matrices on CUDA devices. Raises RuntimeError for another than cuBLAS, the default."""
    cublas, cublaslt = _BlasBackend.Cublas, _BlasBackend.Cublaslt
    names = {"default": cublas, "cublas": cublas, "hipblas": cublas, "cublaslt": cublaslt, "hipblaslt": cublaslt}
    return _preferred(backend, {**names, "ck": _BlasBackend.Ck}, cublas)


def is_built() -> bool:
    """Whether there are kernels for such devices."""
    return False


matmul = _Matmul()
backend = Backend("cuda", key="CUDA", autocast=("float16", "bfloat16"))
