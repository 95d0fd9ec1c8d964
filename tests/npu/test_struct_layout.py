"""``tiling``: random structs, declared in YAML, packed at run time, and read by a compiled C program's own struct."""

from __future__ import annotations

import ctypes
import math
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mindtorch_v2.npu import Struct
from tests.codegen.support import load
from tests.runtime.both import fresh_namespace

COMPILER = shutil.which("cc") or shutil.which("gcc")
# C type -> how C writes it, Python's struct code of a value, and values it can have
FIELDS: dict[str, tuple[str, str, Any]] = {
    "f16": ("_Float16", "e", st.floats(width=16, allow_nan=False)),
    "bf16": ("unsigned short", "H", st.sampled_from([0.0, 1.0, -2.5, 3.0e38, math.inf])),
    "f32": ("float", "f", st.floats(width=32, allow_nan=False)),
    "f64": ("double", "d", st.floats(allow_nan=False)),
    "bool": ("_Bool", "?", st.booleans()),
    **{
        name: (f"{'u' * (name[0] == 'u')}int{bits}_t", code, st.integers(low, high))
        for sign, codes in (("i", "bhiq"), ("u", "BHIQ"))
        for bits, code in zip((8, 16, 32, 64), codes, strict=True)
        for name in [f"{sign}{bits}"]
        for low, high in [(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if sign == "i" else (0, 2**bits - 1)]
    },
}
STRUCTS = st.lists(st.lists(st.sampled_from(sorted(FIELDS)), min_size=1, max_size=9), min_size=1, max_size=12)


def c_program(structs: list[list[str]]) -> str:
    """Functions that give each struct's size, alignment and offsets, and copy a field's bytes out of one."""
    lines = ["#include <stddef.h>", "#include <stdint.h>", "#include <string.h>"]
    for i, fields in enumerate(structs):
        members = " ".join(f"{FIELDS[name][0]} f{k};" for k, name in enumerate(fields))
        offsets = ", ".join(f"offsetof(struct s{i}, f{k})" for k in range(len(fields)))
        copies = " ".join(
            f"case {k}: memcpy(to, &s->f{k}, sizeof s->f{k}); return sizeof s->f{k};" for k in range(len(fields))
        )
        lines += [
            f"struct s{i} {{ {members} }};",
            f"size_t layout{i}[] = {{ sizeof(struct s{i}), _Alignof(struct s{i}), {offsets} }};",
            f"size_t read{i}(const struct s{i}* s, int field, void* to) {{ switch (field) {{ {copies} }} return 0; }}",
        ]
    return "\n".join(lines) + "\n"


def yaml_file(structs: list[list[str]]) -> str:
    """An operator for each struct, whose kernel takes it as its tiling."""
    head = f"namespace: {fresh_namespace()}\nlibrary: libk.so\nops:\n"
    entry = (
        "- func: op{i}(Tensor x) -> Tensor\n  fake: {{like: x}}\n"
        "  kernels: [{{device: cpu, symbol: k{i}, args: [x, out, tiling], tiling: {{{fields}}}}}]\n"
        "  backward: not_differentiable\n"
    )
    fields = [", ".join(f"f{k}: {name}({_constant(name)})" for k, name in enumerate(names)) for names in structs]
    return head + "".join(entry.format(i=i, fields=text) for i, text in enumerate(fields))


def _constant(ctype: str) -> str:
    return "True" if ctype == "bool" else "1.0" if "f" in ctype else "1"


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(structs=STRUCTS, data=st.data())
def test_c_reads_what_is_packed(
    tmp_path_factory: pytest.TempPathFactory, structs: list[list[str]], data: st.DataObject
) -> None:
    folder: Path = tmp_path_factory.mktemp("layout")
    (folder / "structs.c").write_text(c_program(structs))
    command = [COMPILER, "-shared", "-fPIC", "-O0", "-Wall", "-Werror", "-o", "structs.so", "structs.c"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    library = ctypes.CDLL(str(folder / "structs.so"))
    module = load(folder, yaml_file(structs))
    ours = [value for value in vars(module).values() if isinstance(value, Struct)]
    assert [[ctype.name for _, ctype in item.fields] for item in ours] == [
        ["bool_" if name == "bool" else name for name in names] for names in structs
    ]
    for i, (names, packer) in enumerate(zip(structs, ours, strict=True)):
        layout = (ctypes.c_size_t * (2 + len(names))).in_dll(library, f"layout{i}")
        assert [packer.size, packer.alignment, *packer.offsets] == list(layout)
        values = [data.draw(FIELDS[name][2]) for name in names]
        packed = ctypes.create_string_buffer(packer(*values), packer.size)
        for k, (name, value) in enumerate(zip(names, values, strict=True)):
            read = ctypes.create_string_buffer(8)
            size = getattr(library, f"read{i}")(packed, k, read)
            assert read.raw[:size] == _bytes(name, value)


def _bytes(ctype: str, value: Any) -> bytes:
    """The bytes of a value in C; a bfloat16 is the upper half of a float that has no more."""
    if ctype == "bf16":
        single = struct.pack("<f", value)
        rounded = int.from_bytes(single, "little") + 0x7FFF + (single[2] & 1)
        return (rounded >> 16).to_bytes(2, "little")
    return struct.pack(f"<{FIELDS[ctype][1]}", value)
