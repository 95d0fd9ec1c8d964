"""Kernels of the C calling convention: what reaches them, and what is refused before they run."""

from __future__ import annotations

import ctypes
import subprocess
import threading

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _core, npu
from mindtorch_v2._core import (
    Kernel,
    TypedScalar,
    alloc,
    alloc_broadcast,
    argument_types,
    as_strided,
    c_types,
    dtypes,
    tensor_ptr,
)
from mindtorch_v2.npu import paths

SOURCE = r"""
#include <stdint.h>
#include <unistd.h>
#include "mindtorch_kernel.h"

int scale(const float* x, float* out, float factor, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) out[i] = factor * x[i];
  return 0;
}
int first(const float* x, float* out) { *out = x ? *x : -1.0f; return 0; }
int fail(int32_t status) { return status; }
int copy_bytes(const uint8_t* from, uint8_t* to, uint32_t n) {
  for (uint32_t i = 0; i < n; ++i) to[i] = from[i];
  return 0;
}
int describe(const mt_tensor* t, int64_t* out) {
  *out++ = (int64_t)t->data; *out++ = t->ndim; *out++ = t->dtype; *out++ = t->itemsize;
  for (int64_t i = 0; i < t->ndim; ++i) { *out++ = t->shape[i]; *out++ = t->strides[i]; }
  return 0;
}
/* Waits until another thread has written to *flag: ends only where the caller gave up the interpreter's lock. */
int wait_for(const float* big, volatile int32_t* flag) {
  (void)big;
  for (int i = 0; i < 10000 && !*flag; ++i) usleep(1000);
  return *flag ? 0 : 99;
}
"""
FLOATS = (dtypes["float32"],)
SCALARS = "f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, bool_"


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "kernels.c").write_text(SOURCE)
    include = paths.kernel_includes()[0]
    command = ["gcc", "-O1", "-shared", "-fPIC", f"-I{include}", "-o", folder / "lib.so", folder / "kernels.c"]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(folder / "lib.so"))


@pytest.fixture
def bind(library):
    def make(symbol, types, **options):
        address = ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value
        return Kernel(symbol, address, [c_types[t] for t in types.split()], abi="c", **options)

    return make


@pytest.fixture
def scale(bind):
    return bind("scale", "ptr ptr f32 u64", dtypes=FLOATS)


def tensor(array, dtype="float32"):
    array = np.asarray(array, dtype)
    result = alloc(array.shape, dtypes[dtype], "cpu")
    values(result)[...] = array
    return result


def values(t):
    return np.asarray(_core.as_memoryview(t))


def message(call, kind):
    with pytest.raises(kind) as caught:
        call()
    assert kind in (type(caught.value), type(caught.value).__base__)
    return str(caught.value)


def test_computes(scale):
    x = tensor([1, 2, 3])
    out = alloc((3,), dtypes["float32"], "cpu")
    assert scale(x, out, 2.5, 3) is None
    np.testing.assert_array_equal(values(out), [2.5, 5, 7.5])


def test_the_storage_offset_counts(bind):
    x, out = tensor([1, 2, 3, 4]), tensor([0])
    view = as_strided(x, (2,), (1,), 2)
    bind("first", "ptr ptr")(view, out)
    assert values(out)[0] == 3
    bind("first", "ptr ptr")(tensor_ptr(view), out)
    assert values(out)[0] == 3


def test_none_is_a_null_pointer(bind):
    out = tensor([0])
    bind("first", "ptr ptr")(None, out)
    assert values(out)[0] == -1


def test_a_descriptor_has_the_tensors_geometry(bind):
    x = as_strided(tensor(np.arange(12)), (2, 3), (1, 4), 1)
    out = alloc((8,), dtypes["int64"], "cpu")
    bind("describe", "desc ptr")(x, out)
    assert values(out).tolist() == [x.data_ptr(), 2, dtypes["float32"].code, 4, 2, 1, 3, 4]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda data: np.frombuffer(data, np.uint8)])
def test_host_data(bind, kind):
    out = alloc((5,), dtypes["uint8"], "cpu")
    bind("copy_bytes", "host ptr u32")(kind(b"hello"), out, 5)
    assert values(out).tobytes() == b"hello"


def test_host_memory_can_be_written(bind):
    target = bytearray(3)
    bind("copy_bytes", "host host u32")(b"abc", target, 3)
    assert target == b"abc"


