"""What definitions call beside `op`: allocation, C types, and functions of numbers, shapes and dtypes.

``__all__`` is the one list of the names that a definition is written with, whatever runtime carries it out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ._symbols import DefinitionError, Shape, Symbol, TensorSymbol, operands_of
from ._tracer import Tracer, running

__all__ = [
    "absolute", "align_up", "all_of", "any_of", "bf16", "bool_", "broadcast", "broadcast_shapes", "can_cast", "ceil",
    "ceil_div", "context", "desc", "dim_bits", "empty", "exp", "f16", "f32", "f64", "floor", "i8", "i16", "i32", "i64",
    "like", "log", "maximum", "minimum", "none_of", "one_of", "promote_types", "reduced_shape", "result_type", "rng",
    "sqrt", "stream", "struct", "to_float", "to_int", "total", "u8", "u16", "u32", "u64", "upload", "workspace",
]  # fmt: skip


# ---------------------------------------------------------------- outputs
def like(t: Any, dtype: Any = None) -> Any:
    """A tensor of the shape and device of another, and of its dtype unless one is given."""
    of = _tracer_of_tensor("like", t)
    if dtype is None:
        return of.make("tensor", "like", t, unique=True)
    return of.make("tensor", "like_as", t, of.lift(dtype), unique=True)


def empty(shape: Any, dtype: Any, device: Any) -> Any:
    """A tensor of a shape and dtype; ``device`` is the tensor on whose device it lies, or a device.

    None is the default dtype, and the default device, of the call.
    """
    of = _tracer_of(shape, dtype, device)
    kind = of.make("dtype", "default_dtype") if dtype is None else of.lift(dtype)
    return of.make("tensor", "empty", of.shape(shape), kind, of.lift(device), unique=True)


def broadcast(a: Any, b: Any) -> Any:
    """A tensor of the shape that two tensors broadcast to and of their result type, on the first one's device."""
    of = _tracer_of_tensor("broadcast", a)
    return of.make("tensor", "broadcast_like", a, b, unique=True)


# ---------------------------------------------------------------- arguments of launches
@dataclass(frozen=True, eq=False)
class Typed:
    """A launch argument with the name of its C type."""

    ctype: str
    value: Any


def _typed(name: str, what: str, ctype: str = "") -> Callable[[Any], Typed]:
    def typed(value: Any) -> Typed:
        return Typed(ctype or name, value)

    typed.__name__ = typed.__qualname__ = name
    typed.__doc__ = f"A launch argument that is {what} in C."
    return typed


f16, bf16, f32, f64 = _typed("f16", "half"), _typed("bf16", "bfloat16"), _typed("f32", "float"), _typed("f64", "double")
i8, i16, i32, i64 = (_typed(f"i{bits}", f"int{bits}_t") for bits in (8, 16, 32, 64))
u8, u16, u32, u64 = (_typed(f"u{bits}", f"uint{bits}_t") for bits in (8, 16, 32, 64))
bool_ = _typed("bool_", "bool")
desc = _typed("desc", "const mt_tensor*: a tensor of any strides, for kernels on the CPU,")
rng = _typed("rng", "mt_generator*: a torch.Generator of the CPU's, or its default one for None,", "generator")


def context() -> Typed:
    """What a kernel is told of where it runs and of what comes next: const mt_context* in C, a struct for AscendC."""
    return Typed("context", None)


def struct(**fields: Typed) -> Typed:
    """A C struct of typed fields, packed as C packs it: by value for an AscendC kernel, else by host address."""
    for name, field in fields.items():
        _require_typed("struct", f"field {name!r}", field)
    values = [field.value for field in fields.values()]
    of = _tracer_of(*values)
    layout = tuple((name, field.ctype) for name, field in fields.items())
    return Typed("host", of.make("bytes", "struct", *map(of.lift, values), what=layout))


def upload(value: Typed, device: Any) -> Any:
    """A struct in memory of a tensor's device, for a kernel that reads its tiling data from there."""
    _require_typed("upload", "argument 'value'", value)
    of = _tracer_of_tensor("upload", device)
    return of.make("tensor", "upload", value.value, device.device, unique=True)


