"""`GradScaler`: scales losses so that small gradients survive half precision; skips steps where large ones do not."""

from __future__ import annotations

import enum
import inspect
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sized
from typing import Any

from .._core import Tensor, device, dtypes
from .._ops import ops
from ..autograd import no_grad

__all__ = ["GradScaler", "OptState"]

_NOT_SCALED = "This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration."


class OptState(enum.Enum):
    """Where an optimiser is between two calls of `GradScaler.update`."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Multiplies losses by a factor, divides gradients by it before the optimiser's step, and adapts it.

    ``scale(loss).backward()``, ``step(optimizer)``, ``update()``: a step whose gradients hold inf or NaN is left out
    and the factor multiplied by ``backoff_factor``; after ``growth_interval`` steps in a row that were made it is
    multiplied by ``growth_factor``. With ``enabled=False`` everything goes through unchanged. Raises AssertionError
    for factors on the wrong side of one.
    """

    def __init__(
        self,
        device: str = "npu",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device, self._enabled = device, enabled
        if enabled and device == "cuda":
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError(f"The growth factor must be > 1.0. Got {growth_factor}")
        if backoff_factor >= 1.0:
            raise AssertionError(f"The backoff factor must be < 1.0. Got {backoff_factor}")
        self._init_scale, self._init_growth_tracker = init_scale, 0
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._scale: Tensor | None = None  # made with the first `scale`, where the outputs are
        self._growth_tracker: Tensor | None = None
        self._per_optimizer_states: dict[int, dict[str, Any]] = defaultdict(_refresh_per_optimizer_state)

    def scale(self, outputs: Any) -> Any:
        """A tensor, or a list, tuple or other iterable of tensors, times the scale.

        Raises ValueError for anything else.
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._scale = _number(self._init_scale, "float32", outputs.device)
                self._growth_tracker = _number(self._init_growth_tracker, "int32", outputs.device)
            return outputs * self._scale.to(outputs.device)
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(item) for item in outputs)
        if isinstance(outputs, Iterable):
            return map(self.scale, outputs)
        raise ValueError(f"outputs must be a Tensor or an iterable of Tensors, got {type(outputs).__name__}")

    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients of an optimiser's parameters by the scale, in place, and looks for inf and NaN.

        `step` does it where it was not done before. Raises RuntimeError the second time before `update`, ValueError
        for float16 gradients.
        """
        if not self._enabled:
            return
        scale = self._require_scale("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse, found = scale.double().reciprocal().float(), _number(0.0, "float32", scale.device)
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inverse, found, False)
        state["stage"] = OptState.UNSCALED

    def _unscale_grads_(
        self, optimizer: Any, inv_scale: Tensor, found_inf: Tensor, allow_fp16: bool
    ) -> dict[device, Tensor]:
        """Multiplies an optimiser's gradients; {device: 1.0 where one was inf or NaN, else what ``found_inf`` is}."""
        grads: dict[device, list[Tensor]] = {}
        for grad in (p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None):
            if not allow_fp16 and grad.dtype is dtypes["float16"]:
                raise ValueError("Attempting to unscale FP16 gradients.")
            grads.setdefault(grad.device, []).append(grad)
        found = {}
        with no_grad():
            for where, there in grads.items():
                found[where] = found_inf.to(where, copy=True)
                ops.aten._amp_foreach_non_finite_check_and_unscale_(there, found[where], inv_scale.to(where))
        return found

    def _check_inf_per_device(self, optimizer: Any) -> dict[device, Tensor]:
        """As `_unscale_grads_` without a scale: where gradients are inf or NaN is looked for, and kept."""
        scale = self._require_scale("_check_inf_per_device")
        one, found = _number(1.0, "float32", scale.device), _number(0.0, "float32", scale.device)
        seen = self._unscale_grads_(optimizer, one, found, True)
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = seen
        return seen

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """``optimizer.step(*args, **kwargs)`` and its result, unless the unscaled gradients hold inf or NaN.

        An optimiser whose ``_step_supports_amp_scaling`` is true scales for itself: it steps always, and finds the
        scale in ``grad_scale`` (None where the gradients are unscaled already) and whether there was inf or NaN in
        ``found_inf``, or gets the scaler where its ``step`` takes ``grad_scaler``, which warns. Raises RuntimeError the
        second time before `update`, and for a closure.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._require_scale("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._step_that_scales(optimizer, state, args, kwargs)
            state["stage"] = OptState.STEPPED
            return result
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        found = state["found_inf_per_device"].values()
        if not found:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = None if any(flag.item() for flag in found) else optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _step_that_scales(
        self, optimizer: Any, state: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warnings.warn(
                "GradScaler is going to stop passing itself as a keyword argument to the passed optimizer, which finds "
                "what it needs in its attributes grad_scale and found_inf.",
                FutureWarning,
                stacklevel=3,
            )
            return optimizer.step(*args, **kwargs, grad_scaler=self)
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
        scale = self._require_scale("step")
        optimizer.grad_scale = None if state["stage"] is OptState.UNSCALED else scale
        optimizer.found_inf = sum(flag.to(scale.device) for flag in state["found_inf_per_device"].values())
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adapts the scale to what the steps since the last call found, or sets it to ``new_scale``."""
        if not self._enabled:
            return
        scale = self._require_scale("update")
        if new_scale is not None:
            scale.copy_(new_scale) if isinstance(new_scale, Tensor) else scale.fill_(new_scale)
        else:
            found = [
                flag for state in self._per_optimizer_states.values() for flag in state["found_inf_per_device"].values()
            ]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            ops.aten._amp_update_scale_(
                scale,
                self._require_tracker(),
                sum(flag.to(scale.device) for flag in found),
                self._growth_factor,
                self._backoff_factor,
                self._growth_interval,
            )
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def get_scale(self) -> float:
        """The scale; 1.0 where scaling is disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by when it grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Sets what the scale is multiplied by when it grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by when a step was left out."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Sets what the scale is multiplied by when a step was left out."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many steps in a row the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Sets after how many steps in a row the scale grows."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Whether anything is scaled."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Scale, factors, interval and steps since the last change; empty where scaling is disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict` gave. Raises RuntimeError for that of a disabled scaler."""
        if not self._enabled:
            return
        if isinstance(state_dict, Sized) and len(state_dict) == 0:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"load_state_dict() expects what state_dict() gave, got {type(state_dict).__name__}")
        self._init_scale, self._init_growth_tracker = state_dict["scale"], state_dict["_growth_tracker"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        if self._scale is not None and self._growth_tracker is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                    "scaler.update()."
                )
            state |= {"_init_scale": self.get_scale(), "_init_growth_tracker": self._get_growth_tracker()}
            state |= {"_scale": None, "_growth_tracker": None}  # made again where the next outputs are
        return state

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker.item())

    def _require_scale(self, method: str) -> Tensor:
        if self._scale is None:
            raise AssertionError(f"Attempted {method} but _scale is None.  {_NOT_SCALED}")
        return self._scale

    def _require_tracker(self) -> Tensor:
        if self._growth_tracker is None:
            raise AssertionError(f"Attempted update but _growth_tracker is None.  {_NOT_SCALED}")
        return self._growth_tracker


def _number(value: float, dtype: str, where: device) -> Tensor:
    made: Tensor = ops.aten.full((), value, dtype=dtypes[dtype], device=where)
    return made
