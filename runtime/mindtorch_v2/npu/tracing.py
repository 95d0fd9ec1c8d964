"""What a module would run, found on fake tensors: each claims its device, and has a shape and no memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import _core
from .._core import OpOverload, Tensor
from ..autograd import no_grad
from ..func import functional_call
from ..nn import Module
from ..overrides import TorchDispatchMode, of_numbers
from .errors import PlanError

__all__ = ["Call", "Trace", "is_view", "tensors_in", "trace"]

Function = Module | Callable[..., Any]


class _Fake(Tensor):
    """A tensor without memory that claims to be on a device: calls on it find that device's kernels."""

    __torch_function__ = _core.disabled_torch_function
    meta: Tensor  # of its shape

    def __repr__(self) -> str:
        return f"<a tensor of shape {list(self.shape)} on {self.device}, without values>"

    @classmethod
    def __torch_dispatch__(cls, func: OpOverload, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise PlanError(
            f"{of_numbers(func, args).name()} was called on a tensor of a plan that is being made, outside of it: such "
            "a tensor has a shape and no values"
        )


@dataclass(frozen=True, eq=False)
class Call:
    """One operation: an operator's call at a backend, outside of any other. Its tensors are fake ones."""

    op: OpOverload
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    outputs: tuple[Tensor, ...]
    device: str

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The tensors among the arguments, those in lists too, in the order of the schema."""
        return tuple(tensors_in((self.args, tuple(self.kwargs.values()))))


@dataclass(frozen=True, eq=False)
class Trace:
    """What a function runs: its inputs, the state of the module that it is, its calls, and what it returns."""

    inputs: tuple[Any, ...]
    state: Mapping[str, Tensor]
    calls: tuple[Call, ...]
    views: tuple[Call, ...]
    result: Any


def tensors_in(values: Any) -> Iterator[Tensor]:
    """The tensors in a tree of tuples, lists and dicts."""
    if isinstance(values, Tensor):
        yield values
    elif isinstance(values, (list, tuple)):
        for value in values:
            yield from tensors_in(value)
    elif isinstance(values, Mapping):
        yield from tensors_in(tuple(values.values()))


def is_view(op: OpOverload) -> bool:
    """Whether an operator only looks at memory in another way: it runs nothing, and is no operation."""
    aliases = [argument.alias for argument in op._schema.arguments if argument.alias is not None]
    return bool(aliases) and not any(alias.write for alias in aliases)


def trace(function: Function, inputs: Sequence[Any]) -> Trace:
    """Runs a module, or a function, on fake tensors in place of ``inputs`` and of its parameters and buffers.

    Gradients are off. Raises ``PlanError`` where what runs depends on the values of tensors.
    """
    fakes = tuple(_faked(value) for value in inputs)
    mode = _Recorder()
    state: dict[str, Tensor] = {}
    if isinstance(function, Module):
        state = {name: _faked(value) for name, value in (*function.named_parameters(), *function.named_buffers())}
    with no_grad(), mode:
        result = functional_call(function, state, fakes) if isinstance(function, Module) else function(*fakes)
    return Trace(fakes, state, tuple(mode.calls), tuple(mode.views), result)


def _faked(value: Any) -> Any:
    """A fake tensor like a real one; anything else as it is."""
    if not isinstance(value, Tensor) or isinstance(value, _Fake):
        return value
    return _claiming(_meta_of(value), value.device)


def _claiming(meta: Tensor, device: Any) -> Tensor:
    fake: _Fake = _core.wrapper_over(_Fake, meta, device, 0)
    fake.meta = meta
    return fake


class _Recorder(TorchDispatchMode):
    """Gives each call what its rule for meta tensors gives, on the device where it would be, and notes it."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self.views: list[Call] = []

    def __torch_dispatch__(self, func: OpOverload, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs, func = dict(kwargs or {}), of_numbers(func, args)
        device = _place_of(func, args, kwargs)
        metas: dict[int, Tensor] = {}  # what each stands for, by its identity
        result = self._on_meta(func, args, kwargs, metas)
        result = _map(result, lambda value: metas[id(value)] if id(value) in metas else _claiming(value, device))
        call = Call(func, tuple(args), kwargs, tuple(tensors_in(result)), str(device))
        (self.views if is_view(func) else self.calls).append(call)
        return result

    def _on_meta(self, func: OpOverload, args: Any, kwargs: dict[str, Any], metas: dict[int, Tensor]) -> Any:
        """The call on meta tensors; ``metas`` gets, by the identity of each, the tensor that it stands for."""
        kept = []  # so that no identity comes twice

        def to_meta(value: Tensor) -> Tensor:
            meta = _meta_of(value)
            kept.append(meta)
            metas[id(meta)] = value
            return meta

        args, kwargs = _map(args, to_meta), _map(kwargs, to_meta)
        names = [argument.name for argument in func._schema.arguments]
        if "device" in names and (kwargs.get("device") is not None or not metas):
            kwargs["device"] = _core.device("meta")
        try:
            return func(*args, **kwargs)
        except (NotImplementedError, RuntimeError) as error:
            shapes = [list(value.shape) for value in metas.values()]
            raise PlanError(
                f"operation {len(self.calls)}, {func.name()} of shapes {shapes}, gives no shape ahead of time: {error}"
            ) from error


def _meta_of(value: Tensor) -> Tensor:
    """The meta tensor that a fake one shows; of a real one, a constant of the module, one like it."""
    return value.meta if isinstance(value, _Fake) else value.detach().to("meta")


def _place_of(func: OpOverload, args: Any, kwargs: Mapping[str, Any]) -> Any:
    """Where a call's result is, as the core settles it: cold/commands.pyx, `place_of`."""
    arguments = func._schema.arguments
    named = dict(zip((a.name for a in arguments if not a.kwarg_only), args, strict=False)) | dict(kwargs)
    if named.get("device") is not None and "device" in [a.name for a in arguments]:
        return _core.concrete(_core.device(named["device"]))
    if arguments and arguments[0].is_write and isinstance(args[0] if args else None, Tensor):
        return args[0].device
    devices = [value.device for value in tensors_in((args, tuple(kwargs.values())))]
    if not devices:
        return _core.concrete(_core.get_default_device())
    return max(devices, key=lambda device: _core.device_code(device.type))


def _map(values: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """A tree of tuples, lists and dicts with its tensors changed."""
    if isinstance(values, Tensor):
        return change(values)
    if isinstance(values, (list, tuple)):
        changed = [_map(value, change) for value in values]
        return changed if isinstance(values, list) else tuple(changed)
    if isinstance(values, dict):
        return {name: _map(value, change) for name, value in values.items()}
    return values
