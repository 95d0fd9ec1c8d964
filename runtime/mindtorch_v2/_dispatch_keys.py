"""Dispatch keys, sets of them, and guards that change this thread's sets, under PyTorch's names."""

from __future__ import annotations

import enum
from types import TracebackType
from typing import SupportsIndex

from . import _core

__all__ = [
    "DispatchKey",
    "DispatchKeySet",
    "ExcludeDispatchKeyGuard",
    "_AutoDispatchBelowADInplaceOrView",
    "_AutoDispatchBelowAutograd",
    "_ExcludeDispatchKeyGuard",
    "_ForceDispatchKeyGuard",
    "_IncludeDispatchKeyGuard",
    "_PreserveDispatchKeyGuard",
    "_SetExcludeDispatchKeyGuard",
    "_after_ADInplaceOrView_keyset",
    "_after_autograd_keyset",
    "_dispatch_tls_is_dispatch_key_excluded",
    "_dispatch_tls_is_dispatch_key_included",
    "_dispatch_tls_local_exclude_set",
    "_dispatch_tls_local_include_set",
    "_dispatch_tls_set_dispatch_key_excluded",
    "_dispatch_tls_set_dispatch_key_included",
]


class DispatchKey(str, enum.Enum):
    """The dispatch keys, by rising priority; each is equal to its name."""

    _ignore_ = ["name_"]  # noqa: RUF012  (not a member: removed from the class)
    for name_ in (
        *reversed(_core.key_names((1 << 63) - 1)),
        *("PrivateUse1", "AutogradPrivateUse1", "AutocastPrivateUse1"),
        *("Autograd", "CompositeImplicitAutograd", "CompositeExplicitAutograd"),
        *("CompositeExplicitAutogradNonFunctional", "Tracer", "Undefined"),
    ):
        locals()[name_] = name_
    FuncTorchBatched = "Batched"  # PyTorch's name of the key of `vmap`; its own Batched is that of the older one

    def __str__(self) -> str:
        return str(self.value)


class DispatchKeySet:
    """A set of dispatch keys."""

    __slots__ = ("mask",)

    def __init__(self, keys: SupportsIndex | str = 0) -> None:
        self.mask = _mask(keys) if isinstance(keys, str) else int(keys)

    def __int__(self) -> int:
        return self.mask

    __index__ = __int__

    def raw_repr(self) -> int:
        """The bit mask."""
        return self.mask

    def highestPriorityTypeId(self) -> DispatchKey:  # noqa: N802  (PyTorch's name)
        """The key that a call with these keys tries first; ``Undefined`` for an empty set."""
        names = _core.key_names(self.mask)
        return DispatchKey(names[0] if names else "Undefined")

    @staticmethod
    def from_raw_repr(mask: int) -> DispatchKeySet:
        """The set of a bit mask that `raw_repr` gave."""
        return DispatchKeySet(mask)

    def has(self, key: str) -> bool:
        """Whether a key, by name, is in the set."""
        return bool(self.mask & _mask(key))

    def add(self, key: str) -> DispatchKeySet:
        """The set with a key added."""
        return DispatchKeySet(self.mask | _mask(key))

    def remove(self, key: str) -> DispatchKeySet:
        """The set without a key."""
        return DispatchKeySet(self.mask & ~_mask(key))

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self.mask | other.mask)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self.mask & other.mask)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self.mask & ~other.mask)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and other.mask == self.mask

    def __hash__(self) -> int:
        return hash(self.mask)

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(reversed(_core.key_names(self.mask)))})"


class _KeyGuard:
    """Changes this thread's key sets inside ``with``; whatever happens there, they are then as they were."""

    def __init__(self, keys: DispatchKeySet | str) -> None:
        self._keys = DispatchKeySet(keys).mask
        self._before: list[tuple[int, int]] = []

    def _changed(self, included: int, excluded: int) -> tuple[int, int]:
        return included, excluded

    def __enter__(self) -> None:
        self._before.append(_core.thread_keys())
        _core.set_thread_keys_(*self._changed(*self._before[-1]))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _core.set_thread_keys_(*self._before.pop())


class _ExcludeDispatchKeyGuard(_KeyGuard):
    """Calls on this thread skip these keys."""

    def _changed(self, included: int, excluded: int) -> tuple[int, int]:
        return included, excluded | self._keys


