"""``torch.save`` and ``torch.load``: checkpoints in PyTorch's form, both ways.

Tensors that share a storage share it again once they are loaded. Nothing but weights is made of a file, unless
``weights_only=False`` says that it is trusted.
"""

from __future__ import annotations

import io
import os
import pickle
import pickletools
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from .. import _core
from .._core import UntypedStorage
from .._frames import user_stacklevel
from .._storages import TypedStorage, copy_to_host, storage_from_file
from ._archive import ArchiveReader, ArchiveWriter, is_archive
from ._legacy import checked_count, kind_of, load_legacy, location_of, save_legacy
from ._locations import Restore, restore_function
from ._names import DEFAULT_GLOBALS, resolve
from ._options import (
    LoadEndianness,
    add_safe_globals,
    clear_safe_globals,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    get_safe_globals,
    safe_globals,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
    users_globals,
)
from ._pickler import Storages, pickler_class
from ._restricted import load_weights

__all__ = [
    "LoadEndianness",
    "add_safe_globals",
    "clear_safe_globals",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
]

DEFAULT_PROTOCOL = 2
_U8 = _core.dtypes["uint8"]
_is_zipfile = is_archive  # PyTorch's name


# ---------------------------------------------------------------- writing
def save(
    obj: Any,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Writes an object, with its tensors' storages, to a path or a file-like object, so that PyTorch reads it, too.

    A file at a path is there as a whole or not at all: it is written beside its place and moved there. With
    ``_use_new_zipfile_serialization=False`` the form is that of PyTorch before 1.6. Raises AttributeError for what is
    neither a path nor has ``write``, RuntimeError where the folder does not exist.
    """
    base = getattr(pickle_module, "_Pickler", None) or pickle_module.Pickler
    with _writable(f) as (target, name):
        if not _use_new_zipfile_serialization:
            save_legacy(obj, target, base, pickle_protocol)
            return
        storages, text = Storages(), io.BytesIO()
        pickler_class(base)(text, pickle_protocol, storages.name).dump(obj)
        archive = ArchiveWriter(target, name)
        archive.write("data.pkl", text.getvalue())
        archive.write(".format_version", b"1")
        archive.write(".storage_alignment", b"64")
        if not _disable_byteorder_record:
            archive.write("byteorder", sys.byteorder.encode())
        for i, storage in enumerate(storages.all):
            archive.write(f"data/{i}", copy_to_host(storage))
        archive.finish()


def _is_path(f: Any) -> bool:
    return isinstance(f, (str, os.PathLike))


@contextmanager
def _writable(f: Any) -> Iterator[tuple[IO[bytes], str]]:
    """A file to write to, and the name of the folder in the archive."""
    if not _is_path(f):
        if not hasattr(f, "write"):
            raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
        yield f, "archive"
        if hasattr(f, "flush"):
            f.flush()
        return
    path = Path(os.path.realpath(f))
    name = Path(f).stem or "archive"
    if not path.parent.is_dir():
        raise RuntimeError(f"Parent directory {Path(f).parent} does not exist.")
    if path.exists() and not path.is_file():  # a device, a pipe: it is written to as it is; a folder raises
        with path.open("wb") as target:
            yield target, name
        return
    handle, beside = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as target:
            yield target, name
        Path(beside).chmod(_mode_of(path))
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def _mode_of(path: Path) -> int:
    """The permissions of the file that is replaced, or those of a new one."""
    try:
        return path.stat().st_mode & 0o7777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


# ---------------------------------------------------------------- reading
def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Reads what `save`, or PyTorch, wrote to a path or a file-like object.

    Tensors go to where they were saved from, or to ``map_location``: a device, a dict of devices' names, or a function
    ``(storage, location) -> storage or None``. With ``weights_only``, the default, a file makes tensors and plain
    containers alone; what else it calls must have been allowed by `add_safe_globals`. With ``mmap`` the storages of a
    file at a path are read as they are used. Raises pickle.UnpicklingError for a file that calls what is not allowed,
    RuntimeError or EOFError for one that is damaged.

    The environment may say so, too: TORCH_FORCE_WEIGHTS_ONLY_LOAD=1 for all calls, TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1
    for those without ``weights_only``.
    """
    weights_only = _weights_only(weights_only, pickle_module is None)
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if mmap and not _is_path(f):
        raise ValueError("f must be a file path in order to use the mmap argument")
    encoding = pickle_load_args.get("encoding", "utf-8")
    read = _weights(encoding) if weights_only else _anything(pickle_module or pickle, pickle_load_args)
    restore = restore_function(map_location)
    if not _is_path(f):
        _check_readable(f)
        return _load(f, None, read, restore, weights_only)
    with Path(f).open("rb") as opened:
        return _load(opened, os.fspath(f) if mmap else None, read, restore, weights_only)


def _weights_only(given: bool | None, usually: bool) -> bool:
    never, always = (
        os.environ.get(name, "0") in ("1", "y", "yes", "true")
        for name in ("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_WEIGHTS_ONLY_LOAD")
    )
    if never and always:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, but both "
            "were set."
        )
    if always:
        return True
    if given is None and never:
        warnings.warn(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the `weights_only` argument was not "
            "explicitly passed to `torch.load`, forcing weights_only=False.",
            stacklevel=user_stacklevel(),
        )
        return False
    return usually if given is None else given


