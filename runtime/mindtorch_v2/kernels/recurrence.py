"""Recurrence without modules: the steps of cells, and layers of cells along sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from .._core import Tensor
from .._ops import ops

__all__ = [
    "STEPS",
    "Recurrence",
    "State",
    "Step",
    "Weights",
    "gru",
    "gru_cell",
    "gru_packed",
    "gru_step",
    "lstm",
    "lstm_cell",
    "lstm_packed",
    "lstm_step",
    "relu_step",
    "rnn_relu",
    "rnn_relu_cell",
    "rnn_relu_packed",
    "rnn_tanh",
    "rnn_tanh_cell",
    "rnn_tanh_packed",
    "tanh_step",
]

State = tuple[Tensor, ...]  # of a cell: h, and of a LSTM c
Weights = Sequence[Tensor | None]  # of a cell: of the input, of the state, and the biases of both


# ---------------------------------------------------------------- steps
def _gates(x: Tensor, state: State, weights: Weights) -> tuple[Tensor, Tensor]:
    """What the input and the state say, apart."""
    return ops.aten.linear(x, _given(weights[0]), weights[2]), ops.aten.linear(state[0], _given(weights[1]), weights[3])


def _given(weight: Tensor | None) -> Tensor:
    if weight is None:
        raise TypeError("a recurrent network's weights must be tensors, got None among them")
    return weight


def tanh_step(x: Tensor, state: State, weights: Weights) -> State:
    """``tanh(W x + b + U h + c)``, the next state."""
    of_input, of_state = _gates(x, state, weights)
    return ((of_input + of_state).tanh(),)


def relu_step(x: Tensor, state: State, weights: Weights) -> State:
    """``relu(W x + b + U h + c)``, the next state."""
    of_input, of_state = _gates(x, state, weights)
    return ((of_input + of_state).relu(),)


def gru_step(x: Tensor, state: State, weights: Weights) -> State:
    """The next state of gated units."""
    of_input, of_state = (each.chunk(3, -1) for each in _gates(x, state, weights))
    reset, update = ((i + h).sigmoid() for i, h in zip(of_input[:2], of_state[:2], strict=True))
    new = (of_input[2] + reset * of_state[2]).tanh()
    return (new + update * (state[0] - new),)


def lstm_step(x: Tensor, state: State, weights: Weights) -> State:
    """The next state and memory; weights have a fifth where states are projected."""
    of_input, of_state = _gates(x, state, weights)
    enter, forget, new, leave = (of_input + of_state).chunk(4, -1)
    memory = forget.sigmoid() * state[1] + enter.sigmoid() * new.tanh()
    shown = leave.sigmoid() * memory.tanh()
    if len(weights) > 4:  # projected
        shown = ops.aten.linear(shown, _given(weights[4]))
    return shown, memory


Step = Callable[[Tensor, State, Weights], State]
STEPS: dict[str, Step] = {"LSTM": lstm_step, "GRU": gru_step, "RNN_TANH": tanh_step, "RNN_RELU": relu_step}

# What is read, states, weights, backwards -> states at every step, and the last one.
Along = Callable[[Tensor, State, Weights, bool], tuple[Tensor, State]]


# ---------------------------------------------------------------- sequences
@dataclass(frozen=True)
class Recurrence:
    """Layers of cells, in one direction or two (a cell for each, side by side), with dropout between layers."""

    step: Step
    weights: Sequence[Weights]  # of each layer and direction
    directions: int
    dropout: float
    training: bool

    def over(self, x: Tensor, states: State) -> tuple[Tensor, State]:
        """A sequence (steps, batch, input): the last layer's states at every step; those of all layers after the last.

        ``states`` are (layers * directions, batch, size) each, as those that are returned.
        """
        return self._through_layers(x, states, self._along)

    def over_packed(self, data: Tensor, sizes: list[int], states: State) -> tuple[Tensor, State]:
        """As `over`, of packed data: ``sizes`` says how many sequences there are at each step."""
        return self._through_layers(data, states, partial(self._along_packed, sizes))

    def _through_layers(self, x: Tensor, states: State, along: Along) -> tuple[Tensor, State]:
        last: list[State] = []
        layers = len(self.weights) // self.directions
        for layer in range(layers):
            outputs = []
            for direction in range(self.directions):
                cell = layer * self.directions + direction
                seen, state = along(x, tuple(each[cell] for each in states), self.weights[cell], bool(direction))
                outputs.append(seen)
                last.append(state)
            x = outputs[0] if self.directions == 1 else ops.aten.cat(outputs, -1)
            if self.dropout and layer < layers - 1:
                x = ops.aten.dropout(x, self.dropout, self.training)
        return x, tuple(ops.aten.stack([state[number] for state in last]) for number in range(len(states)))

    def _along(self, x: Tensor, state: State, weights: Weights, backwards: bool) -> tuple[Tensor, State]:
        """One cell over a sequence."""
        count = x.size(0)
        seen: list[Any] = [None] * count
        for at in reversed(range(count)) if backwards else range(count):
            state = self.step(x[at], state, weights)
            seen[at] = state[0]
        return ops.aten.stack(seen), state

    def _along_packed(
        self, sizes: list[int], data: Tensor, state: State, weights: Weights, backwards: bool
    ) -> tuple[Tensor, State]:
        """As `_along`, over packed data: sequences leave as they end; backwards they join at their ends."""
        parts = data.split(sizes)
        seen: list[Any] = [None] * len(sizes)
        first, gone = state, []
        state = tuple(each[: sizes[-1] if backwards else sizes[0]] for each in first)
        for at in reversed(range(len(sizes))) if backwards else range(len(sizes)):
            count, size = state[0].size(0), sizes[at]
            if size < count:
                gone.append(tuple(each[size:] for each in state))
                state = tuple(each[:size] for each in state)
            elif size > count:
                state = tuple(ops.aten.cat([s, each[count:size]]) for s, each in zip(state, first, strict=True))
            state = self.step(parts[at], state, weights)
            seen[at] = state[0]
        whole = [state, *reversed(gone)]  # the longest first
        return ops.aten.cat(seen), tuple(ops.aten.cat([s[number] for s in whole]) for number in range(len(state)))


# ---------------------------------------------------------------- functions
def _weights(params: Sequence[Tensor], has_biases: bool, projected: bool) -> list[Weights]:
    """Those of each cell, of what a call has in one list."""
    each = (4 if has_biases else 2) + projected
    if not params or len(params) % each:
        raise RuntimeError("got an incorrect number of RNN parameters")
    cells = [list(params[at : at + each]) for at in range(0, len(params), each)]
    return [cell if has_biases else [*cell[:2], None, None, *cell[2:]] for cell in cells]


@dataclass(frozen=True)
class _Network:
    """A network as a function, of a sequence or of packed data."""

    mode: str

    def _recurrence(
        self,
        states: State,
        params: Sequence[Tensor],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
    ) -> Recurrence:
        count = 2 if self.mode == "LSTM" else 1
        if len(states) != count:
            raise RuntimeError(f"{self.mode.lower()} expects {'two hidden states' if count == 2 else 'a hidden state'}")
        projected = count == 2 and states[0].size(-1) != states[1].size(-1)
        weights, directions = _weights(params, has_biases, projected), 2 if bidirectional else 1
        if len(weights) != num_layers * directions:
            raise RuntimeError("got an incorrect number of RNN parameters")
        if not 0 <= dropout <= 1:
            raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout}")
        return Recurrence(STEPS[self.mode], weights, directions, dropout, train)

    def run(self, input: Tensor, states: State, *options: Any) -> tuple[Tensor, ...]:
        *rest, batch_first = options
        recurrence = self._recurrence(states, *rest)
        if input.dim() != 3:
            raise RuntimeError(f"expected an input of 3 dimensions, a sequence of batches, but got {list(input.shape)}")
        seen, ends = recurrence.over(input.transpose(0, 1) if batch_first else input, states)
        return seen.transpose(0, 1) if batch_first else seen, *ends

    def run_packed(self, data: Tensor, batch_sizes: Tensor, states: State, *options: Any) -> tuple[Tensor, ...]:
        seen, ends = self._recurrence(states, *options).over_packed(data, batch_sizes.tolist(), states)
        return seen, *ends


_LSTM, _GRU, _TANH, _RELU = (_Network(mode) for mode in STEPS)


def lstm(input: Tensor, hx: Sequence[Tensor], *options: Any) -> tuple[Tensor, ...]:
    """Layers with long and short memory (Hochreiter and Schmidhuber, 1997): outputs, last states and last memories."""
    return _LSTM.run(input, tuple(hx), *options)


def lstm_packed(data: Tensor, batch_sizes: Tensor, hx: Sequence[Tensor], *options: Any) -> tuple[Tensor, ...]:
    """As `lstm`, of packed data."""
    return _LSTM.run_packed(data, batch_sizes, tuple(hx), *options)


def gru(input: Tensor, hx: Tensor, *options: Any) -> tuple[Tensor, ...]:
    """Layers of gated units (Cho et al., 2014): outputs and last states."""
    return _GRU.run(input, (hx,), *options)


def gru_packed(data: Tensor, batch_sizes: Tensor, hx: Tensor, *options: Any) -> tuple[Tensor, ...]:
    """As `gru`, of packed data."""
    return _GRU.run_packed(data, batch_sizes, (hx,), *options)


def rnn_tanh(input: Tensor, hx: Tensor, *options: Any) -> tuple[Tensor, ...]:
    """Layers of tanh: outputs and last states."""
    return _TANH.run(input, (hx,), *options)


def rnn_tanh_packed(data: Tensor, batch_sizes: Tensor, hx: Tensor, *options: Any) -> tuple[Tensor, ...]:
    """As `rnn_tanh`, of packed data."""
    return _TANH.run_packed(data, batch_sizes, (hx,), *options)


def rnn_relu(input: Tensor, hx: Tensor, *options: Any) -> tuple[Tensor, ...]:
    """Layers of relu: outputs and last states."""
    return _RELU.run(input, (hx,), *options)


def rnn_relu_packed(data: Tensor, batch_sizes: Tensor, hx: Tensor, *options: Any) -> tuple[Tensor, ...]:
    """As `rnn_relu`, of packed data."""
    return _RELU.run_packed(data, batch_sizes, (hx,), *options)


def lstm_cell(input: Tensor, hx: Sequence[Tensor], *weights: Tensor | None) -> tuple[Tensor, Tensor]:
    """The state and the memory after a step; RuntimeError where ``hx`` has not both from before."""
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    shown, memory = lstm_step(input, tuple(hx), weights)
    return shown, memory


def gru_cell(input: Tensor, hx: Tensor, *weights: Tensor | None) -> Tensor:
    """The state after a step."""
    return gru_step(input, (hx,), weights)[0]


def rnn_tanh_cell(input: Tensor, hx: Tensor, *weights: Tensor | None) -> Tensor:
    """The state after a step."""
    return tanh_step(input, (hx,), weights)[0]


def rnn_relu_cell(input: Tensor, hx: Tensor, *weights: Tensor | None) -> Tensor:
    """The state after a step."""
    return relu_step(input, (hx,), weights)[0]
