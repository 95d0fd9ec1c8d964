"""Settings of the whole process that programs set and ask for.

What is computed does not depend on them: kernels here give the same result for the same input in every run, and
products of float32 matrices are computed in float32, so that a program that allows less gets more than it asked for.
What tensors hold before anything is written depends on them: it is the same in every run where a program asks for it.
Where PyTorch's CPU kernels make no such promise, a program that asks for it hears of it here as it does there.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

from . import _core
from ._frames import user_stacklevel

__all__ = [
    "alert_not_deterministic",
    "are_deterministic_algorithms_enabled",
    "compiled_with_cxx11_abi",
    "fills_uninitialized_memory",
    "get_deterministic_debug_mode",
    "get_float32_matmul_precision",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_filling_uninitialized_memory",
    "is_vulkan_available",
    "is_warn_always_enabled",
    "set_deterministic_debug_mode",
    "set_filling_uninitialized_memory",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_warn_always",
    "use_deterministic_algorithms",
    "warn_once",
]

has_lapack, has_mkl, has_openmp, has_spectral = True, False, True, True  # what kernels are made of
_MODES = {"default": 0, "warn": 1, "error": 2}
_PRECISIONS = ("highest", "high", "medium")


@dataclass
class _State:
    deterministic: bool = False
    warn_only: bool = False  # where it is asked for, or was when it no longer is
    fill: bool = True  # what has no value yet, where results must be deterministic
    precision: str = "highest"
    warn_always: bool = False
    told: set[str] = field(default_factory=set)  # what `warn_once` said


_state = _State()


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Whether operators must give the same result in every run; kernels here do either way.

    New memory is filled then, unless ``torch.utils.deterministic.fill_uninitialized_memory`` is False. Raises TypeError
    where an argument is no bool.
    """
    for name, value in (("'mode' (position 1)", mode), ("'warn_only'", warn_only)):
        if not isinstance(value, bool):
            given = type(value).__name__
            raise TypeError(f"_set_deterministic_algorithms(): argument {name} must be bool, not {given}")
    _state.deterministic, _state.warn_only = mode, warn_only
    _core.settle_new_memory(fills_uninitialized_memory())


def are_deterministic_algorithms_enabled() -> bool:
    """Whether `use_deterministic_algorithms` was asked for."""
    return _state.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether `use_deterministic_algorithms` was last called with ``warn_only``."""
    return _state.warn_only


def alert_not_deterministic(name: str) -> None:
    """Says of what PyTorch has no deterministic implementation of that it has none, where a program asks for one.

    Raises RuntimeError, or warns with ``warn_only``.
    """
    if not _state.deterministic:
        return
    asked = (
        "use_deterministic_algorithms(True, warn_only=True)"
        if _state.warn_only
        else "use_deterministic_algorithms(True)"
    )
    message = f"{name} does not have a deterministic implementation, but you set 'torch.{asked}'."
    if not _state.warn_only:
        raise RuntimeError(f"{message} Turn it off for this operation, or use 'warn_only=True'.")
    warnings.warn(message, UserWarning, stacklevel=user_stacklevel())


def fills_uninitialized_memory() -> bool:
    """Whether memory without values (of ``empty``, ``resize_``, ...) is filled, by NaN or the largest number."""
    return _state.deterministic and _state.fill


def is_filling_uninitialized_memory() -> bool:
    """Whether new memory is filled where results must be deterministic; True unless set otherwise."""
    return _state.fill


def set_filling_uninitialized_memory(mode: bool) -> None:
    """Sets it. Raises RuntimeError where ``mode`` is no bool."""
    if not isinstance(mode, bool):
        raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
    _state.fill = mode
    _core.settle_new_memory(fills_uninitialized_memory())


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """`use_deterministic_algorithms` as one value: 0 or "default", 1 or "warn", 2 or "error"."""
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _MODES:
            raise RuntimeError(
                f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
            )
        debug_mode = _MODES[debug_mode]
    if debug_mode not in _MODES.values():
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    _state.deterministic, _state.warn_only = debug_mode > 0, debug_mode == 1
    _core.settle_new_memory(fills_uninitialized_memory())


def get_deterministic_debug_mode() -> int:
    """What `set_deterministic_debug_mode` takes: 0, 1 or 2."""
    return (1 if _state.warn_only else 2) if _state.deterministic else 0


def get_float32_matmul_precision() -> str:
    """How exact products of float32 matrices must be: "highest", "high" or "medium"."""
    return _state.precision


def set_float32_matmul_precision(precision: str) -> None:
    """Allows products of float32 matrices to be less exact than float32; kernels here make no use of it.

    Warns of another word, and does nothing.
    """
    if precision in _PRECISIONS:
        _state.precision = precision
        return
    expected = ", ".join(map(repr, _PRECISIONS))
    warnings.warn(f"{precision!r} is no precision of products, which stays: {expected} are", stacklevel=2)


def set_warn_always(b: bool, /) -> None:
    """Whether warnings that come once come every time."""
    if not isinstance(b, bool):
        raise TypeError(f"set_warn_always() expects a bool, but got {type(b).__name__}")
    _state.warn_always = b


def is_warn_always_enabled() -> bool:
    """Whether `set_warn_always` is on."""
    return _state.warn_always


def warn_once(message: str, about: str) -> None:
    """Warns at the user's line, of each thing once, unless `set_warn_always` is on."""
    if _state.warn_always or about not in _state.told:
        _state.told.add(about)
        warnings.warn(message, UserWarning, stacklevel=user_stacklevel())


def set_flush_denormal(mode: bool) -> bool:
    """False: kernels here compute with the smallest numbers as they are, and cannot be told to take them for 0."""
    if not isinstance(mode, bool):
        raise TypeError(f"set_flush_denormal() expects a bool, but got {type(mode).__name__}")
    return False


def is_vulkan_available() -> bool:
    """False: there are no Vulkan devices here."""
    return False


def compiled_with_cxx11_abi() -> bool:
    """True: kernels in C++ are compiled with the standard library's present ABI."""
    return True
