"""Operators that are told what comes next, for the tests of commands, plans and delegates."""

from __future__ import annotations

from pathlib import Path

import mindtorch_v2 as torch
from mindtorch_v2.library import Library
from mindtorch_v2.library.definitions import context, f32, i64, like, u32
from mindtorch_v2.npu import KernelLauncher

FOLDER = Path(__file__).resolve().parent
EXAMPLE = FOLDER.parents[1] / "examples/adaptive_commit"

lib = Library("scheduled_tests", "FRAGMENT")
_ascendc = KernelLauncher.from_source("contexts", ["contexts.cpp"], relative_to=__file__)
_c = KernelLauncher.from_source("contexts_cpu", ["contexts.c"], relative_to=__file__)
_shrink = KernelLauncher.from_source("softshrink", [EXAMPLE / "softshrink.cpp"])

NAMES = (
    "size",
    "next",
    "device",
    "index",
    "next_device",
    "next_index",
    "commit_and_continue",
    "position",
    "operations",
)
UNKNOWN, END, KERNEL, DELEGATE = range(4)  # enum mt_next
CPU, NPU = 1, 4  # enum mt_device
seen = []  # the contexts of `python_tell`


@lib.operator("tell(Tensor x) -> Tensor")
def tell(op, x):
    """The context, and after it what ``x`` has there."""
    out = op.returns(like(x))
    op.launch("NPU", _ascendc["tell"], x.contiguous(), out, u32(x.numel()), context())
    op.launch("CPU", _c["tell_cpu"], x.contiguous(), out, i64(x.numel()), context())


@lib.operator("softshrink(Tensor x, float lambd=0.5) -> Tensor")
def softshrink(op, x, lambd):
    """As in the example."""
    out = op.returns(like(x))
    op.launch("NPU", _shrink["softshrink"], x.contiguous(), out, f32(lambd), u32(x.numel()), context())


@lib.operator("bounded(Tensor x, float lambd) -> Tensor")
def bounded(op, x, lambd):
    """``softshrink`` of a bound that is checked, in a program of its own."""
    op.check(lambd >= 0)
    out = op.returns(like(x))
    op.launch("NPU", _shrink["softshrink"], x.contiguous(), out, f32(lambd), u32(x.numel()), context())


@lib.operator("busy(Tensor x, int rounds) -> Tensor")
def busy(op, x, rounds):
    """``x + 1``, slowly; not told anything."""
    out = op.returns(like(x))
    op.launch("NPU", _ascendc["busy"], x.contiguous(), out, u32(x.numel()), u32(rounds))


def told_in_python(x, context):
    """A kernel of Python that takes a context."""
    seen.append(context)
    return torch.empty_like(x).copy_(x)


@lib.operator("python_tell(Tensor x) -> Tensor")
def python_tell(op, x):
    """A copy."""
    op.returns(like(x))
    op.python(told_in_python, device=("NPU", "CPU"))


@lib.operator("fails(Tensor x) -> Tensor")
def fails(op, x):
    """Raises when it runs, and has a shape."""
    op.returns(like(x))
    op.python(_raises, device="NPU")


def _raises(*args):
    raise ValueError("this kernel always fails")


@lib.operator("fails_later(Tensor x) -> Tensor")
def fails_later(op, x):
    """Has a result at once, and raises when it is queued."""
    op.returns(like(x))
    op.python(_raises_later, device="NPU")


def _raises_later(x):
    nothing = torch._core.Forms([], x.device)
    torch._core.LoweredKernel(nothing, nothing, nothing, _raises, _raises)([], [])
    return torch.empty_like(x)


def told(tensor):
    """What a kernel wrote down, by name."""
    return dict(zip(NAMES, map(int, tensor.cpu().tolist()), strict=False))
