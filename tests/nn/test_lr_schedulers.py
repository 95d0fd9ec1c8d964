"""Schedules of learning rates beside PyTorch's: the same rates and momenta for 40 epochs, and states that both load."""

from __future__ import annotations

import math
import warnings

import pytest

import mindtorch_v2 as torch

pytorch = pytest.importorskip("torch")
EPOCHS = 40

# Each is called with a module's `lr_scheduler` and an optimizer of two groups.
SCHEDULES = {
    "lambda": lambda s, o: s.LambdaLR(o, lambda epoch: 0.9**epoch),
    "lambdas": lambda s, o: s.LambdaLR(o, [lambda epoch: 0.9**epoch, lambda epoch: 1 / (1 + epoch)]),
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, lambda epoch: 0.95),
    "step": lambda s, o: s.StepLR(o, 3),
    "multi_step": lambda s, o: s.MultiStepLR(o, [2, 4, 4, 20], gamma=0.5),
    "constant": lambda s, o: s.ConstantLR(o),
    "linear": lambda s, o: s.LinearLR(o, 0.1, 0.7, total_iters=9),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.9),
    "polynomial": lambda s, o: s.PolynomialLR(o, 30, 2.0),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 7, eta_min=0.01),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, T_mult=2, eta_min=0.01),
    "restarts_alike": lambda s, o: s.CosineAnnealingWarmRestarts(o, 5),
    "triangular": lambda s, o: s.CyclicLR(o, 0.01, 0.1, step_size_up=4, step_size_down=7),
    "triangular2": lambda s, o: s.CyclicLR(o, [0.01, 0.02], [0.1, 0.2], step_size_up=5, mode="triangular2"),
    "exp_range": lambda s, o: s.CyclicLR(o, 0.01, 0.1, step_size_up=5, mode="exp_range", gamma=0.97),
    "scaled": lambda s, o: s.CyclicLR(o, 0.01, 0.1, step_size_up=5, scale_fn=lambda x: 0.8**x, cycle_momentum=False),
    "one_cycle": lambda s, o: s.OneCycleLR(o, 0.5, total_steps=EPOCHS + 1),
    "one_cycle_linear": lambda s, o: s.OneCycleLR(o, [0.5, 0.3], epochs=9, steps_per_epoch=5, anneal_strategy="linear"),
    "one_cycle_3": lambda s, o: s.OneCycleLR(o, 0.5, total_steps=EPOCHS + 1, three_phase=True),
    "sequential": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 4), s.ExponentialLR(o, 0.9), s.StepLR(o, 5)], [4, 17]
    ),
    "chained": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 4), s.ExponentialLR(o, 0.9)], optimizer=o),
    "plateau": lambda s, o: s.ReduceLROnPlateau(o, patience=2, cooldown=1, min_lr=[0.0, 0.05]),
    "plateau_max": lambda s, o: s.ReduceLROnPlateau(o, "max", 0.5, 1, threshold=0.01, threshold_mode="abs"),
}
METRIC = [1 / (1 + epoch) if epoch < 8 else 0.12 + 0.01 * math.sin(epoch) for epoch in range(EPOCHS)]


def optimizer(module, kind="SGD"):
    groups = [{"params": [module.ones(1).requires_grad_()], "lr": lr} for lr in (0.1, 0.2)]
    return getattr(module.optim, kind)(groups, lr=0.1, **({"momentum": 0.9} if kind == "SGD" else {}))


def made(module, name, kind="SGD"):
    found = optimizer(module, kind)
    return found, SCHEDULES[name](module.optim.lr_scheduler, found)


def go_on(stepped, schedule, first, last):
    """Rates and momenta of the groups, an epoch each."""
    seen = []
    for epoch in range(first, last):
        stepped.step()
        schedule.step(*([METRIC[epoch]] if type(schedule).__name__ == "ReduceLROnPlateau" else []))
        seen.append(
            [
                value
                for group in stepped.param_groups
                for value in (group["lr"], *group.get("betas", (group.get("momentum"),)))
            ]
        )
        assert schedule.get_last_lr() == [group["lr"] for group in stepped.param_groups]
    return seen


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_rates_and_momenta(name, kind):
    ours, theirs = (go_on(*made(module, name, kind), 0, EPOCHS) for module in (torch, pytorch))
    for epoch, (got, expected) in enumerate(zip(ours, theirs, strict=True)):
        assert got == pytest.approx(expected, rel=1e-12, abs=1e-15), epoch


