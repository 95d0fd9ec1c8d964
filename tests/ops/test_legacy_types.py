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


NEW = [
    lambda t, x: x.new().shape,
    lambda t, x: x.new(2, 3).shape,
    lambda t, x: x.new(t.Size([3, 4])).shape,
    lambda t, x: x.new(size=(3, 4)).shape,
    lambda t, x: x.new(data=[1, 2]),
    lambda t, x: x.new([3, 4]),
    lambda t, x: x.new((3, 4)),
    lambda t, x: x.new([np.int32(3), np.float64(4)]),
    lambda t, x: x.new(np.array((3, 4))),
    lambda t, x: x.new([t.tensor(3), t.tensor(4) + 1]),
    lambda t, x: x.new(()).shape,
    lambda t, x: x.new(x.untyped_storage()),
    lambda t, x: x.new(x).data_ptr() == x.data_ptr(),
    lambda t, x: x.new(x) is x,
    lambda t, x: x.new("a"),
    lambda t, x: x.new(2.5),
    lambda t, x: x.new(2, 1.5),
    lambda t, x: x.bfloat16().new([1.5]),
    lambda t, x: x.to("meta").new(2).device,
    lambda t, x: x.new(2, device="meta"),
]
REFUSED = [
    lambda t, x: x.new(x.int()),
    lambda t, x: x.new(x.to("meta")),
    lambda t, x: x.new((6, 0), 1),
    lambda t, x: x.new(foo=3),
    lambda t, x: x.new(x, 2),
    lambda t, x: t.LongTensor((6, 0), 1, 1, 0),
    lambda t, x: t.cuda.FloatTensor(),
    lambda t, x: t.set_default_tensor_type("torch.cuda.FloatTensor"),
]


@pytest.mark.parametrize("call", NEW)
def test_new_is_one_of_them(call):
    assert outcome(torch, lambda t: call(t, t.ones(2))) == outcome(pytorch, lambda t: call(t, t.ones(2)))


@pytest.mark.parametrize("t", [torch, pytorch])
@pytest.mark.filterwarnings("ignore:torch.set_default_tensor_type")
@pytest.mark.parametrize("call", REFUSED)
def test_what_nothing_is_made_of(t, call):
    with pytest.raises(TypeError, match=r"expected|received an invalid combination of arguments|not available"):
        call(t, t.ones(2))


@pytest.mark.parametrize("t", [torch, pytorch])
@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_a_storage_of_another_type(t):
    with pytest.raises(RuntimeError, match="Expected a Storage of type Float or an UntypedStorage, but got type Int"):
        t.ones(2).new(t.IntTensor([1]).storage())


def test_the_classes_of_cuda_are_named():
    cuda = torch.cuda.FloatTensor
    assert (cuda.is_cuda, cuda.is_xpu, cuda.__module__, cuda.dtype) == (True, False, "torch.cuda", torch.float32)
    assert not isinstance(torch.ones(1), cuda)
    assert {cuda, torch.FloatTensor} <= torch._tensor_classes
    ours = {(t.__module__, t.__name__) for t in torch._tensor_classes}
    assert ours == {(t.__module__, t.__name__) for t in pytorch._tensor_classes if "sparse" not in t.__module__}


@pytest.mark.parametrize("t", [torch, pytorch])
def test_no_memory_for_cuda(t):
    for make in (lambda: t.tensor([1], device="cuda"), lambda: t.ones(1).to("cuda")):
        with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
            make()
