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

from ._callees import Callee, Operators
from ._definition import Argument, Definition, Geometry, OperatorBuilder, Signature, warn_deprecated
from ._helpers import (
    absolute,
    align_up,
    all_of,
    any_of,
    bf16,
    bool_,
    broadcast,
    broadcast_shapes,
    can_cast,
    ceil,
    ceil_div,
    desc,
    empty,
    exp,
    f16,
    f32,
    f64,
    floor,
    i8,
    i16,
    i32,
    i64,
    like,
    log,
    maximum,
    minimum,
    none_of,
    one_of,
    promote_types,
    reduced_shape,
    result_type,
    sqrt,
    stream,
    struct,
    to_float,
    to_int,
    total,
    u8,
    u16,
    u32,
    u64,
    upload,
    workspace,
)  # fmt: skip
from ._launcher import KernelLauncher
from ._runtime import DefinitionError, Runtime
from ._torch_policies import autocast_kernel, binder, fallback_kernel, variant_kernel

__all__ = [
    "DefinitionError", "KernelLauncher", "Library", "OperatorBuilder", "absolute", "align_up", "all_of", "any_of",
    "bf16", "bool_", "broadcast", "broadcast_shapes", "can_cast", "ceil", "ceil_div", "desc", "empty", "exp", "f16",
    "f32", "f64", "floor", "i8", "i16", "i32", "i64", "like", "log", "maximum", "minimum", "none_of", "one_of",
    "promote_types", "reduced_shape", "result_type", "sqrt", "stream", "struct", "to_float", "to_int", "torch", "total",
    "u8", "u16", "u32", "u64", "upload", "workspace",
]  # fmt: skip

_KEYS = {"NPU": "PrivateUse1"}
_NO_GRADIENT = "`backward` of its declaration gives none that torch.library takes"


# ---------------------------------------------------------------- PyTorch's tensors
class _PyTorch(Runtime):
    """How PyTorch's tensors are asked and made."""

    Tensor = Tensor
    scratch_dtype = pytorch.uint8

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
        if isinstance(callee, OpOverloadPacket):
            schemas = [getattr(callee, overload)._schema for overload in callee.overloads()]
        elif isinstance(callee, OpOverload):
            schemas = [callee._schema]
        else:
            name = str(getattr(callee, "__name__", ""))
            return name.endswith("_") and not name.endswith("__")
        return any(a.alias_info is not None and a.alias_info.is_write for s in schemas for a in s.arguments)

    def variant(self, name: str, base: Any) -> Callable[..., Any]:
        return variant_kernel(_overload(name), base.found if isinstance(base, Callee) else base)

    def dtype_name(self, dtype: Any) -> str:
        return str(dtype).removeprefix("torch.")

    def half_bits(self, value: float, name: str) -> int:
        return int(pytorch.tensor(value, dtype=getattr(pytorch, name)).view(pytorch.uint16).item())

    def blocked(self, symbol: str, abi: str, blocks: int | None) -> tuple[str, tuple[Any, ...]]:
        return symbol, ()

    def place(self, tensor: Any, abi: str) -> str | None:
        return None if tensor.device.type == "cpu" else f"expected tensors on cpu, got one on {tensor.device}"


_RUNTIME = _PyTorch()


def _find(namespace: str, name: str) -> Any:
    return getattr(getattr(pytorch.ops, namespace), name)


class _Names:
    """PyTorch's names."""

    ops = Operators(_find)

    def __getattr__(self, name: str) -> Any:
        return getattr(pytorch, name)


