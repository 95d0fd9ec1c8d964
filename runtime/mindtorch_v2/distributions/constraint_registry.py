"""A transform from all numbers to what a constraint allows: `biject_to` where it has to be a bijection, or
`transform_to`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

Factory = Callable[[Any], transforms.Transform]


class ConstraintRegistry:
    """Functions that make a transform of a constraint, by the constraint's class."""

    def __init__(self) -> None:
        self._registry: dict[type, Factory] = {}

    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """Says what makes a transform for constraints of a class; without ``factory`` it is a decorator."""
        if factory is None:
            return lambda function: self.register(constraint, function)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not (isinstance(kind, type) and issubclass(kind, constraints.Constraint)):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> transforms.Transform:
        """The transform. Raises NotImplementedError where none is known."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def _from_half_line(sign: int, bound: str) -> Factory:
    def make(constraint: Any) -> transforms.Transform:
        shift = transforms.AffineTransform(getattr(constraint, bound), sign)
        return transforms.ComposeTransform([transforms.ExpTransform(), shift])

    return make


def _to_interval(constraint: Any) -> transforms.Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


def _independent(registry: ConstraintRegistry) -> Factory:
    def make(constraint: Any) -> transforms.Transform:
        return transforms.IndependentTransform(
            registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims
        )

    return make


def _cat(registry: ConstraintRegistry) -> Factory:
    return lambda c: transforms.CatTransform([registry(one) for one in c.cseq], c.dim, c.lengths)


def _stack(registry: ConstraintRegistry) -> Factory:
    return lambda c: transforms.StackTransform([registry(one) for one in c.cseq], c.dim)


for _registry in (biject_to, transform_to):
    for _constraint, _factory in (
        (constraints.real, lambda _: transforms.identity_transform),
        (constraints.independent, _independent(_registry)),
        (constraints.greater_than, _from_half_line(1, "lower_bound")),
        (constraints.greater_than_eq, _from_half_line(1, "lower_bound")),
        (constraints.less_than, _from_half_line(-1, "upper_bound")),
        (constraints.interval, _to_interval),
        (constraints.half_open_interval, _to_interval),
        (constraints.corr_cholesky, lambda _: transforms.CorrCholeskyTransform()),
        (constraints.cat, _cat(_registry)),
        (constraints.stack, _stack(_registry)),
    ):
        _registry.register(_constraint, _factory)
biject_to.register(constraints.simplex, lambda _: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda _: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda _: transforms.LowerCholeskyTransform())
transform_to.register(constraints.positive_definite, lambda _: transforms.PositiveDefiniteTransform())
transform_to.register(constraints.positive_semidefinite, lambda _: transforms.PositiveDefiniteTransform())
