"""Kernels that are made of another operator: in place of it, into given outputs, or writing nothing."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from opschema import OptionalType, Schema, SchemaKind

from ..._core import OpOverload, Tensor, is_grad_enabled
from ...errors import CheckError, check_error
from ._out_dtypes import computes_in, dtype_conflict, dtype_problem, misfit
from ._policies import aliased_argument, called, in_tensors, merged

__all__ = ["resize_out", "variant_kernel"]

_FILLS = frozenset(("arange", "linspace", "logspace", "range"))  # what has as many elements as their result, as it is
_OPTIONS = ("dtype", "layout", "device", "pin_memory")


def variant_kernel(overload: OpOverload, base: OpOverload) -> Callable[..., Any]:
    """A kernel of ``overload`` that calls ``base``: on copies of what ``base`` writes to and it does not."""
    schema, other = overload._schema, base._schema
    if (schema.arguments, schema.returns) == (other.arguments, other.returns):  # another name
        return lambda *args, **kwargs: base(*args, **kwargs)
    writes = {argument.name for argument in schema.arguments if argument.is_write}
    fits = _Fitting(schema, other, "pointwise" in overload.tags or "pointwise" in base.tags)
    copied = [argument.name for argument in other.arguments if argument.is_write and argument.name not in writes]

    written_anew = writes - {argument.name for argument in other.arguments if argument.is_write}

    def kernel(*args: Any, **kwargs: Any) -> Any:
        named = dict(zip([a.name for a in schema.arguments], merged(schema, args, kwargs), strict=True))
        given = {**named, **_settled(schema, other, named)}
        given |= {name: in_tensors(lambda tensor: tensor.clone(), named[name]) for name in copied}
        if schema.kind is SchemaKind.INPLACE and is_grad_enabled():
            given |= {name: in_tensors(_as_before, named[name]) for name in written_anew}
        result = called(base, [given[argument.name] for argument in other.arguments])
        if schema.kind is SchemaKind.FUNCTIONAL:
            return _functional(other, copied, given, result)
        return _written(fits, named, [given[name] for name in copied], result)

    return kernel


def _as_before(tensor: Tensor) -> Tensor:
    """What is about to change as it was, for gradients that read it."""
    return tensor.clone() if tensor.requires_grad else tensor


@dataclass(frozen=True)
class _Fitting:
    """Which operator writes the results of which, and whether by element: what is written to must fit."""

    schema: Schema
    base: Schema
    pointwise: bool

    def problem(self, name: str, target: Tensor, result: Tensor) -> str:
        """What is wrong with an argument that a result is to be written to."""
        return dtype_problem(self.schema, self.base, self.pointwise, name, target.dtype, result.dtype)


def _settled(schema: Schema, base: Schema, named: dict[str, Any]) -> dict[str, Any]:
    """What is written to says of the result: a factory's dtype and device, and the dtype that some compute in."""
    if schema.kind is not SchemaKind.FUNCTIONAL and "dtype" in named:
        out, told = named[next(a.name for a in schema.arguments if a.is_write)], named["dtype"]
        found = computes_in(base, out) if told is None else None
        if found is not None:
            return {"dtype": found}
        if told is not None and schema.kind is SchemaKind.OUT and (problem := dtype_conflict(base, told, out)):
            raise CheckError(f"{schema.qualname}: {problem}")
    there = {argument.name for argument in schema.arguments}
    gone = [a for a in base.arguments if a.name in _OPTIONS and a.name not in there]
    if not gone:
        return {}
    out = named[schema.out_arguments[0].name]
    settled: dict[str, Any] = {"dtype": out.dtype, "device": out.device}
    # Of memory that is there already, layout (0 is strided) and pinning (no) are settled.
    for argument in gone:
        if argument.name not in settled:
            settled[argument.name] = None if isinstance(argument.type, OptionalType) else 0
    return {argument.name: settled[argument.name] for argument in gone}


def _functional(base: Schema, copied: Sequence[str], given: dict[str, Any], result: Any) -> Any:
    """What ``base`` returns, and the copies that it wrote to and does not return."""
    back = {a.name for i in range(len(base.returns)) if (a := aliased_argument(base, i)) is not None}
    values = [given[name] for name in copied if name not in back]
    fresh = [] if not base.returns else [result] if len(base.returns) == 1 else list(result)
    outputs = [*fresh, *values]
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _written(fits: _Fitting, named: dict[str, Any], copies: Sequence[Any], result: Any) -> Any:
    """The results in the arguments that the variant writes to; what it returns."""
    schema, base = fits.schema, fits.base
    given = {argument.name for argument in base.arguments if argument.is_write}
    targets = [a.name for a in schema.arguments if a.is_write and a.name not in given]
    # An in-place operator without a result has written to the copies.
    results = list(copies) if not base.returns else [result] if len(base.returns) == 1 else list(result)
    for name, value in zip(targets, results, strict=True):
        _copy(fits, name, named[name], value)
    back = [named[a.name] for i in range(len(schema.returns)) if (a := aliased_argument(schema, i)) is not None]
    return None if not back else back[0] if len(back) == 1 else tuple(back)


def _copy(fits: _Fitting, name: str, target: Any, result: Any) -> None:
    """``result`` into an argument, which must fit, as copying would broadcast and convert silently."""
    schema = fits.schema
    title = "the output" if schema.kind is SchemaKind.OUT else "the result"
    if not isinstance(target, Tensor):
        if len(target) != len(result):
            lengths = {name: len(target), "result": len(result)}
            raise check_error(schema.qualname, f"`{name}` to have the length of {title}", lengths, CheckError)
        for one, other in zip(target, result, strict=True):
            _copy(fits, name, one, other)
        return
    if problem := fits.problem(name, target, result):
        raise (misfit(fits.base) or CheckError)(f"{schema.qualname}: {problem}")
    if schema.kind is SchemaKind.OUT:
        if fits.base.name in _FILLS and target.numel() == result.numel():
            result = result.view(target.shape)
        resize_out(target, result)
    if target.shape != result.shape:
        got = {name: target.shape, "result": result.shape}
        raise check_error(schema.qualname, f"`{name}` to have the shape of {title}", got, CheckError)
    target.copy_(result)


def resize_out(target: Tensor, result: Tensor) -> None:
    """Gives what is written to the result's shape and order; where it has elements already, a warning says so."""
    if target.shape == result.shape:
        return
    if target.numel():
        warnings.warn(
            f"An output with one or more elements was resized since it had shape {list(target.shape)}, which does not "
            f"match the required output shape {list(result.shape)}. This behavior is deprecated, and in a future "
            "PyTorch release outputs will not be resized unless they have zero elements. You can explicitly reuse an "
            "out tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
            stacklevel=2,
        )
    target.resize_(result.shape)
    if target.stride() != result.stride():
        target.as_strided_(result.shape, result.stride())
