"""Shared libraries that are not whole: told before the loader maps what is not there, which would kill the process."""

from __future__ import annotations

import ctypes
import struct
import subprocess
import sys

import pytest

from mindtorch_v2 import npu
from mindtorch_v2.npu import acl, build, elf


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A library with code, data and memory that is zero at start."""
    source = tmp_path_factory.mktemp("elf") / "a.c"
    source.write_text("int data[3000] = {1};\nint zeros[5000];\nint seven(void) { return 7 + zeros[9]; }\n")
    return build.build_native("whole", [source])


def test_a_whole_library(library):
    assert elf.cut_short(library) is None
    assert ctypes.CDLL(str(library)).seven() == 7


def test_a_library_without_its_table_of_sections(library, tmp_path):
    """The loader needs none."""
    data = bytearray(library.read_bytes())
    data[0x28:0x30], data[0x3A:0x40] = bytes(8), bytes(6)
    path = tmp_path / "stripped.so"
    path.write_bytes(data)
    assert elf.cut_short(path) is None


@pytest.mark.parametrize("share", [0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999])
def test_a_library_that_is_cut(share, library, tmp_path):
    data = library.read_bytes()
    path = tmp_path / "cut.so"
    path.write_bytes(data[: max(64, int(len(data) * share))])
    expected = f"it is incomplete: its headers speak of {len(data)} bytes, the file has {path.stat().st_size}"
    assert expected.partition("speak")[0] in elf.cut_short(path)
    with pytest.raises(OSError, match=r"kernel library .*cut\.so cannot be loaded: it is incomplete") as caught:
        npu.KernelLauncher(path).symbols("c")
    assert str(path.stat().st_size) in str(caught.value)
    assert elf.exported_symbols(path) == []


@pytest.mark.parametrize("size", [0, 4, 19, 20, 63])
def test_less_than_a_header(size, library, tmp_path):
    path = tmp_path / "cut.so"
    path.write_bytes(library.read_bytes()[:size])
    with pytest.raises(OSError, match=r"it is not a shared library|it is incomplete"):
        npu.KernelLauncher(path).symbols("c")
    assert elf.exported_symbols(path) == []


@pytest.mark.parametrize("field", [0x20, 0x28])
def test_a_table_that_lies_nowhere(field, library, tmp_path):
    data = bytearray(library.read_bytes())
    struct.pack_into("<Q", data, field, 2**63)
    path = tmp_path / "wild.so"
    path.write_bytes(data)
    assert str(2**63)[:12] in elf.cut_short(path)


LOAD = """
import sys
from mindtorch_v2 import npu
try:
    npu.KernelLauncher(sys.argv[1]).symbols("c")
except OSError as error:
    print("told" if "incomplete" in str(error) else error)
"""


def test_a_process_survives_a_library_that_is_cut(library, tmp_path, child_env):
    path = tmp_path / "cut.so"
    path.write_bytes(library.read_bytes()[:6000])
    done = subprocess.run(
        [sys.executable, "-c", LOAD, path], capture_output=True, text=True, check=False, env=child_env
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "told\n", "")


def test_an_acl_library_that_is_cut(library, tmp_path):
    path = tmp_path / "libascendcl.so"
    path.write_bytes(library.read_bytes()[:6000])
    with pytest.raises(OSError, match="it is incomplete"):
        acl.open_library(str(path), simulated=False)
