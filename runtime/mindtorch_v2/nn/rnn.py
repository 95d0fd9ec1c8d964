"""Recurrent networks and their cells: of tanh or relu, gated (GRU), and with long and short memory (LSTM)."""

from __future__ import annotations

import math
import warnings
from typing import Any, ClassVar

from .._core import Tensor
from .._core import dtype as DType
from .._creation import empty, zeros
from ..kernels.recurrence import STEPS, Recurrence, State, Step, check_cell, gru_step, lstm_step, relu_step, tanh_step
from . import init
from .module import Module
from .parameter import Parameter
from .utils.rnn import PackedSequence

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]


# ---------------------------------------------------------------- cells
class RNNCellBase(Module):
    """What cells share: weights of ``num_chunks`` gates for the input and for the state."""

    bias_ih: Tensor | None
    bias_hh: Tensor | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(empty((rows, input_size), dtype=dtype, device=device))
        self.weight_hh = Parameter(empty((rows, hidden_size), dtype=dtype, device=device))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty((rows,), dtype=dtype, device=device)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws all evenly from +-1/sqrt(hidden_size)."""
        _draw(self, self.hidden_size)

    def extra_repr(self) -> str:
        """Sizes, and the options that are not the usual ones."""
        shown = [f"{self.input_size}", f"{self.hidden_size}"]
        if self.bias is not True:
            shown.append(f"bias={self.bias}")
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return ", ".join(shown if nonlinearity == "tanh" else [*shown, f"nonlinearity={nonlinearity}"])

    def _stepped(self, step: Step, input: Tensor, hx: Any, states: int) -> State:
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        given = (hx,) if isinstance(hx, Tensor) else hx
        for index, each in enumerate(given or ()):
            if each.dim() not in (1, 2):
                which = f"hx[{index}]" if states > 1 else "hidden"
                raise ValueError(f"{name}: Expected {which} to be 1D or 2D, got {each.dim()}D instead")
        single = input.dim() == 1
        x = input.unsqueeze(0) if single else input
        if given is None:
            start = zeros(x.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
            state: State = (start,) * states
        else:
            state = tuple(each.unsqueeze(0) if single else each for each in given)
        check_cell(x, state, self.weight_ih, self.weight_hh)
        found = step(x, state, (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh))
        return tuple(each.squeeze(0) for each in found) if single else found


def _draw(module: Module, size: int) -> None:
    bound = 1.0 / math.sqrt(size) if size > 0 else 0
    for weight in module.parameters():
        init.uniform_(weight, -bound, bound)


class RNNCell(RNNCellBase):
    """One step of `RNN`."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state, from zeros where none is given."""
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        step = tanh_step if self.nonlinearity == "tanh" else relu_step
        return self._stepped(step, input, hx, 1)[0]


class GRUCell(RNNCellBase):
    """One step of `GRU`."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state, from zeros where none is given."""
        return self._stepped(gru_step, input, hx, 1)[0]


