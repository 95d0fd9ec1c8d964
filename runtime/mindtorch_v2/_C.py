"""Looking into the dispatcher, under PyTorch's names: ``torch._C._dispatch_dump_table("fused::scaled_add")``."""

from __future__ import annotations

import warnings
from typing import Any

from opschema import Schema
from opschema import parse_schema as _parse_schema

from . import _VF as _VariableFunctions  # noqa: F401, N811
from . import _core, _settings
from . import _nn_operators as _nn  # noqa: F401
from ._autograd_internals import WeakTensorRef as _WeakTensorRef  # noqa: F401
from ._autograd_internals import current_autograd_node as _current_autograd_node  # noqa: F401
from ._autograd_internals import (
    current_graph_task_execution_order as _current_graph_task_execution_order,  # noqa: F401
)
from ._autograd_internals import current_graph_task_id as _current_graph_task_id  # noqa: F401
from ._autograd_internals import functions as _functions  # noqa: F401
from ._autograd_internals import internals as _autograd  # noqa: F401
from ._autograd_internals import will_engine_execute_node as _will_engine_execute_node  # noqa: F401
from ._base_classes import StorageBase, TensorBase  # noqa: F401
from ._core import OpOverload, Tensor
from ._core import is_lazily_shared as _is_cow_tensor  # noqa: F401
from ._core import seen_address as _data_address  # noqa: F401
from ._dispatch_keys import DispatchKey as DispatchKey  # generated code reads these
from ._dispatch_keys import DispatchKeySet as DispatchKeySet
from ._dispatch_keys import (  # noqa: F401  (PyTorch keeps them here)
    ExcludeDispatchKeyGuard,
    _after_ADInplaceOrView_keyset,
    _after_autograd_keyset,
    _AutoDispatchBelowADInplaceOrView,
    _AutoDispatchBelowAutograd,
    _dispatch_tls_is_dispatch_key_excluded,
    _dispatch_tls_is_dispatch_key_included,
    _dispatch_tls_local_exclude_set,
    _dispatch_tls_local_include_set,
    _dispatch_tls_set_dispatch_key_excluded,
    _dispatch_tls_set_dispatch_key_included,
    _ForceDispatchKeyGuard,
    _IncludeDispatchKeyGuard,
    _mask,
    _PreserveDispatchKeyGuard,
    _SetExcludeDispatchKeyGuard,
)
from ._dispatch_keys import _ExcludeDispatchKeyGuard as _ExcludeDispatchKeyGuard
from ._modes import DisableTorchDispatch as _DisableTorchDispatch  # noqa: F401
from ._modes import DisableTorchFunction, DisableTorchFunctionSubclass, stacks  # noqa: F401
from ._modes import EnableTorchFunction as _EnableTorchFunctionGuard
from ._ops import find
from ._settings import is_filling_uninitialized_memory as _get_deterministic_fill_uninitialized_memory  # noqa: F401
from ._settings import set_filling_uninitialized_memory as _set_deterministic_fill_uninitialized_memory  # noqa: F401
from .autograd import is_grad_enabled  # noqa: F401
from .autograd._levels import is_propagating as _is_fwd_grad_enabled  # noqa: F401
from .autograd._levels import set_propagating_ as _set_fwd_grad_enabled  # noqa: F401
from .backends import _registration, all_backends, backend_of, mkldnn
from .errors import LinAlgError as _LinAlgError  # noqa: F401
from .library import get_kernel
from .library._kernel_function import SafeKernelFunction
from .library._registrations import registrations

_ALL_KEYS = (1 << 63) - 1
_ALIASES = (
    "Autograd", "CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"
)  # fmt: skip

_OF_GRAPHS = ("Graph", "Node", "ScriptFunction", "ScriptMethod", "ScriptModule", "TensorType", "TracingState", "Value")
_SEEN_ELSEWHERE = _core.key_mask("Python", "Batched", "Functionalize")
_dispatch_autogradother_backends = DispatchKeySet()  # each backend has an autograd key of its own


def _storage_address(tensor: Tensor) -> int:
    """A number that stands for a tensor's storage: those that share it have the same, lazy clones another one."""
    return _core.storage_identity(tensor.untyped_storage())


def _is_alias_of(tensor: Tensor, other: Tensor) -> bool:
    """Whether two tensors have one storage."""
    return _storage_address(tensor) == _storage_address(other)


