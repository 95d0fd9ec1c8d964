"""Images made wider at their ends, by a number or by elements of their own; and patches of images as columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from ._contexts import saves
from ._moves import Moves, added_back, reflected, replicated, taken

_BOOL = _core.dtypes["bool"]
_INEXACT = tuple(_core.dtypes[n] for n in ("float32", "float64", "float16", "bfloat16", "complex64", "complex128"))
_NUMBERS = (*_INEXACT, *(_core.dtypes[n] for n in ("uint8", "int8", "int16", "int32", "int64")))
Numbers = Sequence[int]
_MODES = ("constant", "reflect", "replicate", "circular")  # by the number that `_pad_enum` takes


def _pairs(pad: Numbers) -> list[tuple[int, int]]:
    """What is added before and after each of the last dimensions, the first of them first: pad begins with the last."""
    return [(pad[at], pad[at + 1]) for at in range(len(pad) - 2, -1, -2)]


# ---------------------------------------------------------------- by a number
def constant_pad_nd(self: Tensor, pad: Numbers, value: Any = 0) -> Tensor:
    """A number around the tensor, or less of the tensor where pad is negative."""
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * self.dim():
        raise RuntimeError(
            f"Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{len(pad)} while the input has {self.dim()} dimensions."
        )
    pairs = [(0, 0)] * (self.dim() - len(pad) // 2) + _pairs(pad)
    shape = [n + before + after for n, (before, after) in zip(self.shape, pairs, strict=True)]
    for at, (n, size) in enumerate(zip(self.shape, shape, strict=True)):
        if size < 0:
            raise RuntimeError(
                f"The input size {n}, plus negative padding {pairs[at][0]} and {pairs[at][1]}, resulted in a negative "
                f"output size, which is invalid. Check dimension {at} of your input."
            )
    result = _core.alloc(shape, self.dtype, self.device)
    if self.is_meta:
        return result
    if any(n > 0 for pair in pairs for n in pair):
        result.fill_(value)
    source, target = self, result
    for at, (before, after) in enumerate(pairs):
        count = self.shape[at] + min(before, 0) + min(after, 0)
        if count < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
        source, target = source.narrow(at, max(-before, 0), count), target.narrow(at, max(before, 0), count)
    target.copy_(source)
    return result


@saves(pad="pad")
def constant_pad_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps what was added."""
    _, ctx.pad, _ = inputs


def constant_pad_gradient(ctx: Any, grad: Tensor | None) -> tuple[Any, ...]:
    """The gradient without what was added, and zeros for what was taken away."""
    if grad is None:
        return None, None, None
    return ops.aten.constant_pad_nd(grad, [-n for n in ctx.pad], 0), None, None


# ---------------------------------------------------------------- by elements
def _check(name: str, self: Tensor, padding: Numbers, dims: int) -> list[tuple[int, int]]:
    shape = list(self.shape)
    if len(padding) != 2 * dims:
        raise RuntimeError(f"padding size is expected to be {2 * dims}, but got: {len(padding)}")
    if self.dim() not in (dims + 1, dims + 2) or math.prod(shape[-dims - 1 :]) == 0:
        raise RuntimeError(
            f"{name}: Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 batch size and other "
            f"non-zero dimensions for input, but got: {shape}"
        )
    pairs = _pairs(padding)
    for n, (before, after) in zip(shape[-dims:], pairs, strict=True):
        if name.startswith("reflection") and max(before, after) >= n:
            raise RuntimeError(
                "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({before}, {after}) at a dimension of size {n} of input {shape}"
            )
    found = [n + before + after for n, (before, after) in zip(shape[-dims:], pairs, strict=True)]
    if min(found) < 0 or max(found) < 1:  # as in PyTorch, one size that is not 0 is enough
        raise RuntimeError(f"input (sizes: {shape[-dims:]}) is too small. Calculated output sizes: {found}")
    return pairs


def _check_dtype(name: str, tensor: Tensor, dtypes: Sequence[Any]) -> None:
    if tensor.dtype not in dtypes:
        raise NotImplementedError(f'"{name}" not implemented for {tensor.dtype}')


def _pair(name: str, make: Any, dims: int) -> tuple[Any, Any]:
    """The functions that pad and that take gradients back, of images of so many dimensions."""

    def forward(self: Tensor, padding: Numbers) -> Tensor:
        pairs = _check(name, self, padding, dims)
        if self.is_meta:
            sizes = [n + before + after for n, (before, after) in zip(self.shape[-dims:], pairs, strict=True)]
            return _core.alloc((*self.shape[:-dims], *sizes), self.dtype, self.device)
        _check_dtype(name, self, _NUMBERS)
        return taken(self, [make(n, *pair) for n, pair in zip(self.shape[-dims:], pairs, strict=True)])

    def backward(grad_output: Tensor, self: Tensor, padding: Numbers) -> Tensor:
        pairs = _check(name, self, padding, dims)
        moves: list[Moves] = [make(n, *pair) for n, pair in zip(self.shape[-dims:], pairs, strict=True)]
        expected = [*self.shape[:-dims], *(each.places for each in moves)]
        if list(grad_output.shape) != expected:
            raise RuntimeError(f"gradOutput size unexpected. Expected: {expected}, Got: {list(grad_output.shape)}")
        if self.is_meta:
            return _core.alloc(self.shape, grad_output.dtype, self.device)
        _check_dtype(f"{name}_backward", grad_output, _INEXACT)
        return added_back(grad_output, moves)

    return forward, backward


