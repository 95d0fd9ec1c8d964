"""Learning rates that rise and fall, with the momentum the other way round, and one that follows a metric."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ._schedules import LRScheduler, checked_optimizer, of_groups, set_rate
from .optimizer import Optimizer

__all__ = ["CosineAnnealingWarmRestarts", "CyclicLR", "OneCycleLR", "ReduceLROnPlateau"]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine's wave down to ``eta_min``, again and again: in ``T_0`` epochs, then ``T_mult`` times as many."""

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,  # noqa: N803
        T_mult: int = 1,  # noqa: N803
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, float(last_epoch)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates at ``T_cur`` of the wave of ``T_i``."""
        self._warn_outside()
        wave = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * wave for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Goes on by one, or to an epoch, which may be between two."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            self.T_cur, self.T_i = self._place(epoch)
        self.last_epoch = math.floor(epoch)
        self._get_lr_called_within_step = True
        try:
            rates = self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        self._take(rates)

    def _place(self, epoch: float) -> tuple[float, int]:
        """How far an epoch is in its wave, and how long that is."""
        if epoch < self.T_0:
            return epoch, self.T_0
        if self.T_mult == 1:
            return epoch % self.T_0, self.T_0
        waves = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
        before = self.T_0 * (self.T_mult**waves - 1) / (self.T_mult - 1)
        return epoch - before, self.T_0 * self.T_mult**waves


class CyclicLR(LRScheduler):
    """Between ``base_lr`` and ``max_lr`` and back, for each batch: up in ``step_size_up`` steps, down as many.

    ``mode``: ``"triangular"``, ``"triangular2"`` (each cycle half as high), ``"exp_range"`` (as high as ``gamma`` to
    the number of steps), or ``scale_fn`` of the cycle or of the steps. With ``cycle_momentum`` the momentum goes the
    other way. Source: Smith, Cyclical Learning Rates for Training Neural Networks, 2017.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = checked_optimizer(optimizer)
        groups = optimizer.param_groups
        base_lrs = of_groups("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, rate in zip(groups, base_lrs, strict=True):
                set_rate(group, "lr", rate)
        self.max_lrs = of_groups("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.total_size, self.step_ratio = up + down, up / (up + down)
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = _begin_momentum(
                self, optimizer, base_momentum, max_momentum, last_epoch
            )
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """How high a cycle is, of its full height."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 1 / float(2.0 ** (x - 1)) if self.mode == "triangular2" else float(self.gamma**x)

    def get_lr(self) -> list[Any]:
        """The rates at this step; sets the momentum, too."""
        self._warn_outside()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        rates = [low + (high - low) * height * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]
        if self.cycle_momentum:
            ends = zip(self.base_momentums, self.max_momentums, self.optimizer.param_groups, strict=True)
            for low, high, group in ends:
                _set_momentum(self, group, high - (high - low) * height * scale)
        return rates

    def state_dict(self) -> dict[str, Any]:
        """All but the optimizer; of a function that is an object of a class, its attributes."""
        state = super().state_dict()
        given = state.pop("_scale_fn_custom")
        state["_scale_fn_custom"] = (
            None if given is None or not hasattr(given, "__dict__") else dict(vars(given)) or None
        )
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes what `state_dict` returned; a function stays."""
        attributes = state_dict.get("_scale_fn_custom")
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "_scale_fn_custom"})
        if attributes is not None:
            vars(self._scale_fn_custom).update(attributes)


class OneCycleLR(LRScheduler):
    """Up to ``max_lr`` in a part of all steps, and down to far below where it began; a step for each batch.

    The number of steps is ``total_steps``, or ``epochs * steps_per_epoch``. It begins at ``max_lr / div_factor`` and
    ends at ``1 / final_div_factor`` of that. ``three_phase``: back to the beginning first, then down. With
    ``cycle_momentum`` the momentum goes the other way. Source: Smith and Topin, Super-Convergence, 2018.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = checked_optimizer(optimizer)
        self.total_steps = _counted(total_steps, epochs, steps_per_epoch)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        self._anneal_func_type = anneal_strategy
        for group, high in zip(optimizer.param_groups, of_groups("max_lr", optimizer, max_lr), strict=True):
            if last_epoch == -1:
                group["initial_lr"] = high / div_factor
                group["max_lr"] = high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            _begin_momentum(self, optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates at this step; sets the momentum, too."""
        self._warn_outside()
        number = self.last_epoch
        if number > self.total_steps:
            raise ValueError(f"Tried to step {number} times. The specified number of total steps is {self.total_steps}")
        start = 0.0
        for phase in self._schedule_phases:
            end = phase["end_step"]
            if number <= end or phase is self._schedule_phases[-1]:
                break
            start = end
        done = (number - start) / (end - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], done))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                _set_momentum(self, group, self._between(*ends, done))
        return rates

    def _between(self, start: Any, end: Any, done: float) -> Any:
        kind = getattr(self, "_anneal_func_type", None)
        if kind is None:  # a state of before it had a name
            return self.anneal_func(start, end, done)  # type: ignore[attr-defined]
        return (self._annealing_linear if kind == "linear" else self._annealing_cos)(start, end, done)

    @staticmethod
    def _annealing_cos(start: Any, end: Any, pct: float) -> Any:
        return end + (start - end) / 2.0 * (math.cos(math.pi * pct) + 1)

    @staticmethod
    def _annealing_linear(start: Any, end: Any, pct: float) -> Any:
        return (end - start) * pct + start


