"""Lazy clones: memory that is shared until somebody writes to it, whichever way; beside PyTorch, and one by one."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2
from tests.runtime.both import agree


def sharing(t: Any, *tensors: Any) -> list[Any]:
    first = tensors[0]
    return [
        (
            t._C._is_cow_tensor(one),
            t._C._data_address(one) == t._C._data_address(first),
            t._C._storage_address(one) == t._C._storage_address(first),
        )
        for one in tensors
    ]


def written_one_by_one(t: Any) -> Any:
    tensor = t.arange(4.0).view(2, 2)
    clone, view = tensor._lazy_clone(), tensor.view(4)
    found = [sharing(t, tensor, clone, view)]
    view += 1
    found.append(sharing(t, tensor, clone, view))
    clone += 1
    found.append(sharing(t, tensor, clone, view))
    return found, tensor, clone, view


def three_of_one(t: Any) -> Any:
    tensor = t.arange(3.0)
    clones = [tensor._lazy_clone() for _ in range(3)]
    deeper = clones[0]._lazy_clone()
    clones[1].mul_(2)
    found = sharing(t, tensor, *clones, deeper)
    tensor.zero_()
    return found, sharing(t, tensor, *clones, deeper), tensor, clones, deeper


def geometry(t: Any) -> Any:
    tensor = t.arange(12.0).view(3, 4)[1:, ::2]
    clone = tensor._lazy_clone()
    expanded = t.ones(1).expand(3)._lazy_clone()
    return clone.stride(), clone.storage_offset(), clone, expanded.stride(), clone._is_view(), clone._version


def read_only(t: Any) -> Any:
    tensor = t.arange(4.0)
    clone = tensor._lazy_clone()
    values = tensor + clone, clone.sum(), t.cat([tensor, clone]), clone.clone(), clone[1:].contiguous()
    return sharing(t, tensor, clone), values


def gradients(t: Any) -> Any:
    tensor = t.arange(3.0, requires_grad=True)
    clone = tensor._lazy_clone()
    name = type(clone.grad_fn).__name__
    clone.mul(clone).sum().backward()
    changed = tensor._lazy_clone()
    changed.mul_(2)
    return name, tensor.grad, tensor, changed


def freed(t: Any) -> Any:
    tensor = t.arange(3.0)
    clone = tensor._lazy_clone()
    del tensor
    before = t._C._data_address(clone)
    clone.add_(1)
    return t._C._data_address(clone) == before, t._C._is_cow_tensor(clone), clone


def address(t: Any) -> Any:
    tensor = t.arange(3.0)
    clone = tensor._lazy_clone()
    return tensor.data_ptr() != clone.data_ptr(), t._C._is_cow_tensor(tensor)


CASES = [written_one_by_one, three_of_one, geometry, read_only, gradients, freed, address]


@pytest.mark.parametrize("case", CASES, ids=lambda one: one.__name__)
def test_lazy_clones_beside_pytorch(case: Callable[[Any], Any]) -> None:
    agree(case)


def batch_norm(x: Any) -> None:
    mindtorch_v2.native_batch_norm(mindtorch_v2.randn(5, 3), None, None, x, None, True, 0.5, 1e-5)


def out_of_numpy(x: Any) -> None:
    x.numpy()[0] = 7


def through_dlpack(x: Any) -> None:
    mindtorch_v2.from_dlpack(x).fill_(7)


def by_the_optimizer(x: Any) -> None:
    x.requires_grad_()
    x.grad = mindtorch_v2.ones(3)
    mindtorch_v2.optim.Adam([x], lr=0.5, fused=True).step()


def by_many_at_once(x: Any) -> None:
    mindtorch_v2._foreach_add_([mindtorch_v2.ones(2), x], 1)


def gradient_added(x: Any) -> None:
    leaf = mindtorch_v2.ones(3, requires_grad=True)
    leaf.grad = x
    (leaf * 2).sum().backward()


def by_data(x: Any) -> None:
    x.data.add_(1)


def in_a_batch(x: Any) -> None:
    mindtorch_v2.func.vmap(lambda one: one.add_(1))(x)


def functionalized(x: Any) -> None:
    mindtorch_v2.func.functionalize(lambda one: one.add_(1))(x)


WRITERS: dict[str, Callable[[Any], Any]] = {
    "in place": lambda x: x.add_(1),
    "an item": lambda x: x.__setitem__(1, 5),
    "a slice": lambda x: x.__setitem__(slice(1, None), 5),
    "a mask": lambda x: x.__setitem__(x > 0, 5),
    "a view": lambda x: x[1:].mul_(3),
    "its data": by_data,
    "out": lambda x: mindtorch_v2.add(mindtorch_v2.ones(3), 1, out=x),
    "copied to": lambda x: x.copy_(mindtorch_v2.ones(3)),
    "filled": lambda x: x.fill_(7),
    "random": lambda x: x.uniform_(5, 6),
    "scattered": lambda x: x.index_add_(0, mindtorch_v2.tensor([1]), mindtorch_v2.ones(1)),
    "sorted into": lambda x: mindtorch_v2.sort(
        mindtorch_v2.tensor([3.0, 2.0, 1.0]), out=(x, mindtorch_v2.empty(3, dtype=mindtorch_v2.int64))
    ),
    "joined into": lambda x: mindtorch_v2.cat([mindtorch_v2.ones(1), mindtorch_v2.ones(2)], out=x),
    "running statistics": batch_norm,
    "NumPy": out_of_numpy,
    "DLPack": through_dlpack,
    "an optimizer": by_the_optimizer,
    "many at once": by_many_at_once,
    "a gradient": gradient_added,
    "a batch": in_a_batch,
    "functionalized": functionalized,
    "a map": lambda x: x.apply_(lambda value: value + 1),
    "a byte of the storage": lambda x: x.untyped_storage().__setitem__(3, 66),
    "the storage filled": lambda x: x.untyped_storage().fill_(66),
    "a part of the storage": lambda x: x.untyped_storage()[0:4].fill_(66),
    "an element of the storage": lambda x: x._typed_storage()._setitem(0, 66),
    "the storage copied to": lambda x: x.untyped_storage().copy_(mindtorch_v2.ones(3).untyped_storage()),
    "the storage swapped": lambda x: x.untyped_storage().byteswap(mindtorch_v2.float32),
    "set to the storage": lambda x: mindtorch_v2.empty(0).set_(x.untyped_storage()).fill_(7),
    "as a tensor": lambda x: mindtorch_v2.tensor(x.untyped_storage(), dtype=mindtorch_v2.float32).fill_(7),
    "in shared memory": lambda x: x.share_memory_().fill_(7),
    "made larger": lambda x: x.resize_(30).fill_(7),
    "a legacy type": lambda x: mindtorch_v2.FloatTensor(x.untyped_storage()).fill_(7),
    "a memoryview": lambda x: memoryview(mindtorch_v2._core.as_memoryview(x)).cast("B").__setitem__(0, 66),
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("of", ["the original", "the clone", "one of three"])
def test_no_other_sees_what_is_written(name: str, of: str) -> None:
    tensor = mindtorch_v2.arange(3.0)
    clone = tensor._lazy_clone()
    third = clone._lazy_clone() if of == "one of three" else None
    written, other = (tensor, clone) if of == "the original" else (clone, tensor)
    assert mindtorch_v2._C._is_cow_tensor(written)
    WRITERS[name](written)
    for one in (other, third):
        assert one is None or one.tolist() == [0.0, 1.0, 2.0]


def test_an_alias_moves_with_what_is_written() -> None:
    tensor = mindtorch_v2.arange(3.0)
    alias = tensor.data
    clone = alias._lazy_clone()
    tensor.add_(1)
    assert alias.tolist() == tensor.tolist() == [1.0, 2.0, 3.0]
    alias.add_(1)
    assert tensor.tolist() == [2.0, 3.0, 4.0]
    assert clone.tolist() == [0.0, 1.0, 2.0]


def test_a_kernel_by_hand_writes_to_memory_of_its_own() -> None:
    from mindtorch_v2.kernels._native import native

    tensor = mindtorch_v2.arange(3.0)
    clone = tensor._lazy_clone()
    native("mt_copy", "desc", "desc")(mindtorch_v2.ones(3), clone)
    assert tensor.tolist() == [0.0, 1.0, 2.0]
    assert clone.tolist() == [1.0, 1.0, 1.0]


def test_what_others_hold_is_copied_at_once() -> None:
    tensor = mindtorch_v2.arange(3.0)
    array = tensor.numpy()
    clone = tensor._lazy_clone()
    array[0] = 7
    assert not mindtorch_v2._C._is_cow_tensor(clone)
    assert clone.tolist() == [0.0, 1.0, 2.0]
    of_array = mindtorch_v2.from_numpy(array)._lazy_clone()
    array[0] = 8
    assert of_array.tolist() == [7.0, 1.0, 2.0]


def test_copies_and_sizes() -> None:
    tensor = mindtorch_v2.arange(3.0)
    clone = tensor._lazy_clone()
    for made in (copy.deepcopy(clone), pickle.loads(pickle.dumps(clone))):
        made.add_(1)
        assert tensor.tolist() == clone.tolist() == [0.0, 1.0, 2.0]
    clone = tensor._lazy_clone()
    clone.untyped_storage().resize_(0)
    assert tensor.tolist() == [0.0, 1.0, 2.0]
    assert clone.untyped_storage().nbytes() == 0
    assert mindtorch_v2.empty(0)._lazy_clone().shape == (0,)
    assert mindtorch_v2.empty(2, device="meta")._lazy_clone().is_meta


def test_on_an_npu_it_is_a_copy() -> None:
    tensor = mindtorch_v2.arange(3.0).npu()
    clone = tensor._lazy_clone()
    tensor.add_(1)
    assert clone.tolist() == [0.0, 1.0, 2.0]
    assert tensor.tolist() == [1.0, 2.0, 3.0]


def test_threads_that_write_at_once() -> None:
    tensor = mindtorch_v2.zeros(5000)
    clones = [tensor._lazy_clone() for _ in range(8)]
    threads = [threading.Thread(target=lambda i=i: clones[i].add_(i)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [clone.max().item() for clone in clones] == list(range(8))
    assert tensor.max().item() == 0
