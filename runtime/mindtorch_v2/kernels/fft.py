"""Fourier transforms of many elements: SciPy's pocketfft; and what is composed of the three kinds of transform."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from .._settings import warn_once
from ._arrays import as_array, as_tensor, scipy
from .reduction import wrap_dim

_DTYPES = _core.dtypes
_I64, _F32, _F64 = (_DTYPES[name] for name in ("int64", "float32", "float64"))
_COMPLEX = {_F32: _DTYPES["complex64"], _F64: _DTYPES["complex128"]}
_REAL = {whole: part for part, whole in _COMPLEX.items()}
_SAME = {whole: whole for whole in _REAL}

# What a transform of n elements is divided by, by its number: nothing, the root of n, n. SciPy's words for it depend on
# the direction.
_FORWARD_WORDS = ("backward", "ortho", "forward")
_INVERSE_WORDS = ("forward", "ortho", "backward")
_NUMBERS = {"backward": (0, 2), "ortho": (1, 1), "forward": (2, 0)}  # forwards, and inverse


# ---------------------------------------------------------------- the three kinds
def _check(self: Tensor, dim: Sequence[int], normalization: int, kinds: dict[Any, Any]) -> None:
    """Refuses another dtype than those of ``kinds``, dimensions that are not there, and numbers without a meaning."""
    if self.dtype not in kinds:
        raise RuntimeError(f"Unsupported dtype {self.dtype}")
    if len({wrap_dim(d, self.dim()) for d in dim}) != len(dim) or (dim and not self.dim()):
        raise RuntimeError(f"FFT dims must be unique, and there: got {list(dim)} of {self.dim()} dimensions")
    if not dim and kinds is not _SAME:
        raise RuntimeError("FFT dims must not be empty")
    if not 0 <= normalization < len(_FORWARD_WORDS):
        raise RuntimeError(f"Unsupported normalization type {normalization}")
    for d in dim:
        if not self.shape[d]:
            raise RuntimeError(f"Invalid number of data points ({self.shape[d]}) specified")


def c2c(self: Tensor, dim: Sequence[int], normalization: int, forward: bool) -> Tensor:
    """Complex to complex, over dimensions."""
    _check(self, dim, normalization, _SAME)
    if not dim or not self.numel():
        return self.clone()  # type: ignore[no-any-return]
    function, words = ("fftn", _FORWARD_WORDS) if forward else ("ifftn", _INVERSE_WORDS)
    return as_tensor(
        getattr(scipy("fft"), function)(as_array(self), axes=list(dim), norm=words[normalization]), self.dtype
    )


def r2c(self: Tensor, dim: Sequence[int], normalization: int, onesided: bool) -> Tensor:
    """Real to complex; if ``onesided`` without the half of the last dimension that is the other's conjugate."""
    _check(self, dim, normalization, _COMPLEX)
    if not self.numel():
        return _room_of_half(self, dim, onesided)
    function = getattr(scipy("fft"), "rfftn" if onesided else "fftn")
    return as_tensor(function(as_array(self), axes=list(dim), norm=_FORWARD_WORDS[normalization]), _COMPLEX[self.dtype])


def _room_of_half(self: Tensor, dim: Sequence[int], onesided: bool) -> Tensor:
    """A complex tensor, the last of the dimensions halved if ``onesided``."""
    shape = list(self.shape)
    if onesided:
        last = wrap_dim(dim[-1], self.dim())
        shape[last] = shape[last] // 2 + 1
    return _core.alloc(tuple(shape), _COMPLEX[self.dtype], self.device)


def c2r(self: Tensor, dim: Sequence[int], normalization: int, last_dim_size: int) -> Tensor:
    """Half of the transform of real numbers to these numbers, ``last_dim_size`` of them in the last dimension."""
    _check(self, dim, normalization, _REAL)
    _check_length(last_dim_size)
    if not self.numel():
        return _room_of_whole(self, dim, last_dim_size)
    sizes = [*(self.shape[d] for d in dim[:-1]), last_dim_size]
    found = scipy("fft").irfftn(as_array(self), s=sizes, axes=list(dim), norm=_INVERSE_WORDS[normalization])
    return as_tensor(found, _REAL[self.dtype])


def _room_of_whole(self: Tensor, dim: Sequence[int], last_dim_size: int) -> Tensor:
    """A real tensor, the last of the dimensions as long as asked for."""
    shape = list(self.shape)
    shape[wrap_dim(dim[-1], self.dim())] = last_dim_size
    return _core.alloc(tuple(shape), _REAL[self.dtype], self.device)


