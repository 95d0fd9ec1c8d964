"""``torch.FloatTensor`` and its kin: one class for each dtype, which makes tensors, and asks whether one is such.

``isinstance(x, torch.FloatTensor)`` asks for the dtype and for the CPU; no tensor has such a class.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from typing import Any

from . import _core
from ._core import Size, Tensor, UntypedStorage
from ._creation import empty, tensor
from ._storages import TypedStorage
from ._type_info import layout, strided

_CLASSES = {
    f"{_core.scalar_types[name]}Tensor": _core.dtypes[name]
    for name in (
        *("bfloat16", "bool", "uint8", "int8", "float64"),
        *("float32", "float16", "int32", "int64", "int16"),
    )
}
__all__ = [*_CLASSES, "set_default_tensor_type"]


class tensortype(type):  # noqa: N801  (PyTorch's name)
    """The class of these classes."""

    dtype: Any

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> tensortype:
        if bases:
            raise TypeError(f"type 'torch.{bases[0].__name__}' is not an acceptable base type")
        return super().__new__(mcs, name, bases, namespace)

    @property
    def layout(cls) -> layout:
        """``torch.strided``."""
        return strided

    @property
    def is_cuda(cls) -> bool:
        """False: these are of the CPU."""
        return False

    @property
    def is_sparse(cls) -> bool:
        """False: there are no sparse tensors here."""
        return False

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype and instance.is_cpu

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        """Of sizes, a tensor whose values nobody has written; of data, a copy; of a tensor or a storage, its memory."""
        if device is not None and _core.device(device).type != "cpu":
            raise RuntimeError(
                f"legacy constructor expects device type: cpu but device type: {_core.device(device).type} was passed"
            )
        if len(args) == 1 and not isinstance(args[0], Size):
            return _of_one(cls, args[0])
        return empty(_sizes(args[0] if args and isinstance(args[0], Size) else args or (0,)), dtype=cls.dtype)


def _of_one(cls: tensortype, given: Any) -> Tensor:
    """What a class makes of one argument that is no shape. Raises TypeError for what it makes nothing of."""
    if isinstance(given, Tensor):
        if given.dtype is not cls.dtype or not given.is_cpu:
            raise TypeError(
                f"expected a tensor of {cls.dtype} on cpu, got one of {given.dtype} on {given.device}; "
                f"convert it with .to({cls.dtype})"
            )
        return given.detach()
    if isinstance(given, (UntypedStorage, TypedStorage)):
        untyped = given._untyped_storage if isinstance(given, TypedStorage) else given
        made: Tensor = empty(0, dtype=cls.dtype).set_(untyped)
        return made
    if isinstance(given, str):
        raise TypeError("new(): invalid data type 'str'")
    listed = isinstance(given, Sequence) or (hasattr(given, "__len__") and hasattr(given, "__getitem__"))
    if not listed and not isinstance(given, bool) and hasattr(type(given), "__index__"):
        return empty((operator.index(given),), dtype=cls.dtype)
    if not listed:
        raise TypeError(f"new(): data must be a sequence (got {_named(type(given))})")
    return tensor(given, dtype=cls.dtype)


def _sizes(given: Sequence[Any]) -> tuple[int, ...]:
    for at, size in enumerate(given):
        if isinstance(size, bool) or not hasattr(type(size), "__index__"):
            raise TypeError(
                f"new(): argument 'size' failed to unpack the object at pos {at + 1} with error "
                f'"type must be tuple of ints,but got {_named(type(size))}"'
            )
    return tuple(map(operator.index, given))


def _named(cls: type) -> str:
    return cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__name__}"


def set_default_tensor_type(t: Any) -> None:
    """Makes the dtype of a class, or of one by its name, that of new tensors. Deprecated: `set_default_dtype`."""
    name = t if isinstance(t, str) else f"torch.{getattr(t, '__name__', t)}"
    found = _CLASSES.get(name.removeprefix("torch."))
    if found is None or not name.startswith("torch."):
        raise TypeError(f"invalid type object: {t!r}; types are called torch.FloatTensor, torch.DoubleTensor, ...")
    if not found.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    warnings.warn(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives.",
        UserWarning,
        stacklevel=2,
    )
    _core.set_default_dtype(found)


for _name, _dtype in _CLASSES.items():
    globals()[_name] = tensortype(_name, (), {"dtype": _dtype, "__module__": "torch", "__slots__": ()})
