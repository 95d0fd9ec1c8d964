"""Worker processes from outside: what each is asked for, and what comes back, in the order that was asked."""

from __future__ import annotations

import itertools
import signal
import time
from collections.abc import Iterator
from multiprocessing.connection import wait
from typing import Any

from ... import multiprocessing as _processes
from ._utils.worker import MP_STATUS_CHECK_INTERVAL, End, Failure, Job, Resume, run_worker

__all__ = ["Workers"]

_processes.get_sharing_strategy()  # tensors travel as shared memory


class _Worker:
    """A process, the queue it is asked by, and the pipe that its answers come through.

    Every worker has a pipe of its own: one that is killed while it writes stops no other.
    """

    def __init__(self, job: Job, number: int, context: Any, done: Any) -> None:
        self.number, self.active, self.asked = number, True, 0
        self.indices = context.Queue()
        self.indices.cancel_join_thread()
        self.answers, answers = context.Pipe(duplex=False)
        arguments = job, number, self.indices, answers, done
        self.process = context.Process(target=run_worker, args=arguments, daemon=True)
        self.process.start()
        answers.close()  # the process has it: where that ends, the pipe does

    def tell_end(self) -> None:
        self.active = False
        self.indices.put(None)

    def close(self) -> None:
        self.indices.cancel_join_thread()
        self.indices.close()
        self.answers.close()


class Workers:
    """Several workers, and which batches they are at."""

    def __init__(self, job: Job, context: Any, ahead: int, timeout: float, persistent: bool, in_order: bool) -> None:
        self._ahead, self._timeout, self._persistent, self._in_order = ahead, timeout, persistent, in_order
        self._workers: list[_Worker] = []
        self._fresh, self._ended = True, False
        self._done = context.Event()
        for number in range(job.num_workers):
            self._workers.append(_Worker(job, number, context, self._done))

    def begin(self, indices: Iterator[Any]) -> None:
        """Begins a pass: asks every worker for its first batches."""
        if not self._fresh:
            self._resume()
        self._fresh = False
        self._indices = indices
        self._next_asked = self._next_given = 0
        self._at: dict[int, int] = {}  # batches that are asked for -> their workers
        self._early: dict[int, Any] = {}  # batches that came before their turn
        self._turns = itertools.cycle(self._workers)
        for worker in self._workers:
            worker.active, worker.asked = True, 0
        for _ in range(self._ahead * len(self._workers)):
            self._ask()

    def _resume(self) -> None:
        """Waits until every worker has left the last pass; what it still gives of that is dropped."""
        for worker in self._workers:
            worker.active = True
            worker.indices.put(Resume())
        waiting = len(self._workers)
        while waiting:
            number, _ = self._receive()
            waiting -= isinstance(number, Resume)

    def _ask(self) -> None:
        """Has the next worker whose turn it is prepare one batch more."""
        most = self._ahead * len(self._workers)
        try:
            index = next(self._indices)
        except StopIteration:
            return
        active = sum(worker.active for worker in self._workers)
        for worker in itertools.islice(self._turns, len(self._workers)):
            if worker.active and (self._in_order or worker.asked < most // active):
                worker.indices.put((self._next_asked, index))
                worker.asked += 1
                self._at[self._next_asked] = worker.number
                self._next_asked += 1
                return

    def next_batch(self) -> Any:
        """The next batch. Raises StopIteration after the last one, and what its worker raised."""
        while True:
            while self._next_given < self._next_asked and not self._is_to_come(self._next_given):
                self._at.pop(self._next_given, None)
                self._next_given += 1
            if self._next_given == self._next_asked:
                if not self._persistent:
                    self.end()
                raise StopIteration
            if self._next_given in self._early:
                return self._give(self._next_given, self._early.pop(self._next_given))
            number, answer = self._receive()
            if isinstance(answer, End):
                self._stop(self._workers[answer.worker])
                self._ask()
            elif number == self._next_given or not self._in_order:
                return self._give(number, answer)
            else:
                self._early[number] = answer

    def _is_to_come(self, number: int) -> bool:
        """Whether a batch is there or will be: not where it was given, or its worker has no more."""
        return number in self._early or (number in self._at and self._workers[self._at[number]].active)

    def _give(self, number: int, answer: Any) -> Any:
        self._workers[self._at.pop(number)].asked -= 1
        self._ask()
        if isinstance(answer, Failure):
            answer.reraise()
        return answer

    def _stop(self, worker: _Worker) -> None:
        """A worker has no more in this pass; it ends, unless it is kept."""
        if self._persistent:
            worker.active = False
        else:
            worker.tell_end()

    def _receive(self) -> Any:
        """What comes next from any worker. Raises RuntimeError where that takes too long, and where one is gone."""
        limit = time.monotonic() + self._timeout if self._timeout > 0 else None
        while True:
            pipes: dict[Any, _Worker] = {each.answers: each for each in self._workers if not each.answers.closed}
            left = MP_STATUS_CHECK_INTERVAL if limit is None else max(0.0, limit - time.monotonic())
            for pipe in wait(list(pipes), left):
                worker = pipes[pipe]
                try:
                    return worker.answers.recv()
                except (EOFError, ConnectionError) as error:
                    worker.answers.close()
                    if worker.active:
                        raise self._gone(worker) from error
                break
            if limit is not None and time.monotonic() >= limit:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")

    def _gone(self, worker: _Worker) -> RuntimeError:
        worker.active = False
        worker.process.join(MP_STATUS_CHECK_INTERVAL)
        code, pid = worker.process.exitcode, worker.process.pid
        how = (
            f"killed by signal: {signal.Signals(-code).name}" if code is not None and code < 0 else f"exit code {code}"
        )
        return RuntimeError(f"DataLoader worker (pid(s) {pid}) exited unexpectedly ({how})")

    def end(self) -> None:
        """Ends all workers; those that do not end in time are terminated."""
        if self._ended:
            return
        self._ended = True
        self._done.set()
        for worker in self._workers:
            if worker.active or self._persistent:
                worker.tell_end()
        for worker in self._workers:
            self._drain(worker)
            if worker.process.is_alive():
                worker.process.terminate()
                worker.process.join(MP_STATUS_CHECK_INTERVAL)
            worker.close()

    def _drain(self, worker: _Worker) -> None:
        """Waits for a worker, and takes what it still writes, so that it comes to its end."""
        limit = time.monotonic() + MP_STATUS_CHECK_INTERVAL
        while worker.process.is_alive() and time.monotonic() < limit:
            if worker.answers.closed:
                worker.process.join(max(0.0, limit - time.monotonic()))
                return
            try:
                ready = wait([worker.answers, worker.process.sentinel], max(0.0, limit - time.monotonic()))
                if worker.answers in ready:
                    worker.answers.recv_bytes()
                elif ready:
                    worker.process.join(MP_STATUS_CHECK_INTERVAL)
            except (EOFError, OSError):
                worker.answers.close()

    def __del__(self) -> None:
        self.end()
