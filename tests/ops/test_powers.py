"""Powers by the numbers that PyTorch has ways of its own for: of infinity and -0 they are not the general power's."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch as pytorch

import mindtorch_v2 as ours

VALUES = [-math.inf, -0.0, 0.0, math.inf, math.nan, -1.0, 1e-30, 3e15, -3e15, 7.3, -2.7]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("exponent", [0.5, -0.5, 2, 3, -1, -2, -3, 4, 2.0, 1, 0])
def test_pytorchs_bits(exponent, dtype):
    # Of many, as PyTorch's vectors take them: what is left of a vector takes the general way there.
    found, expected = (torch.tensor(VALUES * 4, dtype=getattr(torch, dtype)) ** exponent for torch in (ours, pytorch))
    if exponent == 0.5:  # PyTorch's root is MKL's, whose last bit is not the same on every machine
        pytorch.testing.assert_close(expected, roots(dtype), rtol=2**-23, atol=0, equal_nan=True)
        expected = roots(dtype)
    assert list(map(repr, found.tolist()[: len(VALUES)])) == list(map(repr, expected.tolist()[: len(VALUES)]))


def roots(dtype: str) -> pytorch.Tensor:
    """IEEE's square roots, rounded right."""
    values = pytorch.tensor(VALUES * 4, dtype=getattr(pytorch, dtype))
    wide = values if dtype == "float64" else values.float()
    with np.errstate(invalid="ignore"):
        return pytorch.from_numpy(np.sqrt(wide.numpy())).to(values.dtype)


@pytest.mark.parametrize("exponent", [2, 3])
def test_integers_wrap(exponent):
    values = [2**40 + 3, -5, 0, 2**63 - 1]
    found, expected = (torch.tensor(values) ** exponent for torch in (ours, pytorch))
    assert found.tolist() == expected.tolist()
