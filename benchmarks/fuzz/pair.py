"""The processes in which calls are made, each with a watchdog, and started again when it dies."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks import sanitized
from benchmarks.fuzz.outcome import Died, Outcome

__all__ = ["Limits", "Worker", "WorkerError"]

ROOT = Path(__file__).resolve().parents[2]
# An allocation beyond a process's share fails as it does without the sanitizer; leaks are another test's matter.
ASAN_OPTIONS = (
    "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=1024:hard_rss_limit_mb=4000:"
    "malloc_context_size=4:quarantine_size_mb=64"
)


@dataclass(frozen=True)
class Limits:
    """Of a call: processor time, time, and bytes beyond what the process has when it starts.

    After ``stop`` seconds it is interrupted, as by Ctrl-C (0: never); after ``seconds`` its process is ended.
    """

    seconds: float = 5.0
    stop: float = 0.0
    wall: float = 60.0
    memory: int = 1 << 30


class WorkerError(Exception):
    """A process that does not start, or does not answer; says what it printed."""


class Worker:
    """A process that makes calls for one library; with ``forks`` in children, so many in each."""

    def __init__(
        self, library: str, limits: Limits, forks: int = 0, stage: Path | None = None, before: str = ""
    ) -> None:
        self.library, self.forks, self.stage, self.before = library, forks, stage, before
        self.limits = replace(limits, seconds=3 * limits.seconds, memory=0) if stage is not None else limits
        self._calls = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the worker)
        self._folder = tempfile.TemporaryDirectory()  # where calls write that take a file's name

    @property
    def process_id(self) -> int | None:
        """Of the process that runs."""
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        """Start the process, where it does not run, and wait until it has imported its library."""
        if self._process is not None:
            return
        here, there = socket.socketpair()
        limits = f"{self.limits.memory}, {self.limits.seconds}, {self.limits.stop}, {self.forks}"
        code = "\n".join((
            sanitized.loader(self.stage) if self.stage is not None else "",
            self.before,
            "from benchmarks.fuzz import worker",
            f"worker.main({self.library!r}, {there.fileno()}, {limits})",
        ))  # fmt: skip
        env = sanitized.environment(sanitized.ADDRESS, ASAN_OPTIONS) if self.stage is not None else dict(os.environ)
        found = [str(Path(place).resolve()) for place in env.get("PYTHONPATH", "").split(os.pathsep) if place]
        env["PYTHONPATH"] = os.pathsep.join([str(ROOT), *found])
        self._said.seek(0)
        self._said.truncate()
        self._process = subprocess.Popen(
            [sys.executable, "-c", code], env=env, stdin=subprocess.DEVNULL, stdout=self._said, stderr=self._said,
            pass_fds=[there.fileno()], start_new_session=True, cwd=self._folder.name,
        )  # fmt: skip
        there.close()
        self._connection = Connection(here.detach())
        try:
            self._connection.recv()
        except (EOFError, OSError):
            raise WorkerError(f"the worker of {self.library} does not start:\n{self._ended().report}") from None

    def renew(self, calls: int) -> None:
        """Start another process, where this one has made so many calls."""
        if self._calls >= calls and self._process is not None:
            self._kill()
            self._ended()

    def ask(self, question: str) -> Any:
        """What a function gives in the process; asked of a new one, too, where one dies of the calls made before."""
        fresh = self._process is None
        self.start()
        assert self._connection is not None
        try:
            self._connection.send(question)
            return self._connection.recv()
        except (EOFError, OSError):
            report = self._ended().report
        if not fresh:
            return self.ask(question)
        raise WorkerError(f"{question!r} ended the worker:\n{report}")

    def send(self, calls: Sequence[tuple[int, str]]) -> None:
        """Hand calls over; ``receive`` gives what comes of them, in order."""
        if not calls:
            return
        self._calls += len(calls)
        self.start()
        assert self._connection is not None
        with contextlib.suppress(OSError):
            self._connection.send(list(calls))

    def receive(self, calls: Sequence[tuple[int, str]]) -> list[Outcome]:
        """What came of each of the calls that were sent; after a death the rest is sent again."""
        outcomes: list[Outcome] = []
        while len(outcomes) < len(calls):
            assert self._connection is not None
            deadline = time.monotonic() + self.limits.wall
            try:
                while not self._connection.poll(1.0):
                    if time.monotonic() > deadline:
                        self._kill()
                        raise EOFError
                outcome = self._connection.recv()[1]
                if isinstance(outcome, Died):
                    outcome = replace(outcome, report=self._report())
                outcomes.append(outcome)
            except (EOFError, OSError):
                outcomes.append(self._ended())
                if len(outcomes) < len(calls):
                    self.send(calls[len(outcomes) :])
        return outcomes

    def run(self, source: str) -> Outcome:
        """One call."""
        self.send([(0, source)])
        return self.receive([(0, source)])[0]

    def _kill(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _ended(self) -> Died:
        assert self._process is not None
        status = self._process.wait()
        report = self._report()
        self._process, self._calls = None, 0
        if self._connection is not None:
            self._connection.close()
        return Died(-status if status < 0 else 0, status, report)

    def _report(self) -> str:
        self._said.seek(0)
        text = self._said.read().decode("utf-8", "replace")
        self._said.seek(0)
        self._said.truncate()
        return text[-20000:]

    def close(self) -> None:
        """End the process."""
        self._kill()
        if self._process is not None:
            self._ended()
        self._said.close()
        self._folder.cleanup()
