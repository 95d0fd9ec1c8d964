"""A kernel's failure becomes PyTorch's class and words about the operator's arguments; and what tracebacks show."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch as pytorch

import mindtorch_v2 as ours
from mindtorch_v2 import library, npu
from mindtorch_v2._core import Kernel
from mindtorch_v2._core_failures import IndexOutOfRangeError
from tests.ops.both import raised
from tests.runtime.both import fresh_namespace

WORDS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "an integer by zero": (lambda t: t.tensor([1]) // 0, "ZeroDivisionError"),
    "a remainder by zero": (lambda t: t.tensor([1]) % t.tensor([0]), "ZeroDivisionError"),
    "an addition": (
        lambda t: t.ones(2) + t.ones(3),
        "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"),
    "an output too small": (
        lambda t: t.ones(2).add_(t.ones(3, 2)), "output with shape [2] doesn't match the broadcast shape [3, 2]"),
    "an output that differs": (
        lambda t: t.ones(2, 2).mul_(t.ones(3)),
        "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 1"),
    "a copy": (
        lambda t: t.ones(3).copy_(t.ones(4)),
        "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0"),
    "a copy in inference mode": (
        lambda t: t.inference_mode()(lambda: t.ones(3).copy_(t.ones(4)))(),
        "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0"),
    "an operator of integers": (
        lambda t: t.ones(3).bitwise_and(t.ones(3)), "\"bitwise_and_cpu\" not implemented for 'Float'"),
    "a dimension out of range": (
        lambda t: t.softmax(t.ones(3), 5),
        "Dimension out of range (expected to be in range of [-1, 0], but got 5)"),
    "a dimension of a number": (
        lambda t: t.log_softmax(t.tensor(1.0), 1),
        "Dimension out of range (expected to be in range of [-1, 0], but got 1)"),
    "a dimension in backward": (
        lambda t: t.ops.aten._softmax_backward_data(t.ones(3), t.ones(3), -2, t.float32),
        "Dimension out of range (expected to be in range of [-1, 0], but got -2)"),
    "a mask of numbers": (
        lambda t: t.ones(2).masked_fill(t.tensor([1, 0]), 2.0), "only supports boolean masks"),
    "a mask of numbers, in place": (
        lambda t: t.ones(2).masked_fill_(t.tensor([1, 0]), 2.0), "only supports boolean masks"),
    "a condition of numbers": (
        lambda t: t.where(t.ones(2), t.ones(2), t.ones(2)), "where expected condition to be a boolean tensor"),
    "ends of two dtypes": (
        lambda t: t.lerp(t.ones(2), t.ones(2, dtype=t.float64), 0.5), "for `end` but got dtype"),
    "a number out of range": (
        lambda t: t.ops.aten.fill_.Scalar(t.ones(3, dtype=t.int64), 1e30),
        "value cannot be converted to type int64_t without overflow"),
}  # fmt: skip


@pytest.mark.parametrize("case", WORDS)
def test_pytorchs_words(case: str) -> None:
    function, words = WORDS[case]
    mine, theirs = raised(function)
    assert words in str(theirs)
    assert isinstance(mine, type(theirs))
    assert words in str(mine)


@pytest.mark.parametrize("call", [lambda a, b: a.copy_(b), lambda a, b: b.copy_(a)], ids=["to npu", "from npu"])
def test_a_copy_between_devices_names_both_shapes(call: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(RuntimeError) as caught:
        call(ours.ones(3, 2).npu(), ours.ones(4, 5))
    assert "[3, 2]" in str(caught.value)
    assert "[4, 5]" in str(caught.value)


# ---------------------------------------------------------------- kernels of one's own

OWN_CODE = "a code of its own; a kernel returns int, 0 for success)"
STATUSES: dict[int, tuple[type[Exception], str]] = {
    1: (NotImplementedError, "\"scaled_cpu\" not implemented for 'Double'"),
    2: (RuntimeError, "{name}: the shapes of its arguments do not fit one another: x [3], y [2, 1]"),
    3: (RuntimeError, "ZeroDivisionError"),
    4: (IndexOutOfRangeError, "{name}: index out of range: x [3], y [2, 1]"),
    5: (MemoryError, "{name}: out of memory: no room for a temporary of the size of its arguments: x [3], y [2, 1]"),
    17: (
        library.KernelError,
        "{name}: kernel fail returned 17 (" + OWN_CODE,
    ),
    -1: (
        library.KernelError,
        "{name}: kernel fail returned -1 (" + OWN_CODE,
    ),
}


@pytest.fixture(scope="module")
def fail(tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    folder = tmp_path_factory.mktemp("fail")
    (folder / "fail.c").write_text("#include <stdint.h>\nint fail(double* x, int32_t status) { return status; }\n")
    launcher = npu.KernelLauncher.from_source("fail_of_failures", [folder / "fail.c"])
    return launcher.bind("fail", (npu.ptr, npu.i32), abi="c")


@pytest.mark.parametrize("recorded", [False, True], ids=["plain", "recorded"])
@pytest.mark.parametrize("status", STATUSES)
def test_a_status_of_a_kernel_of_ones_own(fail: Kernel, status: int, recorded: bool) -> None:
    lib = library.Library(fresh_namespace(), "FRAGMENT")
    lib.define("scaled(Tensor x, Tensor y, int status) -> Tensor")
    lib.impl("scaled", lambda x, y, status: fail(x, status), "CPU")
    op = getattr(ours.ops, lib.ns).scaled.default
    x = ours.ones(3, dtype=ours.float64, requires_grad=recorded)
    kind, words = STATUSES[status]
    with pytest.raises(kind) as caught:
        op(x, ours.ones(2, 1), status)
    assert type(caught.value) is kind
    assert str(caught.value) == words.format(name=op.name())


def test_a_status_can_be_read(fail: Kernel) -> None:
    with pytest.raises(library.KernelError) as caught:
        fail(ours.ones(1, dtype=ours.float64), 23)
    assert (caught.value.kernel, caught.value.status) == ("fail", 23)


# ---------------------------------------------------------------- tracebacks

PROGRAM = """\
import mindtorch_v2 as torch

