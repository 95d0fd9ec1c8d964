"""What autocast does to each built-in operator: PyTorch's lists, for operators that exist here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import OpOverload, Tensor, dtypes
from .._ops import ops
from ..library import Library
from ._casting import autocast_key, cast, eligible

__all__ = ["install"]

_LOWER = (
    "addbmm addmm baddbmm bmm chain_matmul conv1d conv2d conv3d linear matmul mm mv prelu scaled_dot_product_attention"
)
# The CPU's lists differ from those of accelerators.
_LOWER_PRECISION = {"cpu": _LOWER.replace(" mv", "").replace(" prelu", ""), "npu": _LOWER, "cuda": _LOWER}
_ACCELERATOR_FLOAT32 = (
    "acos asin cosh cumprod cumsum dist exp expm1 layer_norm log log10 log1p log2 log_softmax mse_loss nll_loss norm "
    "pow prod reciprocal rsqrt sinh softmax softplus sum tan"
)
_FLOAT32 = {
    "cpu": "avg_pool3d binary_cross_entropy mse_loss nll_loss prod",
    "npu": _ACCELERATOR_FLOAT32,
    "cuda": _ACCELERATOR_FLOAT32,
}
_ACCELERATOR_WIDEST = "addcdiv addcmul atan2 bilinear cross dot index_put scatter_add vdot"
_WIDEST = {"cpu": "cat index_copy stack", "npu": _ACCELERATOR_WIDEST, "cuda": _ACCELERATOR_WIDEST}

Policy = Callable[[Any, str], Any]  # (arguments, device type) -> arguments

_libraries: dict[str, Library] = {}


def install(device_type: str, lower_dtype: Callable[[], Any]) -> None:
    """Registers the kernels at a device type's Autocast key, once; ``lower_dtype`` tells the thread's dtype."""
    if device_type in _libraries:
        return
    library = _libraries[device_type] = Library("aten", "IMPL", autocast_key(device_type))
    policies: list[tuple[str, Policy]] = [
        (_LOWER_PRECISION[device_type], lambda args, device: cast(args, device, lower_dtype())),
        (_FLOAT32[device_type], lambda args, device: cast(args, device, dtypes["float32"])),
        (_WIDEST[device_type], _to_widest),
    ]
    for names, policy in policies:
        for name in names.split():
            packet = vars(ops.aten).get(name)
            for overload in packet.overloads() if packet is not None else ():
                op: OpOverload = getattr(packet, overload)
                library.impl(op, _kernel(op, policy, device_type))


def _kernel(op: OpOverload, policy: Policy, device_type: str) -> Callable[..., Any]:
    mask = _core.key_mask(autocast_key(device_type))

    def kernel(*args: Any, **kwargs: Any) -> Any:
        included, excluded = _core.thread_keys()
        _core.set_thread_keys_(included, excluded | mask)
        try:
            new_args, new_kwargs = policy((args, kwargs), device_type)
            return op(*new_args, **new_kwargs)
        finally:
            _core.set_thread_keys_(included, excluded)

    return kernel


def _to_widest(value: Any, device_type: str) -> Any:
    widest = None
    for tensor in _eligible(value, device_type):
        widest = tensor.dtype if widest is None else _core.promote_types(widest, tensor.dtype)
    return value if widest is None else cast(value, device_type, widest)


def _eligible(value: Any, device_type: str) -> list[Tensor]:
    if isinstance(value, (tuple, list)):
        return [tensor for item in value for tensor in _eligible(item, device_type)]
    if isinstance(value, dict):
        return _eligible(list(value.values()), device_type)
    return [value] if eligible(value, device_type) else []