reflection_pad1d, reflection_pad1d_backward = _pair("reflection_pad1d", reflected, 1)
reflection_pad2d, reflection_pad2d_backward = _pair("reflection_pad2d", reflected, 2)
reflection_pad3d, reflection_pad3d_backward = _pair("reflection_pad3d", reflected, 3)
replication_pad1d, replication_pad1d_backward = _pair("replication_pad1d", replicated, 1)
replication_pad2d, replication_pad2d_backward = _pair("replication_pad2d", replicated, 2)
replication_pad3d, replication_pad3d_backward = _pair("replication_pad3d", replicated, 3)


def pad_circular(self: Tensor, pad: Numbers) -> Tensor:
    """Elements beyond an end are those from the other end on."""
    dims = self.dim() - 2
    if len(pad) != 2 * dims:
        raise RuntimeError(f"Invalid padding size, expected {2 * dims} but got {len(pad)}")
    pairs = [(0, 0), (0, 0), *_pairs(pad)]
    for n, (before, after) in zip(self.shape, pairs, strict=True):
        if max(before, after) > n:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if n + before + after < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
    out = self.new_empty([n + before + after for n, (before, after) in zip(self.shape, pairs, strict=True)])
    source, target = self, out
    for at, (before, after) in enumerate(pairs):
        count = self.shape[at] + min(before, 0) + min(after, 0)
        source = source.narrow(at, max(-before, 0), count)
        target = target.narrow(at, max(before, 0), count)
    target.copy_(source)
    for at, (before, after) in enumerate(pairs):  # what is whole up to this dimension wraps around it
        size = out.shape[at]
        inner = size - max(before, 0) - max(after, 0)
        if before > 0:
            out.narrow(at, 0, before).copy_(out.narrow(at, inner, before))
        if after > 0:
            out.narrow(at, size - after, after).copy_(out.narrow(at, max(before, 0), after))
    result: Tensor = out
    return result


def pad(self: Tensor, pad: Numbers, mode: str = "constant", value: float | None = None) -> Tensor:
    """Padding by a number, or by elements that the mode says."""
    if mode not in _MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    return pad_enum(self, pad, _MODES.index(mode), value)


def pad_enum(self: Tensor, pad: Numbers, mode: int, value: float | None = None) -> Tensor:
    """`pad` with the mode as a number."""
    aten = ops.aten
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * self.dim():
        raise RuntimeError(
            f"Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {self.dim()}"
        )
    if not 0 <= mode < len(_MODES):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    word = _MODES[mode]
    result: Tensor
    if word == "constant":
        result = aten.constant_pad_nd(self, pad, 0 if value is None else value)
        return result
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{word}" doesn\'t take in value argument')
    dims = len(pad) // 2
    if dims not in (1, 2, 3) or self.dim() not in (dims + 1, dims + 2):
        raise NotImplementedError(
            "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now: pad has a pair for each of "
            f"the last dimensions but the first one or two, got {len(pad)} numbers for {self.dim()} dimensions"
        )
    if word == "circular":
        batch = self if self.dim() == dims + 2 else self.unsqueeze(0)
        padded = aten._pad_circular(batch, pad)
        result = padded if self.dim() == dims + 2 else padded.squeeze(0)
        return result
    result = getattr(aten, f"{'reflection' if word == 'reflect' else 'replication'}_pad{dims}d")(self, pad)
    return result


# ---------------------------------------------------------------- patches as columns
def _patches(
    size: Numbers, kernel: Numbers, dilation: Numbers, padding: Numbers, stride: Numbers
) -> tuple[list[list[int]], list[int]]:
    """The numbers for height and width, and how many patches lie along each; checked."""
    numbers = []
    for name, given in (("kernel_size", kernel), ("dilation", dilation), ("padding", padding), ("stride", stride)):
        if len(given) not in (1, 2):
            raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(given)}")
        each = list(given) * 2 if len(given) == 1 else list(given)
        least = 0 if name == "padding" else 1
        if min(each) < least:
            raise RuntimeError(
                f"{name} should be {'non-negative' if not least else 'greater than zero'}, but got {each}"
            )
        numbers.append(each)
    counts = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in zip(size, *numbers, strict=True)]
    if min(counts) < 1:
        raise RuntimeError(
            f"Given input with spatial size {list(size)}, kernel_size={numbers[0]}, dilation={numbers[1]}, "
            f"padding={numbers[2]}, calculated shape of the array of sliding blocks as {counts}, but its components "
            "must be at least one."
        )
    return numbers, counts


