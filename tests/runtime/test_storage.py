"""Storages that are resized, tensors over them, and tensors made by calling the class: beside PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch_v2
import mindtorch_v2.nn
from mindtorch_v2 import _core
from tests.runtime.both import agree, fresh_namespace

Case = Callable[[Any], Any]


# ---------------------------------------------------------------- resize_ of tensors
def grown_view(t: Any) -> Any:
    x = t.zeros(4)
    view = x[1:3]
    view.resize_(6)
    x.fill_(7)
    view[0] = 5
    return x.tolist(), view.tolist()[:3], view.storage_offset(), x.untyped_storage().nbytes()


def grown_column(t: Any) -> Any:
    x = t.arange(6).reshape(2, 3)
    column = x[:, 1]
    column.resize_(2)
    before = column.stride()
    column.resize_(3)
    return before, column.stride(), column.tolist(), x.tolist(), column._is_view(), column._base is x


def data_shares_what_grows(t: Any) -> Any:
    x = t.arange(4)
    x.data.resize_(8)
    x.data.fill_(3)
    return x.tolist(), x.untyped_storage().nbytes(), x._version


def versions(t: Any) -> Any:
    counted = []
    for change in (
        lambda x: x.resize_(8),
        lambda x: x.resize_(4),
        lambda x: x.resize_(2),
        lambda x: x.resize_as_(t.ones(3)),
        lambda x: x.data.resize_(8),
        lambda x: x.untyped_storage().resize_(64),
    ):
        x = t.ones(4)
        change(x)
        counted.append(x._version)
    return counted


def saved_then_resized(t: Any) -> Any:
    w = t.ones(4, requires_grad=True)
    h = w * 2
    y = h * h
    h.detach().resize_(2)
    first = t.autograd.grad(y.sum(), w, retain_graph=True)[0].tolist()
    x = t.ones(4)
    z = w * x
    x.resize_(2)
    z.sum().backward()
    return first


RESIZED: dict[str, Case] = {
    "a_view": grown_view,
    "a_column": grown_column,
    "through_data": data_shares_what_grows,
    "versions": versions,
    "detached": lambda t: t.ones(4, requires_grad=True).detach().resize_(2),
    "data_of_a_leaf": lambda t: t.ones(4, requires_grad=True).data.resize_(2),
    "a_list": lambda t: t.ones(6).resize_([2, 3]),
    "sizes": lambda t: t.ones(6).resize_(2, 3),
    "meta": lambda t: t.ones(3, device="meta").resize_(100).shape,
}


@pytest.mark.parametrize("name", RESIZED)
def test_resize(name: str) -> None:
    agree(RESIZED[name])


def test_a_saved_tensor_that_was_resized_is_noticed() -> None:
    agree(saved_then_resized, quoted="modified by an inplace operation")


NOT_RESIZED: dict[str, tuple[Case, str]] = {
    "leaf": (lambda t: t.ones(4, requires_grad=True).resize_(2), "cannot resize variables that require grad"),
    "same_size": (lambda t: t.ones(4, requires_grad=True).resize_(4), "cannot resize variables that require grad"),
    "result": (lambda t: (t.ones(4, requires_grad=True) * 2).resize_(2), "cannot resize variables that require grad"),
    "resize_as": (
        lambda t: t.ones(4, requires_grad=True).resize_as_(t.ones(2)),
        "cannot resize variables that require grad",
    ),
    "nothing": (lambda t: t.ones(3).resize_(), "missing 1 required positional argument"),
    "a_number": (lambda t: t.ones(3).resize_as_(3), "must be Tensor, not int"),
    "words": (lambda t: t.ones(3).resize_("a"), "must be"),
}


@pytest.mark.parametrize("name", NOT_RESIZED)
def test_resize_is_refused(name: str) -> None:
    case, quoted = NOT_RESIZED[name]
    agree(case, quoted)


def test_resize_of_a_leaf_is_refused_in_no_grad_too() -> None:
    def case(t: Any) -> Any:
        with t.no_grad():
            t.ones(4, requires_grad=True).resize_(2)

    agree(case, quoted="cannot resize variables that require grad")


# ---------------------------------------------------------------- resize_ of storages
def shrunk(t: Any) -> Any:
    x = t.ones(4)
    storage = x.untyped_storage()
    storage.resize_(4)
    return storage.nbytes(), len(storage), x.shape


def grown(t: Any) -> Any:
    x = t.arange(4)
    storage = x.untyped_storage()
    same = storage.resize_(64) is storage
    return same, storage.nbytes(), x.tolist(), x.as_strided((8,), (1,)).shape


def freed_and_given_again(t: Any) -> Any:
    x = t.ones(4)
    storage = x.untyped_storage()
    storage.resize_(0)
    gone = storage.nbytes(), storage.data_ptr()
    storage.resize_(16)
    return gone, x.fill_(2).tolist()


STORAGES: dict[str, Case] = {
    "shrunk": shrunk,
    "grown": grown,
    "freed_and_given_again": freed_and_given_again,
    "meta": lambda t: t.ones(4, device="meta").untyped_storage().resize_(64).nbytes(),
    "made": lambda t: t.UntypedStorage(8).nbytes(),
}


@pytest.mark.parametrize("name", STORAGES)
def test_storages_are_resized(name: str) -> None:
    agree(STORAGES[name])


def resized_under(make: Callable[[Any], tuple[Any, Any]], nbytes: int) -> Case:
    def case(t: Any) -> Any:
        x, holder = make(t)
        x.untyped_storage().resize_(nbytes)
        return holder

    return case


def with_array(t: Any) -> tuple[Any, Any]:
    x = t.ones(4)
    return x, x.numpy()


def with_array_of_a_view(t: Any) -> tuple[Any, Any]:
    x = t.ones(4)
    return x, x[1:].numpy()


def with_array_of_data(t: Any) -> tuple[Any, Any]:
    x = t.ones(4)
    return x, x.data.numpy()


def of_an_array(t: Any) -> tuple[Any, Any]:
    return t.from_numpy(np.ones(4)), None


def exchanged(t: Any) -> tuple[Any, Any]:
    x, y = t.ones(2), t.ones(4)
    array = y.numpy()
    x.data = y
    return x, array


@pytest.mark.parametrize("nbytes", [0, 4, 400])
@pytest.mark.parametrize("make", [with_array, with_array_of_a_view, with_array_of_data, of_an_array, exchanged])
def test_memory_that_numpy_sees_is_not_resized(make: Callable[[Any], tuple[Any, Any]], nbytes: int) -> None:
    agree(resized_under(make, nbytes), quoted="Trying to resize storage that is not resizable")


def test_a_tensor_that_numpy_sees_shrinks_and_does_not_grow() -> None:
    def resize(to: int) -> Case:
        def case(t: Any) -> Any:
            x = t.ones(4)
            array = x.numpy()
            x.resize_(to)
            return x.tolist(), array.tolist()

        return case

    agree(resize(2))
    agree(resize(20), quoted="Trying to resize storage that is not resizable")


def test_memory_is_resizable_once_nobody_holds_its_address() -> None:
    x = mindtorch_v2.ones(4)
    storage = x.untyped_storage()
    with memoryview(_core.as_memoryview(x)):
        assert not storage.resizable()
    assert storage.resizable()
    assert storage.resize_(0).nbytes() == 0


def test_memory_that_numpy_was_given_keeps_its_size() -> None:
    """For good, as in PyTorch: an array may have handed its address on."""

    def case(torch: Any) -> Any:
        x = torch.ones(4)
        storage, array = x.untyped_storage(), x.numpy()
        held = storage.resizable()
        del array
        return held, storage.resizable()

    agree(case)


def test_tensors_over_memory_that_shrank_stay_within_it() -> None:
    """What a tensor may reach is given back only as a whole, and then a launch sees it."""
    x = mindtorch_v2.arange(1000)
    storage = x.untyped_storage()
    storage.resize_(8)
    assert x.sum().item() == 499500
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 8"):
        x.as_strided((2,), (1,))
    storage.resize_(0)
    with pytest.raises(RuntimeError, match="storage was freed"):
        x.sum()
    storage.resize_(8)  # room for one element, but x has 1000
    assert x.fill_(1).sum().item() == 1000
    storage.resize_(16000)
    assert storage.nbytes() == 16000
    assert x.fill_(2).sum().item() == 2000


def test_data_and_its_owner_are_resized_together() -> None:
    x = mindtorch_v2.ones(4)
    shown = [x.data, x.data.data, x.data]
    x.untyped_storage().resize_(0)
    del shown[1]
    shown[0].untyped_storage().resize_(4000)
    assert {t.untyped_storage().data_ptr() for t in shown} == {x.untyped_storage().data_ptr()}
    x.fill_(3)
    assert [t.tolist() for t in shown] == [[3.0] * 4] * 2


def test_a_storage_is_whole_however_it_is_made() -> None:
    assert mindtorch_v2.UntypedStorage.__new__(mindtorch_v2.UntypedStorage).resize_(8).nbytes() == 8
    storage = mindtorch_v2.ones(4).untyped_storage()
    storage.__init__()  # type: ignore[misc]
    assert storage.nbytes() == 16


# ---------------------------------------------------------------- .data =
def own_version(t: Any) -> Any:
    x, y = t.ones(4), t.ones(3)
    y.add_(1)
    x.data = y
    after = x._version
    y.add_(1)
    return after, x._version, y._version, x.tolist()


def exchanged_parameter(t: Any) -> Any:
    x = t.nn.Parameter(t.ones(4))
    x.data = t.ones(3)
    return type(x).__name__, x.requires_grad, x.shape


def data_of_a_view(t: Any) -> Any:
    x = t.ones(4)
    view = x[:2]
    view.data = t.zeros(3)
    return view.tolist(), view._is_view(), x.tolist()


def data_of_itself(t: Any) -> Any:
    x = t.ones(4)
    x.data = x.data
    x.add_(1)
    return x.tolist(), x._version


SET: dict[str, Case] = {
    "version": own_version,
    "parameter": exchanged_parameter,
    "view": data_of_a_view,
    "itself": data_of_itself,
    "dtype": lambda t: set_data(t.ones(4), t.ones(2, dtype=t.int64)),
    "dtype_of_a_leaf": lambda t: set_data(t.ones(4, requires_grad=True), t.ones(2, dtype=t.float64)),
    "leaf_as_value": lambda t: set_data(t.ones(4), t.ones(3, requires_grad=True)),
}
NOT_SET: dict[str, tuple[Case, str]] = {
    "to_meta": (lambda t: set_data(t.ones(4), t.ones(2, device="meta")), "incompatible tensor type"),
    "from_meta": (lambda t: set_data(t.ones(4, device="meta"), t.ones(2)), "incompatible tensor type"),
    "integers": (
        lambda t: set_data(t.ones(4, requires_grad=True), t.ones(2, dtype=t.int64)),
        "must be floating point or complex dtype",
    ),
    "number": (lambda t: set_data(t.ones(4), 3), "Variable data has to be a tensor, but got int"),
    "None": (lambda t: set_data(t.ones(4), None), "Variable data has to be a tensor, but got NoneType"),
    "deletion": (lambda t: delattr(t.ones(4), "data"), "Deleting tensor data is not allowed"),
}


def set_data(x: Any, value: Any) -> Any:
    x.data = value
    return x


@pytest.mark.parametrize("name", SET)
def test_data_is_exchanged(name: str) -> None:
    agree(SET[name])


@pytest.mark.parametrize("name", NOT_SET)
def test_data_that_does_not_fit_is_refused(name: str) -> None:
    case, quoted = NOT_SET[name]
    agree(case, quoted)


def test_a_module_moved_from_and_to_meta_gets_other_parameters() -> None:
    def case(t: Any) -> Any:
        module = t.nn.Linear(2, 3)
        weight = module.weight
        module.to("meta")
        kept = module.weight is weight
        module._apply(lambda p: t.empty_like(p, device="cpu"))
        return kept, module.weight.shape, module.weight.device.type, module.weight.requires_grad

    agree(case)


def test_a_function_applied_to_a_module_gets_the_parameters() -> None:
    def case(t: Any) -> Any:
        module = t.nn.Linear(2, 3)
        seen = []
        module._apply(lambda p: (seen.append(any(p is q for q in module.parameters())), p.mul_(2))[1])
        return seen, module.weight._version, module.weight.requires_grad

    agree(case)


# ---------------------------------------------------------------- tensors made by calling the class
def subclass(t: Any) -> Any:
    class Sub(t.Tensor):  # type: ignore[misc, name-defined]
        pass

    return Sub


class_cases: dict[str, Case] = {
    "empty": lambda t: t.Tensor(),
    "new": lambda t: t.Tensor.__new__(t.Tensor),
    "subclass": lambda t: (subclass(t)() + 1).shape,
    "class_of_the_result": lambda t: type(subclass(t)() + 1).__name__,
    "new_of_a_subclass": lambda t: t.Tensor.__new__(subclass(t)) * 2,
    "values": lambda t: subclass(t)([1, 2]),
    "tuple": lambda t: t.Tensor((1, 2)),
    "array": lambda t: t.Tensor(np.ones(3)),
    "sizes": lambda t: t.Tensor(2, 3).shape,
    "size": lambda t: t.Tensor(t.Size([2, 3])).shape,
    "tensor": lambda t: t.Tensor(t.arange(3)),
    "tensor_with_history": lambda t: t.Tensor(t.ones(3, requires_grad=True)).is_leaf,
    "subclass_of_a_tensor": lambda t: type(subclass(t)(t.ones(2))).__name__,
}
class_mistakes: dict[str, Case] = {
    "number": lambda t: t.Tensor(3.5),
    "None": lambda t: t.Tensor(None),
    "words": lambda t: t.Tensor("a"),
    "keyword": lambda t: t.Tensor(foo=1),
    "dtype": lambda t: t.Tensor(2, dtype=t.float64),
    "meta": lambda t: t.Tensor(2, device="meta"),
    "negative": lambda t: t.Tensor(-1),
    "huge": lambda t: t.Tensor(2**62),
}


@pytest.mark.parametrize("name", class_cases)
def test_a_tensor_made_by_its_class_is_whole(name: str) -> None:
    agree(class_cases[name])


@pytest.mark.parametrize("name", class_mistakes)
def test_a_class_is_called_with_what_makes_a_tensor(name: str) -> None:
    agree(class_mistakes[name], quoted="")


def test_what_a_subclass_takes_itself_is_kept() -> None:
    def case(t: Any) -> Any:
        class Named(t.Tensor):  # type: ignore[misc, name-defined]
            def __init__(self, values: Any) -> None:
                super().__init__()
                self.given = values

        made = Named([1.0, 2.0])
        return made.given, made.tolist()

    agree(case)


# ---------------------------------------------------------------- lists that change while they are bound
class Editor:
    """Stands for an int, and edits a list when it is asked for it."""

    def __init__(self, edited: list[Any], value: int) -> None:
        self.edited, self.value = edited, value

    def __index__(self) -> int:
        self.edited[:] = [3, "a", None]
        return self.value


def test_a_list_of_tensors_that_changes_while_it_is_bound() -> None:
    tensors: list[Any] = [mindtorch_v2.ones(2), mindtorch_v2.zeros(2)]
    assert mindtorch_v2.cat(tensors, Editor(tensors, 0)).tolist() == [1, 1, 0, 0]
    assert tensors == [3, "a", None]


def test_a_list_of_ints_that_changes_while_it_is_bound() -> None:
    sizes: list[Any] = [2, 2]
    sizes[0] = Editor(sizes, 2)
    assert mindtorch_v2.zeros(4).view(sizes).shape == (2, 2)


@pytest.mark.parametrize("kind", ["Tensor[]", "Tensor?[]"])
def test_a_kernel_that_changes_its_list(kind: str) -> None:
    library = mindtorch_v2.library.Library(fresh_namespace(), "DEF")
    library.define(f"changed({kind} tensors) -> Tensor")

    def kernel(tensors: list[Any]) -> Any:
        result = tensors[0] + 1
        tensors[:] = [3, "a"]
        return result

    library.impl("changed", kernel, "CPU")
    given = [mindtorch_v2.ones(2), mindtorch_v2.ones(2)]
    assert getattr(mindtorch_v2.ops, library.ns).changed(given).tolist() == [2, 2]
    assert all(isinstance(t, mindtorch_v2.Tensor) for t in given)
