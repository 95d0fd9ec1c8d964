"""What storages hold: read, written, converted, copied and shared, beside PyTorch."""

from __future__ import annotations

import copy
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mindtorch_v2
from tests.runtime.both import agree


def whole(made: Any) -> tuple[Any, ...]:
    return made.tolist(), made.size(), made.nbytes(), made.type(), str(made.device)


READ: dict[str, Callable[[Any], Any]] = {
    "bytes": lambda t: t.UntypedStorage([1, 2, 300]),
    "a clone": lambda t: t.FloatStorage([1, 2]).clone(),
    "a clone of bytes": lambda t: t.UntypedStorage([1, 2]).clone(),
    "a copy": lambda t: copy.deepcopy(t.FloatStorage([1, 2])),
    "integers as floats": lambda t: t.IntStorage([-1, 2]).double(),
    "floats as bytes": lambda t: t.FloatStorage([1, 2]).byte(),
    "bytes as complex numbers": lambda t: t.UntypedStorage([1, 2]).complex_float(),
    "numbers as truth": lambda t: t.IntStorage([0, 3]).bool(),
    "bytes of another storage": lambda t: t.FloatStorage(2).copy_(t.FloatStorage([3, 4])),
    "filled bytes": lambda t: t.UntypedStorage(3).fill_(259),
    "on the CPU": lambda t: t.FloatStorage([3, 4]).cpu(),
    "a new one": lambda t: t.UntypedStorage([3, 4]).new(),
    "a buffer": lambda t: t.ShortStorage.from_buffer(bytearray([1, 2, 3, 4]), "big"),
    "a part of a buffer": lambda t: t.ByteStorage.from_buffer(b"12345", "native", 2, 1),
    "a buffer of truth": lambda t: t.BoolStorage.from_buffer(b"\0x", "big"),
    "of a dtype": lambda t: t.TypedStorage([1, 2], dtype=t.int16),
}


@pytest.mark.parametrize("name", READ)
def test_what_storages_hold(name: str) -> None:
    agree(lambda t: whole(READ[name](t)))


def written(t: Any) -> Any:
    made = t.UntypedStorage([1, 2, 3, 4])
    made[0] = 7
    made[3] = 258
    made[1:3] = 9
    return made.tolist()


def swapped(t: Any) -> Any:
    found = []
    for name in ("float64", "complex64", "int16", "uint8"):
        made = t.UntypedStorage(list(range(16)))
        made.byteswap(getattr(t, name))
        found.append(made.tolist())
    return found


def kinds(t: Any) -> Any:
    made = t.ones(2).storage()
    return (
        isinstance(made, t.FloatStorage),
        isinstance(made, t.IntStorage),
        type(t.FloatStorage(1)) is t.storage.TypedStorage,
        issubclass(t.FloatStorage, t.storage.TypedStorage),
        t.ones(2).storage_type() is t.FloatStorage,
        t.storage._dtype_to_storage_type_map()[t.bfloat16],
        made.pickle_storage_type(),
    )


def copied_together(t: Any) -> Any:
    given = t.UntypedStorage([1, 2, 3, 4])
    first, second = copy.deepcopy([given, t.FloatStorage(wrap_storage=given)])
    return first.data_ptr() == second.data_ptr(), first.data_ptr() != given.data_ptr()


def of_meta(t: Any) -> Any:
    return t.UntypedStorage(3, device="meta").clone().size(), t.TypedStorage([1], dtype=t.int16, device="meta").size()


@pytest.mark.parametrize("case", [written, swapped, kinds, copied_together, of_meta], ids=lambda one: one.__name__)
def test_storages_beside_pytorch(case: Callable[[Any], Any]) -> None:
    agree(case)


REFUSED: dict[str, tuple[Callable[[Any], Any], type[Exception]]] = {
    "a list for a byte": (lambda t: t.UntypedStorage(3).__setitem__(0, [1]), RuntimeError),
    "a fraction for bytes": (lambda t: t.UntypedStorage(3).fill_(2.5), RuntimeError),
    "a byte from the end": (lambda t: t.UntypedStorage(3).__setitem__(-1, 1), RuntimeError),
    "steps": (lambda t: t.UntypedStorage(3).__setitem__(slice(0, 3, 2), 1), RuntimeError),
    "another size": (lambda t: t.UntypedStorage(3).copy_(t.UntypedStorage(2)), RuntimeError),
    "no storage": (lambda t: t.UntypedStorage(3).copy_(3), TypeError),
    "no dtype": (lambda t: t.UntypedStorage(3).byteswap(3), RuntimeError),
    "parts of elements": (lambda t: t.IntStorage.from_buffer(b"123", "big"), ValueError),
    "text": (lambda t: t.FloatStorage("ab"), TypeError),
    "a tensor": (lambda t: t.FloatStorage(t.ones(2)), TypeError),
    "two sizes": (lambda t: t.FloatStorage(2, 3), RuntimeError),
    "a device of a class": (lambda t: t.FloatStorage(device="cpu"), RuntimeError),
    "a dtype of a class": (lambda t: t.FloatStorage(dtype=t.int32), RuntimeError),
    "the class of classes": (lambda t: t.storage._LegacyStorage(), RuntimeError),
    "a size of given bytes": (lambda t: t.FloatStorage(1, wrap_storage=t.UntypedStorage(4)), RuntimeError),
    "elements as bytes": (lambda t: t.FloatStorage(wrap_storage=t.FloatStorage(1)), TypeError),
    "a storage as value": (lambda t: t.FloatStorage(1).fill_(t.FloatStorage(1)), RuntimeError),
    "an item on meta": (lambda t: t.UntypedStorage(3, device="meta")[0], NotImplementedError),
    "meta's on the CPU": (lambda t: t.UntypedStorage(3, device="meta").cpu(), NotImplementedError),
    "meta's shared": (lambda t: t.UntypedStorage(3, device="meta").share_memory_(), RuntimeError),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_storages_refuse(name: str) -> None:
    call, error = REFUSED[name]
    for t in (pytest.importorskip("torch"), mindtorch_v2):
        with pytest.raises(error):
            call(t)


def test_memory_moves_with_all_that_shows_it() -> None:
    x = mindtorch_v2.arange(6)
    part, data, storage = x[2:], x.data, x.untyped_storage()
    assert storage.share_memory_() is storage
    assert storage.is_shared()
    assert x.is_shared()
    x.fill_(3)
    assert part.tolist() == [3] * 4
    assert data.tolist() == [3] * 6
    descriptor, nbytes = storage._share_fd_cpu_()
    assert nbytes == storage.nbytes() == os.fstat(descriptor).st_size
    part.fill_(5)
    assert os.pread(descriptor, 8, 16) == (5).to_bytes(8, "little")
    os.close(descriptor)
    assert Path(os.fsdecode(storage._share_filename_cpu_()[1])).read_bytes()[:8] == (3).to_bytes(8, "little")


def test_memory_that_others_see_does_not_move() -> None:
    x = mindtorch_v2.arange(6)
    array = x.numpy()
    with pytest.raises(RuntimeError, match="cannot be moved"):
        x.untyped_storage().share_memory_()
    assert array.tolist() == x.tolist()


def test_a_storage_is_written_to_a_file() -> None:
    file = io.BytesIO()
    mindtorch_v2.ShortStorage([1, 2])._write_file(file, False, True, 2)
    assert file.getvalue() == (2).to_bytes(8, "little") + b"\1\0\2\0"
