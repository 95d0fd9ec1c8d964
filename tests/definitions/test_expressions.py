"""What the language of YAML files can say, said as definitions: conditions of every kind, and what is composed."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import mindtorch_v2 as torch
from tests.codegen.support import ZOO, load
from tests.runtime.both import fresh_namespace

ARGUMENTS = (
    "Tensor x, Tensor y, Tensor[] ys, int n, float f, bool b, str s, Scalar a, int[] d, ScalarType t, Device dev, "
    "float[] fs, bool[] bs, Tensor? w=None, int? k=None, int[]? dd=None"
)
# All are true of `values()`; a bar stands between two.
CONDITIONS = """
x.dim() == 2 | x.ndim == 2 | x.size(-1) == 3 | x.size() == [2, 3] | x.shape == [2, 3] | x.shape[-1] == 3
x.shape[1:] == [3] | x.shape[:-1] == [2] | len(x.shape) == 2 | prod(x.shape) == 6 | sum(x.shape) == 5
min(x.shape) == 2 | max(x.shape) == 3 | x.numel() == 6 | x.element_size() == 4 | x.itemsize == 4 | x.nbytes == 24
sizeof(x) == 4 | sizeof(t) == 8 | x.dtype == float32 | x.dtype in [float32, float64] | x.dtype not in [float16]
x.dtype.is_floating_point | t.itemsize == 8 | x.is_floating_point() | not x.is_complex() | not t.is_complex
t.is_signed | x.dtype.is_signed and not x.dtype == bool | x.device == dev | x.device.type == "cpu" | dev.type == "cpu"
dev.index is None | not x.device.index is not None | x.is_contiguous() | x.stride(0) == 3 | x.stride() == [3, 1]
x.storage_offset() == 0 | not x.requires_grad | n // 3 == 1 | n % 3 == 1 | n / 8 == 0.5 | n ** 2 == 16
f ** 2 == 6.25 | 2 ** -n == 0.0625 | -n == -4 | ceil_div(n, 3) == 2 | align_up(n, 3) == 6 | max(n, 7, 9) == 9
max([n, 7]) == 7 | abs(-n) == 4 | abs(f - 3) == 0.5 | int(f) == 2 | float(n) == 4.0 | sqrt(n) == 2.0
exp(0 * f) == 1.0 | log(n / 4) == 0 | floor(f) == 2 | ceil(f) == 3 | f < inf | n < f * 2 | 0 < n < 5 | n in [3, 4]
n not in [5] | n == 4 or n == 3 | n == 4 and f > 2 | not n == 3 | (n if b else 0) == 4 | (n if not b else 0) == 0 | b
b == True | s == "mean" | s != "sum" | s in ["mean", "sum"] | a == 3 | a + 1 == 4 | a > 2 | float(a) == 3
int(a) == 3 | d == [1, 0] | d != [1] | len(d) == 2 | d[-1] == 0 | sum(d) == 1 | max(d) == 1 | prod(d) == 0
[*d] == [1, 0] | [n, *d] == [4, 1, 0] | d + [2] == [1, 0, 2] | d[n - 3] == 0 | x.size(d[0]) == 3 | 1 in d | 7 not in d
len(fs) == 2 | fs[1] == 1.5 | fs[n - 3] == 1.5 | 1.5 in fs | bs[0] | not bs[1] | len(bs) == 2 | k is None
k is None or k > 2 | k is not None or n == 4 | dd is None | w is None or w.dim() == 1
(0 if w is None else w.numel()) == 0 | (0 if k is None else k) == 0 | len(ys) == 2 | ys[0].shape == x.shape
ys[1].dtype == x.dtype | broadcast_shapes(x.shape, d[:1]) == [2, 3] | can_cast(x.dtype, t)
promote_types(x.dtype, t) == float64 | result_type(x, n) == float32 | result_type(x, a) == float32
n == 0 or x.size(n - 3) == 3 | n == 4 or n // 0 == 1 | (x.numel() if n == 4 else n // 0) == 6
x.size(0) * x.size(1) == x.numel()
"""
FORMULAS = """
x.T | x.mT | x.T @ x | n - x | n / x | n ** x | x ** n | n // x.detach() | x.detach() // n | n % x.detach() | x % 2
-x | x < n | n == x | x != 1 | x * f + a | cat([x, y]) | cat([x, y, x + 1], 1) | cat(ys) | cat([*ys, x]) | cat([x, *ys])
stack([x, y])
where(x > n, x, 0) | zeros([2, 3]) | x + zeros([2, 3]) | full([2], f) | zeros(x.shape, dtype=t) | arange(n)
x.sum([0, 1], True) | x.mean(-1, keepdim=True) | x.to(t) | x.to(y.dtype) | x.view([n - 1, 2]) | x.view(-1)
x.reshape(-1, 2) | x.permute(1, 0) | x.expand(2, 3) | x.repeat(2, n) | x[0] | x[0, 1] | x[:, 1:] | x[None] | x[-1]
x[:n] | x[:, None, 1] | x[n - 4] | x[arange(2)] | x[1, x[1] > 4] | x.max(0)[0] | x.clamp(min=0, max=f)
(x if n > 3 else y) * 2 | min(n, 3) * x | max(f, 1.0) * x | x * prod(x.shape) | x.split(1)[0] | x.chunk(2)[1]
x.unbind()[n - 3] | stack(x.unbind(1)) | x.sum().item() * x | x * inf | x.new_zeros([n]) | ones_like(x)
x * (1 if k is None else k) | x if w is None else x * w | x.sum(dtype=t) | x.sum(d) | fs[1] * x | x if bs[0] else y
"""


def listed(text: str) -> list[str]:
    return [case.strip() for line in text.split("\n") for case in line.split(" | ") if case.strip()]


def entry(name: str, rest: str) -> str:
    return f"- func: {name}({ARGUMENTS}) -> Tensor\n  {rest}\n"


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    checks = "".join(
        entry(
            f"{name}{i}",
            f"check: [{quoted(case)}]\n  fake: {{like: x}}\n  kernels: [{{device: cpu, compute: x * 1}}]\n"
            "  backward: not_differentiable",
        )
        for i, condition in enumerate(listed(CONDITIONS))
        for name, case in (("holds", condition), ("fails", f"not ({condition})"))
    )
    formulas = "".join(
        entry(f"formula{i}", f"kernels: [{{compute: {quoted(case)}}}]") for i, case in enumerate(listed(FORMULAS))
    )
    return load(tmp_path_factory.mktemp("said"), f"namespace: {fresh_namespace()}\nops:\n{checks}{formulas}")


def values() -> dict[str, Any]:
    x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    return {
        "x": x, "y": x + 1, "ys": [x, x + 1], "n": 4, "f": 2.5, "b": True, "s": "mean", "a": 3, "d": [1, 0],
        "t": torch.float64, "dev": torch.device("cpu"), "fs": [0.5, 1.5], "bs": [True, False],
    }  # fmt: skip


@pytest.mark.parametrize("number", range(len(listed(CONDITIONS))), ids=listed(CONDITIONS))
def test_a_condition(generated: ModuleType, number: int) -> None:
    given = values()
    assert getattr(generated, f"holds{number}")(*given.values()).shape == (2, 3)
    with pytest.raises(torch.library.CheckError):
        getattr(generated, f"fails{number}")(*given.values())


@pytest.mark.parametrize("number", range(len(listed(FORMULAS))), ids=listed(FORMULAS))
def test_what_is_composed(generated: ModuleType, number: int) -> None:
    given = values()
    for name in ("x", "y"):
        given[name].requires_grad_()
    names = {name: getattr(torch, name) for name in dir(torch)}
    names |= {"min": min, "max": max, "prod": math.prod, "inf": math.inf, "w": None, "k": None} | given
    expected = eval(listed(FORMULAS)[number], names)
    found = getattr(generated, f"formula{number}")(*given.values())
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert torch.equal(found, expected)
    if expected.requires_grad:
        assert found.requires_grad
        for ours, theirs in zip(
            torch.autograd.grad(found.sum(), [given["x"], given["y"]], allow_unused=True),
            torch.autograd.grad(expected.sum(), [given["x"], given["y"]], allow_unused=True),
            strict=True,
        ):
            assert (ours is None) == (theirs is None)
            assert ours is None or torch.equal(ours, theirs)


def test_every_program_of_the_zoo_can_be_made(tmp_path: Path) -> None:
    folder = tmp_path / "src"
    folder.mkdir()
    for name in ("odd.cpp", "more.cpp"):
        (folder / name).write_text("")
    load(tmp_path, ZOO.read_text())._lib.check()


def test_numbers_that_are_drawn_are_drawn_in_every_call(tmp_path: Path) -> None:
    ops = load(
        tmp_path,
        f"namespace: {fresh_namespace()}\nops:\n- func: drawn() -> Tensor\n  kernels: [compute: 'rand([4])']\n",
    )
    assert ops.drawn().tolist() != ops.drawn().tolist()


FACTORY = """\
namespace: {ns}
ops:
- func: made(int[] size, *, ScalarType? dtype=None, Device? device=None) -> Tensor
  fake: {{shape: size, dtype: dtype, device: device}}
  kernels: [{{device: [cpu, npu], python: 'tests.definitions.helpers:made'}}]
