"""What programs ask and tell PyTorch's compiler. There is none here: functions run as they are written.

`torch.compile` returns what runs the same, and says once that it does; marks for the compiler are taken and not used.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from ..library._custom_op import compiled_call
from ..nn import Module
from . import eval_frame as eval_frame
from .eval_frame import OptimizedModule

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "disable",
    "disallow_in_graph",
    "forbid_in_graph",
    "graph_break",
    "is_compiling",
    "is_dynamo_supported",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "optimize",
    "reset",
    "run",
]

_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
_warned: list[bool] = []


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """``model``, or a decorator without one, to be run as it is written; the first use says so in a warning.

    A module becomes an `OptimizedModule`, a function one with the same name. Raises RuntimeError where ``mode`` and
    ``options`` are both given or the mode is none, and AssertionError for what cannot be called.
    """
    if model is None:
        return functools.partial(compile, backend=backend, mode=mode, options=options, disable=disable)
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    if not callable(model):
        raise AssertionError(f"torch.compile() expects a module or a function, not {type(model).__name__}")
    if disable:
        return model
    if not _warned:
        _warned.append(True)
        warnings.warn("torch.compile: there is no compiler here, and what is given to it runs eagerly", stacklevel=2)
    if isinstance(model, Module):
        return OptimizedModule(model)

    @functools.wraps(model)
    def run_eagerly(*args: Any, **kwargs: Any) -> Any:
        with compiled_call():
            return model(*args, **kwargs)

    run_eagerly._torchdynamo_orig_callable = model  # type: ignore[attr-defined]
    return run_eagerly


def optimize(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """A decorator that is `torch.compile`."""
    return lambda model: compile(model)


def is_compiling() -> bool:
    """False: nothing is ever compiled."""
    return False


def is_dynamo_supported() -> bool:
    """False: there is no compiler."""
    return False


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The compilers there are: none."""
    return []


def reset() -> None:
    """Forgets what was compiled: nothing."""


def graph_break(msg: str = "") -> None:
    """Where a compiler would have to stop."""


def _marked(fn: Any) -> Any:
    """A function as it is: what the mark tells a compiler changes no result."""
    if isinstance(fn, (list, tuple)):
        return [_marked(one) for one in fn]
    if not callable(fn):
        raise TypeError(f"a callable is expected, not {type(fn).__name__}")
    return fn


def allow_in_graph(fn: Any) -> Any:
    """``fn``, which a compiler would not look into."""
    return _marked(fn)


def disallow_in_graph(fn: Any) -> Any:
    """``fn``, which a compiler would leave out."""
    return _marked(fn)


def forbid_in_graph(fn: Any) -> Any:
    """``fn``, which a compiler would refuse."""
    return _marked(fn)


def assume_constant_result(fn: Any) -> Any:
    """``fn``, whose result a compiler would take for a constant."""
    return _marked(fn)


def run(fn: Any) -> Any:
    """``fn``, of which nothing new would be compiled."""
    return _marked(fn)


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None, wrapping: bool = True) -> Any:
    """``fn``, or a decorator without one, which a compiler would leave alone."""
    return _marked if fn is None else _marked(fn)


_disable_dynamo = disable  # `torch._disable_dynamo`, which PyTorch's own code and libraries say


def _note(t: Any, *args: Any, **kwargs: Any) -> None:
    """What is said of a tensor's sizes, which are known here."""


mark_dynamic = maybe_mark_dynamic = mark_static = mark_static_address = _note


class _Config:
    """Settings of the compiler: any may be set, and is read back."""

    suppress_errors = False
    cache_size_limit = recompile_limit = 8
    verbose = False

    @contextlib.contextmanager
    def patch(self, *args: Any, **changes: Any) -> Iterator[None]:
        """``with config.patch(name=value):`` these settings, and the ones before after it."""
        given = {**(args[0] if args and isinstance(args[0], dict) else dict([args] if args else [])), **changes}
        missing = object()
        before = {name: vars(self).get(name, missing) for name in given}
        vars(self).update(given)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is missing:
                    delattr(self, name)
                else:
                    setattr(self, name, value)


config = _Config()