class LSTMCell(RNNCellBase):
    """One step of `LSTM`."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """The next state and memory, from zeros where none are given."""
        state, memory = self._stepped(lstm_step, input, hx, 2)
        return state, memory


# ---------------------------------------------------------------- networks
class RNNBase(Module):
    """Layers of cells over a sequence (steps, batch, input), one direction or both, dropout between layers."""

    states: ClassVar[int] = 1
    gates: ClassVar[dict[str, int]] = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        if not isinstance(dropout, (int, float)) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
                stacklevel=3,
            )
        for name, size in (("hidden_size", hidden_size), ("num_layers", num_layers)):
            if not isinstance(size, int):
                raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
            if size <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if mode not in self.gates:
            raise ValueError(f"Unrecognized RNN mode: {mode}")
        rows, shown = self.gates[mode] * hidden_size, proj_size or hidden_size
        directions = 2 if bidirectional else 1
        self._names: list[list[str]] = []
        for layer in range(num_layers):
            columns = input_size if layer == 0 else shown * directions
            for direction in range(directions):
                tail = f"_l{layer}{'_reverse' if direction else ''}"
                shapes: dict[str, tuple[int, ...]] = {
                    f"weight_ih{tail}": (rows, columns),
                    f"weight_hh{tail}": (rows, shown),
                }
                if bias:
                    shapes |= {f"bias_ih{tail}": (rows,), f"bias_hh{tail}": (rows,)}
                if proj_size:
                    shapes[f"weight_hr{tail}"] = (proj_size, hidden_size)
                for name, shape in shapes.items():
                    setattr(self, name, Parameter(empty(shape, dtype=dtype, device=device)))
                self._names.append(list(shapes))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws all evenly from +-1/sqrt(hidden_size)."""
        _draw(self, self.hidden_size)

    def flatten_parameters(self) -> None:
        """Does nothing: kernels here take parameters where they are."""

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name) for names in self._names for name in names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._names]

    def __setstate__(self, d: dict[str, Any]) -> None:
        """Takes what was pickled; before PyTorch 1.8 there was no ``proj_size``, and is 0."""
        super().__setstate__(d)
        self.__dict__.setdefault("proj_size", 0)

    def extra_repr(self) -> str:
        """Sizes, and the options that are not the usual ones."""
        options = {
            "proj_size": (self.proj_size, 0),
            "num_layers": (self.num_layers, 1),
            "bias": (self.bias, True),
            "batch_first": (self.batch_first, False),
            "dropout": (self.dropout, 0),
            "bidirectional": (self.bidirectional, False),
        }
        given = [f"{name}={value}" for name, (value, usual) in options.items() if value != usual]
        return ", ".join([f"{self.input_size}", f"{self.hidden_size}", *given])

    def _recurrence(self) -> Recurrence:
        weights = []
        for names in self._names:
            found: list[Tensor | None] = [getattr(self, name) for name in names]
            weights.append(found if self.bias else [*found[:2], None, None, *found[2:]])
        directions = 2 if self.bidirectional else 1
        return Recurrence(STEPS[self.mode], weights, directions, self.dropout, self.training)

    def _run(self, input: Any, hx: Any) -> tuple[Any, State]:
        """The last layer's states at every step, and those of all layers after the last one."""
        if isinstance(input, PackedSequence):
            return self._run_packed(input, hx)
        if input.dim() not in (2, 3):
            raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )
        single = input.dim() == 2
        x = input.unsqueeze(1) if single else input.transpose(0, 1) if self.batch_first else input
        states = self._start(x, x.size(1), hx, single)
        x, ends = self._recurrence().over(x, states)
        if single:
            return x.squeeze(1), tuple(end.squeeze(1) for end in ends)
        return (x.transpose(0, 1) if self.batch_first else x), ends

    def _run_packed(self, input: PackedSequence, hx: Any) -> tuple[PackedSequence, State]:
        """As `_run`; the states given and returned are in the order that the sequences had before they were sorted."""
        sizes: list[int] = input.batch_sizes.tolist()
        if input.data.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.data.size(-1)}"
            )
        states = self._start(input.data, sizes[0], hx, False)
        if hx is not None and input.sorted_indices is not None:
            states = tuple(each.index_select(1, input.sorted_indices) for each in states)
        data, ends = self._recurrence().over_packed(input.data, sizes, states)
        if input.unsorted_indices is not None:
            ends = tuple(each.index_select(1, input.unsorted_indices) for each in ends)
        return PackedSequence(data, *input[1:]), ends

    def _start(self, x: Tensor, batch: int, hx: Any, single: bool) -> State:
        """The states that are given, checked, or zeros."""
        cells = self.num_layers * (2 if self.bidirectional else 1)
        sizes = [self.proj_size or self.hidden_size, self.hidden_size][: self.states]
        if hx is None:
            return tuple(zeros(cells, batch, size, dtype=x.dtype, device=x.device) for size in sizes)
        given = (hx,) if isinstance(hx, Tensor) else tuple(hx)
        for index, (each, size) in enumerate(zip(given, sizes, strict=True)):
            if each.dim() != (2 if single else 3):
                which, dims = "hx and cx" if self.states > 1 else "hx", "2-D" if single else "3-D"
                raise RuntimeError(
                    f"For {'unbatched' if single else 'batched'} {dims} input, {which} should also be {dims} but got "
                    f"{each.dim()}-D tensor"
                )
            expected = (cells, size) if single else (cells, batch, size)
            if tuple(each.shape) != expected:
                which = "hidden" if self.states == 1 else f"hidden[{index}]"
                raise RuntimeError(f"Expected {which} size {expected}, got {list(each.size())}")
        return tuple(each.unsqueeze(1) if single else each for each in given)


def _refuse_projection(proj_size: int) -> None:
    if proj_size:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(RNNBase):
    """Layers of ``tanh(W x + b + U h + c)``, or of relu."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: DType | None = None,
        *,
        proj_size: int = 0,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        _refuse_projection(proj_size)
        options: dict[str, Any] = {"dropout": dropout, "bidirectional": bidirectional, "device": device, "dtype": dtype}
        super().__init__(
            f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias, batch_first, **options
        )
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The states of the last layer at every step, and those of all layers after the last one."""
        output, ends = self._run(input, hx)
        return output, ends[0]


class GRU(RNNBase):
    """Layers of gated units. Source: Cho et al., 2014, with the gates as cuDNN has them."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: DType | None = None,
        *,
        proj_size: int = 0,
    ) -> None:
        _refuse_projection(proj_size)
        options: dict[str, Any] = {"dropout": dropout, "bidirectional": bidirectional, "device": device, "dtype": dtype}
        super().__init__("GRU", input_size, hidden_size, num_layers, bias, batch_first, **options)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The states of the last layer at every step, and those of all layers after the last one."""
        output, ends = self._run(input, hx)
        return output, ends[0]


class LSTM(RNNBase):
    """Layers with long and short memory. Source: Hochreiter and Schmidhuber, 1997; ``proj_size``: Sak et al., 2014."""

    states = 2

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        options: dict[str, Any] = {"dropout": dropout, "bidirectional": bidirectional, "device": device, "dtype": dtype}
        super().__init__("LSTM", input_size, hidden_size, num_layers, bias, batch_first, proj_size=proj_size, **options)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The states of the last layer at every step; those of all layers after the last one, and their memories."""
        output, (state, memory) = self._run(input, hx)
        return output, (state, memory)
