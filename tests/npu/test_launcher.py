"""KernelLauncher: finding libraries and symbols, launching, and what is refused."""

from __future__ import annotations

import ctypes
import re
import struct
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

from mindtorch_v2 import _core, npu
from mindtorch_v2.npu import elf
from tests.npu.conftest import on, simulator_only, values

SCALARS = "f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, bool_"


def message(call, kind):
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    return str(caught.value)


@pytest.fixture
def x():
    return on("npu", np.arange(5, dtype=np.float32))


# ---------------------------------------------------------------- launching
@pytest.mark.parametrize("blocks", [1, 3, 65535])
def test_a_bound_kernel(scale, x, blocks):
    out = npu.alloc_like(x)
    scale(blocks, x, out, 2.5, 5)
    np.testing.assert_array_equal(values(out), [0, 2.5, 5, 7.5, 10])


def test_launch_by_name_with_typed_arguments(kernels, x):
    out = npu.alloc_like(x)
    kernels.launch("scale", block_dim=2, args=[x, npu.tensor_ptr(out), npu.f32(3), npu.u32(5)])
    np.testing.assert_array_equal(values(out), [0, 3, 6, 9, 12])


def test_the_storage_offset_counts(scale, x):
    out = npu.alloc_like(x)
    scale(1, x, out, 0.0, 5)
    scale(1, _core.as_strided(x, (3,), (1,), 2), _core.as_strided(out, (3,), (1,), 1), 1.0, 3)
    np.testing.assert_array_equal(values(out), [0, 2, 3, 4, 0])


def test_on_the_other_npu(scale):
    x = on("npu:1", np.ones(4, np.float32))
    out = npu.alloc_like(x)
    scale(1, x, out, 4.0, 4)
    assert npu.current_device() == 0
    np.testing.assert_array_equal(values(out), [4, 4, 4, 4])


def test_a_struct_by_value_and_in_global_memory(kernels):
    tiling = npu.struct(("n", npu.u32), ("negate", npu.bool_), ("offset", npu.f64))
    out = npu.alloc((4,), _core.dtypes["float32"], "npu")
    kernels.launch("iota", block_dim=2, args=[out, tiling(4, True, 10.0)])
    np.testing.assert_array_equal(values(out), [10, 9, 8, 7])
    kernels.bind("iota", (npu.ptr, npu.host))(1, out, tiling(n=4, negate=False, offset=1.5))
    np.testing.assert_array_equal(values(out), [1.5, 2.5, 3.5, 4.5])
    kernels.bind("iota_global", (npu.ptr, npu.ptr))(1, out, npu.upload(tiling(4, False, -1)))
    np.testing.assert_array_equal(values(out), [-1, 0, 1, 2])


@simulator_only
def test_a_struct_of_another_size(kernels):
    out = npu.alloc((4,), _core.dtypes["float32"], "npu")
    expected = "kernel iota, argument 2 (npu.host): expected 16 bytes, the size of the kernel's struct, got 12"
    for tiling in (bytes(12), bytearray(12)):
        assert (
            message(lambda data=tiling: kernels.launch("iota", block_dim=1, args=[out, data]), ValueError) == expected
        )


def test_a_stream_as_an_argument(tmp_path):
    """For a launch function that queues work of its own beside the stream it is given."""
    text = "#include <stdint.h>\nvoid* got; uint32_t aclrtlaunch_k(uint32_t b, void* s, void* p) { got = p; return 0; }"
    library = compile_c(tmp_path / "libstream.so", text)
    kernel = npu.KernelLauncher(library).bind("k", (npu.ptr,))
    stream = npu.Stream()
    kernel(1, stream)
    assert ctypes.c_void_p.in_dll(ctypes.CDLL(str(library)), "got").value == stream.npu_stream
    with npu.stream(npu.Stream("npu:1")), pytest.raises(RuntimeError) as caught:
        npu.KernelLauncher(library).bind("k", (npu.ptr, npu.ptr))(1, on("npu:1", [1], np.float32), stream)
    assert str(caught.value) == (
        "kernel k, argument 2 (npu.ptr): expected a stream on npu:1 like argument 1, got a stream on npu:0"
    )


