"""Gradients against finite differences."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from . import _gradcheck_steps as steps
from ._gradcheck_steps import Tolerances
from ._jacobians import Problem, by_backward, by_differences, direction, outputs_of
from .engine import grad
from .grad_mode import enable_grad

__all__ = ["GradcheckError", "get_analytical_jacobian", "get_numerical_jacobian", "gradcheck", "gradgradcheck"]


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
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether func's gradients at ``inputs`` equal central differences with step ``eps`` within the tolerances.

    ``inputs`` are float64 tensors that require grad, and anything else. The gradients must be the same within
    ``nondet_tol`` when computed again and, with ``check_undefined_grad``, zero where none arrives at the outputs.
    With ``check_forward_ad`` the Jacobian by forward mode is compared as well, without ``check_backward_ad`` alone.
    ``check_batched_grad`` and ``check_batched_forward_grad`` run either under `vmap` as well, ``check_grad_dtypes``
    wants gradients of the inputs' dtypes. ``fast_mode`` compares one product with the Jacobian in place of all its
    elements. ``masked`` is about sparse tensors, which there are none of.

    Raises `GradcheckError` for the first difference, or returns False without ``raise_exception``; ValueError where no
    input requires grad, AssertionError for options that exclude each other, RuntimeError for an input with stride 0.
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    raises = bool(raise_exception)
    problem, by = _problem(func, inputs), Tolerances(eps, atol, rtol, nondet_tol)
    nothing: Iterator[str] = iter(())
    backward = check_backward_ad
    complaints = itertools.chain(
        steps.backward_jacobians(problem, by, fast_mode, check_grad_dtypes) if backward else nothing,
        steps.forward_jacobians(problem, by, fast_mode) if check_forward_ad else nothing,
        steps.undefined_tangents(problem) if check_forward_ad and check_undefined_grad else nothing,
        steps.forward_by_batches(problem) if check_batched_forward_grad else nothing,
        steps.backward_by_batches(problem) if check_batched_grad else nothing,
        steps.zero_gradients(problem) if backward else nothing,
        steps.undefined_gradients(problem) if backward and check_undefined_grad else nothing,
    )
    for complaint in complaints:
        if raises:
            raise GradcheckError(complaint)
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
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """As `gradcheck`, for gradients of func's gradients, started from ``grad_outputs`` (by default fixed numbers).

    They are computed by reverse mode and, with ``check_fwd_over_rev``, by forward mode. With
    ``gen_non_contig_grad_outputs`` the fixed numbers do not lie side by side in memory. Raises as `gradcheck` does.
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_undefined_grad=True requires check_rev_over_rev to be True")
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_batched_grad=True requires check_rev_over_rev to be True")
    arguments = outputs_of(inputs)
    if grad_outputs is None:
        found = [o for o in outputs_of(func(*arguments)) if o.requires_grad]
        starts = tuple(_start(o, n, gen_non_contig_grad_outputs) for n, o in enumerate(found))
    else:
        starts = outputs_of(grad_outputs)
    count, given = len(arguments), (*arguments, *starts)
    wanted = [i for i, a in enumerate(given) if isinstance(a, Tensor) and a.requires_grad]

    def gradients(*values: Any) -> tuple[Tensor, ...]:
        with enable_grad():
            tracked = [v.requires_grad_() if i in wanted else v for i, v in enumerate(values)]
            results = [o for o in outputs_of(func(*tracked[:count])) if o.requires_grad]
            chosen = [tracked[i] for i in wanted if i < count]
            found = grad(results, chosen, tracked[count:], create_graph=True, allow_unused=True)
            return tuple(g for g in found if g is not None)

    return gradcheck(
        gradients,
        given,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def get_numerical_jacobian(
    fn: Callable[..., Any], inputs: Sequence[Any], target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> list[Tensor]:
    """Obsolete: Jacobians of the first output of ``fn(inputs)`` by central differences, for tensors that require grad.

    ``target`` is those of the inputs that are wanted. Raises ValueError for a ``grad_out`` other than 1.
    """
    _warn_of_private("get_numerical_jacobian")
    if grad_out != 1.0:
        raise ValueError("Expected grad_out to be 1.0, other values are not supported any more.")
    problem = _problem(lambda *values: fn(values), inputs)
    wanted = problem.inputs if target is None else outputs_of(target)
    places = [i for i in problem.checked if any(problem.arguments[i] is value for value in wanted)]
    return [by_differences(problem, i, eps)[0] for i in places]


def get_analytical_jacobian(
    inputs: Sequence[Any], output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Tensor, ...], bool, bool, bool]:
    """Obsolete: the Jacobians of a computed output by backward passes, for tensors that require grad.

    After them: whether two runs gave the same, and whether gradients have the inputs' sizes and dtypes. Raises
    ValueError for a ``grad_out`` other than 1.
    """
    _warn_of_private("get_analytical_jacobian")
    if grad_out != 1.0:
        raise ValueError("Expected grad_out to be 1.0, other values are not supported any more.")
    values = [value for value in inputs if isinstance(value, Tensor) and value.requires_grad]
    first, again = (by_backward(output, values) for _ in range(2))
    same = all(steps.close(one, other, nondet_tol, 0.0) for one, other in zip(first, again, strict=True))
    found = grad(output.sum(), values, retain_graph=True, allow_unused=True)
    pairs = [(g, value) for g, value in zip(found, values, strict=True) if g is not None]
    sizes, dtypes = (all(getattr(g, a) == getattr(v, a) for g, v in pairs) for a in ("shape", "dtype"))
    return tuple(first), same, sizes, dtypes


def _warn_of_private(name: str) -> None:
    warnings.warn(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it will be "
        "removed in a future version of PyTorch. If you have a specific use for this or feature request for this to be "
        "a stable API, please file us an issue at https://github.com/pytorch/pytorch/issues/new",
        FutureWarning,
        stacklevel=3,
    )


def _problem(func: Callable[..., Any], inputs: Any) -> Problem:
    """Raises where gradients of the inputs cannot be checked."""
    arguments = outputs_of(inputs)
    checked = tuple(i for i, value in enumerate(arguments) if isinstance(value, Tensor) and value.requires_grad)
    for i in checked:
        value = arguments[i]
        if value.dtype not in (_core.dtypes["float64"], _core.dtypes["complex128"]):
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. This check "
                "will likely fail if all the inputs are not of double precision floating point or complex. It is "
                f"{value.dtype}",
                stacklevel=3,
            )
        if any(step == 0 and n > 1 for step, n in zip(value.stride(), value.shape, strict=True)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call .contiguous "
                "on the input before passing it to gradcheck."
            )
    if not checked:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    return Problem(func, arguments, checked)


def _start(output: Tensor, number: int, spread: bool) -> Tensor:
    """A gradient to start from; ``spread``: every other element of a larger one."""
    shape = tuple(output.shape)
    if spread and shape:
        return direction((*shape[:-1], 2 * shape[-1]), output.dtype, output.device, number)[..., ::2].requires_grad_()
    return direction(shape, output.dtype, output.device, number).requires_grad_()
