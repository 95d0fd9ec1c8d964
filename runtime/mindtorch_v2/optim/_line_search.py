"""How far to go along a direction: a point that fulfils the strong Wolfe conditions, by cubic interpolation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._core import Tensor

__all__ = ["Point", "strong_wolfe"]

_DECREASE, _CURVATURE = 1e-4, 0.9  # of the two conditions
_NARROWEST = 1e-9  # of a bracket, times the direction's greatest number


@dataclass(frozen=True)
class Point:
    """A step ``t`` along a direction: the loss there, the gradient, and its slope along the direction."""

    t: Any
    loss: float
    grad: Tensor
    slope: Any


def _cubic_minimum(a: Point, b: Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """Where the cubic through two points, with their slopes, is least, within bounds; their middle where it is not."""
    if a.t > b.t:
        a, b = b, a
    low, high = bounds if bounds is not None else (a.t, b.t)
    bend = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = bend**2 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2.0
    root = square.sqrt()
    least = b.t - (b.t - a.t) * ((b.slope + root - bend) / (b.slope - a.slope + 2 * root))
    return min(max(least, low), high)


def strong_wolfe(evaluate: Callable[[Any], Point], start: Point, t: Any, width: Any, most: int) -> tuple[Point, int]:
    """The point that a search finds which begins with a step ``t`` from ``start``, and how often it evaluated.

    ``width`` is the direction's greatest number, ``most`` the greatest number of steps after the first. Source: Nocedal
    and Wright, Numerical Optimization, algorithms 3.5 and 3.6.
    """
    found, bracket, steps = _bracket(evaluate, start, t, most)
    if found is None:
        found, steps = _zoom(evaluate, start, bracket, width, steps, most)
    return found, steps + 1


def _too_high(point: Point, start: Point) -> bool:
    return bool(point.loss > start.loss + _DECREASE * point.t * start.slope)


def _flat(point: Point, start: Point) -> bool:
    return bool(abs(point.slope) <= -_CURVATURE * start.slope)


def _bracket(
    evaluate: Callable[[Any], Point], start: Point, t: Any, most: int
) -> tuple[Point | None, list[Point], int]:
    """A point that fulfils both conditions, or two that have one between them; and the steps after the first."""
    before, now, steps = start, evaluate(t), 0
    while steps < most:
        if _too_high(now, start) or (steps > 1 and now.loss >= before.loss):
            return None, [before, now], steps
        if _flat(now, start):
            return now, [now], steps
        if now.slope >= 0:
            return None, [before, now], steps
        bounds = now.t + 0.01 * (now.t - before.t), now.t * 10
        before, now = now, evaluate(_cubic_minimum(before, now, bounds))
        steps += 1
    return None, [start, now], steps


def _zoom(
    evaluate: Callable[[Any], Point], start: Point, bracket: list[Point], width: Any, steps: int, most: int
) -> tuple[Point, int]:
    """Narrows a bracket until a point fulfils both conditions, or the steps are used up: the lowest one."""
    slow = False  # whether the last step went hardly away from an end
    low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
    while steps < most and not abs(bracket[1].t - bracket[0].t) * width < _NARROWEST:
        t = _cubic_minimum(bracket[0], bracket[1])
        least, greatest = min(point.t for point in bracket), max(point.t for point in bracket)
        margin = 0.1 * (greatest - least)
        if min(greatest - t, t - least) < margin:
            if slow or t >= greatest or t <= least:
                t = greatest - margin if abs(t - greatest) < abs(t - least) else least + margin
                slow = False
            else:
                slow = True
        else:
            slow = False
        point = evaluate(t)
        steps += 1
        if _too_high(point, start) or point.loss >= bracket[low].loss:
            bracket[high] = point
            low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
            continue
        if _flat(point, start):
            return point, steps
        if point.slope * (bracket[high].t - bracket[low].t) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = point
    return bracket[low], steps