def workspace(nbytes: Any, device: Any) -> Any:
    """Scratch memory of a launch on a tensor's device; freed when the stream has passed the launch."""
    of = _tracer_of_tensor("workspace", device)
    return of.make("tensor", "empty", of.shape([nbytes]), of.lift(of.byte_dtype), device, unique=True)


def stream(device: Any) -> Any:
    """The stream on which kernels for a tensor's device are queued, for one that queues work itself."""
    of = _tracer_of_tensor("stream", device)
    return of.make("stream", "stream", device.device)


# ---------------------------------------------------------------- numbers
def minimum(a: Any, b: Any = None) -> Any:
    """The smaller of two numbers, or the smallest size in a shape; of tensors the operator."""
    return _of_shape("minimum", min, a) if b is None else _of_two("min", "minimum", min, a, b)


def maximum(a: Any, b: Any = None) -> Any:
    """The greater of two numbers, or the greatest size in a shape; of tensors the operator."""
    return _of_shape("maximum", max, a) if b is None else _of_two("max", "maximum", max, a, b)


def ceil_div(a: Any, b: Any) -> Any:
    """``a / b`` for ints, rounded up."""
    of = _tracer_in(a, b)
    return _computed("ceil_div", _ceil_div, a, b) if of is None else of.arithmetic("ceildiv", a, b)