def _check_readable(f: Any) -> None:
    for name in ("read", "seek", "tell"):
        if not hasattr(f, name):
            raise AttributeError(
                f"'{type(f).__name__}' object has no attribute '{name}'. You can only torch.load from a file that is "
                "seekable. Please pre-load the data into a buffer like io.BytesIO and try to load from it instead."
            )


Read = Callable[[bytes, int, Callable[[Any], Any]], tuple[Any, int]]  # (data, where it starts, storage_of)


def _load(f: IO[bytes], path: str | None, read: Read, restore: Restore, weights_only: bool) -> Any:
    if is_archive(f):
        return _load_archive(ArchiveReader(f), path, read, restore, weights_only)
    if path is not None:
        raise RuntimeError(
            "mmap can only be used with files saved with `torch.save(_use_new_zipfile_serialization=True)`, please "
            "torch.save your checkpoint with this option in order to use mmap."
        )
    start = f.tell()
    data = f.read()
    if not data:
        raise EOFError("Ran out of input: the file is empty")
    result, end = load_legacy(data, read, restore)
    f.seek(start + end)  # a file may go on
    return result


def _load_archive(archive: ArchiveReader, path: str | None, read: Read, restore: Restore, weights_only: bool) -> Any:
    if archive.has("constants.pkl"):
        raise RuntimeError(
            "Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. "
            if weights_only
            else "this file is a TorchScript archive, which `torch.load` does not run"
        )
    swapped = _is_swapped(archive)
    whole = None if path is None else storage_from_file(path, shared=get_default_mmap_options() == 1)
    if whole is not None and swapped:
        raise RuntimeError("a checkpoint of the other order of bytes cannot be mapped: load it without mmap")
    made: dict[str, UntypedStorage] = {}
    typed: dict[tuple[str, _core.dtype], TypedStorage] = {}  # the same object for the same one

    def storage_of(name: Any) -> TypedStorage:
        if len(name) != 5 or type(name[2]) is not str:
            raise pickle.UnpicklingError(f"a checkpoint names a storage by {name!r}")
        _, kind, key, location, count = name
        dtype = kind_of(kind)
        if key not in made:
            made[key] = restore(_record(archive, key, dtype, count, whole, swapped), location_of(location))
        return typed.setdefault((key, dtype), TypedStorage._wrapped(made[key], dtype))

    result, _ = read(archive.read("data.pkl"), 0, storage_of)
    return result