def test_a_thread_that_never_chose_a_device(scale, x):
    out = npu.alloc_like(x)
    thread = threading.Thread(target=lambda: scale(1, x, out, 2.0, 5))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(values(out), [0, 2, 4, 6, 8])


def test_nothing_is_opened_before_the_first_launch(tmp_path):
    kernel = npu.KernelLauncher("nowhere.so", relative_to=tmp_path / "ops.py").bind("k", (npu.ptr,), abi="c")
    with pytest.raises(FileNotFoundError, match=r"^kernel library 'nowhere.so' was not found"):
        kernel(None)


def compile_c(path, text):
    path.with_suffix(".c").write_text(text)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", path, path.with_suffix(".c")], check=True)
    return path


@pytest.mark.parametrize("place", ["absolute", "relative", "environment"])
def test_where_a_library_is_found(tmp_path, monkeypatch, place):
    library = compile_c(tmp_path / "libfound.so", "int seven(int wrong) { return wrong; }")
    relative_to = tmp_path / "ops.py" if place == "relative" else None
    if place == "environment":
        monkeypatch.setenv("MINDTORCH_LIBRARY_PATH", f"/nowhere:{tmp_path}")
    launcher = npu.KernelLauncher(library if place == "absolute" else library.name, relative_to)
    launcher.bind("seven", (npu.i32,), abi="c")(0)
    assert launcher.symbols("c") == ["seven"]


def test_a_system_library():
    npu.KernelLauncher("libc.so.6").bind("ffs", (npu.i32,), abi="c")(0)


def test_c_sources_are_built_on_first_use(tmp_path):
    (tmp_path / "k.c").write_text("int set(float* out, float value) { *out = value; return 0; }")
    launcher = npu.KernelLauncher.from_source("launcher_test_c", ["k.c"], relative_to=tmp_path / "ops.py")
    out = on("cpu", [0], np.float32)
    launcher.bind("set", (npu.ptr, npu.f32), abi="c")(out, 2.5)
    assert values(out)[0] == 2.5


# ---------------------------------------------------------------- refusals
def test_a_missing_library(tmp_path, monkeypatch):
    monkeypatch.setenv("MINDTORCH_LIBRARY_PATH", "/nowhere")
    launcher = npu.KernelLauncher("libmissing.so", relative_to=tmp_path / "ops.py")
    lines = message(lambda: launcher.launch("k", block_dim=1), FileNotFoundError).splitlines()
    assert lines[:3] == [
        "kernel library 'libmissing.so' was not found; tried:",
        f"  {tmp_path}/libmissing.so",
        "  /nowhere/libmissing.so",
    ]
    assert lines[-2].startswith("  the system's libraries (libmissing.so: cannot open shared object file")
    assert lines[-1] == "build it, or add its folder to MINDTORCH_LIBRARY_PATH"


def test_a_missing_symbol(kernels):
    library = kernels._open("ascendc").path
    assert message(lambda: kernels.launch("scal", block_dim=1), RuntimeError) == (
        f"kernel library {library} has no symbol 'aclrtlaunch_scal'; did you mean 'aclrtlaunch_scale'?"
    )


def test_a_missing_symbol_with_nothing_near(tmp_path):
    library = compile_c(tmp_path / "libx.so", "int alpha(void) { return 0; } int beta(void) { return 0; }")
    kernel = npu.KernelLauncher(library).bind("omega_zzz", (), abi="c")
    assert (
        message(kernel, RuntimeError) == f"kernel library {library} has no symbol 'omega_zzz'; it exports alpha, beta"
    )


