"""Generated modules at work in the runtime: what the example does not show."""

from __future__ import annotations

import importlib.util

import pytest

import mindtorch_v2 as torch
from tests.codegen.support import run

TEXT = """\
namespace: codegen_run
ops:
- func: cube(Tensor x) -> Tensor
  kernels: [{compute: x * x * x}]
- func: halve_(Tensor(a!) self) -> Tensor(a!)
  kernels: [{compute: self / 2}]
  backward: {self: grad / 2}
- func: choose(Tensor x, int n, *, bool flag=True) -> Tensor
  check: [n > 0 and n < 10]
  fake: {like: x}
  kernels:
  - {device: cpu, compute: x * n, when: flag}
  - {device: cpu, compute: x + n, when: n > 5}
  backward: {x: grad * n if flag else grad}
- func: both(Tensor x, Tensor y) -> (Tensor, Tensor)
  fake: [{like: x}, {like: y}]
  kernels: [{device: cpu, compute: [x * y, x + y]}]
  backward:
    x: grads[0] * y + grads[1]
    y: grads[0] * x + grads[1]
- func: doubled(Tensor x) -> Tensor
  fake: {like: x}
  kernels:
  - {device: cpu, source: k.c, abi: c, symbol: doubled, workspace: 4 * x.numel(), dtypes: [int32],
     args: [x, workspace, out, u64(x.numel())]}
  backward: not_differentiable
- func: found(Tensor x, Tensor y, Tensor? index=None) -> (Tensor place, Tensor value)
  fake: [{shape: x.shape, dtype: int64}, {shape: x.shape, dtype: float64}]
  kernels:
  - {device: cpu, source: k.c, symbol: found, dtypes: [float32], args: [x, place, value, index, u64(x.numel())]}
  backward: not_differentiable
- func: mean(Tensor x, int n) -> Tensor
  fake: {shape: '[]', dtype: float64}
  kernels:
  - {device: cpu, source: k.c, symbol: mean, dtypes: [float32], args: [x, out, f64(float(n)), f32(2), u64(x.numel())]}
  backward: not_differentiable
"""
# The sum goes through the workspace, which is bytes: the kernel's dtypes are about the tensors alone.
C = """\
#include <stdint.h>
int doubled(const int32_t* x, int32_t* workspace, int32_t* out, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) workspace[i] = x[i] + x[i];
  for (uint64_t i = 0; i < n; ++i) out[i] = workspace[i];
  return 0;
}
int found(const float* x, int64_t* place, double* value, const float* index, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) place[i] = (int64_t)i, value[i] = x[i];
  return 0;
}
int mean(const float* x, double* out, double n, float two, uint64_t numel) {
  *out = 0;
  for (uint64_t i = 0; i < numel; ++i) *out += x[i] * two / n;
  return 0;
}
"""


@pytest.fixture(scope="module")
def ops(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    files, shown = run(folder, TEXT)
    assert shown == ""
    (folder / "k.c").write_text(C)
    path = folder / "generated" / "codegen_run_ops.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(files["ops.py"])
    spec = importlib.util.spec_from_file_location("codegen_run_ops", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_integers_reach_a_kernel_as_the_floats_that_they_are_declared_to_be(ops):
    x = torch.arange(4, dtype=torch.float32)
    assert ops.mean(x, 3).item() == 4.0


def test_a_composed_operator_has_gradients_through_its_parts(ops):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    ops.cube(x).sum().backward()
    assert x.grad.tolist() == [3.0, 12.0]


def test_a_workspace_has_no_dtype_of_the_kernel(ops):
    assert ops.doubled(torch.tensor([1, 2, 3], dtype=torch.int32)).tolist() == [2, 4, 6]
    with pytest.raises(RuntimeError, match=r"argument 1 \(npu.ptr\): expected dtype int32, got int64"):
        ops.doubled(torch.tensor([1, 2, 3]))


def test_the_dtypes_of_a_kernel_are_those_of_all_tensor_arguments_and_of_no_output(ops):
    x = torch.tensor([1.5, 2.5])
    assert [out.tolist() for out in ops.found(x, x, x)] == [[0, 1], [1.5, 2.5]]
    for dtype in (torch.float64, torch.int64, torch.bool, torch.complex64):
        for arguments in ((x.to(dtype), x), (x, x.to(dtype))):  # that are there, and one that the kernel does not get
            with pytest.raises(RuntimeError) as caught:
                ops.found(*arguments)
            given = ", ".join(f"{name}.dtype = {a.dtype}" for name, a in zip("xy", arguments, strict=True))
            assert str(caught.value) == (
                "codegen_run::found: expected arguments that a kernel for CPU takes: x.dtype to be torch.float32 and "
                f"y.dtype to be torch.float32, got {given}"
            )
        with pytest.raises(RuntimeError, match=r"argument 'index': .*: expected dtype"):
            ops.found(x, x, x.to(dtype))
        with pytest.raises(RuntimeError, match=r"argument 1 \(npu.ptr\): expected dtype"):
            ops.doubled(x.to(dtype))


def test_in_place_writes_to_its_argument_and_returns_it(ops):
    x = torch.tensor([2.0, 4.0])
    assert ops.halve_(x) is x
    assert x.tolist() == [1.0, 2.0]
    leaf = torch.tensor([2.0], requires_grad=True)
    ops.halve_(leaf * 1).sum().backward()
    assert leaf.grad.tolist() == [0.5]


def test_the_first_kernel_that_fits_runs_and_none_is_an_error(ops):
    x = torch.tensor([1.0], requires_grad=True)
    assert ops.choose(x, 3).tolist() == [3.0]
    assert ops.choose(x, 6, flag=False).tolist() == [7.0]
    with pytest.raises(RuntimeError) as caught:
        ops.choose(x, 3, flag=False)
    assert str(caught.value) == (
        "codegen_run::choose: expected arguments that a kernel for CPU takes: flag to be True; or n to be greater "
        "than 5, got flag = False, n = 3"
    )


def test_a_precondition_names_the_values(ops):
    with pytest.raises(RuntimeError) as caught:
        ops.choose(torch.tensor([1.0]), 12)
    assert str(caught.value) == "codegen_run::choose: expected n to be less than 10, got n = 12"


def test_several_outputs_of_which_one_is_used(ops):
    x, y = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    ops.both(x, y)[0].sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([3.0], [2.0])