def r2c_backward(grad: Tensor, dim: Sequence[int], normalization: int, onesided: bool, last_dim_size: int) -> Tensor:
    """The gradient of `r2c`: the real part of a transform back, of zeros where nothing was returned."""
    aten = ops.aten
    _check(grad, dim, normalization, _REAL)
    whole = _resized(grad, dim[-1], last_dim_size) if onesided else grad
    result: Tensor = aten.real(aten._fft_c2c(whole, dim, normalization, False))
    return result


def c2r_backward(grad: Tensor, dim: Sequence[int], normalization: int, half: int) -> Tensor:
    """The gradient of `c2r`: what is read twice, as itself and as its conjugate, counts twice."""
    aten = ops.aten
    _check(grad, dim, normalization, _COMPLEX)
    _check_length(half)
    found = aten._fft_r2c(grad, dim, normalization, True)
    last = wrap_dim(dim[-1], grad.dim())
    twice = grad.shape[last] - found.shape[last]
    if twice > 0:
        shape = [1] * grad.dim()
        shape[last] = found.shape[last]
        at = aten.arange(found.shape[last], device=grad.device).reshape(shape)
        found = found * aten.where((at >= 1) & (at <= twice), 2.0, 1.0).to(grad.dtype)
    return _resized(found, last, half)


# ---------------------------------------------------------------- arguments
def _number(norm: str | None, forward: bool) -> int:
    try:
        return _NUMBERS["backward" if norm is None else norm][not forward]
    except KeyError:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"') from None


def _promoted(self: Tensor, complex_too: bool = False) -> Tensor:
    """A tensor that can be transformed: integers as numbers of the default dtype."""
    dtype = self.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        dtype = _core.get_default_dtype()
    if dtype not in _COMPLEX and dtype not in _REAL:
        raise RuntimeError(f"Unsupported dtype {dtype}")
    if complex_too:
        dtype = _COMPLEX.get(dtype, dtype)
    result: Tensor = self.to(dtype)
    return result


def _resized(self: Tensor, dim: int, size: int) -> Tensor:
    """A tensor with ``size`` elements in a dimension: the first of them, or zeros behind them."""
    aten = ops.aten
    d = wrap_dim(dim, self.dim())
    given = self.shape[d]
    if given == size:
        return self
    if given > size:
        shorter: Tensor = self.narrow(d, 0, size)
        return shorter
    rest = [*self.shape[:d], size - given, *self.shape[d + 1 :]]
    result: Tensor = aten.cat([self, aten.zeros(rest, dtype=self.dtype, device=self.device)], d)
    return result


def _one(self: Tensor, n: int | None, dim: int) -> tuple[int, int]:
    """A dimension counted from 0, and the length of the transform over it."""
    if not self.dim():
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    d = wrap_dim(dim, self.dim())
    length = self.shape[d] if n is None else n
    return d, length


def _check_length(length: int) -> None:
    if length < 1:
        raise RuntimeError(f"Invalid number of data points ({length}) specified")


def _several(self: Tensor, s: Sequence[int] | None, dim: Sequence[int] | None) -> tuple[list[int], list[int]]:
    """Dimensions counted from 0, and the lengths of the transforms over them; -1 is as long as the tensor is."""
    ndim = self.dim()
    if dim and not ndim:
        raise IndexError(f"Dimension specified as {dim[0]} but tensor has no dimensions")
    dims = list(range(ndim)) if dim is None else [wrap_dim(d, ndim) for d in dim]
    if dim is not None and len(set(dims)) != len(dims):
        raise RuntimeError("FFT dims must be unique")
    if s is None:
        return dims, [self.shape[d] if ndim else 1 for d in dims]
    if dim is None:
        if len(s) > ndim:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {ndim} dimensions.")
        dims = list(range(ndim - len(s), ndim))
    elif len(s) != len(dims):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    return dims, [self.shape[d] if size == -1 else size for d, size in zip(dims, s, strict=True)]


def _fitted(self: Tensor, dims: Sequence[int], sizes: Sequence[int]) -> Tensor:
    for d, size in zip(dims, sizes, strict=True):
        _check_length(size)
        self = _resized(self, d, size)
    return self


def _refuse_complex(name: str, self: Tensor) -> None:
    if self.is_complex():
        kind = "real-valued" if name == "rfftn" else "real"
        raise RuntimeError(f"{name} expects a {kind} input tensor, but got {self.dtype}")


# ---------------------------------------------------------------- over one dimension
def fft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The transform over a dimension."""
    return _single(self, n, dim, norm, True)


def ifft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse transform over a dimension."""
    return _single(self, n, dim, norm, False)


