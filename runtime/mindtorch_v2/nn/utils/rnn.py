"""Sequences of several lengths: padded to one length, or packed without what is padding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..._core import Tensor, dtypes
from ..._creation import arange, as_tensor, tensor
from ..._ops import ops

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]

_INT64 = dtypes["int64"]


class _Packed(NamedTuple):
    data: Any
    batch_sizes: Any
    sorted_indices: Any
    unsorted_indices: Any


class PackedSequence(_Packed):
    """Steps of several sequences, those of one time side by side, as recurrent networks read them.

    ``data`` (elements of all sequences, ...) has first the first steps of all, from the longest sequence to the
    shortest, then the second steps of those that have one; ``batch_sizes`` (steps,), int64 on the CPU, says how many.
    ``sorted_indices`` and ``unsorted_indices`` (sequences,) are the order by length and its inverse, or None.
    `pack_sequence` and `pack_padded_sequence` make them.
    """

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        """See the class. Raises ValueError for sizes that are not on the CPU."""
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2, where batch_sizes is left out")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                f"batch_sizes should always be on CPU, not on {batch_sizes.device}. Make a PackedSequence by "
                "pack_sequence or pack_padded_sequence of nn.utils.rnn"
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """With the data of another dtype or on another device, as `Tensor.to`; itself where nothing changes."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        moved = (None if i is None else i.to(data.device) for i in (self.sorted_indices, self.unsorted_indices))
        return type(self)(data, self.batch_sizes, *moved)

    def pin_memory(self) -> PackedSequence:
        """With all but the sizes in pinned memory."""
        moved = (None if i is None else i.pin_memory() for i in (self.sorted_indices, self.unsorted_indices))
        return type(self)(self.data.pin_memory(), self.batch_sizes, *moved)

    def is_pinned(self) -> bool:
        """Whether the data is in pinned memory."""
        return bool(self.data.is_pinned())

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a CUDA device."""
        return bool(self.data.is_cuda)

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """On the CPU."""
        return self.to(*args, **{**kwargs, "device": "cpu"})

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """On a CUDA device."""
        return self.to(*args, **{"device": "cuda", **kwargs})

    def double(self) -> PackedSequence:
        """As float64."""
        return type(self)(self.data.double(), *self[1:])

    def float(self) -> PackedSequence:
        """As float32."""
        return type(self)(self.data.float(), *self[1:])

    def half(self) -> PackedSequence:
        """As float16."""
        return type(self)(self.data.half(), *self[1:])

    def long(self) -> PackedSequence:
        """As int64."""
        return type(self)(self.data.long(), *self[1:])

    def int(self) -> PackedSequence:
        """As int32."""
        return type(self)(self.data.int(), *self[1:])

    def short(self) -> PackedSequence:
        """As int16."""
        return type(self)(self.data.short(), *self[1:])

    def char(self) -> PackedSequence:
        """As int8."""
        return type(self)(self.data.char(), *self[1:])

    def byte(self) -> PackedSequence:
        """As uint8."""
        return type(self)(self.data.byte(), *self[1:])


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another, (n,); None of None."""
    if permutation is None:
        return None
    places = arange(permutation.numel(), device=permutation.device)
    inverse: Tensor = ops.aten.empty_like(permutation).scatter_(0, permutation, places)
    return inverse


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs (steps, sequences, ...), or (sequences, steps, ...) with ``batch_first``: ``lengths`` of each sequence.

    With ``enforce_sorted`` the sequences must be given from the longest to the shortest; else they are sorted, and the
    packed sequence remembers how. Raises RuntimeError for lengths that do not fit.
    """
    if isinstance(lengths, Tensor):
        lengths = lengths.to(dtype=_INT64)
    else:
        lengths = as_tensor(lengths, dtype=_INT64, device="cpu")
    order = None
    if not enforce_sorted:
        lengths, order = lengths.sort(descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    steps_first = input.transpose(0, 1) if batch_first else input
    sizes = _batch_sizes(steps_first, lengths)
    whole = steps_first.reshape(-1, *steps_first.shape[2:])
    data = whole.index_select(0, _places(sizes, steps_first.size(1)).to(input.device))
    return PackedSequence(data, tensor(sizes), order, None)


def _batch_sizes(steps_first: Tensor, lengths: Any) -> list[int]:
    """How many sequences there are at each step. Raises RuntimeError for lengths that cannot be."""
    if steps_first.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    given: list[int] = lengths.tolist() if lengths.dim() == 1 else []
    if len(given) != steps_first.size(1):
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(given)} "
            f"(batch_size={steps_first.size(1)})"
        )
    if min(given) <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if given != sorted(given, reverse=True):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement "
            "if you do "
            "not need ONNX exportability."
        )
    if given[0] > steps_first.size(0):
        raise RuntimeError(f"a sequence is {given[0]} steps long, but the input has {steps_first.size(0)}")
    return [sum(length > step for length in given) for step in range(given[0])]


def _places(sizes: Sequence[int], width: int) -> Tensor:
    """Where the packed elements are in (steps * width,)."""
    found: Tensor = tensor([step * width + at for step, size in enumerate(sizes) for at in range(size)], dtype=_INT64)
    return found


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The inverse of `pack_padded_sequence`: the padded sequences in their first order, and their lengths (sequences,).

    They are ``total_length`` steps long, by default as long as the longest; ValueError where that is longer.
    """
    sizes: list[int] = sequence.batch_sizes.tolist()
    steps = len(sizes)
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    data, width = sequence.data, sizes[0]
    whole = data.new_full((steps * width, *data.shape[1:]), padding_value)
    padded = whole.index_copy(0, _places(sizes, width).to(data.device), data).view(steps, width, *data.shape[1:])
    lengths = tensor([sum(size > at for size in sizes) for at in range(width)], dtype=_INT64)
    padded = padded.transpose(0, 1) if batch_first else padded
    if sequence.unsorted_indices is not None:
        order = sequence.unsorted_indices
        return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]
    return padded, lengths


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Sequences (steps_i, ...) side by side: (longest, sequences, ...), with ``batch_first`` (sequences, longest, ...).

    What is missing, behind or with ``padding_side="left"`` before, is ``padding_value``.
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    result: Tensor = ops.aten.pad_sequence(list(sequences), batch_first, padding_value, padding_side)
    return result


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The inverse of `pad_sequence`: each sequence without what is behind its length."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    steps = arange(rows.shape[1], device=lengths.device)
    return [row[steps < length] for row, length in zip(rows, lengths, strict=True)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs sequences (steps_i, ...); see `pack_padded_sequence` for ``enforce_sorted``."""
    lengths = as_tensor([each.size(0) for each in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a packed one, in their first order."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
