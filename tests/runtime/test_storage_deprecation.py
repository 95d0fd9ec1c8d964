"""The warning of storages with a dtype: where, how often, not from inside; classes of CUDA and quantized numbers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2
from tests.runtime.both import agree


def count(t: Any, run: Callable[[Any], Any], always: bool) -> int:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        t.storage._set_always_warn_typed_storage_removal(always)
        try:
            run(t)
        finally:
            t.storage._set_always_warn_typed_storage_removal(False)
    return len([one for one in caught if str(one.message).startswith("TypedStorage is deprecated")])


def made(t: Any) -> Any:
    return t.ones(2)._typed_storage()


WARNING: dict[str, Callable[[Any], Any]] = {
    "a class": lambda t: t.FloatStorage(),
    "the dtype of a class": lambda t: t.FloatStorage.dtype,
    "the class": lambda t: t.TypedStorage(dtype=t.float32),
    "of a tensor": lambda t: t.ones(2).storage(),
    "filled": lambda t: made(t).fill_(0),
    "a question": lambda t: made(t).is_cuda,
    "its device": lambda t: made(t).device,
    "bytes": lambda t: made(t).untyped(),
    "a length": lambda t: len(made(t)),
    "an item": lambda t: made(t)[0],
    "an item set": lambda t: made(t).__setitem__(0, 1),
    "a clone": lambda t: made(t).clone(),
    "an address": lambda t: made(t).data_ptr(),
    "a buffer": lambda t: t.FloatStorage.from_buffer(b"1234", "native"),
    "the dtype of a class of CUDA": lambda t: t.cuda.FloatStorage.dtype,
}
QUIET: dict[str, Callable[[Any], Any]] = {
    "a class": lambda t: t.FloatStorage(_internal=True),
    "the dtype of a class": lambda t: t.FloatStorage._dtype,
    "of a tensor": lambda t: t.ones(2)._typed_storage(),
    "sizes": lambda t: (made(t)._size(), made(t)._nbytes(), made(t)._element_size()),
    "another size": lambda t: made(t)._resize_(20),
    "bytes": lambda t: made(t)._untyped_storage,
    "its dtype": lambda t: (made(t).dtype, made(t)._dtype),
    "an item": lambda t: (made(t)._getitem(0), made(t)._setitem(slice(0, 2), 1)),
    "a copy": lambda t: made(t)._deepcopy({}),
    "others see it": lambda t: (made(t)._is_shared(), made(t)._share_memory_()),
    "a name": lambda t: made(t)._pickle_storage_type(),
    "an address": lambda t: made(t)._data_ptr(),
    "set to it": lambda t: t.empty(0).set_(made(t)),
}


@pytest.mark.parametrize("name", WARNING)
def test_what_warns(name: str) -> None:
    agree(lambda t: count(t, WARNING[name], always=True) > 0)


@pytest.mark.parametrize("name", QUIET)
def test_what_does_not(name: str) -> None:
    agree(lambda t: count(t, QUIET[name], always=True))


def test_only_the_first_use_warns_and_names_its_line() -> None:
    def lines(t: Any) -> Any:
        t.storage._reset_warn_typed_storage_removal()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            t.FloatStorage()
            t.ones(2).storage()
        return len(caught), caught[0].filename == __file__, caught[0].category.__name__

    agree(lines)


def test_tensors_over_storages_and_checkpoints_do_not_warn(tmp_path: Any) -> None:
    t = mindtorch_v2
    storage = made(t)

    def run(t: Any) -> None:
        t.tensor(storage)
        t.FloatTensor(storage)
        t.save([storage, t.ones(2)], tmp_path / "kept")
        t.load(tmp_path / "kept", weights_only=False)

    assert count(t, run, always=True) <= 2  # those of the storage that is loaded


def quantized(t: Any) -> Any:
    found = []
    for name in ("QInt8Storage", "QUInt8Storage", "QInt32Storage", "QUInt4x2Storage", "QUInt2x4Storage"):
        kind = getattr(t, name)
        one = kind([1, 2])
        found.append((str(one.dtype), one.dtype.itemsize, one.tolist(), len(one), one.type(), isinstance(one, kind)))
        found.append((isinstance(one, t.ByteStorage), kind in t._storage_classes, kind.__module__, kind.__name__))
    return found, t.QInt8Storage([-1]).untyped().tolist(), t.qint8.is_floating_point, t.qint8.is_complex


def of_cuda(t: Any) -> Any:
    kind = t.cuda.FloatStorage
    found = []
    for run in (kind, kind.from_buffer, kind._new_with_weak_ptr, lambda: kind._new_shared_filename(0, 0, 0)):
        with pytest.raises((RuntimeError, AssertionError)) as error:
            run()
        found.append((type(error.value).__name__, str(error.value).partition(":")[0]))
    return found, isinstance(t.FloatStorage(1), kind), kind in t._storage_classes, kind.__module__


@pytest.mark.parametrize("case", [quantized, of_cuda], ids=lambda one: one.__name__)
def test_other_classes(case: Callable[[Any], Any]) -> None:
    agree(case)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "a tensor of a quantized dtype": lambda t: t.tensor([1], dtype=t.qint8),
    "a conversion": lambda t: t.ones(2).to(t.qint8),
    "promoted": lambda t: t.promote_types(t.qint8, t.float32),
    "a device that nobody knows": lambda t: t.TypedStorage(2, dtype=t.float32, device="xla"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError):
            REFUSED[name](mindtorch_v2)
    agree(REFUSED[name], "")
