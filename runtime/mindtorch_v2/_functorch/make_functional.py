"""Modules as functions of their parameters, by position: what came before `torch.func.functional_call`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from .._core import Tensor
from ..func import functional_call, stack_module_state
from ..nn import Module

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "functional_init",
    "functional_init_with_buffers",
    "make_functional",
    "make_functional_with_buffers",
]


class FunctionalModule(Module):
    """A module without values of its own: called with its parameters in their order, then with its arguments."""

    def __init__(self, stateless_model: Module) -> None:
        super().__init__()
        self.param_names = tuple(name for name, _ in stateless_model.named_parameters())
        self.buffer_names = tuple(name for name, _ in stateless_model.named_buffers())
        self.stateless_model = stateless_model

    def forward(self, params: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        return self._called(params, (), args, kwargs)

    def _called(self, params: Sequence[Tensor], buffers: Sequence[Tensor], args: Any, kwargs: Any) -> Any:
        state = dict(zip((*self.param_names, *self.buffer_names), (*params, *buffers), strict=True))
        return functional_call(self.stateless_model, state, args, kwargs)


class FunctionalModuleWithBuffers(FunctionalModule):
    """As `FunctionalModule`, called with its buffers after its parameters."""

    def forward(self, params: Sequence[Tensor], buffers: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        return self._called(params, buffers, args, kwargs)


def make_functional(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """``(func, params)``: ``func(params, *args)`` is what the model computes with these parameters.

    The parameters are copies, which require no gradient with ``disable_autograd_tracking``. Raises RuntimeError for a
    model that has buffers.
    """
    if next(model.buffers(), None) is not None:
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    params, _ = _state(model, disable_autograd_tracking)
    return FunctionalModule(_stateless(model)), params


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """``(func, params, buffers)``: as `make_functional`, for ``func(params, buffers, *args)``."""
    return FunctionalModuleWithBuffers(_stateless(model)), *_state(model, disable_autograd_tracking)


def combine_state_for_ensemble(
    models: Sequence[Module],
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """``(func, params, buffers)`` of models of one class, with what each has stacked along a new first dimension.

    Raises RuntimeError as `torch.func.stack_module_state` does.
    """
    params, buffers = stack_module_state(models)
    return FunctionalModuleWithBuffers(_stateless(models[0])), tuple(params.values()), tuple(buffers.values())


def functional_init(
    model_class: Callable[..., Module], ensemble_shape: tuple[int, ...] = (), device: Any = "cpu"
) -> Callable[..., tuple[Any, ...]]:
    """What makes models from the class's arguments: ``(params, func, names)``, for ``func(params, args)``.

    With ``ensemble_shape`` ``(n,)`` it makes n models, whose parameters are stacked. Raises ValueError for a shape of
    more dimensions, and where n is not above 0.
    """

    def init(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        func, params, _ = _made(model_class, ensemble_shape, device, args, kwargs)
        return params, lambda weights, batch: func(weights, (), *batch), func.param_names

    return init


def functional_init_with_buffers(
    model_class: Callable[..., Module], ensemble_shape: tuple[int, ...] = (), device: Any = "cpu"
) -> Callable[..., tuple[Any, ...]]:
    """As `functional_init`: ``(params, buffers, func, names, names of buffers)``; ``func(params, buffers, args)``."""

    def init(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        func, params, buffers = _made(model_class, ensemble_shape, device, args, kwargs)
        call = lambda weights, state, batch: func(weights, state, *batch)  # noqa: E731
        return params, buffers, call, func.param_names, func.buffer_names

    return init


def _made(
    model_class: Callable[..., Module], shape: Sequence[int], device: Any, args: Any, kwargs: Any
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    if len(shape) > 1:
        raise ValueError("NYI: ensemble_shape with more than 1 element")
    if not shape:
        return make_functional_with_buffers(model_class(*args, **kwargs).to(device))
    if shape[0] <= 0:
        raise ValueError(f"num_models {shape[0]} should be > 0")
    return combine_state_for_ensemble([model_class(*args, **kwargs).to(device) for _ in range(shape[0])])


def _state(model: Module, disable_autograd_tracking: bool) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    copied = copy.deepcopy(model)
    if disable_autograd_tracking:
        copied.requires_grad_(False)
    return tuple(copied.parameters()), tuple(copied.buffers())


def _stateless(model: Module) -> Module:
    """A copy whose parameters and buffers are on meta, tied as the model's are."""
    tensors = [*model.parameters(), *model.buffers()]
    return copy.deepcopy(model, {id(t): t.detach().to("meta").requires_grad_(t.requires_grad) for t in tensors})
