"""What people write around the instructions, against NumPy."""

from __future__ import annotations

import ctypes
import re

import numpy as np
import pytest

from mindtorch_v2.npu import build, paths
from tests.sim.ascendc.device import AsyncError

U32 = np.dtype(np.uint32)


@pytest.fixture
def run(npu, kernel_library):
    """Launches a kernel of language.cpp on one block with its input, an output like ``out``, and numbers."""
    library = kernel_library("language.cpp")

    def launch(kernel: str, x, out: np.ndarray, *numbers) -> np.ndarray:
        y = npu.upload(out)
        inputs = [] if x is None else [npu.upload(x)]
        npu.launch(getattr(library, f"aclrtlaunch_{kernel}"), 1, *inputs, y, *numbers)
        return npu.download(y, out)

    return launch


def floats(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.5, 2, count).astype(np.float32)


def test_functions_are_found_by_their_arguments(run):
    x = floats(64)
    y = run("unqualified", x, np.zeros(64, np.float32))
    assert y[0] == pytest.approx(x.sum(), rel=1e-6)
    assert (y[1:] == 0.5).all()


def test_arithmetic_operators_act_on_whole_tensors(run):
    x = floats(128)
    left, right = x[:64], x[64:]
    y = run("operators", x, np.zeros(256, np.float32)).reshape(4, 64)
    np.testing.assert_array_equal(y, [left + right, left - right, left * right, left / right])


def test_bitwise_operators(run):
    x = np.random.default_rng(1).integers(-(2**15), 2**15, 128).astype(np.int16)
    y = run("bits", x, np.zeros(128, np.int16)).reshape(2, 64)
    np.testing.assert_array_equal(y, [x[:64] & x[64:], x[:64] | x[64:]])


def test_comparison_operators_give_bits(run):
    x = np.random.default_rng(2).integers(0, 3, 128).astype(np.float32)
    a, b = x[:64], x[64:]
    y = run("comparisons", x, np.zeros(48, np.float32)).view(np.uint8).reshape(6, 32)[:, :8]
    got = np.unpackbits(y, axis=1, bitorder="little")
    np.testing.assert_array_equal(got, [a < b, a > b, a == b, a <= b, a >= b, a != b])


def test_a_number_to_the_power_of_a_tensor(run):
    x = floats(64, 3)
    y = run("powers", x, np.zeros(128, np.float32)).reshape(2, 64)
    np.testing.assert_allclose(y, [np.power(np.float32(2), x), np.power(np.float32(3), x)], rtol=1e-6)


def test_whole_numbers_and_constants(run):
    y = run("scalars", None, np.zeros(16, np.int32))
    assert y.tolist() == [3, 96, 3, 64, 64, 5, 32, 32, 16, 1, 0, 1, 0, 1, 192 * 1024 - 256, 1]


def test_the_whole_unified_buffer_can_be_had(run):
    assert run("whole_buffer", np.zeros(8, np.float32), np.zeros(8, np.float32))[0] == 192 * 1024 - 256


def test_integers_of_4_bits(npu, kernel_library):
    values = np.random.default_rng(4).integers(-8, 8, 256)
    nibbles = (values & 0xF).astype(np.uint8)
    packed = nibbles[0::2] | nibbles[1::2] << 4
    out, wide = np.zeros(64, np.uint8), np.zeros(128, np.float16)
    y, z = npu.upload(out), npu.upload(wide)
    npu.launch(kernel_library("language.cpp").aclrtlaunch_nibbles, 1, npu.upload(packed), y, z)
    expected = values[128:] + 1
    np.testing.assert_array_equal(npu.download(z, wide), expected)
    kept = (np.minimum(expected, 7) & 0xF).astype(np.uint8)
    np.testing.assert_array_equal(npu.download(y, out), kept[0::2] | kept[1::2] << 4)


@pytest.mark.parametrize("scale", [0.0, 0.125, 3.0])
def test_the_scale_on_the_way_from_int32_to_half(run, scale):
    x = np.random.default_rng(5).integers(-1000, 1000, 64).astype(np.int32)
    y = run("scaled", x, np.zeros(64, np.float16), ctypes.c_float(scale))
    np.testing.assert_array_equal(y, (x * np.float32(scale or 1)).astype(np.float16))


def test_pools_that_share_memory(run):
    x = floats(64, 6)
    np.testing.assert_array_equal(run("pools", x, np.zeros(64, np.float32)), (x + np.float32(1)) * np.float32(2))


def test_a_pool_has_an_end(npu, kernel_library):
    npu.launch(kernel_library("language.cpp").aclrtlaunch_past_pool, 1, npu.upload(np.zeros(8, np.float32)))
    with pytest.raises(AsyncError, match="1 x 1056 bytes do not fit the pool: 0 of 1024 bytes are taken"):
        npu.synchronize()


@pytest.mark.parametrize(("name", "operation"), [("add", np.add), ("mul", np.multiply)])
def test_launches_in_macros_with_void_pointers(npu, kernel_library, name, operation):
    x = floats(64, 7)
    y = npu.upload(np.zeros(64, np.float32))
    launch = getattr(kernel_library("language.cpp"), f"{name}_do")
    launch.restype = None
    launch(npu.stream, npu.upload(x), y, ctypes.c_double(1.5))
    np.testing.assert_array_equal(npu.download(y, x), operation(x, np.float32(1.5)))


INCLUDES = paths.simulator_includes()[0]
NAMES = sorted(
    str(path.relative_to(INCLUDES / "ascendc"))
    for path in (INCLUDES / "ascendc").rglob("*.h")
    if path.parent.name != "impl" and path.name not in ("kernel_operator.h", "mtsim_key.h", "mtsim_stub.h")
)


def test_every_name_of_a_header_gives_all_there_is():
    folder = INCLUDES / "ascendc"
    assert len(NAMES) > 80
    for name in set(NAMES) - {"ascendc/host_api/tiling/template_argument.h"}:  # which has what it is named after
        included = re.findall(r'#include "(.*)"', (folder / name).read_text())
        assert [(folder / name).parent.joinpath(path).resolve() for path in included] == [
            (folder / "kernel_operator.h").resolve()
        ], name


def test_all_names_of_headers_in_one_kernel(npu, tmp_path, checker):
    if checker == "1":
        pytest.skip("the names are the same")
    source = tmp_path / "names.cpp"
    kernel = 'extern "C" __global__ __aicore__ void names(GM_ADDR y) { ((__gm__ int32_t*)y)[1] = 5; }'
    source.write_text("".join(f'#include "{name}"\n' for name in NAMES) + kernel)
    library = ctypes.CDLL(str(build.build_ascendc("names", [source])))
    y = npu.upload(np.zeros(2, np.int32))
    npu.launch(library.aclrtlaunch_names, 1, y)
    assert npu.download(y, np.zeros(2, np.int32)).tolist() == [0, 5]
