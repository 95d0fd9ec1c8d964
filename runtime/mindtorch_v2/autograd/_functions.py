"""``torch.autograd._functions``: Functions from before operators had these names."""

from __future__ import annotations

from typing import Any

from .._core import Tensor
from .function import Function

__all__ = ["Resize"]


class Resize(Function):
    """``Resize.apply(tensor, sizes)``: the elements in another shape of as many."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, sizes: Any) -> Any:
        count = 1
        for size in sizes:
            count *= size
        if tensor.numel() != count:
            raise RuntimeError(
                f"requested resize to {'x'.join(map(str, sizes))} ({count} elements in total), but the given tensor "
                f"has a size of {'x'.join(map(str, tensor.size()))} ({tensor.numel()} elements). autograd's resize can "
                "only change the shape of a given tensor, while preserving the number of elements."
            )
        ctx.input_sizes = tensor.size()
        return tensor.contiguous().view(*sizes)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        return grad_outputs[0].contiguous().view(ctx.input_sizes), None