torch = _Names()


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
    ) -> Callable[[Callable[..., None]], Any]:
        """Decorator: an operator is what the function says of symbols. Methods (``variants``) are not installed."""

        def decorate(function: Callable[..., None]) -> Any:
            names = (tags,) if isinstance(tags, str) else tags
            self._lib.define(schema, tags=tuple(getattr(pytorch.Tag, tag) for tag in names))
            name = schema.partition("(")[0]
            overload = _overload(f"{self.ns}::{name}")
            definition = Definition(_RUNTIME, _signature(f"{self.ns}::{name}", overload._schema), function)
            self._register(name, overload, definition, deprecated)
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

    def _register(self, name: str, overload: Any, definition: Definition, deprecated: str | None) -> None:
        for key in definition.keys():  # noqa: SIM118 - no mapping
            kernel = _kernel(overload, definition, key, deprecated)
            if key == "Meta":
                pytorch.library.register_fake(definition.signature.name, kernel, lib=self._lib)
            else:
                self._lib.impl(name, kernel, _KEYS.get(key, key))
        gradient = _gradient(overload, definition)
        if gradient is not None:
            setup, backward = gradient
            pytorch.library.register_autograd(
                definition.signature.name,
                _aligned(overload, backward),
                setup_context=_complete(overload, setup),
                lib=self._lib,
            )
        elif definition.has_gradient:
            self._lib.impl(name, _refusing(overload), "Autograd", with_keyset=True)


def _signature(name: str, schema: Any) -> Signature:
    def alias(ret: Any) -> str | None:
        if ret.alias_info is None:
            return None
        sets = ret.alias_info.before_set
        return next((a.name for a in schema.arguments if a.alias_info and a.alias_info.before_set == sets), None)

    arguments = tuple(Argument(a.name, _type(str(a.real_type)), a.kwarg_only) for a in schema.arguments)
    return Signature(name, arguments, tuple((_type(str(ret.real_type)), alias(ret)) for ret in schema.returns))


def _type(text: str) -> str:
    """A type as a schema has it: ``int[]?``."""
    if text.startswith("Optional["):
        return f"{_type(text[9:-1])}?"
    if text.startswith("List["):
        return f"{_type(text[5:-1])}[]"
    return "Scalar" if text == "number" else text


def _kernel(overload: Any, definition: Definition, key: str, deprecated: str | None) -> Callable[..., Any]:
    bound, name = binder(overload._schema), definition.signature.name

    def kernel(*args: Any, **kwargs: Any) -> Any:
        if deprecated:
            warn_deprecated(name, deprecated, pytorch)
        return definition.call(key, bound(args, kwargs))

    return kernel


# ---------------------------------------------------------------- gradients
_Pair = tuple[Callable[..., None], Callable[..., Any]]


def _gradient(overload: Any, definition: Definition) -> _Pair | None:
    """The setup and backward of an operator: they see all arguments. None: there is none that PyTorch registers."""
    op, schema = definition.ways[0], overload._schema
    tensors = [i for i, ret in enumerate(schema.returns) if "Tensor" in str(ret.type)]
    if op.marker == "not_implemented":
        return None if _takes_no_gradient(schema) else (_no_setup, _missing(overload))
    if op.marker == "not_differentiable":
        return _marking(tensors), lambda ctx, *grads: (None,) * len(schema.arguments)
    if op.by_hand is not None:
        by_hand, setup = op.by_hand
        return setup or _no_setup, by_hand
    formulas = [op for op in definition.ways if op.formula is not None]
    if not formulas:
        return None
    flags = formulas[0].differentiable
    mark = _marking([i for i in tensors if flags and not flags[i]])

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        outputs = (output,) if len(schema.returns) == 1 else output
        reads, saved = definition.reads(), list[Tensor]()
        ctx.kept = [
            [_kept(value, (kind, i) in reads, saved) for i, value in enumerate(values)]
            for kind, values in (("arg", inputs), ("output", outputs))
        ]
        ctx.save_for_backward(*saved)
        mark(ctx, inputs, output)

    def backward(ctx: Any, *grads: Any) -> Any:
        tensors = ctx.saved_tensors
        inputs, outputs = ([_restored(value, tensors) for value in values] for values in ctx.kept)
        wanted = [any(needs) if isinstance(needs, (list, tuple)) else needs for needs in ctx.needs_input_grad]
        return definition.gradients(inputs, outputs, grads, wanted)

    return setup_context, backward


class _Place(int):
    """Where a tensor is among those saved."""


