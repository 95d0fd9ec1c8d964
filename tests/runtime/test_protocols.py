"""Tensors copy, pickle, format and answer `in` as PyTorch's do."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import mindtorch_v2
from tests.runtime.both import agree, agree_or_raise


def test_a_copy_has_its_own_memory_flags_gradient_and_attributes():
    def case(torch):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        (x * x).sum().backward()
        x.label = ["a"]
        y = copy.deepcopy(x)
        with torch.no_grad():
            x.zero_()
        x.label.append("b")
        return y, y.grad, y.requires_grad, y.label, type(y).__name__, (y * 2).sum()

    agree(case)


def test_what_an_operation_made_is_not_copied():
    def case(torch):
        copy.deepcopy(torch.ones(2, requires_grad=True) * 2)

    agree(case, "Only Tensors created explicitly by the user")


def test_a_module_is_copied_with_its_parameters():
    def case(torch):
        layer = torch.nn.Linear(2, 1)
        with torch.no_grad():
            layer.weight.fill_(2.0)
            layer.bias.zero_()
        twin = copy.deepcopy(layer)
        with torch.no_grad():
            layer.weight.zero_()
        return twin(torch.ones(1, 2)), type(twin.weight).__name__, twin.weight.requires_grad

    agree(case)


SHARED = {
    "a slice after it": lambda w: (w, w[:1]),
    "a slice before it": lambda w: (w[:1], w),
    "slices alone": lambda w: (w[1:3], w[2:]),
    "shapes": lambda w: (w, w.reshape(2, 2), w[None], w.reshape(2, 2).t()),
    "inside": lambda w: ({"a": [w]}, [[w[1:]]]),
    "detached and data": lambda w: (w, w.detach(), w.data),
    "one element many times": lambda w: (w[:1].expand(4), w),
    "twice itself": lambda w: (w, w),
    "nothing of it": lambda w: (w, w[4:]),
}


def tensors(value):
    if isinstance(value, (list, tuple)):
        return [t for item in value for t in tensors(item)]
    return [t for item in value.values() for t in tensors(item)] if isinstance(value, dict) else [value]


@pytest.mark.parametrize("name", SHARED)
def test_copies_of_tensors_that_share_memory_share_it_too(name):
    def case(torch):
        w = torch.arange(4.0)
        given = SHARED[name](w)
        copied = tensors(copy.deepcopy(given))
        geometry = [(tuple(t.shape), t.stride(), t.storage_offset(), t._base is None) for t in copied]
        copied[0].fill_(9.0)
        sizes = [t.untyped_storage().nbytes() for t in copied if t.numel()]
        return copied, geometry, sizes, w

    agree(case)


def test_a_copied_gradient_that_is_copied_beside_its_tensor():
    def case(torch):
        w = torch.ones(3)
        w.grad = torch.zeros(3)
        grad, twin = copy.deepcopy((w.grad, w))
        grad[0] = 5.0
        return twin.grad is grad, twin.grad, w.grad

    agree(case)


def test_copies_on_other_devices_share_memory_too():
    w = mindtorch_v2.arange(4.0).to("npu")
    twin, part = copy.deepcopy((w, w[1:]))
    twin.fill_(2.0)
    assert (w.tolist(), part.tolist(), part.device) == ([0.0, 1.0, 2.0, 3.0], [2.0, 2.0, 2.0], w.device)
    agree(lambda torch: [t.device.type for t in copy.deepcopy([torch.empty(3, device="meta")] * 2)])


def test_a_copied_parameter_is_apart_from_everything():
    def case(torch):
        layer = torch.nn.Linear(2, 1)
        layer.weight.data.fill_(1.0)
        layer.part = layer.weight.detach()[0]
        layer.weight.sum().backward()
        layer.weight.label = "a"
        twin = copy.deepcopy(layer)
        twin.part.fill_(7.0)
        return twin.weight, twin.weight.grad, hasattr(twin.weight, "label"), layer.part, type(twin.weight).__name__

    agree(case)


COPIED = {
    "a leaf": lambda torch: torch.ones(2),
    "a leaf that requires grad": lambda torch: torch.ones(2, requires_grad=True),
    "a parameter": lambda torch: torch.nn.Parameter(torch.ones(2)),
    "a result": lambda torch: torch.ones(2, requires_grad=True) * 2,
    "a part": lambda torch: torch.ones(3)[1:],
}


@pytest.mark.parametrize("name", COPIED)
def test_a_shallow_copy_has_the_same_memory(name):
    def case(torch):
        x = COPIED[name](torch)
        x.label = ["a"]
        y = copy.copy(x)
        with torch.no_grad():
            y[0] = 9.0
        return x, y, y is x, y.label is x.label, y.is_leaf, y._base is None, y.storage_offset(), type(y).__name__

    agree(case)


@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
@pytest.mark.parametrize("name", ["float32", "int64", "bool", "float16"])
def test_pickling_gives_an_equal_tensor(shape, name):
    x = mindtorch_v2.ones(shape, dtype=getattr(mindtorch_v2, name))
    y = pickle.loads(pickle.dumps(x))
    assert y.dtype is x.dtype
    assert y.shape == x.shape
    assert np.array_equal(y.numpy(), x.numpy())
    assert y.data_ptr() != x.data_ptr() or x.numel() == 0


def test_pickling_keeps_strides():
    def case(torch):
        x = torch.arange(6.0).reshape(2, 3)
        return [
            (y, y.stride())
            for y in (pickle.loads(pickle.dumps(t)) for t in (x, x.t(), torch.ones(2, 3, 4).permute(2, 0, 1)))
        ]

    agree(case)


def test_pickling_keeps_flags_attributes_and_device():
    x = mindtorch_v2.ones(3, device="npu", requires_grad=True)
    x.label = "weights"
    y = pickle.loads(pickle.dumps(x))
    assert (y.device, y.requires_grad, y.label, y.tolist()) == (x.device, True, "weights", [1.0, 1.0, 1.0])


@pytest.mark.parametrize("value", [2.0, 3.0])
def test_membership(value):
    agree(lambda torch: value in torch.tensor([1.0, 2.0]))


def test_membership_of_something_else():
    agree(lambda torch: "a" in torch.tensor([1.0]), "only supports Tensor or scalar")


def test_formatting():
    agree(lambda torch: (f"{torch.tensor(1.25):.1f}", f"{torch.tensor([1.0])}"))


def test_numpy_shares_the_memory():
    x = mindtorch_v2.zeros(3)
    array = np.asarray(x)
    array[1] = 5.0
    assert x.tolist() == [0.0, 5.0, 0.0]
    assert np.asarray(x, dtype=np.float64).dtype == np.float64


@pytest.mark.parametrize("read", [lambda x: x.numpy(), np.asarray])
@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_numpy_where_nothing_is_recorded(mode, read):
    """A tensor that requires grad shares its memory there, too."""

    def case(torch):
        x = torch.ones(2, requires_grad=True)
        with getattr(torch, mode)():
            read(x)[0] = 5.0
        return x

    agree(case)


@pytest.mark.parametrize("read", [lambda x: x.numpy(), np.asarray])
def test_numpy_of_what_is_recorded(read):
    agree(lambda torch: read(torch.ones(2, requires_grad=True)), "Can't call numpy() on Tensor that requires grad.")


def test_operators_are_pickled_by_name() -> None:
    for operator in (mindtorch_v2.ops.aten.add, mindtorch_v2.ops.aten.add.Tensor, mindtorch_v2.ops.aten.sin.default):
        assert pickle.loads(pickle.dumps(operator)) is operator
        assert copy.deepcopy(operator) is operator


def test_a_storage_is_pickled_with_its_bytes() -> None:
    storage = mindtorch_v2.arange(3.0).untyped_storage()
    for copied in (pickle.loads(pickle.dumps(storage)), copy.deepcopy(storage)):
        assert copied.nbytes() == 12
        assert copied.data_ptr() != storage.data_ptr()
        assert copied.__reduce__() == storage.__reduce__()
    assert pickle.loads(pickle.dumps(mindtorch_v2.zeros(0).untyped_storage())).nbytes() == 0


@pytest.mark.parametrize("device", ["npu", "meta"])
def test_a_storage_elsewhere_is_copied_there(device: str) -> None:
    storage = mindtorch_v2.arange(3.0).to(device).untyped_storage()
    for copied in (pickle.loads(pickle.dumps(storage)), copy.deepcopy(storage)):
        assert (copied.device, copied.nbytes()) == (storage.device, 12)
        if device != "meta":
            assert copied.data_ptr() != storage.data_ptr()
            assert mindtorch_v2.empty(0, device=device).set_(copied).tolist() == [0, 1, 2]


@pytest.mark.parametrize("values", [[1 + 2j], 3, True, [1.0, 2.0], []])
def test_complex_numbers_of_tensors(values):
    agree_or_raise(lambda torch: complex(torch.tensor(values)))


@pytest.mark.parametrize("name", ["__nonzero__", "__long__"])
def test_older_names_of_conversions(name):
    agree(lambda torch: [getattr(torch.tensor(value), name)() for value in (3.5, 0.0)])


@pytest.mark.parametrize("name", ["__div__", "__idiv__", "__rdiv__"])
def test_older_names_of_divisions(name):
    def case(torch):
        x = torch.tensor([3.0, 4.0])
        return getattr(x, name)(2), x

    agree(case)