def test_typed_scalars_and_numpy_scalars_are_numbers(scale):
    x, out = tensor([2]), tensor([0])
    for factor in (c_types["f32"](1.5), np.float32(1.5), np.float64(1.5), np.float16(1.5)):
        scale(x, out, factor, np.int64(1))
        assert values(out)[0] == 3


def test_a_large_kernel_lets_other_threads_run(bind):
    flag = tensor([0], "int32")
    writer = threading.Timer(0.01, lambda: values(flag).__setitem__(0, 1))
    writer.start()
    bind("wait_for", "ptr ptr")(tensor(np.zeros(4096)), flag)
    writer.join()


def test_the_address_is_asked_for_once(library):
    asked = []

    def resolve():
        asked.append(1)
        return ctypes.cast(library.fail, ctypes.c_void_p).value

    kernel = Kernel("fail", resolve, [c_types["i32"]], abi="c")
    assert not asked
    kernel(0)
    kernel(0)
    assert asked == [1]


def test_an_error_while_resolving_leaves_the_kernel_usable(library):
    addresses = [ctypes.cast(library.fail, ctypes.c_void_p).value]

    def resolve():
        if len(addresses) == 1:
            addresses.append(0)
            raise FileNotFoundError("no library")
        return addresses[0]

    kernel = Kernel("fail", resolve, [c_types["i32"]], abi="c")
    assert message(lambda: kernel(0), FileNotFoundError) == "no library"
    kernel(0)


# ---------------------------------------------------------------- refusals
def test_wrong_count(scale):
    assert message(lambda: scale(None), TypeError) == "kernel scale: expected 4 arguments (ptr, ptr, f32, u64), got 1"


def test_keywords(scale):
    assert message(lambda: scale(n=3), TypeError) == "kernel scale takes no keyword arguments, got 'n'"


def test_a_number_for_a_pointer(scale):
    assert message(lambda: scale(140737, None, 1.0, 1), TypeError) == (
        "kernel scale, argument 1 (npu.ptr): expected a tensor, tensor_ptr(tensor) or None, got int 140737; "
        f"where a number is meant, declare its C type: {SCALARS}"
    )


def test_a_string_for_a_number(scale):
    x = tensor([1])
    assert message(lambda: scale(x, x, "two", 1), TypeError) == (
        "kernel scale, argument 3 (npu.f32): expected a real number, got str 'two'"
    )


def test_a_tensor_for_a_number(scale):
    x = tensor([1])
    assert message(lambda: scale(x, x, x, 1), TypeError) == (
        "kernel scale, argument 3 (npu.f32): expected a real number, got a tensor of shape [1]"
    )


def test_a_float_for_an_int(scale):
    x = tensor([1])
    assert message(lambda: scale(x, x, 1.0, 2.0), TypeError) == (
        "kernel scale, argument 4 (npu.u64): expected an int, got float 2.0"
    )


def test_another_typed_scalar(scale):
    x = tensor([1])
    assert message(lambda: scale(x, x, TypedScalar(c_types["f64"], 2.0), 1), TypeError) == (
        "kernel scale, argument 3 (npu.f32): expected a real number or npu.f32(...), got npu.f64(2.0)"
    )


def test_out_of_range(scale):
    x = tensor([1])
    assert message(lambda: scale(x, x, 1.0, -1), OverflowError) == (
        "kernel scale, argument 4 (npu.u64): expected 0 to 18446744073709551615, got -1"
    )
    assert message(lambda: scale(x, x, 1e39, 1), OverflowError) == (
        "kernel scale, argument 3 (npu.f32): expected a magnitude of at most 3.40282e+38, got 1e+39"
    )


def test_wrong_dtype(scale):
    x = tensor([1], "float64")
    assert message(lambda: scale(x, x, 1.0, 1), RuntimeError) == (
        "kernel scale, argument 1 (npu.ptr): expected dtype float32, got float64"
    )


def test_dtypes_of_another_category_are_not_checked(scale):
    """A float kernel's workspace of bytes and its integer indices are no mistake."""
    scale(tensor([1], "uint8"), tensor([0]), 1.0, 0)


