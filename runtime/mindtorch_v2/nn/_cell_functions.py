"""One step of a recurrent network as a function: ``torch.lstm_cell`` and its like, under the names of the top level."""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Tensor
from .rnn import Step, _gru_step, _lstm_step, _relu_step, _tanh_step, check_cell

__all__ = ["gru_cell", "lstm_cell", "rnn_relu_cell", "rnn_tanh_cell"]


def _step(name: str, step: Step, input: Tensor, hx: Tensor, weights: Sequence[Tensor | None]) -> Tensor:
    for given in (input, hx):
        if not isinstance(given, Tensor):
            raise TypeError(f"{name}(): expected Tensor, not {type(given).__name__}")
    _check(input, (hx,), weights)
    return step(input, (hx,), weights)[0]


def _check(input: Tensor, state: Sequence[Tensor], weights: Sequence[Tensor | None]) -> None:
    weight_ih, weight_hh = weights[:2]
    if weight_ih is not None and weight_hh is not None:
        check_cell(input, state, weight_ih, weight_hh)


def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """The state after a step of a GRU (Cho et al., 2014): ``input`` (N, I), ``hx`` (N, H), ``w_ih`` (3 H, I)."""
    return _step("gru_cell", _gru_step, input, hx, (w_ih, w_hh, b_ih, b_hh))


def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """The state after a step of a network of tanh: ``input`` (N, I), ``hx`` (N, H), ``w_ih`` (H, I)."""
    return _step("rnn_tanh_cell", _tanh_step, input, hx, (w_ih, w_hh, b_ih, b_hh))


def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """The state after a step of a network of relu: ``input`` (N, I), ``hx`` (N, H), ``w_ih`` (H, I)."""
    return _step("rnn_relu_cell", _relu_step, input, hx, (w_ih, w_hh, b_ih, b_hh))


def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The state and the memory after a step of an LSTM (Hochreiter and Schmidhuber, 1997); ``hx`` has both from before.

    ``input`` (N, I), each of ``hx`` (N, H), ``w_ih`` (4 H, I), ``w_hh`` (4 H, H). Raises RuntimeError where ``hx`` has
    not two tensors.
    """
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    _check(input, hx, (w_ih, w_hh))
    shown, memory = _lstm_step(input, tuple(hx), (w_ih, w_hh, b_ih, b_hh))
    return shown, memory
