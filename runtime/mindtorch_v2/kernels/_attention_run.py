"""How attention and its gradients are computed: by a kernel on an NPU, by operators on the CPU."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import mindtorch_v2 as torch

from .._core import Tensor
from ..npu.built_in import MOST_BLOCKS, kernel
from ..npu.structs import upload, upload_to
from ._attention import Problem, Softmax, refuse
from ._attention_cpu import compose, compose_gradients

__all__ = ["run", "run_gradients"]

_SUFFIXES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}


def run(problem: Problem, out: Tensor, softmax: Softmax, workspace: Tensor | None = None) -> None:
    """Writes what a problem comes to, and what is wanted of its softmax."""
    _check(problem, [("out", out, problem.out_shape, problem.query.dtype), *softmax.forms(problem)])
    if out.numel() == 0:
        return
    if out.is_npu:
        _launch(problem, out, softmax, workspace)
    else:
        compose(problem, out, softmax)


def run_gradients(
    problem: Problem,
    grad: Tensor,
    out: Tensor,
    softmax: Softmax,
    gradients: Sequence[Tensor],
    workspace: Tensor | None = None,
) -> None:
    """Writes the gradients of query, key and value, of what `run` wrote and left of the softmax."""
    given = [
        (name, tensor, problem.out_shape, problem.query.dtype) for name, tensor in (("dy", grad), ("attention_in", out))
    ]
    of = (problem.query, problem.key, problem.value)
    made = [(f"d{name}", d, tuple(x.shape), x.dtype) for name, d, x in zip("qkv", gradients, of, strict=True)]
    _check(problem, [*given, *softmax.forms(problem), *made])
    if out.is_npu and any(each.numel() != 0 for each in gradients):
        _launch_gradients(problem, grad, out, softmax, gradients, workspace)
    elif not out.is_npu:
        compose_gradients(problem, grad, out, softmax, gradients)


def _suffix(problem: Problem) -> str:
    suffix = _SUFFIXES.get(problem.query.dtype)
    if suffix is None:
        raise NotImplementedError(
            f"attention on an NPU: expected float32, float16 or bfloat16, got {problem.query.dtype}"
        )
    return suffix


def _uploaded(problem: Problem, statistics: int, workspace: Tensor | None) -> Tensor:
    packed = problem.plan(statistics)
    if workspace is not None and workspace.numel() * workspace.element_size() >= len(packed):
        return upload_to(workspace, packed)
    return upload(packed, problem.query.device)


def _launch(problem: Problem, out: Tensor, softmax: Softmax, workspace: Tensor | None) -> None:
    attend, query = kernel("attention", f"attention_{_suffix(problem)}", *("ptr",) * 11, "f32"), problem.query
    plan = _uploaded(problem, softmax.statistics, workspace)
    q2, k2 = problem.second or (query, query)
    mask = query if problem.mask is None else problem.mask
    table = query if problem.table is None else problem.table
    blocks = min(MOST_BLOCKS, problem.tokens * problem.heads)
    left = softmax.logarithms if softmax.logarithms is not None else softmax.peaks
    left, sums = (out if each is None else each for each in (left, softmax.sums))
    attend(blocks, query, problem.key, problem.value, q2, k2, mask, table, out, left, sums, plan, problem.scale)


def _launch_gradients(
    problem: Problem,
    grad: Tensor,
    out: Tensor,
    softmax: Softmax,
    gradients: Sequence[Tensor],
    workspace: Tensor | None,
) -> None:
    name, query = f"attention_gradient_{_suffix(problem)}", problem.query
    differentiate = kernel("attention_gradient", name, *("ptr",) * 12, "f32")
    plan = _uploaded(problem, softmax.statistics, workspace)
    mask = query if problem.mask is None else problem.mask
    given = (query, problem.key, problem.value, grad, out, softmax.peaks, softmax.sums, mask)
    differentiate(MOST_BLOCKS, *given, *gradients, plan, problem.scale)


def _check(problem: Problem, tensors: Iterable[tuple[str, Tensor | None, tuple[int, ...], Any]]) -> None:
    """Raises for a tensor, of those that are there, that is of another form than its (name, tensor, shape, dtype)."""
    for what, tensor, shape, dtype in tensors:
        if tensor is None:
            continue
        if tuple(tensor.shape) != shape or tensor.dtype is not dtype or not tensor.is_contiguous():
            got = f"{tensor.dtype} {tuple(tensor.shape)}{'' if tensor.is_contiguous() else ', not contiguous'}"
            raise refuse("attention", what, f"{dtype} {shape}, contiguous", got)
        if tensor.device != problem.query.device:
            raise refuse("attention", what, f"a tensor on {problem.query.device}", tensor.device)