def _dispatch_keys(tensor: Tensor) -> DispatchKeySet:
    """The keys of a tensor."""
    return DispatchKeySet(_core.tensor_keys(tensor))


def _dispatch_isTensorSubclassLike(tensor: Tensor) -> bool:  # noqa: N802  (PyTorch's name)
    """Whether something else than a backend sees the operators of a tensor: a mode, its class, `vmap`, `functionalize`.

    `grad` and `jvp` do not count, as they wrap no tensors here.
    """
    return bool(stacks.dispatch or _core.tensor_keys(tensor) & _SEEN_ELSEWHERE)


def _dispatch_key_set(tensor: Tensor) -> str:
    """The keys of a tensor, as text."""
    return repr(_dispatch_keys(tensor))


def _dispatch_keyset_to_string(keys: DispatchKeySet) -> str:
    """A key set as text."""
    return repr(keys)


def _dispatch_key_parse(key: str) -> DispatchKey:
    """A key by name. Raises RuntimeError for an unknown one."""
    _mask(key)
    return DispatchKey(key)


_parse_dispatch_key = _dispatch_key_parse


def _dispatch_key_name(key: str) -> str:
    """The name of a key."""
    return str(_dispatch_key_parse(key))


def _dispatch_key_for_device(device_type: str) -> str:
    """The key of a device type's kernels. Raises RuntimeError for an unknown type."""
    return backend_of(device_type).key


def _get_privateuse1_backend_name() -> str:
    """The device type that the key PrivateUse1 stands for."""
    return _registration.private_use1_name()


def _rename_privateuse1_backend(name: str) -> None:
    """Makes PrivateUse1 the key of a device type of that name: `torch.utils.rename_privateuse1_backend`."""
    _registration.rename_private_use1(name)


def _dispatch_num_backends() -> int:
    """How many backends there are keys for."""
    return len(_core.backend_keys())


def _dispatch_find_schema_or_throw(name: str, overload_name: str) -> OpOverload:
    """The operator of a name and an overload's name, to be called. Raises RuntimeError where there is none."""
    full_name = f"{name}.{overload_name}" if overload_name else name
    overload = _core.find_operator(full_name)
    if overload is None:
        raise RuntimeError(f"Could not find schema for {name}.{overload_name}")
    return overload


def _dispatch_call_boxed(op: OpOverload, *args: Any, **kwargs: Any) -> Any:
    """Calls what `_dispatch_find_schema_or_throw` found."""
    return op(*args, **kwargs)


def _dispatch_find_dangling_impls() -> list[str]:
    """The kernels of operators that nobody defined: none, as `Library.impl` refuses them."""
    return []


def _dispatch_is_alias_key(key: str) -> bool:
    """Whether a key stands for several, for registration."""
    _mask(key)
    return key in _ALIASES


def _dispatch_is_included_in_alias(key: str, alias: str) -> bool:
    """Whether a registration at ``alias`` counts at ``key`` (the same key, where ``alias`` is none)."""
    if not _dispatch_is_alias_key(alias):
        return _mask(key) == _mask(alias)
    included = _mask(alias)
    if alias == "CompositeImplicitAutograd":
        included |= _mask("Autograd")
    return not _dispatch_is_alias_key(key) and bool(_mask(key) & included)


def _dispatch_get_backend_keyset_from_autograd(key: str) -> DispatchKeySet:
    """The backend whose autograd key this is."""
    backend = str(key).removeprefix("Autograd")
    return DispatchKeySet(0 if backend == "Other" else _mask(backend))


def _dispatch_keyset_full() -> DispatchKeySet:
    """Every key."""
    return DispatchKeySet(sum(1 << bit for bit in range(64) if _core.key_names(1 << bit)))


def _dispatch_keyset_full_after(key: str) -> DispatchKeySet:
    """Every key below this one."""
    return DispatchKeySet(_dispatch_keyset_full().mask & (_mask(key) - 1))


def _dispatch_get_all_op_names() -> list[str]:
    """The full names of all operators."""
    return _core.operator_names()


def _dispatch_get_registrations_for_dispatch_key(key: str = "") -> list[str]:
    """The operators with a kernel of their own at a key; without a key, all operators."""
    names = _dispatch_get_all_op_names()
    if not key:
        return names
    known = _known(key)
    found = ((name, _core.find_operator(name)) for name in names)  # None: it went with its library meanwhile
    return [name for name, overload in found if overload is not None and overload.has_kernel(known)]


