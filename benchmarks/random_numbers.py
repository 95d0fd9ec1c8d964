"""Random numbers against PyTorch: `python -m benchmarks.random_numbers` prints ours / theirs, side by side.

Both run on one thread. A figure is the CPU time of a call, of the round whose ratio is the median.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.timing import paired, thread_time_per_call

SIZES = {"4x4": ((4, 4), 2000, 15), "512x768": ((512, 768), 4, 15), "16 Mi": ((1 << 24,), 1, 5)}


def calls(torch: Any, size: tuple[int, ...]) -> dict[str, Callable[[], object]]:
    """What is called, by its text: ``x`` is a tensor of the size, of float32."""
    x = torch.zeros(size)
    dropout = torch.nn.functional.dropout
    return {
        "torch.rand(size)": lambda: torch.rand(size),
        "torch.randn(size)": lambda: torch.randn(size),
        "torch.randn(size, dtype=torch.float64)": lambda: torch.randn(size, dtype=torch.float64),
        "torch.randint(0, 1000, size)": lambda: torch.randint(0, 1000, size),
        "torch.rand_like(x)": lambda: torch.rand_like(x),
        "x.uniform_()": lambda: x.uniform_(),
        "x.normal_()": lambda: x.normal_(),
        "x.bernoulli_(0.5)": lambda: x.bernoulli_(0.5),
        "x.exponential_()": lambda: x.exponential_(),
        "torch.nn.functional.dropout(x)": lambda: dropout(x),
    }


def main() -> None:
    """Prints a line a call and size: microseconds of either, and their ratio."""
    import torch

    import mindtorch_v2

    torch.set_num_threads(1)
    for label, (size, count, rounds) in SIZES.items():
        mine, theirs = calls(mindtorch_v2, size), calls(torch, size)
        for text, run in mine.items():
            measured = [partial(thread_time_per_call, f, count) for f in (run, theirs[text])]
            for measure in measured:
                measure()
            a, b = paired(rounds, *measured)
            print(f"{label:8} {text:40} {a * 1e6:12.2f} {b * 1e6:12.2f} {a / b:6.2f}")


if __name__ == "__main__":
    main()
