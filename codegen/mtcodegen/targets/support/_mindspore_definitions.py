"""Definitions carried out by MindSpore: operators as cells, and kernels of C libraries called through ctypes.

Cells run as they are called (PyNative mode); a graph that would hold one is refused. The names are those that
definitions are written with; ``torch`` stands for MindSpore's dtypes, for ``mint``, which has PyTorch's names, under
``torch.ops.aten``, and for the operators of these modules under ``torch.ops``.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import mindspore
import numpy as np
from mindspore import Tensor, mint, nn, ops
from mindspore.common import dtype as mstype

# isort: split
import opschema

from . import _functions
from ._callees import Names
from ._functions import *  # noqa: F403 - what definitions are written with
from ._language import Argument, DefinitionError, OperatorBuilder, Signature
from ._launcher import KernelLauncher
from ._planned import Planned, warn_deprecated
from ._runtime import Runtime

__all__ = ["DefinitionError", "KernelLauncher", "Library", "OperatorBuilder", "torch"]
__all__ += _functions.__all__

_KEYS = {"CPU": "CPU", "Ascend": "NPU"}  # by MindSpore's names of devices
_TYPES = {"CPU": "cpu", "Ascend": "npu"}


# ---------------------------------------------------------------- MindSpore's tensors
_CATEGORIES = ((mindspore.bool_,), mstype.int_type + mstype.uint_type, mstype.float_type)


def _category(dtype: Any) -> int:
    """The place of a dtype in the order bool, integer, floating-point, complex."""
    return next((rank for rank, dtypes in enumerate(_CATEGORIES) if dtype in dtypes), len(_CATEGORIES))


def _with_number(dtype: Any, number: Any) -> Any:
    """The dtype of what arithmetic makes of a tensor and a number, which counts where it is of a higher kind."""
    kind = next(rank for rank, types in enumerate((bool, int, float, complex)) if isinstance(number, types))
    return dtype if kind <= _category(dtype) else (mindspore.bool_, mindspore.int64, mindspore.float32)[kind]


class _MindSpore(Runtime):
    """How MindSpore's tensors are asked and made."""

    Tensor = Tensor
    byte_dtype = mindspore.uint8

    def default_dtype(self) -> Any:
        return mindspore.float32

    def device_type(self, device: Any) -> str:
        name = str(device).partition(":")[0]
        return _TYPES.get(name, name.lower())

    def device_index(self, device: Any) -> int | None:
        name, _, number = str(device).partition(":")
        return int(number or 0) if self.device_type(name) != "cpu" else None

    def is_floating(self, dtype: Any) -> bool:
        return dtype in mstype.float_type

    def is_complex(self, dtype: Any) -> bool:
        return _category(dtype) == len(_CATEGORIES)

    def is_signed(self, dtype: Any) -> bool:
        return dtype not in (mindspore.bool_, *mstype.uint_type)

    def itemsize(self, dtype: Any) -> int:
        bits = "".join(filter(str.isdigit, str(dtype)))
        return int(bits) // 8 if bits else 1

    def requires_grad(self, tensor: Any) -> bool:
        return True

    def empty(self, shape: Sequence[int], dtype: Any, device: Any) -> Any:
        return mint.empty(tuple(shape), dtype=dtype, device=str(device).partition(":")[0])

    def broadcast_shapes(self, *shapes: Sequence[int]) -> Sequence[int]:
        return tuple(np.broadcast_shapes(*map(tuple, shapes)))

    def result_type(self, *values: Any) -> Any:
        """PyTorch's rule, which MindSpore does not follow for 0-d tensors: dimensions decide, but for a higher kind."""
        first, second = values
        if not isinstance(second, Tensor):
            return _with_number(first.dtype, second)
        if (first.ndim == 0) is not (second.ndim == 0):
            decides, other = (first, second) if first.ndim else (second, first)
            if _category(other.dtype) <= _category(decides.dtype):
                return decides.dtype
            if _category(other.dtype) < len(_CATEGORIES):
                return other.dtype
        return self.promote_types(first.dtype, second.dtype)

    def promote_types(self, first: Any, second: Any) -> Any:
        return mint.add(mint.empty((1,), dtype=first), mint.empty((1,), dtype=second)).dtype

    def can_cast(self, source: Any, target: Any) -> bool:
        return _category(source) <= _category(target)

    def stream(self, device: Any) -> int | None:
        found: int = mindspore.runtime.current_stream().stream_ptr()
        return found if self.device_type(device) == "npu" else None

    def upload(self, data: bytes, device: Any) -> Any:
        return Tensor(np.frombuffer(data, np.uint8)).to(device)

    def primitive(self, name: str, attributes: Mapping[str, Any]) -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(ops, name)(**attributes)
        return found

    def function(self, name: str) -> Callable[..., Any]:
        return _built_in(name, (Tensor, mint, mint.nn.functional))

    def writes(self, callee: Any) -> bool:
        return False

    def dtype_name(self, dtype: Any) -> str:
        return str(dtype).lower()

    def half_bits(self, value: float, name: str) -> int:
        return int.from_bytes(Tensor(value, getattr(mindspore, name)).get_bytes(), "little")

    def blocked(self, symbol: str, abi: str, blocks: int | None) -> tuple[str, tuple[Any, ...]]:
        """The number of blocks and the current stream come first, for a kernel that has blocks."""
        if abi == "c":
            return symbol, ()
        return f"aclrtlaunch_{symbol}", (blocks, mindspore.runtime.current_stream().stream_ptr())

    def place(self, tensor: Any, abi: str) -> str | None:
        wanted = "CPU" if abi == "c" else "Ascend"
        found = str(tensor.device)
        return None if found.partition(":")[0] == wanted else f"expected tensors on {wanted}, got one on {found}"


