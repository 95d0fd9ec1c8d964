"""Fits a small regression model that uses the operator, on the CPU and on the NPU, and checks both against NumPy.

The model adds a scaled correction from a small hidden layer to a linear prediction:

    prediction = scaled_add(skip(x), out(tanh(hidden(x))), scale=0.5)
"""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import mindtorch_v2 as torch
from generated.ops import scaled_add
from mindtorch_v2 import nn
from mindtorch_v2.backends import FallbackWarning

Array = NDArray[np.float32]
Weights = dict[str, Array]

SAMPLES, FEATURES, HIDDEN = 256, 8, 16
SCALE, LEARNING_RATE, STEPS = 0.5, 0.1, 200
# float32 sums in another order: what the devices and NumPy may differ by after 200 steps.
TOLERANCE = 1e-5


class Model(nn.Module):
    """A linear prediction with a scaled correction."""

    def __init__(self) -> None:
        super().__init__()
        self.skip = nn.Linear(FEATURES, 1)
        self.hidden = nn.Linear(FEATURES, HIDDEN)
        self.out = nn.Linear(HIDDEN, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Maps (samples, features) to (samples, 1)."""
        return scaled_add(self.skip(x), self.out(torch.tanh(self.hidden(x))), scale=SCALE)


@dataclass(frozen=True)
class Fit:
    """What a training run came to."""

    losses: list[float]
    weights: Weights
    seconds: float


def make_data(seed: int = 0) -> tuple[Array, Array]:
    """Inputs (samples, features) and targets (samples, 1) that are partly linear, partly not."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((SAMPLES, FEATURES), dtype=np.float32)
    linear, direction = rng.standard_normal((2, FEATURES, 1), dtype=np.float32)
    noise = rng.standard_normal((SAMPLES, 1), dtype=np.float32)
    return x, (x @ linear + np.sin(x @ direction) + np.float32(0.05) * noise).astype(np.float32)


def initial_weights(seed: int = 1) -> Weights:
    """The same start for every run, by the model's parameter names."""
    rng = np.random.default_rng(seed)
    shapes = {
        "skip.weight": (1, FEATURES),
        "skip.bias": (1,),
        "hidden.weight": (HIDDEN, FEATURES),
        "hidden.bias": (HIDDEN,),
        "out.weight": (1, HIDDEN),
        "out.bias": (1,),
    }
    return {name: np.float32(0.3) * rng.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()}


def fit(device: str, steps: int, progress: Progress) -> Fit:
    """Trains on a device with the operator."""
    x, target = (torch.from_numpy(array).to(device) for array in make_data())
    model = Model()
    model.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in initial_weights().items()})
    model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE)
    losses = []
    started = time.perf_counter()
    bar = progress.add_task(f"{device:>5}", total=steps, loss="")
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((model(x) - target) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        progress.update(bar, advance=1, loss=f"{losses[-1]:.6f}")
    seconds = time.perf_counter() - started
    weights = {name: value.detach().cpu().numpy() for name, value in model.named_parameters()}
    return Fit(losses, weights, seconds)


def fit_numpy(steps: int, progress: Progress) -> Fit:
    """The same training written out in NumPy, gradients by hand."""
    x, target = make_data()
    w = initial_weights()
    losses = []
    started = time.perf_counter()
    bar = progress.add_task("numpy", total=steps, loss="")
    for _ in range(steps):
        hidden = np.tanh(x @ w["hidden.weight"].T + w["hidden.bias"])
        correction = hidden @ w["out.weight"].T + w["out.bias"]
        error = x @ w["skip.weight"].T + w["skip.bias"] + np.float32(SCALE) * correction - target
        losses.append(float((error**2).mean()))
        grad = 2 * error / np.float32(SAMPLES)
        grad_correction = np.float32(SCALE) * grad
        grad_hidden = grad_correction @ w["out.weight"] * (1 - hidden**2)
        grads = {
            "skip.weight": grad.T @ x,
            "skip.bias": grad.sum(0),
            "hidden.weight": grad_hidden.T @ x,
            "hidden.bias": grad_hidden.sum(0),
            "out.weight": grad_correction.T @ hidden,
            "out.bias": grad_correction.sum(0),
        }
        w = {name: value - np.float32(LEARNING_RATE) * grads[name] for name, value in w.items()}
        progress.update(bar, advance=1, loss=f"{losses[-1]:.6f}")
    return Fit(losses, w, time.perf_counter() - started)


def difference(a: Fit, b: Fit) -> float:
    """The largest absolute difference between the losses and the weights of two runs."""
    pairs = [(np.array(a.losses), np.array(b.losses)), *((a.weights[name], b.weights[name]) for name in a.weights)]
    return max(float(np.abs(one - other).max()) for one, other in pairs)


def build_kernels(console: Console) -> None:
    """Calls the operator once a device, as kernels given by source are compiled at their first call."""
    for device, source in (("cpu", "scaled_add_cpu.c"), ("npu", "scaled_add.cpp")):
        started = time.perf_counter()
        probe = torch.ones(3, device=device, requires_grad=True)
        scaled_add(probe, probe, scale=2.0).sum().backward()
        assert probe.grad is not None
        console.print(
            f"{device}: kernels of {source} ready in {time.perf_counter() - started:.1f} s;"
            f" d(x + 2 x)/dx = {probe.grad.cpu().tolist()}"
        )


def main() -> int:
    """Builds, trains on every device, compares; returns the process's exit status."""
    console = Console(highlight=False)
    warnings.simplefilter("ignore", FallbackWarning)  # told below, in one line
    console.print(f"npu is: {torch.npu.get_device_name()}")
    build_kernels(console)
    columns = (TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("loss {task.fields[loss]}"), console=console) as progress:
        runs = {device: fit(device, STEPS, progress) for device in ("cpu", "npu")}
        reference = fit_numpy(STEPS, progress)
    worst = max(difference(run, reference) for run in runs.values())
    for name, run in {**runs, "numpy": reference}.items():
        console.print(
            f"{name:>5}: loss {run.losses[0]:.4f} -> {run.losses[-1]:.6f} in {STEPS} steps, {run.seconds:.2f} s,"
            f" furthest from NumPy {difference(run, reference):.1e}"
        )
    fallen_back = sorted(name.removeprefix("aten::") for name in torch.npu.fallback_report())
    console.print(f"npu: operators that ran on the CPU, for want of an NPU kernel: {', '.join(fallen_back)}")
    agree = worst <= TOLERANCE
    console.print(f"cpu, npu and NumPy {'agree' if agree else 'DO NOT agree'} within {TOLERANCE:g}")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
