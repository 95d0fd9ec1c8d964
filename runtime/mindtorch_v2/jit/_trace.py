"""``torch.jit.trace``: a module or function, recorded for example inputs."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from .._argument_types import names_wrong_types
from .._core import Tensor
from .._functional import allclose
from .._generators import default_generator
from .._ops import ops
from ..nn import Module
from ..utils._pytree import tree_leaves, tree_map
from ._graph import Graph
from ._replay import run_graph
from ._tracer import TracingState, get_tracing_state, set_tracing_state, warn

__all__ = ["TracedFunction", "TracedModule", "is_scripting", "is_tracing", "recording", "trace"]


def is_tracing() -> bool:
    """Whether this thread records a trace."""
    return get_tracing_state() is not None


def is_scripting() -> bool:
    """False: functions are recorded, never compiled from their source."""
    return False


@contextmanager
def recording(state: TracingState) -> Iterator[TracingState]:
    """Inside, this thread's calls are recorded; whatever happens there, none are afterwards."""
    if is_tracing():
        raise RuntimeError("Tracing can't be nested: this thread is recording a trace already")
    set_tracing_state(state)
    try:
        yield state
    finally:
        set_tracing_state(None)
        state.graph.drop_unused()


class TracedFunction:
    """A recorded function: called like it, it runs the recorded calls. ``graph`` prints them."""

    def __init__(self, function: Callable[..., Any], graph: Graph, example: Any) -> None:
        functools.update_wrapper(self, function, updated=())
        self.graph, self._structure = graph, _structure(example)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return run_graph(self.graph, _leaves(self._structure, (args, kwargs)))

    def __repr__(self) -> str:
        return f"<TracedFunction {self.__name__}>"  # type: ignore[attr-defined]  # by update_wrapper


class TracedModule(Module):
    """A module that is part of a recorded one. It shares parameters, buffers and submodules with ``orig``.

    ``id_set`` and ``_compilation_unit`` are taken for PyTorch's sake. What `trace` returns can be called, others not.
    """

    def __init__(self, orig: Module, id_set: Any = None, _compilation_unit: Any = None) -> None:
        super().__init__()
        if not isinstance(orig, Module):
            raise AssertionError(f"Expected nn.Module, got {type(orig)}")
        self.training = orig.training
        self._parameters, self._buffers, self._modules = orig._parameters, orig._buffers, orig._modules
        self.original_name = type(orig).__name__

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("Trace submodules cannot be called.")

    def _get_name(self) -> str:
        return self.original_name

    def extra_repr(self) -> str:
        return f"original_name={self.original_name}"


class TopLevelTracedModule(TracedModule):
    """A recorded module. Parameters, buffers and submodules are the module's own: training either trains both."""

    def __init__(self, module: Module, graph: Graph, example: Any) -> None:
        super().__init__(module)
        self.graph, self._structure = graph, _structure(example)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return run_graph(self.graph, [self, *_leaves(self._structure, (args, kwargs))])

    @property
    def inlined_graph(self) -> Graph:
        """The graph; calls of submodules are never nodes of it."""
        return self.graph


