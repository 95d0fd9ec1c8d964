"""The calls that the project was asked for, word for word."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor
from mindtorch_v2.autograd import Function
from mindtorch_v2.library import Library, custom_op


@pytest.fixture
def myops() -> Any:
    """A namespace `myops` of its own for each test."""
    lib = Library("myops", "DEF")
    yield lib
    lib._destroy()
    gc.collect()


def test_custom_op_scaled_add() -> None:
    @custom_op("myops::scaled_add", mutates_args=())
    def scaled_add(x: Tensor, y: Tensor, scale: float = 1.0) -> Tensor:
        return x + scale * y

    @scaled_add.register_fake
    def _(x: Tensor, y: Tensor, scale: float = 1.0) -> Tensor:
        return torch.empty_like(x)

    where = []

    @scaled_add.register_kernel("npu")
    def scaled_add_npu(x: Tensor, y: Tensor, scale: float = 1.0) -> Tensor:
        where.append(x.device.type)
        return x + y * scale

    seen = []

    def setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        x, y, scale = inputs  # noqa: RUF059
        seen.append(scale)
        ctx.save_for_backward(y)
        ctx.scale = scale

    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        (y,) = ctx.saved_tensors  # noqa: RUF059
        return grad, grad * ctx.scale, None

    scaled_add.register_autograd(backward, setup_context=setup)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.tensor([10.0, 20.0], requires_grad=True)
    z = scaled_add(x, y, scale=2.0)
    assert z.tolist() == [21.0, 42.0]
    z.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    assert y.grad.tolist() == [2.0, 2.0]
    scaled_add(x, y).sum().backward()
    assert seen == [2.0, 1.0]
    assert where == []
    on_npu = scaled_add(x.detach().npu(), y.detach().npu(), scale=3.0)
    assert where == ["npu"]
    assert on_npu.device.type == "npu"
    assert on_npu.cpu().tolist() == [31.0, 62.0]
    meta = scaled_add(torch.empty(2, device="meta"), torch.empty(2, device="meta"))
    assert meta.device.type == "meta"
    assert meta.shape == (2,)


def test_old_style_function() -> None:
    class MyReLU(Function):
        @staticmethod
        def forward(ctx: Any, input: Tensor) -> Tensor:
            ctx.save_for_backward(input)
            return input.clamp(min=0)

        @staticmethod
        def backward(ctx: Any, grad_output: Tensor) -> Tensor:
            (input,) = ctx.saved_tensors
            grad = grad_output.clone()
            grad[input < 0] = 0
            return grad

    x = torch.tensor([-1.0, 0.5, 2.0], requires_grad=True)
    y = MyReLU.apply(x)
    assert y.tolist() == [0.0, 0.5, 2.0]
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 1.0]


def test_new_style_function() -> None:
    class MyMul(Function):
        @staticmethod
        def forward(x: Tensor, y: Tensor) -> Tensor:
            return x * y

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            x, y = inputs
            ctx.save_for_backward(x, y)

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
            x, y = ctx.saved_tensors
            return grad * y, grad * x

    x = torch.tensor([2.0, 3.0], requires_grad=True)
    y = torch.tensor([5.0, 7.0], requires_grad=True)
    MyMul.apply(x, y).sum().backward()
    assert x.grad.tolist() == [5.0, 7.0]
    assert y.grad.tolist() == [2.0, 3.0]


def test_library_define_and_impl(myops: Library) -> None:
    lib = myops

    def my_add_cpu(x: Tensor, y: Tensor) -> Tensor:
        return x + y

    lib.define("my_add(Tensor x, Tensor y) -> Tensor")
    lib.impl("my_add", my_add_cpu, "CPU")
    assert torch.ops.myops.my_add(torch.ones(2), torch.ones(2)).tolist() == [2.0, 2.0]


def test_library_decorators(myops: Library) -> None:
    myops.define("my_add(Tensor x, Tensor y) -> Tensor")

    @torch.library.impl("myops::my_add", "CPU")
    def my_add_cpu(x: Tensor, y: Tensor) -> Tensor:
        return x + y

    @torch.library.register_fake("myops::my_add")
    def my_add_fake(x: Tensor, y: Tensor) -> Tensor:
        return torch.empty_like(x)

    assert torch.ops.myops.my_add(torch.ones(2), torch.ones(2)).tolist() == [2.0, 2.0]
    out = torch.ops.myops.my_add(torch.empty(2, 3, device="meta"), torch.empty(2, 3, device="meta"))
    assert out.device.type == "meta"
    assert out.shape == (2, 3)


ADD_CUSTOM = """
#include "kernel_operator.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void add_custom(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total) {
    uint32_t length = total / GetBlockNum();
    GlobalTensor<float> xg, yg, zg;
    xg.SetGlobalBuffer((__gm__ float*)x + length * GetBlockIdx(), length);
    yg.SetGlobalBuffer((__gm__ float*)y + length * GetBlockIdx(), length);
    zg.SetGlobalBuffer((__gm__ float*)z + length * GetBlockIdx(), length);
    TPipe pipe;
    TQue<QuePosition::VECIN, 1> inx, iny;
    TQue<QuePosition::VECOUT, 1> outz;
    pipe.InitBuffer(inx, 1, length * sizeof(float));
    pipe.InitBuffer(iny, 1, length * sizeof(float));
    pipe.InitBuffer(outz, 1, length * sizeof(float));
    LocalTensor<float> a = inx.AllocTensor<float>();
    LocalTensor<float> b = iny.AllocTensor<float>();
    DataCopy(a, xg, length);
    DataCopy(b, yg, length);
    inx.EnQue(a);
    iny.EnQue(b);
    a = inx.DeQue<float>();
    b = iny.DeQue<float>();
    LocalTensor<float> c = outz.AllocTensor<float>();
    Add(c, a, b, length);
    outz.EnQue(c);
    inx.FreeTensor(a);
    iny.FreeTensor(b);
    c = outz.DeQue<float>();
    DataCopy(zg, c, length);
    outz.FreeTensor(c);
}
"""


def test_ascendc_op(tmp_path: Path) -> None:
    from mindtorch_v2.npu import KernelLauncher, alloc_like, ascendc_op, synchronize, tensor_ptr, u32

    source = tmp_path / "add_custom.cpp"
    source.write_text(ADD_CUSTOM)
    launcher = KernelLauncher.from_source("add_custom", [str(source)])

    @ascendc_op("mylib::vector_add")
    def vector_add(x: Tensor, y: Tensor) -> Tensor:
        out = alloc_like(x)
        launcher.launch("add_custom", block_dim=8, args=[tensor_ptr(x), tensor_ptr(y), tensor_ptr(out), u32(x.numel())])
        return out

    x = torch.ones(2048, device="npu")
    y = torch.ones(2048, device="npu")
    z = vector_add(x, y)
    synchronize()
    assert z.device.type == "npu"
    assert z.cpu().tolist() == [2.0] * 2048
