"""Lowered modules: `torch.npu.lower` makes an operator of a module, which a delegate runs."""

from __future__ import annotations

import functools
import itertools
import re
import weakref
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Forms, LoweredCall, LoweredKernel, Tensor
from .._ops import ops
from ..autograd import enable_grad, grad
from ..func import functional_call
from ..library import Library
from ..nn import Module
from . import cpu_delegate as cpu_delegate
from . import graph_delegate as graph_delegate
from .delegates import BackendInitContext, Delegate, find_delegate
from .errors import DelegateError
from .tracing import Trace, tensors_in, trace

__all__ = ["LoweredModule", "lower"]

NAMESPACE = "lowered"
_numbers = itertools.count()


def lower(
    module: Module,
    *example_inputs: Tensor,
    delegate: str,
    name: str | None = None,
    next_kind: str = "unknown",
    next_device: Any = None,
) -> LoweredModule:
    """A module that runs ``module`` by a delegate, for inputs of the shapes, dtypes and device of the examples.

    To its surroundings, plans, dispatch modes and autograd, it is one operator, ``torch.ops.lowered.<name>``. Its
    parameters and buffers are read in each call. Gradients are those of ``module``, which runs once more in backward.
    ``next_kind`` and ``next_device`` are handed to the delegate's ``init``: what will follow, where that is known.
    Raises ``DelegateError`` where there is no such delegate, or it does not take the module.
    """
    cls = find_delegate(delegate)
    if not isinstance(module, Module):
        raise TypeError(f"lower(): expected an nn.Module, got {type(module).__name__}")
    for number, value in enumerate(example_inputs):
        if not isinstance(value, Tensor):
            raise TypeError(f"lower(): example input {number} must be a tensor, got {type(value).__name__}")
    if not example_inputs:
        raise TypeError("lower(): give the inputs that the module is called with, as examples of their shapes")
    if name is None:
        name = f"{re.sub('[^a-z0-9]+', '_', type(module).__name__.lower()).strip('_')}_{next(_numbers)}"
    if not name.isidentifier():
        raise ValueError(f"lower(): the name of a lowered module must be an identifier, got {name!r}")
    device = example_inputs[0].device
    state = dict([*module.named_parameters(), *module.named_buffers()])
    for what, value in (*((f"input {i}", v) for i, v in enumerate(example_inputs)), *state.items()):
        if value.device != device:
            raise DelegateError(
                f"lower(): {what} is on {value.device}, and input 0 on {device}: all must be on one device"
            )
    if device.type not in cls.device_types:
        raise DelegateError(
            f"delegate {delegate!r} runs on {' or '.join(cls.device_types)}, and the example inputs are on {device}"
        )
    found = trace(module, example_inputs)
    for output in _outputs_of(found):
        if output.device != device:
            raise DelegateError(
                f"lower(): an output is on {output.device}: a lowered module stays on its device, {device}"
            )
    made = cls()
    context = BackendInitContext(name, device, found, next_kind, next_device)
    inputs = [value.detach() for value in example_inputs]
    try:
        made.init(context, module, inputs, [value.detach() for value in state.values()])
    except DelegateError as error:
        raise DelegateError(f"delegate {delegate!r} cannot run {type(module).__name__}: {error}") from error
    return LoweredModule(module, made, context)


class LoweredModule(Module):
    """A module that a delegate runs: what `lower` returns. ``original`` is the module it was made of.

    A call returns what ``original(*inputs)`` returns, by one operation. Raises ValueError for inputs of another form.
    """

    forward: LoweredCall  # no function around it, whose frame would cost as much

    def __init__(self, module: Module, delegate: Delegate, context: BackendInitContext) -> None:
        super().__init__()
        self.original, self.name = module, context.name
        inputs, places, result = context.trace.inputs, _places(module), context.trace.result
        self._lib = _define(context, module, delegate)
        self.forward = LoweredCall(
            getattr(getattr(ops, NAMESPACE), context.name).default,
            _forms(inputs, context.device),
            [places[name] for name in context.trace.state],
            None if isinstance(result, Tensor) else list if isinstance(result, list) else tuple,
            functools.partial(_misfit, context.name, inputs),
        )

    def extra_repr(self) -> str:
        """The operator's name."""
        return f"{NAMESPACE}::{self.name}"


def _forms(values: Sequence[Tensor], device: Any) -> Forms:
    """What tensors like these look like, on a device."""
    return Forms([_core.alloc(value.shape, value.dtype, "meta") for value in values], device)


