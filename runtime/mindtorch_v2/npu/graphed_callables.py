"""Functions and modules whose forward and backward are each one replay of a graph: `make_graphed_callables`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .._core import Tensor
from .._creation import empty_like
from ..autograd import Function, enable_grad, grad
from ..autograd.function import once_differentiable
from ..utils import _pytree
from .runtime import synchronize
from .streams import Stream, StreamContext, current_stream

__all__ = ["graphed"]

Make = Callable[[], tuple[Any, Any]]  # a new graph, and what captures into it


@dataclass(frozen=True)
class _Captured:
    """A callable's two graphs, and the tensors that they read and write."""

    forward: Any
    backward: Any | None
    inputs: tuple[Tensor, ...]
    parameters: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    structure: Any  # of what the callable returned: a tensor, or a container of the outputs' numbers
    output_grads: tuple[Tensor | None, ...]  # what backward reads
    input_grads: tuple[Tensor | None, ...]  # what backward writes: of the inputs, then of the parameters


def graphed(
    callables: Any,
    sample_args: Any,
    num_warmup_iters: int,
    allow_unused_input: bool,
    pool: Any,
    new: Make,
) -> Any:
    """`npu.graphs.make_graphed_callables`."""
    single = not isinstance(callables, tuple)
    functions: tuple[Any, ...] = (callables,) if single else callables
    samples: tuple[Any, ...] = (sample_args,) if single else sample_args
    if not isinstance(samples, tuple) or len(samples) != len(functions):
        raise ValueError(
            f"make_graphed_callables: expected a tuple of sample_args for each of {len(functions)} callables, got "
            f"{len(samples) if isinstance(samples, tuple) else type(samples).__name__}"
        )
    inputs = [_checked(function, args) for function, args in zip(functions, samples, strict=True)]
    parameters = [tuple(f.parameters()) if _is_module(f) else () for f in functions]
    synchronize()
    with StreamContext(Stream()):
        for function, args, own in zip(functions, samples, parameters, strict=True):
            for _ in range(num_warmup_iters):
                _warm_up(function, args, own, allow_unused_input)
        current_stream().synchronize()
    captures = _capture_all(functions, samples, inputs, parameters, allow_unused_input, pool, new)
    made = [_callable(function, captured) for function, captured in zip(functions, captures, strict=True)]
    return made[0] if single else tuple(made)


def _is_module(function: Any) -> bool:
    """Whether it is an `nn.Module`, which is above this file, or what looks like one."""
    return all(callable(getattr(function, name, None)) for name in ("forward", "parameters", "buffers"))


def _checked(function: Any, args: Any) -> tuple[Tensor, ...]:
    """The tensors of a callable's sample arguments. Raises where it cannot be graphed."""
    if _is_module(function):
        hooks = function._hooks
        if hooks is not None and (hooks.forward or hooks.forward_pre or hooks.backward or hooks.backward_pre):
            raise RuntimeError(
                "Modules must not have hooks registered at the time they are passed. However, registering hooks on "
                "modules after passing them through make_graphed_callables is allowed."
            )
        if any(buffer.requires_grad for buffer in function.buffers()):
            raise RuntimeError(
                "In any :class:`~torch.nn.Module` passed to :func:`~make_graphed_callables`, only parameters may be "
                "trainable. All buffers must have ``requires_grad=False``."
            )
    elif not callable(function):
        raise TypeError(f"make_graphed_callables: expected functions and modules, got {type(function).__name__}")
    leaves = tuple(_pytree.tree_leaves(args))
    for leaf in leaves:
        if not isinstance(leaf, Tensor) or not leaf.is_npu:
            what = f"one on {leaf.device}" if isinstance(leaf, Tensor) else type(leaf).__name__
            raise TypeError(f"make_graphed_callables: sample_args may contain only tensors on an NPU, got {what}")
    return leaves


def _differentiable(tensors: Sequence[Any]) -> tuple[Tensor, ...]:
    return tuple(tensor for tensor in tensors if isinstance(tensor, Tensor) and tensor.requires_grad)


def _warm_up(function: Any, args: Any, parameters: Sequence[Tensor], allow_unused: bool) -> None:
    with enable_grad():
        outputs = _differentiable(_pytree.tree_leaves(function(*args)))
        wanted = _differentiable((*_pytree.tree_leaves(args), *parameters))
        if outputs and wanted:
            grad(outputs, wanted, tuple(empty_like(out) for out in outputs), allow_unused=allow_unused)