- func: queued(Tensor x) -> Tensor
  fake: {{like: x}}
  kernels: [{{device: npu, library: libqueued.so, symbol: queued, block_dim: 1, args: [stream, out]}}]
  backward: not_differentiable
"""
# A function of the host that queues kernels itself, here none.
QUEUED = """\
#include <stdint.h>
uint32_t aclrtlaunch_queued(uint32_t block_dim, void* stream, void* given, void* out) {
  return given == stream && out ? 0 : 1;
}
"""


@pytest.fixture(scope="module")
def factories(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    folder = tmp_path_factory.mktemp("factories")
    (folder / "queued.c").write_text(QUEUED)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "libqueued.so", "queued.c"], cwd=folder, check=True)
    return load(folder, FACTORY.format(ns=fresh_namespace()))


def test_what_is_left_out_of_a_factory_is_the_default(factories: ModuleType) -> None:
    made = factories.made([2], device="meta")
    assert (made.dtype, made.shape) == (torch.float32, (2,))
    torch.set_default_dtype(torch.float64)
    try:
        assert factories.made([2], device="meta").dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert factories.made([2], dtype=torch.int64, device="meta").dtype == torch.int64
    assert factories.made([3]).tolist() == [1, 1, 1]


def test_a_kernel_may_take_the_stream_it_is_queued_on(factories: ModuleType) -> None:
    x = torch.ones(1, device="npu")
    assert factories.queued(x).shape == (1,)
    with torch.npu.stream(torch.npu.Stream()):
        assert factories.queued(x).shape == (1,)
