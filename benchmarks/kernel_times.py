"""CPU kernels against PyTorch's: 80 calls at the sizes of models, some processes a side, pinned to the same cores.

``python -m benchmarks.kernel_times [TEXT] [--threads N]`` prints a line a pair, of those whose name has the text in it:
microseconds of either, their ratio, and the geometric mean below. Data are the same numbers on both sides, of float32
or of ``--dtype``. With ``--peak MODULE``, ``torch`` or ``mindtorch_v2``, it prints the most memory that the calls need
with that module alone.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.contestant import Contestant
from benchmarks.report import REPORT, Result, duration, mebibytes, write_results

__all__ = ["PAIRS", "Pair", "results"]

Call = Callable[[], object]
Clock = Callable[[], int]  # nanoseconds
Make = Callable[[Any], Call]  # of a module that is PyTorch, or like it
TURN = 0.003  # seconds that a turn takes at least
REST = 0.02  # seconds before a turn of several threads, for those of the turn before to stop looking for work
PROCESSES, ROUNDS = 5, 3  # of either side, and the turns of each of its processes
LARGE = 1 << 24
HIDDEN, INNER, ROWS, WORDS = 768, 3072, 512, 30522  # BERT's, with four sentences of 128 words
MEAN_LIMIT, LIMIT = 0.8, 1.5
TEXT = """Seconds of a call, of the turn of the median ratio of five processes a side; with one thread the processor's,
with two the wall's. Written by `python -m benchmarks.kernel_times --write`."""


@dataclass(frozen=True)
class Pair:
    """An operator at a size; ``make(torch)`` makes its data and returns the call."""

    name: str
    make: Make


def _of(*shapes: tuple[int, ...], run: Callable[..., object]) -> Make:
    """A call of ``run(torch, *tensors)``, of normal numbers."""

    def make(torch: Any) -> Call:
        tensors = [torch.randn(*shape) for shape in shapes]
        return lambda: run(torch, *tensors)

    return make


def _both_ways(*shapes: tuple[int, ...], run: Callable[..., Any]) -> Make:
    """The same, of leaves, and the gradients of all of them."""

    def make(torch: Any) -> Call:
        leaves = [torch.randn(*shape).requires_grad_() for shape in shapes]
        with torch.no_grad():
            grad = torch.ones_like(run(torch, *leaves))

        def call() -> None:
            run(torch, *leaves).backward(grad)
            for leaf in leaves:
                leaf.grad = None

        return call

    return make


def _with_indices(rows: int, count: int, *shapes: tuple[int, ...], run: Callable[..., Any], back: bool = False) -> Make:
    """The same, with ``count`` indices below ``rows`` in the first place."""

    def make(torch: Any) -> Call:
        indices = torch.arange(count) * 37 % rows
        made = _both_ways if back else _of
        return made(*shapes, run=lambda module, *tensors: run(module, indices, *tensors))(torch)

    return make


def _adamw(torch: Any) -> Call:
    parameters = [torch.randn(HIDDEN, INNER), torch.randn(INNER)]
    for parameter in parameters:
        parameter.requires_grad_()
        parameter.grad = torch.randn(*parameter.shape)
    step: Call = torch.optim.AdamW(parameters, lr=1e-4).step
    return step


def _functional(name: str, *rest: Any, **named: Any) -> Callable[..., Any]:
    """``torch.nn.functional.<name>(*tensors, *rest, **named)``."""
    return lambda torch, *tensors: getattr(torch.nn.functional, name)(*tensors, *rest, **named)


def _method(name: str, *rest: Any, **named: Any) -> Callable[..., Any]:
    """``tensor.<name>(*others, *rest, **named)``."""
    return lambda torch, x, *others: getattr(x, name)(*others, *rest, **named)


def _layer_norm(torch: Any, x: Any, weight: Any, bias: Any) -> Any:
    return torch.nn.functional.layer_norm(x, (x.shape[-1],), weight, bias)


def _batch_norm(torch: Any, x: Any, weight: Any, bias: Any) -> Any:
    return torch.nn.functional.batch_norm(x, None, None, weight, bias, training=True)


def _cross_entropy(torch: Any, indices: Any, x: Any) -> Any:
    return torch.nn.functional.cross_entropy(x, indices)


def _embedding(torch: Any, indices: Any, table: Any) -> Any:
    return torch.nn.functional.embedding(indices, table)