def _kept(value: Any, is_read: bool, saved: list[Tensor]) -> Any:
    """A value without its tensors: those that are read are saved, of others the geometry is kept."""
    if isinstance(value, Tensor):
        if not is_read:
            return Geometry(value.shape, value.dtype, value.device)
        saved.append(value)
        return _Place(len(saved) - 1)
    return [_kept(item, is_read, saved) for item in value] if isinstance(value, (list, tuple)) else value


def _restored(value: Any, saved: Sequence[Tensor]) -> Any:
    if isinstance(value, _Place):
        return saved[value]
    return [_restored(item, saved) for item in value] if isinstance(value, list) else value


def _no_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    pass


def _marking(outputs: Sequence[int]) -> Callable[..., None]:
    """A setup that says which outputs have no gradient."""

    def setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        every = output if isinstance(output, tuple) else (output,)
        found = [every[i] for i in outputs]
        if found:
            ctx.mark_non_differentiable(*(t for x in found for t in (x if isinstance(x, (list, tuple)) else (x,))))

    return setup


def _complete(overload: Any, setup: Callable[..., None]) -> Callable[..., None]:
    """A setup that gets every argument of the schema, keyword-only ones included."""
    arguments = overload._schema.arguments
    keywords = [argument.name for argument in arguments if argument.kwarg_only]

    def complete(
        ctx: Any, inputs: tuple[Any, ...], output: Any, keyword_only_inputs: Mapping[str, Any] | None = None
    ) -> None:
        given = keyword_only_inputs or {}
        # While forward runs, PyTorch's needs_input_grad has an entry more, and one for each tensor of a list.
        context = _Context(ctx, tuple(True for _ in arguments))
        setup(context, (*inputs, *(given[keyword] for keyword in keywords)), output)

    return complete


def _aligned(overload: Any, backward: Callable[..., Any]) -> Callable[..., Any]:
    """A backward that is told of, and gives, a gradient for every argument of the schema."""
    count = len(overload._schema.arguments)

    def aligned(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        passed = tuple(ctx.needs_input_grad)
        gradients = backward(_Context(ctx, (*passed, *(False for _ in range(count - len(passed))))), *grads)
        return tuple(map(_structured, gradients, passed))

    return aligned


def _structured(gradient: Any, needs: Any) -> Any:
    """The gradient of one argument, for a list one a tensor; what was not passed comes last and has none."""
    if not isinstance(needs, (list, tuple)):
        return gradient
    return [None for _ in needs] if gradient is None else [*gradient]


class _Context:
    """PyTorch's ``ctx`` with an entry in ``needs_input_grad`` for each argument of the schema, passed or not."""

    def __init__(self, ctx: Any, needs: tuple[Any, ...]) -> None:
        self.__dict__.update(_ctx=ctx, needs_input_grad=needs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._ctx, name, value)


def _takes_no_gradient(schema: Any) -> bool:
    """Whether ``torch.library`` registers no gradient for a schema: what aliases, and keyword-only tensors."""
    keywords = [argument for argument in schema.arguments if argument.kwarg_only]
    parts = (*schema.arguments, *schema.returns)
    return any(part.alias_info for part in parts) or any("Tensor" in str(argument.type) for argument in keywords)


def _missing(overload: Any) -> Callable[..., Any]:
    """The gradient of an operator that has none."""

    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(f"derivative for {overload.name()} is not implemented: {_NO_GRADIENT}")

    return backward


def _refusing(overload: Any) -> Callable[..., Any]:
    """What runs at the key Autograd of an operator that can be given no gradient, not even one that raises."""

    def call(keys: Any, *args: Any, **kwargs: Any) -> Any:
        values = (*args, *kwargs.values())
        tensors = [x for value in values for x in (value if isinstance(value, (list, tuple)) else [value])]
        if pytorch.is_grad_enabled() and any(isinstance(x, Tensor) and x.requires_grad for x in tensors):
            raise RuntimeError(
                f"derivative for {overload.name()} is not implemented, and an argument requires grad: call it under "
                f"torch.no_grad(), or with detached tensors; {_NO_GRADIENT}"
            )
        with pytorch._C._AutoDispatchBelowAutograd():
            return overload.redispatch(keys & pytorch._C._after_autograd_keyset, *args, **kwargs)

    return call