def test_dtypes_by_argument(bind):
    kernel = bind("scale", "ptr ptr f32 u64", dtypes=((dtypes["int64"],), None, None, None))
    kernel(tensor([1], "int64"), tensor([1], "float64"), 1.0, 0)
    assert message(lambda: kernel(tensor([1], "int32"), None, 1.0, 0), RuntimeError) == (
        "kernel scale, argument 1 (npu.ptr): expected dtype int64, got int32"
    )
    assert message(lambda: kernel(tensor([1], "float32"), None, 1.0, 0), RuntimeError) == (
        "kernel scale, argument 1 (npu.ptr): expected dtype int64, got float32"
    )


def test_wrong_device(scale):
    x = tensor([1])
    on_meta = alloc((1,), dtypes["float32"], "meta")
    assert message(lambda: scale(x, on_meta, 1.0, 1), RuntimeError) == (
        "kernel scale, argument 2 (npu.ptr): expected a tensor on cpu, got a tensor on meta"
    )
    assert message(lambda: scale(x, npu.DevicePointer(64, "npu:1"), 1.0, 1), RuntimeError) == (
        "kernel scale, argument 2 (npu.ptr): expected a pointer on cpu, got a pointer on npu:1"
    )


def test_not_contiguous(scale):
    x = as_strided(tensor([1, 2, 3, 4]), (2, 2), (1, 2))
    assert message(lambda: scale(x, x, 1.0, 1), RuntimeError) == (
        "kernel scale, argument 1 (npu.ptr): expected a contiguous tensor, got shape [2, 2] with strides [1, 2]; "
        "pass x.contiguous(), in YAML contiguous(x)"
    )


def test_a_freed_tensor(scale):
    x, out = tensor([1]), tensor([1])
    x.untyped_storage().resize_(0)
    assert message(lambda: scale(out, x, 1.0, 1), RuntimeError) == (
        "kernel scale, argument 2 (npu.ptr): expected a tensor with memory, got one whose storage was freed"
    )


def test_data_that_is_not_bytes(bind):
    kernel = bind("copy_bytes", "host ptr u32")
    assert message(lambda: kernel(3, None, 0), TypeError) == (
        "kernel copy_bytes, argument 1 (npu.host): expected bytes-like data, got int 3"
    )


def test_a_nonzero_return(bind):
    kernel = bind("fail", "i32")
    assert message(lambda: kernel(2), RuntimeError) == (
        "kernel fail returned 2 (shapes that do not fit one another, or more than 64 dimensions)"
    )
    assert message(lambda: kernel(-7), RuntimeError) == (
        "kernel fail returned -7 (a code of its own; a kernel returns int, 0 for success)"
    )


def test_a_type_that_is_none():
    assert message(lambda: Kernel("k", 1, [float]), TypeError) == (
        f"kernel k, argument 1: expected a C type (ptr, host, desc, context, {SCALARS}), got type <class 'float'>"
    )


def test_an_unknown_abi():
    assert message(lambda: Kernel("k", 1, [], abi="cuda"), ValueError) == (
        "kernel k: abi must be 'ascendc' or 'c', got 'cuda'"
    )


def test_a_descriptor_for_an_ascendc_kernel():
    assert message(lambda: Kernel("k", 1, [c_types["desc"]]), TypeError) == (
        "kernel k, argument 1: npu.desc is for kernels of abi 'c'; an AscendC kernel takes npu.ptr"
    )


def test_dtypes_of_the_wrong_length():
    with pytest.raises(
        TypeError, match=r"^kernel k: dtypes must be a tuple of dtypes, or one entry for each of its 1 arg"
    ):
        Kernel("k", 1, [c_types["ptr"]], dtypes=(None, None))


# ---------------------------------------------------------------- C types
def test_a_scalar_keeps_its_type():
    scalar = npu.f32(2.0)
    assert (scalar.ctype, scalar.value, repr(scalar)) == (npu.f32, 2.0, "npu.f32(2.0)")
    assert scalar == npu.f32(2) != npu.f64(2.0)


