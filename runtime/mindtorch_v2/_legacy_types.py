"""``torch.FloatTensor`` and its kin: one class for each dtype, which makes tensors, and asks whether one is such.

``isinstance(x, torch.FloatTensor)`` asks for the dtype and for the CPU; no tensor has such a class. Those of
``torch.cuda`` are there to be named.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from typing import Any

from . import _core
from ._core import Size, Tensor, UntypedStorage
from ._creation import empty, tensor
from ._ops import ops
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
    device_type: str

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
        """Whether it is one of ``torch.cuda``, of which there are no tensors."""
        return cls.device_type == "cuda"

    @property
    def is_xpu(cls) -> bool:
        """False: there are no classes of such devices."""
        return False

    @property
    def is_sparse(cls) -> bool:
        """False: there are no sparse tensors here."""
        return False

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype and instance.device.type == cls.device_type

    def __call__(cls, *args: Any, **named: Any) -> Tensor:
        """`legacy_new` on the CPU. Raises TypeError for a class of ``torch.cuda``."""
        if cls.is_cuda:
            raise _not_available(f"torch.cuda.{cls.__name__}")
        return legacy_new(cls.dtype, _core.device("cpu"), *args, **named)


def legacy_new(dtype: Any, where: _core.device, *args: Any, device: Any = None, **named: Any) -> Tensor:
    """Of sizes, a tensor whose values nobody has written; of data, a copy; of a tensor or a storage, its memory.

    One of ``size``, ``data``, ``storage`` and ``other`` may be given by its name. Raises TypeError for what it makes
    nothing of, RuntimeError for a ``device`` of another type than ``where``.
    """
    if device is not None and _core.device(device).type != where.type:
        raise RuntimeError(
            f"legacy constructor expects device type: {where.type} but device type: {_core.device(device).type} was "
            "passed"
        )
    if device is not None and isinstance(next(iter((*args, *named.values())), None), Tensor):
        raise RuntimeError("Legacy tensor new of the form tensor.new(tensor, device=device) is not supported. Use "
                           "torch.as_tensor(...) instead.")  # fmt: skip
    if "size" in named and len(named) == 1 and not args and isinstance(named["size"], Sequence):
        return empty(_sizes(named["size"]), dtype=dtype, device=where)
    given = args or tuple(named.values())
    if (named and (args or len(named) > 1 or not named.keys() <= _NAMED)) or (len(args) > 1 and not _is_size(args[0])):
        kinds = [*map(_kind, args), *(f"{name}={_kind(value)}" for name, value in named.items())]
        raise TypeError(f"new() received an invalid combination of arguments - got ({', '.join(kinds)}): {_FORMS}")
    if len(given) == 1 and not isinstance(given[0], Size):
        return _of_one(dtype, where, given[0])
    sizes = given[0] if given and isinstance(given[0], Size) else given or (0,)
    return empty(_sizes(sizes), dtype=dtype, device=where)


_NAMED = {"data", "storage", "other"}
_FORMS = "expected sizes, or one storage, tensor, torch.Size or sequence of data, and a device"


def _is_size(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value.dim() == 0 and not (value.is_floating_point() or value.is_complex())
    return not isinstance(value, bool) and hasattr(type(value), "__index__")


def _of_one(dtype: Any, where: _core.device, given: Any) -> Tensor:
    """What is made of one argument that is no shape. Raises TypeError for what nothing is made of."""
    if isinstance(given, Tensor):
        if given.dtype is not dtype or given.device.type != where.type:
            raise TypeError(
                f"expected a tensor of {dtype} on {where.type}, got one of {given.dtype} on {given.device}; "
                f"convert it with .to({dtype})"
            )
        shared: Tensor = ops.aten.alias(given)
        return shared
    if isinstance(given, (UntypedStorage, TypedStorage)):
        untyped = given._untyped_storage if isinstance(given, TypedStorage) else given
        if isinstance(given, TypedStorage) and given.dtype is not dtype:
            wanted, got = (_core.scalar_types[one.name] for one in (dtype, given.dtype))
            raise RuntimeError(f"Expected a Storage of type {wanted} or an UntypedStorage, but got type {got}")
        made: Tensor = empty(0, dtype=dtype, device=where).set_(untyped)
        return made
    if isinstance(given, str):
        raise TypeError("new(): invalid data type 'str'")
    listed = isinstance(given, Sequence) or (hasattr(given, "__len__") and hasattr(given, "__getitem__"))
    if not listed and not isinstance(given, bool) and hasattr(type(given), "__index__"):
        return empty((operator.index(given),), dtype=dtype, device=where)
    if not listed:
        raise TypeError(f"new(): data must be a sequence (got {_named(type(given))})")
    return tensor(given, dtype=dtype, device=where)


def _sizes(given: Sequence[Any]) -> tuple[int, ...]:
    for at, size in enumerate(given):
        if isinstance(size, bool) or not hasattr(type(size), "__index__"):
            raise TypeError(
                f"new(): argument 'size' failed to unpack the object at pos {at + 1} with error "
                f'"type must be tuple of ints,but got {_named(type(size))}"'
            )
    return tuple(map(operator.index, given))


def _kind(value: Any) -> str:
    return _named(type(value))


def _named(cls: type) -> str:
    return cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__name__}"


def _not_available(name: str) -> TypeError:
    return TypeError(f"type {name} not available. Torch not compiled with CUDA enabled.")


def set_default_tensor_type(t: Any) -> None:
    """Makes the dtype of a class, or of one by its name, that of new tensors. Deprecated: `set_default_dtype`."""
    name = t if isinstance(t, str) else f"{getattr(t, '__module__', '')}.{getattr(t, '__name__', t)}"
    found = _CLASSES.get(name.removeprefix("torch."))
    if name.startswith("torch.cuda.") and name.removeprefix("torch.cuda.") in _CLASSES:
        raise _not_available(name)
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


def _classes(module: str, device_type: str) -> dict[str, tensortype]:
    kept = {"device_type": device_type, "__module__": module, "__slots__": ()}
    return {name: tensortype(name, (), {"dtype": dtype, **kept}) for name, dtype in _CLASSES.items()}


cuda_types = _classes("torch.cuda", "cuda")
globals().update(_classes("torch", "cpu"))
_tensor_classes = {*(globals()[_name] for _name in _CLASSES), *cuda_types.values()}
