"""Averages of a model's weights over training: what averages, the model that holds them, and the rates for it."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

from .. import _creation
from .._core import Tensor, dtypes
from .._ops import ops
from ..autograd import no_grad
from ..nn import Module
from ..nn.norms import _BatchNorm
from ._rules import lists_run_on
from ._schedules import LRScheduler, of_groups
from .optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

Average = Callable[[Tensor, Tensor, Any], Tensor]
Averages = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _divides(tensor: Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def get_ema_multi_avg_fn(decay: float = 0.999) -> Averages:
    """A function that moves lists of averages toward values by ``1 - decay``. Raises ValueError outside of 0 to 1."""
    _check_decay(decay)

    def ema_update(ema_param_list: Sequence[Tensor], current_param_list: Sequence[Tensor], _: Any) -> None:
        with no_grad():
            if _divides(ema_param_list[0]):
                ops.aten._foreach_lerp_(ema_param_list, current_param_list, 1 - decay)
                return
            for average, value in zip(ema_param_list, current_param_list, strict=True):
                average.copy_(average * decay + value * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Averages:
    """A function that takes lists of values into lists of means of as many as it is told."""

    def swa_update(
        averaged_param_list: Sequence[Tensor], current_param_list: Sequence[Tensor], num_averaged: Any
    ) -> None:
        with no_grad():
            if _divides(averaged_param_list[0]):
                ops.aten._foreach_lerp_(averaged_param_list, current_param_list, float(1 / (num_averaged + 1)))
                return
            changes = ops.aten._foreach_sub(current_param_list, averaged_param_list)
            if isinstance(num_averaged, Tensor):
                counts = [num_averaged + 1] * len(averaged_param_list)
                ops.aten._foreach_addcdiv_(averaged_param_list, changes, counts)
            else:
                ops.aten._foreach_add_(averaged_param_list, changes, alpha=1.0 / (num_averaged + 1))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """A function that gives an average moved toward a value by ``1 - decay``. Raises ValueError outside of 0 to 1."""
    _check_decay(decay)

    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        with no_grad():
            return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Average:
    """A function that gives a mean of as many values as it is told with one more."""

    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        with no_grad():
            result: Tensor = averaged_param + (current_param - averaged_param) / (num_averaged + 1)
            return result

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of that model's: `update_parameters` takes its present ones.

    The mean, by default; ``avg_fn(average, value, count)`` gives another, ``multi_avg_fn(averages, values, count)``
    makes one in place. With ``use_buffers`` buffers are averaged, too, else copied. Source: Izmailov et al., Averaging
    Weights Leads to Wider Optima and Better Generalization, 2018. Raises AssertionError for both functions.
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: Averages | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", _creation.tensor(0, dtype=dtypes["int64"], device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the model of the averages gives."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Takes a model's present parameters into the averages: the first ones are the averages."""
        mine: Iterable[Tensor] = self.parameters()
        theirs: Iterable[Tensor] = model.parameters()
        if self.use_buffers:
            mine, theirs = chain(self.module.parameters(), self.module.buffers()), chain(theirs, model.buffers())
        averages = [param.detach() for param in mine]
        values = [value.detach().to(average.device) for average, value in zip(averages, theirs, strict=False)]
        if bool(self.n_averaged == 0):
            for average, value in zip(averages, values, strict=True):
                average.copy_(value)
        else:
            self._average(averages, values)
        if not self.use_buffers:
            for buffer, value in zip(self.module.buffers(), model.buffers(), strict=True):
                buffer.detach().copy_(value.detach().to(buffer.device))
        self.n_averaged += 1

    def _average(self, averages: list[Tensor], values: list[Tensor]) -> None:
        groups: dict[Any, list[tuple[Tensor, Tensor]]] = {}
        for pair in zip(averages, values, strict=True):
            groups.setdefault((pair[0].device, pair[0].dtype), []).append(pair)
        for pairs in groups.values():
            count = self.n_averaged.to(pairs[0][0].device)
            multiple = self.multi_avg_fn
            if multiple is None and self.avg_fn is None and lists_run_on(pairs[0][0]):
                multiple = get_swa_multi_avg_fn()
            if multiple is not None:
                multiple([pair[0] for pair in pairs], [pair[1] for pair in pairs], count)
                continue
            single = self.avg_fn or get_swa_avg_fn()
            for average, value in pairs:
                average.copy_(single(average, value, count))


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Computes the running means and variances of a model's batch normalisations anew, over all that a loader gives.

    Of lists and tuples the first item is what the model takes.
    """
    momenta = {module: module.momentum for module in model.modules() if isinstance(module, _BatchNorm)}
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.reset_running_stats()
        module.momentum = None  # the mean of all batches
    with no_grad():
        for given in loader:
            value = given[0] if isinstance(given, (list, tuple)) else given
            model(value if device is None else value.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """From the optimizer's rates to ``swa_lr`` in ``anneal_epochs``, by half a cosine's wave or a line; then constant.

    ``swa_lr`` is one rate, or one for each group. Raises ValueError for another strategy and for epochs below 0.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for rate, group in zip(of_groups("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t: float) -> float:
        """The part of the way at a part of the time."""
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def get_lr(self) -> list[Any]:
        """The next rates, from those the groups have: where they would have begun follows from how far they are."""
        self._warn_outside()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        done, now = (self.anneal_func(max(0, min(1, at / max(1, self.anneal_epochs)))) for at in (step - 1, step))
        rates = []
        for group in self.optimizer.param_groups:
            rate, end = group["lr"], group["swa_lr"]
            begun = end if done == 1 else (rate - done * end) / (1 - done)
            rates.append(end * now + begun * (1 - now))
        return rates
