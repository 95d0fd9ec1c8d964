"""A softmax over very many classes, of which a few are frequent."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from .._core import Tensor
from .._core import dtype as DType
from . import functional
from .container import ModuleList, Sequential
from .layers import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log probabilities of targets (N,), and the loss, from (N, in_features): classes in clusters by frequency.

    The head decides between the classes below ``cutoffs[0]`` and the clusters after them, the i-th of which has the
    classes up to the next cutoff, and ``in_features / div_value ** (i + 1)`` features. Source: Grave et al.,
    "Efficient softmax approximation for GPUs", 2017. Raises ValueError for cutoffs that are not unique, positive and in
    order.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        ends = list(cutoffs)
        if not ends:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        in_order = all(a < b for a, b in itertools.pairwise(ends)) and all(int(c) == c for c in ends)
        if not in_order or ends[0] <= 0 or ends[-1] > n_classes - 1:
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                "value is between 1 and n_classes-1"
            )
        self.in_features, self.n_classes, self.div_value, self.head_bias = in_features, n_classes, div_value, head_bias
        self.cutoffs = [*ends, n_classes]
        self.shortlist_size, self.n_clusters = self.cutoffs[0], len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, device=device, dtype=dtype)
        self.tail = ModuleList()
        for i, (first, end) in enumerate(itertools.pairwise(self.cutoffs)):
            size = int(in_features // div_value ** (i + 1))
            self.tail.append(
                Sequential(
                    Linear(in_features, size, bias=False, device=device, dtype=dtype),
                    Linear(size, end - first, bias=False, device=device, dtype=dtype),
                )
            )

    def reset_parameters(self) -> None:
        """Draws all weights anew."""
        self.head.reset_parameters()
        for narrowing, widening in self.tail:
            narrowing.reset_parameters()
            widening.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """The log probability of each target, (N,) or (), and the mean of their negatives."""
        if target_.dim() == 1:
            if input_.size(0) != target_.size(0):
                raise RuntimeError("Input and target should have the same size in the batch dimension.")
            if input_.dim() != 2:
                raise RuntimeError(
                    f"1D target tensor expects 2D input tensors, but found inputs with size {input_.size()}"
                )
        elif target_.dim() != 0:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        elif input_.dim() != 1:
            raise RuntimeError(f"0D target tensor expects 1D input tensors, but found inputs with size {input_.size()}")
        single = target_.dim() == 0
        input, target = (input_.unsqueeze(0), target_.unsqueeze(0)) if single else (input_, target_)
        seen, output = 0, input.new_zeros(target.size(0))
        in_head = target.new_empty(target.size(0))  # the class that the head is to say
        for i, (first, end) in enumerate(itertools.pairwise([0, *self.cutoffs])):
            mask = (target >= first) & (target < end)
            rows = mask.nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            if i == 0:
                in_head.index_copy_(0, rows, target[mask])
            else:
                within = functional.log_softmax(self.tail[i - 1](input.index_select(0, rows)), dim=1)
                in_head.index_fill_(0, rows, self.shortlist_size + i - 1)
                output.index_copy_(0, rows, within.gather(1, (target[mask] - first).unsqueeze(1)).squeeze(1))
            seen += rows.numel()
        if seen != target.size(0):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{target.min().item()}, "
                f"{target.max().item()}] were found. "
            )
        of_head = functional.log_softmax(self.head(input), dim=1)
        output = output + of_head.gather(1, in_head.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output.squeeze(0) if single else output, loss)

    def _all(self, input: Tensor, head_output: Tensor) -> Tensor:
        of_head = functional.log_softmax(head_output, dim=1)
        out: Tensor = input.new_empty((head_output.size(0), self.n_classes))
        out[:, : self.shortlist_size] = of_head[:, : self.shortlist_size]
        for i, (first, end) in enumerate(itertools.pairwise(self.cutoffs)):
            within = functional.log_softmax(self.tail[i](input), dim=1)
            out[:, first:end] = within + of_head[:, self.shortlist_size + i].unsqueeze(1)
        return out

    def log_prob(self, input: Tensor) -> Tensor:
        """The log probabilities of all classes, (N, n_classes), from (N, in_features)."""
        return self._all(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each row, (N,); clusters are looked into only where the head says so."""
        head_output = self.head(input)
        output: Tensor = head_output.argmax(1)
        beyond = output >= self.shortlist_size
        if bool(beyond.any()):
            output[beyond] = self._all(input[beyond], head_output[beyond]).argmax(1)
        return output
