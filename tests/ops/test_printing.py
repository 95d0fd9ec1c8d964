"""``repr(tensor)`` is PyTorch's, character for character."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytorch = pytest.importorskip("torch")

import mindtorch_v2 as ours  # noqa: E402

rng = np.random.default_rng(5)
ARRAYS = {
    "floats": rng.standard_normal((3, 4)).astype("f4"),
    "vector": rng.standard_normal(30).astype("f4"),
    "whole": np.arange(6.0).reshape(2, 3).astype("f4"),
    "whole and not finite": np.array([1, np.inf, -np.inf, np.nan], "f4"),
    "fractions and not finite": np.array([1.5, np.inf, np.nan], "f4"),
    "only nan": np.array([np.nan], "f4"),
    "wide range": np.array([1e-5, 1.0, 1e6], "f4"),
    "tiny": np.array([1e-7, 2e-7], "f4"),
    "large": np.array([1e9, 2e9], "f4"),
    "large whole": np.array([1.0, 1e6], "f4"),
    "doubles": rng.standard_normal(3),
    "halves": rng.standard_normal(3).astype("f2"),
    "integers": rng.integers(-1000, 1000, (2, 5)),
    "int32": np.arange(3, dtype="i4"),
    "bytes": np.arange(3, dtype="u1"),
    "bools": np.array([[True, False]]),
    "scalar": np.array(2.5, "f4"),
    "whole scalar": np.array(3.0, "f4"),
    "integer scalar": np.array(7),
    "empty": np.zeros((0,), "f4"),
    "empty rows": np.zeros((0, 3), "f4"),
    "empty integers": np.zeros((0,), "i8"),
    "deep": rng.standard_normal((2, 2, 2, 3)).astype("f4"),
    "summarised": np.arange(2000),
    "summarised matrix": rng.standard_normal((50, 60)).astype("f4"),
    "long lines": rng.standard_normal((2, 25)),
    "long integers": rng.integers(0, 10**9, (2, 20)),
    "zeros": np.zeros((2, 2), "f4"),
    "complex": (rng.standard_normal(3) + 1j * rng.standard_normal(3)).astype("c8"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_repr(name: str) -> None:
    assert repr(ours.from_numpy(ARRAYS[name].copy())) == repr(pytorch.from_numpy(ARRAYS[name].copy()))


HISTORIES = {
    "leaf": lambda torch, x: x.requires_grad_(),
    "parameter": lambda torch, x: torch.nn.Parameter(x),
    "function": lambda torch, x: (x.requires_grad_() * 2).sum(),
    "view": lambda torch, x: x.requires_grad_().relu(),
    "long": lambda torch, x: x.double().requires_grad_().repeat(2, 3),
    "meta": lambda torch, x: torch.empty(2, 3, device="meta"),
    "bfloat16": lambda torch, x: x.bfloat16(),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_suffixes(name: str) -> None:
    def text(torch: Any) -> str:
        return repr(HISTORIES[name](torch, torch.arange(6.0).view(2, 3) / 4))

    assert text(ours) == text(pytorch)
