"""What modules call of those above them: one table, which those fill in as they are imported.

It is to Python what the core's table (`_core.hooks`) is to the core. An entry is called only where its module is in
use: nothing is traced before `jit` is imported, nor in `vmap` before `func` is.
"""

from __future__ import annotations

from typing import Any

__all__ = ["hooks"]


class Hooks:
    """The functions that are called upward, each with the arguments in its comment."""

    published_form: Any = None  # (packet): what an operator is as a function of the top level; library._publishing
    device_added: Any = None  # (backend): a device type from outside; library._devices
    private_use1_renamed: Any = None  # (): the name means a key of its own from now on; library._library
    key_added: Any = None  # (key): of a backend, which had no name until now; library.definitions
    graph_declared: Any = None  # (overload, declaration): a handler of captured graphs; npu.graph_handlers
    graph_forgotten: Any = None  # (overload): the handler goes with the operator's library; npu.graph_handlers
    is_parameter: Any = None  # (tensor): whether a tensor of a class of its own is a parameter; nn.parameter
    apply_batched: Any = None  # (cls, args): `Function.apply` of batches; func._functions
    transformed_repr: Any = None  # (tensor): how a tensor of a transform prints, None of others; func._interpreters
    innermost_transform: Any = None  # (): the `Interpreter` of the innermost transform, or None; func._interpreters
    is_sample: Any = None  # (tensor): whether a `vmap` that runs as a transform made it; func._interpreters
    constructed: Any = None  # (make): a tensor of Python values in a trace; jit._reads
    left: Any = None  # (what, read): values that leave a trace; jit._reads
    adding_up: Any = None  # (group): what adds a tensor up over processes, None for one; distributed._collectives
    device_timeline: Any = None  # what NPUs did while a profiler ran, `begin(most)`, `end()` and `drop()`; npu.timeline

    def fill(self, **functions: Any) -> None:
        """Sets entries by name. Raises AttributeError for a name that is not in the table."""
        for name, function in functions.items():
            getattr(Hooks, name)
            setattr(self, name, function)


hooks = Hooks()
