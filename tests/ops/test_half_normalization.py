"""Layers of halves are normalized in float32: what comes out is no farther from the exact numbers than PyTorch's."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch as pytorch

import mindtorch_v2


def ours(tensor: Any) -> Any:
    """PyTorch's tensor here."""
    if tensor is None:
        return None
    return mindtorch_v2.from_numpy(tensor.double().numpy()).to(getattr(mindtorch_v2, str(tensor.dtype)[6:]))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("seed", range(30))
def test_layers_of_halves(dtype: str, seed: int) -> None:
    source, numbers = random.Random(seed), pytorch.Generator().manual_seed(seed)
    rows, length = source.randint(1, 40), source.choice((1, 3, 16, 17, 33, 100, 768, 2000))
    kind = getattr(pytorch, source.choice((dtype, "float32")))

    def drawn(*shape: int) -> Any:
        return pytorch.randn(*shape, generator=numbers) * source.choice((1, 30))

    image = drawn(rows, length).to(getattr(pytorch, dtype))
    weight, bias = (drawn(length).to(kind) if source.random() < 0.7 else None for _ in range(2))
    given = (image, weight, bias)
    exact = pytorch.native_layer_norm(
        image.double(), (length,), *(t if t is None else t.double() for t in given[1:]), 1e-5
    )
    expected = pytorch.native_layer_norm(image, (length,), weight, bias, 1e-5)
    found = mindtorch_v2.native_layer_norm(ours(image), (length,), ours(weight), ours(bias), 1e-5)
    for result, peer, number in zip(found, expected, exact, strict=True):
        assert str(result.dtype).split(".")[-1] == str(peer.dtype).split(".")[-1]
        assert tuple(result.shape) == tuple(peer.shape)
        error = (pytorch.from_numpy(result.double().numpy()) - number).abs().max()
        peer_error = (peer.double() - number).abs().max()
        assert error <= 1.5 * peer_error + 1e-6 * number.abs().max()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_what_is_not_contiguous_and_what_is_empty(dtype: str) -> None:
    kind = getattr(mindtorch_v2, dtype)
    image = mindtorch_v2.arange(24.0).reshape(4, 6).to(kind)
    turned = mindtorch_v2.nn.functional.layer_norm(image.t(), (4,))
    assert mindtorch_v2.equal(turned, mindtorch_v2.nn.functional.layer_norm(image.t().contiguous(), (4,)))
    assert mindtorch_v2.nn.functional.layer_norm(image[:0], (6,)).shape == (0, 6)
