"""Calls whose cost is watched from revision to revision, and the process that measures them for one tree.

``python -m benchmarks.calls TREE time|instructions [PADDING DUMPS]`` is such a process, over the runtime of the tree;
it answers a line that names a case with a figure: CPU seconds of a call or, under Valgrind's callgrind, its
instructions; bytes of a node of the backward graph either way. See `benchmarks.against`.
"""

from __future__ import annotations

import ctypes
import gc
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import autograd_calls, operator_call
from benchmarks.timing import thread_time_per_call

__all__ = ["CASES", "MEMORY", "calls", "main"]

STEPS = 100  # operators in a chain
CHAIN = "chain of 100: "
# Case: calls in one measurement of time; instructions are counted over a tenth.
CASES: dict[str, int] = {
    **operator_call.CASES,
    "a + b without gradient": 3_000,
    "a + b that records a gradient": 3_000,
    "Function.apply without gradient": 1_500,
    "Function.apply that records a gradient": 1_500,
    "Function.apply, forward and backward": 300,
    "(a * b).sum(), forward and backward": 500,
    **{f"{CHAIN}{step}": 10 for step in autograd_calls.STEPS},
    "a + b, broadcast": 3_000,
    "a.add_(b)": 3_000,
    "a * 2.0": 3_000,
    "a ** 2": 1_000,
    "a < b": 1_000,
    "torch.sub(a, b, alpha=2)": 1_000,
    "torch.lerp(a, b, 0.5)": 1_000,
    "torch.where(mask, a, b)": 1_000,
    "a.masked_fill(mask, 0.0)": 1_000,
    "torch.clamp(a, 0.0, 1.0)": 1_000,
    "torch.cat([a, b])": 1_000,
    "a.sum()": 1_000,
    "a.sum(1)": 1_000,
    "a.mean(1)": 1_000,
    "a.max(1)": 1_000,
    "torch.softmax(a, 1)": 1_000,
    "a @ b": 1_000,
    "a.view(16)": 3_000,
    "a.transpose(0, 1)": 2_000,
    "a[1]": 2_000,
    "a[index]": 1_000,
    "torch.empty(4, 4)": 3_000,
    "torch.zeros(4, 4)": 2_000,
    "torch.ones(4, 4)": 2_000,
    "torch.arange(16)": 1_000,
    "torch.tensor([1.0, 2.0])": 1_000,
    "linear layer": 1_000,
    "linear layer, forward and backward": 300,
    "attention block, forward and backward": 30,
    "launch of a bound kernel": 3_000,
}
MEMORY = {f"memory of a node: {step}": step for step in autograd_calls.STEPS}


def calls(torch: Any, op: Callable[..., Any]) -> dict[str, Callable[[], object]]:
    """What is called, by name."""
    x, y = torch.ones(4, 4), torch.ones(4, 4)
    a, mask, index = torch.ones(4, 4).requires_grad_(), x > 0, torch.tensor([1, 0, 3])
    linear = torch.nn.Linear(4, 4)
    small = torch.full((4, 4), 1e-3)

    def product() -> None:
        (a * y).sum().backward()
        a.grad = None

    def layer() -> None:
        linear(x).sum().backward()
        linear.zero_grad()

    def chain(step: str) -> None:
        z = a
        for _ in range(STEPS):
            z = autograd_calls.STEPS[step](z, y)
        z.backward(x)
        a.grad = None

    return {
        **operator_call.cases(torch, op),
        **{name: call for name, (call, _) in autograd_calls.calls(torch).items()},
        **{f"{CHAIN}{step}": lambda step=step: chain(step) for step in autograd_calls.STEPS},  # type: ignore[misc]
        "(a * b).sum(), forward and backward": product,
        "a.add_(b)": lambda: small.add_(small),
        "a * 2.0": lambda: x * 2.0,
        "a ** 2": lambda: x**2,
        "a < b": lambda: x < y,
        "torch.sub(a, b, alpha=2)": lambda: torch.sub(x, y, alpha=2),
        "torch.lerp(a, b, 0.5)": lambda: torch.lerp(x, y, 0.5),
        "torch.where(mask, a, b)": lambda: torch.where(mask, x, y),
        "a.masked_fill(mask, 0.0)": lambda: x.masked_fill(mask, 0.0),
        "torch.clamp(a, 0.0, 1.0)": lambda: torch.clamp(x, 0.0, 1.0),
        "torch.cat([a, b])": lambda: torch.cat([x, y]),
        "a.sum()": lambda: x.sum(),
        "a.sum(1)": lambda: x.sum(1),
        "a.mean(1)": lambda: x.mean(1),
        "a.max(1)": lambda: x.max(1),
        "torch.softmax(a, 1)": lambda: torch.softmax(x, 1),
        "a @ b": lambda: x @ y,
        "a.view(16)": lambda: x.view(16),
        "a.transpose(0, 1)": lambda: x.transpose(0, 1),
        "a[1]": lambda: x[1],
        "a[index]": lambda: x[index],
        "torch.empty(4, 4)": lambda: torch.empty(4, 4),
        "torch.zeros(4, 4)": lambda: torch.zeros(4, 4),
        "torch.ones(4, 4)": lambda: torch.ones(4, 4),
        "torch.arange(16)": lambda: torch.arange(16),
        "torch.tensor([1.0, 2.0])": lambda: torch.tensor([1.0, 2.0]),
        "linear layer": lambda: linear(x),
        "linear layer, forward and backward": layer,
        "attention block, forward and backward": attention_block(torch),
        **launches(torch),
    }