@pytest.mark.parametrize("abi", ["c", "ascendc"])
def test_a_library_for_another_machine(tmp_path, abi):
    library = compile_c(tmp_path / "libother.so", "int k(void) { return 0; }")
    image = bytearray(library.read_bytes())
    machine = int.from_bytes(image[18:20], "little")
    other, name = (183, "aarch64") if machine == 62 else (62, "x86_64")
    image[18:20] = other.to_bytes(2, "little")
    library.write_bytes(image)
    here = {62: "x86_64", 183: "aarch64"}[machine]
    kernel = npu.KernelLauncher(library).bind("k", (), abi=abi)
    assert message(lambda: kernel(*[1][: abi == "ascendc"]), OSError) == (
        f"kernel library {library} cannot be loaded: it is built for {name}, this process runs on {here}"
    )


def test_a_file_that_is_no_library(tmp_path):
    library = tmp_path / "libtext.so"
    library.write_text("hello")
    assert message(npu.KernelLauncher(library).bind("k", (), abi="c"), OSError) == (
        f"kernel library {library} cannot be loaded: it is not a shared library (no ELF header)"
    )


@simulator_only
def test_declared_types_are_compared_with_the_librarys(kernels, x):
    kernel = kernels.bind("scale", (npu.ptr, npu.ptr, npu.f64, npu.u32))
    assert message(lambda: kernel(1, x, x, 1.0, 5), TypeError) == (
        "kernel scale: declared with (ptr, ptr, f64, u32), but compiled with (ptr, ptr, f32, u32): "
        "argument 3 is f32, not f64"
    )
    assert message(lambda: kernels.launch("scale", block_dim=1, args=[x]), TypeError) == (
        "kernel scale: declared with (ptr), but compiled with (ptr, ptr, f32, u32): it takes 4 arguments, not 1"
    )


def test_a_bare_number(kernels, x):
    assert message(lambda: kernels.launch("scale", block_dim=1, args=[x, x, 2.0, npu.u32(5)]), TypeError) == (
        "kernel scale, argument 3: a bare number has no C type, got float 2.0; "
        f"write npu.f32(2.0) or another of {SCALARS}, as the kernel declares it"
    )


@pytest.mark.parametrize("blocks", [0, -1, 65536, 70000, 2**70])
def test_a_block_dim_out_of_range(scale, x, blocks):
    assert message(lambda: scale(blocks, x, x, 1.0, 5), ValueError) == (
        f"kernel scale: block_dim must be an int from 1 to 65535, got {blocks}"
    )


@pytest.mark.parametrize(("blocks", "got"), [(2.0, "float 2.0"), (None, "None"), ("8", "str '8'")])
def test_a_block_dim_of_another_type(scale, x, blocks, got):
    assert message(lambda: scale(blocks, x, x, 1.0, 5), TypeError) == (
        f"kernel scale: block_dim must be an int from 1 to 65535, got {got}"
    )


def test_no_block_dim(scale, x):
    expected = "kernel scale: expected block_dim and 4 arguments (ptr, ptr, f32, u32), got "
    assert message(lambda: scale(x, x, 1.0, 5), TypeError) == (
        "kernel scale: block_dim must be an int from 1 to 65535, got a tensor of shape [5]"
    )
    assert message(lambda: scale(1, x, x, 1.0), TypeError) == expected + "3"
    assert message(scale, TypeError) == expected + "0"


def test_a_tensor_on_the_cpu(scale, x):
    host = on("cpu", np.zeros(5, np.float32))
    assert message(lambda: scale(1, host, x, 1.0, 5), RuntimeError) == (
        "kernel scale, argument 1 (npu.ptr): expected a tensor on npu, got a tensor on cpu"
    )
    assert message(lambda: scale(1, x, host, 1.0, 5), RuntimeError) == (
        "kernel scale, argument 2 (npu.ptr): expected a tensor on npu, got a tensor on cpu"
    )


def test_tensors_on_two_npus(scale, x):
    other = on("npu:1", np.zeros(5, np.float32))
    assert message(lambda: scale(1, x, other, 1.0, 5), RuntimeError) == (
        "kernel scale, argument 2 (npu.ptr): expected a tensor on npu:0 like argument 1, got a tensor on npu:1"
    )