def _small() -> Iterator[tuple[str, Make]]:
    square, row = (4, 4), (4,)
    yield "add", _of(square, square, run=_method("add"))
    yield "multiply by a number", _of(square, run=_method("mul", 2.0))
    yield "relu", _of(square, run=_method("relu"))
    yield "gelu", _of(square, run=_functional("gelu"))
    yield "softmax", _of(square, run=_method("softmax", -1))
    yield "log_softmax", _of(square, run=_method("log_softmax", -1))
    yield "layer_norm", _of(square, row, row, run=_layer_norm)
    yield "sum", _of(square, run=_method("sum"))
    yield "mean of rows", _of(square, run=_method("mean", -1))
    yield "matmul", _of(square, square, run=_method("matmul"))
    yield "linear", _of(square, square, row, run=_functional("linear"))
    yield "cat", _of(square, square, run=lambda torch, x, y: torch.cat([x, y]))
    yield "embedding", _with_indices(4, 4, square, run=_embedding)
    yield "index_select", _with_indices(4, 4, square, run=lambda torch, i, x: torch.index_select(x, 0, i))
    yield "cross_entropy", _with_indices(4, 4, square, run=_cross_entropy)
    yield "randn", _of(run=lambda torch: torch.randn(4, 4))
    yield "dropout", _of(square, run=_functional("dropout"))
    yield "linear, both ways", _both_ways(square, square, row, run=_functional("linear"))
    yield "layer_norm, both ways", _both_ways(square, row, row, run=_layer_norm)
    yield "cross_entropy, both ways", _with_indices(4, 4, square, run=_cross_entropy, back=True)


def _middle() -> Iterator[tuple[str, Make]]:
    shape, row = (ROWS, HIDDEN), (HIDDEN,)
    yield "add", _of(shape, shape, run=_method("add"))
    yield "add a row", _of(shape, row, run=_method("add"))
    yield "add a column", _of(shape, (ROWS, 1), run=_method("add"))
    yield "gelu", _of(shape, run=_functional("gelu"))
    yield "tanh", _of(shape, run=_method("tanh"))
    yield "exp", _of(shape, run=_method("exp"))
    yield "where", _of(shape, shape, run=lambda torch, x, y: torch.where(x > 0, x, y))
    yield "softmax", _of(shape, run=_method("softmax", -1))
    yield "log_softmax", _of(shape, run=_method("log_softmax", -1))
    yield "layer_norm", _of(shape, row, row, run=_layer_norm)
    yield "sum", _of(shape, run=_method("sum"))
    yield "sum of columns", _of(shape, run=_method("sum", 0))
    yield "sum of rows", _of(shape, run=_method("sum", 1))
    yield "max of rows", _of(shape, run=_method("max", 1))
    yield "argmax of rows", _of(shape, run=_method("argmax", 1))
    yield "var of rows", _of(shape, run=_method("var", 1))
    yield "cat of columns", _of(shape, shape, run=lambda torch, x, y: torch.cat([x, y], 1))
    yield "transposed copy", _of(shape, run=lambda torch, x: x.t().contiguous())
    yield "index_select", _with_indices(ROWS, ROWS, shape, run=lambda torch, i, x: torch.index_select(x, 0, i))
    yield "randn", _of(run=lambda torch: torch.randn(ROWS, HIDDEN))
    yield "dropout", _of(shape, run=_functional("dropout", 0.1))
    yield "add a row, both ways", _both_ways(shape, row, run=_method("add"))
    yield "softmax, both ways", _both_ways(shape, run=_method("softmax", -1))
    yield "layer_norm, both ways", _both_ways(shape, row, row, run=_layer_norm)


def _large() -> Iterator[tuple[str, Make]]:
    shape = (LARGE,)
    yield "add", _of(shape, shape, run=_method("add"))
    yield "relu", _of(shape, run=_method("relu"))
    yield "exp", _of(shape, run=_method("exp"))
    yield "sum", _of(shape, run=_method("sum"))
    yield "clone", _of(shape, run=_method("clone"))
    yield "softmax", _of((4096, 4096), run=_method("softmax", -1))
    yield "randn", _of(run=lambda torch: torch.randn(LARGE))


