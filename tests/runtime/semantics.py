"""What the tables of PyTorch's behaviours are made of: short ways to an operator, a Function and its gradients."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.runtime.both import Case, agree, fresh_namespace

Entry = Case | tuple[Case, str]


def check(entry: Entry) -> None:
    """A case alone agrees in its value; one with a text raises in both, PyTorch's class, with that text."""
    if isinstance(entry, tuple):
        agree(*entry)
    else:
        agree(entry)


def table(topics: dict[str, dict[str, Entry]]) -> dict[str, Entry]:
    """All statements of some topics, each under its topic's name and its own."""
    return {f"{topic}: {statement}": entry for topic, cases in topics.items() for statement, entry in cases.items()}


def annotated(function: Any, **annotations: Any) -> Any:
    """The function with these annotations; ``returns`` is the result's."""
    function.__annotations__ = {("return" if k == "returns" else k): v for k, v in annotations.items()}
    return function


def infer(torch: Any, function: Any, mutates_args: Any = (), **annotations: Any) -> str:
    return str(torch.library.infer_schema(annotated(function, **annotations), mutates_args=mutates_args))


def make(torch: Any, function: Any, mutates_args: Any = (), **options: Any) -> Any:
    """A custom operator of tensors that returns a tensor; with a ``schema`` of that."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    annotated(function, **dict.fromkeys(names, torch.Tensor), returns=torch.Tensor)
    return torch.library.custom_op(f"{fresh_namespace()}::f", function, mutates_args=mutates_args, **options)


def defined(torch: Any, schema: str, **kernels: Any) -> tuple[Any, Any]:
    """An operator ``f`` of a Library with these kernels by key, and the library."""
    lib = torch.library.Library(fresh_namespace(), "FRAGMENT")
    name = lib.define(f"f{schema}")
    for key, kernel in kernels.items():
        lib.impl(name, kernel, key)
    return getattr(torch.ops, lib.ns).f.default, lib


def twice(x):  # type: ignore[no-untyped-def]
    return x * 2


def function(torch: Any, forward: Any, backward: Any = None, **methods: Any) -> Any:
    """A Function with these static methods, old style unless ``setup_context`` is among them."""
    found = {"forward": forward, **({} if backward is None else {"backward": backward}), **methods}
    return type("F", (torch.autograd.Function,), {name: staticmethod(f) for name, f in found.items()})


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


@contextmanager
def logged() -> Iterator[list[str]]:
    """The messages that any logger sends meanwhile."""
    messages: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    names = ["", *(n for n in logging.root.manager.loggerDict if n.split(".")[0] in ("torch", "mindtorch_v2"))]
    loggers = [logging.getLogger(name) for name in names]
    found = [logger for logger in loggers if not logger.propagate or logger is logging.root]
    for logger in found:
        logger.addHandler(handler)
    try:
        yield messages
    finally:
        for logger in found:
            logger.removeHandler(handler)


def raises(run: Callable[[], Any]) -> str:
    """The builtin class of what a call raises, for cases that go on afterwards."""
    try:
        run()
    except Exception as error:  # whatever it is, its class is compared
        return next(c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins")
    return "nothing"
