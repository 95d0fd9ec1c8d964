"""Backward hooks of modules: two functions that change nothing, around forward, whose nodes call them.

One node sees the gradients of the outputs, the other, later, those of the inputs. Where no input requires grad there is
no second one, and the hooks are called from the first.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .._core import Tensor
from ..autograd import Function, is_grad_enabled

__all__ = ["BackwardHook", "watch_last_node"]

Hook = Callable[..., Any]
Grads = tuple[Tensor | None, ...]


class BackwardHookFunction(Function):
    """Tensors as they are, in the graph once more; those that are not differentiable stay so."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        ctx.mark_non_differentiable(*[a for a in args if not a.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        return grad_outputs


class BackwardHook:
    """The hooks of one call of a module: `watch_inputs` before forward, `watch_outputs` after it."""

    def __init__(self, module: Any, hooks: Sequence[Hook], pre_hooks: Sequence[Hook]) -> None:
        self._module, self._hooks, self._pre_hooks = module, hooks, pre_hooks
        self._input_positions: list[int] | None = None  # None: no input requires grad
        self._input_count = self._output_count = 0
        self._output_positions: list[int] = []
        self._grad_outputs: Grads | None = None

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments for forward: tensors among them are seen through a node that calls the hooks."""
        self._input_count = len(args)
        watched, positions, node = _passed_on(args)
        if node is not None:
            self._input_positions = positions
            node.register_hook(self._inputs_arrived)
        return tuple(watched)

    def watch_outputs(self, output: Any) -> Any:
        """Forward's output, seen through a node that calls the pre-hooks: a tensor, or a tuple with tensors."""
        values = (output,) if isinstance(output, Tensor) else output
        if not isinstance(values, tuple):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(output)}",
                stacklevel=4,
            )
            return output
        self._output_count = len(values)
        watched, self._output_positions, node = _passed_on(values)
        if node is not None:
            node.register_prehook(self._outputs_arrived)
        if isinstance(output, Tensor):
            return watched[0]
        return type(output)(*watched) if hasattr(output, "_fields") else tuple(watched)

    def _outputs_arrived(self, grads: Grads) -> Grads | None:
        grad_outputs: Grads = _spread(grads, self._output_positions, self._output_count)
        for hook in self._pre_hooks:
            result = hook(self._module, grad_outputs)
            result = (result,) if isinstance(result, Tensor) else result
            replaced = _checked(result, len(grad_outputs), "Backward pre hook", "grad_output")
            grad_outputs = grad_outputs if replaced is None else replaced
        self._grad_outputs = grad_outputs
        if self._input_positions is None:
            warnings.warn(
                "Full backward hook is firing when gradients are computed with respect to module outputs since no "
                "inputs require gradients.",
                stacklevel=2,
            )
            nothing: Grads = (None,) * self._input_count
            for hook in self._hooks:
                result = hook(self._module, nothing, grad_outputs)
                if result is not None and not (isinstance(result, tuple) and all(g is None for g in result)):
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always return None or None "
                        "for all gradients."
                    )
            self._grad_outputs = None
        return tuple(grad_outputs[i] for i in self._output_positions)

    def _inputs_arrived(self, grads: Grads, _: Grads) -> Grads | None:
        if self._grad_outputs is None or self._input_positions is None:
            return None  # of a gradient that did not come through the output, as in double backward
        grad_inputs: Grads = _spread(grads, self._input_positions, self._input_count)
        for hook in self._hooks:
            result = hook(self._module, grad_inputs, self._grad_outputs)
            replaced = _checked(result, len(grad_inputs), "Backward hook", "grad_input")
            grad_inputs = grad_inputs if replaced is None else replaced
        self._grad_outputs = None
        return tuple(grad_inputs[i] for i in self._input_positions)


def watch_last_node(module: Any, hooks: Sequence[Hook], args: tuple[Any, ...], result: Any) -> None:
    """Has the last node of a module's forward call ``hook(module, grad_input, grad_output)``, with its gradients.

    These are the module's where forward records one node; where it does not, a warning says so.
    """
    first = result
    while not isinstance(first, Tensor):
        first = (
            next((v for v in first.values() if isinstance(v, Tensor)), None) if isinstance(first, dict) else first[0]
        )
    node = first.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(functools.wraps(hook)(functools.partial(hook, module)))
    text = _missing(args, result, node)
    if text:
        warnings.warn(
            f"{text}. Please use register_full_backward_hook to get the documented behavior.",
            FutureWarning,
            stacklevel=2,
        )


def _missing(args: Any, result: Any, node: Any) -> str:
    """What of a call of a module a hook of its last node does not see; empty: nothing."""

    def all_tensors(values: Any) -> bool:
        return isinstance(values, tuple) and all(isinstance(value, Tensor) for value in values)

    later = "is deprecated and will be removed in future versions. This hook will be missing some"
    on_a_module = "Using non-full backward hooks on a Module that does not"
    what = "a single Tensor or a tuple of Tensors"
    inputs = (args,) if isinstance(args, Tensor) else args
    outputs = (result,) if isinstance(result, Tensor) else result
    if not all_tensors(outputs):
        return f"{on_a_module} return {what} {later} of the grad_output"
    if not all_tensors(inputs):
        return f"{on_a_module} take as input {what} {later} of the grad_input"
    if len({id(output.grad_fn) for output in outputs if output.grad_fn is not None}) > 1:
        return (
            f"Using a non-full backward hook when outputs are generated by different autograd Nodes {later} grad_output"
        )
    if {after for after, _ in node.next_functions} != {value.grad_fn for value in inputs}:
        return f"Using a non-full backward hook when the forward contains multiple autograd Nodes {later} grad_input"
    return ""


def _passed_on(values: tuple[Any, ...]) -> tuple[list[Any], list[int], Any]:
    """The values, tensors through a `BackwardHookFunction`; where those are, and its node, or None."""
    positions = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    tensors = [values[i] for i in positions]
    if not is_grad_enabled() or not any(t.requires_grad for t in tensors):
        return list(values), positions, None
    passed = BackwardHookFunction.apply(*tensors)
    nodes = [t.grad_fn for t in passed if t.grad_fn is not None]
    watched = list(values)
    for i, tensor in zip(positions, passed, strict=True):
        watched[i] = tensor
    return watched, positions, nodes[0]


def _spread(grads: Grads, positions: list[int], count: int) -> Grads:
    """Gradients of the tensors as gradients of all arguments or outputs."""
    spread: list[Tensor | None] = [None] * count
    for i, grad in zip(positions, grads, strict=False):
        spread[i] = grad
    return tuple(spread)


def _checked(result: Any, count: int, what: str, name: str) -> Grads | None:
    if result is None:
        return None
    if not isinstance(result, tuple):
        raise RuntimeError(f"{what} must return None or a tuple, one {name} for each, got {type(result).__name__}")
    if len(result) != count:
        raise RuntimeError(f"{what} returned an invalid number of {name}, got {len(result)}, but expected {count}")
    return result
