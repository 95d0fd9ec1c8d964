"""``torch._C.TensorBase`` and ``torch._C.StorageBase``: what PyTorch's classes derive from, under these names.

Here the core's classes are all there is of them, and these names stand for the same: every tensor and every storage is
one of theirs.
"""

from __future__ import annotations

from typing import Any

from ._core import Tensor, UntypedStorage

__all__ = ["StorageBase", "TensorBase"]


class _Base(type):
    """The type of a class that stands below another one, ``_stands_for``, which really has what it seems to have."""

    _stands_for: type

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if "_stands_for" in vars(cls):
            raise RuntimeError(f"Cannot directly construct {cls.__name__}; subclass it and then construct that")
        return super().__call__(*args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        shown = cls._stands_for if "_stands_for" in vars(cls) else cls
        return type.__instancecheck__(shown, instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        shown = cls._stands_for if "_stands_for" in vars(cls) else cls
        return type.__subclasscheck__(shown, subclass)


class _BaseOfTensors(_Base):
    """As `_Base`, of a class without subclasses of its own, whose attributes are those of what it stands for."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
        if bases:
            raise RuntimeError(f"Cannot subclass {bases[0].__name__} directly: derive from torch.Tensor")
        return super().__new__(mcs, name, bases, namespace)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls._stands_for, name)

    def __dir__(cls) -> list[str]:
        return dir(cls._stands_for)


class TensorBase(metaclass=_BaseOfTensors):
    """What every tensor is. It is neither called nor derived from: `Tensor` is."""

    _stands_for = Tensor


class StorageBase(UntypedStorage, metaclass=_Base):
    """What every storage of bytes is. It is not called; a class derived from it makes storages, as `UntypedStorage`."""

    _stands_for = UntypedStorage
