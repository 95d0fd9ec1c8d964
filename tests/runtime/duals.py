"""Dual tensors of fixed numbers, for the tests of forward-mode AD."""

from __future__ import annotations

from typing import Any

import mindtorch_v2

ours = mindtorch_v2.autograd.forward_ad


def forward_ad(t: Any) -> Any:
    return t.autograd.forward_ad


def dual(t: Any, *shape: int, seed: float = 0.0) -> Any:
    """A dual tensor of fixed, uneven numbers, with the level open."""
    count = 1
    for n in shape:
        count *= n
    primal = [0.3 + seed + 0.37 * i for i in range(count)]
    tangent = [1.0 - 0.21 * i + seed for i in range(count)]
    fw = forward_ad(t)
    return fw.make_dual(t.tensor(primal).reshape(shape), t.tensor(tangent).reshape(shape))


def parts(t: Any, value: Any) -> tuple[Any, Any]:
    """Primal and tangent as they are when the level is still open."""
    primal, tangent = forward_ad(t).unpack_dual(value)
    return primal.clone(), None if tangent is None else tangent.clone()
