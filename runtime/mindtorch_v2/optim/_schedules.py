"""Learning rates that follow a schedule: what schedules share, factors, and schedules of schedules.

A schedule says in `get_lr` what the next rates of the groups are, mostly from those they have: so schedules chain.
"""

from __future__ import annotations

import functools
import math
import types
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .._core import Tensor
from .optimizer import Optimizer

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "PolynomialLR",
    "SequentialLR",
    "StepLR",
]

_Rate = float | Tensor
_ORDER = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call "
    "them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in "
    "PyTorch skipping the first value of the learning rate schedule. See more details at "
    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)
EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available."
)


def checked_optimizer(optimizer: Any) -> Optimizer:
    """Raises TypeError for what is no optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
    return optimizer


def set_rate(group: dict[str, Any], name: str, value: Any) -> None:
    """Sets an option of a group; a tensor keeps its place, and gets the value."""
    if isinstance(group[name], Tensor):
        group[name].fill_(value)
    else:
        group[name] = value


class LRScheduler:
    """The base of schedules: ``step()`` once an epoch, after the optimizer's, sets the rates that `get_lr` says.

    ``last_epoch`` is that of the checkpoint where training is resumed; -1 begins with the optimizer's rates.
    """

    _last_lr: list[Any]
    _needs_metrics = False  # whether `step` is told a figure, which a schedule of schedules has not

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = checked_optimizer(optimizer)
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                rate = group["lr"]
                group.setdefault("initial_lr", rate.clone() if isinstance(rate, Tensor) else rate)
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] when resuming an optimizer with "
                    "last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume training from a "
                    "checkpoint but haven't properly loaded the optimizer state\n2. You're using last_epoch >= 0 for "
                    "a fresh training run (not recommended)"
                )
        self.base_lrs: list[Any] = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._count_steps_of(optimizer)
        self._begin()

    @staticmethod
    def _count_steps_of(optimizer: Any) -> None:
        """Has the optimizer note that it was stepped, which is to come before the schedule's step."""
        if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
            return
        inner, reference = optimizer.step.__func__, weakref.ref(optimizer)  # its own function does not keep it alive

        @functools.wraps(inner)
        def step(*args: Any, **kwargs: Any) -> Any:
            stepped: Any = reference()
            stepped._opt_called = True
            return inner(stepped, *args, **kwargs)

        step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
        optimizer.step = step

    def _begin(self) -> None:
        self._step_count = 0
        self._is_initial = True
        self.step()
        self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """All but the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes what `state_dict` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The rates that the latest step set."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The rates of the groups at ``last_epoch``."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Goes on by one, or, which is deprecated, to an epoch."""
        if self._step_count == 1 and not getattr(self.optimizer.step, "_wrapped_by_lr_sched", False):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
                "Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. See more details at "
                "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate",
                UserWarning,
                stacklevel=2,
            )
        elif self._step_count == 1 and not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(_ORDER, UserWarning, stacklevel=2)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._set_rates(epoch)

    def _set_rates(self, epoch: int | None = None) -> None:
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                closed = getattr(self, "_get_closed_form_lr", None)
                rates = self.get_lr() if closed is None else closed()
        finally:
            self._get_lr_called_within_step = False
        self._take(rates)

    def _take(self, rates: Iterable[Any]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_rate(group, "lr", rate)
        self._last_lr = [_copied(group["lr"]) for group in self.optimizer.param_groups]

    def _warn_outside(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    def _rates(self) -> list[Any]:
        """What the groups have now."""
        return [group["lr"] for group in self.optimizer.param_groups]


def _copied(rate: Any) -> Any:
    return rate.clone() if isinstance(rate, Tensor) else rate


def of_groups(name: str, optimizer: Optimizer, param: Any) -> list[Any]:
    """An option for each group of an optimizer: one for all, or a list; of tensors copies.

    Raises ValueError for a list of another length.
    """
    count = len(optimizer.param_groups)
    given = param if isinstance(param, (list, tuple)) else [param] * count
    if len(given) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(given)} values, param_groups "
            f"has {count}."
        )
    return [_copied(value) for value in given]


