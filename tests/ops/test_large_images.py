"""Images of more elements than C++ counts by 32 bits, beside PyTorch: sampled without a copy of them."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from mindtorch_v2.kernels import sampling
from tests.runtime.both import agree

MODES = list(itertools.product(("bilinear", "nearest"), ("zeros", "border", "reflection"), (True, False)))


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize(("mode", "padding", "align"), MODES)
def test_what_is_sampled(monkeypatch: pytest.MonkeyPatch, dims: int, mode: str, padding: str, align: bool) -> None:
    """By the way of large images, taken by small ones that lie apart: the quick way is for those in rows."""
    monkeypatch.setattr(sampling, "_COUNTED", 10)

    def case(torch: Any) -> Any:
        sizes = (2, 3, 4, 5, 6)[: dims + 2]
        image = torch.sin(torch.arange(2.0 * torch.Size(sizes).numel())).reshape(*sizes, 2)[..., 0]
        places = torch.cos(torch.arange(2.0 * 7 ** (dims - 1) * dims)).reshape(2, *[7] * (dims - 1), 1, dims) * 1.5
        image.requires_grad_()
        found = torch.nn.functional.grid_sample(image, places, mode, padding, align)
        found.sum().backward()
        return found.detach(), image.grad

    agree(case)
    assert sampling._COUNTED == 10
