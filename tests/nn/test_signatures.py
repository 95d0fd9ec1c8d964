"""Functions, classes and methods of torch.nn, torch.optim and torch.amp take PyTorch's arguments in PyTorch's order."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

pytorch = pytest.importorskip("torch")

MODULES = (
    "amp", "nn", "nn.functional", "nn.init", "nn.modules.module", "nn.utils", "nn.utils.parametrizations",
    "nn.utils.parametrize", "nn.utils.prune", "nn.utils.rnn", "nn.utils.stateless", "optim",
    "utils.checkpoint", "utils.data",
)  # fmt: skip

# Where ours differs, and why.
DIFFERENT = {
    "amp.GradScaler": "the accelerator by default is the NPU",
    "nn.Module.forward": "the interpreter, too, says where a keyword is not taken: PyTorch's is no method to override",
    **{
        f"nn.{name}": "PyTorch's takes anything, and hands it to what all of them share"
        for name in ("GRU", "LSTM", "RNN")
    },
    "nn.NLLLoss2d": "takes what NLLLoss takes; PyTorch's takes anything, and hands it on",
    "utils.data.random_split": "the default is the default generator, which is ours",
    **{
        f"nn.functional.{kind}_pool{dims}d": "PyTorch's takes anything, to choose between two functions"
        for kind, several in (("adaptive_max", (1, 2, 3)), ("fractional_max", (2, 3)), ("max", (1, 2, 3)))
        for dims in several
    },
}


def described(function: Any) -> list[tuple[str, str, str]] | None:
    """Names, kinds and defaults; None of a builtin function, which has no signature."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return None
    return [(p.name, p.kind.name, p.default.__name__ if callable(p.default) else repr(p.default)) for p in parameters]


def pairs() -> Iterator[tuple[str, Any, Any]]:
    """What both libraries have: the name, ours, PyTorch's."""
    for module in MODULES:
        mine, theirs = (importlib.import_module(f"{name}.{module}") for name in ("mindtorch_v2", "torch"))
        for name in mine.__all__:
            value, other = getattr(mine, name), getattr(theirs, name, None)
            if other is None or inspect.ismodule(value):
                continue
            yield f"{module}.{name}", value, other
            if inspect.isclass(value):
                yield from methods(f"{module}.{name}", value, other)


def methods(prefix: str, kind: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    own = (
        base for base in reversed(kind.__mro__) if base is kind or base.__module__.endswith(("nn._state", "nn._moves"))
    )
    for name, value in {name: value for base in own for name, value in vars(base).items()}.items():
        public = not name.startswith("_") or (name.startswith("__") and name != "__init__")
        if public and callable(getattr(kind, name)) and hasattr(other, name) and not inspect.isclass(value):
            yield f"{prefix}.{name}", getattr(kind, name), getattr(other, name)


PAIRS = {
    name: (mine, theirs)
    for name, mine, theirs in pairs()
    if described(theirs) is not None and not name.startswith("nn.modules.module.Module")  # it is nn.Module
}


def test_there_is_something_to_compare() -> None:
    assert len(PAIRS) > 130
    assert {"nn.functional.mse_loss", "nn.Module.named_modules", "optim.Adam", "amp.autocast.__call__"} <= set(PAIRS)


@pytest.mark.parametrize("name", PAIRS)
def test_signature(name: str) -> None:
    mine, theirs = map(described, PAIRS[name])
    if name in DIFFERENT:
        assert mine != theirs, "no difference any more: take it out of the table"
    else:
        assert mine == theirs
