"""Definitions carried out by PyTorch: operators of ``torch.library``, kernels on cpu called through ctypes.

The names are those that definitions are written with, ``torch`` among them: PyTorch itself, but for operators, which
may be named before they are defined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch as pytorch
from torch import Tensor
from torch._ops import OpOverload, OpOverloadPacket

from . import _functions
from ._callees import Names
from ._functions import *  # noqa: F403 - what definitions are written with
from ._language import Argument, DefinitionError, OperatorBuilder, Signature
from ._launcher import KernelLauncher
from ._planned import Planned, warn_deprecated
from ._runtime import Runtime
from ._torch_autograd import autograd_kernel
from ._torch_policies import autocast_kernel, binder, fallback_kernel, variant_kernel

__all__ = ["DefinitionError", "KernelLauncher", "Library", "OperatorBuilder", "torch"]
__all__ += _functions.__all__

_KEYS = {"NPU": "PrivateUse1"}
_NO_GRADIENT = "`backward` of its declaration gives none that torch.library takes"


# ---------------------------------------------------------------- PyTorch's tensors
class _PyTorch(Runtime):
    """How PyTorch's tensors are asked and made."""

    Tensor = Tensor
    byte_dtype = pytorch.uint8

    def default_dtype(self) -> Any:
        return pytorch.get_default_dtype()

    def device_type(self, device: Any) -> str:
        kind: str = device.type
        return "npu" if kind == pytorch._C._get_privateuse1_backend_name() else kind

    def device_index(self, device: Any) -> int | None:
        found: int | None = device.index
        return found

    def is_floating(self, dtype: Any) -> bool:
        return bool(dtype.is_floating_point)

    def is_complex(self, dtype: Any) -> bool:
        return bool(dtype.is_complex)

    def is_signed(self, dtype: Any) -> bool:
        return bool(dtype.is_signed)

    def itemsize(self, dtype: Any) -> int:
        return int(dtype.itemsize)

    def requires_grad(self, tensor: Any) -> bool:
        return bool(tensor.requires_grad)

    def empty(self, shape: Sequence[int], dtype: Any, device: Any) -> Any:
        return pytorch.empty(tuple(shape), dtype=dtype, device=device)

    def broadcast_shapes(self, *shapes: Sequence[int]) -> Sequence[int]:
        return tuple(pytorch.broadcast_shapes(*shapes))

    def result_type(self, *values: Any) -> Any:
        dtype = pytorch.result_type(values[0], values[1])
        for value in values[2:]:
            dtype = pytorch.promote_types(dtype, pytorch.result_type(values[0], value))
        return dtype

    def promote_types(self, first: Any, second: Any) -> Any:
        return pytorch.promote_types(first, second)

    def can_cast(self, source: Any, target: Any) -> bool:
        return bool(pytorch.can_cast(source, target))

    def least(self, first: Any, second: Any) -> Any:
        return pytorch.sym_min(first, second)

    def greatest(self, first: Any, second: Any) -> Any:
        return pytorch.sym_max(first, second)

    def upload(self, data: bytes, device: Any) -> Any:
        return pytorch.frombuffer(bytearray(data), dtype=pytorch.uint8).to(device)

    def function(self, name: str) -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(Tensor, name, None) or getattr(pytorch.ops.aten, name)
        return found

    def writes(self, callee: Any) -> bool:
        schemas = _schemas(callee)
        if not schemas:
            name = str(getattr(callee, "__name__", ""))
            return name.endswith("_") and not name.endswith("__")
        return any(a.alias_info is not None and a.alias_info.is_write for s in schemas for a in s.arguments)

    def outputs(self, callee: Any) -> int:
        counts = {len(schema.returns) for schema in _schemas(callee)}
        return counts.pop() if len(counts) == 1 else 0

    def variant(self, name: str, base: Any) -> Callable[..., Any]:
        return variant_kernel(_overload(name), base)

    def dtype_name(self, dtype: Any) -> str:
        return str(dtype).removeprefix("torch.")

    def half_bits(self, value: float, name: str) -> int:
        return int(pytorch.tensor(value, dtype=getattr(pytorch, name)).view(pytorch.uint16).item())

    def blocked(self, symbol: str, abi: str, blocks: int | None) -> tuple[str, tuple[Any, ...]]:
        return symbol, ()

    def place(self, tensor: Any, abi: str) -> str | None:
        return None if tensor.device.type == "cpu" else f"expected tensors on cpu, got one on {tensor.device}"


_RUNTIME = _PyTorch()