def _single(self: Tensor, n: int | None, dim: int, norm: str | None, forward: bool) -> Tensor:
    given = _promoted(self)
    d, length = _one(self, n, dim)
    given = _fitted(given, [d], [length])
    if given.is_complex():
        result: Tensor = ops.aten._fft_c2c(given, [d], _number(norm, forward), forward)
        return result
    return _of_real(given, d, norm, forward, False)


def _of_real(given: Tensor, d: int, norm: str | None, forward: bool, onesided: bool) -> Tensor:
    """Of real numbers the inverse transform is the other's conjugate."""
    found: Tensor = ops.aten._fft_r2c(given, [d], _number(norm, forward), onesided)
    return found if forward else ops.aten.conj_physical(found)


def rfft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The transform of real numbers over a dimension, its first half."""
    _refuse_complex("rfft", self)
    given = _promoted(self)
    d, length = _one(self, n, dim)
    return _of_real(_fitted(given, [d], [length]), d, norm, True, True)


def ihfft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse transform of real numbers over a dimension, its first half."""
    _refuse_complex("ihfft", self)
    given = _promoted(self)
    d, length = _one(self, n, dim)
    return _of_real(_fitted(given, [d], [length]), d, norm, False, True)


def irfft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `rfft`: ``n`` real numbers of half of their transform."""
    return _to_real(self, n, dim, norm, False)


def hfft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The transform of numbers of which half are given, the others being their conjugates: ``n`` real ones."""
    return _to_real(self, n, dim, norm, True)


