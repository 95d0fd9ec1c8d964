"""Building kernel libraries: what they export, when they are rebuilt, and how errors read."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest

from mindtorch_v2.npu import build, cann_build

KERNEL = """
#include "kernel_operator.h"
#include "constants.h"
#define MAKE(name) extern "C" __global__ __aicore__ void name(GM_ADDR x, half a, Pair pair, bool flag, int64_t n) {}
namespace { struct Pair { float a; double b; }; }
MAKE(from_macro)
namespace inner { __global__ __aicore__ void nested(__gm__ float* x, uint8_t mode, double d, bfloat16_t b) {} }
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MINDTORCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("MINDTORCH_NPU", "sim")
    return tmp_path / "cache"


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "user kernel.cpp"
    path.write_text(KERNEL)
    (tmp_path / "constants.h").write_text("#pragma once\n")
    return path


def _text(library, symbol):
    return ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(library, symbol))).decode()


def _undefined(library):
    return subprocess.run(["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True).stdout


def test_kernels_from_macros_and_namespaces_are_exported_with_their_types(source):
    library = ctypes.CDLL(str(build.build_ascendc("k", [source])))
    assert _text(library, "mtsim_signature_from_macro") == "ptr,f16,struct:16,bool,i64"
    assert _text(library, "mtsim_signature_nested") == "ptr,u8,f64,bf16"
    assert library.aclrtlaunch_from_macro


def test_the_cache_answers_until_something_read_changes(source, tmp_path):
    first = build.build_ascendc("k", [source])
    stamp = first.stat().st_mtime_ns
    assert build.build_ascendc("k", [source]) == first
    assert first.stat().st_mtime_ns == stamp

    header = tmp_path / "constants.h"
    header.write_text("#pragma once\n// changed\n")
    second = build.build_ascendc("k", [source])
    assert second != first  # a loaded library is never replaced under its path
    header.write_text("#pragma once\n")
    assert build.build_ascendc("k", [source]) == first

    assert build.build_ascendc("k", [source], flags=["-DX"]) not in (first, second)
    source.write_text(KERNEL + "// changed\n")
    assert build.build_ascendc("k", [source]) not in (first, second)


def test_a_removed_header_is_an_error_not_a_stale_library(source, tmp_path):
    build.build_ascendc("k", [source])
    (tmp_path / "constants.h").unlink()
    with pytest.raises(build.BuildError, match=r"constants\.h: No such file or directory"):
        build.build_ascendc("k", [source])


def test_compiler_errors_stand_at_the_users_lines(tmp_path, cache):
    source = tmp_path / "broken.cpp"
    source.write_text('#include "kernel_operator.h"\n__global__ __aicore__ void k(GM_ADDR x) {\n  undeclared = 1;\n}\n')
    with pytest.raises(build.BuildError) as error:
        build.build_ascendc("broken", [source])
    message = str(error.value)
    assert message.startswith("kernel library 'broken': g++ failed\n")
    assert f"{source}:3:3: error: 'undeclared' was not declared in this scope" in message
    assert not [path for path in (cache / "kernels").iterdir() if path.suffix != ".lock"]  # nothing stays behind


def test_an_instruction_the_chip_lacks_is_a_compile_error(tmp_path):
    source = tmp_path / "k.cpp"
    source.write_text(
        '#include "kernel_operator.h"\nusing namespace AscendC;\n'
        "__global__ __aicore__ void k(GM_ADDR x) { LocalTensor<int32_t> a; Div(a, a, a, 8); }\n"
    )
    with pytest.raises(build.BuildError, match="Div exists for half, float on this chip"):
        build.build_ascendc("k", [source])


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ([], "kernel library 'k': no sources were given"),
        (["/nowhere/k.cpp"], "kernel library 'k': the source /nowhere/k.cpp does not exist"),
    ],
)
def test_missing_sources(sources, message):
    for function in (build.build_ascendc, build.build_native):
        with pytest.raises(build.BuildError) as error:
            function("k", sources)
        assert str(error.value) == message


def test_a_source_without_kernels(tmp_path):
    source = tmp_path / "empty.cpp"
    source.write_text('#include "kernel_operator.h"\nvoid helper() {}\n')
    with pytest.raises(build.BuildError) as error:
        build.build_ascendc("k", [source])
    assert str(error.value) == (
        f"kernel library 'k': no kernel in {source}; "
        'expected a definition like extern "C" __global__ __aicore__ void kernel(GM_ADDR x, ...)'
    )


