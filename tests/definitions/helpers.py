"""Kernels in Python that definitions call by reference."""

from __future__ import annotations

import mindtorch_v2 as torch

calls: list[str] = []


def scaled(x: torch.Tensor, *, scale: float) -> torch.Tensor:
    calls.append("scaled")
    return x * scale


def positive(x: torch.Tensor) -> torch.Tensor:
    return x[x > 0]


def positive_fake(x: torch.Tensor) -> torch.Tensor:
    return torch.empty(x.numel(), dtype=x.dtype, device="meta")


def same(x: torch.Tensor) -> torch.Tensor:
    return x


def no_tensor(x: torch.Tensor) -> int:
    return 1


def halves(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x / 2, x / 4


def made(size: list[int], *, dtype: torch.dtype | None, device: torch.device | None) -> torch.Tensor:
    return torch.ones(size, dtype=dtype, device=device)


def multiply_(x: torch.Tensor, y: torch.Tensor, power: float) -> torch.Tensor:
    return x.mul_(y)
