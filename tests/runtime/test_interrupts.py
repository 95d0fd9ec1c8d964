"""Ctrl-C ends kernels that run for long, wherever in them it comes, and leaves the runtime as it was."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

# What each kind of loop in the kernels takes long for without memory: one element seen as many.
LONG = {
    "a reduction": "one.expand(2**40).sum()",
    "a reduction of rows": "one.expand(2**20, 2**20).sum(0)",
    "a position": "one.expand(2**40).argmax()",
    "a predicate": "one.expand(2**40).all()",
    "a sum in float64": "one.double().expand(2**40).mean()",
    "a product of matrices": "product(ones(1, 1).expand(2048, 2**30), ones(1, 1).expand(2**30, 2048), big)",
    "a product of integers": "ones(1, 1).long().expand(64, 2**34) @ ones(1, 1).long().expand(2**34, 64)",
    "elementwise, broadcast": "repeated(lambda: big.add_(column))",
    "elementwise, plain": "repeated(lambda: big.exp_())",
    "a copy": "repeated(lambda: big.copy_(other))",
    "a transposed copy": "repeated(lambda: big.copy_(other.t()))",
    "a conversion": "repeated(lambda: big.double())",
    "elements that are not 0": "one.expand(2**40).nonzero()",
    "a mask": "one.expand(2**40)[one.bool().expand(2**40)]",
    "softmax": "repeated(lambda: big.view(-1).softmax(0))",
    "a backward": "repeated(lambda: one.clone().requires_grad_().expand(2**36).sum().backward())",
}
SCRIPT = """
import sys
import mindtorch_v2 as torch
from mindtorch_v2 import ones
from mindtorch_v2.kernels._native import native

product = native("mt_matmul", "desc", "desc", "desc")      # large ones are MindSpore's where that is installed
one, big, other, column = ones(1), ones(2048, 2048), ones(2048, 2048), ones(2048, 1)
one[one.bool()]  # imports NumPy: Ctrl-C in the middle of that is NumPy's to answer

def repeated(call):
    while True:
        call()

print("ready", flush=True)
try:
    {call}
except KeyboardInterrupt as error:
    caught = error
else:
    sys.exit("it ended by itself")
assert torch.ones(3).add_(1).sum().item() == 6
assert torch.ones(2**21).sum().item() == 2**21
frames = []
trace = caught.__traceback__
while trace is not None:
    frames.append(trace.tb_frame.f_code.co_filename)
    trace = trace.tb_next
assert frames[0] == "<string>" and not any(name.endswith(".pxi") for name in frames), frames
print("done", flush=True)
"""
ENDS = 60  # seconds, in which none of the calls would end


@contextmanager
def started(script: str) -> Iterator[subprocess.Popen[str]]:
    """A script in a process of its own, once it has said that it is ready."""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def interrupted(script: str, times: int = 1) -> tuple[int, str]:
    """Runs a script, interrupts it while it is busy, and returns how it ended and what it said."""
    with started(script) as process:
        for _ in range(times):
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=ENDS)[0]
        return process.returncode, said


@pytest.mark.parametrize("kind", LONG)
def test_a_long_kernel(kind: str) -> None:
    assert interrupted(SCRIPT.format(call=LONG[kind])) == (0, "done\n")


def test_in_a_thread_beside() -> None:
    """The main thread gets the exception, at once; the other one's kernel goes on."""
    script = """
import threading, os
import mindtorch_v2 as torch

threading.Thread(target=lambda: torch.ones(1).expand(2**40).sum(), daemon=True).start()
print("ready", flush=True)
try:
    torch.ones(1).expand(2**40).sum()
except KeyboardInterrupt:
    print("done", flush=True)
    os._exit(0)
"""
    assert interrupted(script) == (0, "done\n")


def test_the_handler_runs_in_between_and_may_go_on() -> None:
    script = """
import signal
import mindtorch_v2 as torch

class Enough(Exception): pass
seen = []
def handler(number, frame):
    seen.append(torch.ones(2**21).sum().item())     # kernels run inside of a kernel's question
    if len(seen) == 2: raise Enough
signal.signal(signal.SIGINT, handler)
print("ready", flush=True)
try:
    torch.ones(1).expand(2**40).sum()
except Enough:
    print(seen == [2**21, 2**21], flush=True)
"""
    assert interrupted(script, times=2) == (0, "True\n")


def test_a_kernel_of_ones_own(tmp_path) -> None:
    (tmp_path / "endless.c").write_text(
        '#include "mindtorch_kernel.h"\n'
        "int endless(float* x, uint64_t n) {\n"
        "  for (;;) if (mt_interrupted()) { *x = 5; return MT_ERROR_INTERRUPTED; }\n"
        "}\n"
        "int careless(float* x, uint64_t n) { while (!mt_interrupted()); *x = 7; return MT_OK; }\n"
    )
    script = f"""
import mindtorch_v2 as torch
from mindtorch_v2 import npu

launcher = npu.KernelLauncher.from_source("endless", [{str(tmp_path / "endless.c")!r}])
launcher.symbols("c")  # it is compiled: what Ctrl-C interrupts is the kernel
for name in ("endless", "careless"):
    kernel = launcher.bind(name, (npu.ptr, npu.u64), abi="c")
    x = torch.ones(1)
    if name == "endless": print("ready", flush=True)
    try:
        kernel(x, 1)
    except KeyboardInterrupt:
        print(x.item(), flush=True)
"""
    with started(script) as process:
        assert process.stdout is not None
        for said in ("5.0\n", "7.0\n"):
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == said
        assert process.wait(ENDS) == 0


@pytest.mark.parametrize(
    "call", ["stream.synchronize()", "x.cpu()", "x.tolist()", "x.copy_(torch.zeros(3))", "kept.copy_(x)"]
)
def test_a_wait_for_a_stream_of_the_npu(call: str) -> None:
    """The wait ends, the stream's work does not."""
    script = f"""
import mindtorch_v2 as torch
from mindtorch_v2 import npu

x, kept = torch.ones(3, device="npu"), torch.ones(3)
stream, event = npu.Stream(), npu.Event(external=True)
npu.synchronize()
with stream:
    stream.wait_event(event)
    y = x + 1
    print("ready", flush=True)
    try:
        {call}
    except KeyboardInterrupt:
        assert not stream.query()
    else:
        raise SystemExit("it ended by itself")
    event.record(npu.default_stream())
    print(y.tolist(), x.tolist(), kept.tolist(), flush=True)
"""
    assert interrupted(script) == (0, "[2.0, 2.0, 2.0] [1.0, 1.0, 1.0] [1.0, 1.0, 1.0]\n")
