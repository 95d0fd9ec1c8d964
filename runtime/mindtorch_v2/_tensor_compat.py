"""Methods of Tensor that programs of every age call: old names, what sparse tensors have, Python on elements."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from . import _core
from ._core import Tensor, dtype
from ._creation import tensor as make_tensor
from ._legacy_types import legacy_new
from ._ops import ops
from ._storage_deprecation import deprecated
from ._storages import TypedStorage, typed_class
from ._type_info import channels_last, channels_last_3d, contiguous_format, memory_format
from .overrides import overridable_property

__all__: list[str] = []


# ---------------------------------------------------------------- a function of Python on every element
def _on_elements(name: str, self: Tensor, others: Sequence[Tensor], function: Callable[..., Any]) -> Tensor:
    for other in (self, *others):
        if not isinstance(other, Tensor):
            raise TypeError(f"{name}(): expected Tensor, not {type(other).__name__}")
        if other.device.type != "cpu":
            raise TypeError(f"{name} is only implemented on CPU tensors")
        if other.requires_grad:
            raise RuntimeError(
                f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead."
            )
    if any(other.dtype is not self.dtype for other in others):
        raise TypeError(f"{name}(): expected tensors of {self.dtype}")
    if not callable(function):
        raise TypeError(f"{type(function).__name__!r} object is not callable")
    rows = [ops.aten.expand(other, self.shape).reshape(-1).tolist() for other in (self, *others)]
    values = [_element(function(*at), self.dtype) for at in zip(*rows, strict=True)]
    if values:
        ops.aten.copy_(self, make_tensor(values, dtype=self.dtype).reshape(self.shape))
    return self


def _element(value: Any, dtype: dtype) -> Any:
    """What a function gave for an element. Raises TypeError for what is no number."""
    if not any(hasattr(type(value), method) for method in ("__index__", "__float__", "__complex__")):
        raise TypeError(f"{type(value).__name__!r} object cannot be interpreted as an element of {dtype}")
    return value


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Puts ``callable(x)`` in place of each element ``x``. Raises TypeError for a tensor that is not on the CPU."""
    return _on_elements("apply_", self, (), callable)


def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Puts ``callable(x, y)`` in place of each element ``x``, with ``y`` the other tensor's, broadcast."""
    return _on_elements("map_", self, (tensor,), callable)


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """As `map_`, with two other tensors."""
    return _on_elements("map2_", self, (x, y), callable)


# ---------------------------------------------------------------- where elements lie
def dim_order(self: Tensor, *, ambiguity_check: bool | Sequence[memory_format] = False) -> tuple[int, ...]:
    """The dimensions from the outermost to the innermost in memory.

    With ``ambiguity_check`` raises RuntimeError where strides allow several orders, or, of formats, several of these.
    """
    if not isinstance(ambiguity_check, bool):
        formats = list(ambiguity_check)
        if not all(isinstance(one, memory_format) for one in formats):
            raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
        ranks = {contiguous_format: self.dim(), channels_last: 4, channels_last_3d: 5}
        fitting = [f for f in formats if ranks.get(f) == self.dim() and self.is_contiguous(memory_format=f)]
        if len(fitting) > 1:
            raise RuntimeError(f"The tensor has ambiguous dim order: it fits each of {fitting}.")
    sizes, strides = self.shape, self.stride()
    if ambiguity_check is True and any(
        strides[a] == strides[b] or 1 in (sizes[a], sizes[b]) for a, b in itertools.combinations(range(self.dim()), 2)
    ):
        raise RuntimeError(
            "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
        )
    return tuple(sorted(range(self.dim()), key=lambda d: -strides[d]))


def dense_dim(self: Tensor) -> int:
    """How many dimensions are kept densely: all."""
    return self.dim()


