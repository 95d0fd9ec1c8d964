"""``torch._utils``: sizes of dtypes and lists of tensors as one, beside PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch as pytorch

import mindtorch_v2 as ours
from tests.runtime.both import agree_or_raise

CALLS: dict[str, Callable[[Any], Any]] = {
    "sizes": lambda t: [t._utils._element_size(d) for d in (t.bool, t.int16, t.float32, t.complex128)],
    "of no dtype": lambda t: t._utils._element_size(3),
    "flat": lambda t: t._utils._flatten_dense_tensors([t.arange(6.0).reshape(2, 3).T, t.ones(2), t.ones(0)]),
    "of nothing": lambda t: t._utils._flatten_dense_tensors([]),
    "parts": lambda t: t._utils._unflatten_dense_tensors(t.arange(8.0), [t.ones(2, 3), t.ones(2)])[0],
    "too few": lambda t: t._utils._unflatten_dense_tensors(t.arange(3.0), [t.ones(2, 3), t.ones(2)]),
}


@pytest.mark.parametrize("name", CALLS)
def test_as_pytorchs(name: str) -> None:
    agree_or_raise(CALLS[name])


def test_parts_are_views() -> None:
    for torch in (ours, pytorch):
        flat = torch.zeros(3)
        torch._utils._unflatten_dense_tensors(flat, [torch.ones(1), torch.ones(2)])[1].fill_(7)
        assert flat.tolist() == [0, 7, 7]
