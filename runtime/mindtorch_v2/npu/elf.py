"""What a shared library is built for and exports, read from the ELF file itself: no tool is needed to tell."""

from __future__ import annotations

import platform
import struct
from pathlib import Path

_MACHINES = {3: "i386", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64"}
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_DYNAMIC_SYMBOLS = 11


def wrong_architecture(path: Path) -> str | None:
    """Why this process cannot load the file: its architecture, or that it is no shared library; None where it can."""
    head = path.read_bytes()[:20]
    if head[:4] != b"\x7fELF" or len(head) < 20:
        return "it is not a shared library (no ELF header)"
    machine = _MACHINES.get(int.from_bytes(head[18:20], "little"), "another architecture")
    here = platform.machine().lower().replace("amd64", "x86_64").replace("arm64", "aarch64")
    return None if machine == here else f"it is built for {machine}, this process runs on {here}"


def exported_symbols(path: Path) -> list[str]:
    """Names of the symbols that a little-endian 64-bit library defines for others, sorted; empty where it has none."""
    data = path.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
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
