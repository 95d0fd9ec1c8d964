"""What a shared library is built for and exports, read from the ELF file itself: no tool is needed to tell."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_MACHINES = {3: "i386", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64"}
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_DYNAMIC_SYMBOLS = 11
_WITHOUT_CONTENTS = (0, 8)  # types of sections: unused, and memory that is zero at start


def wrong_architecture(path: Path) -> str | None:
    """Why this process cannot load the file: its architecture, or that it is no shared library; None where it can."""
    head = path.read_bytes()[:20]
    if head[:4] != b"\x7fELF" or len(head) < 20:
        return "it is not a shared library (no ELF header)"
    machine = _MACHINES.get(int.from_bytes(head[18:20], "little"), "another architecture")
    here = os.uname().machine.lower().replace("amd64", "x86_64").replace("arm64", "aarch64")
    return None if machine == here else f"it is built for {machine}, this process runs on {here}"


def cut_short(path: Path) -> str | None:
    """That the file ends before what its headers claim, in words; None where it has all of it.

    The loader maps what is claimed, and a process that reads a page behind the file's end is killed (SIGBUS).
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        claimed = _claimed_size(file, size)
    if claimed <= size:
        return None
    return f"it is incomplete: its headers speak of {claimed} bytes, the file has {size}; build it or copy it again"


def _claimed_size(file: BinaryIO, size: int) -> int:
    """Where the last table, segment or section of a little-endian 64-bit file ends; 0 for another file."""
    head = file.read(_HEADER.size)
    if head[:6] != b"\x7fELF\x02\x01":
        return 0
    if len(head) < _HEADER.size:
        return _HEADER.size
    segments, sections, segment_count, section_count = (_HEADER.unpack(head)[i] for i in (5, 6, 10, 12))
    tables = [(segments, _SEGMENT, segment_count), (sections, _SECTION, section_count)]
    end = max(_HEADER.size, *(table + entry.size * count if table else 0 for table, entry, count in tables))
    if end > size:
        return end  # what the tables say is not there
    by_segment = (entry[2] + entry[5] for entry in _entries(file, *tables[0]))
    by_section = (entry[4] + entry[5] for entry in _entries(file, *tables[1]) if entry[1] not in _WITHOUT_CONTENTS)
    return max(end, *by_segment, *by_section)


def _entries(file: BinaryIO, table: int, entry: struct.Struct, count: int) -> Iterator[tuple[int, ...]]:
    file.seek(table)
    return entry.iter_unpack(file.read(entry.size * count if table else 0))


def exported_symbols(path: Path) -> list[str]:
    """Names of the symbols that a little-endian 64-bit library defines for others, sorted; empty where it has none."""
    data = path.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01" or cut_short(path) is not None:
        return []
    table = struct.unpack_from("<Q", data, 0x28)[0]
    entry_size, count = struct.unpack_from("<HH", data, 0x3A)
    sections = [_SECTION.unpack_from(data, table + i * entry_size) for i in range(count)]
    names = set()
    for section in sections:
        if section[1] == _DYNAMIC_SYMBOLS:
            strings = sections[section[6]][4]
            for offset in range(section[4], section[4] + section[5], _SYMBOL.size):
                name, info, _, defined_in, _, _ = _SYMBOL.unpack_from(data, offset)
                if name and defined_in and info >> 4:  # neither imported nor local
                    names.add(data[strings + name : data.index(b"\0", strings + name)].decode())
    return sorted(names)
