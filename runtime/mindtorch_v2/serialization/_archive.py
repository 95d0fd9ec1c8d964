"""Checkpoints as archives: zip files whose records are stored as they are, each at a multiple of 64 bytes.

The form is PyTorch's: under one folder ``data.pkl``, ``data/0``, ``data/1``, ... the storages' bytes, and records that
say how they are to be read.
"""

from __future__ import annotations

import secrets
import struct
import zipfile
import zlib
from typing import IO, Any

__all__ = ["ArchiveReader", "ArchiveWriter", "is_archive"]

_ALIGNMENT = 64
_DATE = (1980, 1, 1, 0, 0, 0)
_LOCAL_HEADER = 30
_ZIP64_EXTRA = 20
_LARGE = 1 << 30  # from here on a record's sizes are written with 64 bits
_PADDING = 0x4246  # "FB": the extra field that PyTorch pads with


def is_archive(f: IO[bytes]) -> bool:
    """Whether a file is a zip file, by its first bytes; the position stays."""
    at = f.tell()
    first = f.read(4)
    f.seek(at)
    return first == b"PK\x03\x04"


class ArchiveWriter:
    """Writes records, one after the other, into a file."""

    def __init__(self, f: IO[bytes], folder: str) -> None:
        forward: Any = _Forward(f)
        self._zip = zipfile.ZipFile(forward, "w", zipfile.ZIP_STORED)
        self._folder = folder

    def write(self, name: str, data: Any) -> None:
        """A record, of anything with bytes."""
        view = memoryview(data).cast("B") if memoryview(data).nbytes else memoryview(b"")
        info = zipfile.ZipInfo(f"{self._folder}/{name}", _DATE)
        info.file_size = view.nbytes
        large = view.nbytes >= _LARGE
        start = self._zip.start_dir + _LOCAL_HEADER + len(info.filename.encode()) + (_ZIP64_EXTRA if large else 0)
        missing = -(start + 4) % _ALIGNMENT
        info.extra = struct.pack("<HH", _PADDING, missing) + b"Z" * missing
        with self._zip.open(info, "w", force_zip64=large) as record:
            record.write(view)
        self._zip.filelist[-1].extra = b""  # the padding is of the place, not of the record

    def finish(self) -> None:
        """Writes the records that close an archive, and its directory."""
        self.write("version", b"3\n")
        self.write(".data/serialization_id", str(secrets.randbelow(10**40)).zfill(40).encode())
        self._zip.close()


class _Forward:
    """A file that is written forward only, from where it stands: what it is given need not seek."""

    def __init__(self, f: IO[bytes]) -> None:
        self._f, self._at = f, 0

    def write(self, data: Any) -> int:
        self._f.write(data)
        self._at += len(data)
        return len(data)

    def tell(self) -> int:
        return self._at

    def flush(self) -> None:
        if hasattr(self._f, "flush"):
            self._f.flush()

    def seekable(self) -> bool:
        return False

    def seek(self, *_: Any) -> int:
        raise OSError("this file is written forward only")


class _Seekable:
    """A file that can be read at any place, and does not say so: `zipfile` asks."""

    def __init__(self, f: IO[bytes]) -> None:
        self.read, self.seek, self.tell = f.read, f.seek, f.tell

    def seekable(self) -> bool:
        return True


class ArchiveReader:
    """An archive's records. Raises RuntimeError for what is none, and for a record that is missing or damaged."""

    def __init__(self, f: IO[bytes]) -> None:
        self.f = f
        source: Any = f if hasattr(f, "seekable") else _Seekable(f)
        try:
            self._zip = zipfile.ZipFile(source)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise RuntimeError(
                f"PytorchStreamReader failed reading zip archive: failed finding central directory ({error}): the file "
                "is damaged, or not all of it is there"
            ) from None
        names = self._zip.namelist()
        self.folder = names[0].partition("/")[0] if names else ""
        self._infos = {info.filename: info for info in self._zip.infolist()}

    def has(self, name: str) -> bool:
        """Whether there is such a record."""
        return f"{self.folder}/{name}" in self._infos

    def read_into(self, name: str, target: memoryview) -> None:
        """A record's bytes into memory of its size, compared with its checksum; PyTorch may have written none, 0."""
        start, _ = self.place(name)
        self.f.seek(start)
        done = 0
        while done < len(target):
            count = _read_some(self.f, target[done:])
            if not count:
                raise RuntimeError(
                    f"PytorchStreamReader failed reading file {name}: file read failed: the file ends before it does"
                )
            done += count
        expected = self._info(name).CRC
        if expected and zlib.crc32(target) != expected:
            raise RuntimeError(
                f"PytorchStreamReader failed reading file {name}: file read failed (Bad CRC-32): the file is damaged"
            )

    def read(self, name: str) -> bytes:
        """A record's bytes, compared with its checksum."""
        info = self._info(name)
        if info.compress_type == zipfile.ZIP_STORED:
            found = bytearray(info.file_size)
            self.read_into(name, memoryview(found))
            return bytes(found)
        try:
            return self._zip.read(info)
        except (zipfile.BadZipFile, EOFError, OSError, RuntimeError, NotImplementedError, ValueError) as error:
            raise RuntimeError(
                f"PytorchStreamReader failed reading file {name}: file read failed ({error}): the file is damaged"
            ) from None

    def place(self, name: str) -> tuple[int, int]:
        """Where a record's bytes start in the file, and how many there are."""
        info = self._info(name)
        self.f.seek(info.header_offset)
        header = self.f.read(_LOCAL_HEADER)
        if len(header) < _LOCAL_HEADER or header[:4] != b"PK\x03\x04" or info.compress_type != zipfile.ZIP_STORED:
            raise RuntimeError(f"PytorchStreamReader failed reading file {name}: invalid header: the file is damaged")
        name_bytes, extra_bytes = struct.unpack("<HH", header[26:30])
        return info.header_offset + _LOCAL_HEADER + name_bytes + extra_bytes, info.file_size

    def _info(self, name: str) -> zipfile.ZipInfo:
        found = self._infos.get(f"{self.folder}/{name}")
        if found is None:
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found")
        return found


def _read_some(f: IO[bytes], target: memoryview) -> int:
    """Reads into memory, no more than it takes; how many bytes there were."""
    into: Any = getattr(f, "readinto", None)
    if into is not None:
        return int(into(target))
    data = f.read(len(target))
    target[: len(data)] = data
    return len(data)