@names_wrong_types
def trace(
    func: Any,
    example_inputs: Any = None,
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    *,
    example_kwarg_inputs: Any = None,
) -> Any:
    """Runs ``func``, a module or function of tensors, on example inputs and records the operators it calls.

    ``example_inputs`` is a tuple of arguments (or one tensor): tensors, and nested tuples, lists and dicts of them.
    What is returned is called like ``func``, computes the same from other inputs, gradients included, and shows the
    recorded calls as ``graph``. Tensors that are no inputs, parameters among them, are captured by reference. Control
    flow that depends on values, and shapes that Python code reads, are as they were for the example: a `TracerWarning`
    says where.

    With ``check_trace`` the trace runs once, on the example, or on each of ``check_inputs`` beside ``func``; a result
    that differs by more than ``check_tolerance`` warns. ``strict`` refuses lists and dicts as results. ``optimize`` is
    obsolete, and not looked at. Raises RuntimeError for inputs or results of other types.
    """
    if isinstance(func, TracedModule):
        warnings.warn("trace(): the module is a trace already, and is returned as it is", stacklevel=3)
        return func
    func = _module_of(func)
    if not callable(func):
        raise RuntimeError(f"trace(): func must be a module or a function, got {type(func).__name__}")
    example = _example(func, example_inputs, example_kwarg_inputs)
    state = TracingState(_attribute_names(func), module=type(func).__name__)
    for_check = tree_map(_copy, example)
    example = _told_apart(example)
    for tensor, name in zip(tree_leaves(example), _input_names(func, example), strict=True):
        state.add_input(tensor, name)
    random = default_generator.get_state()
    with recording(state):
        result = func(*example[0], **example[1])
        _check_structure(result, strict)
        state.add_output(result)
    traced: Any
    if isinstance(func, Module):
        traced = TopLevelTracedModule(func, state.graph, example)
    else:
        traced = TracedFunction(func, state.graph, example)
    if check_trace and not state.captured_changed():  # a second run would change buffers twice
        if check_inputs is None:
            with _same_random_numbers(random):
                _check(traced, for_check, result, check_tolerance)
        elif not isinstance(check_inputs, Iterable):
            got = type(check_inputs).__name__
            raise TypeError(f"trace(): argument 'check_inputs' must be Sequence or None, not {got}")
        for inputs in check_inputs or ():
            args = inputs if isinstance(inputs, tuple) else (inputs,)
            before = default_generator.get_state()
            expected = func(*args)
            with _same_random_numbers(before):
                _check(traced, (args, {}), expected, check_tolerance)
    return traced


def _module_of(func: Any) -> Any:
    """The module whose ``forward`` a bound method is; anything else as it is."""
    owner = getattr(func, "__self__", None)
    if not isinstance(owner, Module):
        return func
    if func.__name__ != "forward":
        raise AttributeError(
            f"trace doesn't support compiling individual module's functions, such as {func.__name__}: trace the module"
        )
    return owner