def _ceil_div(a: Any, b: Any) -> Any:
    return -(-a // b)


def align_up(a: Any, b: Any) -> Any:
    """The least multiple of ``b`` that is not below ``a``."""
    return ceil_div(a, b) * b


def _of_number(name: str, kind: str, function: Callable[[Any], Any], doc: str) -> Callable[[Any], Any]:
    def compute(x: Any) -> Any:
        of = _tracer_in(x)
        return _computed(name, function, x) if of is None else of.make(kind, "python", of.lift(x), what=(function, ()))

    compute.__name__ = compute.__qualname__ = name
    compute.__doc__ = doc
    return compute


def absolute(x: Any) -> Any:
    """The distance of a number from 0."""
    of = _tracer_in(x)
    if of is None:
        return _computed("absolute", abs, x)
    if x.kind in ("int", "float"):
        return of.arithmetic("max", x, -x)
    return of.make("float", "python", x, what=(abs, ()))  # of a Scalar, which may be complex


exp = _of_number("exp", "float", math.exp, "e to the power of a number.")
log = _of_number("log", "float", math.log, "The natural logarithm of a number.")
sqrt = _of_number("sqrt", "float", math.sqrt, "The square root of a number.")
floor = _of_number("floor", "int", math.floor, "The greatest int that is not above a number.")
ceil = _of_number("ceil", "int", math.ceil, "The least int that is not below a number.")
to_int = _of_number("to_int", "int", int, "A number as an int, rounded towards zero.")
to_float = _of_number("to_float", "float", float, "A number as a float.")
total = _of_number("total", "int", sum, "The sum of the sizes in a shape.")


def all_of(*conditions: Any) -> Any:
    """Whether all conditions hold, as one condition: ``and`` would make two ways of each."""
    return _joined("and", conditions)


def any_of(*conditions: Any) -> Any:
    """Whether any condition holds, as one condition."""
    return _joined("or", conditions)


def none_of(*conditions: Any) -> Any:
    """Whether no condition holds, as one condition."""
    joined = _joined("or", conditions)
    return joined.of.negation(joined) if isinstance(joined, Symbol) else not joined


# ---------------------------------------------------------------- dtypes
def one_of(dtype: Any, *dtypes: Any) -> Any:
    """Whether a dtype is one of several, as one condition: ``in`` would make two ways of each."""
    return dtype.of.make("bool", "dtype_in", dtype, what=dtypes) if isinstance(dtype, Symbol) else dtype in dtypes


def can_cast(source: Any, target: Any) -> Any:
    """Whether values of a dtype may become another's, as ``torch.can_cast`` says."""
    return _of_dtypes("bool", "can_cast", source, target)


def promote_types(a: Any, b: Any) -> Any:
    """The dtype to which two are promoted."""
    return _of_dtypes("dtype", "promote", a, b)


def result_type(*values: Any) -> Any:
    """The dtype of what arithmetic makes of tensors and numbers."""
    return _of_dtypes("dtype", "result_type", *values)


# ---------------------------------------------------------------- shapes
def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that several broadcast to."""
    of = _tracer_of(*shapes)
    found = of.shape(shapes[0])
    for shape in shapes[1:]:
        found = of.make("shape", "broadcast", found, of.shape(shape))
    return found


def reduced_shape(shape: Any, dims: Any, keepdim: Any) -> Any:
    """A shape whose dimensions in ``dims`` (None or an empty list: all) are left out, or 1."""
    of = _tracer_of(shape, dims, keepdim)
    return of.make("shape", "reduced", of.shape(shape), _listed(of, dims), of.lift(keepdim))


def dim_bits(dims: Any, rank: Any) -> Any:
    """The dimensions in ``dims`` (None or an empty list: all) of so many, as the bits of an integer of 64."""
    of = _tracer_of(dims, rank)
    return of.make("int", "dim_bits", _listed(of, dims), of.lift(rank))


def _listed(of: Tracer, dims: Any) -> Any:
    return of.shape(dims) if isinstance(dims, (list, tuple)) else of.lift(dims)


# ---------------------------------------------------------------- inside
def _tracer_in(*values: Any) -> Tracer | None:
    return next((symbol.of for symbol in operands_of(values)), None)


def _tracer_of(*values: Any) -> Tracer:
    of = _tracer_in(*values) or running.tracer or running.evaluator
    if of is None:
        raise DefinitionError(f"none of {values} is known only at the call: compute it in Python")
    return of


def _tracer_of_tensor(function: str, value: Any) -> Tracer:
    if not isinstance(value, TensorSymbol):
        raise DefinitionError(f"{function}(): expected a tensor of the operator that is defined, got {value!r}")
    return value.of


def _require_typed(function: str, what: str, value: Any) -> None:
    if not isinstance(value, Typed):
        raise DefinitionError(f"{function}(): {what}: expected a value with its C type, as i32(n), got {value!r}")


def _computed(name: str, function: Callable[..., Any], *values: Any) -> Any:
    """What Python makes of values that are known; an error names them."""
    try:
        return function(*values)
    except (TypeError, ValueError, ArithmeticError) as error:
        given = ", ".join(map(repr, values))
        raise type(error)(f"{name}({given}) cannot be computed: it is for numbers that it is defined for") from error


def _of_dtypes(kind: str, step: str, *values: Any) -> Any:
    of = _tracer_of(*values)
    symbolic = any(isinstance(value, Symbol) for value in values)
    return of.make(kind, step, *map(of.lift, values)) if symbolic else of.evaluated(step, *values)


def _of_two(step: str, name: str, function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    of = _tracer_in(a, b)
    if of is None:
        return _computed(name, function, a, b)
    if isinstance(a, TensorSymbol) or isinstance(b, TensorSymbol):
        return of.method(name, (a, b), {})
    if isinstance(a, Shape) or isinstance(b, Shape):
        raise DefinitionError(f"{name} of {a!r} and {b!r}: it is for numbers")
    return of.arithmetic(step, a, b)


def _of_shape(name: str, function: Callable[[Any], Any], shape: Any) -> Any:
    if not isinstance(shape, Symbol):
        return _computed(name, function, shape)
    return shape.of.make("int", "python", shape, what=(function, ()))


def _joined(step: str, conditions: tuple[Any, ...]) -> Any:
    of = _tracer_in(*conditions)
    if of is None:  # in a function of values
        return all(conditions) if step == "and" else any(conditions)
    found = of.lift(conditions[0])
    for condition in conditions[1:]:
        found = of.make("bool", step, found, of.lift(condition))
    return found
