"""``torch.version``: what programs ask of the build. There is no CUDA, no ROCm and no XPU in it."""

from __future__ import annotations

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]

__version__ = "2.13.0+mindtorch"  # the PyTorch whose API this is: packages look at it
debug = False
cuda: str | None = None
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
git_version: str | None = None  # not a build of PyTorch's sources