def _schemas(callee: Any) -> list[Any]:
    """The schemas of an operator's overloads; an empty list for a plain function."""
    if isinstance(callee, OpOverloadPacket):
        return [getattr(callee, overload)._schema for overload in callee.overloads()]
    return [callee._schema] if isinstance(callee, OpOverload) else []


def _find(namespace: str, name: str) -> Any:
    return getattr(getattr(pytorch.ops, namespace), name)


torch = Names(pytorch, _find)


# ---------------------------------------------------------------- registration
def _overload(name: str) -> Any:
    """The operator ``ns::name`` or ``ns::name.overload``."""
    namespace, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    return getattr(getattr(getattr(pytorch.ops, namespace), base), overload or "default")


class Library:
    """Defines operators and registers what runs for them."""

    def __init__(self, ns: str, kind: str) -> None:
        self.ns = ns
        self._lib = pytorch.library.Library(ns, kind)

    def operator(
        self,
        schema: str,
        *,
        tags: str | Sequence[str] = (),
        variants: Sequence[str] = (),
        deprecated: str | None = None,
        fallback: str | None = None,
        autocast: Mapping[str, str] | None = None,
        devices: Sequence[str] = (),
        graph_update: Sequence[str] = (),
    ) -> Callable[[Callable[..., None]], Any]:
        """Decorator: an operator is what the function says of symbols. Methods (``variants``) are not installed.

        ``devices`` are those of the declaration's kernels, where not all of them are in the definition; what is
        returned has them as ``devices``.
        """
        _refuse_graph_update(self.ns, schema, graph_update)

        def decorate(function: Callable[..., None]) -> Any:
            names = (tags,) if isinstance(tags, str) else tags
            self._lib.define(schema, tags=tuple(getattr(pytorch.Tag, tag) for tag in names))
            name = schema.partition("(")[0]
            overload = _overload(f"{self.ns}::{name}")
            definition = Planned(_RUNTIME, _signature(f"{self.ns}::{name}", overload._schema), function)
            self._register(name, overload, definition, deprecated)
            overload.devices = tuple(devices) or definition.device_names()
            for device, policy in (autocast or {}).items():
                key = f"Autocast{_KEYS.get(device, device)}"
                self._lib.impl(name, autocast_kernel(overload, key, policy), key)
            if fallback:
                there = [device for device in definition.devices() if device not in ("any", "Meta")]
                for device in {"NPU", "CUDA", "MPS"}.difference(there):
                    kernel = fallback_kernel(overload, fallback, there)
                    self._lib.impl(name, kernel, _KEYS.get(device, device))
            return overload

        return decorate

    def _register(self, name: str, overload: Any, definition: Planned, deprecated: str | None) -> None:
        for key in definition.keys():  # noqa: SIM118 - no mapping
            kernel = _kernel(overload, definition, key, deprecated)
            if key == "Meta":
                pytorch.library.register_fake(definition.signature.name, kernel, lib=self._lib)
            else:
                self._lib.impl(name, kernel, _KEYS.get(key, key))
            if key == "CompositeImplicitAutograd":  # vmap goes through the parts: by itself it refuses lists of tensors
                self._lib.impl(name, kernel, "FuncTorchBatchedDecomposition")
        recording = autograd_kernel(overload, definition)
        if recording is not None:
            self._lib.impl(name, recording, "Autograd", with_keyset=True)


def _refuse_graph_update(ns: str, schema: str, names: Sequence[str]) -> None:
    if names:
        raise DefinitionError(
            f"{ns}::{schema.partition('(')[0]}: graph_update={list(names)}: PyTorch captures no graphs whose arguments "
            "are updated; leave it out for this target"
        )


def _signature(name: str, schema: Any) -> Signature:
    arguments = tuple(
        Argument(a.name, _type(str(a.real_type)), a.kwarg_only, a.alias_info is not None and a.alias_info.is_write)
        for a in schema.arguments
    )
    return Signature(name, arguments, tuple(_type(str(ret.real_type)) for ret in schema.returns))


def _type(text: str) -> str:
    """A type as a schema has it: ``int[]?``."""
    if text.startswith("Optional["):
        return f"{_type(text[9:-1])}?"
    if text.startswith("List["):
        return f"{_type(text[5:-1])}[]"
    return "Scalar" if text == "number" else text


def _kernel(overload: Any, definition: Planned, key: str, deprecated: str | None) -> Callable[..., Any]:
    bound, name, plan = binder(overload._schema), definition.signature.name, definition.plan

    def kernel(*args: Any, **kwargs: Any) -> Any:
        return plan(key)(*bound(args, kwargs))

    def warning(*args: Any, **kwargs: Any) -> Any:
        warn_deprecated(name, str(deprecated), pytorch)
        return kernel(*args, **kwargs)

    return warning if deprecated else kernel
