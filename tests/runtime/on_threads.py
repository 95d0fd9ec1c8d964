"""What several threads do at once, without the interpreter's lock where they can: cases for ThreadSanitizer.

Each starts in a process that has called nothing yet, so that whatever is made at a first call is made by all together.
"""

from __future__ import annotations

import functools
import signal
import threading
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

MANY = 1 << 14  # elements, for which kernels give the interpreter's lock up
CALLS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: x + y,
    lambda x, y: (x * 2.5 - y) / (y.abs() + 1),
    lambda x, y: torch.where(x > y, x, y),
    lambda x, y: (x.sin(), x.exp(), x.tanh(), x.abs().sqrt(), x.erf()),
    lambda x, y: torch.lerp(x, y, 0.25).clamp(-1, 1),
    lambda x, y: (x.sum(), x.reshape(64, -1).mean(1), x.max(), x.reshape(64, -1).t().amax(1)),
    lambda x, y: torch.softmax(x.reshape(64, -1), 1),
    lambda x, y: x.reshape(128, 128) @ y.reshape(128, 128).t(),
    lambda x, y: (x.double(), x.half().float(), x.int(), x.bfloat16()),
    lambda x, y: (torch.cat([x, y]), x.reshape(128, 128).t().contiguous(), x.clone().add_(y).mul_(x)),
)


def together(*functions: Callable[[], Any]) -> list[Any]:
    """Runs functions in threads of their own at the same time; their results, or the first exception."""
    results: list[Any] = [None] * len(functions)
    start = threading.Barrier(len(functions))

    def run(number: int) -> None:
        start.wait()
        try:
            results[number] = functions[number]()
        except BaseException as error:  # raised again below, in the thread that asked
            results[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


def inputs(device: str = "cpu") -> tuple[Any, Any]:
    x = (torch.arange(MANY) % 101).float() / 50 - 1
    return x.to(device), (x * 3 - 0.5).to(device)


def plain(value: Any) -> Any:
    return [plain(item) for item in value] if isinstance(value, tuple) else value.tolist()


def kernels() -> None:
    """Each family of kernels for the first time, in all threads; then of other threads' tensors."""
    x, y = inputs()
    got = together(*[lambda: [call(x, y) for call in CALLS]] * 4)
    expected = [plain(call(x, y)) for call in CALLS]
    assert all([plain(value) for value in values] == expected for values in got)


def gradients() -> None:
    """Passes that end in the same leaves lose nothing of what they add, whatever their size."""
    _, y = inputs()
    for count in (4, MANY):
        w, once = torch.zeros(count, requires_grad=True), torch.zeros(count, requires_grad=True)
        part = y[:count].clone()

        def work(w: Any = w, part: Any = part) -> None:
            for _ in range(8):
                (w + 1).backward(part)

        together(*[work] * 4)
        (once + 1).backward(part * 32)
        assert torch.allclose(w.grad, once.grad, rtol=1e-4), (w.grad, once.grad)


def interrupts() -> None:
    """Signals arrive while kernels of several threads run, and ask for them."""
    seen: list[int] = []
    x = torch.ones(256, 256)

    def work() -> Any:
        y = x @ x
        while len(seen) < 4:
            y = x @ x
        return y[0, 0].item()

    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    worker = threading.Thread(target=work)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        worker.start()
        assert work() == 256
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        worker.join()
        signal.signal(signal.SIGALRM, before)


def queues() -> None:
    """Threads queue on streams of their own, wait for one another's, and copy both ways."""
    from mindtorch_v2 import npu

    marks = [npu.Event() for _ in range(4)]

    def work(number: int) -> Any:
        with npu.Stream() as stream:
            x, y = inputs("npu")
            for step in range(12):
                y = x + y
                z = y.clone()
                if step % 4 == 3:
                    marks[number].record()
                    stream.wait_event(marks[number - 1])
                    z = z.cpu().to("npu", non_blocking=True)
            stream.synchronize()
            return z.tolist()

    x, y = inputs()
    for _ in range(12):
        y = x + y
    jobs = [functools.partial(work, number) for number in range(len(marks))]
    assert all(values == y.tolist() for values in together(*jobs))