def _misfit(name: str, expected: Sequence[Tensor], got: Sequence[Any]) -> ValueError:
    """The error for inputs of other forms than a module was lowered for."""
    lowered, given = (", ".join(map(_shown, values)) for values in (expected, got))
    return ValueError(
        f"{NAMESPACE}::{name} was lowered for ({lowered}), got ({given}); lower the module for these inputs, too"
    )


def _unfit(
    name: str, inputs: Sequence[Tensor], state: Sequence[Tensor], given: Sequence[Tensor], given_state: Sequence[Tensor]
) -> ValueError:
    """The error for a call of the operator with other tensors than a module was lowered for."""
    shown, got = ([_shown(value) for value in values] for values in (state, given_state))
    if shown == got:
        return _misfit(name, inputs, given)
    return ValueError(
        f"{NAMESPACE}::{name} was lowered with parameters and buffers ({', '.join(shown)}), got ({', '.join(got)}); "
        "lower the module again"
    )


def _shown(value: Any) -> str:
    """A tensor's form, or what it is instead of one."""
    if not isinstance(value, Tensor):
        return type(value).__name__
    return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)} on {value.device}"


def _places(module: Module) -> dict[str, tuple[dict[str, Any], str]]:
    """Where each parameter and buffer of a module is kept, by its full name."""
    found = {}
    for prefix, part in module.named_modules():
        for registry in (part._parameters, part._buffers):
            found.update({f"{prefix}.{key}" if prefix else key: (registry, key) for key in registry})
    return found


def _outputs_of(found: Trace) -> list[Tensor]:
    """What a module returns: a tensor, or a flat list or tuple of them."""
    result = [found.result] if isinstance(found.result, Tensor) else found.result
    if not isinstance(result, (list, tuple)) or not result or not all(isinstance(value, Tensor) for value in result):
        raise DelegateError(
            f"lower(): a module returns a tensor, or a list or tuple of tensors, got {found.result!r:.60}"
        )
    return list(result)


def _define(context: BackendInitContext, module: Module, delegate: Delegate) -> Library:
    """The library of the operator, which is gone with it."""
    name, outputs = context.name, _outputs_of(context.trace)
    fakes = _forms(outputs, _core.device("meta"))
    lib = Library(NAMESPACE, "FRAGMENT")
    lib.define(f"{name}(Tensor[] inputs, Tensor[] state) -> Tensor[]", doc=f"A lowered {type(module).__name__}.")
    op = getattr(getattr(ops, NAMESPACE), name).default
    op.is_delegate = True

    inputs, state = context.trace.inputs, list(context.trace.state.values())
    kernel = LoweredKernel(
        _forms(inputs, context.device),
        _forms(state, context.device),
        _forms(outputs, context.device),
        delegate.execute,
        functools.partial(_unfit, name, inputs, state),
    )
    lib.impl(name, kernel, "NPU" if context.device.type == "npu" else context.device.type.upper())
    lib.register_fake(name, lambda inputs, state: fakes.empty())
    names = tuple(context.trace.state)
    lib.register_autograd(
        name, functools.partial(_backward, weakref.ref(module), f"{NAMESPACE}::{name}", names), setup_context=_setup
    )
    return lib


# ---------------------------------------------------------------- gradients
def _setup(ctx: Any, inputs: tuple[list[Tensor], list[Tensor]], output: Any) -> None:
    ctx.counts = len(inputs[0]), len(inputs[1])
    ctx.save_for_backward(*inputs[0], *inputs[1])


def _backward(module_of: Any, name: str, names: tuple[str, ...], ctx: Any, grads: Sequence[Tensor | None]) -> Any:
    """Runs the module once more, with autograd on, and takes its gradients."""
    module = module_of()
    if module is None:
        raise RuntimeError(f"{name}: the lowered module is gone, and backward runs it once more: keep it until then")
    if _core.is_grad_enabled():
        raise NotImplementedError(
            f"{name}: a lowered module has gradients of the first order only; call backward without create_graph, or "
            "the module itself"
        )
    count = ctx.counts[0]
    wanted = [needed for each in ctx.needs_input_grad for needed in each]
    leaves = [value.detach().requires_grad_(needed) for value, needed in zip(ctx.saved_tensors, wanted, strict=True)]
    with enable_grad():
        result = functional_call(module, dict(zip(names, leaves[count:], strict=True)), tuple(leaves[:count]))
        outputs = list(tensors_in(result))
    pairs = [(o, g) for o, g in zip(outputs, grads, strict=True) if g is not None and o.requires_grad]
    asked = [leaf for leaf, needed in zip(leaves, wanted, strict=True) if needed]
    found = iter(grad([o for o, _ in pairs], asked, [g for _, g in pairs], allow_unused=True) if pairs else ())
    gradients = [next(found, None) if needed else None for needed in wanted]
    return gradients[:count], gradients[count:]