def _to_real(self: Tensor, n: int | None, dim: int, norm: str | None, forward: bool) -> Tensor:
    given = _promoted(self, True)
    d, half = _one(self, None, dim)
    length = 2 * (half - 1) if n is None else n
    _check_length(length)
    given = _resized(given, d, length // 2 + 1)
    given = ops.aten.conj_physical(given) if forward else given
    result: Tensor = ops.aten._fft_c2r(given, [d], _number(norm, forward), length)
    return result


# ---------------------------------------------------------------- over several
def fftn(
    self: Tensor, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None
) -> Tensor:
    """The transform over dimensions."""
    return _all(self, s, dim, norm, True)


def ifftn(
    self: Tensor, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None
) -> Tensor:
    """The inverse transform over dimensions."""
    return _all(self, s, dim, norm, False)


def _all(self: Tensor, s: Any, dim: Any, norm: str | None, forward: bool) -> Tensor:
    dims, sizes = _several(self, s, dim)
    given = _fitted(_promoted(self, True), dims, sizes)
    result: Tensor = ops.aten._fft_c2c(given, dims, _number(norm, forward), forward)
    return result


def rfftn(
    self: Tensor, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None
) -> Tensor:
    """The transform of real numbers over dimensions, the first half of the last."""
    dims, sizes = _several(self, s, dim)
    _refuse_complex("rfftn", self)
    if not dims:
        raise RuntimeError("rfftn must transform at least one axis")
    given = _fitted(_promoted(self), dims, sizes)
    result: Tensor = ops.aten._fft_r2c(given, dims, _number(norm, True), True)
    return result


def ihfftn(
    self: Tensor, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None
) -> Tensor:
    """The inverse transform of real numbers over dimensions, the first half of the last."""
    dims, sizes = _several(self, s, dim)
    _refuse_complex("ihfftn", self)
    if not dims:
        raise RuntimeError("ihfftn must transform at least one axis")
    given = _fitted(_promoted(self), dims, sizes)
    found = _of_real(given, dims[-1], norm, False, True)
    if len(dims) == 1:
        return found
    result: Tensor = ops.aten._fft_c2c(found, dims[:-1], _number(norm, False), False)
    return result


def irfftn(
    self: Tensor, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None
) -> Tensor:
    """The inverse of `rfftn`."""
    dims, last, given = _halved("irfftn", self, s, dim)
    result: Tensor = ops.aten._fft_c2r(given, dims, _number(norm, False), last)
    return result


def hfftn(
    self: Tensor, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None
) -> Tensor:
    """The transform of numbers of which half are given in the last of the dimensions: real ones."""
    dims, last, given = _halved("hfftn", self, s, dim)
    aten, number = ops.aten, _number(norm, True)
    if len(dims) > 1:
        given = aten._fft_c2c(given, dims[:-1], number, True)
    result: Tensor = aten._fft_c2r(aten.conj_physical(given), dims[-1:], number, last)
    return result


def _halved(name: str, self: Tensor, s: Any, dim: Any) -> tuple[list[int], int, Tensor]:
    """The dimensions, the length of the result in the last of them, and the tensor made to fit."""
    dims, sizes = _several(self, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    last = sizes[-1] if s is not None and s[-1] != -1 else 2 * (sizes[-1] - 1)
    _check_length(last)
    return dims, last, _fitted(_promoted(self, True), dims, [*sizes[:-1], last // 2 + 1])


# ---------------------------------------------------------------- frequencies, and their order
def fftfreq(n: int, d: float = 1.0, **options: Any) -> Tensor:
    """The frequencies of a transform's elements, those below 0 last, for samples ``d`` apart."""
    at = ops.aten.arange(n, **_floating(options))
    if n:
        at = ops.aten.where(at < (n + 1) // 2, at, at - n)
    result: Tensor = at * (1.0 / (n * d) if n and d else math.inf)
    return result


def rfftfreq(n: int, d: float = 1.0, **options: Any) -> Tensor:
    """The frequencies of the elements of `rfft`."""
    result: Tensor = ops.aten.arange(n // 2 + 1, **_floating(options)) * (1.0 / (n * d) if n and d else math.inf)
    return result


def _floating(options: dict[str, Any]) -> dict[str, Any]:
    dtype = options.get("dtype") or _core.get_default_dtype()
    if not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(f"fftfreq requires a floating point or complex dtype, got {dtype}")
    return {**options, "dtype": dtype}


def fftshift(self: Tensor, dim: Sequence[int] | None = None) -> Tensor:
    """Frequency 0 in the middle."""
    return _shifted(self, dim, 0)


def ifftshift(self: Tensor, dim: Sequence[int] | None = None) -> Tensor:
    """Frequency 0 first: the inverse of `fftshift`."""
    return _shifted(self, dim, 1)


def _shifted(self: Tensor, dim: Sequence[int] | None, more: int) -> Tensor:
    dims = list(range(self.dim())) if dim is None else [wrap_dim(d, self.dim()) for d in dim]
    if not self.dim():
        return self.clone()  # type: ignore[no-any-return]
    result: Tensor = ops.aten.roll(self, [(self.shape[d] + more) // 2 for d in dims], dims)
    return result


# ---------------------------------------------------------------- of short parts
def stft(
    self: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The transforms of parts of a signal, ``n_fft`` long and ``hop_length`` apart, times a window."""
    return _stft(self, n_fft, hop_length, win_length, window, normalized, onesided, return_complex)


def stft_center(
    self: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """As `stft`; if ``center`` the signal is continued at both ends, so that parts lie around their samples."""
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false.")
    if center:
        if self.dim() not in (1, 2):
            raise RuntimeError(f"stft expects a tensor with 1 or 2 dimensions, but got {self.dim()}D")
        self = _continued(self, n_fft // 2, pad_mode)
    return _stft(self, n_fft, hop_length, win_length, window, normalized, onesided, return_complex)


def _continued(self: Tensor, width: int, mode: str) -> Tensor:
    """A signal with ``width`` more samples at both ends."""
    aten, size = ops.aten, self.shape[-1]
    if mode not in ("reflect", "constant", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if mode == "constant":
        rest = self.new_zeros((*self.shape[:-1], width))
        padded: Tensor = aten.cat([rest, self, rest], -1)
        return padded
    if (mode == "reflect" and width >= size) or (mode == "circular" and width > size) or not size:
        raise RuntimeError(
            f"stft(): padding of {width} at both ends should be less than the input's length {size} in mode '{mode}'"
        )
    at = aten.arange(-width, size + width, device=self.device)
    if mode == "reflect":
        at = (size - 1 - (size - 1 - at.abs()).abs()) if size > 1 else at * 0
    else:
        at = at.clamp(0, size - 1) if mode == "replicate" else at.remainder(size)
    result: Tensor = aten.index_select(self, -1, at)
    return result


def _whole_window(window: Tensor | None, n_fft: int, win_length: int, like: Tensor) -> Tensor | None:
    """A window of ``n_fft`` samples, with zeros around the one given; None for one that changes nothing."""
    if window is None and win_length == n_fft:
        return None
    if window is None:
        window = like.new_ones((win_length,))
    left = (n_fft - win_length) // 2
    if win_length == n_fft:
        return window
    parts = [window.new_zeros((left,)), window, window.new_zeros((n_fft - win_length - left,))]
    result: Tensor = ops.aten.cat(parts, 0)
    return result


def _warn_of_no_window() -> None:
    warn_once(
        "A window was not provided. A rectangular window will be applied, which is known to cause spectral leakage. "
        "Other windows such as torch.hann_window or torch.hamming_window are recommended to be used.",
        "transforms without a window",
    )


def _stft(
    self: Tensor,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Tensor | None,
    normalized: bool,
    onesided: bool | None,
    return_complex: bool | None,
) -> Tensor:
    aten = ops.aten
    if window is None:
        _warn_of_no_window()
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    complex_in = self.is_complex() or (window is not None and window.is_complex())
    if return_complex is None and not complex_in:
        raise RuntimeError("stft requires the return_complex parameter be given for real inputs.")
    if not (self.is_floating_point() or self.is_complex()):
        raise RuntimeError("stft: expected a tensor of floating point or complex values")
    if self.dim() not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor, but got {self.dim()}D")
    rows = self.unsqueeze(0) if self.dim() == 1 else self
    length = rows.shape[-1]
    if not 0 < n_fft <= length:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {length}, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(f"stft: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < width <= n_fft:
        raise RuntimeError(f"stft: expected 0 < win_length <= n_fft, but got win_length={width}")
    _check_window("stft", window, width)
    half = not complex_in if onesided is None else onesided
    if half and complex_in:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    parts = rows.unfold(-1, n_fft, hop)  # (rows, parts, n_fft)
    whole = _whole_window(window, n_fft, width, rows)
    if whole is not None:
        parts = parts * whole
    number = int(normalized)
    found = aten._fft_c2c(parts, [2], number, True) if complex_in else aten._fft_r2c(parts, [2], number, half)
    found = found.transpose(1, 2)
    found = found.squeeze(0) if self.dim() == 1 else found
    result: Tensor = found if return_complex or return_complex is None else aten.view_as_real(found.contiguous())
    return result


def _check_window(name: str, window: Tensor | None, width: int) -> None:
    if window is not None and tuple(window.shape) != (width,):
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={width}, but got window with size "
            f"{list(window.shape)}"
        )


def istft(
    self: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal of `stft`'s transforms: parts added up, over the sum of the squares of their windows."""
    aten = ops.aten
    if not self.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    if window is None:
        _warn_of_no_window()
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    if self.dim() not in (2, 3):
        raise RuntimeError(f"istft: expected a tensor with 2 or 3 dimensions, but got {self.dim()}")
    if not self.numel():
        raise RuntimeError("istft: input tensor cannot be empty.")
    rows = self.unsqueeze(0) if self.dim() == 2 else self
    half = n_fft != rows.shape[1] if onesided is None else onesided
    if half and return_complex:
        raise RuntimeError("istft: cannot have onesided output if window or input is complex")
    wanted = n_fft // 2 + 1 if half else n_fft
    if rows.shape[1] != wanted:
        raise RuntimeError(
            f"istft: expected the frequency dimension (3rd to the last) of the input tensor to match n_fft "
            f"{'/ 2 + 1 ' if half else ''}when onesided={half}, but got {rows.shape[1]}"
        )
    if not 0 < hop <= width:
        raise RuntimeError(f"istft: expected 0 < hop_length <= win_length, but got {hop} and {width}")
    if not 0 < width <= n_fft:
        raise RuntimeError(f"istft: expected 0 < win_length <= n_fft, but got {width} and {n_fft}")
    _check_window("istft", window, width)
    if window is not None and window.is_complex() and not return_complex:
        raise RuntimeError("istft: a complex window needs return_complex=True")
    whole = _whole_window(window, n_fft, width, aten.real(rows))
    if whole is None:
        whole = aten.ones([n_fft], dtype=_REAL[self.dtype], device=self.device)
    parts = rows.transpose(1, 2)
    number = 1 if normalized else 2
    if return_complex:
        parts = aten._fft_c2c(parts, [2], number, False)
    elif half:
        parts = aten._fft_c2r(parts, [2], number, n_fft)
    else:
        parts = aten._fft_c2r(parts.narrow(2, 0, n_fft // 2 + 1), [2], number, n_fft)
    count = parts.shape[1]
    total = n_fft + hop * (count - 1)
    added = aten.unfold_backward(parts * whole, [parts.shape[0], total], 1, n_fft, hop)
    weights = (whole * whole).unsqueeze(0).expand((count, n_fft)).unsqueeze(0)
    envelope = aten.unfold_backward(weights, [1, total], 1, n_fft, hop)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - n_fft // 2 if center else total
    added, envelope = (tensor.narrow(1, start, max(min(end, total) - start, 0)) for tensor in (added, envelope))
    if not envelope.is_meta and envelope.numel() and float(envelope.detach().abs().amin().item()) <= 1e-11:
        raise RuntimeError("window overlap add min: 1")
    found = added / envelope
    if end > total:
        import warnings

        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail.",
            stacklevel=2,
        )
        found = _resized(found, 1, end - start)
    result: Tensor = found.squeeze(0) if self.dim() == 2 else found
    return result
