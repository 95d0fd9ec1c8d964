"""What programs say to TorchScript, which is not here: it is taken as PyTorch takes it with PYTORCH_JIT=0.

Functions, methods and classes run as they are; ``script`` gives back what it is given. What is compiled and stored, or
loaded, has no names here: ``torch.jit.load`` and its kin are missing.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

from ..nn import Module

__all__ = [
    "Attribute",
    "Final",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptMethod",
    "ScriptModule",
    "annotate",
    "export",
    "ignore",
    "interface",
    "isinstance",
    "script",
    "script_if_tracing",
    "script_method",
    "unused",
]

_T = TypeVar("_T")


class Attribute(NamedTuple):
    """A value of a module, and its type."""

    value: Any
    type: Any


class ScriptModule(Module):
    """A module whose methods would be compiled; they run as they are."""


class RecursiveScriptModule(ScriptModule):
    """What ``script`` would make of a module. Nothing is one."""


class ScriptFunction:
    """What ``script`` would make of a function. Nothing is one: raises RuntimeError."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("torch.jit.ScriptFunction: there is no TorchScript here: call the function itself")


class ScriptMethod:
    """What ``script`` would make of a method. Nothing is one: raises RuntimeError."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("torch.jit.ScriptMethod: there is no TorchScript here: call the method itself")


def script(
    obj: _T,
    optimize: bool | None = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> _T:
    """The object itself: a function, a module, or a class. Raises RuntimeError for anything else."""
    if not callable(obj):
        raise RuntimeError(f"torch.jit.script: expected a function, a module or a class, got {type(obj).__name__}")
    return obj


def script_if_tracing(fn: _T) -> _T:
    """The function itself: `torch.jit.trace` records what it runs."""
    return fn


def script_method(fn: _T) -> _T:
    """Decorator of a method that would be compiled."""
    return fn


def export(fn: _T) -> _T:
    """Decorator of a method that would be compiled, too."""
    return fn


def unused(fn: _T) -> _T:
    """Decorator of a method that would not be compiled, and raise."""
    return fn


def interface(obj: _T) -> _T:
    """Decorator of a class of which only the methods' types count."""
    return obj


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Decorator, with or without options, of a method that would not be compiled."""
    if callable(drop):
        return drop

    def same(fn: Callable[..., Any]) -> Callable[..., Any]:
        return fn

    return same


def annotate(the_type: Any, the_value: _T) -> _T:
    """The value, of which the type is said."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether an object is of a type, or of one of several: of a container's only what it is itself counts."""
    several: Any = target_type if builtins.isinstance(target_type, tuple) else (target_type,)
    return builtins.isinstance(obj, tuple(getattr(each, "__origin__", None) or each for each in several))
