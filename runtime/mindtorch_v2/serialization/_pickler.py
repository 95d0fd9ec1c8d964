"""Pickles whose storages lie outside of them, in PyTorch's words."""

from __future__ import annotations

import collections
import copyreg
import pickle
from types import FunctionType
from typing import IO, Any

from .. import _core
from .._core import Size, Tensor, UntypedStorage
from .._lazy_values import kept_as
from .._storages import TypedStorage, typed_class
from .._type_info import layout
from ..nn.parameter import Parameter
from ._names import (
    StoredDtype,
    rebuild_from_type_v2,
    rebuild_meta_tensor,
    rebuild_parameter,
    rebuild_parameter_with_state,
    rebuild_tensor_v2,
    rebuild_tensor_v3,
    rebuild_wrapper,
    strided_layout,
    written_name,
)

__all__ = ["Storages", "pickler_class"]


class Storages:
    """The storages that a checkpoint has, each once, however many tensors show it."""

    def __init__(self) -> None:
        self.all: list[UntypedStorage] = []
        self._keys: dict[Any, str] = {}
        self._dtypes: dict[int, _core.dtype] = {}

    def name(self, stored: StoredDtype) -> tuple[Any, ...]:
        """What stands in the pickle for a storage."""
        storage, dtype = stored.untyped, stored.dtype
        at = storage.data_ptr()
        if at and storage.nbytes():
            seen = self._dtypes.setdefault(at, dtype)
            if seen is not dtype:
                raise RuntimeError(
                    "Cannot save multiple tensors or storages that view the same data as different types: "
                    f"{seen} and {dtype}"
                )
        # Storages over the same bytes are one: `.data` has a storage of its own.
        key = ("memory", at, storage.nbytes(), storage.device) if at else ("object", id(storage))
        if key not in self._keys:
            self._keys[key] = str(len(self.all))
            self.all.append(storage)
        kind = typed_class(dtype) if stored.is_typed else UntypedStorage
        count = storage.nbytes() // (dtype.itemsize if stored.is_typed else 1)
        return "storage", kind, self._keys[key], str(storage.device), count


def reduced(tensor: Tensor) -> tuple[Any, ...]:
    """How a checkpoint has a tensor: which function makes it again, of what."""
    hooks: Any = collections.OrderedDict()
    state = vars(tensor)
    kind = type(tensor)
    if kind is Parameter:
        if state:
            return rebuild_parameter_with_state, (tensor.detach(), tensor.requires_grad, hooks, dict(state))
        return rebuild_parameter, (tensor.detach(), tensor.requires_grad, hooks)
    function, args = _of_wrapper(tensor) if _core.only_claims_memory(tensor) else _of_plain(tensor, hooks)
    given: Any = getattr(kind, "__getstate__", None)
    if given is not getattr(object, "__getstate__", None):  # the class says itself what there is to keep
        return rebuild_from_type_v2, (function, kind, args, given(tensor))
    if kind is not Tensor or state:
        slots = {name: getattr(tensor, name) for name in copyreg._slotnames(kind) if hasattr(tensor, name)}  # type: ignore[attr-defined]
        return rebuild_from_type_v2, (function, kind, args, (dict(state), slots) if slots else dict(state))
    return function, args


def _of_wrapper(tensor: Tensor) -> tuple[Any, tuple[Any, ...]]:
    place = tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset()
    return rebuild_wrapper, (type(tensor), *place, tensor.layout, tensor.device, tensor.requires_grad)


def _of_plain(tensor: Tensor, hooks: Any) -> tuple[Any, tuple[Any, ...]]:
    geometry = tuple(tensor.shape), tuple(tensor.stride())
    if tensor.is_meta:
        return rebuild_meta_tensor, (tensor.dtype, *geometry, tensor.requires_grad)
    typed = typed_class(tensor.dtype) is not None
    stored = StoredDtype(tensor.untyped_storage(), tensor.dtype, typed)
    args = (stored, tensor.storage_offset(), *geometry, tensor.requires_grad, hooks)
    kept = (kept_as(tensor),) if kept_as(tensor) else ()
    return (rebuild_tensor_v2, (*args, *kept)) if typed else (rebuild_tensor_v3, (*args, tensor.dtype, *kept))


def pickler_class(base: Any) -> Any:
    """A pickler over one that is written in Python, that of the standard library or of a module like it."""

    class CheckpointPickler(base):  # type: ignore[misc]
        def __init__(self, f: IO[bytes], protocol: int, name_storage: Any) -> None:
            super().__init__(f, protocol)
            self._name_storage = name_storage
            self._kept: list[Any] = []  # a temporary's address is not to be another's while the memo has it

        def persistent_id(self, obj: Any) -> Any:
            if isinstance(obj, StoredDtype):
                return self._name_storage(obj)
            if isinstance(obj, UntypedStorage):
                return self._name_storage(StoredDtype(obj, _core.dtypes["uint8"], False))
            if isinstance(obj, TypedStorage):
                return self._name_storage(StoredDtype(obj._untyped_storage, obj.dtype, True))
            return None

        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, Tensor):
                made = reduced(obj) if type(obj).__reduce_ex__ is Tensor.__reduce_ex__ else NotImplemented
                self._kept.append(made)
                return made
            if isinstance(obj, _core.dtype):
                return obj.name
            if isinstance(obj, _core.device):
                return _core.device, (obj.type,) if obj.index is None else (obj.type, obj.index)
            if isinstance(obj, layout):
                return strided_layout, (str(obj),)
            if type(obj) is Size:
                return Size, (tuple(obj),)
            return NotImplemented

        def save_global(self, obj: Any, name: str | None = None) -> None:
            words = written_name(obj)
            if words is None:
                super().save_global(obj, name)
                return
            module, last = words
            if self.proto >= 4:
                self.save(module)
                self.save(last)
                self.write(pickle.STACK_GLOBAL)
            else:
                self.write(pickle.GLOBAL + f"{module}\n{last}\n".encode())
            self.memoize(obj)

        def save_type(self, obj: Any) -> None:
            if written_name(obj) is None:
                base.dispatch[type](self, obj)
            else:
                self.save_global(obj)

    # By the base's table functions and classes would go to its own `save_global`.
    own = {FunctionType: CheckpointPickler.save_global, type: CheckpointPickler.save_type}
    CheckpointPickler.dispatch = {**base.dispatch, **own}
    return CheckpointPickler