def _dispatch_print_registrations_for_dispatch_key(key: str = "") -> None:
    """Prints what `_dispatch_get_registrations_for_dispatch_key` gives."""
    for name in _dispatch_get_registrations_for_dispatch_key(key):
        print(name)


def _dispatch_has_backend_fallback(key: str) -> bool:
    """Whether anything happens at a key for operators without a kernel there."""
    return _core.has_fallback(_known(key))


def _dispatch_has_kernel(name: str) -> bool:
    """Whether an operator of that name is defined and has any kernel."""
    overload = _core.find_operator(name)
    return overload is not None and bool(overload.kernel_sources())


def _dispatch_has_kernel_for_dispatch_key(name: str, key: str) -> bool:
    """Whether a kernel was registered under exactly this key. Raises RuntimeError for an unknown operator or key."""
    return find(name).has_kernel(_known(key))


def _dispatch_has_kernel_for_any_dispatch_key(name: str, keys: DispatchKeySet) -> bool:
    """Whether a kernel was registered under any of the keys."""
    return any(find(name).has_kernel(key) for key in _core.key_names(keys.mask))


def _dispatch_has_computed_kernel_for_dispatch_key(name: str, key: str) -> bool:
    """Whether a call at this key would find something to run, by whatever registration."""
    return find(name).computed(_known(key)) is not None


def _dispatch_get_computed_kernel_for_dispatch_key(name: str, key: str) -> SafeKernelFunction:
    """What a call runs at this key: `library.get_kernel`. Raises RuntimeError where there is nothing."""
    return get_kernel(find(name), _known(key))


def _dispatch_kernel_for_dispatch_key_is_fallthrough(name: str, key: str) -> bool:
    """Whether the kernel registered under exactly this key is a fallthrough. Raises RuntimeError if there is none."""
    overload = find(name)
    if not overload.has_kernel(_known(key)):
        raise RuntimeError(f"no kernel for {key} on {name}")
    return overload.kernel(key) is _core.fallthrough_kernel


def _dispatch_dump_table(name: str) -> str:
    """A line per dispatch key: what a call of the operator finds there, and where that was registered."""
    overload = find(name)
    lines = []
    for key in reversed(_core.key_names(_ALL_KEYS)):
        found = overload.computed(key)
        if found is None:
            continue
        kind, function, source, _ = found
        fallthrough = "fallthrough " if function is _core.fallthrough_kernel else ""
        lines.append(f"{key}: {fallthrough}registered at {source or '<unknown>'} [{kind}]")
    return "\n".join(lines) + "\n"


def _dispatch_dump(name: str) -> str:
    """The operator's registrations: name, schema, where it was defined, and a line for each, the newest of a key first.

    Those marked ``(inactive)`` run again when the newer ones go.
    """
    overload: OpOverload = find(name)
    lines = [
        f"name: {overload.name()}",
        f"schema: {overload._schema}",
        f"debug: registered at {overload.source or '<unknown>'}",
        "alias analysis kind: FROM_SCHEMA",
    ]
    for key in (*reversed(_core.key_names(_ALL_KEYS)), *_ALIASES):
        label = f"{key}[alias]" if key in _ALIASES else key
        for number, kernel in enumerate(reversed(registrations(overload, key))):
            if number and kernel.placeholder:
                continue
            fallthrough = "fallthrough " if kernel.function is _core.fallthrough_kernel else ""
            inactive = " (inactive)" if number else ""
            lines.append(f"{label}{inactive}: registered at {kernel.source or '<unknown>'} [ {fallthrough}boxed ]")
    return "\n".join(lines) + "\n"


def _set_autograd_fallback_mode(mode: str) -> None:
    """What backward does at operators with neither a gradient nor a composite kernel, for the whole process.

    ``"error"`` (the default): it raises; ``"warn"``: it warns, and the gradient is what the kernel's own operators
    recorded; ``"nothing"``: as ``"warn"``, without a word. Raises RuntimeError for another mode.
    """
    _core.set_autograd_fallback_mode(mode)


def _get_autograd_fallback_mode() -> str:
    """What `_set_autograd_fallback_mode` set."""
    return _core.get_autograd_fallback_mode()