# ---------------------------------------------------------------- functions of the user's
class LambdaLR(LRScheduler):
    """The initial rate times ``lr_lambda(epoch)``: one function, or one for each group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas = _one_each(checked_optimizer(optimizer), lr_lambda)
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """All but the optimizer; of functions that are objects of a class, their attributes."""
        state = {name: value for name, value in super().state_dict().items() if name != "lr_lambdas"}
        plain = (types.FunctionType, types.BuiltinFunctionType)
        state["lr_lambdas"] = [None if isinstance(each, plain) else dict(vars(each)) for each in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes what `state_dict` returned; functions stay."""
        attributes = state_dict["lr_lambdas"]
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "lr_lambdas"})
        for function, found in zip(self.lr_lambdas, attributes, strict=True):
            if found is not None:
                vars(function).update(found)

    def get_lr(self) -> list[Any]:
        """The initial rates, times what the functions say."""
        self._warn_outside()
        return [base * function(self.last_epoch) for function, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(LambdaLR):
    """The rate times ``lr_lambda(epoch)``, at every epoch."""

    def get_lr(self) -> list[Any]:
        """The rates that there are, times what the functions say."""
        self._warn_outside()
        if self._is_initial:
            return self._rates()
        return [rate * function(self.last_epoch) for function, rate in zip(self.lr_lambdas, self._rates(), strict=True)]


def _one_each(optimizer: Optimizer, given: Any) -> list[Callable[[int], float]]:
    count = len(optimizer.param_groups)
    if not isinstance(given, (list, tuple)):
        return [given] * count
    if len(given) != count:
        raise ValueError(f"Expected {count} lr_lambdas, but got {len(given)}")
    return list(given)


# ---------------------------------------------------------------- factors
class StepLR(LRScheduler):
    """The rate times ``gamma`` every ``step_size`` epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates that there are, times ``gamma`` where an interval ends."""
        self._warn_outside()
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._rates()
        return [rate * self.gamma for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """The rate times ``gamma`` at each of ``milestones``, which are epochs in rising order."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates that there are, times ``gamma`` at a milestone, as often as it is given."""
        self._warn_outside()
        if self.last_epoch not in self.milestones:
            return self._rates()
        return [rate * self.gamma ** self.milestones[self.last_epoch] for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        passed = sum(count for milestone, count in self.milestones.items() if milestone <= self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """The rate times ``factor`` for the first ``total_iters`` epochs."""

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates that there are, but where the factor begins and ends."""
        self._warn_outside()
        if self.last_epoch == 0:
            return [rate * self.factor for rate in self._rates()]
        if self.last_epoch != self.total_iters:
            return self._rates()
        return [rate * (1.0 / self.factor) for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        return [
            base * (self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)) for base in self.base_lrs
        ]


class LinearLR(LRScheduler):
    """The rate times a factor that goes from ``start_factor`` to ``end_factor`` in ``total_iters`` epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates that there are, times this factor by the one before."""
        self._warn_outside()
        if self.last_epoch == 0:
            return [rate * self.start_factor for rate in self._rates()]
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        rise = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
        return [rate * (1.0 + rise / before) for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        rise = (self.end_factor - self.start_factor) * min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * (self.start_factor + rise) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """The rate times ``gamma`` every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates that there are, times ``gamma``."""
        self._warn_outside()
        return self._rates() if self._is_initial else [rate * self.gamma for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The rate times ``(1 - epoch / total_iters) ** power``, down to zero."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates that there are, times this factor by the one before."""
        self._warn_outside()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        now, before = (1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1))
        return [rate * (now / before) ** self.power for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * left**self.power for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """The rate on half a cosine's wave, from its initial value to ``eta_min`` in ``T_max`` epochs, and back."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:  # noqa: N803
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates that there are, as far from ``eta_min`` as the wave is from its least."""
        self._warn_outside()
        if self._is_initial:
            return self._rates()
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            turn = (1 - math.cos(math.pi / self.T_max)) / 2
            return [
                rate + (base - self.eta_min) * turn for base, rate in zip(self.base_lrs, self._rates(), strict=True)
            ]
        now, before = (1 + math.cos(math.pi * epoch / self.T_max) for epoch in (self.last_epoch, self.last_epoch - 1))
        return [now / before * (rate - self.eta_min) + self.eta_min for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        wave = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * wave for base in self.base_lrs]


# ---------------------------------------------------------------- schedules of schedules
class _Joined(LRScheduler):
    """What is made of other schedules: its state holds theirs."""

    _schedulers: Sequence[LRScheduler]

    def state_dict(self) -> dict[str, Any]:
        """All but the optimizer, with the states of the schedules."""
        return {**super().state_dict(), "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes what `state_dict` returned."""
        self.__dict__.update({name: value for name, value in state_dict.items() if name != "_schedulers"})
        for scheduler, found in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(found)


class SequentialLR(_Joined):
    """One schedule after another: each of ``milestones`` is the epoch at which the next one begins."""

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        _same_optimizer(self, schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch, self.optimizer = last_epoch + 1, optimizer
        for group in optimizer.param_groups:  # what the schedules have done when they were made is undone
            set_rate(group, "lr", _copied(group["initial_lr"]))
        _undo(schedulers)
        first = schedulers[sum(milestone <= 0 for milestone in milestones)]
        first._begin()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:  # type: ignore[override]
        """Steps the schedule whose turn it is."""
        self.last_epoch += 1
        at = sum(self.last_epoch >= milestone for milestone in self._milestones)
        scheduler = self._schedulers[at]
        if at and self._milestones[at - 1] == self.last_epoch:
            with warnings.catch_warnings():  # a schedule begins with its epoch 0
                warnings.simplefilter("ignore", UserWarning)
                scheduler._set_rates(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


def _undo(schedulers: Sequence[Any]) -> None:
    """Takes back the step that schedules took when they were made, and those that they are made of."""
    for scheduler in schedulers:
        if hasattr(scheduler, "_schedulers"):
            _undo(scheduler._schedulers)
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1


class ChainedScheduler(_Joined):
    """Several schedules at once: each step is one of each, in turn."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if not schedulers:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler to be chained, but got no scheduler."
            )
        optimizer = optimizer or schedulers[0].optimizer
        _same_optimizer(self, schedulers, optimizer)
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = [_copied(group["lr"]) for group in optimizer.param_groups]

    def step(self) -> None:  # type: ignore[override]
        """Steps all of them."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = [_copied(group["lr"]) for group in self.optimizer.param_groups]


def _same_optimizer(self: Any, schedulers: Sequence[Any], optimizer: Any) -> None:
    if not schedulers:
        raise ValueError(f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
    for at, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, "optimizer"):
            raise TypeError(f"{type(self).__name__} at index {at} should have `optimizer` as its attribute.")
        if getattr(scheduler, "_needs_metrics", False):
            raise ValueError(
                f"{type(self).__name__} does not support `{type(scheduler).__name__}` scheduler as it requires "
                f"additional kwargs to be specified when calling `step`, but got one at index {at} in the given "
                "schedulers sequence."
            )
        if scheduler.optimizer is not optimizer:
            raise ValueError(
                f"{type(self).__name__} expects all schedulers to belong to the same optimizer, but got scheduler "
                f"{type(scheduler).__name__} at index {at} that does not belong to it"
            )