def _bert() -> Iterator[tuple[str, Make]]:
    rows, heads, scores = (ROWS, HIDDEN), (4, 12, 128, 64), (48, 128, 128)
    linear, attention = _functional("linear"), _functional("scaled_dot_product_attention")
    yield "linear 768", _of(rows, (HIDDEN, HIDDEN), (HIDDEN,), run=linear)
    yield "linear 3072", _of(rows, (INNER, HIDDEN), (INNER,), run=linear)
    yield "matmul 1024", _of((1024, 1024), (1024, 1024), run=_method("matmul"))
    yield "scores", _of((48, 128, 64), (48, 64, 128), run=_method("bmm"))
    yield "softmax of scores", _of(scores, run=_method("softmax", -1))
    yield "heads", _of((4, 128, 12, 64), run=lambda torch, x: x.transpose(1, 2).contiguous())
    yield "attention", _of(heads, heads, heads, run=attention)
    yield "gelu 3072", _of((ROWS, INNER), run=_functional("gelu"))
    yield "dropout and add", _of(rows, rows, run=lambda torch, x, y: torch.nn.functional.dropout(x, 0.1) + y)
    yield "embedding", _with_indices(WORDS, ROWS, (WORDS, HIDDEN), run=_embedding)
    yield "cross_entropy", _with_indices(WORDS, ROWS, (ROWS, WORDS), run=_cross_entropy)
    yield "linear 768, both ways", _both_ways(rows, (HIDDEN, HIDDEN), (HIDDEN,), run=linear)
    yield "gelu 3072, both ways", _both_ways((ROWS, INNER), run=_functional("gelu"))
    yield "attention, both ways", _both_ways(heads, heads, heads, run=attention)
    yield "embedding, both ways", _with_indices(WORDS, ROWS, (WORDS, HIDDEN), run=_embedding, back=True)
    yield "cross_entropy, both ways", _with_indices(WORDS, ROWS, (ROWS, WORDS), run=_cross_entropy, back=True)
    yield "AdamW", _adamw


