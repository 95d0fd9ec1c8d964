"""`autocast`: a context manager and decorator that turns a device type's Autocast key on."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from .._core import device, dtypes
from ..backends import all_backends, backend_of
from . import _state
from ._casting import cast

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd"]

Function = TypeVar("Function", bound=Callable[..., Any])


class autocast:  # noqa: N801  (PyTorch's name)
    """Inside ``with autocast("cpu"):`` operators on such devices run in ``dtype`` where that is safe; a decorator too.

    ``dtype`` is bfloat16 on the CPU and float16 elsewhere by default; ``enabled=False`` turns autocast off inside.
    ``cache_enabled`` says whether weights that were lowered are kept until the outermost autocast ends (by default as
    outside). Raises RuntimeError for a device type without autocast.
    """

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if not _state.is_autocast_available(device_type):
            supported = ", ".join(backend.name for backend in all_backends() if backend.autocast)
            raise RuntimeError(
                f"User specified an unsupported autocast device_type '{device_type}'; supported are {supported}"
            )
        self.device = device(device_type).type
        self.fast_dtype = _state.get_autocast_dtype(self.device) if dtype is None else dtype
        fits = self.fast_dtype in [dtypes[name] for name in backend_of(self.device).autocast]
        there = self.device != "cuda"
        if enabled and not there:
            warnings.warn("CUDA is not available: autocast is disabled", stacklevel=2)
        elif enabled and not fits:
            _warn_of_dtype(self.device)
        self._enabled = enabled and fits and there
        self._cache_enabled = _state.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._outer: list[tuple[bool, Any, bool]] = []

    def __enter__(self) -> autocast:
        self._outer.append(
            (
                _state.is_autocast_enabled(self.device),
                _state.get_autocast_dtype(self.device),
                _state.is_autocast_cache_enabled(),
            )
        )
        _state.set_autocast_enabled(self.device, self._enabled)
        _state.set_autocast_dtype(self.device, self.fast_dtype)
        _state.autocast_increment_nesting()
        _state.set_autocast_cache_enabled(self._cache_enabled)
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        enabled, dtype, cache_enabled = self._outer.pop()
        if _state.autocast_decrement_nesting() == 0:
            _state.clear_autocast_cache()
        _state.set_autocast_enabled(self.device, enabled)
        _state.set_autocast_dtype(self.device, dtype)
        _state.set_autocast_cache_enabled(cache_enabled)

    def __call__(self, func: Function) -> Function:
        """Decorates a function: autocast holds while it runs."""
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you mean to use "
                "autocast as a context manager, `with torch.autocast(device_type=...):`?"
            )
        return autocast_decorator(self, func)


def autocast_decorator(autocast_instance: autocast, func: Function) -> Function:
    """``func`` such that ``autocast_instance`` holds while it runs."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with autocast_instance:
            return func(*args, **kwargs)

    return wrapper  # type: ignore[return-value]


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Decorator for ``Function.forward``: with ``cast_inputs`` it runs outside autocast on inputs of that dtype."""
    _require_device_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(*args: Any, **kwargs: Any) -> Any:
        args[0]._dtype = _state.get_autocast_dtype(device_type)
        on = _state.is_autocast_enabled(device_type)
        args[0]._fwd_used_autocast = on and cast_inputs is None
        if cast_inputs is None or not on:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*cast(args, device_type, cast_inputs), **cast(kwargs, device_type, cast_inputs))

    return forward


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorator for ``Function.backward``: it runs with autocast as the forward did."""
    _require_device_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return backward


def _require_device_type(device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def _warn_of_dtype(kind: str) -> None:
    supported = ", ".join("torch." + name for name in backend_of(kind).autocast)
    warnings.warn(
        f"In {kind.upper()} autocast, but the target dtype is not supported. Disabling autocast.\n{kind.upper()} "
        f"Autocast only supports dtypes of {supported} currently.",
        stacklevel=3,
    )
