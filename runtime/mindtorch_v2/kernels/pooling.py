"""Pooling over one to three dimensions: windows are settled here; C++ finds their largest elements and their sums."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from .._settings import alert_not_deterministic
from ._arrays import as_array, moved
from ._native import native
from ._taps import adaptive_ends, adaptive_windows, resampled, window_ends, windows
from .reduction import written

_I64, _F32, _F64, _BOOL = (_core.dtypes[name] for name in ("int64", "float32", "float64", "bool"))
_REAL = (_F32, _F64)
_FEW = 1 << 16  # elements times a window's, which are summed window by window: to settle how to share sums takes longer
Numbers = Sequence[int]
_WORDS = {1: "one int", 2: "two ints", 3: "three ints"}


# ---------------------------------------------------------------- arguments
def _expanded(name: str, numbers: Numbers, dims: int) -> list[int]:
    """A number for each dimension, where one stands for all."""
    if len(numbers) not in (1, dims):
        raise RuntimeError(f"{name} must either be a single int, or a tuple of {_WORDS[dims]}")
    return list(numbers) * dims if len(numbers) == 1 else list(numbers)


def _check_not_empty(name: str, what: str, shape: Numbers, given: str, end: str = "") -> None:
    """Refuses a batch, or one of its items, whose other dimensions have no elements."""
    for d, size in enumerate(shape):
        if d and not size:
            raise RuntimeError(
                f"{name}(): Expected {what} to have non-zero size for non-batch dimensions, but {given}{list(shape)} "
                f"with dimension {d} being empty{end}"
            )


def _check_image(name: str, shape: Numbers, dims: int) -> None:
    """Refuses what is no image of so many dimensions with channels, or a batch of such."""
    if len(shape) not in (dims + 1, dims + 2) or math.prod(shape[-dims - 1 :]) == 0:
        raise RuntimeError(
            f"{name}(): Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim batch size for "
            f"input, but got: {list(shape)}"
        )


class _Windows:
    """The numbers of windows, one for each dimension, and how many windows there are; checked."""

    def __init__(
        self,
        name: str,
        shape: Numbers,
        dims: int,
        kernel: Numbers,
        stride: Numbers,
        padding: Numbers,
        dilation: Numbers,
        ceil: bool,
    ) -> None:
        self.kernel = _expanded("kernel_size", kernel, dims)
        self.stride = _expanded("stride", stride, dims) if len(stride) else self.kernel
        self.padding, self.dilation = _expanded("padding", padding, dims), _expanded("dilation", dilation, dims)
        if min(self.kernel) <= 0:
            raise RuntimeError(f"{name}(): kernel_size must be greater than zero, but got {self.kernel}")
        if min(self.stride) <= 0:
            raise RuntimeError(f"{name}(): stride must be greater than zero, but got {self.stride}")
        if min(self.dilation) <= 0:
            raise RuntimeError(f"{name}(): dilation must be greater than zero, but got {self.dilation}")
        if min(self.padding) < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {min(self.padding)}")
        for k, p, d in zip(self.kernel, self.padding, self.dilation, strict=True):
            if p > (d * (k - 1) + 1) // 2:
                raise RuntimeError(
                    f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and "
                    f"dilation={d}"
                )
            if p > k // 2:  # PyTorch asks for both
                raise RuntimeError(
                    f"pad should be smaller than or equal to half of kernel size, but got pad={p} and kernel_size={k}"
                )
        _check_image(name, shape, dims)
        self.sizes = list(shape[-dims:])
        self.places = [self._places(at, ceil) for at in range(dims)]
        if min(self.places) < 1:
            given, found = ("x".join(map(str, numbers)) for numbers in (self.sizes, self.places))
            raise RuntimeError(
                f"Given input size: ({given}). Calculated output size: ({found}). Output size is too small"
            )

    @functools.cached_property
    def ends(self) -> list[Tensor]:
        """Where they begin and end along each dimension."""
        numbers = zip(self.sizes, self.places, self.kernel, self.stride, self.padding, self.dilation, strict=True)
        return [window_ends(*each) for each in numbers]

    def _places(self, at: int, ceil: bool) -> int:
        n, k, s, p, d = self.sizes[at], self.kernel[at], self.stride[at], self.padding[at], self.dilation[at]
        places = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil else 0)) // s + 1
        return places - 1 if ceil and (places - 1) * s >= n + p else places  # the last begins within the image


_checked = functools.lru_cache(256)(_Windows)  # which recur in every call of a layer


def _windows(
    name: str,
    self: Tensor,
    dims: int,
    kernel: Numbers,
    stride: Numbers,
    padding: Numbers,
    dilation: Numbers,
    ceil: bool,
) -> _Windows:
    """The windows of a call."""
    return _checked(
        name, tuple(self.shape), dims, tuple(kernel), tuple(stride), tuple(padding), tuple(dilation), bool(ceil)
    )


def _check_floating(name: str, self: Tensor) -> None:
    if not self.is_floating_point():
        raise NotImplementedError(f'"{name}" not implemented for {self.dtype}')


# ---------------------------------------------------------------- the largest
def _largest(name: str, self: Tensor, ends: list[Tensor], steps: list[int]) -> tuple[Tensor, Tensor]:
    """The largest elements of windows, one tensor of ends a dimension, and their places in the image."""
    indices = _core.alloc((*self.shape[: -len(ends)], *(t.shape[0] for t in ends)), _I64, self.device)
    return _found(name, self, ends, steps, indices), indices


def _found(name: str, self: Tensor, ends: list[Tensor], steps: list[int], indices: Tensor | None) -> Tensor:
    """As `_largest`, the elements alone; their places to ``indices``, where that is given."""
    dims = len(ends)
    if self.dtype is _BOOL or self.is_complex():
        raise NotImplementedError(f'"{name}" not implemented for {self.dtype}')
    found = _core.alloc((*self.shape[:-dims], *(t.shape[0] for t in ends)), self.dtype, self.device)
    if not self.is_meta and found.numel():
        ones = [1] * (3 - dims)
        planes = [t.contiguous().view((math.prod(t.shape[:-dims]), *ones, *t.shape[-dims:])) for t in (self, found)]
        missing = [window_ends(1, 1, 1, 1, 0, 1)] * (3 - dims)
        largest = native("mt_max_pool", "desc", "desc", "ptr", *["desc"] * 3, *["i64"] * 3)
        largest(*planes, indices, *missing, *ends, *ones, *steps)
    return found


def _max_pool(dims: int) -> Any:
    name = f"max_pool{dims}d"

    def pool(
        self: Tensor,
        kernel_size: Numbers,
        stride: Numbers = (),
        padding: Numbers = (0,),
        dilation: Numbers = (1,),
        ceil_mode: bool = False,
    ) -> tuple[Tensor, Tensor]:
        w = _windows(name, self, dims, kernel_size, stride, padding, dilation, ceil_mode)
        if self.is_meta or not self.is_floating_point() or not self.numel():
            return _largest(name, self, w.ends, w.dilation)
        shape = (*self.shape[:-dims], *w.places)
        found, indices = _core.alloc(shape, self.dtype, self.device), _core.alloc(shape, _I64, self.device)
        largest = native(f"mt_max_pool{dims}d", "desc", "desc", "ptr", *["i64"] * 4 * dims)
        largest(self.contiguous(), found, indices, *w.kernel, *w.stride, *w.padding, *w.dilation)
        return found, indices

    return pool


max_pool2d_with_indices, max_pool3d_with_indices = _max_pool(2), _max_pool(3)


def _lines(
    self: Tensor, kernel_size: Numbers, stride: Numbers, padding: Numbers, dilation: Numbers, ceil_mode: bool
) -> _Windows:
    """The windows of `max_pool1d`."""
    if self.dim() not in (2, 3):
        raise RuntimeError(f"max_pool1d() Expected 2D or 3D input tensor, but got {list(self.shape)}")
    return _windows("max_pool1d", self, 1, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool1d(
    self: Tensor,
    kernel_size: Numbers,
    stride: Numbers = (),
    padding: Numbers = (0,),
    dilation: Numbers = (1,),
    ceil_mode: bool = False,
) -> Tensor:
    """The largest elements of windows; where they are is noted for a gradient only."""
    if self.requires_grad and _core.is_grad_enabled():
        found: Tensor = ops.aten.max_pool1d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)[0]
        return found
    w = _lines(self, kernel_size, stride, padding, dilation, ceil_mode)
    _check_floating("max_pool1d", self)
    result: Tensor = ops.aten._max_pool1d(self, w.kernel, w.stride, w.padding, w.dilation, ceil_mode)
    return result


def max_pool1d_alone(
    self: Tensor, kernel_size: Numbers, stride: Numbers, padding: Numbers, dilation: Numbers, ceil_mode: bool
) -> Tensor:
    """The largest elements of windows."""
    w = _lines(self, kernel_size, stride, padding, dilation, ceil_mode)
    _check_floating("max_pool1d", self)
    return _found("max_pool1d", self, w.ends, w.dilation, None)


def max_pool1d_with_indices(
    self: Tensor,
    kernel_size: Numbers,
    stride: Numbers = (),
    padding: Numbers = (0,),
    dilation: Numbers = (1,),
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """As of two dimensions, the first of size 1."""
    w = _lines(self, kernel_size, stride, padding, dilation, ceil_mode)
    found, indices = ops.aten.max_pool2d_with_indices(
        self.unsqueeze(-2), [1, *w.kernel], [1, *w.stride], [0, *w.padding], [1, *w.dilation], ceil_mode
    )
    return found.squeeze(-2), indices.squeeze(-2)


_OF_ANY_CHANNELS = "adaptive_avg_pool1d", "adaptive_avg_pool2d"  # of none, too


def _adaptive_sizes(name: str, self: Tensor, output_size: Numbers, dims: int) -> list[int]:
    if len(output_size) != dims:
        raise RuntimeError(f"{name}(): internal error: output_size must have {dims} elements, got {list(output_size)}")
    shape = list(self.shape)
    if self.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got {shape}")
    if math.prod(shape[-dims if name in _OF_ANY_CHANNELS or self.dim() == dims + 1 else 1 :]) == 0:
        raise RuntimeError(
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes {shape}"
        )
    if min(output_size) < 0:
        raise RuntimeError(
            f"{name}(): elements of output_size must be greater than or equal to 0, got {list(output_size)}"
        )
    return list(output_size)


def _adaptive_max_pool(dims: int) -> Any:
    name = f"adaptive_max_pool{dims}d"

    def pool(self: Tensor, output_size: Numbers) -> tuple[Tensor, Tensor]:
        places = _adaptive_sizes(name, self, output_size, dims)
        _check_floating(name, self)
        shape = (*self.shape[:-dims], *places)  # which may be more than there is memory for
        found, indices = _core.alloc(shape, self.dtype, self.device), _core.alloc(shape, _I64, self.device)
        if self.is_meta or not found.numel():
            return found, indices
        ends = [adaptive_ends(n, m) for n, m in zip(self.shape[-dims:], places, strict=True)]
        return _found(name, self, ends, [1] * dims, indices), indices

    return pool


adaptive_max_pool2d, adaptive_max_pool3d = _adaptive_max_pool(2), _adaptive_max_pool(3)


def adaptive_max_pool1d(self: Tensor, output_size: Numbers) -> tuple[Tensor, Tensor]:
    """As of two dimensions, the first of size 1."""
    sizes = _adaptive_sizes("adaptive_max_pool1d", self, output_size, 1)
    found, indices = ops.aten.adaptive_max_pool2d(self.unsqueeze(-2), [1, *sizes])
    return found.squeeze(-2), indices.squeeze(-2)


# ---------------------------------------------------------------- the gradient of the largest
def _flat(tensor: Tensor, dims: int) -> Tensor:
    result: Tensor = tensor.reshape((*tensor.shape[:-dims], math.prod(tensor.shape[-dims:])))
    return result


def _back(grad_output: Tensor, self: Tensor, indices: Tensor, dims: int) -> Tensor:
    """Each gradient added where the element came from."""
    if grad_output.dtype is not self.dtype:
        raise RuntimeError(f"expected dtype {self.dtype} for `grad_output` but got dtype {grad_output.dtype}")
    if tuple(grad_output.shape) != tuple(indices.shape):
        raise RuntimeError(
            f"Expected grad_output of size {list(indices.shape)}, that of indices, but got {list(grad_output.shape)}"
        )
    if self.is_meta:
        return _core.alloc(self.shape, self.dtype, self.device)
    wide = self.dtype if self.dtype in (_F64, _I64) else _F32 if self.is_floating_point() else _I64
    found = _core.alloc(self.shape, wide, self.device).zero_()
    if found.numel() and indices.numel():
        planes = [
            t.contiguous().view((math.prod(t.shape[:-dims]), math.prod(t.shape[-dims:])))
            for t in (grad_output.to(wide), indices, found)
        ]
        native("mt_add_at", "desc", "desc", "desc")(*planes)
    result: Tensor = found.to(self.dtype)
    return result


def _max_pool_backward(dims: int) -> Any:
    def backward(grad_output: Tensor, self: Tensor, *rest: Any) -> Tensor:
        return _back(grad_output, self, rest[-1], dims)

    return backward


max_pool2d_backward, max_pool3d_backward = _max_pool_backward(2), _max_pool_backward(3)


def _adaptive_max_pool_backward(dims: int) -> Any:
    name = f"adaptive_max_pool{dims}d_backward"

    def backward(grad_output: Tensor, self: Tensor, indices: Tensor) -> Tensor:
        _check_not_empty(name, "grad_output", grad_output.shape, "grad_output has sizes ")
        return _back(grad_output, self, indices, dims)

    return backward


adaptive_max_pool2d_backward = _adaptive_max_pool_backward(2)
adaptive_max_pool3d_backward = _adaptive_max_pool_backward(3)


# ---------------------------------------------------------------- windows by chance
def _fractional_max_pool(dims: int) -> Any:
    name = f"fractional_max_pool{dims}d"
    said = f"{name}_out" if dims == 3 else name

    def pool(self: Tensor, kernel_size: Numbers, output_size: Numbers, random_samples: Tensor) -> tuple[Tensor, Tensor]:
        for what, given in (("kernel_size", kernel_size), ("output_size", output_size)):
            if len(given) != dims:
                raise RuntimeError(
                    f"{name}: {what} must either be a single Int or tuple of {'three ' if dims == 3 else ''}Ints"
                )
        _check_not_empty(said, "input", self.shape, "got", ".")
        _check_image(name, self.shape, dims)
        _check_floating(name, self)
        if random_samples.dtype is not self.dtype:
            raise RuntimeError("Expect _random_samples to have the same dtype as input")
        if random_samples.dim() != 3:
            raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {random_samples.dim()}")
        batch, channels = (self.shape[0] if self.dim() == dims + 2 else 1), self.shape[-dims - 1]
        if random_samples.shape[0] < batch:
            raise RuntimeError(
                f"Expect _random_samples.size(0) no less then input batch size, got {random_samples.shape[0]}"
            )
        if random_samples.shape[1] != channels:
            raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
        if random_samples.shape[2] != dims:
            raise RuntimeError(f"Expect _random_samples.size(2) equals to {dims} got {random_samples.shape[2]}.")
        sides = ("time", "height", "width")[-dims:]
        for side, n, m, k in zip(sides, self.shape[-dims:], output_size, kernel_size, strict=True):
            if m + k - 1 > n:
                raise RuntimeError(f"{said}(): pool {side} {k} too large relative to input {side} {n}")
        shape = (*self.shape[:-dims], *output_size)
        found, indices = (_core.alloc(shape, dtype, self.device) for dtype in (self.dtype, _I64))
        if self.is_meta or not found.numel():
            return found, indices
        largest = native("mt_fractional_max_pool", *["desc"] * 3, "ptr", *["i64"] * 3)
        largest(self.contiguous(), random_samples.contiguous(), found, indices, *[1] * (3 - dims), *kernel_size)
        return found, indices

    return pool


fractional_max_pool2d, fractional_max_pool3d = _fractional_max_pool(2), _fractional_max_pool(3)


def _into(name: str) -> Any:
    """The operator's results in two tensors, the second of which is called `indices`."""

    def into(*args: Any, indices: Tensor, **first: Tensor) -> Any:
        (target,) = first.values()  # called `out` or `output`
        return written((target, indices), getattr(ops.aten, name)(*args))

    return into


