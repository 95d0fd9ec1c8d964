"""What an operator does beside its kernels: under autocast, on devices without a kernel, when it is deprecated."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from opschema import Argument, Schema

from ... import _core
from ..._core import OpOverload, Tensor
from ...backends import cpu_fallback

__all__ = ["aliased_argument", "autocast_kernel", "called", "fallback_kernel", "in_tensors", "merged", "warning"]


def merged(schema: Schema, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """A call's bound values in the schema's order, as a kernel gets them."""
    given = iter(args)
    return [kwargs[a.name] if a.kwarg_only else next(given) for a in schema.arguments]


def called(overload: OpOverload, values: Sequence[Any]) -> Any:
    """The operator's result for values in the schema's order."""
    pairs = list(zip(overload._schema.arguments, values, strict=True))
    keywords = {a.name: value for a, value in pairs if a.kwarg_only}
    return overload(*[value for a, value in pairs if not a.kwarg_only], **keywords)


def in_tensors(change: Callable[[Tensor], Any], value: Any) -> Any:
    """A value with its tensors changed, those in lists too."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, (tuple, list)) and any(isinstance(item, Tensor) for item in value):
        return type(value)([in_tensors(change, item) for item in value])
    return value


def aliased_argument(schema: Schema, number: int) -> Argument | None:
    """The argument that the operator writes to and hands back as its output of that number."""
    alias = schema.returns[number].alias
    if alias is None or not alias.write:
        return None
    return next((argument for argument in schema.arguments if argument.alias == alias), None)


# ---------------------------------------------------------------- in another dtype
def autocast_kernel(overload: OpOverload, device: str, policy: str) -> tuple[str, Callable[..., Any]]:
    """The dispatch key at which, with autocast on, an operator's floating-point tensors are cast, and what casts them.

    ``policy`` is a dtype's name, or "promote": the widest of them. Double precision is somebody's intention, and stays.
    """
    key = f"Autocast{device}"
    mask, wide = _core.key_mask(key), _core.dtypes["float64"]

    def cast(dtype: Any, tensor: Tensor) -> Tensor:
        changes = tensor.is_floating_point() and tensor.dtype is not wide
        return tensor.to(dtype) if changes else tensor

    def kernel(*args: Any, **kwargs: Any) -> Any:
        values = merged(overload._schema, args, kwargs)
        dtype = _widest(values) if policy == "promote" else _core.dtypes[policy]
        values = [in_tensors(functools.partial(cast, dtype), value) for value in values]
        included, excluded = _core.thread_keys()
        _core.set_thread_keys_(included, excluded | mask)
        try:
            return called(overload, values)
        finally:
            _core.set_thread_keys_(included, excluded)

    return key, kernel


def _widest(values: Sequence[Any]) -> Any:
    dtypes = [value.dtype for value in values if isinstance(value, Tensor)]
    return functools.reduce(_core.promote_types, dtypes)


# ---------------------------------------------------------------- over the host
def fallback_kernel(overload: OpOverload, policy: str, devices: Sequence[str]) -> Callable[..., Any]:
    """What runs where an operator has no kernel: "cpu", the one for that on copies; "error", which says so."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        there = ", ".join(sorted(device.lower() for device in devices))
        raise NotImplementedError(f"{overload.name()} has no kernel for this device: it has kernels for {there}")

    def over_cpu(*args: Any, **kwargs: Any) -> Any:
        return cpu_fallback(overload, *args, **kwargs)

    kernel = over_cpu if policy == "cpu" else refuse
    kernel.runs_elsewhere = policy  # type: ignore[attr-defined]  # for `backends._fallback.elsewhere`
    return kernel


# ---------------------------------------------------------------- deprecated
def warning(name: str, instead: str) -> Callable[[], None]:
    """What warns that an operator is deprecated, at the line of the call: the core between has no Python frame."""
    text = f"{name} is deprecated: {instead}"

    def warn() -> None:
        warnings.warn(text, FutureWarning, stacklevel=2)

    return warn