def to_dense(self: Tensor, dtype: dtype | None = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor itself, which is dense, in another dtype where one is given."""
    return self if dtype is None else self.to(dtype)


def _sparse_only(name: str, layouts: str = "sparse coordinate tensor layout") -> Any:
    def refused(self: Tensor) -> NoReturn:
        raise RuntimeError(f"{name} expected {layouts} but got Strided")

    refused.__doc__ = "Raises RuntimeError: there are no sparse tensors here."
    return refused


# ---------------------------------------------------------------- other devices
def _no_device(name: str, flags: str) -> Any:
    def refused(
        self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: memory_format | None = None
    ) -> NoReturn:
        raise AssertionError(f"Torch not compiled with {flags} enabled")

    refused.__doc__ = "Raises AssertionError: there is no such device here."
    return refused


def ipu(
    self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: memory_format | None = None
) -> NoReturn:
    """Raises RuntimeError: there is no such device here."""
    raise RuntimeError("PyTorch is not linked with support for ipu devices")


# ---------------------------------------------------------------- old names
def lu(self: Tensor, pivot: bool = True, get_infos: bool = False) -> tuple[Tensor, ...]:
    """L and U in one matrix, the exchanges of rows, and if ``get_infos`` where U has a 0; else that is an error."""
    found = tuple(ops.aten._lu_with_info(self, pivot=pivot, check_errors=not get_infos))
    return found if get_infos else found[:2]


def new(self: Tensor, *args: Any, **named: Any) -> Tensor:
    """`torch.FloatTensor` and its kin in self's dtype, on its device."""
    return legacy_new(self.dtype, self.device, *args, **named)


def resize(self: Tensor, *sizes: Any) -> Tensor:
    """The elements in another shape of as many. Raises RuntimeError where they are not as many."""
    shape = sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    count = 1
    for n in shape:
        count *= n
    if count != self.numel():
        raise RuntimeError(
            f"requested resize to {'x'.join(map(str, shape))} ({count} elements in total), but the given tensor has a "
            f"size of {'x'.join(map(str, self.shape))} ({self.numel()} elements): resize a detached one by `resize_`, "
            "or use `reshape`"
        )
    result: Tensor = self.contiguous().view(shape)
    return result


def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """As `resize`, to another tensor's shape."""
    return resize(self, tensor.shape)


def _removed(name: str, instead: str) -> Any:
    def refused(self: Tensor, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"{name} was removed from PyTorch: use {instead}")

    refused.__doc__ = f"Raises RuntimeError: use {instead}."
    return refused


def typed_storage(self: Tensor) -> TypedStorage:
    """The memory, as elements of the tensor's dtype."""
    return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype, _internal=True)


def fix_weakref(self: Any) -> None:
    """Does nothing: what a weak reference gives is the tensor, or the storage, itself, and not what may outlive it."""


def storage_type(self: Tensor) -> type[TypedStorage] | None:
    """The class of storages that the tensor's dtype has; None where it has none."""
    return typed_class(self.dtype)


# ---------------------------------------------------------------- what Python, in this version or the last, calls
def as_complex(self: Tensor) -> complex:
    """The value of a tensor of one element, for ``complex()``. Raises ValueError where there are more, or none."""
    if self.numel() != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return complex(self.item())


def as_int(self: Tensor) -> int:
    """The value of a tensor of one element, towards zero: the older name of ``__int__``."""
    return int(self)


def as_bool(self: Tensor) -> bool:
    """Whether the one element is not zero: the older name of ``__bool__``."""
    return bool(self)


def div(self: Tensor, other: Any) -> Tensor:
    """``self / other``: the older name of ``__truediv__``."""
    result: Tensor = self / other
    return result


def div_(self: Tensor, other: Any) -> Tensor:
    """``self /= other``: the older name of ``__itruediv__``."""
    self /= other
    return self


def rdiv(self: Tensor, other: Any) -> Tensor:
    """``other / self`` under the older name, by the reciprocal as in PyTorch for tensors too."""
    result: Tensor = self.reciprocal() * other
    return result


def _volatile(self: Tensor) -> bool:
    warnings.warn("volatile was removed (Variable.volatile is always False)", stacklevel=3)
    return False


_METHODS: dict[str, Any] = {
    "__complex__": as_complex,
    "__long__": as_int,
    "__nonzero__": as_bool,
    "__div__": div,
    "__idiv__": div_,
    "__rdiv__": rdiv,
    "apply_": apply_,
    "map_": map_,
    "map2_": map2_,
    "dim_order": dim_order,
    "dense_dim": dense_dim,
    "to_dense": to_dense,
    "coalesce": _sparse_only("coalesce"),
    "is_coalesced": _sparse_only("is_coalesced"),
    "indices": _sparse_only("indices"),
    "values": _sparse_only("values", "sparse tensor layout"),
    "cuda": _no_device("cuda", "CUDA"),
    "xpu": _no_device("xpu", "XPU"),
    "mtia": _no_device("mtia", "MTIA"),
    "ipu": ipu,
    "lu": lu,
    "new": new,
    "resize": resize,
    "resize_as": resize_as,
    "eig": _removed("eig", "torch.linalg.eig"),
    "lstsq": _removed("lstsq", "torch.linalg.lstsq"),
    "solve": _removed("solve", "torch.linalg.solve"),
    "symeig": _removed("symeig", "torch.linalg.eigh"),
    "reinforce": _removed("reinforce", "torch.distributions"),
    "_fix_weakref": fix_weakref,
    "_typed_storage": typed_storage,
    "storage": deprecated(typed_storage),
    "storage_type": storage_type,
    "name": overridable_property("name", lambda self: None),
    "volatile": overridable_property("volatile", _volatile),
}

for _name, _method in _METHODS.items():
    if not isinstance(_method, property):
        _method.__name__ = _name
        _method = _core.overridable(_method)
    _core.install_method(_name, _method)