def test_a_stream_of_another_npu(kernels, x):
    stream = npu.Stream("npu:1")
    arguments = [x, x, npu.f32(1), npu.u32(5)]
    assert message(lambda: kernels.launch("scale", block_dim=1, args=arguments, stream=stream), RuntimeError) == (
        "kernel scale, argument 1 (npu.ptr): expected a tensor on npu:1, the stream's device, got a tensor on npu:0"
    )
    assert message(lambda: kernels.launch("scale", block_dim=1, args=arguments, stream=0), TypeError) == (
        "kernel scale: stream must be an npu.Stream or None, got int 0"
    )


def test_a_handle_of_another_npu(kernels, x):
    stream = npu.ExternalStream(npu.Stream("npu:1").npu_stream, "npu:0")
    with pytest.raises(npu.NpuError) as caught:
        kernels.launch("scale", block_dim=1, args=[x, x, npu.f32(1), npu.u32(5)], stream=stream)
    assert caught.value.code == 107003
    first, second = str(caught.value).splitlines()
    assert first == "kernel scale: error 107003 (a stream or event of another device or context)"
    if npu.is_simulated():
        assert re.fullmatch(
            r"the library says: mtsim_launch: argument stream: expected a stream of the thread's context 0x\w+ on "
            rf"device 0, got {stream.npu_stream:#x} of the context 0x\w+ on device 1",
            second,
        )


def test_a_null_stream_is_the_default_one(kernels, x):
    stream = npu.ExternalStream(0)
    assert stream == npu.default_stream()
    kernels.launch("scale", block_dim=1, args=[x, x, npu.f32(2), npu.u32(5)], stream=stream)
    np.testing.assert_array_equal(values(x), [0, 2, 4, 6, 8])


@simulator_only
def test_a_handle_of_no_stream(kernels, x):
    with pytest.raises(npu.NpuError) as caught:
        kernels.launch(
            "scale", block_dim=1, args=[x, x, npu.f32(1), npu.u32(5)], stream=npu.ExternalStream(0xDEAD, "npu:0")
        )
    assert str(caught.value) == (
        "kernel scale: error 107000 (a bad parameter)\nthe library says: mtsim_launch: argument stream: expected a "
        "live stream, got 0xdead, which is no handle"
    )


def test_a_refused_launch_uses_no_memory(scale):
    """Its tensors are free as before: nothing has to wait for the stream that refused it."""
    npu.Stream()  # other streams than the default one are in use
    x = on("npu", np.ones(5, np.float32))
    address = x.data_ptr()
    with npu.stream(npu.ExternalStream(npu.Stream("npu:1").npu_stream, "npu:0")), pytest.raises(npu.NpuError):
        scale(1, x, x, 1.0, 5)
    del x
    assert address in {
        tensor.data_ptr() for tensor in [npu.alloc((5,), _core.dtypes["float32"], "npu") for _ in range(4)]
    }


def test_what_is_no_stream():
    expected = "expected an npu.Stream, got int 0"
    assert message(lambda: npu.stream(0), TypeError) == expected
    assert message(lambda: npu.set_stream(0), TypeError) == expected
    assert message(lambda: npu.Event().record(0), TypeError) == expected
    assert message(lambda: npu.current_stream().wait_stream(0), TypeError) == expected
    assert message(lambda: npu.current_stream().wait_event(None), TypeError) == (
        "Stream.wait_event: expected an npu.Event, got NoneType None"
    )
    assert message(lambda: npu.ExternalStream(None), TypeError) == (
        "npu.ExternalStream: expected a handle as an int, got NoneType; 0 is the default stream"
    )


def test_a_wrong_dtype(scale):
    x = on("npu", np.zeros(5, np.float64))
    assert message(lambda: scale(1, x, x, 1.0, 5), RuntimeError) == (
        "kernel scale, argument 1 (npu.ptr): expected dtype float32, got float64"
    )


