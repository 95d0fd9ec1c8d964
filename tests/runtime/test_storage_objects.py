"""Storages as objects of Python: attributes, subclasses, finalizers, weak references, cycles; beside PyTorch."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from tests.runtime.both import agree


class Gone:
    """Notes that it was freed."""

    def __init__(self, notes: list[str], name: str) -> None:
        self.notes, self.name = notes, name

    def __del__(self) -> None:
        self.notes.append(self.name)


def attributes(t: Any) -> Any:
    notes: list[str] = []
    tensor = t.ones(3)
    tensor.untyped_storage().kept = Gone(notes, "kept")
    again = tensor.untyped_storage()
    found = hasattr(again, "kept"), again is tensor.untyped_storage(), again is tensor.view(3, 1).untyped_storage()
    del again
    before = list(notes)
    del tensor
    return found, before, notes


def of_data(t: Any) -> Any:
    tensor = t.ones(3)
    return tensor.data.untyped_storage() is tensor.untyped_storage()


def cycle(t: Any) -> Any:
    notes: list[str] = []
    first, second = t.UntypedStorage(2), t.ones(2).untyped_storage()
    first.other, second.other = second, first
    first.gone, second.gone = Gone(notes, "first"), Gone(notes, "second")
    del first, second
    before = list(notes)
    gc.collect()
    return before, sorted(notes)


def cycle_of_a_dict(t: Any) -> Any:
    notes: list[str] = []
    made = t.UntypedStorage(2)
    vars(made)["me"] = made
    vars(made)["gone"] = Gone(notes, "gone")
    del made
    gc.collect()
    return notes


def subclass(t: Any) -> Any:
    notes: list[str] = []

    class Mine(t.UntypedStorage):  # type: ignore[misc]
        __slots__ = ("place",)

        def __del__(self) -> None:
            notes.append("deleted")

    made = Mine(8)
    made.place = Gone(notes, "slot")
    tensor = t.tensor(made, dtype=t.float32)
    del made
    before = list(notes)
    kept = tensor.untyped_storage()
    del tensor
    kind = type(kept) is Mine, isinstance(kept, t.UntypedStorage)
    del kept
    return before, kind, notes


def cycle_of_slots(t: Any) -> Any:
    notes: list[str] = []

    class Mine(t._C.StorageBase):  # type: ignore[misc]
        __slots__ = ("place",)

        def __del__(self) -> None:
            notes.append("deleted")

    first, second = Mine(t.UntypedStorage([1, 2])), Mine()
    first.place, second.place = second, first
    sizes = first.nbytes(), second.nbytes()
    del first, second
    before = list(notes)
    gc.collect()
    return sizes, before, notes


def finalizer_of_a_tensor(t: Any) -> Any:
    notes: list[str] = []

    class Mine(t.Tensor):  # type: ignore[misc]
        def __del__(self) -> None:
            notes.append("deleted")

    made = Mine(t.ones(2))
    before = list(notes)
    del made
    return before, notes


def bases(t: Any) -> Any:
    class Mine(t._C.StorageBase):  # type: ignore[misc]
        pass

    return (
        isinstance(t.ones(2), t._C.TensorBase),
        isinstance(2, t._C.TensorBase),
        issubclass(t.nn.Parameter, t._C.TensorBase),
        isinstance(t.UntypedStorage(2), t._C.StorageBase),
        isinstance(t.UntypedStorage(2), Mine),
        issubclass(t.UntypedStorage, t._C.StorageBase),
        issubclass(Mine, t._C.StorageBase),
        issubclass(Mine, t.UntypedStorage),
        isinstance(Mine(3), Mine),
    )[:7]


def weak(t: Any) -> Any:
    made = t.UntypedStorage(4)
    seen: list[bool] = []
    reference = weakref.ref(made, lambda one: seen.append(one() is None))
    tensor = t.tensor(made, dtype=t.uint8)
    del made
    kept = reference()
    kept._fix_weakref()
    del tensor
    size = kept.nbytes()
    del kept
    return size, seen


def of_a_storage(t: Any) -> Any:
    untyped = t.FloatStorage([1, 2]).untyped()
    made = t.tensor(untyped)
    typed = t.tensor(t.FloatStorage(wrap_storage=untyped))
    typed[0] = 3
    return made.dtype is t.int64, made.untyped_storage() is untyped, typed.untyped_storage() is untyped, made, typed


def numbers(t: Any) -> Any:
    tensor = t.ones(2)
    same = tensor.storage()._cdata == tensor.view(2, 1).storage()._cdata == tensor.untyped_storage()._cdata
    return same, tensor.storage()._cdata == t.ones(2).storage()._cdata


def sizes_that_stay(t: Any) -> Any:
    tensor = t.ones(2)
    before = tensor.untyped_storage().resizable()
    tensor.numpy()
    return before, tensor.untyped_storage().resizable()


CASES = [
    attributes, of_data, cycle, cycle_of_a_dict, subclass, cycle_of_slots, finalizer_of_a_tensor, bases,
    weak, of_a_storage, numbers, sizes_that_stay,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda one: one.__name__)
def test_storages_as_objects(case: Callable[[Any], Any]) -> None:
    agree(case)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "the base of storages": lambda t: t._C.StorageBase(),
    "the base of tensors": lambda t: t._C.TensorBase(),
    "a class of the base of tensors": lambda t: type("Mine", (t._C.TensorBase,), {}),
    "a size that stays": lambda t: (one := t.ones(2), one.numpy(), one.untyped_storage().resize_(100)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    def refused(t: Any) -> str:
        with pytest.raises(RuntimeError) as error:
            REFUSED[name](t)
        return type(error.value).__name__

    agree(refused)


def test_a_cycle_through_a_tensor_is_collected() -> None:
    import mindtorch_v2 as t  # PyTorch keeps it: what a tensor has of its storage is no reference of Python's

    notes: list[str] = []
    tensor = t.ones(2)
    storage = tensor.untyped_storage()
    storage.tensor, storage.gone = tensor, Gone(notes, "gone")
    del tensor, storage
    gc.collect()
    assert notes == ["gone"]


def test_storages_cost_the_collector_nothing_until_they_have_attributes() -> None:
    import mindtorch_v2 as t

    made = t.ones(3).untyped_storage()
    assert not gc.is_tracked(made)
    made.name = "mine"
    assert gc.is_tracked(made)
