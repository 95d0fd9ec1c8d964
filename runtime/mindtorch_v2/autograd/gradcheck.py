"""Gradients against finite differences."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .engine import grad
from .forward_ad import close_level, make_dual_at, open_level
from .function import Function
from .grad_mode import enable_grad, no_grad

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


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
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
) -> bool:
    """Whether func's gradients at ``inputs`` equal central differences with step ``eps`` within the tolerances.

    ``inputs`` are float64 tensors that require grad, and anything else. The gradients must be the same within
    ``nondet_tol`` when computed again and, with ``check_undefined_grad``, zero where none arrives at the outputs.
    With ``check_forward_ad`` the Jacobian by forward mode is compared as well, without ``check_backward_ad`` alone.
    ``fast_mode`` is taken for PyTorch's sake: the whole Jacobian is compared either way. Raises `GradcheckError` for
    the first difference, or returns False without ``raise_exception``; ValueError where no input requires grad, or
    nothing is to be checked.
    """
    if not (check_forward_ad or check_backward_ad):
        raise ValueError("Expected at least one of check_forward_ad or check_backward_ad to be True")
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
    messages = itertools.chain(
        _forward_differences(func, arguments, checked, eps, atol, rtol) if check_forward_ad else (),
        _differences(func, arguments, checked, eps, atol, rtol, nondet_tol) if check_backward_ad else (),
        _undefined(func, arguments, checked) if check_backward_ad and check_undefined_grad else (),
    )
    for message in messages:
        if raise_exception:
            raise GradcheckError(message)
        return False
    return True


def gradgradcheck(
    func: Callable[..., Tensor | Sequence[Tensor]],
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
) -> bool:
    """As `gradcheck`, for gradients of func's gradients, started from ``grad_outputs`` (by default fixed numbers).

    They are computed by reverse mode and, with ``check_fwd_over_rev``, by forward mode.
    """
    arguments = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    outputs = [o for o in _outputs(func(*arguments)) if o.is_floating_point()]
    if grad_outputs is None:
        starts = tuple(_start(output, number) for number, output in enumerate(outputs))
    else:
        starts = (grad_outputs,) if isinstance(grad_outputs, Tensor) else tuple(grad_outputs)
    count = len(arguments)
    wanted = [i for i, a in enumerate(arguments) if isinstance(a, Tensor) and a.requires_grad]

    def gradients(*values: Any) -> tuple[Tensor, ...]:
        with enable_grad():
            tracked = [
                v if i not in wanted or v.requires_grad else v.detach().requires_grad_() for i, v in enumerate(values)
            ]
            results = [o for o in _outputs(func(*tracked[:count])) if o.is_floating_point()]
            pairs = [(o, s) for o, s in zip(results, tracked[count:], strict=True) if o.requires_grad]
            return grad(
                [o for o, _ in pairs],
                [tracked[i] for i in wanted],
                [s for _, s in pairs],
                create_graph=True,
                materialize_grads=True,
            )

    return gradcheck(
        gradients,
        (*arguments, *starts),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
    )


def _start(output: Tensor, number: int) -> Tensor:
    """A gradient to start from: uneven, so that mistakes do not cancel, and the same on every run."""
    with no_grad():
        start = output.detach() * 0
        flat = start.reshape(-1)
        for i in range(flat.numel()):
            flat[i] = 0.5 + ((7 * i + 3 * number) % 11) / 11
    return start.requires_grad_()


def _differences(
    func: Callable[..., Any],
    arguments: tuple[Any, ...],
    checked: list[int],
    eps: float,
    atol: float,
    rtol: float,
    nondet_tol: float,
) -> Iterator[str]:
    for i in checked:
        numerical = _numerical(func, arguments, i, eps)
        for number, output in enumerate(_outputs(func(*arguments))):
            if not output.requires_grad:
                continue
            analytical = _analytical(output, arguments[i])
            if not _close(analytical, _analytical(output, arguments[i]), nondet_tol, 0.0):
                yield (
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                    f"gives different values, although analytical gradient matches numerical gradient. The tolerance "
                    f"for nondeterminism was {nondet_tol}. Input {i}, output {number}."
                )
            if not _close(numerical[number], analytical, atol, rtol):
                yield (
                    f"Jacobian mismatch for output {number} with respect to input {i},\n"
                    f"numerical:{numerical[number]}\nanalytical:{analytical}"
                )


def _forward_differences(
    func: Callable[..., Any], arguments: tuple[Any, ...], checked: list[int], eps: float, atol: float, rtol: float
) -> Iterator[str]:
    for i in checked:
        numerical = _numerical(func, arguments, i, eps)
        for number, rows in enumerate(_by_forward_mode(func, arguments, i)):
            if rows is not None and not _close(numerical[number], rows, atol, rtol):
                yield (
                    f"Jacobian computed with forward mode mismatch for output {number} with respect to input {i},\n"
                    f"numerical:{numerical[number]}\nanalytical:{rows}"
                )


def _by_forward_mode(func: Callable[..., Any], arguments: tuple[Any, ...], at: int) -> list[list[list[float]] | None]:
    """Per output: d output[j] / d input[i], one forward pass per column; None for an output of integers."""
    columns = []
    for column in range(arguments[at].numel()):
        level = open_level()
        try:
            with no_grad():
                tangent = arguments[at].detach() * 0
                tangent.reshape(-1)[column] = 1.0
            dual = make_dual_at(level, arguments[at], tangent.contiguous())
            outputs = _outputs(func(*arguments[:at], dual, *arguments[at + 1 :]))
            columns.append([_tangent(level.get(o), o) for o in outputs])
        finally:
            close_level(level)
    found: list[list[list[float]] | None] = []
    for by_column in zip(*columns, strict=True):
        found.append(None if by_column[0] is None else [list(row) for row in zip(*by_column, strict=True)])
    return found


def _tangent(tangent: Tensor | None, output: Tensor) -> list[float] | None:
    if not output.is_floating_point():
        return None
    return [0.0] * output.numel() if tangent is None else _flat(tangent)


class _NoGradient(Function):
    """Passes its input on, and no gradient back."""

    @staticmethod
    def forward(ctx: Any, value: Tensor) -> Tensor:
        copy: Tensor = value.clone()
        return copy

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        return None


def _undefined(func: Callable[..., Any], arguments: tuple[Any, ...], checked: list[int]) -> Iterator[str]:
    outputs = [_NoGradient.apply(output) for output in _outputs(func(*arguments)) if output.requires_grad]
    if not outputs:
        return
    starts = [output.detach() * 0 for output in outputs]
    found = grad(outputs, [arguments[i] for i in checked], starts, allow_unused=True)
    for i, gradient in zip(checked, found, strict=True):
        if gradient is not None and any(_flat(gradient)):
            yield f"Expected all input grads to be undefined or zero when all output grads are undefined: see input {i}"


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
