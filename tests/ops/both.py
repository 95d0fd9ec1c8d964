"""Runs one function under ``torch`` and under ``mindtorch_v2``, and compares what comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch as pytorch

import mindtorch_v2 as ours

Values = dict[str, np.ndarray]


def tensors(torch: Any, values: Values, grad: bool) -> dict[str, Any]:
    """The arrays as tensors of their own memory; floating-point ones require grad where ``grad``."""
    result = {}
    for name, array in values.items():
        tensor = torch.from_numpy(np.array(array))
        result[name] = tensor.requires_grad_() if grad and array.dtype.kind == "f" else tensor
    return result


def flat(result: Any) -> list[Any]:
    """Tensors and numbers in a result, in order."""
    if isinstance(result, (list, tuple)):
        return [item for part in result for item in flat(part)]
    return [result]


def to_numpy(value: Any) -> np.ndarray:
    if not hasattr(value, "detach"):
        return np.asarray(value)
    value = value.detach()
    return np.asarray(value.float().numpy() if str(value.dtype).endswith("bfloat16") else value.numpy())


def outcome(torch: Any, function: Callable[..., Any], values: Values, grad: bool) -> tuple[list[Any], dict[str, Any]]:
    given = tensors(torch, values, grad)
    results = flat(function(torch, **given))
    gradients: dict[str, Any] = {}
    if grad:
        loss = None
        for i, result in enumerate(r for r in results if hasattr(r, "requires_grad") and r.requires_grad):
            weights = torch.from_numpy(np.random.default_rng(i).standard_normal(tuple(result.shape)).astype("f8"))
            term = (result * weights.to(result.dtype)).sum()
            loss = term if loss is None else loss + term
        if loss is not None:
            loss.backward()
            gradients = {name: tensor.grad for name, tensor in given.items()}
    return results, gradients


def agree(function: Callable[..., Any], values: Values, grad: bool = True, tolerance: float = 1e-5) -> None:
    """Values, dtypes, shapes and gradients of ``function(torch, **tensors)`` are the same under both libraries."""
    expected, expected_grads = outcome(pytorch, function, values, grad)
    actual, actual_grads = outcome(ours, function, values, grad)
    assert len(actual) == len(expected)
    for mine, theirs in zip(actual, expected, strict=True):
        same(mine, theirs, tolerance)
    assert set(actual_grads) == set(expected_grads)
    for name, theirs in expected_grads.items():
        assert (actual_grads[name] is None) == (theirs is None), f"gradient of {name}"
        if theirs is not None:
            same(actual_grads[name], theirs, tolerance)


def same(mine: Any, theirs: Any, tolerance: float) -> None:
    if hasattr(theirs, "dtype"):
        assert str(mine.dtype) == str(theirs.dtype)
        assert tuple(mine.shape) == tuple(theirs.shape)
    np.testing.assert_allclose(to_numpy(mine), to_numpy(theirs), rtol=tolerance, atol=tolerance * 1e-1)


def raised(function: Callable[[Any], Any]) -> tuple[BaseException, BaseException]:
    """What ``function(torch)`` raises under ours and under PyTorch."""
    caught = []
    for torch in (ours, pytorch):
        try:
            function(torch)
        except Exception as error:
            caught.append(error)
        else:
            raise AssertionError(f"{torch.__name__} raised nothing")
    return caught[0], caught[1]
