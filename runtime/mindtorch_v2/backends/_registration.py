"""Device types that are added: to the table, under a name for PrivateUse1, and as modules ``torch.<name>``."""

from __future__ import annotations

import functools
import sys
from dataclasses import replace
from typing import Any

from .. import _core
from .._argument_types import names_wrong_types
from .._hooks import hooks
from . import _fallback
from ._backend import Backend, all_backends, backend_of

__all__ = ["private_use1_name", "register", "register_module", "rename_private_use1"]

_PACKAGE = __name__.partition(".")[0]


@names_wrong_types
def register(backend: Backend) -> None:
    """Adds a device type, for the life of the process.

    Raises RuntimeError where the name or the key is taken, or the key is no backend's.
    """
    if backend.key not in _core.backend_keys():
        raise RuntimeError(
            f"the device type {backend.name!r} cannot have the dispatch key {backend.key!r}: expected one of "
            f"{', '.join(_core.backend_keys())}"
        )
    for other in all_backends():
        if backend.name == other.name or backend.key == other.key:
            raise RuntimeError(
                f"the device type {backend.name!r} cannot be added with the key {backend.key}: {other.name!r} "
                f"has the key {other.key}. The keys PrivateUse2 and PrivateUse3 are for devices from outside"
            )
    _core.register_device(backend)
    if backend.fallback == "cpu":
        _core.set_own_fallback(backend.key, _fallback.cpu_fallback, _fallback.__name__)
    if hooks.device_added is not None:  # the runtime's own are there before operators, which name them
        hooks.device_added(backend)


def private_use1_name() -> str:
    """The device type that the key PrivateUse1 stands for."""
    return next(backend.name for backend in all_backends() if backend.key == _core.private_use1_key())


def rename_private_use1(name: str) -> None:
    """Makes PrivateUse1 the key of a device type of that name, for the life of the process.

    Raises RuntimeError where the name is taken, PrivateUse1 has another name already, or the NPU, whose key it is until
    then, is in use.
    """
    if not isinstance(name, str):
        raise RuntimeError(f"_rename_privateuse1_backend expects a str, but got {type(name).__name__}")
    current = private_use1_name()
    if name == current:
        return
    if current != "npu":
        raise RuntimeError(
            f"torch.register_privateuse1_backend() has already been set! Current backend: {current}. Another device "
            "has a key of its own, PrivateUse2 or PrivateUse3: backends.register"
        )
    if name in {backend.name for backend in all_backends()}:
        raise RuntimeError(f"Cannot register privateuse1 backend with in-tree device name: {name}")
    if _core.npu_is_bound():
        raise RuntimeError(
            f"PrivateUse1 cannot be renamed to {name!r}: it stands for the NPU, which is in use. Rename it before, or "
            "take a key of your own, PrivateUse2 or PrivateUse3: backends.register"
        )
    made = _with_module(Backend(name, key="PrivateUse1"))
    _core.take_private_use1()
    if hooks.private_use1_renamed is not None:
        hooks.private_use1_renamed()
    if hooks.key_added is not None:
        hooks.key_added(_core.private_use1_key())
    register(made)


def register_module(device_type: str, module: Any) -> None:
    """Makes a module what ``torch.<device_type>`` is; what it defines is what is known of the device.

    That is ``current_device()``, ``device_count()``, and ``get_amp_supported_dtype()``, the first of which is
    autocast's default. Raises RuntimeError where there is such a module.
    """
    name = _core.device(device_type).type
    package = sys.modules[_PACKAGE]
    if hasattr(package, name):
        raise RuntimeError(
            f"The runtime module of '{name}' has already been registered with '{getattr(package, name)}'"
        )
    supported = getattr(module, "get_amp_supported_dtype", None)
    backend = backend_of(name)
    if supported is not None:
        backend = replace(backend, autocast=tuple(str(dtype).rpartition(".")[2] for dtype in supported()))
    setattr(package, name, module)
    sys.modules[f"{_PACKAGE}.{name}"] = module
    if not hasattr(module, "fallback_report"):
        module.fallback_report = functools.partial(_fallback.fallback_report, name)
    _core.register_device(_with_module(backend))


def _with_module(backend: Backend) -> Backend:
    """The backend, with what it does not say asked of the device's module, once there is one."""

    def ask(function: str) -> Any:
        return getattr(sys.modules.get(f"{_PACKAGE}.{backend.name}"), function, None)

    def current_device() -> int:
        current = ask("current_device")
        return 0 if current is None else current()

    def check_index(index: int) -> None:
        count = ask("device_count")
        if count is not None and index >= count():
            raise RuntimeError(f"{backend.name}:{index}: there are {count()} {backend.name} devices")

    return replace(
        backend,
        current_device=backend.current_device or current_device,
        check_index=backend.check_index or check_index,
    )
