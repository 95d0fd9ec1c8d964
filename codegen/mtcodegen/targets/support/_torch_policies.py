"""What an operator does beside its kernels, in PyTorch: under autocast, on devices without a kernel, as a variant."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

__all__ = ["autocast_kernel", "binder", "called", "fallback_kernel", "variant_kernel"]

_OPTIONS = ("dtype", "layout", "device", "pin_memory")


def binder(schema: Any) -> Callable[[Sequence[Any], dict[str, Any]], list[Any]]:
    """What gives every argument of a schema a value in a call: PyTorch leaves out those that equal their defaults."""
    defaults = [(argument.name, argument.default_value) for argument in schema.arguments]
    places = [argument.name for argument in schema.arguments if not argument.kwarg_only]
    count = len(defaults)

    def bound(args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        if len(args) == count:
            return list(args)
        given = dict(zip(places, args, strict=False)) | kwargs
        return [given.get(name, default) for name, default in defaults]

    return bound


def called(overload: Any, values: Sequence[Any]) -> Any:
    """The operator's result for values in the schema's order."""
    pairs = list(zip(overload._schema.arguments, values, strict=True))
    keywords = {a.name: value for a, value in pairs if a.kwarg_only}
    return overload(*[value for a, value in pairs if not a.kwarg_only], **keywords)


def _in_tensors(change: Callable[[Tensor], Any], value: Any) -> Any:
    """A value with its tensors changed, those in lists too."""
    if isinstance(value, Tensor):
        return change(value)
    return [_in_tensors(change, item) for item in value] if isinstance(value, (tuple, list)) else value


def _is_written(argument: Any) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def _written_argument(schema: Any, ret: Any) -> Any:
    """The argument that the operator writes to and hands back as an output."""
    if ret.alias_info is None or not ret.alias_info.is_write:
        return None
    sets = ret.alias_info.before_set
    return next((a for a in schema.arguments if _is_written(a) and a.alias_info.before_set == sets), None)


def _name(schema: Any) -> str:
    return f"{schema.name}{'.' if schema.overload_name else ''}{schema.overload_name}"


def _results(count: int, result: Any) -> list[Any]:
    return [] if count == 0 else [result] if count == 1 else list(result)


def _returned(values: Sequence[Any]) -> Any:
    return None if not values else values[0] if len(values) == 1 else tuple(values)


# ---------------------------------------------------------------- in another dtype
def autocast_kernel(overload: Any, key: str, policy: str) -> Callable[..., Any]:
    """What casts an operator's floating-point tensors and calls it again, below a key.

    ``policy`` is a dtype's name, or "promote": the widest of them. Double precision is somebody's intention, and stays.
    """
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.__members__[key])

    bound = binder(overload._schema)

    def cast(dtype: torch.dtype, tensor: Tensor) -> Tensor:
        changes = tensor.is_floating_point() and tensor.dtype != torch.float64
        return tensor.to(dtype) if changes else tensor

    def kernel(*args: Any, **kwargs: Any) -> Any:
        values = bound(args, kwargs)
        dtypes = [value.dtype for value in values if isinstance(value, Tensor)]
        dtype = functools.reduce(torch.promote_types, dtypes) if policy == "promote" else getattr(torch, policy)
        with torch._C._ExcludeDispatchKeyGuard(keys):
            return called(overload, [_in_tensors(functools.partial(cast, dtype), value) for value in values])

    return kernel


# ---------------------------------------------------------------- over the host
def fallback_kernel(overload: Any, policy: str, devices: Sequence[str]) -> Callable[..., Any]:
    """What runs where an operator has no kernel: "cpu", the one for that on copies; "error", which says so."""
    schema = overload._schema
    bound = binder(schema)

    def over_cpu(*args: Any, **kwargs: Any) -> Any:
        values = bound(args, kwargs)
        moved = [_in_tensors(lambda tensor: tensor.to("cpu"), value) for value in values]
        results = _results(len(schema.returns), called(overload, moved))
        for argument, value, copy in zip(schema.arguments, values, moved, strict=True):
            if _is_written(argument):
                _write_back(value, copy)
        device = next(value.device for value in values if isinstance(value, Tensor))
        given = {argument.name: value for argument, value in zip(schema.arguments, values, strict=True)}
        written = [_written_argument(schema, ret) for ret in schema.returns]
        return _returned(
            [
                _in_tensors(lambda tensor: tensor.to(device), result) if argument is None else given[argument.name]
                for argument, result in zip(written, results, strict=True)
            ]
        )

    def refuse(*args: Any, **kwargs: Any) -> Any:
        there = ", ".join(sorted(device.lower() for device in devices))
        raise NotImplementedError(f"{_name(schema)} has no kernel for this device: it has kernels for {there}")

    return over_cpu if policy == "cpu" else refuse


def _write_back(target: Any, value: Any) -> None:
    if isinstance(target, Tensor):
        target.copy_(value)
    elif isinstance(target, (tuple, list)):
        for one, other in zip(target, value, strict=True):
            _write_back(one, other)


# ---------------------------------------------------------------- variants
def variant_kernel(overload: Any, base: Any) -> Callable[..., Any]:
    """A kernel of ``overload`` that calls ``base``: on copies of what ``base`` writes to and it does not."""
    schema, other = overload._schema, base._schema
    if [str(a) for a in (*schema.arguments, *schema.returns)] == [str(a) for a in (*other.arguments, *other.returns)]:
        return lambda *args, **kwargs: base(*args, **kwargs)  # another name
    bound = binder(schema)
    writes = {argument.name for argument in schema.arguments if _is_written(argument)}
    copied = [a.name for a in other.arguments if _is_written(a) and a.name not in writes]

    def kernel(*args: Any, **kwargs: Any) -> Any:
        values = bound(args, kwargs)
        named = dict(zip([a.name for a in schema.arguments], values, strict=True))
        given = {**named, **_settled(schema, other, named)}
        given |= {name: _in_tensors(lambda tensor: tensor.clone(), named[name]) for name in copied}
        result = _results(len(other.returns), called(base, [given[argument.name] for argument in other.arguments]))
        copies = [given[name] for name in copied]
        return (
            _functional(other, copied, copies, result) if not writes else _written(schema, other, named, copies, result)
        )

    return kernel


def _settled(schema: Any, base: Any, named: dict[str, Any]) -> dict[str, Any]:
    """What a factory's result is, which its out variant does not take, since ``out`` has it."""
    there = {argument.name for argument in schema.arguments}
    gone = [a for a in base.arguments if a.name in _OPTIONS and a.name not in there]
    if not gone:
        return {}
    out = next(named[a.name] for a in schema.arguments if _is_written(a))
    found = {"dtype": out.dtype, "device": out.device, "layout": torch.strided, "pin_memory": False}
    # Of memory that is there already, layout and pinning are settled.
    return {
        a.name: None if a.name in ("layout", "pin_memory") and "Optional" in str(a.type) else found[a.name]
        for a in gone
    }