def test_a_freed_tensor(scale, x):
    out = npu.alloc_like(x)
    out.untyped_storage().resize_(0)
    assert message(lambda: scale(1, x, out, 1.0, 5), RuntimeError) == (
        "kernel scale, argument 2 (npu.ptr): expected a tensor with memory, got one whose storage was freed"
    )


def test_launching_a_c_kernel_by_name_needs_no_block_dim(tmp_path):
    library = compile_c(tmp_path / "libk.so", "int k(void) { return 0; }")
    kernel = npu.KernelLauncher(library).bind("k", (), abi="c")
    assert message(lambda: kernel.launch(1, ()), TypeError) == "kernel k: a kernel of abi 'c' has no block_dim"


def test_a_strided_tensor(scale, x):
    view = _core.as_strided(x, (2,), (2,))
    assert message(lambda: scale(1, x, view, 1.0, 2), RuntimeError) == (
        "kernel scale, argument 2 (npu.ptr): expected a contiguous tensor, got shape [2] with strides [2]; "
        "pass x.contiguous(), in YAML contiguous(x)"
    )


@simulator_only
def test_a_pointer_to_nowhere_is_refused_by_the_library(scale, x):
    with pytest.raises(npu.NpuError) as caught:
        scale(1, x, npu.DevicePointer(64, "npu:0"), 1.0, 5)
    assert caught.value.code == 107000
    assert str(caught.value).startswith(
        "kernel scale: error 107000 (a bad parameter)\nthe library says: scale: argument 1"
    )


# ---------------------------------------------------------------- reading libraries
def test_exported_symbols_agree_with_nm(kernels):
    library = kernels._open("ascendc").path
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    assert elf.exported_symbols(library) == sorted({line.split()[-1].partition("@")[0] for line in lines.splitlines()})


def test_symbols_of_a_truncated_file(tmp_path):
    path = tmp_path / "x.so"
    path.write_bytes(b"\x7fELF\x01\x01" + bytes(64))
    assert elf.exported_symbols(path) == []


def test_a_struct_is_laid_out_as_c_lays_it_out():
    fields = [("a", npu.u8), ("b", npu.u32), ("c", npu.u16), ("d", npu.f64), ("e", npu.bool_)]
    packed = npu.struct(*fields)(1, 2, 3, 4.0, True)
    assert packed == struct.pack("@BIHd?0d", 1, 2, 3, 4.0, True)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda s: s(1, 2, 3), "struct: expected 2 values (n, scale), got 3"),
        (lambda s: s(1), "struct: no value for field 'scale'"),
        (lambda s: s(1, n=2), "struct: field 'n' is given twice"),
        (lambda s: s(1, sclae=2), "struct: field 'sclae' is not one of its fields"),
        (lambda s: s(1, "x"), "struct field 'scale', npu.f32: expected a real number, got str 'x'"),
        (
            lambda s: npu.struct(("p", npu.ptr)),
            "struct field 'p': expected a scalar C type such as npu.u32, got npu.ptr",
        ),
    ],
)
def test_what_a_struct_refuses(call, expected):
    assert message(lambda: call(npu.struct(("n", npu.u32), ("scale", npu.f32))), TypeError) == expected


def test_a_compiler_error_is_the_sources(tmp_path):
    source = Path(tmp_path / "broken.cpp")
    source.write_text(
        '#include "kernel_operator.h"\nextern "C" __global__ __aicore__ void k(GM_ADDR x) { nonsense(); }\n'
    )
    lines = message(lambda: npu.ascendc_load("broken", source), npu.BuildError).splitlines()
    if npu.is_simulated():
        assert lines[0] == "kernel library 'broken': g++ failed"
        assert f"{source}:2:54: error: 'nonsense' was not declared in this scope" in lines
    else:
        assert any("broken.cpp:2" in line for line in lines)
