"""A recurrent layer of one direction by itself, by the names of PyTorch's kernels for processors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from ._composed import gradients

__all__ = ["rnn_layer", "rnn_layer_backward"]

LSTM = 2  # PyTorch's number for it
_U8 = _core.dtypes["uint8"]
Four = tuple[Tensor, Tensor, Tensor, Tensor]


def _check(input: Tensor, mode: int, layers: int, batch_sizes: Sequence[int]) -> None:
    if mode != LSTM or layers != 1 or batch_sizes:
        raise RuntimeError(
            f"mkldnn_rnn_layer: expected a layer of LSTM (mode {LSTM}) over a tensor of steps, got mode {mode}, "
            f"{layers} layers and {len(batch_sizes)} batch sizes"
        )
    if input.dim() != 3 or not input.is_floating_point():
        raise RuntimeError(
            "mkldnn_rnn_layer: expected an input of (steps, batch, features) of floating-point numbers, got "
            f"{list(input.shape)} of {input.dtype}"
        )


def rnn_layer(
    input: Tensor,
    weight0: Tensor,
    weight1: Tensor,
    weight2: Tensor,
    weight3: Tensor,
    hx_: Tensor,
    cx_: Tensor,
    reverse: bool,
    batch_sizes: Sequence[int],
    mode: int,
    hidden_size: int,
    num_layers: int,
    has_biases: bool,
    bidirectional: bool,
    batch_first: bool,
    train: bool,
) -> Four:
    """A layer of LSTM over (steps, batch, features), from the last step on with ``reverse``.

    Weights are those of the input and of the state, then their biases. The workspace is empty: nothing is kept for
    backward but what autograd keeps. Raises RuntimeError for other cells, several layers, and packed sequences.
    """
    _check(input, mode, num_layers, batch_sizes)
    steps = input.flip(0) if reverse else input
    state = [each.reshape((1, input.shape[1], hidden_size)) for each in (hx_, cx_)]
    weights = [weight0, weight1, weight2, weight3][: 4 if has_biases else 2]
    outputs, h, c = ops.aten.lstm.input(steps, state, weights, has_biases, 1, 0.0, train, False, False)
    workspace = input.new_empty((0,), dtype=_U8)
    return outputs.flip(0) if reverse else outputs, h.reshape(hx_.shape), c.reshape(cx_.shape), workspace


def rnn_layer_backward(
    input: Tensor,
    weight1: Tensor,
    weight2: Tensor,
    weight3: Tensor,
    weight4: Tensor,
    hx_: Tensor,
    cx_tmp: Tensor,
    output: Tensor,
    hy_: Tensor,
    cy_: Tensor,
    grad_output: Tensor | None,
    grad_hy: Tensor | None,
    grad_cy: Tensor | None,
    reverse: bool,
    mode: int,
    hidden_size: int,
    num_layers: int,
    has_biases: bool,
    train: bool,
    bidirectional: bool,
    batch_sizes: Sequence[int],
    batch_first: bool,
    workspace: Tensor,
) -> tuple[Tensor, ...]:
    """The gradients of `rnn_layer`'s input, four weights, state and memory: the layer is run once more."""

    _check(input, mode, num_layers, batch_sizes)

    def layer(*tensors: Any) -> tuple[Tensor, ...]:
        options = (batch_sizes, mode, hidden_size, num_layers, has_biases, bidirectional, batch_first, train)
        given: list[Any] = [*tensors, reverse, *options]
        return rnn_layer(*given)[:3]

    inputs = (input, weight1, weight2, weight3, weight4, hx_, cx_tmp)
    grads = gradients(layer, inputs, (grad_output, grad_hy, grad_cy))
    return tuple(ops.aten.zeros_like(x) if g is None else g for g, x in zip(grads, inputs, strict=True))