max_pool2d_into, max_pool3d_into = _into("max_pool2d_with_indices"), _into("max_pool3d_with_indices")
adaptive_max_pool2d_into, adaptive_max_pool3d_into = _into("adaptive_max_pool2d"), _into("adaptive_max_pool3d")
fractional_max_pool2d_into, fractional_max_pool3d_into = _into("fractional_max_pool2d"), _into("fractional_max_pool3d")


# ---------------------------------------------------------------- back to where the largest were
def _outside(indices: Tensor, count: int) -> int:
    """The first index that is none of so many places."""
    places = as_array(indices)
    return int(places[(places < 0) | (places >= count)][0])


def _max_unpool(dims: int) -> Any:
    name = f"max_unpool{dims}d"

    def unpool(self: Tensor, indices: Tensor, output_size: Numbers, *strides: Numbers) -> Tensor:
        alert_not_deterministic(f"max_unpooling{dims}d_forward_out")
        if indices.dtype is not _I64:
            raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype}")
        if len(output_size) != dims:
            raise RuntimeError(
                f"There should be exactly {_WORDS[dims].split()[0]} elements in output_size, but got "
                f"{len(output_size)} elements."
            )
        if self.dim() not in (dims + 1, dims + 2):
            raise RuntimeError(
                f"Input to {name} should be a {dims + 1}d or {dims + 2}d Tensor, but got a tensor with {self.dim()} "
                "dimensions."
            )
        if self.shape != indices.shape:
            raise RuntimeError(
                f"Expected shape of indices to be same as that of the input tensor ({list(self.shape)}) but got "
                f"indices tensor with shape: {list(indices.shape)}"
            )
        if strides and min(strides[0]) <= 0:
            raise RuntimeError("strides should be greater than zero, but got stride: " + str(list(strides[0])))
        if math.prod(self.shape[-dims - 1 :]) == 0:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but got {list(self.shape)}"
            )
        _check_floating(name, self)
        output = _core.alloc((*self.shape[:-dims], *output_size), self.dtype, self.device)
        if self.is_meta:
            return output
        if not output.zero_().numel() and not self.numel():
            return output
        planes = math.prod(self.shape[:-dims])
        given = [t.contiguous().view((planes, math.prod(t.shape[-dims:]))) for t in (self, indices, output)]
        try:
            native("mt_put_at", "desc", "desc", "desc")(*given)
        except IndexError:
            raise RuntimeError(
                f"Found an invalid max index: {_outside(indices, math.prod(output_size))} (output volumes are of size "
                f"{list(output_size)})"
            ) from None
        return output

    return unpool