_RUNTIME = _MindSpore()


# ---------------------------------------------------------------- names
def _built_in(name: str, places: Sequence[Any]) -> Callable[..., Any]:
    """MindSpore's function or method under PyTorch's name."""
    for place in places:
        if hasattr(place, name):
            found: Callable[..., Any] = getattr(place, name)
            return found
    raise AttributeError(f"MindSpore has no operator {name!r} under PyTorch's name")


def _find(namespace: str, name: str) -> Any:
    """An operator of these modules, or of MindSpore's own."""
    if namespace == "aten":
        return _built_in(name, (mint, mint.nn.functional, Tensor))
    if (namespace, name) not in _packets:
        raise AttributeError(f"there is no operator {namespace}::{name}")
    return _packets[namespace, name]


torch = Names(mindspore, _find, bool=mindspore.bool_)


# ---------------------------------------------------------------- operators
class _Context:
    """The ``ctx`` of a gradient written by hand: every argument counts as one that needs a gradient."""

    def __init__(self, inputs: Sequence[Any]) -> None:
        self.needs_input_grad = tuple([True for _ in x] if isinstance(x, (list, tuple)) else True for x in inputs)
        self.saved_tensors: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *outputs: Any) -> None:
        """Nothing to do: MindSpore passes zeros for what no gradient reached."""


class _Kernels(nn.Cell):  # type: ignore[misc]  # MindSpore has no types
    """What runs for one operator, called with a value for each argument of its schema."""

    def __init__(self, definition: Planned, deprecated: str | None) -> None:
        super().__init__()
        self.definition, self.deprecated = definition, deprecated
        self.keys = definition.keys()

    def construct(self, *values: Any) -> Any:
        """Run the kernel for the device of the tensors."""
        devices = [tensor.device for tensor in _tensors(values)]
        device = devices[0].partition(":")[0] if devices else mindspore.get_current_device().device_target
        key = next((key for key in (_KEYS.get(device), "CompositeExplicitAutograd") if key in self.keys), None)
        if key is None:
            raise NotImplementedError(f"{self.definition.signature.name} has no kernel for {device}")
        return self.run(key, values)

    def run(self, key: str, values: Sequence[Any]) -> Any:
        """Run one kernel, through whose parts gradients flow if it is composed."""
        if self.deprecated:
            warn_deprecated(self.definition.signature.name, self.deprecated, mindspore)
        return self.definition.plan(key)(*values)

    def bprop(self, *values: Any) -> tuple[Any, ...]:
        """The gradients of all arguments, those of lists one after another."""
        *inputs, output, grad = values
        several = len(self.definition.signature.returns) > 1
        found = self._gradients(inputs, output, grad if several else (grad,))
        pairs = zip(found, inputs, strict=True)
        return tuple(itertools.chain.from_iterable(_in_places(gradient, value) for gradient, value in pairs))

    def _gradients(self, inputs: Sequence[Any], output: Any, grads: Sequence[Any]) -> Sequence[Any]:
        op, name = self.definition.builder, self.definition.signature.name
        if op.marker == "not_differentiable":
            return [None] * len(inputs)
        if op.by_hand is not None:
            backward, setup = op.by_hand
            context = _Context(inputs)
            if setup is not None:
                setup(context, tuple(inputs), output)
            by_hand: Sequence[Any] = backward(context, *grads)
            return by_hand
        if not self.definition.has_gradient or op.marker:
            raise RuntimeError(f"{name} has no gradient: its `backward` gives none")
        outputs = output if len(grads) > 1 else (output,)
        # MindSpore does not say whose gradients are asked for: of all that can have one, none of integers.
        mask = sum(1 << i for i, value in enumerate(inputs) if any(_category(x.dtype) > 1 for x in _tensors([value])))
        found: Sequence[Any] = self.definition.gradient(mask)(*inputs, *outputs, *grads)
        return found


