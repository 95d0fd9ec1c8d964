"""Arguments arrive where the C calling convention puts them: random signatures, compiled by the system's compiler."""

from __future__ import annotations

import ctypes
import random
import struct
import subprocess

import numpy as np
import pytest

from mindtorch_v2._core import DevicePointer, Kernel, c_types

C_NAMES = {
    "ptr": "void*", "bool_": "bool", "f16": "_Float16", "bf16": "bf16", "f32": "float", "f64": "double",
    "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t",
    "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
}  # fmt: skip
CTYPES = {
    "ptr": ctypes.c_void_p, "bool_": ctypes.c_bool, "f32": ctypes.c_float, "f64": ctypes.c_double,
    "i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32, "i64": ctypes.c_int64,
    "u8": ctypes.c_uint8, "u16": ctypes.c_uint16, "u32": ctypes.c_uint32, "u64": ctypes.c_uint64,
}  # fmt: skip
PRELUDE = """
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
typedef struct { uint16_t bits; } bf16;
uint64_t recorded[64];
"""
COUNT = 80


def signatures():
    rng = random.Random(2)
    for index in range(COUNT):
        # Some all of one class, so that its registers overflow; some long enough for every stack size.
        names = (
            list(C_NAMES)
            if index % 4
            else [["f32", "f64", "f16"], ["ptr", "i8", "u32", "bool_", "bf16"]][index // 4 % 2]
        )
        yield tuple(rng.choice(names) for _ in range(rng.choice([0, 1, 3, 6, 9, 12, 20, 33, 62])))


def c_function(index, types):
    parameters = ", ".join(f"{C_NAMES[t]} a{i}" for i, t in enumerate(types)) or "void"
    stores = " ".join(f"memcpy(&recorded[{i}], &a{i}, sizeof a{i});" for i in range(len(types)))
    return f"int f{index}({parameters}) {{ {stores} return 0; }}\n"


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("abi")
    source = folder / "functions.c"
    source.write_text(PRELUDE + "".join(c_function(i, types) for i, types in enumerate(signatures())))
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", folder / "lib.so", source], check=True)
    return ctypes.CDLL(str(folder / "lib.so"))


def value_and_bits(rng, name):
    """A random value of a type, and its bytes by NumPy or struct."""
    if name == "ptr":
        address = rng.getrandbits(47)
        return (None, bytes(8)) if rng.random() < 0.2 else (DevicePointer(address), struct.pack("<Q", address))
    if name == "bool_":
        flag = rng.random() < 0.5
        return flag, bytes([flag])
    if name[0] in "iu":
        bits = int(name[1:])
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if name[0] == "i" else (0, (1 << bits) - 1)
        number = rng.choice([low, high, 0, 1, rng.randint(low, high)])
        return number, number.to_bytes(bits // 8, "little", signed=name[0] == "i")
    number = rng.choice([0.0, -0.0, 1.5, float("inf"), rng.uniform(-60000, 60000), 3])
    if name == "bf16":
        wide = int(np.float32(number).view(np.uint32))
        return number, ((wide + 0x7FFF + (wide >> 16 & 1)) >> 16).to_bytes(2, "little")
    return number, np.array(number, {"f16": "<f2", "f32": "<f4", "f64": "<f8"}[name]).tobytes()


def recorded(library, types):
    words = (ctypes.c_uint64 * 64).in_dll(library, "recorded")
    return [bytes(words)[8 * i : 8 * i + c_types[t].size] for i, t in enumerate(types)]


@pytest.mark.parametrize(
    ("index", "types"),
    list(enumerate(signatures())),
    ids=lambda value: f"f{value}" if isinstance(value, int) else "-".join(value)[:40],
)
def test_random_signature(library, index, types):
    rng = random.Random(index)
    function = getattr(library, f"f{index}")
    kernel = Kernel(f"f{index}", ctypes.cast(function, ctypes.c_void_p).value, [c_types[t] for t in types], abi="c")
    for _ in range(5):
        values, expected = zip(*(value_and_bits(rng, t) for t in types), strict=True) if types else ((), ())
        ctypes.memset((ctypes.c_uint64 * 64).in_dll(library, "recorded"), 0xAA, 64 * 8)
        kernel(*values)
        assert recorded(library, types) == list(expected)
        if all(t in CTYPES for t in types):
            function.argtypes = [CTYPES[t] for t in types]
            function(*values)
            assert recorded(library, types) == list(expected)


def test_ascendc_passes_block_dim_and_stream_first_and_halves_as_bits(tmp_path):
    """The launch stub of a kernel with a half parameter takes uint16_t; so a half goes to an integer register."""
    source = tmp_path / "stub.c"
    source.write_text(
        "#include <stdint.h>\n"
        "uint32_t blocks; void* stream_; uint16_t half; float single; uint64_t last;\n"
        "uint32_t aclrtlaunch_k(uint32_t b, void* s, uint16_t h, float f, void* p1, void* p2, void* p3, uint64_t l)\n"
        "{ blocks = b; stream_ = s; half = h; single = f; last = l; return 0; }\n"
    )
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", tmp_path / "lib.so", source], check=True)
    library = ctypes.CDLL(str(tmp_path / "lib.so"))
    address = ctypes.cast(library.aclrtlaunch_k, ctypes.c_void_p).value
    kernel = Kernel("k", address, [c_types[t] for t in ("f16", "f32", "ptr", "ptr", "ptr", "u64")])
    kernel(7, 1.5, 2.5, None, None, None, 2**64 - 1)
    assert ctypes.c_uint32.in_dll(library, "blocks").value == 7
    assert ctypes.c_uint16.in_dll(library, "half").value == np.float16(1.5).view(np.uint16)
    assert ctypes.c_float.in_dll(library, "single").value == 2.5
    assert ctypes.c_uint64.in_dll(library, "last").value == 2**64 - 1
