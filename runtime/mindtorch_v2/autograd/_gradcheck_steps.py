"""What `gradcheck` holds against each other, a generator of complaints each; the first complaint fails the check."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .._argument_types import check_number
from .._core import Tensor
from .._ops import ops
from ._jacobians import (
    Problem,
    along_one,
    by_backward,
    by_differences,
    by_tangents,
    direction,
    flat,
    is_number,
    pulled,
    tangents_of,
)
from .engine import grad
from .function import Function

__all__ = [
    "Tolerances", "backward_by_batches", "backward_jacobians", "close", "forward_by_batches", "forward_jacobians",
    "undefined_gradients", "undefined_tangents", "zero_gradients",
]  # fmt: skip

_BATCHED = (
    "gradcheck or gradgradcheck failed while testing batched gradient computation: a backward formula does something "
    "that `vmap` cannot do, or does otherwise. Make the formula of operators with batching rules, or call with "
    "`check_batched_grad=False`."
)
_BATCHED_FORWARD = (
    "gradcheck failed while testing batched gradient computation with forward-mode AD: a jvp formula does something "
    "that `vmap` cannot do, or does otherwise. Make the formula of operators with batching rules, or call with "
    "`check_batched_forward_grad=False`."
)


@dataclass(frozen=True)
class Tolerances:
    """The step of finite differences, how far Jacobians may differ, and how far two runs may."""

    eps: float
    atol: float
    rtol: float
    nondet: float


def backward_jacobians(problem: Problem, by: Tolerances, fast: bool, check_dtypes: bool) -> Iterator[str]:
    """Backward passes against finite differences; of a function without differentiable outputs: against zeros."""
    outputs = problem.outputs()
    numbered = [(n, o) for n, o in enumerate(o for o in outputs if _requires_grad(o))]
    at = [n for n, o in enumerate(outputs) if _requires_grad(o)]
    compare = _backward_along_directions if fast else _backward_whole
    if not numbered:
        yield from _constant(problem, by)
        return
    if check_dtypes:
        yield from _dtypes(problem, [o for _, o in numbered])
    yield from compare(problem, by, numbered, at)


def _backward_whole(
    problem: Problem, by: Tolerances, outputs: list[tuple[int, Tensor]], at: list[int]
) -> Iterator[str]:
    numerical = [by_differences(problem, i, by.eps) for i in problem.checked]
    for (number, output), place in zip(outputs, at, strict=True):
        first, again = (by_backward(output, problem.inputs) for _ in range(2))
        for i, (one, other) in enumerate(zip(first, again, strict=True)):
            yield from _reentrant(one, other, by, i, number)
            yield from _mismatch(one, numerical[i][place], by.atol, by.rtol, number, i, of=output)


def _backward_along_directions(
    problem: Problem, by: Tolerances, outputs: list[tuple[int, Tensor]], at: list[int]
) -> Iterator[str]:
    along = [_direction(value, i) for i, value in enumerate(problem.inputs)]
    numerical = [by_differences(problem, i, by.eps, u) for i, u in zip(problem.checked, along, strict=True)]
    for (number, output), place in zip(outputs, at, strict=True):
        start = _direction(output, number + 1)
        v = flat(start)
        first, again = (pulled(output, problem.inputs, start) for _ in range(2))
        for i, (one, other) in enumerate(zip(first, again, strict=True)):
            u = flat(along[i])
            yield from _reentrant(one, other, by, i, number)
            atol = by.atol * float((u.sum() * v.sum()).item())  # what each element may differ by, added up
            for text in _mismatch((one * u).sum(), (numerical[i][place] * v).sum(), atol, by.rtol, number, i):
                yield text + _in_full(by_backward(output, problem.inputs)[i], problem, i, place, by)


def forward_jacobians(problem: Problem, by: Tolerances, fast: bool) -> Iterator[str]:
    """Tangents against finite differences."""
    for i, at in enumerate(problem.checked):
        u = _direction(problem.arguments[at], i) if fast else None
        numerical, found = by_differences(problem, at, by.eps, u), by_tangents(problem, at, u)
        atol = by.atol if u is None else by.atol * float(flat(u).sum().item())
        for number, (rows, expected) in enumerate(zip(found, numerical, strict=True)):
            for text in () if rows is None else _mismatch(rows, expected, atol, by.rtol, number, i, forward=True):
                whole = None if u is None else by_tangents(problem, at)[number]
                yield text if whole is None else text + _in_full(whole, problem, i, number, by)


def undefined_tangents(problem: Problem) -> Iterator[str]:
    """An argument without a tangent counts as one whose tangent is zero."""
    along = {at: _direction(problem.arguments[at], i) for i, at in enumerate(problem.checked)}
    for at in problem.checked:
        with_zero = tangents_of(problem, {**along, at: along[at] * 0})
        without = tangents_of(problem, {i: u for i, u in along.items() if i != at})
        for number, (one, other) in enumerate(zip(with_zero, without, strict=True)):
            if one is not None and other is not None and not one.allclose(other):
                yield (
                    f"Mismatch in tangent values for output with index: {number} when input: {at} has an undefined "
                    f"tangent value. Got: {one} but expected: {other}"
                )


def zero_gradients(problem: Problem) -> Iterator[str]:
    """Zeros at the outputs give zeros at the inputs, and gradients are like the inputs."""
    outputs = [o for o in problem.outputs() if _requires_grad(o)]
    found = grad(outputs, problem.inputs, [_zeros(o) for o in outputs], allow_unused=True)
    for gradient, value in zip(found, problem.inputs, strict=True):
        if gradient is None:
            continue
        if _any_set(gradient):
            yield "backward not multiplied by grad_output"
        for what in ("dtype", "device", "shape"):
            if getattr(gradient, what) != getattr(value, what):
                name = {"dtype": "type", "shape": "size"}.get(what, what)
                yield f"grad is incorrect {name}: expected {getattr(value, what)}, got {getattr(gradient, what)}"


class _NoGradient(Function):
    """Passes its input on, and no gradient back."""

    @staticmethod
    def forward(ctx: Any, value: Tensor) -> Tensor:
        copy: Tensor = value.clone()
        return copy

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        return None


def undefined_gradients(problem: Problem) -> Iterator[str]:
    """Outputs without a gradient, all of them and each in turn, count as outputs whose gradient is zero."""
    count = sum(_requires_grad(o) for o in problem.outputs())
    everything = set(range(count))
    for missing in (everything, *({n} for n in range(count) if count > 1)):
        outputs = [o for o in problem.outputs() if _requires_grad(o)]
        cut = [_NoGradient.apply(o) if n in missing else o for n, o in enumerate(outputs)]
        try:
            found = grad(cut, problem.inputs, [_zeros(o) for o in cut], allow_unused=True)
        except RuntimeError as error:
            warnings.warn(
                "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but "
                "it may break existing callers of this function. If this is true for you, you can call this function "
                'with "check_undefined_grad=False" to disable the feature',
                stacklevel=4,
            )
            yield f"Expected backward function to handle undefined output grads. Without those of {missing}: {error}"
            return
        for i, gradient in enumerate(found):
            if gradient is not None and _any_set(gradient):
                yield (
                    "Expected all input grads to be undefined or zero when all output grads are undefined or zero: "
                    f"see input {i}, without the gradients of outputs {sorted(missing)}"
                )


def backward_by_batches(problem: Problem) -> Iterator[str]:
    """A backward pass under `vmap` gives what passes one by one do."""
    for number, output in enumerate(o for o in problem.outputs() if _requires_grad(o)):

        def pull_back(start: Tensor, output: Tensor = output) -> tuple[Tensor, ...]:
            found = grad(output, problem.inputs, start, retain_graph=True, allow_unused=True)
            return tuple(_zeros(i) if g is None else g for g, i in zip(found, problem.inputs, strict=True))

        starts = [_direction(output, n) for n in range(2)]
        yield from _by_batches(pull_back, starts, _BATCHED, ("output", number, "input"))


def forward_by_batches(problem: Problem) -> Iterator[str]:
    """Tangents under `vmap` are what they are one by one."""
    for i, at in enumerate(problem.checked):
        like = [o for o in problem.outputs() if isinstance(o, Tensor)]

        def push(tangent: Tensor, at: int = at, like: list[Tensor] = like) -> tuple[Tensor, ...]:
            found = tangents_of(problem, along_one(problem, at, tangent))
            return tuple(_zeros(o) if t is None else t for t, o in zip(found, like, strict=True))

        tangents = [_direction(problem.arguments[at], n) for n in range(2)]
        yield from _by_batches(push, tangents, _BATCHED_FORWARD, ("input", i, "output"))


def _by_batches(
    run: Callable[..., tuple[Tensor, ...]], values: list[Tensor], advice: str, place: tuple[str, int, str]
) -> Iterator[str]:
    """``place`` says what ``run`` is of, and what its results are numbered by."""
    from ..func._vmap import unrestricted_vmap

    expected = [ops.aten.stack(list(parts)) for parts in zip(*(run(value) for value in values), strict=True)]
    try:
        found = unrestricted_vmap(run)(ops.aten.stack(values))
    except RuntimeError as error:
        yield f"While computing batched gradients, got: {error}\n\n{advice}"
        return
    of, at, by = place
    for n, (one, other) in enumerate(zip(found, expected, strict=True)):
        if not one.allclose(other):
            where = {of: at, by: n}
            yield (
                f"For output {where['output']} and input {where['input']}:\n\n{advice}\n\nGot:\n{one}\n\n"
                f"Expected:\n{other}"
            )


def _constant(problem: Problem, by: Tolerances) -> Iterator[str]:
    numbers = [is_number(output) for output in problem.outputs()]  # integers have no gradient to be zero
    for i in problem.checked:
        found = zip(by_differences(problem, i, by.eps), numbers, strict=True)
        if any(is_one and _any_set(rows) for rows, is_one in found):
            yield f"Numerical gradient for function expected to be zero, as no output requires grad; see input {i}"


def _dtypes(problem: Problem, outputs: list[Tensor]) -> Iterator[str]:
    found = grad(outputs, problem.inputs, [_zeros(o) for o in outputs], retain_graph=True, allow_unused=True)
    for i, (gradient, value) in enumerate(zip(found, problem.inputs, strict=True)):
        if gradient is not None and gradient.dtype != value.dtype:
            yield f"Gradient has dtype mismatch: input {i} is of {value.dtype}, its gradient of {gradient.dtype}"


def _reentrant(one: Tensor, other: Tensor, by: Tolerances, i: int, number: int) -> Iterator[str]:
    if not close(one, other, by.nondet, 0.0):
        yield (
            "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
            "different values, although analytical gradient matches numerical gradient. The tolerance for "
            f"nondeterminism was {by.nondet}. Input {i}, output {number}."
        )


def _mismatch(
    found: Tensor,
    numerical: Tensor,
    atol: float,
    rtol: float,
    number: int,
    i: int,
    *,
    forward: bool = False,
    of: Tensor | None = None,
) -> Iterator[str]:
    """``of`` is the output, where a column is given for each of its real numbers."""
    if of is not None and of.is_complex():
        for start, part in ((1, "imaginary"), (0, "real")):
            pair = found[:, start::2], numerical[:, start::2]
            for text in _mismatch(*pair, atol, rtol, number, i, forward=forward):
                yield f"While considering the {part} part of complex outputs only, {text}"
        return
    if not close(found, numerical, atol, rtol):
        mode = "computed with forward mode " if forward else ""
        yield (
            f"Jacobian {mode}mismatch for output {number} with respect to input {i},\n"
            f"numerical:{numerical}\nanalytical:{found}\n"
        )


def _in_full(found: Tensor, problem: Problem, i: int, place: int, by: Tolerances) -> str:
    numerical = by_differences(problem, problem.checked[i], by.eps)[place]
    good = close(found, numerical, by.atol, by.rtol)
    verdict = "Fast gradcheck failed but element-wise differences are small: try `fast_mode=False`." if good else ""
    return (
        "\nThe above quantities relating the numerical and analytical jacobians are computed \nin fast mode. Below, we "
        "recompute numerical and analytical jacobians in slow mode:\n\n"
        f"Numerical:\n {numerical}\nAnalytical:\n{found}\n\n"
        f"The max per-element difference (slow mode) is: {(numerical - found).abs().max().item()}.\n{verdict}"
    )


def close(one: Tensor, other: Tensor, atol: float, rtol: float) -> bool:
    """Whether Jacobians differ by no more than that."""
    for place, (name, tolerance) in enumerate((("rtol", rtol), ("atol", atol)), 3):
        check_number("allclose", name, place, tolerance)
    return bool(((one - other).abs() <= float(atol) + float(rtol) * other.abs()).all().item())


def _direction(like: Tensor, number: int) -> Tensor:
    return direction(tuple(like.shape), like.dtype, like.device, number)


def _requires_grad(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _zeros(like: Tensor) -> Tensor:
    zeros: Tensor = ops.aten.zeros_like(like.detach())
    return zeros


def _any_set(values: Tensor) -> bool:
    return bool(values.ne(0).any().item())