def _tensors(values: Sequence[Any]) -> list[Tensor]:
    """The tensors among values, and in lists of them."""
    items = [item for value in values for item in (value if isinstance(value, (list, tuple)) else [value])]
    return [item for item in items if isinstance(item, Tensor)]


def _with_tensors(values: list[Any]) -> list[Any]:
    """Values with tensors in place of complex numbers, which none of MindSpore's functions takes."""
    if not any(isinstance(value, complex) for value in values):
        return values
    wide = any(tensor.dtype in (mindspore.float64, mindspore.complex128) for tensor in _tensors(values))
    dtype = mindspore.complex128 if wide else mindspore.complex64
    return [Tensor(value, dtype) if isinstance(value, complex) else value for value in values]


def _in_places(gradient: Any, value: Any) -> list[Any]:
    """The gradient of an argument: one a tensor, in the shape of that."""
    if isinstance(value, (list, tuple)):
        return [*gradient] if gradient is not None else [None for _ in value]
    return [_summed(gradient, value) if isinstance(gradient, Tensor) and isinstance(value, Tensor) else gradient]


def _summed(gradient: Any, value: Any) -> Any:
    """The gradient in the shape of ``value``, which may have been broadcast."""
    extra = gradient.dim() - value.dim()
    sizes = enumerate(zip(gradient.shape[extra:], value.shape, strict=True), extra)
    dims = (*range(extra), *(i for i, (got, wanted) in sizes if got != wanted))
    return gradient.sum(dims).reshape(value.shape) if dims else gradient