def shown(state):
    """A state, with what lies in its lists, as text: numbers by their first 12 digits."""
    if isinstance(state, dict):
        return {key: shown(value) for key, value in state.items()}
    if isinstance(state, (list, tuple)):
        return [shown(value) for value in state]
    return f"{state:.12g}" if isinstance(state, float) else state


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_state_of_either_goes_on_in_the_other(name):
    runs = {module: made(module, name) for module in (torch, pytorch)}
    states = {}
    for module, (stepped, schedule) in runs.items():
        go_on(stepped, schedule, 0, 11)
        states[module] = schedule.state_dict(), stepped.state_dict()
    assert shown(states[torch][0]) == shown(states[pytorch][0])
    resumed = []
    for module, other in ((torch, pytorch), (pytorch, torch)):
        stepped, schedule = made(module, name)
        schedule.load_state_dict(states[other][0])
        stepped.load_state_dict(states[other][1])
        resumed.append(go_on(stepped, schedule, 11, EPOCHS))
    for got, expected in zip(*resumed, strict=True):
        assert got == pytest.approx(expected, rel=1e-12, abs=1e-15)


REFUSED = [
    lambda s, o: s.StepLR(1, 3),
    lambda s, o: s.StepLR(o, 3, last_epoch=4),
    lambda s, o: s.LambdaLR(o, [lambda epoch: 1.0]),
    lambda s, o: s.ConstantLR(o, 1.5),
    lambda s, o: s.LinearLR(o, 0.0),
    lambda s, o: s.LinearLR(o, 0.5, 1.5),
    lambda s, o: s.CosineAnnealingWarmRestarts(o, 0),
    lambda s, o: s.CosineAnnealingWarmRestarts(o, 1, 0),
    lambda s, o: s.CosineAnnealingWarmRestarts(o, 2).step(-1),
    lambda s, o: s.CyclicLR(o, [0.1], 0.2),
    lambda s, o: s.CyclicLR(o, 0.1, 0.2, mode="square"),
    lambda s, o: s.OneCycleLR(o, 0.1),
    lambda s, o: s.OneCycleLR(o, 0.1, total_steps=-1),
    lambda s, o: s.OneCycleLR(o, 0.1, total_steps=5, pct_start=2.0),
    lambda s, o: s.OneCycleLR(o, 0.1, total_steps=5, anneal_strategy="cubic"),
    lambda s, o: s.ReduceLROnPlateau(o, factor=1.0),
    lambda s, o: s.ReduceLROnPlateau(o, mode="least"),
    lambda s, o: s.ReduceLROnPlateau(o, threshold_mode="some"),
    lambda s, o: s.ReduceLROnPlateau(o, min_lr=[0.0]),
    lambda s, o: s.SequentialLR(o, [s.StepLR(o, 3)], [3]),
    lambda s, o: s.ChainedScheduler([]),
]


@pytest.mark.parametrize("call", REFUSED)
def test_what_is_refused(call):
    kinds = []
    for module in (torch, pytorch):
        with pytest.raises((ValueError, TypeError, KeyError)) as caught:
            call(module.optim.lr_scheduler, optimizer(module))
        kinds.append(caught.type)
    assert kinds[0] is kinds[1]


def test_a_schedule_stepped_first_is_told():
    for module in (torch, pytorch):
        stepped, schedule = made(module, "step")
        with pytest.warns(UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before `optimizer.step\(\)`"):
            schedule.step()
        stepped, schedule = made(module, "step")
        stepped.step()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            schedule.step()


def test_a_rate_that_is_a_tensor_keeps_its_place():
    rate = torch.tensor(0.1)
    stepped = torch.optim.SGD([torch.ones(1).requires_grad_()], lr=0.1)
    stepped.param_groups[0]["lr"] = rate
    schedule = torch.optim.lr_scheduler.ExponentialLR(stepped, 0.5)
    stepped.step()
    schedule.step()
    assert stepped.param_groups[0]["lr"] is rate
    assert rate.item() == pytest.approx(0.05)