def _capture_all(
    functions: Sequence[Any],
    samples: Sequence[Any],
    inputs: Sequence[tuple[Tensor, ...]],
    parameters: Sequence[tuple[Tensor, ...]],
    allow_unused: bool,
    pool: Any,
    new: Make,
) -> list[_Captured]:
    """Captures every forward in order, and every backward in reverse, as a training step runs them: in one pool."""
    forwards: list[tuple[Any, tuple[Tensor, ...], Any]] = []
    for function, args in zip(functions, samples, strict=True):
        graph, capture = new()
        with capture(graph, pool=pool), enable_grad():
            result = function(*args)
        pool = pool or graph.pool()
        outputs = tuple(_pytree.tree_leaves(result))
        numbers = iter(range(len(outputs)))
        forwards.append((graph, outputs, _pytree.tree_map(lambda _, take=numbers: next(take), result)))
    captures: list[_Captured] = []
    for (forward, outputs, structure), own_inputs, own in reversed(
        list(zip(forwards, inputs, parameters, strict=True))
    ):
        surface = (*own_inputs, *own)
        wanted, differentiated = _differentiable(surface), _differentiable(outputs)
        backward, grads = None, ()
        output_grads = tuple(empty_like(out) if out.requires_grad else None for out in outputs)
        if wanted and differentiated:
            backward, capture = new()
            given = tuple(each for each in output_grads if each is not None)
            with capture(backward, pool=pool):
                grads = grad(differentiated, wanted, given, allow_unused=allow_unused)
        found = iter(grads)
        input_grads = tuple(next(found, None) if each.requires_grad else None for each in surface)
        detached = tuple(out.detach() for out in outputs)
        captures.append(_Captured(forward, backward, own_inputs, own, detached, structure, output_grads, input_grads))
    return captures[::-1]


# ---------------------------------------------------------------- what replays
def _node(captured: _Captured) -> type[Function]:
    """The `Function` of a callable: a node of the history whose two ways are a replay each."""

    class Graphed(Function):
        @staticmethod
        def forward(ctx: Any, *surface: Tensor) -> Any:
            for static, given in zip(captured.inputs, surface, strict=False):
                if static.data_ptr() != given.data_ptr():
                    static.detach().copy_(given)
            captured.forward.replay()
            return tuple(out.detach() for out in captured.outputs)

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, *grads: Tensor | None) -> Any:
            if captured.backward is None:
                return (None,) * len(captured.input_grads)
            for static, given in zip(captured.output_grads, grads, strict=True):
                if static is not None and given is None:
                    static.zero_()
                elif static is not None and given is not None and static.data_ptr() != given.data_ptr():
                    static.copy_(given)
            captured.backward.replay()
            return tuple(None if each is None else each.detach() for each in captured.input_grads)

    return Graphed


def _callable(function: Any, captured: _Captured) -> Any:
    node = _node(captured)

    def replayed(*args: Any) -> Any:
        leaves = _pytree.tree_leaves(args)
        _check_arguments(captured.inputs, leaves)
        outputs = node.apply(*leaves, *captured.parameters)
        return _pytree.tree_map(lambda number: outputs[number], captured.structure)

    if not _is_module(function):
        return replayed
    training, eager = function.training, function.forward

    def forward(*args: Any, **kwargs: Any) -> Any:
        """The graph, in the mode that it was captured in; in the other one the module's own forward."""
        return replayed(*args) if function.training == training and not kwargs else eager(*args, **kwargs)

    function.forward = forward
    return function


def _check_arguments(statics: Sequence[Tensor], given: Sequence[Any]) -> None:
    if len(given) != len(statics):
        raise ValueError(
            f"a graphed callable was captured with {len(statics)} tensors, and is called with {len(given)}"
        )
    for number, (static, tensor) in enumerate(zip(statics, given, strict=True)):
        if not isinstance(tensor, Tensor) or tensor.shape != static.shape or tensor.dtype != static.dtype:
            got = f"{tensor.dtype} {tuple(tensor.shape)}" if isinstance(tensor, Tensor) else type(tensor).__name__
            raise ValueError(
                f"argument {number} of a graphed callable: expected {static.dtype} {tuple(static.shape)} as in "
                f"sample_args, got {got}"
            )
        if tensor.requires_grad and not static.requires_grad:
            raise ValueError(
                f"argument {number} of a graphed callable requires a gradient, and its sample argument did not: the "
                "backward graph has none for it"
            )
