"""The table of ACL symbols against the documented interface, and the choice of the library."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys

import pytest

from mindtorch_v2.npu import acl, elf, errors, paths

# From the public documentation of ACL: symbol -> C prototype without names.
DOCUMENTED = """
aclError aclInit(const char*)
aclError aclFinalize()
aclError aclrtSetDevice(int32_t)
aclError aclrtResetDevice(int32_t)
aclError aclrtGetDevice(int32_t*)
aclError aclrtGetDeviceCount(uint32_t*)
const char* aclrtGetSocName()
aclError aclrtCreateContext(void**, int32_t)
aclError aclrtDestroyContext(void*)
aclError aclrtSetCurrentContext(void*)
aclError aclrtGetCurrentContext(void**)
const char* aclGetRecentErrMsg()
aclError aclrtMalloc(void**, size_t, int)
aclError aclrtFree(void*)
aclError aclrtMallocHost(void**, size_t)
aclError aclrtFreeHost(void*)
aclError aclrtMemcpy(void*, size_t, void*, size_t, int)
aclError aclrtMemcpyAsync(void*, size_t, void*, size_t, int, void*)
aclError aclrtMemset(void*, size_t, int32_t, size_t)
aclError aclrtMemsetAsync(void*, size_t, int32_t, size_t, void*)
aclError aclrtGetMemInfo(int, size_t*, size_t*)
aclError aclrtCreateStream(void**)
aclError aclrtCreateStreamWithConfig(void**, uint32_t, uint32_t)
aclError aclrtDestroyStream(void*)
aclError aclrtSynchronizeStream(void*)
aclError aclrtSynchronizeStreamWithTimeout(void*, int32_t)
aclError aclrtStreamQuery(void*, int*)
aclError aclrtSynchronizeDevice()
aclError aclrtSetStreamFailureMode(void*, uint64_t)
aclError aclrtLaunchHostFunc(void*, void(*)(void*), void*)
aclError aclrtCreateEvent(void**)
aclError aclrtCreateEventExWithFlag(void**, uint32_t)
aclError aclrtDestroyEvent(void*)
aclError aclrtRecordEvent(void*, void*)
aclError aclrtStreamWaitEvent(void*, void*)
aclError aclrtResetEvent(void*, void*)
aclError aclrtQueryEventStatus(void*, int*)
aclError aclrtSynchronizeEvent(void*)
aclError aclrtEventElapsedTime(float*, void*, void*)
aclError aclmdlRICaptureBegin(void*, int)
aclError aclmdlRICaptureEnd(void*, void**)
aclError aclmdlRICaptureGetInfo(void*, int*, void**)
aclError aclmdlRIExecuteAsync(void*, void*)
aclError aclmdlRIDestroy(void*)
aclError aclmdlRICaptureTaskGrpBegin(void*)
aclError aclmdlRICaptureTaskGrpEnd(void*, void**)
aclError aclmdlRICaptureTaskUpdateBegin(void*, void*)
aclError aclmdlRICaptureTaskUpdateEnd(void*)
aclError aclrtBinaryLoadFromFile(const char*, void*, void**)
aclError aclrtBinaryUnLoad(void*)
aclError aclrtBinaryGetFunction(void*, const char*, void**)
aclError aclrtKernelArgsInit(void*, void**)
aclError aclrtKernelArgsAppend(void*, void*, size_t, void**)
aclError aclrtKernelArgsAppendPlaceHolder(void*, void**)
aclError aclrtKernelArgsGetPlaceHolderBuffer(void*, void*, size_t, void**)
aclError aclrtKernelArgsParaUpdate(void*, void*, void*, size_t)
aclError aclrtKernelArgsFinalize(void*)
aclError aclrtLaunchKernelWithConfig(void*, uint32_t, void*, void*, void*, void*)
aclError aclrtLaunchKernelWithHostArgs(void*, uint32_t, void*, void*, void*, size_t, aclrtPlaceHolderInfo*, size_t)
"""
C_NAMES = {
    ctypes.c_char_p: "const char*", ctypes.c_int: "int", ctypes.c_uint32: "uint32_t",
    ctypes.c_uint64: "uint64_t", ctypes.c_void_p: "void*", ctypes.POINTER(ctypes.c_int): "int*",
    ctypes.POINTER(ctypes.c_uint32): "uint32_t*", ctypes.POINTER(ctypes.c_void_p): "void**",
    ctypes.POINTER(ctypes.c_size_t): "size_t*", ctypes.POINTER(ctypes.c_float): "float*",
    acl.HostFunction: "void(*)(void*)", ctypes.POINTER(acl.PlaceHolderInfo): "aclrtPlaceHolderInfo*",
}  # fmt: skip


def prototype(symbol):
    result = "const char*" if symbol in acl.RETURNS else "aclError"
    return f"{result} {symbol}({', '.join(C_NAMES[t] for t in acl.SIGNATURES[symbol])})"


def normal(line):
    """ctypes has one object for int and int32_t, and for size_t and uint64_t on 64-bit Linux."""
    return line.replace("uint32_t", "u32").replace("int32_t", "int").replace("uint64_t", "u64").replace("size_t", "u64")


def test_the_table_is_the_documented_interface():
    declared = [normal(prototype(symbol)) for symbol in acl.SIGNATURES]
    assert declared == [normal(line) for line in DOCUMENTED.split("\n")[1:-1]]


def test_the_table_has_all_that_the_simulated_npu_exports():
    exported = {name for name in elf.exported_symbols(paths.simulator_library()) if name.startswith("acl")}
    assert set(acl.SIGNATURES) == exported


def test_the_hardware_page_lists_every_symbol(repo_root):
    page = (repo_root / "docs/hardware.md").read_text()
    listed = set(re.findall(r"`(acl\w+)`", page.partition("## ACL symbols")[2].partition("\n## ")[0]))
    assert listed == set(acl.SIGNATURES)


FAULT_CODES = [507008, 507011, 507014, 507015, 507034, 507035, 507046]
CAPTURE_CODES = [*range(107024, 107032), 107033, 107034, 107036, 107037, 107038, 107041, 507903]
CODES = [
    107000,
    107002,
    107003,
    *CAPTURE_CODES,
    161001,
    161002,
    207001,
    207018,
    561002,
    561003,
    561103,
    561107,
    561112,
    *FAULT_CODES,
]


@pytest.mark.parametrize("code", CODES)
def test_every_documented_code_has_a_meaning(code):
    assert code in errors.MEANINGS


def test_an_asynchronous_fault_names_the_last_launches():
    error = errors.explain(507035, "aclrtSynchronizeDevice", "vector core 3", ["add", "mul"])
    assert error.code == 507035
    assert str(error) == (
        f"aclrtSynchronizeDevice: error 507035 ({errors.MEANINGS[507035]})\n"
        "last launches there: add, mul; the fault may come from any of them\n"
        "to find the launch that faults, run again with MINDTORCH_LAUNCH_BLOCKING=1\n"
        "the library says: vector core 3"
    )


def test_an_unknown_code():
    assert str(errors.explain(4711, "aclrtMalloc")) == "aclrtMalloc: error 4711 (not in the table of known codes)"


def test_a_library_that_lacks_symbols(tmp_path):
    (tmp_path / "old.c").write_text("int aclInit(const char* config) { return 0; }")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", tmp_path / "old.so", tmp_path / "old.c"], check=True)
    with pytest.raises(
        OSError, match=r"old.so lacks the ACL symbols aclFinalize, aclrtSetDevice, .*: is it from an older"
    ):
        acl.open_library(str(tmp_path / "old.so"), simulated=False)


def test_a_library_that_lacks_newer_symbols(tmp_path):
    older = [symbol for symbol in acl.SIGNATURES if not symbol.startswith(acl.NEWER)]
    (tmp_path / "older.c").write_text("".join(f"int {symbol}(void) {{ return 0; }}\n" for symbol in older))
    path = str(tmp_path / "older.so")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", path, tmp_path / "older.c"], check=True)
    library = acl.open_library(path, simulated=False)
    library.call("aclrtSynchronizeDevice")
    assert library.address("aclmdlRICaptureBegin") == 0
    with pytest.raises(NotImplementedError) as caught:
        library.call("aclmdlRICaptureBegin", None, 0)
    assert str(caught.value) == f"{path} has no aclmdlRICaptureBegin: this CANN is too old for it; install a newer one"


def run(code, env):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)


LOGGED = (
    "import logging; logging.basicConfig(level='INFO', format='%(message)s'); from mindtorch_v2 import npu; npu.init()"
)


def test_one_log_line_says_which_library(child_env):
    done = run(LOGGED + "; npu.init(); npu.device_count()", {**child_env, "MINDTORCH_NPU": "sim"})
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1].endswith("libascendcl_sim.so (the simulated NPU)")
    assert len(done.stderr.splitlines()) == 1


def test_an_unknown_choice(child_env):
    done = run(LOGGED, {**child_env, "MINDTORCH_NPU": "simulated"})
    assert done.stderr.splitlines()[-1] == "ValueError: MINDTORCH_NPU must be 'real', 'sim' or 'auto', got 'simulated'"


def test_a_real_npu_that_is_not_there(child_env, tmp_path):
    env = {**child_env, "MINDTORCH_NPU": "real", "ASCEND_TOOLKIT_HOME": str(tmp_path)}
    done = run(LOGGED, env)
    if done.returncode == 0:
        pytest.skip("CANN is installed")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("RuntimeError: MINDTORCH_NPU=real, but CANN's libascendcl.so could not be opened; tried")
    assert f"{tmp_path}/lib64/libascendcl.so" in last
    assert last.endswith("Source CANN's set_env.sh, or use MINDTORCH_NPU=sim for the simulated NPU")