def _resnet() -> Iterator[tuple[str, Make]]:
    def convolution(channels: int, size: int, filters: int, kernel: int, stride: int) -> tuple[Any, ...]:
        run = _functional("conv2d", None, stride, kernel // 2)
        return (1, channels, size, size), (filters, channels, kernel, kernel), run

    for text, *numbers in (
        ("first convolution", 3, 224, 64, 7, 2),
        ("convolution 64", 64, 56, 64, 3, 1),
        ("convolution 128", 128, 28, 128, 3, 1),
        ("convolution 256", 256, 14, 256, 3, 1),
        ("convolution 512", 512, 7, 512, 3, 1),
        ("convolution 128, of half", 64, 56, 128, 3, 2),
        ("convolution 128, of points", 64, 56, 128, 1, 2),
    ):
        image, filters, run = convolution(*numbers)
        yield text, _of(image, filters, run=run)
        if text in ("convolution 64", "convolution 512"):
            yield f"{text}, both ways", _both_ways(image, filters, run=run)
    maps = (1, 64, 56, 56)
    yield "batch_norm", _of(maps, (64,), (64,), run=_batch_norm)
    yield "max_pool2d", _of((1, 64, 112, 112), run=_functional("max_pool2d", 3, 2, 1))
    yield "mean of maps", _of((1, 512, 7, 7), run=_functional("adaptive_avg_pool2d", 1))


FAMILIES = {"4x4": _small, f"{ROWS}x{HIDDEN}": _middle, "16 Mi": _large, "BERT": _bert, "ResNet-18": _resnet}
PAIRS = tuple(Pair(f"{family}: {name}", make) for family, each in FAMILIES.items() for name, make in each())


def _timed(call: Call, count: int, clock: Clock) -> float:
    """Seconds of a call by a clock."""
    started = clock()
    for _ in range(count):
        call()
    return (clock() - started) / count / 1e9


def serve(module: str, threads: int, dtype: str) -> None:
    """The child process of a side: answers each pair's name with the seconds of a call, in a turn of many calls.

    With one thread the seconds are the processor's, in which nothing else that runs on the machine has a part (they are
    those of all threads of the process: who uses more pays for it); several wait for one another, and have the wall's.
    """
    torch = importlib.import_module(module)
    torch.set_num_threads(threads)
    torch.set_default_dtype(getattr(torch, dtype))
    clock = time.process_time_ns if threads == 1 else time.perf_counter_ns
    pairs = {pair.name: pair for pair in PAIRS}
    ready: tuple[str, Call, int] | None = None
    for line in sys.stdin:
        name = line.strip()
        if ready is None or ready[0] != name:
            ready = None  # whose data are no longer needed
            torch.manual_seed(0)
            call = pairs[name].make(torch)
            call()
            once = max(_timed(call, 1, clock), 1e-7)
            ready = name, call, max(1, min(10_000, round(TURN / once)))
        if threads > 1:
            time.sleep(REST)
            _timed(*ready[1:], clock)  # wakes the threads, and gives them a core each
        print(_timed(*ready[1:], clock), flush=True)


def compare(threads: int, pairs: Iterable[Pair], dtype: str = "float32") -> Iterator[tuple[str, float, float]]:
    """Measures pairs with some number of threads: seconds of a call on both sides, of the turn of the median ratio.

    A side has some processes, all on the same cores. Where a process's memory lies decides how much of it a cache
    holds, for as long as it lives: by twice, for calls whose data just fit.
    """
    arguments = ("benchmarks.kernel_times", "--threads", str(threads), "--dtype", dtype, "--serve")
    with contextlib.ExitStack() as stack:
        sides = [
            [stack.enter_context(Contestant(*arguments, module, cores=threads)) for module in ("mindtorch_v2", "torch")]
            for _ in range(PROCESSES)
        ]
        for pair in pairs:
            found = []
            for ours, peer in sides:
                for side in (ours, peer):
                    side.measure(pair.name)
                found += [(ours.measure(pair.name), peer.measure(pair.name)) for _ in range(ROUNDS)]
            yield pair.name, *sorted(found, key=lambda each: each[0] / each[1])[len(found) // 2]


def _memory(field: str) -> float:
    """A line of the process's memory, ``VmRSS`` or ``VmHWM``, in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def peak(module: str, pairs: Iterable[Pair]) -> float:
    """MiB that data and calls of the pairs need at most, one after the other, beyond what the process started with."""
    torch = importlib.import_module(module)
    torch.set_num_threads(1)
    started = _memory("VmRSS")
    for pair in pairs:
        call = pair.make(torch)
        call()
        call()
        del call
    return _memory("VmHWM") - started


def _peaks() -> Result:
    """The most memory of the whole list, a process a side."""

    def measured_apart(module: str) -> float:
        command = [sys.executable, "-m", "benchmarks.kernel_times", "--peak", module]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    ours, peer = measured_apart("mindtorch_v2"), measured_apart("torch")
    return Result(f"kernels, peak memory of {len(PAIRS)}", ours, peer, "torch", 1.0, mebibytes)


def results() -> list[Result]:
    """All pairs with one thread and with two, in a process each, and their geometric means; the peak of memory."""
    found = []
    for threads in (1, 2):
        command = [sys.executable, "-m", "benchmarks.kernel_times", "--threads", str(threads), "--plain"]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        lines = [line.split("\t") for line in told.splitlines()]
        times = [(name, float(ours), float(peer)) for name, ours, peer in lines]
        counted = f"{threads} thread{'s' * (threads > 1)}"
        found += [Result(f"{name}, {counted}", ours, peer, "torch", LIMIT) for name, ours, peer in times]
        mean = statistics.geometric_mean([ours / peer for _, ours, peer in times])
        text = f"kernels, geometric mean of {len(times)}, {counted}"
        found.append(Result(text, mean, None, "", MEAN_LIMIT, lambda figure: f"{figure:.2f}"))
    return [*found, _peaks()]


def main() -> None:
    """Prints the pairs that are asked for as they are measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernel_times", description=__doc__.split("\n")[0])
    parser.add_argument("text", nargs="?", default="", help="the pairs whose names contain this")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dtype", choices=("float32", "bfloat16", "float16", "float64"), default="float32")
    parser.add_argument("--write", action="store_true", help="all of it, one thread and two, into docs/benchmarks.md")
    parser.add_argument("--plain", action="store_true", help="seconds, with tabs between, for programs")
    parser.add_argument("--peak", metavar="MODULE", help="MiB that the pairs need at most with this module")
    parser.add_argument("--serve", metavar="MODULE", help="answer names of pairs with seconds of this module's calls")
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.threads, options.dtype)
        return
    if options.write:
        write_results("Kernels of the CPU", TEXT, results(), REPORT)
        return
    pairs = [pair for pair in PAIRS if options.text in pair.name]
    if options.peak:
        print(f"{peak(options.peak, pairs):.1f}")
        return
    ratios = []
    for name, ours, peer in compare(options.threads, pairs, options.dtype):
        ratios.append(ours / peer)
        line = (
            f"{name}\t{ours}\t{peer}"
            if options.plain
            else f"{name:40}{duration(ours):>9}{duration(peer):>9}{ratios[-1]:7.2f}"
        )
        print(line, flush=True)
    if ratios and not options.plain:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        worse = sum(ratio > LIMIT for ratio in ratios)
        print(f"geometric mean of {len(ratios)}: {mean:.2f}; above {LIMIT}: {worse}")


if __name__ == "__main__":
    main()
