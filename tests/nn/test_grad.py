"""``torch.nn.grad`` beside what autograd gives, and beside PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest
import torch as pytorch

import mindtorch_v2 as ours

OPTIONS = ({}, {"stride": 2, "padding": 1}, {"dilation": 2, "groups": 2}, {"stride": (2,), "padding": (1,)})


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("torch", [ours, pytorch], ids=["ours", "pytorch"])
def test_they_are_autograds(torch: Any, count: int, options: dict[str, Any]) -> None:
    given = {name: value * count if isinstance(value, tuple) else value for name, value in options.items()}
    torch.manual_seed(0)
    x = torch.randn(2, 4, *[7, 6, 5][:count], dtype=torch.float64, requires_grad=True)
    weight = torch.randn(6, 4 // given.get("groups", 1), *[3] * count, dtype=torch.float64, requires_grad=True)
    out = getattr(torch.nn.functional, f"conv{count}d")(x, weight, **given)
    gradient = torch.randn_like(out)
    of_input, of_weight = torch.autograd.grad(out, (x, weight), gradient)
    tools = torch.nn.grad
    assert torch.allclose(getattr(tools, f"conv{count}d_input")(x.shape, weight, gradient, **given), of_input)
    assert torch.allclose(getattr(tools, f"conv{count}d_weight")(x, weight.shape, gradient, **given), of_weight)


def test_a_wrong_size_is_refused() -> None:
    for torch in (ours, pytorch):
        with pytest.raises(RuntimeError):
            torch.nn.grad.conv2d_input((1, 3, 8, 8), torch.ones(2, 3, 3, 3), torch.ones(1, 2, 9, 9))