class _CalledOnly:
    """A function that MindSpore's compiler cannot look into, and is told so when it tries."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)

    def __getattr__(self, name: str) -> Any:
        # Only the compiler asks for attributes that do not exist.
        raise NotImplementedError(
            "an operator that mtcodegen made runs in PyNative mode, and cannot be part of a graph: call it outside of "
            "functions under mindspore.jit, and with mindspore.set_context(mode=mindspore.PYNATIVE_MODE)"
        )


_call = _CalledOnly(lambda operator, args, kwargs: operator.called(args, kwargs))


class _Operator(nn.Cell):  # type: ignore[misc]  # MindSpore has no types
    """One operator: called with the arguments of its schema, by position or keyword."""

    def __init__(self, schema: opschema.Schema, definition: Planned, deprecated: str | None) -> None:
        super().__init__()
        self.schema = schema
        self.implementation = _Kernels(definition, deprecated)

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        """Bind the arguments and run the kernel."""
        return _call(self, args, kwargs)

    def called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a call gives."""
        values = _with_tensors(self._bound(args, kwargs))
        if "CompositeImplicitAutograd" in self.implementation.keys:
            return self.implementation.run("CompositeImplicitAutograd", values)
        return self.implementation(*values)

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """A value for each argument of the schema, defaults filled in."""
        name, positional = self.schema.qualname, self.schema.positional
        if len(args) > len(positional):
            raise TypeError(f"{name}() takes {len(positional)} positional arguments, got {len(args)}")
        given = {argument.name: value for argument, value in zip(positional, args, strict=False)}
        for key in kwargs:
            if key in given:
                raise TypeError(f"{name}() got {key!r} twice")
            if all(key != argument.name for argument in self.schema.arguments):
                raise TypeError(f"{name}() has no argument {key!r}")
        given |= kwargs
        missing = [arg.name for arg in self.schema.arguments if arg.name not in given and not arg.has_default]
        if missing:
            raise TypeError(f"{name}() misses the argument {missing[0]!r}")
        return [given.get(arg.name, arg.default_value if arg.has_default else None) for arg in self.schema.arguments]

    def takes(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether the arguments are as many, called and typed as the schema's."""
        try:
            values = self._bound(args, kwargs)
        except TypeError:
            return False
        return all(_fits(argument.type, value) for argument, value in zip(self.schema.arguments, values, strict=True))


_NUMBERS = {"float": (int, float), "int": int, "SymInt": int, "Scalar": (int, float, complex), "complex": complex}
_CLASSES: dict[str, Any] = {**_NUMBERS, "Tensor": Tensor, "bool": bool, "SymBool": bool, "str": str}


def _fits(type_: opschema.Type, value: Any) -> bool:
    """Whether a value is of a schema's type."""
    if isinstance(type_, opschema.OptionalType):
        return value is None or _fits(type_.elem, value)
    if isinstance(type_, opschema.ListType):
        if isinstance(value, (list, tuple)):
            return all(_fits(type_.elem, item) for item in value)
        return type_.size is not None and _fits(type_.elem, value)
    if isinstance(value, bool) and type_.name in ("float", "int", "SymInt"):
        return False
    return isinstance(value, _CLASSES.get(type_.name, object))


class _Packet(SimpleNamespace):
    """``torch.ops.<namespace>.<name>``: overloads by name; a call is one of the first that takes its arguments."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        overloads = [*vars(self).values()]
        fitting = next((operator for operator in overloads if operator.takes(args, kwargs)), None)
        if fitting is None and len(overloads) > 1:
            schemas = "".join(f"\n  {operator.schema}" for operator in overloads)
            raise TypeError(f"no overload takes these arguments; there are:{schemas}")
        return (fitting or overloads[0])(*args, **kwargs)


_packets: dict[tuple[str, str], _Packet] = {}


class Library:
    """Defines operators: cells that are found as ``torch.ops.<namespace>.<name>.<overload>``."""

    def __init__(self, ns: str, kind: str) -> None:
        self.ns = ns

    def operator(
        self,
        schema: str,
        *,
        tags: str | Sequence[str] = (),
        variants: Sequence[str] = (),
        deprecated: str | None = None,
        devices: Sequence[str] = (),
        graph_update: Sequence[str] = (),
    ) -> Callable[[Callable[..., None]], Any]:
        """Decorator: an operator is what the function says of symbols.

        Tags and methods have no place, nor have rules of op.jvp: MindSpore's `jvp` differentiates gradients.
        ``devices`` are those of the declaration's kernels, where not all of them are in the definition; the operator
        has them as ``devices``.
        """
        if graph_update:
            raise DefinitionError(
                f"{self.ns}::{schema.partition('(')[0]}: graph_update={list(graph_update)}: MindSpore captures no "
                "graphs whose arguments are updated; leave it out for this target"
            )
        parsed = opschema.parse_schema(f"{self.ns}::{schema}")
        return functools.partial(self._defined, parsed, deprecated, tuple(devices))

    def _defined(
        self, schema: opschema.Schema, deprecated: str | None, devices: tuple[str, ...], function: Callable[..., None]
    ) -> _Operator:
        arguments = tuple(Argument(a.name, str(a.type), a.kwarg_only, a.is_write) for a in schema.arguments)
        signature = Signature(schema.qualname, arguments, tuple(str(ret.type) for ret in schema.returns))
        operator = _Operator(schema, Planned(_RUNTIME, signature, function), deprecated)
        operator.__doc__ = function.__doc__
        operator.devices = devices or operator.implementation.definition.device_names()
        packet = _packets.setdefault((self.ns, schema.name), _Packet())
        setattr(packet, schema.overload or "default", operator)
        return operator
