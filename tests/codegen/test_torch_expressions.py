"""What the language of YAML files can say, under PyTorch: conditions of every kind, and what is composed."""

from __future__ import annotations

import importlib
import math
import sys
from types import ModuleType
from typing import Any

import pytest
import torch

from tests.codegen.support import write
from tests.codegen.test_torch_form import made
from tests.definitions.test_expressions import CONDITIONS, FORMULAS, entry, listed, quoted


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    checks = "".join(
        entry(
            f"{name}{i}",
            f"check: [{quoted(case)}]\n  fake: {{like: x}}\n  kernels: [{{device: cpu, compute: x * 1}}]\n"
            "  backward: not_differentiable",
        )
        for i, condition in enumerate(listed(CONDITIONS))
        for name, case in (("holds", condition), ("fails", f"not ({condition})"))
    )
    formulas = "".join(
        entry(f"formula{i}", f"kernels: [{{compute: {quoted(case)}}}]") for i, case in enumerate(listed(FORMULAS))
    )
    folder = tmp_path_factory.mktemp("said")
    files, shown = made(folder, f"namespace: codegen_said\nops:\n{checks}{formulas}")
    assert shown == ""
    write(folder / "codegen_said_torch", files)
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module("codegen_said_torch.ops")
    finally:
        sys.path.remove(str(folder))


def values() -> dict[str, Any]:
    x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    return {
        "x": x, "y": x + 1, "ys": [x, x + 1], "n": 4, "f": 2.5, "b": True, "s": "mean", "a": 3, "d": [1, 0],
        "t": torch.float64, "dev": torch.device("cpu"), "fs": [0.5, 1.5], "bs": [True, False],
    }  # fmt: skip


@pytest.mark.parametrize("number", range(len(listed(CONDITIONS))), ids=listed(CONDITIONS))
def test_a_condition(generated: ModuleType, number: int) -> None:
    given = values()
    assert getattr(generated, f"holds{number}")(*given.values()).shape == (2, 3)
    with pytest.raises(RuntimeError, match="expected"):
        getattr(generated, f"fails{number}")(*given.values())


@pytest.mark.parametrize("number", range(len(listed(FORMULAS))), ids=listed(FORMULAS))
def test_what_is_composed(generated: ModuleType, number: int) -> None:
    given = values()
    for name in ("x", "y"):
        given[name].requires_grad_()
    names = {name: getattr(torch, name) for name in dir(torch)}
    names |= {"min": min, "max": max, "prod": math.prod, "inf": math.inf, "w": None, "k": None} | given
    expected = eval(listed(FORMULAS)[number], names)
    found = getattr(generated, f"formula{number}")(*given.values())
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert torch.equal(found, expected)
    assert found.requires_grad == expected.requires_grad
    if expected.requires_grad:
        for ours, theirs in zip(
            torch.autograd.grad(found.sum(), [given["x"], given["y"]], allow_unused=True),
            torch.autograd.grad(expected.sum(), [given["x"], given["y"]], allow_unused=True),
            strict=True,
        ):
            assert (ours is None) == (theirs is None)
            assert ours is None or torch.equal(ours, theirs)
