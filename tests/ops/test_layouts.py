"""PyTorch's samples with their elements in other orders in memory: values, and layouts of pointwise results."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from tests.needs import needed

needed("torch")
pytest.importorskip("expecttest")

import torch as pytorch  # noqa: E402
from torch.testing._internal.opinfo import core  # noqa: E402

import mindtorch_v2 as ours  # noqa: E402
from benchmarks import opinfo  # noqa: E402

POINTWISE = (core.UnaryUfuncInfo, core.BinaryUfuncInfo)
# Composed of others, whose layouts decide.
COMPOSED = ("complex", "ldexp", "polar")
DRAWN = ("nn.functional.rrelu",)  # numbers are drawn in the order of memory
ENTRIES = {
    opinfo.title(info): info
    for info in opinfo.entries()
    if isinstance(info, (*POINTWISE, core.ReductionOpInfo))
    and opinfo.find(info.name) is not None
    and info.name not in DRAWN
}
DTYPES = ("float32", "bfloat16", "int64", "bool")
SAMPLES = 12


def turned(value: Any) -> Any:
    """A sample's argument with the dimensions of tensors in reverse order in memory."""
    if isinstance(value, pytorch.Tensor):
        order = tuple(range(value.dim()))[::-1]
        return value.detach().permute(order).contiguous().permute(order)
    if isinstance(value, dict):
        return {name: turned(item) for name, item in value.items()}
    return type(value)(map(turned, value)) if type(value) in (list, tuple) else value


def outcome(call: Any, torch: Any, args: Any, kwargs: Any) -> Any:
    torch.manual_seed(0)
    return opinfo.tensors(call(*args, **kwargs))


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.filterwarnings("ignore")
def test_values_and_layouts(name: str) -> None:
    info, call = ENTRIES[name], opinfo.find(ENTRIES[name].name)
    for dtype in DTYPES:
        if getattr(pytorch, dtype) not in info.supported_dtypes("cpu"):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            samples = list(info.sample_inputs("cpu", getattr(pytorch, dtype)))
        for sample in samples[:SAMPLES]:
            if "memory_format" in sample.kwargs:
                continue
            args, kwargs = turned([sample.input, *sample.args]), turned(sample.kwargs)
            theirs = outcome(info.op, pytorch, args, kwargs)
            known: dict[int, Any] = {}
            mine = outcome(call, ours, opinfo.converted(args, known), opinfo.converted(kwargs, known))
            assert len(mine) == len(theirs)
            for a, b in zip(mine, theirs, strict=True):
                assert not opinfo.differs(a, b, 0.0), (dtype, sample)
                if isinstance(info, POINTWISE) and name not in COMPOSED:
                    assert a.stride() == b.stride(), (dtype, sample)
