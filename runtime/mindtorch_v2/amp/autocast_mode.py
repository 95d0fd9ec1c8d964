"""`autocast`: a context manager and decorator that turns a device type's Autocast key on."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from .. import _core
from .._core import device, dtypes
from ._casting import autocast_key, cast

__all__ = [
    "autocast",
    "custom_bwd",
    "custom_fwd",
    "get_autocast_dtype",
    "is_autocast_enabled",
    "set_autocast_dtype",
]

Function = TypeVar("Function", bound=Callable[..., Any])
_SUPPORTED = {"cpu": ("bfloat16", "float16"), "npu": ("float16", "bfloat16"), "cuda": ("float16", "bfloat16")}


class _Dtypes(threading.local):
    def __init__(self) -> None:
        self.of: dict[str, Any] = {kind: dtypes[names[0]] for kind, names in _SUPPORTED.items()}


_dtypes = _Dtypes()


class autocast:  # noqa: N801  (PyTorch's name)
    """Inside ``with autocast("cpu"):`` operators on such devices run in ``dtype`` where that is safe; a decorator too.

    ``dtype`` is bfloat16 on the CPU and float16 elsewhere by default; ``enabled=False`` turns autocast off inside.
    Raises RuntimeError for a device type without autocast.
    """

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        kind = device(device_type).type
        if kind not in _SUPPORTED:
            raise RuntimeError(
                f"User specified an unsupported autocast device_type '{device_type}'; supported are "
                f"{', '.join(_SUPPORTED)}"
            )
        self.device = kind
        self.fast_dtype = get_autocast_dtype(kind) if dtype is None else dtype
        self._enabled = enabled and self.fast_dtype in [dtypes[name] for name in _SUPPORTED[kind]]
        if enabled and not self._enabled and self.fast_dtype is not dtypes["float32"]:
            _warn_of_dtype(kind)
        self._outer: list[tuple[tuple[int, int], Any]] = []

    def __enter__(self) -> autocast:
        from ._policies import install  # needs the built-in operators, which are loaded after this package

        install(self.device, lambda: _dtypes.of[self.device])
        included, excluded = _core.thread_keys()
        self._outer.append(((included, excluded), _dtypes.of[self.device]))
        mask = _core.key_mask(autocast_key(self.device))
        _core.set_thread_keys_(included, excluded & ~mask if self._enabled else excluded | mask)
        _dtypes.of[self.device] = self.fast_dtype
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        keys, _dtypes.of[self.device] = self._outer.pop()
        _core.set_thread_keys_(*keys)

    def __call__(self, function: Function) -> Function:
        """Decorates a function: autocast holds while it runs."""

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return wrapper  # type: ignore[return-value]


def is_autocast_enabled(device_type: str = "npu") -> bool:
    """Whether autocast is on for a device type on this thread."""
    _, excluded = _core.thread_keys()
    return not excluded & _core.key_mask(autocast_key(device_type))


def get_autocast_dtype(device_type: str) -> Any:
    """The dtype that autocast lowers to on a device type."""
    autocast_key(device_type)
    return _dtypes.of[device(device_type).type]


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Sets the dtype that autocast lowers to on a device type, for this thread."""
    autocast_key(device_type)
    _dtypes.of[device(device_type).type] = dtype


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Decorator for ``Function.forward``: with ``cast_inputs`` it runs outside autocast on inputs of that dtype."""
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(*args: Any, **kwargs: Any) -> Any:
        args[0]._dtype = get_autocast_dtype(device_type)
        on = is_autocast_enabled(device_type)
        args[0]._fwd_used_autocast = on and cast_inputs is None
        if cast_inputs is None or not on:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*cast(args, device_type, cast_inputs), **cast(kwargs, device_type, cast_inputs))

    return forward


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorator for ``Function.backward``: it runs with autocast as the forward did."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return backward


def _warn_of_dtype(kind: str) -> None:
    import warnings

    warnings.warn(
        f"In {kind.upper()} autocast, but the target dtype is not supported. Disabling autocast. {kind.upper()} "
        f"Autocast only supports dtypes of {', '.join('torch.' + name for name in _SUPPORTED[kind])} currently.",
        stacklevel=3,
    )