def _batch(name: str, self: Tensor, dims: int, expected: str) -> Tensor:
    shape = list(self.shape)
    if self.dim() not in (dims - 1, dims) or math.prod(shape[1 - dims :]) == 0:
        raise RuntimeError(f"{name}: Expected {expected} tensor with possibly 0 batch size, but got: {shape}")
    return self if self.dim() == dims else self.unsqueeze(0)


def _slides(padded: Tensor, numbers: list[list[int]], counts: list[int]) -> Any:
    """The parts of a padded image that an element of all patches each has, one after another."""
    kernel, dilation, _, stride = numbers
    for y in range(kernel[0]):
        for x in range(kernel[1]):
            first = (y * dilation[0], x * dilation[1])
            yield padded[
                ...,
                first[0] : first[0] + (counts[0] - 1) * stride[0] + 1 : stride[0],
                first[1] : first[1] + (counts[1] - 1) * stride[1] + 1 : stride[1],
            ]


def im2col(self: Tensor, kernel_size: Numbers, dilation: Numbers, padding: Numbers, stride: Numbers) -> Tensor:
    """Patches of images (N, C, H, W) as the columns of matrices (N, C * kernel, patches)."""
    batch = _batch("im2col", self, 4, "3D or 4D (batch mode)")
    numbers, counts = _patches(batch.shape[-2:], kernel_size, dilation, padding, stride)
    taps, places = math.prod(numbers[0]), math.prod(counts)
    shape = (batch.shape[0], batch.shape[1] * taps, places)
    if self.is_meta:
        return _core.alloc(shape if self.dim() == 4 else shape[1:], self.dtype, self.device)
    if not (self.is_floating_point() or self.is_complex() or self.dtype is _BOOL):
        raise NotImplementedError(f'"im2col_out_cpu" not implemented for {self.dtype}')
    height, width = numbers[2]
    padded = constant_pad_nd(batch, [width, width, height, height], 0)
    columns = _core.alloc((*batch.shape[:2], taps, *counts), self.dtype, self.device)
    for tap, part in enumerate(_slides(padded, numbers, counts)):
        columns.select(2, tap).copy_(part)
    result = columns.reshape(shape)
    whole: Tensor = result if self.dim() == 4 else result.squeeze(0)
    return whole


def col2im(
    self: Tensor, output_size: Numbers, kernel_size: Numbers, dilation: Numbers, padding: Numbers, stride: Numbers
) -> Tensor:
    """The columns of matrices (N, C * kernel, patches) added to where patches of images (N, C, H, W) lie."""
    batch = _batch("col2im", self, 3, "2D or 3D (batch mode)")
    if len(output_size) != 2:
        raise RuntimeError(f"It is expected output_size equals to 2, but got size {len(output_size)}")
    if min(output_size) < 1:
        raise RuntimeError(f"output_size should be greater than zero, but got {list(output_size)}")
    numbers, counts = _patches(output_size, kernel_size, dilation, padding, stride)
    taps, places = math.prod(numbers[0]), math.prod(counts)
    if batch.shape[1] % taps:
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={batch.shape[1]} and kernel_size={numbers[0]}."
        )
    if batch.shape[2] != places:
        raise RuntimeError(
            f"Given output_size={list(output_size)}, kernel_size={numbers[0]}, dilation={numbers[1]}, "
            f"padding={numbers[2]}, stride={numbers[3]}, expected size of input's dimension 2 to match the calculated "
            f"number of sliding blocks {counts[0]} * {counts[1]} = {places}, but got input.size(2)={batch.shape[2]}."
        )
    shape = (batch.shape[0], batch.shape[1] // taps, *output_size)
    if self.is_meta:
        return _core.alloc(shape if self.dim() == 3 else shape[1:], self.dtype, self.device)
    if not (self.is_floating_point() or self.is_complex() or self.dtype is _BOOL):
        raise NotImplementedError(f'"col2im_out_cpu" not implemented for {self.dtype}')
    height, width = numbers[2]
    padded = self.new_zeros((*shape[:2], output_size[0] + 2 * height, output_size[1] + 2 * width))
    columns = batch.reshape((*shape[:2], taps, *counts))
    for tap, part in enumerate(_slides(padded, numbers, counts)):
        part.add_(columns.select(2, tap))
    result = constant_pad_nd(padded, [-width, -width, -height, -height], 0)
    return result if self.dim() == 3 else result.squeeze(0)
