"""`torch.FloatTensor` and its kin, beside PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import mindtorch_v2 as torch

pytorch = pytest.importorskip("torch")

CALLS = [
    lambda t: t.FloatTensor(),
    lambda t: t.FloatTensor(2, 3).shape,
    lambda t: t.FloatTensor(t.Size([2, 3])).shape,
    lambda t: t.FloatTensor(np.int64(3)).shape,
    lambda t: t.FloatTensor([[1, 2], [3, 4]]),
    lambda t: t.FloatTensor((1, 2)),
    lambda t: t.FloatTensor([]),
    lambda t: t.FloatTensor(range(3)),
    lambda t: t.FloatTensor(np.array([1.0, 2.0])),
    lambda t: t.FloatTensor(t.ones(2)),
    lambda t: t.FloatTensor(t.ones(2).untyped_storage()),
    lambda t: t.FloatTensor(device="cpu"),
    lambda t: t.LongTensor([1.5, -2.5]),
    lambda t: t.ByteTensor([True]),
    lambda t: t.BoolTensor([0, 2]),
    lambda t: t.FloatTensor(2.5),
    lambda t: t.FloatTensor(True),
    lambda t: t.FloatTensor("a"),
    lambda t: t.FloatTensor(-1),
    lambda t: t.FloatTensor(2, [1]),
    lambda t: t.FloatTensor(2, device="meta"),
    lambda t: isinstance(t.ones(1), t.FloatTensor),
    lambda t: isinstance(t.ones(1).double(), t.FloatTensor),
    lambda t: isinstance(t.ones(1, device="meta"), t.FloatTensor),
    lambda t: isinstance(1, t.FloatTensor),
    lambda t: t.FloatTensor,
    lambda t: (t.FloatTensor.__name__, t.FloatTensor.__module__, repr(t.FloatTensor.layout), t.FloatTensor.is_cuda),
    lambda t: [str(getattr(t, name).dtype) for name in dir(pytorch) if name.endswith("Tensor") and name != "Tensor"],
    lambda t: t.ones(1).type(t.LongTensor),
    lambda t: t.ones(1).type("torch.LongTensor"),
]


def outcome(module, call):
    try:
        return repr(call(module))
    except (RuntimeError, TypeError) as error:
        return type(error), str(error).splitlines()[0]


@pytest.mark.parametrize("call", CALLS)
def test_what_they_make_and_say(call):
    assert outcome(torch, call) == outcome(pytorch, call)


@pytest.mark.parametrize("module", [torch, pytorch])
def test_a_tensor_and_a_storage_lend_their_memory(module):
    x = module.zeros(2)
    module.FloatTensor(x)[0] = 1
    module.FloatTensor(x.untyped_storage())[1] = 2
    assert x.tolist() == [1, 2]
    with pytest.raises(TypeError, match="expected"):
        module.DoubleTensor(x)


@pytest.mark.parametrize("module", [torch, pytorch])
def test_the_default_type(module):
    try:
        with pytest.warns(UserWarning, match="deprecated as of PyTorch 2.1"):
            module.set_default_tensor_type(module.DoubleTensor)
        assert module.ones(1).dtype is module.float64
        with pytest.raises(TypeError, match="only floating-point types are supported as the default type"):
            module.set_default_tensor_type(module.LongTensor)
    finally:
        module.set_default_dtype(module.float32)
