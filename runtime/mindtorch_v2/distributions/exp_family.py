"""Families of the form exp(natural parameters · statistics - log normalizer)."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .._core import Tensor
from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A family that says its natural parameters and log normalizer: the entropy follows by a gradient."""

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """By the gradient of the log normalizer, which is the mean of the statistics (Bregman's divergence)."""
        params = [one.detach().requires_grad_() for one in self._natural_params]
        with torch.enable_grad():
            normalizer = self._log_normalizer(*params)
            gradients = torch.autograd.grad(normalizer.sum(), params, create_graph=True)
        result = normalizer - self._mean_carrier_measure
        for param, gradient in zip(params, gradients, strict=True):
            product = param * gradient
            result = result - product.reshape((*self._batch_shape, -1)).sum(-1)
        return result
