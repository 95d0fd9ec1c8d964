"""``torch.compiler``: what programs tell PyTorch's compiler, and ask of it. See `_dynamo`: everything runs eagerly."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ._core import Tensor
from ._creation import from_numpy
from ._dynamo import allow_in_graph, assume_constant_result, compile, config, disable, list_backends, reset
from .utils._pytree import tree_map

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "config",
    "cudagraph_mark_step_begin",
    "disable",
    "get_default_backend",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "nested_compile_region",
    "reset",
    "set_default_backend",
    "set_stance",
    "substitute_in_graph",
    "wrap_numpy",
]

_STANCES = (
    "default",
    "force_eager",
    "eager_on_recompile",
    "fail_on_recompile",
    "eager_then_compile",
    "aot_eager_then_compile",
)
_default_backend: list[Any] = ["eager"]


def is_compiling() -> bool:
    """False: nothing is ever compiled."""
    return False


def is_dynamo_compiling() -> bool:
    """False: nothing is ever compiled."""
    return False


def is_exporting() -> bool:
    """False: nothing is ever exported."""
    return False


def cudagraph_mark_step_begin() -> None:
    """Where a step of a program begins; no graph is recorded of it."""


def get_default_backend() -> Any:
    """What was set for `torch.compile` to use: ``"eager"`` unless something else was."""
    return _default_backend[0]


def set_default_backend(backend: Any) -> None:
    """What `torch.compile` is to use; None is ``"eager"``. Raises TypeError for what is no name and no function."""
    if not (backend is None or isinstance(backend, str) or callable(backend)):
        raise TypeError(f"set_default_backend() expects a name or a callable, not {type(backend).__name__}")
    _default_backend[0] = "eager" if backend is None else backend


class set_stance:  # noqa: N801  (PyTorch's name)
    """How eager a compiler is to be: a call, a block or a decorator. Raises RuntimeError for a stance that is none."""

    def __init__(
        self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None
    ) -> None:
        if stance not in _STANCES:
            raise RuntimeError(f"invalid torch.compile stance '{stance}': expected one of {', '.join(_STANCES)}")

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """The function as it is."""
        return fn

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass


def substitute_in_graph(
    original_fn: Callable[..., Any], *, can_constant_fold_through: bool = False, skip_signature_check: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of what a compiler would take in place of ``original_fn``: the function as it is."""
    if not callable(original_fn):
        raise TypeError(f"substitute_in_graph expects a function but got {type(original_fn)!r}")
    return lambda fn: fn


def nested_compile_region(
    fn: Any = None, *, options: Any = None, max_reuse_entries: int = 8, reuse_hash_fn: Any = None
) -> Any:
    """``fn``, or a decorator without one, which a compiler would compile once for all its calls."""
    return (lambda function: function) if fn is None else fn


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy arrays as one of tensors, which it takes and returns, in containers, too."""
    import numpy as np

    @functools.wraps(fn)
    def of_tensors(*args: Any, **kwargs: Any) -> Any:
        given, named = tree_map(lambda v: v.numpy() if isinstance(v, Tensor) else v, [list(args), kwargs])
        return tree_map(lambda v: from_numpy(v) if isinstance(v, np.ndarray) else v, fn(*given, **named))

    return of_tensors
