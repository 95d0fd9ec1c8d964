"""Copies between devices, of any geometry, beside NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _core, npu
from mindtorch_v2.backends import _copies
from mindtorch_v2.npu.copies import copy_
from tests.npu.conftest import on, values

ROUTES = [("cpu", "npu:0"), ("npu:0", "cpu"), ("npu:0", "npu:0"), ("npu:0", "npu:1"), ("npu:1", "cpu")]
GEOMETRIES = [
    ((3, 4), (4, 1), 0),
    ((3, 4), (1, 3), 0),
    ((2, 3), (8, 2), 1),
    ((), (), 5),
    ((0, 3), (3, 1), 0),
]


def strided(array, geometry):
    shape, strides, offset = geometry
    return np.lib.stride_tricks.as_strided(array[offset:], shape, [array.itemsize * s for s in strides])


@pytest.mark.parametrize(("source", "target"), ROUTES)
@pytest.mark.parametrize("to", GEOMETRIES)
@pytest.mark.parametrize("contiguous", [True, False])
def test_copy(source, target, to, contiguous):
    shape = to[0]
    reference = np.arange(40, dtype=np.float32)
    values_ = np.random.default_rng(0).standard_normal((*shape, 2)).astype(np.float32)
    flat = on(source, values_)
    from_ = on(source, values_[..., 0]) if contiguous else _core.as_strided(flat, shape, flat.stride()[:-1], 0)
    memory = on(target, reference)
    result = copy_(_core.as_strided(memory, *to), from_)
    assert result.shape == shape
    strided(reference, to)[...] = values_[..., 0]
    np.testing.assert_array_equal(values(memory), reference)


@pytest.mark.parametrize(("source", "target"), [("cpu", "npu"), ("npu", "cpu"), ("npu", "npu:1")])
def test_converting_and_broadcasting(source, target):
    memory = on(target, np.zeros((3, 2)), np.int64)
    copy_(memory, on(source, [1.5, -2.5], np.float32))
    np.testing.assert_array_equal(values(memory), [[1, -2]] * 3)


def test_a_copy_waits_for_the_stream_that_writes_its_source(gate, scale):
    x = on("npu", np.ones(1000, np.float32))
    out = npu.alloc_like(x)
    npu.current_stream().wait_stream(gate.stream)
    scale(4, x, out, 3.0, 1000)
    copied = npu.alloc_like(x)
    copy_(copied, out)  # queued, not run
    assert not npu.current_stream().query()
    gate.open()
    np.testing.assert_array_equal(values(copied), np.full(1000, 3))


def test_upload():
    tensor = npu.upload(bytes(range(100)), "npu:1")
    assert (tensor.device, tensor.dtype) == (_core.device("npu:1"), _core.dtypes["uint8"])
    assert values(tensor).tobytes() == bytes(range(100))
    assert values(npu.upload(memoryview(b"ab"), "cpu")).tobytes() == b"ab"
    assert npu.upload(b"").numel() == 0
    with pytest.raises(TypeError, match=r"upload\(\): argument 'packed' .* must be bytes, not int"):
        npu.upload(2**40)  # type: ignore[arg-type]


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda x: x.transpose(1, 2),
    "permuted": lambda x: x.permute(3, 1, 0, 2),
    "every other": lambda x: x[:, ::2, :, 1::2],
    "inner parts": lambda x: x[..., 1:4],
    "expanded": lambda x: x[:1, :, :1].expand(7, 3, 4, 5),
    "turned": lambda x: x.flatten(0, 2).T,
    "one element as many": lambda x: x[0, 1, 2, 3].expand(3, 5000),
}


@pytest.mark.parametrize("dtype", [torch.int8, torch.float16, torch.float32, torch.int64, torch.bool])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_are_copied_without_the_cpu(layout: str, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_copies, "to_cpu", lambda tensor: pytest.fail("it passed through the CPU"))
    x = torch.arange(120).reshape(2, 3, 4, 5).to(dtype)
    expected, seen = LAYOUTS[layout](x), LAYOUTS[layout](x.npu())
    made = seen.contiguous()
    assert made.is_contiguous()
    assert torch.equal(made.cpu(), expected.contiguous())
    room, cpu_room = (
        torch.zeros((*seen.shape[:-1], seen.shape[-1] + 3), dtype=dtype, device=d) for d in ("npu", "cpu")
    )
    room[..., 2:-1], cpu_room[..., 2:-1] = seen, expected  # runs that are parts of rows, and nothing beside them
    assert torch.equal(room.cpu(), cpu_room)
