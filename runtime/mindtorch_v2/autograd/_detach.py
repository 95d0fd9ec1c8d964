"""What autograd records no node for: ``detach`` and ``detach_`` change the graph, ``record_stream`` no tensor."""

from __future__ import annotations

from .. import _core
from .._core import OpOverload, Tensor
from .._dispatch_keys import DispatchKeySet, _after_autograd_keyset, _AutoDispatchBelowAutograd
from .._ops import when_defined
from ..library._library import Library, fallthrough_kernel
from .grad_mode import is_inference_mode_enabled

__all__: list[str] = []

_lib = Library("aten", "FRAGMENT")
_detach: OpOverload


def _detach_kernel(keys: DispatchKeySet, self: Tensor) -> Tensor:
    with _AutoDispatchBelowAutograd():
        alias: Tensor = _detach.redispatch((keys & _after_autograd_keyset).mask, self)
    return alias


def _detach_inplace_kernel(self: Tensor) -> Tensor:
    if is_inference_mode_enabled():  # nothing is done to a graph there, as in PyTorch
        return self
    if self._is_view():
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead: a view shares its history with the tensor that it is a "
            "view of."
        )
    _core.forget_history(self)
    for level in _core.tangent_levels(self):
        _core.set_tangent_(self, level, None)
    return self


def _leave(self: Tensor) -> Tensor:
    """What `detach_` does to an inference tensor, which is in no graph."""
    return self


def _register(op: OpOverload) -> None:
    """Not before mindtorch_ops has defined the operators."""
    global _detach
    if op.name() == "aten::detach":
        _detach = op
        _lib.impl(op, _detach_kernel, "Autograd", with_keyset=True)
    elif op.name() == "aten::record_stream":
        op.writes_nothing()
        _lib.impl(op, fallthrough_kernel, "Autograd")
    else:
        _lib.impl(op, _detach_inplace_kernel, "Autograd")
        _lib.impl(op, _leave, "ADInplaceOrView")


for _name in ("aten::detach", "aten::detach_", "aten::record_stream"):
    when_defined(_name, _register)