def _example(func: Any, inputs: Any, keywords: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments to trace with. Raises where they are none."""
    if inputs is None and not isinstance(keywords, dict):
        if isinstance(func, Module):
            raise RuntimeError("trace(): without example_inputs, example_kwarg_inputs should be a dict")
        raise TypeError(
            "trace(): argument 'example_inputs' must be a tuple of tensors, or 'example_kwarg_inputs' a dict of them, "
            f"not {type(keywords).__name__}"
        )
    if not (isinstance(func, Module) or keywords is None or isinstance(keywords, dict) or isinstance(inputs, tuple)):
        raise TypeError(
            f"trace(): argument 'example_kwarg_inputs' must be a dict, not {type(keywords).__name__}; beside another "
            f"object 'example_inputs' must be a tuple, not {type(inputs).__name__}"
        )
    if inputs is None:
        given: tuple[Any, ...] = ()
    elif isinstance(inputs, (Tensor, dict)):
        given = (inputs,)
    elif isinstance(inputs, Iterable):
        given = tuple(inputs)
    else:
        raise TypeError(f"trace(): example_inputs must be a tuple of tensors, not {type(inputs).__name__}")
    if any(value == {} for value in given if isinstance(value, dict)):
        raise RuntimeError("Tracer cannot infer the type of an empty dict: dictionary inputs must have entries")
    if not isinstance(keywords, dict):  # as in PyTorch, which looks at no other
        return given, {}
    if isinstance(func, FunctionType):  # what a call refuses comes before what cannot be traced
        inspect.signature(func).bind(*given, **keywords)
    return given, dict(keywords)


def _attribute_names(func: Any) -> dict[int, str] | None:
    if not isinstance(func, Module):
        return None
    return {id(t): name for name, t in (*func.named_parameters(), *func.named_buffers())}


def _copy(leaf: Any) -> Tensor:
    if not isinstance(leaf, Tensor):
        raise RuntimeError(
            f"Type '{type(leaf).__name__}' cannot be traced. Only Tensors and (possibly nested) Lists, Dicts, and "
            "Tuples of Tensors can be traced"
        )
    copied: Tensor = leaf.detach().clone().requires_grad_(leaf.requires_grad)
    return copied


def _told_apart(example: Any) -> Any:
    """An alias in place of a tensor that is an argument already: each argument is an input of its own."""
    seen: set[int] = set()

    def apart(tensor: Tensor) -> Any:
        if id(tensor) in seen:
            return ops.aten.alias(tensor)
        seen.add(id(tensor))
        return tensor

    return tree_map(apart, example)


def _input_names(func: Any, example: Any) -> list[str]:
    """A name for each tensor: its parameter's, with the way to it where that is a container."""
    args, kwargs = example
    try:
        parameters = list(inspect.signature(func.forward if isinstance(func, Module) else func).parameters.values())
    except ValueError:  # a callable without a signature, such as an operator
        parameters = []
    plain = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    names: list[str] = []
    for number, value in enumerate(args):
        _name_leaves(plain[number] if number < len(plain) else f"input.{number}", value, names)
    _name_leaves("", kwargs, names)
    return names


def _name_leaves(name: str, value: Any, names: list[str]) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            _name_leaves(f"{name}.{key}".lstrip("."), item, names)
    elif isinstance(value, (tuple, list)):
        for number, item in enumerate(value):
            _name_leaves(f"{name}.{number}", item, names)
    else:
        names.append(name)


def _leaves(expected: str, given: Any) -> list[Any]:
    """The tensors of a call. Raises RuntimeError where it is of another structure."""
    got = _structure(given)
    if expected != got:
        raise RuntimeError(f"the inputs are not nested as those that were traced: expected {expected}, got {got}")
    return tree_leaves(given)


def _structure(tree: Any) -> str:
    """How tensors are nested, as text."""
    if isinstance(tree, Tensor):
        return "Tensor"
    if isinstance(tree, dict):
        return f"{{{', '.join(f'{key!r}: {_structure(tree[key])}' for key in tree)}}}"
    if isinstance(tree, (tuple, list)):
        text = ", ".join(map(_structure, tree))
        return f"[{text}]" if isinstance(tree, list) else f"({text})"
    return type(tree).__name__


def _check_structure(result: Any, strict: bool) -> None:
    if result is None:
        raise RuntimeError(
            "The traced function didn't return any values! Side-effects are not captured in traces, so it would be a "
            "no-op."
        )
    if strict and _holds_dict(result):
        raise RuntimeError(
            "Encountering a dict at the output of the tracer might cause the trace to be incorrect, this is only valid "
            "if the container structure does not change based on the module's inputs. Consider using a constant "
            "container instead (e.g. for `dict`, use a `NamedTuple` instead). If you absolutely need this and know the "
            "side effects, pass strict=False to trace() to allow this behavior."
        )


def _holds_dict(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, (list, tuple)) and any(map(_holds_dict, value)))


def _check(traced: Any, inputs: Any, expected: Any, tolerance: float) -> None:
    """Runs a trace on the example that it was recorded for, and warns where the results differ."""
    args, kwargs = inputs
    found = traced(*args, **kwargs)
    for number, (a, b) in enumerate(zip(tree_leaves(found), tree_leaves(expected), strict=True), 1):
        if not a.is_meta and not _equal(a.detach(), b.detach(), tolerance):
            warn(
                f"Output nr {number}. of the traced function does not match the corresponding output of the Python "
                f"function: {a.tolist()} instead of {b.tolist()}. To disable trace checking, pass check_trace=False to "
                "torch.jit.trace()"
            )


def _equal(a: Tensor, b: Tensor, tolerance: float) -> bool:
    if a.is_floating_point() or a.is_complex():
        return allclose(a, b, tolerance, tolerance, equal_nan=True)
    return bool((a == b).all().item())


@contextmanager
def _same_random_numbers(before: Tensor) -> Iterator[None]:
    """Inside, the random numbers that were drawn since ``before`` are drawn again."""
    after = default_generator.get_state()
    default_generator.set_state(before)
    try:
        yield
    finally:
        default_generator.set_state(after)
