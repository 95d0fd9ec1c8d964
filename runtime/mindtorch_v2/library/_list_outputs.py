"""Gradients of operators that return lists of tensors."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from opschema import ListType, Schema, base_of

__all__ = ["gradients_by_output", "returns_lists"]

Formula = Callable[..., Any]


def returns_lists(schema: Schema) -> bool:
    """Whether an output is a list of tensors."""
    return any(isinstance(ret.type, ListType) and base_of(ret.type).name == "Tensor" for ret in schema.returns)


def gradients_by_output(schema: Schema, backward: Formula, setup_context: Formula | None) -> tuple[Formula, Formula]:
    """A gradient's two functions for the core, which passes a gradient for each tensor of a list to ``backward``.

    What is registered gets one for each output, as in PyTorch: a list of them for a list.
    """
    single = len(schema.returns) == 1
    positional, keywords = len(schema.positional), [argument.name for argument in schema.kwarg_only]
    parameters = {} if setup_context is None else inspect.signature(setup_context).parameters
    apart = bool(keywords) and "keyword_only_inputs" in parameters

    @functools.wraps(backward)
    def grouped(ctx: Any, *grads: Any) -> Any:
        each = iter(grads)
        parts = [next(each) if n is None else [next(each) for _ in range(n)] for n in ctx._output_lengths]
        return backward(ctx, *parts)

    def noting(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        outputs = (output,) if single else output
        ctx._output_lengths = [len(value) if isinstance(value, (list, tuple)) else None for value in outputs]
        if setup_context is None:
            return
        if apart:
            setup_context(ctx, inputs[:positional], dict(zip(keywords, inputs[positional:], strict=True)), output)
        else:
            setup_context(ctx, inputs, output)

    vars(noting).update(getattr(setup_context, "__dict__", {}))  # what it says of itself
    return grouped, noting
