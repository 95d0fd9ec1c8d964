"""What `Module.to` is asked for: its forms, ``to(device, dtype, …)``, ``to(dtype, …)`` and ``to(tensor, …)``."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._core import Tensor, device, dtype

__all__ = ["Conversion", "conversion"]


class Conversion(NamedTuple):
    """Where parameters and buffers go, and as what; None leaves it as it is."""

    device: device | None
    dtype: dtype | None
    non_blocking: bool
    memory_format: Any


def conversion(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Conversion:
    """The arguments of `Module.to` by what they mean. Raises TypeError for what fits none of its forms."""
    first = args[0] if args else None
    if isinstance(first, Tensor) or "tensor" in kwargs:
        form: Any = _as_tensor
    elif isinstance(first, dtype):
        form = _as_dtype
    else:
        form = _to_device
    try:
        found: Conversion = form(*args, **kwargs)
    except TypeError:
        raise _misfit(args, kwargs) from None
    if not _fits(found):
        raise _misfit(args, kwargs)
    if kwargs.get("copy", False):
        raise RuntimeError(".to() does not accept copy argument")
    return found if found.device is None else found._replace(device=device(found.device))


def _to_device(
    device: Any = None, dtype: Any = None, non_blocking: bool = False, copy: bool = False, *, memory_format: Any = None
) -> Conversion:
    return Conversion(device, dtype, non_blocking, memory_format)


def _as_dtype(dtype: Any, non_blocking: bool = False, copy: bool = False, *, memory_format: Any = None) -> Conversion:
    return Conversion(None, dtype, non_blocking, memory_format)


def _as_tensor(tensor: Any, non_blocking: bool = False, copy: bool = False, *, memory_format: Any = None) -> Conversion:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"must be Tensor, not {type(tensor).__name__}")
    return Conversion(tensor.device, tensor.dtype, non_blocking, memory_format)


def _fits(found: Conversion) -> bool:
    places = isinstance(found.device, (device, str, bytes, int)) and not isinstance(found.device, bool)
    types = found.dtype is None or isinstance(found.dtype, dtype)
    return (found.device is None or places) and types and isinstance(found.non_blocking, bool)


def _misfit(args: tuple[Any, ...], kwargs: dict[str, Any]) -> TypeError:
    got = [type(arg).__name__ for arg in args] + [f"{key}={type(value).__name__}" for key, value in kwargs.items()]
    return TypeError(
        f"to() received an invalid combination of arguments - got ({', '.join(got)}), but expected one of:\n"
        " * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, bool copy = False)\n"
        " * (torch.dtype dtype, bool non_blocking = False, bool copy = False)\n"
        " * (Tensor tensor, bool non_blocking = False, bool copy = False)"
    )
