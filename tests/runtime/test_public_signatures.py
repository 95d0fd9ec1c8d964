"""Public functions and classes outside of the operators take PyTorch's arguments: names, order, kinds and defaults."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pytest

pytest.importorskip("torch")

MODULES = (
    "autograd", "autograd.anomaly_mode", "autograd.forward_ad", "autograd.function", "autograd.grad_mode",
    "autograd.graph", "func", "jit", "library", "overrides", "utils._python_dispatch", "utils._pytree",
)  # fmt: skip
# What differs on purpose: the name → why.
MEANT = {
    "autograd.graph.save_on_cpu": "the device that memory is on is an NPU",
    "autograd.no_grad": "inspect finds our __new__, which takes what enable_grad's does",
    "autograd.grad_mode.no_grad": "the same",
    "library.infer_schema": "PyTorch's tags say that an operator writes to its arguments; ours has mutates_args for it",
    "library.CustomOpDef.register_fake": "takes allow_override too, as the function does",
    "library.Library.define": "has options of the generator's, by keyword",
    "library.Library.fallback": "the same",
    "library.Library.impl": "the same",
}


# Classes that are others in PyTorch where TorchScript is on; ours are those of PYTORCH_JIT=0.
OF_TORCHSCRIPT = {"jit.RecursiveScriptModule", "jit.ScriptModule"}


def shared() -> list[str]:
    found = []
    for module in MODULES:
        ours = importlib.import_module(f"mindtorch_v2.{module}")
        theirs = importlib.import_module(f"torch.{module}")
        names = [
            n for n in ours.__all__ if callable(getattr(theirs, n, None)) and f"{module}.{n}" not in OF_TORCHSCRIPT
        ]
        found += [f"{module}.{name}" for name in names]
        for name in names:
            kind = getattr(theirs, name)
            if inspect.isclass(kind) and inspect.isclass(getattr(ours, name)):
                methods = [m for m in vars(kind) if not m.startswith("_") and callable(getattr(kind, m))]
                found += [f"{module}.{name}.{m}" for m in methods if callable(getattr(getattr(ours, name), m, None))]
    return [path for path in found if path not in MEANT]


def parameters(path: str, library: str) -> list[tuple[str, Any, Any]] | None:
    """(name, kind, default) of each public parameter; None where there is no signature."""
    module = next(m for m in sorted(MODULES, key=len, reverse=True) if path.startswith(m + "."))
    value = importlib.import_module(f"{library}.{module}")
    for name in path.removeprefix(module + ".").split("."):
        value = inspect.getattr_static(value, name) if inspect.isclass(value) else getattr(value, name)
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    own = [p for p in signature.parameters.values() if p.name != "self" and not p.name.startswith("_")]
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [("" if p.kind in variadic else p.name, p.kind, p.default) for p in own]


@pytest.mark.parametrize("path", shared())
def test_signature(path: str) -> None:
    theirs, ours = parameters(path, "torch"), parameters(path, "mindtorch_v2")
    if theirs is None or ours is None:
        pytest.skip("compiled: inspect sees no signature")
    if path == "jit.trace":  # behind private arguments, which nobody passes by position
        theirs = [(n, inspect.Parameter.KEYWORD_ONLY if n == "example_kwarg_inputs" else k, d) for n, k, d in theirs]
    assert ours == theirs


def test_what_is_meant_is_there() -> None:
    for path in MEANT:
        assert parameters(path, "mindtorch_v2") is not None
