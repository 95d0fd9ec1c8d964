"""Operators without an NPU kernel run on the CPU; nothing else about them changes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import library, npu
from mindtorch_v2.backends import FallbackWarning
from tests.npu.conftest import on, values


@pytest.fixture
def lib():
    lib = library.Library("fallback_tests", "FRAGMENT")
    yield lib
    lib._destroy()


def define(lib, schema, kernel):
    lib.define(schema)
    name = schema.partition("(")[0]
    lib.impl(name, kernel, "CPU")
    return getattr(torch.ops.fallback_tests, name)


def test_a_result_comes_back_to_the_device(lib):
    seen = []

    def double(x):
        seen.append(x.device.type)
        return x + x

    op = define(lib, "double(Tensor x) -> Tensor", double)
    out = op(on("npu:1", [1, 2], np.float32))
    assert (seen, out.device) == (["cpu"], torch.device("npu:1"))
    np.testing.assert_array_equal(values(out), [2, 4])


def test_a_strided_argument_keeps_its_geometry(lib):
    seen = []
    op = define(lib, "strides(Tensor x) -> Tensor", lambda x: seen.append(x.stride()) or x + 0)
    x = on("npu", np.arange(6).reshape(2, 3), np.float32).t()
    np.testing.assert_array_equal(values(op(x)), np.arange(6).reshape(2, 3).T)
    assert seen == [(1, 3)]


def test_a_changed_argument_is_copied_back_and_returned_as_itself(lib):
    op = define(lib, "add_one_(Tensor(a!) x) -> Tensor(a!)", lambda x: x.add_(1))
    x = on("npu", np.arange(4), np.float32)
    view = x[1:3]
    version = x._version
    assert op(view) is view
    np.testing.assert_array_equal(values(x), [0, 2, 3, 3])
    assert x._version > version


def test_lists_and_several_outputs(lib):
    def both(xs, n):
        return xs[0] + n, xs[1] - n

    op = define(lib, "both(Tensor[] xs, int n) -> (Tensor, Tensor)", both)
    a, b = op([on("npu", [1], np.float32), on("npu", [2], np.float32)], 1)
    assert (values(a)[0], values(b)[0], b.device.type) == (2, 1, "npu")


def test_a_device_argument(lib):
    op = define(lib, "three(*, Device? device=None) -> Tensor", lambda *, device: torch.full((3,), 3.0, device=device))
    out = op(device="npu:1")
    assert out.device == torch.device("npu:1")
    np.testing.assert_array_equal(values(out), [3, 3, 3])


def test_gradients(lib):
    op = define(lib, "square(Tensor x) -> Tensor", lambda x: x * x)
    lib.register_autograd(
        "square",
        lambda ctx, grad: grad * 2 * ctx.saved_tensors[0],
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    x = on("npu", [1, 2, 3], np.float32).requires_grad_()
    op(x).sum().backward()
    np.testing.assert_array_equal(values(x.grad), [2, 4, 6])


def test_a_view_of_a_copy_is_the_same_view_of_the_tensor(lib):
    head = define(lib, "head(Tensor(a) x) -> Tensor(a)", lambda x: x[:1])
    columns = define(lib, "columns(Tensor(a) x) -> Tensor(a)[]", lambda x: list(x.unbind(1)))
    x = on("npu", np.arange(24).reshape(2, 3, 4), np.float32)
    part = x[1].t()[1:]
    first, second = head(part), columns(part)[2]
    assert (first.device, first.storage_offset(), first.stride()) == (
        x.device,
        part[:1].storage_offset(),
        part.stride(),
    )
    second.add_(100)
    np.testing.assert_array_equal(values(x)[1, 2], [20, 121, 122, 123])
    np.testing.assert_array_equal(values(first), [[13, 17, 121]])
    assert x._version == second._version == 1


def test_a_view_is_recorded(lib):
    op = define(lib, "tail(Tensor(a) x) -> Tensor(a)", lambda x: x[1:])
    lib.register_autograd("tail", lambda ctx, grad: torch.cat([torch.zeros(1, device=grad.device), grad]))
    x = on("npu", [1, 2, 3], np.float32).requires_grad_()
    y = op(x)
    assert y._base is x
    (y * 2).sum().backward()
    np.testing.assert_array_equal(values(x.grad), [0, 2, 2])


def test_a_view_in_another_dtype(lib):
    def bits(x):
        out = torch.empty(0, dtype=torch.int64)
        return out.set_(x.untyped_storage(), 0, (1,))

    op = define(lib, "bits(Tensor(a) x) -> Tensor(a)", bits)
    x = on("npu", [1, 2, 3, 4], np.float32)
    view = op(x[2:])
    assert view.is_npu
    view.fill_(0)
    assert x.tolist() == [1.0, 2.0, 0.0, 0.0]
    with pytest.raises(NotImplementedError, match="another dtype, whose elements begin between two of its own"):
        op(x[1:3])


def test_an_argument_that_is_resized(lib):
    op = define(lib, "count_into(int n, *, Tensor(a!) out) -> Tensor(a!)", lambda n, *, out: out.resize_(n).fill_(n))
    x = on("npu", [1], np.float32)
    assert op(5, out=x) is x
    np.testing.assert_array_equal(values(x), [5] * 5)


def test_one_tensor_in_two_places_is_one_copy(lib):
    op = define(lib, "same(Tensor x, Tensor[] y) -> bool", lambda x, y: x is y[0] and x is y[1])
    x = on("npu", [1, 2], np.float32)
    assert op(x, [x, x])
    assert not op(x, [x, x + 0])


def test_what_fell_back_is_counted(lib):
    op = define(lib, "counted(Tensor x) -> Tensor", lambda x: x + 1)
    npu.reset_fallback_report()
    x = on("npu", [1], np.float32)
    for _ in range(3):
        op(x)
    assert npu.fallback_report()["fallback_tests::counted"] == 3
    npu.reset_fallback_report()
    assert npu.fallback_report() == {}


warnings_are_errors = pytest.mark.filterwarnings("error::mindtorch_v2.backends.FallbackWarning")


@pytest.fixture
def counted(lib):
    """An operator without an NPU kernel, and its NPU argument; nothing fell back so far."""
    op = define(lib, "counted(Tensor x) -> Tensor", lambda x: x + 1)
    npu.reset_fallback_report()
    return op, on("npu", [1], np.float32)


@warnings_are_errors
def test_it_warns_once_for_each_operator(counted):
    op, x = counted
    with pytest.warns(FallbackWarning) as caught:
        op(x)
    (told,) = caught
    assert str(told.message) == (
        "fallback_tests::counted has no kernel for npu: it runs on the CPU, on copies of its tensors"
    )
    assert told.filename == __file__  # not a line of the runtime's
    op(x)
    npu.reset_fallback_report()
    with pytest.warns(FallbackWarning):
        op(x)


def test_a_kernel_that_does_not_take_the_arguments(lib):
    npu.reset_fallback_report()
    with pytest.warns(FallbackWarning, match=r"aten::mul.Tensor has no kernel for these arguments: it runs on the CPU"):
        on("npu", [1, 2], np.float64) * on("npu", [1, 2], np.float64)


@warnings_are_errors
def test_a_warning_that_is_an_error_refuses_each_call(counted):
    op, x = counted
    for _ in range(2):
        with pytest.raises(FallbackWarning):
            op(x)
    assert npu.fallback_report() == {}


@warnings_are_errors
def test_the_warning_can_be_silenced(counted, monkeypatch):
    op, x = counted
    monkeypatch.setenv("MINDTORCH_NPU_FALLBACK", "silent")
    op(x)
    npu.reset_fallback_report()
    monkeypatch.setenv("MINDTORCH_NPU_FALLBACK", "warn")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        op(x)
    assert npu.fallback_report() == {"fallback_tests::counted": 1}


def test_a_value_of_the_variable_that_means_nothing(counted, monkeypatch):
    op, x = counted
    monkeypatch.setenv("MINDTORCH_NPU_FALLBACK", "quiet")
    with pytest.raises(RuntimeError, match="MINDTORCH_NPU_FALLBACK=quiet: expected one of warn, silent, error"):
        op(x)


def test_it_can_be_forbidden(lib, monkeypatch):
    op = define(lib, "never(Tensor x) -> Tensor", lambda x: x + 1)
    monkeypatch.setenv("MINDTORCH_NPU_FALLBACK", "error")
    with pytest.raises(NotImplementedError) as caught:
        op(on("npu", [1], np.float32))
    assert str(caught.value) == (
        "fallback_tests::never has no NPU kernel, and MINDTORCH_NPU_FALLBACK=error forbids running it on the CPU; "
        'register one with library.impl("fallback_tests::never", "NPU")'
    )


def test_an_operator_without_any_kernel(lib):
    lib.define("nothing(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match="fallback_tests::nothing"):
        torch.ops.fallback_tests.nothing(on("npu", [1], np.float32))


# ---------------------------------------------------------------- ascendc_op
def test_ascendc_op(kernels):
    scale = kernels.bind("scale", (npu.ptr, npu.ptr, npu.f32, npu.u32))

    @npu.ascendc_op("fallback_tests::scaled")
    def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
        out = npu.alloc_like(x)
        scale(npu.ceil_div(x.numel(), 64), x, out, factor, x.numel())
        return out

    scaled.register_autograd(
        lambda ctx, grad: (scaled(grad.contiguous(), ctx.factor), None),
        setup_context=lambda ctx, inputs, output: setattr(ctx, "factor", inputs[1]),
    )
    x = on("npu", np.arange(100), np.float32).requires_grad_()
    y = scaled(x, 2.5)
    y.sum().backward()
    np.testing.assert_array_equal(values(y.detach()), np.arange(100) * np.float32(2.5))
    np.testing.assert_array_equal(values(x.grad), np.full(100, 2.5))
    like = scaled(npu.alloc((3, 2), torch.float16, "meta"), 1.0)
    assert (like.shape, like.dtype, like.device.type) == ((3, 2), torch.float16, "meta")


def test_ascendc_op_on_the_cpu_says_what_is_missing():
    @npu.ascendc_op("fallback_tests::npu_only")
    def npu_only(x: torch.Tensor) -> torch.Tensor:
        return npu.alloc_like(x)

    with pytest.raises(NotImplementedError, match="does not have a kernel registered for cpu"):
        npu_only(on("cpu", [1], np.float32))


def test_ascendc_op_with_its_own_fake_rule():
    @npu.ascendc_op("fallback_tests::rows")
    def rows(x: torch.Tensor) -> torch.Tensor:
        return npu.alloc((x.shape[0],), x.dtype, x.device)

    rows.register_fake(lambda x: npu.alloc((x.shape[0],), x.dtype, x.device))
    assert rows(npu.alloc((3, 2), torch.float32, "meta")).shape == (3,)


@pytest.mark.parametrize(
    ("a", "b", "expected"), [(0, 4, 0), (1, 4, 1), (4, 4, 1), (5, 4, 2), (2**40 + 1, 2, 2**39 + 1)]
)
def test_ceil_div(a, b, expected):
    assert npu.ceil_div(a, b) == expected


@pytest.mark.parametrize(("n", "alignment", "expected"), [(0, 32, 0), (1, 32, 32), (32, 32, 32), (33, 32, 64)])
def test_align_up(n, alignment, expected):
    assert npu.align_up(n, alignment) == expected


def test_elements_that_share_memory_are_written_back():
    x = on("npu", [1.0, 2.0], np.float32)
    torch.nn.init.ones_(x[:1].expand(4))
    np.testing.assert_array_equal(values(x), [1, 2])
    torch.nn.init.constant_(x[1:].expand(3, 1), 5.0)
    np.testing.assert_array_equal(values(x), [1, 5])