max_unpool2d, max_unpool3d = _max_unpool(2), _max_unpool(3)


# ---------------------------------------------------------------- means
def _divided(total: Tensor, counts: list[tuple[int, ...]], override: int | None) -> Tensor:
    """Sums by how many elements each window has, the product of those along each dimension."""
    import numpy as np

    if override is None and all(len(set(each)) == 1 for each in counts):
        override = math.prod(each[0] for each in counts)
    divisor: Any = override
    if override is None:
        product = functools.reduce(np.multiply.outer, [np.asarray(each) for each in counts])
        divisor = moved(product, _I64).to(total.dtype)
    if total.is_floating_point():
        result: Tensor = total / divisor
    else:
        result = ops.aten.div(total, divisor, rounding_mode="trunc")
    return result


def _wide(tensor: Tensor) -> Tensor:
    return tensor.to(_F32) if tensor.is_floating_point() and tensor.dtype is not _F64 else tensor


def _check_means(name: str, self: Tensor) -> None:
    if not (self.is_floating_point() or self.dtype is _I64):
        raise NotImplementedError(f'"{name}" not implemented for {self.dtype}')


def _avg_pool(dims: int) -> tuple[Any, Any]:
    name = f"avg_pool{dims}d"

    def settled(
        self: Tensor,
        kernel: Numbers,
        stride: Numbers,
        padding: Numbers,
        ceil: bool,
        include: bool,
        override: int | None,
    ) -> tuple[_Windows, list[Any], list[Any]]:
        if override == 0:
            raise RuntimeError("divisor must be not zero")
        w = _windows(name, self, dims, kernel, stride, padding, (1,), ceil)
        numbers = zip(w.sizes, w.places, w.kernel, w.stride, w.padding, strict=True)
        found = [windows(*each) for each in numbers]
        return w, [taps for taps, _, _ in found], [padded if include else inside for _, padded, inside in found]

    def pool(
        self: Tensor,
        kernel_size: Numbers,
        stride: Numbers = (),
        padding: Numbers = (0,),
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        if (
            dims == 2
            and self.dtype in _REAL
            and not self.is_meta
            and 0 < self.numel() <= _FEW
            and divisor_override != 0
        ):
            w = _windows(name, self, dims, kernel_size, stride, padding, (1,), ceil_mode)
            if self.numel() * w.kernel[0] * w.kernel[1] <= _FEW:
                found = _core.alloc((*self.shape[:-2], *w.places), self.dtype, self.device)
                means = native("mt_avg_pool2d", "desc", "desc", *["i64"] * 8)
                numbers = (*w.kernel, *w.stride, *w.padding)
                means(self.contiguous(), found, *numbers, count_include_pad, divisor_override or 0)
                return found
        w, taps, counts = settled(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        _check_means(name, self)
        if self.is_meta:
            return _core.alloc((*self.shape[:-dims], *w.places), self.dtype, self.device)
        result: Tensor = _divided(resampled(_wide(self), taps), counts, divisor_override).to(self.dtype)
        return result

    def backward(
        grad_output: Tensor,
        self: Tensor,
        kernel_size: Numbers,
        stride: Numbers,
        padding: Numbers,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Tensor:
        w, taps, counts = settled(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        expected = [*self.shape[:-dims], *w.places]
        if list(grad_output.shape) != expected:
            raise RuntimeError(f"Expected grad_output of size {expected}, but got {list(grad_output.shape)}")
        if self.is_meta:
            return _core.alloc(self.shape, self.dtype, self.device)
        shares = _divided(_wide(grad_output), counts, divisor_override)
        result: Tensor = resampled(shares, [each.transposed for each in taps]).to(self.dtype)
        return result

    return pool, backward


avg_pool2d, avg_pool2d_backward = _avg_pool(2)
avg_pool3d, avg_pool3d_backward = _avg_pool(3)


def avg_pool1d(
    self: Tensor,
    kernel_size: Numbers,
    stride: Numbers = (),
    padding: Numbers = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """As of two dimensions, the first of size 1."""
    if self.dim() not in (2, 3):
        raise RuntimeError(f"Expected 2D or 3D (batch mode) tensor for input, but got {list(self.shape)}")
    w = _windows("avg_pool1d", self, 1, kernel_size, stride, padding, (1,), ceil_mode)
    result: Tensor = ops.aten.avg_pool2d(
        self.unsqueeze(-2), [1, *w.kernel], [1, *w.stride], [0, *w.padding], ceil_mode, count_include_pad
    ).squeeze(-2)
    return result


def _adaptive_avg_pool(dims: int) -> tuple[Any, Any]:
    name = f"adaptive_avg_pool{dims}d"

    def pool(self: Tensor, output_size: Numbers) -> Tensor:
        places = _adaptive_sizes(name, self, output_size, dims)
        _check_floating(name, self)
        room = _core.alloc((*self.shape[:-dims], *places), self.dtype, self.device)  # which may not be there
        if self.is_meta or not all(places):
            return room
        found = [adaptive_windows(n, m) for n, m in zip(self.shape[-dims:], places, strict=True)]
        total = resampled(_wide(self), [taps for taps, _ in found])
        result: Tensor = _divided(total, [counts for _, counts in found], None).to(self.dtype)
        return result

    def backward(grad_output: Tensor, self: Tensor) -> Tensor:
        if grad_output.dim() != self.dim() or grad_output.shape[:-dims] != self.shape[:-dims]:
            raise RuntimeError(
                f"{name}_backward(): Expected grad_output of a size that fits input {list(self.shape)}, but got "
                f"{list(grad_output.shape)}"
            )
        _check_not_empty(f"{name}_backward", "grad_output", grad_output.shape, "grad_output has sizes ")
        if grad_output.dtype is not self.dtype:
            raise RuntimeError(f"expected dtype {self.dtype} for `grad_output` but got dtype {grad_output.dtype}")
        if self.is_meta:
            return _core.alloc(self.shape, self.dtype, self.device)
        found = [adaptive_windows(n, m) for n, m in zip(self.shape[-dims:], grad_output.shape[-dims:], strict=True)]
        shares = _divided(_wide(grad_output), [counts for _, counts in found], None)
        result: Tensor = resampled(shares, [taps.transposed for taps, _ in found]).to(self.dtype)
        return result

    return pool, backward


adaptive_avg_pool2d, adaptive_avg_pool2d_backward = _adaptive_avg_pool(2)
adaptive_avg_pool3d, adaptive_avg_pool3d_backward = _adaptive_avg_pool(3)


def adaptive_avg_pool1d(self: Tensor, output_size: Numbers) -> Tensor:
    """As of two dimensions, the first of size 1."""
    sizes = _adaptive_sizes("adaptive_avg_pool1d", self, output_size, 1)
    result: Tensor = ops.aten.adaptive_avg_pool2d(self.unsqueeze(-2), [1, *sizes]).squeeze(-2)
    return result
