"""``torch.utils.checkpoint``: gradients are those without a checkpoint, and PyTorch's; what is refused, too."""

from __future__ import annotations

import contextlib
import importlib
from typing import Any

import pytest

from tests.runtime.both import agree


def checkpoints(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.utils.checkpoint")


def model(torch: Any) -> tuple[Any, Any]:
    torch.manual_seed(0)
    nn = torch.nn
    layers = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Tanh(), nn.Linear(8, 4))
    return layers, torch.randn(3, 4, requires_grad=True)


@pytest.mark.parametrize("use_reentrant", [True, False])
@pytest.mark.parametrize("preserve", [True, False])
def test_gradients_and_random_numbers(use_reentrant: bool, preserve: bool) -> None:
    def case(torch: Any) -> Any:
        layers, x = model(torch)
        options = {"use_reentrant": use_reentrant, "preserve_rng_state": preserve}
        y = checkpoints(torch).checkpoint(layers, x, **options)
        between = torch.rand(1)
        y.pow(2).sum().backward()
        z = checkpoints(torch).checkpoint_sequential(layers, 2, x, **options)
        z.sum().backward()
        return y, z, between, torch.rand(1), x.grad, layers[0].weight.grad

    agree(case)


def test_one_within_another_and_twice() -> None:
    def case(torch: Any) -> Any:
        layers, x = model(torch)
        checkpoint, calls = checkpoints(torch).checkpoint, []

        def part(value: Any, scale: float = 1.0) -> Any:
            calls.append(1)
            return layers(value) * scale

        def whole(value: Any) -> Any:
            inner = checkpoint(part, value, use_reentrant=False)
            return checkpoint(part, inner, scale=2.0, use_reentrant=False)

        y = checkpoint(whole, x, use_reentrant=False)
        (grad,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        grad.pow(2).sum().backward()
        again = checkpoint(part, x, use_reentrant=False)
        again.sum().backward(retain_graph=True)
        again.sum().backward()
        return grad, x.grad, len(calls)

    agree(case)


def test_contexts_of_both_runs() -> None:
    def case(torch: Any) -> Any:
        layers, x = model(torch)
        said: list[str] = []

        @contextlib.contextmanager
        def note(name: str) -> Any:
            said.append(name)
            yield
            said.append(f"-{name}")

        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = checkpoints(torch).checkpoint(
                layers, x, use_reentrant=False, early_stop=False, context_fn=lambda: (note("a"), note("b"))
            )
        y.sum().backward()
        return said, str(y.dtype), x.grad is not None

    agree(case)


def refused(torch: Any, name: str) -> Any:
    layers, x = model(torch)
    checkpoint, runs = checkpoints(torch).checkpoint, [0]

    def unsteady(value: Any) -> Any:
        runs[0] += 1
        return (value * value.detach()[:, :1] if runs[0] == 1 else value * value.detach()).sum()

    def longer(value: Any) -> Any:
        runs[0] += 1
        return value.sin().sum() if runs[0] == 1 else value.sin().cos().sum()

    def changed(value: Any) -> Any:
        moved = value * 1
        y = checkpoint(layers, moved, use_reentrant=False)
        moved.mul_(2)
        return y.sum().backward()

    calls = {
        "grad": lambda: torch.autograd.grad(checkpoint(layers, x, use_reentrant=True).sum(), x),
        "shapes": lambda: checkpoint(unsteady, x, use_reentrant=False).backward(),
        "longer": lambda: checkpoint(longer, x, use_reentrant=False, early_stop=False).backward(),
        "changed": lambda: changed(x),
        "keyword": lambda: checkpoint(layers, x, use_reentrant=True, foo=1),
        "check": lambda: checkpoint(layers, x, use_reentrant=False, determinism_check="x"),
    }
    try:
        return calls[name]()
    except checkpoints(torch).CheckpointError as error:  # each library has its own class
        raise RuntimeError(str(error)) from error


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("grad", "is incompatible with .grad()"),
        ("shapes", "have different metadata"),
        ("longer", "more tensors during recomputation"),
        ("changed", "modified by an inplace operation"),
        ("keyword", "Unexpected keyword arguments: foo"),
        ("check", "determinism_check should be one of"),
    ],
)
def test_what_is_refused(name: str, said: str) -> None:
    agree(lambda torch: refused(torch, name), said)


def test_the_operators_are_listed() -> None:
    import mindtorch_v2 as torch
    from mindtorch_v2.utils.checkpoint import CheckpointError, checkpoint

    runs = [0]

    def unsteady(value: Any) -> Any:
        runs[0] += 1
        return value.sin().cos().exp() if runs[0] == 1 else value.sin().exp()

    x = torch.ones(2, requires_grad=True)
    with pytest.raises(CheckpointError, match=r"forward:\n  aten.sin.default\n  aten.cos.default\n  aten.exp.default"):
        checkpoint(unsteady, x, use_reentrant=False, debug=True).sum().backward()
