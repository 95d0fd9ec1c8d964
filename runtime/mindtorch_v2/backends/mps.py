"""MPS devices, which programs may name: operators can have kernels for them, and nothing allocates memory there."""

from __future__ import annotations

from ._backend import Backend

backend = Backend("mps", key="MPS")
