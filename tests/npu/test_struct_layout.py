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

import mindtorch_v2 as torch
from mindtorch_v2 import npu
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
    """Each struct's size, alignment and offsets, and kernels that copy its fields' bytes, 8 a field."""
    lines = ["#include <stddef.h>", "#include <stdint.h>", "#include <string.h>"]
    for i, fields in enumerate(structs):
        members = " ".join(f"{FIELDS[name][0]} f{k};" for k, name in enumerate(fields))
        offsets = ", ".join(f"offsetof(struct s{i}, f{k})" for k in range(len(fields)))
        copies = " ".join(f"memcpy(out + {8 * k}, &s->f{k}, sizeof s->f{k});" for k in range(len(fields)))
        lines += [
            f"struct s{i} {{ {members} }};",
            f"size_t layout{i}[] = {{ sizeof(struct s{i}), _Alignof(struct s{i}), {offsets} }};",
            f"int k{i}(const struct s{i}* s, uint8_t* out) {{ {copies} return 0; }}",
        ]
    return "\n".join(lines) + "\n"


def yaml_file(structs: list[list[str]], values: list[list[Any]], written: list[bool]) -> str:
    """Operators whose kernels take structs as tiling: of values ``written`` in the file, or of arguments."""
    text = f"namespace: {fresh_namespace()}\nlibrary: libk.so\nops:\n"
    for i, (names, held) in enumerate(zip(structs, values, strict=True)):
        pairs = list(enumerate(zip(names, held, strict=True)))
        arguments = "".join(f", {_argument_type(name)} a{k}" for k, (name, _) in pairs if not written[i])
        fields = ", ".join(f"f{k}: {name}({_constant(v) if written[i] else f'a{k}'})" for k, (name, v) in pairs)
        text += (
            f"- func: op{i}(Tensor x{arguments}) -> Tensor\n  fake: {{shape: [{len(names)}, 8], dtype: uint8}}\n"
            f"  kernels: [{{device: cpu, symbol: k{i}, args: [tiling, out], tiling: {{{fields}}}}}]\n"
            "  backward: not_differentiable\n"
        )
    return text


def _argument_type(ctype: str) -> str:
    return "bool" if ctype == "bool" else "float" if "f" in ctype else "int"


def _constant(value: Any) -> str:
    return "inf" if value == math.inf else "-inf" if value == -math.inf else repr(value)


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(structs=STRUCTS, data=st.data())
def test_c_reads_what_is_packed(
    tmp_path_factory: pytest.TempPathFactory, structs: list[list[str]], data: st.DataObject
) -> None:
    folder: Path = tmp_path_factory.mktemp("layout")
    (folder / "structs.c").write_text(c_program(structs))
    command = [COMPILER, "-shared", "-fPIC", "-O0", "-Wall", "-Werror", "-o", "libk.so", "structs.c"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    library = ctypes.CDLL(str(folder / "libk.so"))
    values = [[data.draw(FIELDS[name][2]) for name in names] for names in structs]
    # Schemas have signed integers: what no int64 holds can only be written.
    written = [data.draw(st.booleans()) or any(v >= 2**63 for v in held if v != math.inf) for held in values]
    module = load(folder, yaml_file(structs, values, written))
    for i, (names, held) in enumerate(zip(structs, values, strict=True)):
        packer = Struct(tuple((f"f{k}", npu_type(name)) for k, name in enumerate(names)))
        layout = (ctypes.c_size_t * (2 + len(names))).in_dll(library, f"layout{i}")
        assert [packer.size, packer.alignment, *packer.offsets] == list(layout)
        rows = getattr(module, f"op{i}")(torch.ones(1), *([] if written[i] else held)).tolist()
        expected = [_bytes(name, value) for name, value in zip(names, held, strict=True)]
        assert [bytes(row[: len(item)]) for row, item in zip(rows, expected, strict=True)] == expected


def npu_type(name: str) -> Any:
    return getattr(npu, "bool_" if name == "bool" else name)


def _bytes(ctype: str, value: Any) -> bytes:
    """The bytes of a value in C; a bfloat16 is the upper half of a float that has no more."""
    if ctype == "bf16":
        single = struct.pack("<f", value)
        rounded = int.from_bytes(single, "little") + 0x7FFF + (single[2] & 1)
        return (rounded >> 16).to_bytes(2, "little")
    return struct.pack(f"<{FIELDS[ctype][1]}", value)
