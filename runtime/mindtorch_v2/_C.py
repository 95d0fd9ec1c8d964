"""Looking into the dispatcher, under PyTorch's names: ``torch._C._dispatch_dump_table("fused::scaled_add")``."""

from __future__ import annotations

import enum
from types import TracebackType

from . import _core
from ._core import OpOverload, Tensor
from ._ops import find

__all__ = [
    "DispatchKey",
    "DispatchKeySet",
    "_dispatch_dump",
    "_dispatch_dump_table",
    "_dispatch_has_computed_kernel_for_dispatch_key",
    "_dispatch_has_kernel",
    "_dispatch_has_kernel_for_any_dispatch_key",
    "_dispatch_has_kernel_for_dispatch_key",
    "_dispatch_key_set",
    "_dispatch_keys",
    "_dispatch_tls_local_exclude_set",
    "_dispatch_tls_local_include_set",
]


class DispatchKey(str, enum.Enum):
    """The dispatch keys, by rising priority; each is equal to its name."""

    _ignore_ = ["name_"]  # noqa: RUF012  (not a member: removed from the class)
    for name_ in (
        *reversed(_core.key_names((1 << 63) - 1)),
        *("PrivateUse1", "AutogradPrivateUse1", "AutocastPrivateUse1"),
        *("Autograd", "CompositeImplicitAutograd", "CompositeExplicitAutograd"),
    ):
        locals()[name_] = name_

    def __str__(self) -> str:
        return str(self.value)


class DispatchKeySet:
    """A set of dispatch keys."""

    __slots__ = ("mask",)

    def __init__(self, keys: int | str = 0) -> None:
        self.mask = _core.key_mask(keys) if isinstance(keys, str) else int(keys)

    def __int__(self) -> int:
        return self.mask

    def raw_repr(self) -> int:
        """The bit mask."""
        return self.mask

    def highestPriorityTypeId(self) -> DispatchKey:  # noqa: N802  (PyTorch's name)
        """The key that a call with these keys tries first."""
        return DispatchKey(_core.key_names(self.mask)[0])

    def has(self, key: str) -> bool:
        """Whether a key, by name, is in the set."""
        return bool(self.mask & _core.key_mask(key))

    def add(self, key: str) -> DispatchKeySet:
        """The set with a key added."""
        return DispatchKeySet(self.mask | _core.key_mask(key))

    def remove(self, key: str) -> DispatchKeySet:
        """The set without a key."""
        return DispatchKeySet(self.mask & ~_core.key_mask(key))

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
    """Changes this thread's key sets inside ``with``."""

    def __init__(self, keys: DispatchKeySet) -> None:
        self._keys = keys.mask

    def _changed(self, included: int, excluded: int) -> tuple[int, int]:
        raise NotImplementedError

    def __enter__(self) -> None:
        self._before = _core.thread_keys()
        _core.set_thread_keys_(*self._changed(*self._before))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _core.set_thread_keys_(*self._before)


class _ExcludeDispatchKeyGuard(_KeyGuard):
    """Calls on this thread skip these keys."""

    def _changed(self, included: int, excluded: int) -> tuple[int, int]:
        return included, excluded | self._keys


class _IncludeDispatchKeyGuard(_KeyGuard):
    """Calls on this thread have these keys too."""

    def _changed(self, included: int, excluded: int) -> tuple[int, int]:
        return included | self._keys, excluded & ~self._keys


class _AutoDispatchBelowAutograd(_ExcludeDispatchKeyGuard):
    """Calls on this thread go to the kernels below autograd."""

    def __init__(self) -> None:
        super().__init__(DispatchKeySet(_core.key_mask("Autograd", "ADInplaceOrView")))


_after_autograd_keyset = DispatchKeySet(_core.key_mask("AutogradOther") - 1)


def _dispatch_keys(tensor: Tensor) -> DispatchKeySet:
    """The keys of a tensor."""
    return DispatchKeySet(_core.tensor_keys(tensor))


def _dispatch_key_set(tensor: Tensor) -> str:
    """The keys of a tensor, as text."""
    return repr(_dispatch_keys(tensor))


def _dispatch_tls_local_include_set() -> DispatchKeySet:
    """The keys this thread adds to every call."""
    return DispatchKeySet(_core.thread_keys()[0])


def _dispatch_tls_local_exclude_set() -> DispatchKeySet:
    """The keys this thread takes from every call."""
    return DispatchKeySet(_core.thread_keys()[1])


def _dispatch_has_kernel(name: str) -> bool:
    """Whether an operator of that name is defined and has any kernel."""
    overload = _core.find_operator(name)
    return overload is not None and bool(overload.kernel_sources())


def _dispatch_has_kernel_for_dispatch_key(name: str, key: str) -> bool:
    """Whether a kernel was registered under exactly this key. Raises RuntimeError for an unknown operator."""
    return find(name).has_kernel(key)


def _dispatch_has_kernel_for_any_dispatch_key(name: str, keys: DispatchKeySet) -> bool:
    """Whether a kernel was registered under any of the keys."""
    return any(find(name).has_kernel(key) for key in _core.key_names(keys.mask))


def _dispatch_has_computed_kernel_for_dispatch_key(name: str, key: str) -> bool:
    """Whether a call at this key would find something to run, by whatever registration."""
    return find(name).computed(key) is not None


def _dispatch_dump_table(name: str) -> str:
    """A line per dispatch key: what a call of the operator finds there, and where that was registered."""
    overload = find(name)
    lines = []
    for key in reversed(_core.key_names((1 << 63) - 1)):
        found = overload.computed(key)
        if found is None:
            continue
        kind, source = found
        where = f"registered at {source or '<unknown>'}"
        lines.append(f"{key}: fallthrough {where} [kernel]" if kind == "fallthrough" else f"{key}: {where} [{kind}]")
    return "\n".join(lines) + "\n"


def _dispatch_dump(name: str) -> str:
    """The operator's registrations: name, schema, where it was defined, and a line per registered key."""
    overload: OpOverload = find(name)
    lines = [
        f"name: {overload.name()}",
        f"schema: {overload._schema}",
        f"debug: registered at {overload.source or '<unknown>'}",
        "alias analysis kind: FROM_SCHEMA",
    ]
    lines += [f"{key}: registered at {source or '<unknown>'}" for key, source in overload.kernel_sources().items()]
    return "\n".join(lines) + "\n"


from .overrides import DisableTorchFunctionSubclass  # noqa: E402, F401  (PyTorch keeps it here)

_disabled_torch_function_impl = _core.disabled_torch_function