def _debug_only_are_vmap_fallback_warnings_enabled() -> bool:
    """Whether `vmap` warns of an operator that it runs once a sample."""
    from .func._batching import fallback_warns

    return fallback_warns()


def _debug_only_display_vmap_fallback_warnings(enabled: bool) -> None:
    """Says whether `vmap` warns of an operator that it runs once a sample."""
    from .func._batching import set_fallback_warns_

    set_fallback_warns_(enabled)


def _known(key: str) -> str:
    """The key, as the core takes it. Raises RuntimeError for an unknown one."""
    _mask(key)
    return str(key)


def parse_schema(schema: str) -> Schema:
    """What an operator's schema says. Raises RuntimeError where it is none."""
    return _parse_schema(schema)


def _get_tracing_state() -> Any:
    """The `TracingState` that this thread records into, or None."""
    from .jit._tracer import get_tracing_state

    return get_tracing_state()


def _set_tracing_state(state: Any = None) -> None:
    """Makes this thread record the calls of operators into ``state.graph``; None ends that."""
    from .jit._tracer import set_tracing_state

    set_tracing_state(state)


has_lapack, has_mkl, has_openmp, has_spectral = (
    getattr(_settings, name) for name in ("has_lapack", "has_mkl", "has_openmp", "has_spectral")
)


def _warn() -> None:
    """Warns, for tests of what becomes of a warning."""
    warnings.warn("Test message for TORCH_WARN", UserWarning, stacklevel=2)


def _warn_deprecation() -> None:
    """Warns of what is deprecated, for tests of what becomes of it."""
    warnings.warn("Test message for TORCH_WARN_DEPRECATION", DeprecationWarning, stacklevel=2)


def _get_mkldnn_enabled() -> bool:
    """``torch.backends.mkldnn.enabled``."""
    return mkldnn.enabled


def _set_mkldnn_enabled(enabled: bool) -> None:
    """Sets ``torch.backends.mkldnn.enabled``."""
    mkldnn.set_flags(enabled)


def __getattr__(name: str) -> Any:
    if name in _OF_GRAPHS:
        from . import jit

        return getattr(jit, name)
    if name == "_functorch":
        from .func import _interpreters

        return _interpreters
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _EnableTorchFunction:
    """While it lives, ``__torch_function__`` is called, whatever switched it off before."""

    def __init__(self) -> None:
        self._guard = _EnableTorchFunctionGuard()
        self._guard.__enter__()

    def __del__(self) -> None:
        self._guard.__exit__()


class _EnablePythonDispatcher:
    """While it lives, kernels in Python come first: they are registered as all others are here, and nothing changes."""


def _log_api_usage_once(event: str) -> None:
    """Does nothing: nobody counts what is used."""


def _is_any_autocast_enabled() -> bool:
    """Whether autocast is on for any device type on this thread."""
    keys = [backend.autocast_key for backend in all_backends() if backend.autocast_key is not None]
    return bool(_core.key_mask(*keys) & ~_core.thread_keys()[1])


def _add_docstr(obj: Any, doc: str) -> Any:
    """Gives a docstring to an object without one, which is returned.

    Raises RuntimeError where it has one, TypeError where it cannot have another.
    """
    if obj.__doc__ is not None:
        raise RuntimeError(f"{getattr(obj, '__name__', obj)!r} already has a docstring")
    try:
        obj.__doc__ = doc
    except AttributeError as error:
        raise TypeError(f"don't know how to add docstring to type '{type(obj).__name__}'") from error
    return obj


_disabled_torch_function_impl = _core.disabled_torch_function


def _is_torch_function_enabled() -> bool:
    """Whether ``__torch_function__`` of subclasses is called on this thread."""
    return not (stacks.subclasses_off or stacks.function_off)


def _is_torch_function_all_disabled() -> bool:
    """Whether no ``__torch_function__`` is called on this thread, not even of modes."""
    return stacks.function_off


def _is_torch_function_mode_enabled() -> bool:
    """Whether a function mode sees what this thread calls."""
    return bool(stacks.function) and not stacks.function_off


def _len_torch_function_stack() -> int:
    """How many function modes are entered on this thread."""
    return len(stacks.function)


def _len_torch_dispatch_stack() -> int:
    """How many dispatch modes are entered on this thread."""
    return len(stacks.dispatch)