def _record(
    archive: ArchiveReader, key: str, dtype: _core.dtype, count: Any, whole: UntypedStorage | None, swapped: bool
) -> UntypedStorage:
    """A storage of a record's bytes: of the mapped file, or read from it."""
    start, size = archive.place(f"data/{key}")
    if checked_count(count, dtype.itemsize, size) > size:
        raise RuntimeError(f"the record data/{key} has {size} bytes: expected {count} of {dtype}")
    if whole is not None:
        if start + size > whole.nbytes():
            raise RuntimeError(f"PytorchStreamReader failed reading file data/{key}: it ends beyond the file")
        if size and start % dtype.itemsize == 0:
            part = _core.from_buffer(whole, whole.data_ptr() + start, (size,), (1,), _U8)
            return part.untyped_storage()
    storage = UntypedStorage(size)
    if size:
        memory = copy_to_host(storage)
        archive.read_into(f"data/{key}", memory)
        if swapped:
            memory[:] = _in_our_order(bytes(memory), dtype)
    return storage


def _is_swapped(archive: ArchiveReader) -> bool:
    """Whether a checkpoint's numbers are in the other order of bytes than this machine's."""
    if archive.has("byteorder"):
        order = archive.read("byteorder").decode("ascii", "replace").strip()
        if order not in ("little", "big"):
            raise ValueError(f"Unknown endianness type: {order}")
    else:
        default = get_default_load_endianness()
        order = sys.byteorder if default in (None, LoadEndianness.NATIVE) else default.name.lower()
    return order != sys.byteorder


def _in_our_order(raw: bytes, dtype: _core.dtype) -> bytes:
    size = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    result = bytearray(len(raw))
    for i in range(size):
        result[i::size] = raw[size - 1 - i :: size]
    return bytes(result)


def _weights(encoding: str) -> Read:
    def read(data: bytes, at: int, storage_of: Callable[[Any], Any]) -> tuple[Any, int]:
        try:
            return load_weights(data, DEFAULT_GLOBALS, users_globals(), storage_of, encoding, at)
        except pickle.UnpicklingError as error:
            raise pickle.UnpicklingError(
                "Weights only load failed. In PyTorch's form a file may call functions as it is read; what it asks for "
                "is not allowed, or the file is damaged. Re-running `torch.load` with `weights_only` set to `False` "
                "will likely succeed, but it can result in arbitrary code execution. Do it only if you got the file "
                f"from a trusted source.\n\n{error}"
            ) from None
        except (TypeError, ValueError, AttributeError, KeyError, IndexError, OverflowError) as error:
            raise pickle.UnpicklingError(f"Weights only load failed: the file is damaged ({error})") from error

    return read


def _anything(module: Any, options: dict[str, Any]) -> Read:
    """Reads by a pickle module, whose files may call anything."""

    class CheckpointUnpickler(module.Unpickler):  # type: ignore[misc]
        storage_of: Callable[[Any], Any]

        def find_class(self, module: str, name: str) -> Any:
            return resolve(module, name)

        def persistent_load(self, name: Any) -> Any:
            if not isinstance(name, tuple) or not name or name[0] not in ("storage", b"storage"):
                raise RuntimeError(f"Unknown typename for persistent_load, expected 'storage' but got {name!r}")
            return self.storage_of(name)

    def read(data: bytes, at: int, storage_of: Callable[[Any], Any]) -> tuple[Any, int]:
        source = io.BytesIO(data)
        source.seek(at)
        reader = CheckpointUnpickler(source, **options)
        reader.storage_of = storage_of
        result = reader.load()
        return result, source.tell()

    return read


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """What a checkpoint names that ``weights_only`` would not let it call."""
    allowed = DEFAULT_GLOBALS.keys() | users_globals().keys()
    if _is_path(f):
        with Path(f).open("rb") as opened:
            named = _named(opened)
    else:
        named = _named(f)
    return sorted(named - allowed)


def _named(f: IO[bytes]) -> set[str]:
    if not is_archive(f):
        raise ValueError("Expected input to be a checkpoint returned by torch.save")
    found: set[str] = set()
    words: list[str] = []
    for code, argument, _ in pickletools.genops(ArchiveReader(f).read("data.pkl")):
        if code.name == "GLOBAL":
            found.add(str(argument).replace(" ", "."))
        elif code.name == "STACK_GLOBAL":
            found.add(".".join(words[-2:]))
        elif isinstance(argument, str):
            words.append(argument)
    return found