def attention_block(torch: Any) -> Callable[[], None]:
    """An encoder's layer without its norms, two heads over four tokens of eight, and its gradients."""
    nn, functional = torch.nn, torch.nn.functional
    parts = [nn.Linear(8, 8) for _ in range(4)] + [nn.Linear(8, 16), nn.Linear(16, 8)]
    query, key, value, out, up, down = parts
    tokens = torch.ones(2, 4, 8)

    def heads(t: Any) -> Any:
        return t.view(2, 4, 2, 4).transpose(1, 2)

    def step() -> None:
        scores = heads(query(tokens)) @ heads(key(tokens)).transpose(-1, -2) / 2.0
        mixed = torch.softmax(scores, -1) @ heads(value(tokens))
        t = tokens + out(mixed.transpose(1, 2).reshape(2, 4, 8))
        (t + down(functional.gelu(up(t)))).sum().backward()
        for part in parts:
            part.zero_grad()

    return step


def launches(torch: Any) -> dict[str, Callable[[], object]]:
    """A launch on the CPU; on an NPU it is the same way, with queueing at its end."""
    npu, x, y, out = torch.npu, torch.ones(4, 4), torch.ones(4, 4), torch.empty(4, 4)
    library = npu.KernelLauncher(str(Path(torch._core.__file__).parent / "lib/libmindtorch_cpu.so"))
    bound = library.bind("mt_mul", (npu.desc, npu.desc, npu.desc), abi="c")
    return {"launch of a bound kernel": lambda: bound(x, y, out)}


class Instructions:
    """Counts by callgrind, which counts nothing else (``--instr-atstart=no``) and writes each count to a file."""

    SOURCE = """
    #include <valgrind/callgrind.h>
    void begin(void) { CALLGRIND_START_INSTRUMENTATION; CALLGRIND_ZERO_STATS; }
    void end(void) { CALLGRIND_DUMP_STATS; CALLGRIND_STOP_INSTRUMENTATION; }
    """

    def __init__(self, dumps: str) -> None:
        self._dumps, self._count = dumps, 0
        with tempfile.TemporaryDirectory() as folder:
            library = f"{folder}/requests.so"
            command = ["cc", "-O1", "-shared", "-fPIC", "-x", "c", "-o", library, "-"]
            subprocess.run(command, input=self.SOURCE, text=True, check=True)
            self._requests = ctypes.PyDLL(library)

    def per_call(self, run: Callable[[], object], calls: int) -> float:
        """Instructions of one call, over ``calls`` of them, after as many that fill caches."""
        for _ in range(calls):
            run()
        gc.disable()
        self._requests.begin()
        for _ in range(calls):
            run()
        self._requests.end()
        gc.enable()
        self._count += 1
        total = re.search(r"^totals: (\d+)", Path(f"{self._dumps}.{self._count}").read_text(), re.MULTILINE)
        assert total is not None
        return int(total[1]) / calls


def load(tree: Path) -> tuple[Any, Callable[..., Any]]:
    """The runtime and the example's operator of a tree. Raises ImportError where others are found."""
    sys.meta_path[:] = [
        finder for finder in sys.meta_path if isinstance(finder, type)
    ]  # without editable installations
    sys.path[:0] = [str(tree / folder) for folder in ("codegen", "runtime", "generated", "examples/scaled_add")]
    import mindtorch_v2

    if not Path(mindtorch_v2.__file__).is_relative_to(tree):
        raise ImportError(f"mindtorch_v2 is {mindtorch_v2.__file__}, not that of {tree}")
    from generated.ops import scaled_add

    return mindtorch_v2, scaled_add


def main(tree: str, kind: str, padding: str = "0", dumps: str = "") -> None:
    """Answers the parent until it closes the pipe."""
    padded = [bytes(i % 400) for i in range(int(padding))]  # other addresses for all that follows
    torch, op = load(Path(tree))
    runs = calls(torch, op)
    counter = Instructions(dumps) if kind == "instructions" else None
    for line in sys.stdin:
        case = line.strip()
        if case in MEMORY:
            figure = autograd_calls.node_bytes(torch, MEMORY[case])
        elif counter is not None:
            figure = counter.per_call(runs[case], max(CASES[case] // 10, 2))
        else:
            figure = thread_time_per_call(runs[case], CASES[case])
        print(figure, flush=True)
    del padded


if __name__ == "__main__":
    main(*sys.argv[1:])