@pytest.mark.parametrize(
    ("name", "value", "kind", "expected"),
    [
        ("u32", 2.5, TypeError, "npu.u32: expected an int, got float 2.5"),
        ("u8", 256, OverflowError, "npu.u8: expected 0 to 255, got 256"),
        ("i8", -129, OverflowError, "npu.i8: expected -128 to 127, got -129"),
        ("i64", 2**63, OverflowError, f"npu.i64: expected {-(2**63)} to {2**63 - 1}, got {2**63}"),
        ("f16", 65520, OverflowError, "npu.f16: expected a magnitude of at most 65504, got 65520"),
        ("f64", 10**400, OverflowError, f"npu.f64: expected a magnitude of at most 1.79769e+308, got {10**400}"),
        ("bf16", "1", TypeError, "npu.bf16: expected a real number, got str '1'"),
        ("bool_", 1, TypeError, "npu.bool_: expected a bool, got int 1"),
        ("f32", None, TypeError, "npu.f32: expected a real number, got None"),
    ],
)
def test_what_a_type_refuses(name, value, kind, expected):
    assert message(lambda: c_types[name](value), kind) == expected


def test_a_pointer_type_is_not_called():
    assert message(lambda: npu.ptr(3), TypeError) == (
        "npu.ptr is not a scalar type: pass a tensor, tensor_ptr(tensor) or None as the argument itself"
    )


def test_bits_agree_with_numpy():
    rng = np.random.default_rng(0)
    for number in [*rng.uniform(-65000, 65000, 200), *rng.uniform(-1e-7, 1e-7, 200), np.inf, -np.inf, 0.0, -0.0]:
        assert npu.f16.bits(number) == int(np.float16(number).view(np.uint16))
        assert npu.f32.bits(number) == int(np.float32(number).view(np.uint32))
    assert npu.i16.bits(-2) == 0xFFFE


def test_bfloat16_bits_agree_with_pytorch():
    pytorch = pytest.importorskip("torch")
    rng = np.random.default_rng(1)
    for number in [*rng.standard_normal(200), 1.00390625, 1.01171875, np.inf, 3.3e38]:
        expected = (
            pytorch.tensor(number, dtype=pytorch.float32).to(pytorch.bfloat16).view(pytorch.int16).item() & 0xFFFF
        )
        assert npu.bf16.bits(float(number)) == expected
    assert npu.bf16.bits(float("nan")) & 0x7FFF > 0x7F80


def test_pointers_add():
    pointer = npu.DevicePointer(4096, "npu:1")
    assert (int(pointer + 64), (pointer + 64).device) == (4160, torch.device("npu:1"))
    assert (pointer + 64) - pointer == 64
    assert repr(pointer - 4000) == "DevicePointer(0x60, device='npu:1')"


def test_types_that_arguments_carry():
    x = tensor([1])
    assert argument_types("k", [x, None, tensor_ptr(x), b"", npu.u8(1)]) == (
        npu.ptr,
        npu.ptr,
        npu.ptr,
        npu.host,
        npu.u8,
    )
    assert message(lambda: argument_types("k", [x, 2.0]), TypeError) == (
        "kernel k, argument 2: a bare number has no C type, got float 2.0; "
        f"write npu.f32(2.0) or another of {SCALARS}, as the kernel declares it"
    )
    assert message(lambda: argument_types("k", ["x"]), TypeError) == (
        "kernel k, argument 1: expected a tensor, tensor_ptr(tensor), None, bytes or a typed scalar "
        f"({SCALARS}), got str 'x'"
    )


def test_allocating_for_two_operands():
    x, y = alloc((2, 1), dtypes["int64"], "cpu"), alloc((3,), dtypes["float16"], "cpu")
    assert (alloc_broadcast(x, y).shape, alloc_broadcast(x, y).dtype) == ((2, 3), dtypes["float16"])
    assert alloc_broadcast(x, y, dtype=dtypes["bool"]).dtype is dtypes["bool"]
    with pytest.raises(TypeError, match=r"alloc_broadcast\(\): argument 'dtype' must be a dtype, not str"):
        alloc_broadcast(x, x, "no such")
    with pytest.raises(RuntimeError, match="broadcast"):
        alloc_broadcast(alloc((2,)), alloc((3,)))


def test_element_counts_do_not_overflow():
    """Of several tensors together, and of some of the sizes of an empty one: the sanitizer sees either."""
    assert torch.ops.aten.select_backward(torch.zeros(0), [2**62, 2, 0], 0, 0).shape == (2**62, 2, 0)
    mask = torch.tensor([[True, False, True]]).expand(2, 3)
    with pytest.raises(RuntimeError), pytest.warns(UserWarning, match="expanded tensors"):
        torch.ops.aten.masked_fill_.Scalar(torch.tensor(3).expand(2**62), mask, 0.5)
