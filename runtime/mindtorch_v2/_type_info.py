"""What there is to know of types of numbers, and the names of layouts and memory formats."""

from __future__ import annotations

from typing import Any, NoReturn

from . import _core
from ._core import dtype as DType

__all__ = [
    "channels_last",
    "channels_last_3d",
    "contiguous_format",
    "finfo",
    "iinfo",
    "jagged",
    "layout",
    "legacy_contiguous_format",
    "memory_format",
    "preserve_format",
    "sparse_bsc",
    "sparse_bsr",
    "sparse_coo",
    "sparse_csc",
    "sparse_csr",
    "strided",
]


class memory_format(_core.TopName):  # noqa: N801 - PyTorch's name
    """The order of a tensor's elements in memory: ``torch.contiguous_format`` is that of its dimensions."""

    __slots__ = ()


class layout(_core.TopName):  # noqa: N801 - PyTorch's name
    """How a tensor keeps its elements: ``torch.strided``, as all tensors here."""

    __slots__ = ()


contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
legacy_contiguous_format = contiguous_format
channels_last, channels_last_3d = memory_format("channels_last"), memory_format("channels_last_3d")
strided, jagged, sparse_coo = layout("strided"), layout("jagged"), layout("sparse_coo")
sparse_csr, sparse_csc = layout("sparse_csr"), layout("sparse_csc")
sparse_bsr, sparse_bsc = layout("sparse_bsr"), layout("sparse_bsc")

# Bits of the fraction, the least and the largest exponent of 2 of a number between 1 and 2 times it.
_FLOATS = {
    "float16": (10, -14, 15),
    "bfloat16": (7, -126, 127),
    "float32": (23, -126, 127),
    "float64": (52, -1022, 1023),
    "float8_e4m3fn": (3, -6, 8),
    "float8_e5m2": (2, -14, 15),
    "float8_e4m3fnuz": (3, -7, 7),
    "float8_e5m2fnuz": (2, -15, 15),
}
_LARGEST = {"float8_e4m3fn": 448.0}  # where the bits of one larger are NaN
_EPSILONS = {"float8_e5m2fnuz": 0.125}  # as PyTorch has it: half of what it is
_RESOLUTIONS = {"float16": 1e-3, "bfloat16": 1e-2, "float32": 1e-6, "float64": 1e-15}  # else 1


def _refuse(name: str, given: Any) -> NoReturn:
    raise TypeError(f"{name}() argument 'type' (position 1) must be torch.dtype, not {type(given).__name__}")


_DEFAULT: Any = object()  # None is no dtype


class _Limits:
    """Limits of a dtype, which nobody changes: those of one dtype are one object, made when first asked for."""

    __slots__ = ("bits", "dtype")
    bits: int
    dtype: str

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"attribute '{name}' of 'torch.{type(self).__name__}' objects is not writable")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (_core.dtypes[self.dtype],)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


def _made(kind: Any, **values: Any) -> Any:
    limits = object.__new__(kind)
    for name, value in values.items():
        object.__setattr__(limits, name, value)
    return limits


_FINFOS: dict[Any, Any] = {}
_IINFOS: dict[Any, Any] = {}


class finfo(_Limits):  # noqa: N801 - PyTorch's name
    """The limits of a floating-point dtype, the default one unless given; of a complex one those of its parts.

    ``eps`` is the distance from 1 to the next number, ``tiny`` the least number with all digits, ``smallest_normal``
    the same, ``resolution`` the unit of the decimal digits that all numbers have. Raises TypeError for integers.
    """

    __slots__ = ("eps", "max", "min", "resolution", "smallest_normal", "tiny")
    eps: float
    max: float
    min: float
    resolution: float
    smallest_normal: float
    tiny: float

    def __new__(cls, type: DType = _DEFAULT) -> finfo:
        given = _core.get_default_dtype() if type is _DEFAULT else type
        found: finfo = _FINFOS.get(given) or _FINFOS.setdefault(given, _floating_limits(given))
        return found

    def __repr__(self) -> str:
        shown = {
            name: f"{getattr(self, name):g}" for name in ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        }
        return f"finfo({', '.join(f'{name}={value}' for name, value in shown.items())}, dtype={self.dtype})"


def _floating_limits(given: Any) -> Any:
    if not isinstance(given, DType):
        _refuse("finfo", given)
    name = str(given.to_real()).removeprefix("torch.")
    if name not in _FLOATS:
        raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{given}'")
    digits, least, largest = _FLOATS[name]
    most = _LARGEST.get(name, (2.0 - 2.0**-digits) * 2.0**largest)
    return _made(
        finfo,
        dtype=name,
        bits=8 * _core.dtypes[name].itemsize,
        eps=_EPSILONS.get(name, 2.0**-digits),
        max=most,
        min=-most,
        tiny=2.0**least,
        smallest_normal=2.0**least,
        resolution=_RESOLUTIONS.get(name, 1.0),
    )


class iinfo(_Limits):  # noqa: N801 - PyTorch's name
    """The limits of a dtype of integers: ``bits``, ``min`` and ``max``. Raises TypeError for other dtypes."""

    __slots__ = ("max", "min")
    max: int
    min: int

    def __new__(cls, type: DType) -> iinfo:
        found: iinfo = _IINFOS.get(type) or _IINFOS.setdefault(type, _whole_limits(type))
        return found

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


def _whole_limits(given: Any) -> Any:
    if not isinstance(given, DType):
        _refuse("iinfo", given)
    if given.is_floating_point or given.is_complex or given is _core.dtypes["bool"]:
        raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{given}'")
    bits = 8 * given.itemsize
    return _made(
        iinfo,
        dtype=str(given).removeprefix("torch."),
        bits=bits,
        min=-(1 << bits - 1) if given.is_signed else 0,
        max=(1 << bits - given.is_signed) - 1,
    )
