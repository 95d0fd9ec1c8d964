"""``torch.fx``: graphs of operators that print, run and can be looked into; `make_fx` records them of a call.

Nothing traces symbolically here: what stands for a value while a program is traced, a `Proxy`, is not made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from .graph import Graph
from .graph_module import GraphModule
from .node import Node, map_arg

__all__ = ["Graph", "GraphModule", "Node", "Proxy", "map_arg", "wrap"]


class Proxy:
    """What stands for a value while a program is traced; there are none: to make one raises NotImplementedError."""

    def __init__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError("torch.fx does not trace here: record a program with make_fx or torch.jit.trace")


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """Keeps tracing out of a function, given by itself or by its name: it is returned as it is, since nothing traces.

    Raises RuntimeError for what is neither.
    """
    if not (callable(fn_or_name) or isinstance(fn_or_name, str)):
        raise RuntimeError(f"wrap() takes a function or the name of a global one, got {type(fn_or_name).__name__}")
    return fn_or_name
