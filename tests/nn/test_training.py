"""A small network trains step by step as PyTorch trains it, on the CPU and on the (simulated) NPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytorch = pytest.importorskip("torch")

import mindtorch_v2 as ours  # noqa: E402
from tests.ops.both import raised  # noqa: E402

Optimizer = Callable[[Any, Any], Any]

OPTIMIZERS: dict[str, Optimizer] = {
    "sgd": lambda torch, p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda torch, p: torch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.1, weight_decay=0.01),
    "nesterov": lambda torch, p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True),
    "maximize": lambda torch, p: torch.optim.SGD(p, lr=0.01, maximize=True),
    "adam": lambda torch, p: torch.optim.Adam(p, lr=0.01, weight_decay=0.1),
    "amsgrad": lambda torch, p: torch.optim.Adam(p, lr=0.05, betas=(0.8, 0.9), eps=1e-6, amsgrad=True),
    "adamw": lambda torch, p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.2),
    "groups": lambda torch, p: torch.optim.SGD([{"params": [next(p)], "lr": 0.5}, {"params": p}], lr=0.1),
}


def train(torch: Any, make: Optimizer, device: str = "cpu", resume: bool = False) -> tuple[list[float], np.ndarray]:
    """Ten steps from fixed values; returns the losses and all parameters."""
    nn, rng = torch.nn, np.random.default_rng(0)
    model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.from_numpy(rng.standard_normal(tuple(parameter.shape)).astype("f4") * 0.3))
    model.to(device)
    x = torch.from_numpy(rng.standard_normal((16, 5)).astype("f4")).to(device)
    y = torch.from_numpy(rng.integers(0, 3, 16)).to(device)
    optimizer, loss_of, losses = make(torch, model.parameters()), nn.CrossEntropyLoss(), []
    for step in range(10):
        if resume and step == 5:
            state = optimizer.state_dict()
            optimizer = make(torch, model.parameters())
            optimizer.load_state_dict(state)
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, np.concatenate([p.detach().cpu().numpy().ravel() for p in model.parameters()])


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_is_pytorchs(name: str) -> None:
    losses, weights = train(ours, OPTIMIZERS[name])
    expected_losses, expected_weights = train(pytorch, OPTIMIZERS[name])
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-5)
    np.testing.assert_allclose(weights, expected_weights, rtol=1e-4, atol=1e-5)
    assert losses[0] != losses[-1]


@pytest.mark.parametrize("name", ["sgd", "adamw"])
def test_training_on_the_npu_is_that_on_the_cpu(name: str) -> None:
    losses, weights = train(ours, OPTIMIZERS[name], "npu")
    expected_losses, expected_weights = train(ours, OPTIMIZERS[name])
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-5)
    np.testing.assert_allclose(weights, expected_weights, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["momentum", "adam", "amsgrad"])
def test_training_resumes_from_saved_state(name: str) -> None:
    assert train(ours, OPTIMIZERS[name], resume=True)[0] == train(ours, OPTIMIZERS[name])[0]


def test_regression_learns() -> None:
    ours.manual_seed(1)
    x = ours.linspace(-1, 1, 64).unsqueeze(1)
    y = x * x - 0.5
    model = ours.nn.Sequential(ours.nn.Linear(1, 16), ours.nn.Tanh(), ours.nn.Linear(16, 1))
    optimizer = ours.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(300):
        optimizer.zero_grad()
        loss = ours.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    assert loss.item() < 2e-3


ERRORS = {
    "no parameters": lambda torch: torch.optim.SGD([], lr=0.1),
    "a tensor": lambda torch: torch.optim.SGD(torch.ones(1), lr=0.1),
    "not a leaf": lambda torch: torch.optim.SGD([torch.ones(1, requires_grad=True) * 2], lr=0.1),
    "learning rate": lambda torch: torch.optim.Adam([torch.ones(1)], lr=-1.0),
    "beta": lambda torch: torch.optim.Adam([torch.ones(1)], betas=(1.5, 0.9)),
    "nesterov": lambda torch: torch.optim.SGD([torch.ones(1)], lr=0.1, nesterov=True),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    mine, theirs = raised(ERRORS[name])
    assert type(mine) is type(theirs)
    assert str(mine) == str(theirs)
