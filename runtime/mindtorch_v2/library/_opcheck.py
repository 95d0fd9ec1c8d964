"""`opcheck`: whether an operator does what its registration says, tried on sample arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .. import _core
from .._core import OpOverload, OpOverloadPacket, Tensor
from .._dispatch_keys import DispatchKeySet, _after_autograd_keyset
from ..autograd import no_grad
from ._aot_dispatch import check_recorded
from ._custom_op import CustomOpHandle, find_handle
from ._fake import DynamicSize, dynamic_sizes
from ._samples import map_tensors, tensors_in, without_data

__all__ = ["MetadataMismatchError", "OpCheckError", "UnsupportedOperatorException", "opcheck"]

DEFAULTTESTS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
_Test = Callable[[OpOverload, tuple[Any, ...], dict[str, Any]], None]


class OpCheckError(Exception):
    """An operator failed one of `opcheck`'s tests."""


class MetadataMismatchError(RuntimeError):
    """A fake rule's output differs from the real one in shape, strides, dtype or device."""


class UnsupportedOperatorException(RuntimeError):  # noqa: N818  (PyTorch's name)
    """An operator has no fake rule."""


def opcheck(
    op: OpOverload | OpOverloadPacket | CustomOpHandle,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = DEFAULTTESTS,
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Runs ``op`` on sample arguments and checks what it does against its registration.

    ``test_schema``: no argument is changed, or shared with an output, unless the schema says so.
    ``test_autograd_registration``: outputs that require grad have a gradient registered for autograd.
    ``test_faketensor``: the fake rule gives the real outputs' shapes, strides, dtypes and devices.
    ``test_aot_dispatch_dynamic``: forward and backward, recorded as one graph without changes in place and run again,
    give what an eager call gives, within ``rtol`` and ``atol`` (by default a few roundings of the dtype).
    Returns ``{test: "SUCCESS"}``. A failure raises `OpCheckError`, or is the test's value without ``raise_exception``.
    """
    if (rtol is None) != (atol is None):
        raise ValueError("opcheck(op, ...): if you specify one of rtol/atol, you must specify both")
    overload = _overload(op)
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    compare = functools.partial(_test_aot_dispatch_dynamic, rtol=rtol, atol=atol)
    tests: dict[str, _Test] = {**TESTS, "test_aot_dispatch_dynamic": compare}
    if not set(names) <= tests.keys():
        raise ValueError(
            f"opcheck(op, ..., test_utils={names}), expected test_utils to be subset of {tuple(tests)} but it was not"
        )
    given: Any = {} if kwargs is None else kwargs  # as a call takes it, or refuses it
    results: dict[str, Any] = {}
    for name in names:
        try:
            tests[name](overload, args, given)
            results[name] = "SUCCESS"
        except (
            RuntimeError,
            AssertionError,
            TypeError,
            ValueError,
            LookupError,
            AttributeError,
            ArithmeticError,
        ) as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error}") from error
            results[name] = error
    return results


def _overload(op: Any) -> OpOverload:
    if isinstance(op, CustomOpHandle):
        return op._opoverload
    if isinstance(op, OpOverloadPacket):
        if len(op.overloads()) != 1:
            raise RuntimeError(
                f"opcheck can only test operators without overloads. Got the following overloads for {op}: "
                f"{op.overloads()}. Pass one of them, e.g. {op}.{op.overloads()[0]}"
            )
        only: OpOverload = getattr(op, op.overloads()[0])
        return only
    if not isinstance(op, OpOverload):
        raise ValueError(
            f"opcheck(op, ...): op must be instance of torch._ops.OpOverload, e.g. torch.ops.aten.sin.default, got "
            f"{type(op)}"
        )
    return op


def _unpacked(op: OpOverload, args: Any, kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What a call unpacks. Raises TypeError where it could not."""
    if not isinstance(args, Iterable):
        raise TypeError(f"{op.name()}() argument after * must be an iterable, not {type(args).__name__}")
    if not isinstance(kwargs, Mapping):
        raise TypeError(f"{op.name()}() argument after ** must be a mapping, not {type(kwargs).__name__}")
    if not all(isinstance(name, str) for name in kwargs):
        raise TypeError("keywords must be strings")
    return tuple(args), dict(kwargs)


def _test_schema(op: OpOverload, args: Any, kwargs: Any) -> None:
    args, kwargs = _unpacked(op, args, kwargs)
    args, kwargs = map_tensors((args, kwargs), lambda t: t.detach().clone())
    named = _named_tensors(op, args, kwargs)
    before = [_content(t) for _, t in named]
    # Straight to the kernel: a checked call would stop at the first fault.
    with no_grad():
        result = _call_unchecked(op, _keys(named), args, kwargs)
    for (argument, tensor), content in zip(named, before, strict=True):
        if not argument.is_write and _content(tensor) != content:
            raise RuntimeError(f"Argument {argument.name} is not defined as mutable but was mutated")
    outputs = tensors_in(result)
    declared = any(r.alias is not None for r in op._schema.returns)
    for argument, tensor in named:
        if any(output.untyped_storage() is tensor.untyped_storage() for output in outputs) and not (
            declared and argument.alias is not None
        ):
            raise RuntimeError(f"Argument {argument.name} is not defined to alias output but was aliasing")
    for i, output in enumerate(outputs):
        for j in range(i):
            if output.untyped_storage() is outputs[j].untyped_storage() and not declared:
                raise RuntimeError(f"Outputs {j} and {i} alias unexpectedly")


def _test_autograd_registration(op: OpOverload, args: Any, kwargs: Any) -> None:
    if not any(t.requires_grad for t in tensors_in((args, kwargs))):
        return  # whether it could be called is for the other tests
    args, kwargs = _unpacked(op, args, kwargs)
    if _has_autograd(op):
        return
    args, kwargs = map_tensors((args, kwargs), _fresh_input)
    outputs = tensors_in(op(*args, **kwargs))
    if not any(output.requires_grad for output in outputs):
        return
    raise AssertionError(
        f"{op.name()}: its gradient is incorrectly registered: at least one output has requires_grad=True but the "
        "operator does not have an autograd kernel defined at an autograd key (e.g. DispatchKey::Autograd): backward "
        f'through it fails. Register its gradient with `library.register_autograd("{op.name()}", ...)`; if it consists '
        "of other operators, register it as CompositeImplicitAutograd."
    )


def _test_faketensor(op: OpOverload, args: Any, kwargs: Any) -> None:
    args, kwargs = _unpacked(op, args, kwargs)
    _require_fake(op)
    device = next((t.device for t in tensors_in((args, kwargs))), None)
    with no_grad():
        real_args, real_kwargs = map_tensors((args, kwargs), lambda t: t.detach().clone())
        real = tensors_in(op(*real_args, **real_kwargs))
        fake_args, fake_kwargs = map_tensors((args, kwargs), without_data)
        with dynamic_sizes() as sizes:
            fake = tensors_in(op(*fake_args, **fake_kwargs))
        placed = real if sizes else _placed(op, args, kwargs)
    where = f"When comparing the output of {op} on FakeTensor and concrete Tensors, found"
    if len(real) != len(fake):
        raise MetadataMismatchError(f"{where} {len(fake)} and {len(real)} tensors")
    placeholders = {size[0]: size for size in sizes}
    for expected, got, there in zip(real, fake, placed, strict=True):
        difference = _difference(expected, got, placeholders)
        if difference is None and there.device != expected.device:
            difference = f"Devices {there.device} and {expected.device} are not equal!"
        if difference is None and device is not None and expected.device != device:
            difference = f"Devices {device} and {expected.device} are not equal!"
        if difference is not None:
            raise MetadataMismatchError(f"{where} mismatched tensor metadata: {difference}")


def _test_aot_dispatch_dynamic(
    op: OpOverload, args: Any, kwargs: Any, *, rtol: float | None, atol: float | None
) -> None:
    args, kwargs = _unpacked(op, args, kwargs)
    _require_fake(op)
    check_recorded(op, args, kwargs, rtol, atol)


def _placed(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Tensor]:
    """The fake rule's outputs for real tensors: on meta every device is meta, here it shows where outputs go."""
    args, kwargs = map_tensors((args, kwargs), lambda t: t.detach().clone())
    found = op.computed("Meta")
    if found is None or found[1] is None or found[3]:  # a rule that takes the call's keys is left alone
        return tensors_in(op(*args, **kwargs))
    return tensors_in(op.call_kernel(found[1], *args, **kwargs))


def _require_fake(op: OpOverload) -> None:
    meta = op.computed("Meta")
    if meta is None or meta[0] == "backend fallback":
        raise UnsupportedOperatorException(f"{op}: there is no fake impl; add one with `register_fake`")


TESTS: dict[str, _Test] = {
    "test_schema": _test_schema,
    "test_autograd_registration": _test_autograd_registration,
    "test_faketensor": _test_faketensor,
}


def _difference(real: Tensor, fake: Tensor, sizes: Mapping[int, DynamicSize]) -> str | None:
    if len(real.shape) != len(fake.shape):
        return f"Shapes {fake.shape} and {real.shape} are not equal!"
    for actual, claimed in zip(real.shape, fake.shape, strict=True):
        if claimed in sizes:
            _, low, high = sizes[claimed]
            if actual < low or (high is not None and actual > high):
                return f"Size {actual} is not between {low} and {high}, the bounds of its dynamic size!"
        elif actual != claimed:
            return f"Shapes {fake.shape} and {real.shape} are not equal!"
    if real.dtype is not fake.dtype:
        return f"Dtypes {fake.dtype} and {real.dtype} are not equal!"
    # Strides of dynamic sizes, and of dimensions of size 1 or of tensors without elements, mean nothing.
    if real.numel() and not any(size in sizes for size in fake.shape):
        for dim, size in enumerate(real.shape):
            if size > 1 and real.stride(dim) != fake.stride(dim):
                return f"Stride mismatch! Strides are {fake.stride()} and {real.stride()} (mismatched at {dim})!"
    return None


def _has_autograd(op: OpOverload) -> bool:
    if op.backward_function is not None or find_handle(op) is not None:
        return True
    keys = {"Autograd", "CompositeImplicitAutograd", *_core.key_names(_core.key_mask("Autograd"))}
    return any(op.has_kernel(key) for key in keys)


def _fresh_input(tensor: Tensor) -> Tensor:
    copy: Tensor = tensor.detach().clone().requires_grad_(tensor.requires_grad)
    if copy.requires_grad:
        copy = copy * 1  # not a leaf: the operator may write to it
    return copy


def _content(tensor: Tensor) -> Any:
    return tensor._version, repr(tensor.tolist())  # as text: NaN equals itself


def _keys(named: list[tuple[Any, Tensor]]) -> int:
    mask = 0
    for _, tensor in named:
        mask |= _core.tensor_keys(tensor)
    return (mask or _core.key_mask(_core.get_default_device().type.upper())) & _after_autograd_keyset.mask


def _call_unchecked(op: OpOverload, keys: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Runs the kernel that a call with these keys reaches."""
    for key in _core.key_names(keys):
        found = op.computed(key)
        if found is None or found[0] == "backend fallback" or found[1] is _core.fallthrough_kernel:
            continue
        _, function, _, takes_keys = found
        if takes_keys:
            return op.call_kernel(functools.partial(function, DispatchKeySet(keys)), *args, **kwargs)
        return op.call_kernel(function, *args, **kwargs)
    return op.redispatch(keys, *args, **kwargs)


def _named_tensors(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[tuple[Any, Tensor]]:
    by_name = {argument.name: argument for argument in op._schema.arguments}
    unknown = sorted(kwargs.keys() - by_name.keys())
    if unknown:
        raise RuntimeError(f"{op.name()}() got an unexpected keyword argument '{unknown[0]}': {op._schema}")
    pairs = [*zip(op._schema.arguments, args, strict=False), *((by_name[name], v) for name, v in kwargs.items())]
    return [(argument, tensor) for argument, value in pairs for tensor in tensors_in(value)]
