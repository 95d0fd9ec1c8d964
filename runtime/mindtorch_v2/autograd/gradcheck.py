"""Gradients against finite differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .engine import grad
from .grad_mode import no_grad

__all__ = ["GradcheckError", "gradcheck"]


class GradcheckError(RuntimeError):
    """A gradient differs from the numerical one."""


def gradcheck(
    func: Callable[..., Tensor | Sequence[Tensor]],
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """Whether func's gradients at ``inputs`` equal central differences with step ``eps`` within the tolerances.

    ``inputs`` are float64 tensors that require grad, and anything else. Raises `GradcheckError` for the first
    difference, or returns False without ``raise_exception``; ValueError where no input requires grad.
    """
    arguments = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    checked = [i for i, value in enumerate(arguments) if isinstance(value, Tensor) and value.requires_grad]
    if not checked:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them have "
            "requires_grad=True."
        )
    for i in checked:
        if arguments[i].dtype is not _core.dtypes["float64"]:
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point: finite differences "
                f"are not exact enough for {arguments[i].dtype}",
                stacklevel=2,
            )
    for message in _differences(func, arguments, checked, eps, atol, rtol):
        if raise_exception:
            raise GradcheckError(message)
        return False
    return True


def _differences(
    func: Callable[..., Any], arguments: tuple[Any, ...], checked: list[int], eps: float, atol: float, rtol: float
) -> Any:
    for i in checked:
        numerical = _numerical(func, arguments, i, eps)
        for number, output in enumerate(_outputs(func(*arguments))):
            if not output.requires_grad:
                continue
            analytical = _analytical(output, arguments[i])
            if not _close(numerical[number], analytical, atol, rtol):
                yield (
                    f"Jacobian mismatch for output {number} with respect to input {i},\n"
                    f"numerical:{numerical[number]}\nanalytical:{analytical}"
                )


def _numerical(func: Callable[..., Any], arguments: tuple[Any, ...], at: int, eps: float) -> list[list[list[float]]]:
    """Per output: d output[j] / d input[i] as rows j of columns i, by central differences."""
    jacobians: list[list[list[float]]] = []
    for column in range(arguments[at].numel()):
        high = _values(func, _moved(arguments, at, column, eps))
        low = _values(func, _moved(arguments, at, column, -eps))
        if not jacobians:
            jacobians = [[[] for _ in output] for output in high]
        for rows, highs, lows in zip(jacobians, high, low, strict=True):
            for row, a, b in zip(rows, highs, lows, strict=True):
                row.append((a - b) / (2 * eps))
    return jacobians or [[[] for _ in output] for output in _values(func, arguments)]


def _analytical(output: Tensor, value: Tensor) -> list[list[float]]:
    """d output[j] / d value[i], one backward pass per row."""
    rows = []
    for j in range(output.numel()):
        with no_grad():
            start = output.detach() * 0
            start.reshape(-1)[j] = 1.0
        (found,) = grad(output, value, start, retain_graph=True, allow_unused=True)
        rows.append([0.0] * value.numel() if found is None else _flat(found))
    return rows


def _moved(arguments: tuple[Any, ...], at: int, column: int, step: float) -> tuple[Any, ...]:
    with no_grad():
        moved = arguments[at].detach().contiguous().clone()
        flat = moved.reshape(-1)
        flat[column] = float(flat[column].item()) + step
    return (*arguments[:at], moved, *arguments[at + 1 :])


def _values(func: Callable[..., Any], arguments: tuple[Any, ...]) -> list[list[float]]:
    with no_grad():
        return [_flat(output) for output in _outputs(func(*arguments))]


def _outputs(result: Any) -> tuple[Tensor, ...]:
    return (result,) if isinstance(result, Tensor) else tuple(result)


def _flat(tensor: Tensor) -> list[float]:
    values: list[float] = tensor.detach().contiguous().reshape(-1).tolist()
    return values


def _close(expected: list[list[float]], got: list[list[float]], atol: float, rtol: float) -> bool:
    return all(
        abs(a - b) <= atol + rtol * abs(a)
        for expected_row, got_row in zip(expected, got, strict=True)
        for a, b in zip(expected_row, got_row, strict=True)
    )
