"""The gradients of convolutions, as ``torch.nn.grad``: from the shape of what they are by, without forward."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .._core import Tensor
from .._creation import empty
from .._ops import ops
from ._sizes import each_of

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]

Sizes = int | Sequence[int]


_INPUT, _WEIGHT = 0, 1  # among the gradients of a convolution; the third is the bias's


def _gradient(
    by: int, count: int, grad_output: Tensor, input: Tensor, weight: Tensor, options: tuple[Sizes, ...], groups: int
) -> Tensor:
    stride, padding, dilation = (list(each_of(option, count)) for option in options)
    wanted = [by == _INPUT, by == _WEIGHT, False]
    found: tuple[Tensor, ...] = ops.aten.convolution_backward(
        grad_output, input, weight, None, stride, padding, dilation, False, [0] * count, groups, wanted
    )
    return found[by]


def _shaped(size: Sequence[int], like: Tensor) -> Tensor:
    """A tensor of which only shape, dtype and device count: one element, seen everywhere."""
    shaped: Tensor = empty((1,), dtype=like.dtype, device=like.device).expand(tuple(size))
    return shaped


def _of_input(count: int) -> Callable[..., Tensor]:
    def gradient(
        input_size: Sequence[int],
        weight: Tensor,
        grad_output: Tensor,
        stride: Sizes = 1,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
    ) -> Tensor:
        input = _shaped(input_size, grad_output)
        return _gradient(_INPUT, count, grad_output, input, weight, (stride, padding, dilation), groups)

    gradient.__name__ = gradient.__qualname__ = f"conv{count}d_input"
    gradient.__doc__ = f"A convolution's gradient by its input, of shape ``input_size``; {count} dimensions."
    return gradient


def _of_weight(count: int) -> Callable[..., Tensor]:
    def gradient(
        input: Tensor,
        weight_size: Sequence[int],
        grad_output: Tensor,
        stride: Sizes = 1,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
    ) -> Tensor:
        weight = _shaped(weight_size, grad_output)
        return _gradient(_WEIGHT, count, grad_output, input, weight, (stride, padding, dilation), groups)

    gradient.__name__ = gradient.__qualname__ = f"conv{count}d_weight"
    gradient.__doc__ = f"A convolution's gradient by its weight, of shape ``weight_size``; {count} dimensions."
    return gradient


conv1d_input, conv2d_input, conv3d_input = map(_of_input, (1, 2, 3))
conv1d_weight, conv2d_weight, conv3d_weight = map(_of_weight, (1, 2, 3))