def _counted(total: int | None, epochs: int | None, steps: int | None) -> int:
    """The steps of a run. Raises ValueError for a number that is none."""
    if total is not None:
        if total <= 0 or not isinstance(total, int):
            raise ValueError(f"Expected positive integer total_steps, but got {total}")
        return total
    if epochs is None or steps is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    if not isinstance(epochs, int) or epochs <= 0:
        raise ValueError(f"Expected positive integer epochs, but got {epochs}")
    if not isinstance(steps, int) or steps <= 0:
        raise ValueError(f"Expected positive integer steps_per_epoch, but got {steps}")
    return epochs * steps


def _phases(total: int, pct_start: float, three: bool) -> list[dict[str, Any]]:
    def phase(end_step: float, *names: str) -> dict[str, Any]:
        keys = ("start_lr", "end_lr", "start_momentum", "end_momentum")
        return {"end_step": end_step, **dict(zip(keys, names, strict=True))}

    rise = phase(float(pct_start * total) - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")
    if not three:
        return [rise, phase(total - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]
    fall = phase(float(2 * pct_start * total) - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum")
    return [rise, fall, phase(total - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum")]


def _begin_momentum(
    self: Any, optimizer: Optimizer, base: Any, most: Any, last_epoch: int
) -> tuple[list[Any], list[Any]]:
    """The least and the greatest momentum of each group, which begins with the greatest."""
    self.use_beta1 = _momentum_key(optimizer) == "betas"
    least, greatest = of_groups("base_momentum", optimizer, base), of_groups("max_momentum", optimizer, most)
    if last_epoch == -1:
        for group, high, low in zip(optimizer.param_groups, greatest, least, strict=True):
            _set_momentum(self, group, high)
            group["max_momentum"], group["base_momentum"] = high, low
    return least, greatest


def _momentum_key(optimizer: Optimizer) -> str:
    """What an optimizer calls its momentum. Raises ValueError where it has none."""
    for name in ("momentum", "betas"):
        if name in optimizer.defaults:
            return name
    raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")


def _set_momentum(self: Any, group: dict[str, Any], value: Any) -> None:
    if self.use_beta1:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


class ReduceLROnPlateau(LRScheduler):
    """The rate times ``factor`` when a metric has not got better for more than ``patience`` epochs.

    Better is lower (``mode="min"``) or higher (``"max"``), by more than ``threshold``: a part of the best one, or with
    ``threshold_mode="abs"`` as it is. For ``cooldown`` epochs after that nothing is counted. Rates stay above
    ``min_lr``, and changes by less than ``eps`` are not made.
    """

    _needs_metrics = True

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Any = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        self.factor = factor
        self.optimizer = checked_optimizer(optimizer)
        count = len(optimizer.param_groups)
        if isinstance(min_lr, (list, tuple)):
            if len(min_lr) != count:
                raise ValueError(f"expected {count} min_lrs, got {len(min_lr)}")
            self.default_min_lr, self.min_lrs = None, list(min_lr)
        else:
            self.default_min_lr, self.min_lrs = min_lr, [min_lr] * count
        self.patience, self.cooldown, self.eps, self.last_epoch = patience, cooldown, eps, 0
        self._last_lr = [group["lr"] for group in optimizer.param_groups]
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self._reset()

    def _reset(self) -> None:
        self.best = self.mode_worse
        self.cooldown_counter, self.num_bad_epochs = 0, 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Takes the metric of an epoch."""
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def _reduce(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    "The number of param groups in the `optimizer` "
                    f"({len(groups)}) differs from when `ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), "
                    "usually due to a new param group being added to the optimizer. Please modify the `min_lrs` field "
                    "to match the length of the `optimizer` param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                set_rate(group, "lr", new)

    @property
    def in_cooldown(self) -> bool:
        """Whether nothing is counted."""
        return self.cooldown_counter > 0

    def is_better(self, a: float, best: float) -> bool:
        """Whether a metric is better than the best one by more than the threshold."""
        rise = self.threshold if self.mode == "max" else -self.threshold
        bound = best + rise if self.threshold_mode == "abs" else best * (1.0 + rise)
        return a > bound if self.mode == "max" else a < bound