class Mine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return torch.ones(2) + torch.ones(3)  # line 10

def call():
    {call}  # line 13

call()
"""
FAILING = {
    "an operator": ("torch.ones(2) + torch.ones(3)", ["line 13, in call"]),
    "its binding": ("torch.add(1)", ["line 13, in call"]),
    "a method": ("torch.ones(2).view(3)", ["line 13, in call"]),
    "a property": ("torch.ones(2).shape = 3", ["line 13, in call"]),
    "a backward": (
        "Mine.apply(torch.ones(2, requires_grad=True)).sum().backward()", ["line 13, in call", "line 10, in backward"]),
    "a library": ("torch.library.Library('aten', 'DEF').impl('x', 3)", ["line 13, in call"]),
}  # fmt: skip


@pytest.mark.parametrize("case", FAILING)
def test_a_traceback_has_the_users_lines_and_none_of_the_core(case: str, tmp_path: Path) -> None:
    call, lines = FAILING[case]
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(call=call))
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, env=dict(os.environ), timeout=120)
    assert done.returncode == 1
    for line in lines:
        assert f'File "{path}", {line}' in done.stderr
    assert ".pxi" not in done.stderr
    assert "_core.pyx" not in done.stderr


def test_an_exception_that_is_caught_in_the_core_and_raised_again() -> None:
    """Without frames an exception may have no traceback when the core catches it."""
    backward = ours.ones(2, requires_grad=True).sum()
    for _ in range(3):
        with pytest.raises(RuntimeError, match="grad"):
            ours.autograd.grad(backward, [ours.ones(2)])
        with pytest.raises(RuntimeError):
            ours.ones(3).add_(ours.ones(4))
        with pytest.raises(TypeError):
            ours.add(ours.ones(1), object())
    assert pytorch.ones(1).item() == ours.ones(1).item()
