"""What a tensor is asked about itself: kinds of tensors that there are none of here, signs, sizes, memory."""

from __future__ import annotations

from typing import Any

from . import _core
from ._argument_types import names_wrong_types
from ._core import Tensor, UntypedStorage
from ._lazy_values import kept_as
from ._storages import TypedStorage
from .overrides import overridable, overridable_property

__all__ = [
    "get_device",
    "is_distributed",
    "is_inference",
    "is_nonzero",
    "is_same_size",
    "is_signed",
    "is_storage",
    "typename",
]

# Layouts and devices that no tensor here has: libraries ask before they choose a way.
_NOT_HERE = (
    "is_ipu",
    "is_maia",
    "is_mkldnn",
    "is_mps",
    "is_mtia",
    "is_nested",
    "is_quantized",
    "is_sparse",
    "is_sparse_csr",
    "is_vulkan",
    "is_xla",
    "is_xpu",
)


@names_wrong_types
def is_nonzero(input: Tensor) -> bool:
    """Whether the only element is not zero. Raises RuntimeError for a tensor of none or several."""
    count = input.numel()
    if count != 1:
        many = "more than one value" if count else "no values"
        raise RuntimeError(f"Boolean value of Tensor with {many} is ambiguous")
    return bool(input)


@names_wrong_types
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have one shape."""
    return input.shape == other.shape


@names_wrong_types
def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers."""
    return input.dtype.is_signed


@names_wrong_types
def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made in inference mode."""
    return input.is_inference()


@names_wrong_types
def is_distributed(input: Tensor) -> bool:
    """False: a tensor here is in one process."""
    return False


@names_wrong_types
def typename(obj: Any, /) -> str:
    """What kind of object something is: of a tensor what `Tensor.type` tells, else the class with its module."""
    if isinstance(obj, Tensor):
        return obj.type()  # type: ignore[no-any-return]
    kind = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(kind, "__module__", None)
    return kind.__qualname__ if module in (None, "builtins") else f"{module}.{kind.__qualname__}"


def get_device(input: Tensor) -> int:
    """The index of the tensor's device, -1 on the CPU."""
    return input.get_device()


def is_storage(obj: Any) -> bool:
    """Whether a value is a storage, of bytes or with a dtype."""
    return isinstance(obj, (UntypedStorage, TypedStorage))


@names_wrong_types
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether two tensors show the same elements of one memory in the same order."""
    own, other = self.untyped_storage(), tensor.untyped_storage()
    return (
        (own is other or (own.data_ptr() != 0 and own.data_ptr() == other.data_ptr() and own.device == other.device))
        and self.storage_offset() == tensor.storage_offset()
        and self.shape == tensor.shape
        and self.stride() == tensor.stride()
        and kept_as(self) == kept_as(tensor)
    )


def ndimension(self: Tensor) -> int:
    """The number of dimensions."""
    return self.dim()


def const_data_ptr(self: Tensor) -> int:
    """The address of the first element, for who only reads there."""
    return self.data_ptr()


for _name in ("get_device", "is_distributed", "is_inference", "is_nonzero", "is_same_size", "is_signed"):
    globals()[_name] = overridable(globals()[_name], "")

_METHODS: dict[str, Any] = {
    "const_data_ptr": const_data_ptr,
    "is_distributed": is_distributed,
    "is_nonzero": is_nonzero,
    "is_same_size": is_same_size,
    "is_set_to": is_set_to,
    "is_signed": is_signed,
    "ndimension": ndimension,
}


def _answered_by_no(name: str) -> property:
    def no(self: Tensor) -> bool:
        """False: there are no such tensors here."""
        return False

    return overridable_property(name, no)


for _name, _method in _METHODS.items():
    _core.install_method(_name, _core.overridable(_method))
for _name in _NOT_HERE:
    _core.install_method(_name, _answered_by_no(_name))
