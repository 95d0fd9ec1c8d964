"""`get_kernel`: what a call would run at one dispatch key, to be called from the kernel that replaces it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core, _ops
from .._core import OpOverload
from .._dispatch_keys import DispatchKeySet
from ._registrations import is_registered

__all__ = ["SafeKernelFunction", "get_kernel"]


class SafeKernelFunction:
    """A kernel of an operator; stays callable for as long as its registration lasts."""

    def __init__(
        self, op: OpOverload, key: str, function: Callable[..., Any], source: str | None, keyset: bool
    ) -> None:
        self._op, self._key, self._function, self._takes_keyset = op, key, function, keyset
        self._source = source

    def __repr__(self) -> str:
        return f"SafeKernelFunction(debug='registered at {self._source or '<unknown>'}')"

    @property
    def op_handle(self) -> OpOverload:
        """The operator."""
        return self._op

    def call_boxed(self, keyset: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        """Runs the kernel for the keys of a call. Raises RuntimeError where its registration is gone."""
        if not is_registered(self._op, self._function):
            raise RuntimeError(
                f"{self._op.name()}: the kernel for {self._key} registered at {self._source} has been invalidated: the "
                "library that registered it was destroyed"
            )
        if self._function is _core.autograd_kernel:
            return self._op.redispatch(int(keyset) | _core.key_mask(self._key), *args, **kwargs)
        if not self._takes_keyset:
            return self._op.call_kernel(self._function, *args, **kwargs)
        return self._op.call_kernel(lambda *a, **k: self._function(keyset, *a, **k), *args, **kwargs)


def get_kernel(op: str | OpOverload, dispatch_key: str) -> SafeKernelFunction:
    """What a call of ``op`` runs at a dispatch key, by name (``"CPU"``).

    Raises ValueError for an unknown key or something else than a name or an overload, RuntimeError for an operator
    that does not exist or has nothing to run there.
    """
    if not isinstance(op, (str, OpOverload)):
        raise ValueError(f"get_kernel({op}): got unexpected type for op: {type(op)}")
    if not isinstance(dispatch_key, str):
        raise TypeError(f"get_kernel(): argument 'dispatch_key' must be str, not {type(dispatch_key).__name__}")
    if isinstance(op, str) and op.count("::") != 1:
        raise RuntimeError(f"operator {op} does not exist: the name of one is namespace::name, e.g. aten::sin")
    overload = op if isinstance(op, OpOverload) else _ops.find(op)
    key = str(dispatch_key)
    try:
        _core.key_mask(key)
    except ValueError:
        raise ValueError(f"Invalid dispatch key: {dispatch_key}") from None
    if key == "Autograd" or key.startswith("Composite"):
        raise RuntimeError(f"get_kernel(): alias keys have no kernels of their own to run, got {key}")
    found = overload.computed(key)
    if found is None or found[0] == "backend fallback":
        raise RuntimeError(f"no kernel for {key} for {overload.name()}")
    return SafeKernelFunction(overload, key, *found[1:])