class ExcludeDispatchKeyGuard:
    """Calls on this thread skip these keys from when it is made until it is deleted, or left as a context.

    Of PyTorch's guards this, `_AutoDispatchBelowAutograd` and `_DisableTorchDispatch` begin when they are made.
    """

    _added = 0  # those that were not excluded before

    def __init__(self, keys: DispatchKeySet | str) -> None:
        included, excluded = _core.thread_keys()
        self._added = DispatchKeySet(keys).mask & ~excluded
        _core.set_thread_keys_(included, excluded | self._added)

    def _end(self) -> None:
        included, excluded = _core.thread_keys()
        _core.set_thread_keys_(included, excluded & ~self._added)
        self._added = 0

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def __del__(self) -> None:
        self._end()


class _IncludeDispatchKeyGuard(_KeyGuard):
    """Calls on this thread have these keys too, unless they are excluded."""

    def _changed(self, included: int, excluded: int) -> tuple[int, int]:
        return included | self._keys, excluded


class _SetExcludeDispatchKeyGuard(_KeyGuard):
    """Calls on this thread skip a key, or no longer do."""

    def __init__(self, key: DispatchKeySet | str, exclude: bool) -> None:
        super().__init__(key)
        self._exclude = exclude

    def _changed(self, included: int, excluded: int) -> tuple[int, int]:
        return included, excluded | self._keys if self._exclude else excluded & ~self._keys


class _ForceDispatchKeyGuard(_KeyGuard):
    """Calls on this thread have exactly these keys included and excluded."""

    def __init__(self, include: DispatchKeySet, exclude: DispatchKeySet) -> None:
        super().__init__(include)
        self._excluded = exclude.mask

    def _changed(self, included: int, excluded: int) -> tuple[int, int]:
        return self._keys, self._excluded


class _PreserveDispatchKeyGuard(_KeyGuard):
    """What is done inside to the thread's key sets is taken back."""

    def __init__(self) -> None:
        super().__init__(DispatchKeySet())


class _AutoDispatchBelowAutograd(ExcludeDispatchKeyGuard):
    """Calls on this thread go to the kernels below autograd."""

    def __init__(self) -> None:
        super().__init__("Autograd")


class _AutoDispatchBelowADInplaceOrView(_ExcludeDispatchKeyGuard):
    """Calls on this thread go to the kernels below autograd and ADInplaceOrView."""

    def __init__(self) -> None:
        super().__init__(DispatchKeySet("Autograd").add("ADInplaceOrView"))


def _mask(key: str) -> int:
    """The bits of a key by name. Raises RuntimeError for an unknown one, as PyTorch does."""
    if key == "Undefined":
        return 0
    try:
        return _core.key_mask(key)
    except ValueError as error:
        raise RuntimeError(str(error)) from None


_after_autograd_keyset = DispatchKeySet(_mask("AutogradOther") - 1)
_after_ADInplaceOrView_keyset = DispatchKeySet(_mask("ADInplaceOrView") - 1)  # noqa: N816  (PyTorch's name)


def _dispatch_tls_local_include_set() -> DispatchKeySet:
    """The keys this thread adds to every call."""
    return DispatchKeySet(_core.thread_keys()[0])


def _dispatch_tls_local_exclude_set() -> DispatchKeySet:
    """The keys this thread takes from every call."""
    return DispatchKeySet(_core.thread_keys()[1])


def _dispatch_tls_is_dispatch_key_included(key: str) -> bool:
    """Whether this thread adds a key to every call."""
    return bool(_core.thread_keys()[0] & _mask(key))


def _dispatch_tls_is_dispatch_key_excluded(key: str) -> bool:
    """Whether this thread takes a key from every call."""
    return bool(_core.thread_keys()[1] & _mask(key))


def _dispatch_tls_set_dispatch_key_included(key: str, included: bool) -> None:
    """Adds a key to every call on this thread, or no longer."""
    before, excluded = _core.thread_keys()
    _core.set_thread_keys_(before | _mask(key) if included else before & ~_mask(key), excluded)


def _dispatch_tls_set_dispatch_key_excluded(key: str, excluded: bool) -> None:
    """Takes a key from every call on this thread, or no longer."""
    included, before = _core.thread_keys()
    _core.set_thread_keys_(included, before | _mask(key) if excluded else before & ~_mask(key))


_core.hooks.fill(key_set=DispatchKeySet)