def _functional(base: Any, copied: Sequence[str], copies: Sequence[Any], results: list[Any]) -> Any:
    """What ``base`` returns, and the copies that it wrote to and does not return."""
    back = {a.name for ret in base.returns if (a := _written_argument(base, ret)) is not None}
    return _returned([*results, *(copy for name, copy in zip(copied, copies, strict=True) if name not in back)])


def _written(schema: Any, base: Any, named: dict[str, Any], copies: Sequence[Any], results: list[Any]) -> Any:
    """The results in the arguments that the variant writes to; what it returns."""
    given = {argument.name for argument in base.arguments if _is_written(argument)}
    targets = [a for a in schema.arguments if _is_written(a) and a.name not in given]
    # An in-place operator that hands nothing back has written to the copies.
    for argument, value in zip(targets, results if base.returns else copies, strict=True):
        _copy(schema, argument, named[argument.name], value)
    return _returned([named[a.name] for ret in schema.returns if (a := _written_argument(schema, ret)) is not None])


def _copy(schema: Any, argument: Any, target: Any, result: Any) -> None:
    """``result`` into an argument, which must fit, as copying would broadcast and convert silently."""
    is_out = argument.kwarg_only
    title, name = "the output" if is_out else "the result", argument.name
    if not isinstance(target, Tensor):
        if len(target) != len(result):
            message = f"expected `{name}` to have the length of {title}, got {name} = {len(target)}"
            raise RuntimeError(f"{_name(schema)}: {message}, result = {len(result)}")
        for one, other in zip(target, result, strict=True):
            _copy(schema, argument, one, other)
        return
    if is_out and target.shape != result.shape:
        if target.numel():
            warnings.warn(f"{_name(schema)}: `{name}` was resized to {list(result.shape)}", stacklevel=2)
        target.resize_(result.shape)
    fits = torch.can_cast(result.dtype, target.dtype) if is_out else target.dtype == result.dtype
    if target.shape != result.shape or not fits:
        got = f"{name} = {[target.shape, target.dtype]}, result = {[result.shape, result.dtype]}"
        raise RuntimeError(f"{_name(schema)}: expected `{name}` to have the shape and dtype of {title}, got {got}")
    target.copy_(result)