def test_a_kernel_defined_twice(tmp_path):
    sources = [tmp_path / "a.cpp", tmp_path / "b.cpp"]
    for source in sources:
        source.write_text('#include "kernel_operator.h"\n\n__global__ __aicore__ void k(GM_ADDR x) {}\n')
    with pytest.raises(build.BuildError) as error:
        build.build_ascendc("k", sources)
    assert str(error.value) == f"kernel library 'k': the kernel 'k' is defined twice: {sources[0]}:3 and {sources[1]}:3"


MEETINGS = {
    "SyncAll": "AscendC::SyncAll();",
    "IBWait": "GlobalTensor<int32_t> flags; LocalTensor<int32_t> seen; IBWait(flags, seen, 0, 0);",
}


@pytest.mark.parametrize("way", MEETINGS)
def test_blocks_that_wait_in_a_header_are_alive_together(tmp_path, way):
    (tmp_path / "barrier.h").write_text(
        f"using namespace AscendC;\n__aicore__ inline void meet() {{ {MEETINGS[way]} }}\n"
    )
    source = tmp_path / "k.cpp"
    source.write_text(
        '#include "kernel_operator.h"\n#include "barrier.h"\n__global__ __aicore__ void k(GM_ADDR x) { meet(); }\n'
    )
    assert "mtsim_launch_concurrent" in _undefined(build.build_ascendc("k", [source]))
    source.write_text(f'#include "kernel_operator.h"\n// {way}\n__global__ __aicore__ void k(GM_ADDR x) {{}}\n')
    assert "mtsim_launch_concurrent" not in _undefined(build.build_ascendc("k", [source]))


def test_without_a_cann_toolkit(monkeypatch):
    for variable in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(build.BuildError, match="neither ASCEND_HOME_PATH nor ASCEND_TOOLKIT_HOME names one"):
        cann_build.toolkit()


def test_a_missing_compiler(source, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(build.BuildError) as error:
        build.build_ascendc("k", [source])
    assert str(error.value) == (
        "the compiler 'no-such-compiler' was not found; install it (on Debian: apt install g++), or set CXX and CC"
    )


def test_a_name_that_is_no_file_name():
    with pytest.raises(build.BuildError, match=r"kernel library '\.\./k': the name may hold letters"):
        build.build_native("../k", [__file__])


def test_c_and_cpp_in_one_native_library(tmp_path):
    (tmp_path / "a.c").write_text("double twice(double x) { int class = 2; return class * x; }\n")
    (tmp_path / "b.cpp").write_text(
        'extern "C" double twice(double);\nextern "C" double four(double x) { return twice(twice(x)); }\n'
    )
    library = ctypes.CDLL(str(build.build_native("mixed", [tmp_path / "a.c", tmp_path / "b.cpp"])))
    library.four.restype = ctypes.c_double
    library.four.argtypes = [ctypes.c_double]
    assert library.four(1.5) == 6.0


def test_native_errors_show_the_compilers_output(tmp_path):
    source = tmp_path / "a.c"
    source.write_text("int f(void) { return x; }\n")
    with pytest.raises(build.BuildError, match=r"a\.c:1:22: error: 'x' undeclared"):
        build.build_native("broken", [source])


def test_processes_that_build_at_the_same_time_build_once(tmp_path, cache, child_env):
    source = tmp_path / "a.c"
    source.write_text("int f(void) { return 1; }\n")
    log = tmp_path / "compilations"
    compiler = tmp_path / "cc"
    compiler.write_text(f'#!/bin/sh\necho "$@" | grep -q -- " -c " && echo >> {log}\nexec gcc "$@"\n')
    compiler.chmod(0o755)
    code = f"from mindtorch_v2.npu import build; print(build.build_native('f', [{str(source)!r}]))"
    environment = {**child_env, "CC": str(compiler), **{k: os.environ[k] for k in ("MINDTORCH_CACHE_DIR",)}}
    children = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    outputs = {child.communicate()[0] for child in children}
    assert [child.returncode for child in children] == [0, 0, 0]
    assert len(outputs) == 1
    assert log.read_text() == "\n"
