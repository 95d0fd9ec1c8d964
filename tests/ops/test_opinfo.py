"""Every built-in operator that PyTorch's OpInfo has, over its float32 samples: values, dtypes, nodes, gradients."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch as pytorch

import mindtorch_v2 as ours
from tests.ops.node_names import assert_same_name

pytest.importorskip("expecttest")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db

MOST_SAMPLES = 60  # of one operator: some have hundreds of the same kind

# Not comparable: values by chance or from uninitialised memory, OpInfo's own calling conventions, and
# as_strided_scatter, of whose overwritten elements PyTorch gives the gradient on where there is one alone.
LEFT_OUT = {
    "as_strided_scatter",
    "empty", "empty_like", "empty_strided", "new_empty", "nn.functional.dropout", "rand_like", "randint", "randn",
    "randn_like",
    "bfloat16", "bool", "byte", "cdouble", "cfloat", "char", "double", "float", "half", "int", "item", "long", "short",
    "nn.functional.embedding", "resize_", "resize_as_", "where", "zero_", "T", "mT",
}  # fmt: skip

# What ours refuses, by a part of the error: overloads that are not declared.
REFUSED = {
    "all": "invalid combination of arguments",
    "any": "invalid combination of arguments",
    "clamp": "must be Number or None, not Tensor",
    "clamp_max": "must be Number, not Tensor",
    "clamp_min": "must be Number, not Tensor",
    "eye": "takes 1 positional argument",
    "movedim": "must be int, not list of int",
    "nonzero": "unexpected keyword argument 'as_tuple'",
    "round": "unexpected keyword argument 'decimals'",
    "to": "invalid combination of arguments",
}


def find(name: str) -> Any:
    """Our function of that name, or a call of the method; None where there is neither."""
    found: Any = ours
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is None and hasattr(ours.Tensor, name):
        return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)
    return found


def title(info: Any) -> str:
    return f"{info.name} {info.variant_test_name}".strip()


DESCRIBED = {
    title(info): info
    for info in op_db
    if info.name not in LEFT_OUT
    and "triton" not in info.variant_test_name
    and info.variant_test_name != "nuc"
    and pytorch.float32 in info.supported_dtypes("cpu")
    and find(info.name) is not None
}


def converted(value: Any, known: dict[int, Any]) -> Any:
    """A sample's argument as ours: tensors with the same memory layout, one object for one object."""
    if isinstance(value, pytorch.Tensor):
        if id(value) not in known:
            known[id(value)] = same_layout(value.detach()).requires_grad_(value.requires_grad)
        return known[id(value)]
    if isinstance(value, pytorch.dtype):
        return getattr(ours, str(value).removeprefix("torch."))
    if isinstance(value, pytorch.device):
        return ours.device(str(value))
    if isinstance(value, dict):
        return {name: converted(item, known) for name, item in value.items()}
    if isinstance(value, pytorch.Size):
        return tuple(value)
    return type(value)(converted(item, known) for item in value) if isinstance(value, (list, tuple)) else value


def same_layout(tensor: Any) -> Any:
    if tensor.numel() == 0:
        return ours.zeros(tuple(tensor.shape), dtype=converted(tensor.dtype, {}))
    extent = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True)) + 1
    memory = tensor.as_strided((tensor.storage_offset() + extent,), (1,), 0)
    return ours.from_numpy(memory.numpy().copy()).as_strided(
        tuple(tensor.shape), tensor.stride(), tensor.storage_offset()
    )


def tensors(*values: Any) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if isinstance(value, (pytorch.Tensor, ours.Tensor)):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += tensors(*value)
        elif isinstance(value, dict):
            found += tensors(*value.values())
    return found


def same(mine: Any, theirs: Any, tolerance: float) -> None:
    assert str(mine.dtype) == str(theirs.dtype)
    assert tuple(mine.shape) == tuple(theirs.shape)
    values = [t.detach().to(lib.float32 if str(t.dtype) == "torch.bfloat16" else t.dtype).numpy()
              for t, lib in ((mine, ours), (theirs, pytorch))]  # fmt: skip
    np.testing.assert_allclose(*values, rtol=tolerance, atol=tolerance)


def compare(info: Any, sample: Any) -> None:
    given = (sample.input, *sample.args), sample.kwargs
    expected = info.op(*given[0], **given[1])
    known: dict[int, Any] = {}
    args, kwargs = converted(given[0], known), converted(given[1], known)
    actual = find(info.name)(*args, **kwargs)
    outputs, mine = tensors(expected), tensors(actual)
    if not outputs:
        assert str(actual) == str(expected)
        return
    assert len(mine) == len(outputs)
    for a, b in zip(mine, outputs, strict=True):
        same(a, b, 1e-4)
    for a, b in zip(mine, outputs, strict=True):
        assert_same_name(a, b)
    paired = [(a, b) for a, b in zip(mine, outputs, strict=True) if b.requires_grad]
    leaves = [t for t in tensors(given) if t.requires_grad]
    if not paired or not leaves:
        return
    starts = [pytorch.randn_like(b.detach()) for _, b in paired]
    wanted = pytorch.autograd.grad([b for _, b in paired], leaves, starts, allow_unused=True)
    got = ours.autograd.grad(
        [a for a, _ in paired], [known[id(t)] for t in leaves], converted(starts, {}), allow_unused=True
    )
    for a, b in zip(got, wanted, strict=True):
        if b is None:  # to PyTorch the same as zeros
            assert a is None or not a.any()
        else:
            same(a, b, 1e-3)


@pytest.mark.filterwarnings("ignore")  # PyTorch's, of what OpInfo tries
@pytest.mark.parametrize("name", DESCRIBED)
def test_samples(name: str) -> None:
    info = DESCRIBED[name]
    pytorch.manual_seed(0)
    samples = list(info.sample_inputs("cpu", pytorch.float32, requires_grad=info.supports_autograd))
    compared = 0
    for sample in samples[:MOST_SAMPLES]:
        try:
            compare(info, sample)
        except (TypeError, RuntimeError) as error:
            if REFUSED.get(info.name, "no such text") not in str(error):
                raise
        compared += 1
    assert compared == min(len(samples), MOST_SAMPLES) > 0
