"""Dictionaries and references that hold tensors weakly, and tell them apart by identity: ``torch.utils.weak``."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from copy import deepcopy
from typing import Any

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]

Entries = dict[weakref.ref[Any], Any]


class _Identity:
    """How references compare: by the object's identity, of dead ones by the reference's."""

    __slots__ = ()

    @staticmethod
    def _same(mine: Any, its: Any) -> bool:
        raise NotImplementedError

    def __eq__(self: Any, other: Any) -> bool:
        mine, its = self(), other() if isinstance(other, weakref.ref) else None
        return self is other if mine is None or its is None else type(self)._same(mine, its)

    def __ne__(self, other: object) -> bool:
        return not self == other


class WeakIdRef(_Identity, weakref.ref[Any]):
    """A weak reference that is equal to another of the very same object, and hashes by its identity."""

    __slots__ = ("_id",)

    @staticmethod
    def _same(mine: Any, its: Any) -> bool:
        return mine is its

    def __init__(self, key: Any, callback: Callable[[Any], Any] | None = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id


class _WeakHashRef(_Identity, weakref.ref[Any]):
    """A weak reference that is equal to another of an equal object, and hashes as it does."""

    __slots__ = ("_hash",)

    @staticmethod
    def _same(mine: Any, its: Any) -> bool:
        return bool(mine == its)

    def __init__(self, key: Any, callback: Callable[[Any], Any] | None = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]
        self._hash = hash(key)

    def __hash__(self) -> int:
        return self._hash


_read = dict  # whose name PyTorch's arguments have


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dictionary with weakly held keys: an entry goes with its key. ``ref_type`` says which keys are the same."""

    def __init__(self, dict: Mapping[Any, Any] | None = None, ref_type: type[weakref.ref[Any]] = WeakIdRef) -> None:
        self.data: Entries = {}
        self.ref_type = ref_type
        data = self.data  # not self, which would then be held by its keys

        def forget(reference: weakref.ref[Any]) -> None:
            data.pop(reference, None)

        self._forget = forget
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._forget)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # what cannot be referred to is no key
            return False

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def update(self, dict: Any = None, /, **more: Any) -> None:
        """Sets the entries of a mapping, or of pairs: of one without ``items`` once all of them are there."""
        if dict is not None:
            super().update(dict if hasattr(dict, "items") else _read(dict))
        super().update(more)

    def keyrefs(self) -> list[weakref.ref[Any]]:
        """The references to the keys, some of which may be dead."""
        return list(self.data)

    def copy(self) -> WeakIdKeyDictionary:
        """Another dictionary with the entries."""
        return WeakIdKeyDictionary(dict(self.items()), self.ref_type)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> WeakIdKeyDictionary:
        return type(self)({key: deepcopy(value, memo) for key, value in self.items()}, self.ref_type)

    def __or__(self, other: Mapping[Any, Any]) -> WeakIdKeyDictionary:
        if not isinstance(other, Mapping):
            return NotImplemented
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: Mapping[Any, Any]) -> WeakIdKeyDictionary:
        if not isinstance(other, Mapping):
            return NotImplemented
        made = type(self)(other, self.ref_type)
        made.update(self)
        return made

    def __ior__(self, other: Mapping[Any, Any]) -> WeakIdKeyDictionary:
        self.update(other)
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return {id(key): value for key, value in self.items()} == {id(key): value for key, value in other.items()}

    __hash__ = None  # type: ignore[assignment]


WeakTensorKeyDictionary = functools.partial(WeakIdKeyDictionary, ref_type=WeakIdRef)


class TensorWeakRef:
    """A weak reference to a tensor; calling it gives the tensor, or None once it is gone."""

    __slots__ = ("ref",)

    def __init__(self, tensor: Any) -> None:
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Any:
        """The tensor, or None."""
        return self.ref()
